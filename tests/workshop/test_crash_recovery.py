"""A process killed at every step of a write: the change is applied completely or not at all, and can be undone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from roundtable.workshop.edit.apply_draft import find_journaled_change, write_draft_to_workspace
from roundtable.workshop.edit.journal_replay import recover_open_journals
from roundtable.workshop.edit.undo import undo_journaled_change
from tests.repository import git
from tests.sampling import sample
from tests.workshop.scenes import (
    Stage,
    apply_every_change,
    commit_message,
    draft_every_change,
    plain_folder,
    require_applied,
    run_until_killed,
    shop,
    take_snapshot,
)

Act = Callable[[Path, Path], object]


def _create_unborn_repository(folder: Path) -> Path:
    """Create a repository without a commit."""
    plain_folder(folder)
    git(folder, "init", "-q")
    return folder


def _without_commit(folder: Path, journals: Path) -> object:
    return require_applied(write_draft_to_workspace(folder, journals, draft_every_change(folder), key="0199/apply"))


def _on_a_branch(folder: Path, journals: Path) -> object:
    return require_applied(
        write_draft_to_workspace(
            folder, journals, draft_every_change(folder), key="0199/apply", commit=commit_message("gpt"), branch="sum"
        )
    )


SCENES: dict[str, tuple[Callable[[Path], Path], Act]] = {
    "without git": (plain_folder, apply_every_change),
    "with a commit": (shop, apply_every_change),
    "without a commit": (shop, _without_commit),
    "on a branch": (shop, _on_a_branch),
    "the first commit": (_create_unborn_repository, apply_every_change),
}


def _is_same_except_commits(current: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether two snapshots are equal except for commit ids, which depend on the time."""
    return _without_commit_ids(current) == _without_commit_ids(expected)


def _without_commit_ids(snapshot: dict[str, Any]) -> dict[str, Any]:
    if "git" not in snapshot:
        return snapshot
    refs, *others = snapshot["git"]
    return {**snapshot, "git": [[line.split()[1:] for line in refs.splitlines()], *others]}


@pytest.mark.parametrize("scene", sample(list(SCENES), 2))
def test_a_change_killed_at_any_step_is_applied_completely_or_not_at_all_and_can_be_undone(
    in_memory: Path, scene: str
) -> None:
    begin, act = SCENES[scene]
    stage = Stage(in_memory, begin)
    stage.reset()
    before = take_snapshot(stage.workspace)
    act(stage.workspace, stage.journals)
    after = take_snapshot(stage.workspace)
    assert not _is_same_except_commits(before, after)
    outcomes: list[bool] = []
    for step in count(1):
        stage.reset()
        if not run_until_killed(step, lambda: act(stage.workspace, stage.journals)):
            break
        recover_open_journals(stage.workspace, stage.journals)
        now = take_snapshot(stage.workspace)
        receipt = find_journaled_change(stage.workspace, stage.journals, "0199/apply")
        assert _is_same_except_commits(now, after if receipt else before), f"step {step}"
        assert recover_open_journals(stage.workspace, stage.journals) == ()
        if receipt:
            undo_journaled_change(stage.workspace, stage.journals, receipt.undo)
        assert take_snapshot(stage.workspace) == before, f"undone after step {step}"
        outcomes.append(receipt is not None)
    assert set(outcomes) == {False, True}
    assert outcomes == sorted(outcomes), "there is one commit point"


@pytest.mark.parametrize("scene", sample(["without git", "with a commit"], 1))
def test_a_recovery_that_is_killed_is_completed_by_the_next_one(in_memory: Path, scene: str) -> None:
    begin, act = SCENES[scene]
    stage = Stage(in_memory, begin)
    stage.reset()
    act(stage.workspace, stage.journals)
    after = take_snapshot(stage.workspace)
    stage.reset()
    half_way = next(step for step in count(1) if _is_left_half_done(stage, act, step))
    assert run_until_killed(half_way, lambda: act(stage.workspace, stage.journals))
    stage.keep_journals()
    deaths = 0
    for step in count(1):
        stage.reset()
        if not run_until_killed(step, lambda: recover_open_journals(stage.workspace, stage.journals)):
            break
        deaths += 1
        recover_open_journals(stage.workspace, stage.journals)
        assert _is_same_except_commits(take_snapshot(stage.workspace), after), f"killed again at step {step}"
    assert deaths > 5


def _is_left_half_done(stage: Stage, act: Act, step: int) -> bool:
    """Whether a kill at this step leaves one file changed and another unchanged; then reset the stage."""
    stage.reset()
    assert run_until_killed(step, lambda: act(stage.workspace, stage.journals))
    is_removed, is_created = not (stage.workspace / "src/old.py").exists(), (stage.workspace / "lib/here.py").exists()
    stage.reset()
    return is_removed and not is_created


@pytest.mark.parametrize("scene", sample(["with a commit", "without git", "on a branch"], 2))
def test_an_undo_killed_at_any_step_is_finished_or_rolled_back(in_memory: Path, scene: str) -> None:
    begin, act = SCENES[scene]
    stage = Stage(in_memory, begin)
    stage.reset()
    before = take_snapshot(stage.workspace)
    act(stage.workspace, stage.journals)
    after = take_snapshot(stage.workspace)
    stage.keep_journals()
    seen_ends: set[bool] = set()
    for step in count(1):
        stage.reset()
        if not run_until_killed(step, lambda: undo_journaled_change(stage.workspace, stage.journals)):
            break
        recover_open_journals(stage.workspace, stage.journals)
        now = take_snapshot(stage.workspace)
        assert now in (before, after), f"step {step}"
        seen_ends.add(now == before)
        if now == after:
            undo_journaled_change(stage.workspace, stage.journals)
            assert take_snapshot(stage.workspace) == before
    assert seen_ends == {False, True}
