"""Repositories that are locked, in the middle of a merge, or unusual: no work is lost in them."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from roundtable.core.changeset import DraftFile
from roundtable.core.effects import ChangeApplied
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.reasons import CleanupPending, CommitStepsSkipped
from roundtable.core.refusals import RefusalKind
from roundtable.report.change_reasons import change_write_remark_sentence
from roundtable.report.refusals import refusal_sentence
from roundtable.workshop.edit.apply_draft import find_journaled_change, write_draft_to_workspace
from roundtable.workshop.edit.journal_replay import recover_open_journals
from roundtable.workshop.edit.undo import list_undoable_journals, undo_journaled_change
from roundtable.workshop.repo.commits import GitFailed, check_git_repository_writable, ensure_git_branch_available
from tests.repository import commit, git, write
from tests.workshop.scenes import (
    Stage,
    act_before_git,
    commit_message,
    require_applied,
    run_until_killed,
    take_snapshot,
)

CART, SUM = b"def total(items):\n    return 0\n", b"def total(items):\n    return sum(items)\n"
CHANGE = DraftFile("src/cart.py", CART, SUM)
GONE = DraftFile("docs/old.txt", b"old\n", None)


def _shop(folder: Path, *init: str) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", *init)
    write(folder, {"src/cart.py": CART.decode(), "docs/old.txt": "old\n"})
    commit(folder, "The beginning")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@localhost")
    return folder


# --- locked ----------------------------------------------------------------------------------------


def test_while_another_git_process_runs_nothing_is_written_or_undone(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    before = take_snapshot(work)
    lock = work / ".git/index.lock"
    lock.touch()
    with pytest.raises(GitFailed, match=r"index\.lock exists"):
        write_draft_to_workspace(work, journals, [CHANGE], commit=commit_message())
    lock.unlink()
    assert take_snapshot(work) == before
    require_applied(write_draft_to_workspace(work, journals, [CHANGE], commit=commit_message()))
    after = take_snapshot(work)
    lock.touch()
    with pytest.raises(GitFailed, match=r"index\.lock exists"):
        undo_journaled_change(work, journals)
    lock.unlink()
    assert take_snapshot(work) == after


def test_an_index_locked_after_the_commit_is_reported_and_updated_by_the_next_command(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    lock = work / ".git/index.lock"
    with act_before_git("update-ref", lock.touch):
        receipt = require_applied(write_draft_to_workspace(work, journals, [CHANGE], commit=commit_message()))
    assert receipt.remarks == (CleanupPending(),)
    assert git(work, "rev-parse", "HEAD").strip() == receipt.commit
    assert (work / "src/cart.py").read_bytes() == SUM
    (recovered,) = recover_open_journals(work, journals)
    assert "cannot be recovered yet" in recovered.summary
    lock.unlink()
    (recovered,) = recover_open_journals(work, journals)
    assert "now finished" in recovered.summary
    assert git(work, "status", "--porcelain") == ""
    assert undo_journaled_change(work, journals).change.id == receipt.undo


def test_files_staged_meanwhile_stay_staged(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    lock = work / ".git/index.lock"
    with act_before_git("update-ref", lock.touch):
        require_applied(write_draft_to_workspace(work, journals, [CHANGE], commit=commit_message()))
    lock.unlink()
    (work / "src/cart.py").write_text("mine\n")
    git(work, "add", "src/cart.py")
    (recovered,) = recover_open_journals(work, journals)
    assert "because they changed in the meantime: src/cart.py" in recovered.summary
    assert git(work, "show", ":src/cart.py") == "mine\n"


# --- in the middle of something ----------------------------------------------------------------------


@pytest.mark.parametrize("what", ["merge", "rebase", "cherry-pick", "revert", "bisect"])
def test_during_a_merge_or_rebase_nothing_is_written_or_undone(tmp_path: Path, what: str) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    git(work, "switch", "-qc", "side")
    write(work, {"o.txt": "side\n"})
    commit(work, "Side")
    git(work, "switch", "-q", "main")
    write(work, {"o.txt": "main\n"})
    commit(work, "Main")
    write(work, {"o.txt": "further\n"})
    commit(work, "Further")
    require_applied(write_draft_to_workspace(work, journals, [GONE], commit=commit_message()))
    begin = {"bisect": ("bisect", "start"), "revert": ("revert", "HEAD~2")}.get(what, (what, "side"))
    with suppress(CalledProcessError):  # a conflict
        git(work, *begin)
    before = (git(work, "rev-parse", "HEAD"), git(work, "status", "--porcelain"))
    outcome = write_draft_to_workspace(work, journals, [CHANGE], commit=commit_message())
    assert not isinstance(outcome, ChangeApplied)
    ((path, kind, sentence),) = [(refusal.path, refusal.kind, refusal_sentence(refusal)) for refusal in outcome]
    assert (path, kind) == ("src/cart.py", RefusalKind.REPOSITORY)
    assert "is in progress" in sentence
    with pytest.raises(UsageError):
        undo_journaled_change(work, journals)
    assert (git(work, "rev-parse", "HEAD"), git(work, "status", "--porcelain")) == before
    assert (work / "src/cart.py").read_bytes() == CART


def test_a_commit_on_a_detached_head_is_undone_on_the_branch_that_contains_it(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    git(work, "switch", "-q", "--detach")
    receipt = require_applied(write_draft_to_workspace(work, journals, [CHANGE], commit=commit_message()))
    git(work, "switch", "-q", "main")
    git(work, "merge", "-q", "--ff-only", receipt.commit)
    done = undo_journaled_change(work, journals)
    assert done.how == "The files were restored, and main is back at its earlier commit."
    assert git(work, "rev-parse", "main").strip() != receipt.commit
    assert (work / "src/cart.py").read_bytes() == CART
    assert git(work, "status", "--porcelain") == ""


# --- elsewhere -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["elsewhere", "of somebody else", "broken"])
def test_nothing_is_written_if_git_cannot_read_its_commits(tmp_path: Path, how: str) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    mine = b"# not committed yet\n"
    (work / "src/cart.py").write_bytes(mine)
    if how == "elsewhere":
        git(work, "init", "-q", "--separate-git-dir", str(tmp_path / "git"))
    elif how == "broken":
        (work / ".git/HEAD").write_text("nonsense\n")
    elif os.geteuid():
        pytest.skip("only root can give files away")
    else:
        os.chown(work, 1234, 1234)
        os.chown(work / ".git", 1234, 1234)
    problem = check_git_repository_writable(work / "src")
    assert problem
    assert refusal_sentence(problem).startswith(f"Git cannot read the commits of {work}, so nothing is written there (")
    for place, path in ((work, "src/cart.py"), (work / "src", "cart.py")):
        with pytest.raises(GitFailed, match="Git cannot read the commits"):
            write_draft_to_workspace(place, journals, [DraftFile(path, mine, SUM)], commit=commit_message())
    assert (work / "src/cart.py").read_bytes() == mine


def test_an_empty_git_folder_is_not_a_repository(tmp_path: Path) -> None:
    (tmp_path / "work/.git").mkdir(parents=True)
    assert check_git_repository_writable(tmp_path / "work") is None
    assert (
        require_applied(
            write_draft_to_workspace(tmp_path / "work", tmp_path / "journals", [DraftFile("a.py", None, b"1\n")])
        ).commit
        == ""
    )


# --- folders that went ------------------------------------------------------------------------------------


def test_a_deletion_is_undone_although_the_empty_folder_is_gone(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    before = take_snapshot(work)
    require_applied(write_draft_to_workspace(work, journals, [GONE], commit=commit_message()))
    (work / "docs").rmdir()
    undo_journaled_change(work, journals)
    assert take_snapshot(work) == before


def test_an_undo_killed_at_any_step_is_settled_although_the_empty_folder_is_gone(in_memory: Path) -> None:
    stage = Stage(in_memory, _shop)
    stage.reset()
    work, journals = stage.workspace, stage.journals
    before = take_snapshot(work)
    require_applied(write_draft_to_workspace(work, journals, [GONE], commit=commit_message()))
    (work / "docs").rmdir()
    after = take_snapshot(work)
    stage.keep_journals()
    settled: set[bool] = set()
    for step in count(1):
        stage.reset()
        if not run_until_killed(step, lambda: undo_journaled_change(work, journals)):
            break
        recover_open_journals(work, journals)
        assert recover_open_journals(work, journals) == ()
        now = take_snapshot(work)
        assert now in (before, after), f"step {step}"
        settled.add(now == before)
    assert settled == {True, False}


# --- beside the person ---------------------------------------------------------------------------------


def test_a_file_changed_during_the_write_is_kept_and_named(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    mine = b"# I was faster\n"
    files = [CHANGE, DraftFile("new.py", None, b"1\n")]
    with act_before_git("update-ref", lambda: (work / "src/cart.py").write_bytes(mine)):
        receipt = require_applied(write_draft_to_workspace(work, journals, files, commit=commit_message()))
    assert receipt.left == ("src/cart.py",)
    assert (work / "src/cart.py").read_bytes() == mine
    assert git(work, "status", "--porcelain") == " M src/cart.py\n"


def test_a_file_of_the_person_is_never_mistaken_for_a_temporary_file(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    own = {f"{folder}.roundtable-{number}": "my notes\n" for folder in ("", "src/") for number in (1, 2)}
    write(work, own)
    require_applied(
        write_draft_to_workspace(work, journals, [CHANGE, DraftFile("new.py", None, b"1\n")], commit=commit_message())
    )
    undo_journaled_change(work, journals)
    assert {name: (work / name).read_text() for name in own} == own


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_keeps_its_owner_when_root_writes_and_undoes(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    for name in ("src/cart.py", "docs/old.txt"):
        os.chown(work / name, 1234, 1235)
    require_applied(
        write_draft_to_workspace(
            work, journals, [CHANGE, DraftFile("docs/new.txt", b"old\n", b"new\n", was="docs/old.txt")]
        )
    )
    for name in ("src/cart.py", "docs/new.txt"):
        assert ((work / name).stat().st_uid, (work / name).stat().st_gid) == (1234, 1235)
    undo_journaled_change(work, journals)
    for name in ("src/cart.py", "docs/old.txt"):
        assert ((work / name).stat().st_uid, (work / name).stat().st_gid) == (1234, 1235)


# --- unusual -------------------------------------------------------------------------------------------


def test_if_git_ignores_file_modes_the_index_says_what_is_executable(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    git(work, "config", "core.fileMode", "false")
    for name in ("src/cart.py", "docs/old.txt"):
        (work / name).chmod(0o777)
    before = take_snapshot(work)
    files = [
        DraftFile("src/cart.py", CART, SUM, executable=True, was_executable=True),
        DraftFile("docs/new.txt", b"old\n", b"old\n", was="docs/old.txt", executable=True, was_executable=True),
        DraftFile("run.sh", None, b"echo\n", executable=True),
    ]
    require_applied(write_draft_to_workspace(work, journals, files, commit=commit_message()))
    modes = [line.split()[0] for line in git(work, "ls-tree", "-r", "HEAD").splitlines()]
    assert modes == ["100644", "100755", "100644"]
    assert git(work, "status", "--porcelain") == ""
    undo_journaled_change(work, journals)
    assert take_snapshot(work) == before


def test_a_commit_in_a_partial_clone_fetches_nothing(tmp_path: Path) -> None:
    origin, work, journals = _shop(tmp_path / "origin"), tmp_path / "work", tmp_path / "journals"
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--sparse", f"file://{origin}", str(work))
    git(work, "sparse-checkout", "set", "src")
    assert not (work / "docs").exists()
    require_applied(write_draft_to_workspace(work, journals, [CHANGE], commit=commit_message()))
    assert git(work, "show", "--name-only", "--format=", "HEAD").split() == ["src/cart.py"]
    assert git(work, "status", "--porcelain") == ""


def test_a_deletion_in_a_sha256_repository_can_be_written_and_undone(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work", "--object-format=sha256"), tmp_path / "journals"
    before = take_snapshot(work)
    assert (
        len(require_applied(write_draft_to_workspace(work, journals, [CHANGE, GONE], commit=commit_message())).commit)
        == 64
    )
    assert git(work, "status", "--porcelain") == ""
    undo_journaled_change(work, journals)
    assert {**take_snapshot(work), "docs": None} == {**before, "docs": None}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a b", "is not a valid branch name"),
        ("side/1", "Branch side/1 already exists"),
        ("main/x", "Branch main/x conflicts with the existing branch main"),
        ("side", "Branch side conflicts with the existing branch side/1"),
    ],
)
def test_a_branch_that_cannot_be_created_is_refused_at_the_start(tmp_path: Path, name: str, why: str) -> None:
    work = _shop(tmp_path / "work")
    git(work, "branch", "side/1")
    with pytest.raises(UsageError, match=why):
        ensure_git_branch_available(work, name)
    ensure_git_branch_available(work, "side/2")
    with pytest.raises(UsageError, match="not a git repository"):
        ensure_git_branch_available(tmp_path, "side/2")


def test_skipped_hooks_and_a_missing_signature_are_reported_with_the_commit(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    written = write_draft_to_workspace(work, journals, [DraftFile("a.py", None, b"1\n")], commit=commit_message())
    assert require_applied(written).remarks == ()
    for name in ("pre-commit", "commit-msg", "pre-push"):
        write(work, {f".git/hooks/{name}": f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n"})
        (work / ".git/hooks" / name).chmod(0o755)
    written = write_draft_to_workspace(work, journals, [DraftFile("b.py", None, b"1\n")], commit=commit_message())
    assert require_applied(written).remarks == (CommitStepsSkipped(("pre-commit", "commit-msg")),)
    assert change_write_remark_sentence(require_applied(written).remarks[0]) == (
        "The commit was made without `git commit`: hooks did not run (pre-commit, commit-msg)."
    )
    assert not (tmp_path / "ran").exists()
    git(work, "config", "commit.gpgSign", "true")
    git(work, "config", "core.hooksPath", "no/hooks")
    files = [DraftFile("c.py", None, b"1\n")]
    remarks = require_applied(
        write_draft_to_workspace(work, journals, files, key="0199/x", commit=commit_message())
    ).remarks
    assert [change_write_remark_sentence(remark) for remark in remarks] == [
        "The commit was made without `git commit`: it is not signed although commit.gpgSign is set."
    ]
    recovered = find_journaled_change(work, journals, "0199/x")
    assert recovered
    assert recovered.remarks == remarks
    assert require_applied(write_draft_to_workspace(work, journals, [DraftFile("d.py", None, b"1\n")])).remarks == (), (
        "only files"
    )


# --- what undo says ------------------------------------------------------------------------------------


def test_a_commit_that_git_has_pruned_cannot_be_undone(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    receipt = require_applied(write_draft_to_workspace(work, journals, [CHANGE], commit=commit_message()))
    git(work, "switch", "-qc", "other")
    assert [journal.id for journal in list_undoable_journals(work, journals)] == ["1"]
    git(work, "switch", "-q", "main")
    git(work, "reset", "-q", "--hard", "HEAD~1")
    assert list_undoable_journals(work, journals) == []
    with pytest.raises(NotFound, match="nothing to undo"):
        undo_journaled_change(work, journals)
    with pytest.raises(UsageError, match="The branch main no longer contains the commit"):
        undo_journaled_change(work, journals, "1")
    git(work, "reset", "-q", "--hard", receipt.commit)
    assert undo_journaled_change(work, journals).change.id == "1"


def test_a_reverting_commit_names_the_change(tmp_path: Path) -> None:
    work, journals = _shop(tmp_path / "work"), tmp_path / "journals"
    require_applied(write_draft_to_workspace(work, journals, [CHANGE], commit=commit_message()))
    git(work, "commit", "-q", "--allow-empty", "-m", "Mine")
    undo_journaled_change(work, journals)
    assert git(work, "log", "-1", "--format=%s").strip() == "Undo change 1: Sum the cart"
