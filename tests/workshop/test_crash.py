"""Killed at every step of writing: afterwards the workspace is entirely before or entirely after, and can go back."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from roundtable.workshop.applying import applied, receipt_of
from roundtable.workshop.settling import recover
from roundtable.workshop.undoing import undone
from tests.repository import git
from tests.workshop.scenes import dies_at, everything, everything_applied, plain_folder, seen, shop, told, written

Act = Callable[[Path, Path], object]


def _unborn(folder: Path) -> Path:
    """A repository without a commit."""
    plain_folder(folder)
    git(folder, "init", "-q")
    return folder


def _without_commit(folder: Path, journals: Path) -> object:
    return written(applied(folder, journals, everything(folder), key="0199/apply"))


def _on_a_branch(folder: Path, journals: Path) -> object:
    return written(applied(folder, journals, everything(folder), key="0199/apply", commit=told("gpt"), branch="sum"))


SCENES: dict[str, tuple[Callable[[Path], Path], Act]] = {
    "without git": (plain_folder, everything_applied),
    "with a commit": (shop, everything_applied),
    "without a commit": (shop, _without_commit),
    "on a branch": (shop, _on_a_branch),
    "the first commit": (_unborn, everything_applied),
}


class Stage:
    """A workspace and its journals that can be set up again and again as they were."""

    def __init__(self, folder: Path, begin: Callable[[Path], Path]) -> None:
        self._origin = begin(folder / "origin")
        shutil.rmtree(self._origin / ".git/hooks", ignore_errors=True)
        self._kept: Path | None = None
        self.workspace, self.journals = folder / "work", folder / "journals"

    def keep_journals(self) -> None:
        """What stands now is the beginning from here on."""
        for source, name in ((self.workspace, "origin-2"), (self.journals, "journals-2")):
            shutil.copytree(source, self.workspace.parent / name, symlinks=True)
        self._origin, self._kept = self.workspace.parent / "origin-2", self.workspace.parent / "journals-2"

    def again(self) -> None:
        """As it was at the beginning."""
        for folder in (self.workspace, self.journals):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._origin, self.workspace, symlinks=True)
        if self._kept:
            shutil.copytree(self._kept, self.journals, symlinks=True)


def _like(seen_now: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Alike but for the name of the new commit, which has the time in it."""
    return _plain(seen_now) == _plain(wanted)


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    if "git" not in found:
        return found
    refs, *others = found["git"]
    return {**found, "git": [[line.split()[1:] for line in refs.splitlines()], *others]}


@pytest.fixture
def in_memory() -> Generator[Path]:
    """A folder in memory where there is one: hundreds of writes are made to last here, and disks take their time."""
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.mark.parametrize("scene", SCENES)
def test_killed_at_any_step_the_tree_is_wholly_before_or_wholly_after_and_undo_brings_it_back(
    in_memory: Path, scene: str
) -> None:
    begin, act = SCENES[scene]
    stage = Stage(in_memory, begin)
    stage.again()
    before = seen(stage.workspace)
    act(stage.workspace, stage.journals)
    after = seen(stage.workspace)
    assert not _like(before, after)
    outcomes: list[bool] = []
    for step in count(1):
        stage.again()
        if not dies_at(step, lambda: act(stage.workspace, stage.journals)):
            break
        recover(stage.workspace, stage.journals)
        now = seen(stage.workspace)
        receipt = receipt_of(stage.workspace, stage.journals, "0199/apply")
        assert _like(now, after if receipt else before), f"step {step}"
        assert recover(stage.workspace, stage.journals) == ()
        if receipt:
            undone(stage.workspace, stage.journals, receipt.undo)
        assert seen(stage.workspace) == before, f"undone after step {step}"
        outcomes.append(receipt is not None)
    assert set(outcomes) == {False, True}
    assert outcomes == sorted(outcomes), "there is one commit point"


@pytest.mark.parametrize("scene", ["without git", "with a commit"])
def test_killed_again_while_it_recovers_it_still_comes_to_one_end(in_memory: Path, scene: str) -> None:
    begin, act = SCENES[scene]
    stage = Stage(in_memory, begin)
    stage.again()
    act(stage.workspace, stage.journals)
    after = seen(stage.workspace)
    stage.again()
    half_way = next(step for step in count(1) if _left_half_done(stage, act, step))
    assert dies_at(half_way, lambda: act(stage.workspace, stage.journals))
    stage.keep_journals()
    deaths = 0
    while True:
        stage.again()
        if not dies_at(deaths + 1, lambda: recover(stage.workspace, stage.journals)):
            break
        deaths += 1
        recover(stage.workspace, stage.journals)
        assert _like(seen(stage.workspace), after), f"killed again at step {deaths}"
    assert deaths > 5


def _left_half_done(stage: Stage, act: Act, step: int) -> bool:
    """Whether a death at this step leaves one file as wanted and another as it was; the stage is fresh again then."""
    stage.again()
    assert dies_at(step, lambda: act(stage.workspace, stage.journals))
    gone, come = not (stage.workspace / "src/old.py").exists(), (stage.workspace / "lib/here.py").exists()
    stage.again()
    return gone and not come


@pytest.mark.parametrize("scene", ["without git", "with a commit", "on a branch"])
def test_an_undo_that_is_killed_at_any_step_is_finished_or_never_happened(in_memory: Path, scene: str) -> None:
    begin, act = SCENES[scene]
    stage = Stage(in_memory, begin)
    stage.again()
    before = seen(stage.workspace)
    act(stage.workspace, stage.journals)
    after = seen(stage.workspace)
    stage.keep_journals()
    seen_ends: set[bool] = set()
    for step in count(1):
        stage.again()
        if not dies_at(step, lambda: undone(stage.workspace, stage.journals)):
            break
        recover(stage.workspace, stage.journals)
        now = seen(stage.workspace)
        assert now in (before, after), f"step {step}"
        seen_ends.add(now == before)
        if now == after:
            undone(stage.workspace, stage.journals)
            assert seen(stage.workspace) == before
    assert seen_ends == {False, True}
