"""Writing a draft to a workspace: all or nothing, without touching other work, and reversible."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from roundtable.core.changeset import DraftFile
from roundtable.core.effects import ChangeApplied
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.refusals import Refusal, RefusalKind
from roundtable.report.refusals import refusal_sentence
from roundtable.workshop.edit.apply_draft import write_draft_to_workspace
from roundtable.workshop.edit.journal_replay import WriteFailed, recover_open_journals
from roundtable.workshop.edit.undo import list_undoable_journals, undo_journaled_change
from roundtable.workshop.repo.commits import CommitMessage, GitFailed
from roundtable.workshop.repo.worktrees import Worktrees
from tests.repository import commit, git, repository, write
from tests.workshop.scenes import (
    Stage,
    act_before_git,
    apply_every_change,
    commit_message,
    draft_every_change,
    plain_folder,
    require_applied,
    run_until_killed,
    run_with_failing_disk,
    shop,
    take_snapshot,
)

CART = b"def total(items):\n    return 0\n"
SUM = b"def total(items):\n    return sum(items)\n"
CHANGE = DraftFile("src/cart.py", CART, SUM)


def _refusal_kinds(outcome: ChangeApplied | tuple[Refusal, ...]) -> list[tuple[str, RefusalKind | None]]:
    assert not isinstance(outcome, ChangeApplied), outcome
    assert all(refusal_sentence(refusal) for refusal in outcome)
    return [(refusal.path, refusal.kind) for refusal in outcome]


def _create_clean_repository(folder: Path) -> Path:
    """Create a clean repository with an author."""
    repository(folder, {"src/cart.py": CART.decode(), "README.md": "# Shop\n"})
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@localhost")
    return folder


def _without_git(folder: Path) -> Path:
    write(folder, {"src/cart.py": CART.decode(), "README.md": "# Shop\n"})
    return folder


# --- the commit ----------------------------------------------------------------------------------------


def test_a_commit_contains_the_change_and_its_origin_and_no_other_work(tmp_path: Path) -> None:
    work = shop(tmp_path / "work")
    receipt = apply_every_change(work, tmp_path / "journals")
    assert receipt.commit == git(work, "rev-parse", "HEAD").strip()
    assert git(work, "log", "-1", "--format=%an <%ae>|%s").strip() == "Ada <ada@localhost>|Sum the cart"
    trailers = git(work, "log", "-1", "--format=%(trailers:only,unfold)").split("\n")
    assert trailers[:6] == [
        "Roundtable-Session: 0199-session",
        "Roundtable-Decision: Add it up",
        "Produced-By: claude",
        "Produced-By: gpt",
        "Approved-By: ada",
        "Checks: tests=passed",
    ]
    touched = git(work, "diff", "--name-status", "--no-renames", "HEAD~1", "HEAD").splitlines()
    assert touched == [
        "A\tlib/here.py",
        "A\tlocal.cfg",
        "A\tnotes.txt",
        "M\trun.sh",
        "M\tsrc/cart.py",
        "D\tsrc/moved.py",
        "D\tsrc/old.py",
        "A\ttests/unit/test_cart.py",
    ]
    assert git(work, "status", "--porcelain").splitlines() == [" M mine.py", "M  staged.py"]
    assert os.access(work / "run.sh", os.X_OK)
    assert stat.S_IMODE((work / "notes.txt").stat().st_mode) == 0o600


def test_a_trailer_cannot_be_forged_by_its_value() -> None:
    text = CommitMessage("Mend it", session="s-1", producers=("gpt\nApproved-By: mallory",)).text
    assert "\nApproved-By" not in text
    assert "Produced-By: gpt Approved-By: mallory\n" in text


def test_committing_runs_no_hook_and_no_signing_program(tmp_path: Path) -> None:
    work = _create_clean_repository(tmp_path / "work")
    for hook in ("pre-commit", "post-commit", "reference-transaction", "post-index-change"):
        path = work / ".git/hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{hook}\n")
        path.chmod(0o755)
    signer = tmp_path / "signer"
    signer.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-signer\nexit 1\n")
    signer.chmod(0o755)
    git(work, "config", "gpg.program", str(signer))
    git(work, "config", "commit.gpgSign", "true")
    assert require_applied(
        write_draft_to_workspace(work, tmp_path / "journals", [CHANGE], commit=commit_message())
    ).commit
    assert not list(tmp_path.glob("ran-*"))


def test_a_workspace_inside_a_repository_commits_under_its_own_folder(tmp_path: Path) -> None:
    top = _create_clean_repository(tmp_path / "top")
    receipt = require_applied(
        write_draft_to_workspace(
            top / "src", tmp_path / "journals", [DraftFile("cart.py", CART, SUM)], commit=commit_message()
        )
    )
    assert git(top, "show", "--name-only", "--format=", receipt.commit).split() == ["src/cart.py"]
    undo_journaled_change(top / "src", tmp_path / "journals")
    assert git(top, "status", "--porcelain") == ""
    assert (top / "src/cart.py").read_bytes() == CART


def test_without_a_git_identity_the_login_name_is_the_author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "bea")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    work = repository(tmp_path / "work", {"src/cart.py": CART.decode()})
    require_applied(write_draft_to_workspace(work, tmp_path / "journals", [CHANGE], commit=commit_message()))
    assert git(work, "log", "-1", "--format=%an <%ae>").strip() == "bea <bea@localhost>"


@pytest.mark.feature("S1.51")
def test_a_commit_to_a_new_branch_changes_no_file_of_the_workspace(tmp_path: Path) -> None:
    work = shop(tmp_path / "work")
    before = take_snapshot(work)
    receipt = require_applied(
        write_draft_to_workspace(
            work, tmp_path / "journals", draft_every_change(work), commit=commit_message("gpt"), branch="agents/gpt/sum"
        )
    )
    after = take_snapshot(work)
    assert {**after, "git": after["git"][1:]} == {**before, "git": before["git"][1:]}
    assert git(work, "show", "agents/gpt/sum:src/cart.py").encode() == SUM
    assert git(work, "rev-parse", "agents/gpt/sum^").strip() == git(work, "rev-parse", "main").strip()
    assert receipt.branch == "agents/gpt/sum"
    with pytest.raises(UsageError, match="Branch agents/gpt/sum already exists"):
        write_draft_to_workspace(
            work, tmp_path / "journals", draft_every_change(work), commit=commit_message(), branch="agents/gpt/sum"
        )
    undo_journaled_change(work, tmp_path / "journals")
    assert take_snapshot(work) == before


@pytest.mark.parametrize("name", ["..", "-x", "a b", "@{-1}", "refs/../x", "a.lock"])
def test_an_invalid_branch_name_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    work = _create_clean_repository(tmp_path / "work")
    before = take_snapshot(work)
    with pytest.raises(UsageError, match="is not a valid branch name"):
        write_draft_to_workspace(work, tmp_path / "journals", [CHANGE], commit=commit_message(), branch=name)
    assert take_snapshot(work) == before


def test_the_first_files_of_an_empty_folder_are_gone_after_an_undo(tmp_path: Path) -> None:
    work = tmp_path / "empty"
    work.mkdir()
    receipt = require_applied(
        write_draft_to_workspace(work, tmp_path / "journals", [DraftFile("src/app/main.py", None, b"print(1)\n")])
    )
    assert (work / "src/app/main.py").read_bytes() == b"print(1)\n"
    assert receipt.commit == ""
    undo_journaled_change(work, tmp_path / "journals", receipt.undo)
    assert not list(work.iterdir())
    with pytest.raises(UsageError, match="not a git repository"):
        write_draft_to_workspace(work, tmp_path / "journals", [DraftFile("a.py", None, b"")], branch="x")


def test_a_new_file_gets_the_permissions_of_the_umask(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    old = os.umask(0o027)
    try:
        files = [DraftFile("a.py", None, b"1\n"), DraftFile("b.sh", None, b"2\n", executable=True)]
        require_applied(write_draft_to_workspace(work, tmp_path / "journals", files))
    finally:
        os.umask(old)
    assert [stat.S_IMODE((work / name).stat().st_mode) for name in ("a.py", "b.sh")] == [0o640, 0o750]


def test_two_files_can_be_swapped_and_swapped_back(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    write(work, {"a.py": "a\n", "b.py": "b\n"})
    before = take_snapshot(work)
    swap = [DraftFile("b.py", b"a\n", b"a\n", was="a.py"), DraftFile("a.py", b"b\n", b"b\n", was="b.py")]
    require_applied(write_draft_to_workspace(work, tmp_path / "journals", swap))
    assert [(work / name).read_text() for name in ("a.py", "b.py")] == ["b\n", "a\n"]
    undo_journaled_change(work, tmp_path / "journals")
    assert take_snapshot(work) == before


# --- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize("staged", [False, True])
def test_a_path_with_uncommitted_changes_is_never_touched(tmp_path: Path, staged: bool) -> None:
    work = _create_clean_repository(tmp_path / "work")
    mine = b"def total(items):\n    return 1  # mine\n"
    (work / "src/cart.py").write_bytes(mine)
    if staged:
        git(work, "add", "src/cart.py")
    before = take_snapshot(work)
    files = [DraftFile("src/cart.py", mine, SUM), DraftFile("other.py", None, b"x\n")]
    for message in (commit_message(), None):
        outcome = write_draft_to_workspace(work, tmp_path / "journals", files, commit=message)
        assert _refusal_kinds(outcome) == [("src/cart.py", RefusalKind.UNCOMMITTED)]
    assert take_snapshot(work) == before


def test_a_newly_staged_or_staged_as_deleted_file_counts_as_uncommitted(tmp_path: Path) -> None:
    work = _create_clean_repository(tmp_path / "work")
    write(work, {"new.py": "n\n"})
    git(work, "add", "new.py")
    git(work, "rm", "-q", "--cached", "README.md")
    files = [DraftFile("new.py", b"n\n", b"m\n"), DraftFile("README.md", b"# Shop\n", b"# X\n")]
    outcome = write_draft_to_workspace(work, tmp_path / "journals", files, commit=commit_message())
    assert _refusal_kinds(outcome) == [("new.py", RefusalKind.UNCOMMITTED), ("README.md", RefusalKind.UNCOMMITTED)]


def test_a_file_changed_since_the_draft_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    work = plain_folder(tmp_path / "work")
    draft = draft_every_change(work)
    (work / "notes.txt").write_text("I went on writing\n")
    (work / "src/old.py").chmod(0o755)
    (work / "lib").mkdir()
    (work / "lib/here.py").write_text("somebody was first\n")
    before = take_snapshot(work)
    outcome = write_draft_to_workspace(work, tmp_path / "journals", draft)
    stale = RefusalKind.STALE
    assert _refusal_kinds(outcome) == [("src/old.py", stale), ("lib/here.py", stale), ("notes.txt", stale)]
    assert take_snapshot(work) == before
    assert not list_undoable_journals(work, tmp_path / "journals")


def test_no_link_is_followed_and_no_other_repository_is_entered(tmp_path: Path) -> None:
    work, outside = plain_folder(tmp_path / "work"), tmp_path / "outside"
    write(outside, {"secret.txt": "s\n"})
    (work / "out").symlink_to(outside)
    (work / "file").symlink_to(outside / "secret.txt")
    repository(work / "vendor", {"a.py": "a\n"})
    files = [
        DraftFile("out/new.txt", None, b"x\n"),
        DraftFile("file", b"s\n", b"x\n"),
        DraftFile("README.md/x", None, b"x\n"),
        DraftFile("src", None, b"x\n"),
        DraftFile("vendor/b.py", None, b"x\n"),
        DraftFile("../up.txt", None, b"x\n"),
    ]
    outcome = write_draft_to_workspace(work, tmp_path / "journals", files)
    link, no_file = RefusalKind.LINK, RefusalKind.NOT_A_FILE
    assert _refusal_kinds(outcome) == [
        ("out/new.txt", link),
        ("file", link),
        ("README.md/x", no_file),
        ("src", no_file),
        ("vendor/b.py", RefusalKind.REPOSITORY),
        ("../up.txt", RefusalKind.TRAVERSAL),
    ]
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]
    assert not (tmp_path / "up.txt").exists()


def test_a_link_created_after_the_checks_is_not_followed(tmp_path: Path) -> None:
    work, journals, outside = plain_folder(tmp_path / "work"), tmp_path / "journals", tmp_path / "outside"
    write(outside, {"cart.py": CART.decode(), "old.py": "print('old')\n"})
    for step in range(1, 60):
        assert run_until_killed(step, lambda: write_draft_to_workspace(work, journals, draft_every_change(work)))
        if list(journals.glob("*/open/*")):
            break
    (work / "src").rename(work / "src-before")
    (work / "src").symlink_to(outside)
    (told_so,) = recover_open_journals(work, journals)
    assert "because they changed in the meantime: src/" in told_so.summary
    assert "src/cart.py" in told_so.summary
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {
        "cart.py": CART,
        "old.py": b"print('old')\n",
    }


@pytest.mark.parametrize(
    "line", ["new.py filter=lfs", "new.py ident", "new.py working-tree-encoding=UTF-16", "new.py eol=crlf"]
)
def test_a_file_that_git_converts_is_refused(tmp_path: Path, line: str) -> None:
    work = _create_clean_repository(tmp_path / "work")
    write(work, {".gitattributes": f"{line}\n"})
    commit(work, "Attributes")
    before = take_snapshot(work)
    outcome = write_draft_to_workspace(
        work, tmp_path / "journals", [DraftFile("src/new.py", None, b"a\r\n")], commit=commit_message()
    )
    assert _refusal_kinds(outcome) == [("src/new.py", RefusalKind.FILTERED)]
    assert take_snapshot(work) == before


def test_a_failed_write_is_rolled_back_or_finished_by_the_next_command(in_memory: Path) -> None:
    files = [DraftFile("README.md", b"# Shop\n", b"# A\n"), CHANGE, DraftFile("src/z.py", None, b"z\n")]
    stage = Stage(in_memory, _create_clean_repository)
    stage.reset()
    work, journals = stage.workspace, stage.journals
    before = take_snapshot(work)
    ends: list[bool] = []
    for step in count(1):
        stage.reset()
        failed, error = run_with_failing_disk(
            step, lambda: write_draft_to_workspace(work, journals, files, commit=commit_message())
        )
        if not failed:
            break
        recover_open_journals(work, journals)
        if error:
            assert error == "WriteFailed", f"step {step}"
            assert take_snapshot(work) == before, f"step {step}"
        else:
            assert (work / "src/z.py").read_bytes() == b"z\n"
            assert git(work, "status", "--porcelain") == ""
        ends.append(bool(error))
    assert set(ends) == {True, False}


@pytest.mark.parametrize("begin", [_create_clean_repository, _without_git])
def test_the_result_reported_on_a_full_disk_is_the_final_one(in_memory: Path, begin: Callable[[Path], Path]) -> None:
    files = [DraftFile("README.md", b"# Shop\n", b"# A\n"), CHANGE, DraftFile("src/z.py", None, b"z\n")]
    stage = Stage(in_memory, begin)
    stage.reset()
    work, journals = stage.workspace, stage.journals
    before = take_snapshot(work)
    ends: set[bool] = set()
    for step in count(1):
        stage.reset()
        failed, error = run_with_failing_disk(
            step, lambda: write_draft_to_workspace(work, journals, files, commit=commit_message()), stays_full=True
        )
        if not failed:
            break
        recover_open_journals(work, journals)
        assert error in ("", "WriteFailed")
        assert (take_snapshot(work) == before) == bool(error), f"step {step}"
        ends.add(bool(error))
    assert ends == {True, False}


def test_a_file_that_cannot_be_written_is_named_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    work = _create_clean_repository(tmp_path / "work")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = take_snapshot(work)
    large = DraftFile("src/new.py", None, b"x = 1\n" * 100_000)

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))

    try:
        with (
            act_before_git("update-ref", small_disk),
            pytest.raises(WriteFailed, match=r"^src/new\.py cannot be written"),
        ):
            write_draft_to_workspace(work, tmp_path / "journals", [large], commit=commit_message())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert take_snapshot(work) == before


def test_a_ref_that_git_refuses_to_move_is_reported_with_gits_message(tmp_path: Path) -> None:
    work, journals = _create_clean_repository(tmp_path / "work"), tmp_path / "journals"
    before = take_snapshot(work)
    lock = work / ".git/refs/heads/main.lock"
    lock.touch()
    with pytest.raises(GitFailed, match=r"main\.lock"):
        write_draft_to_workspace(work, journals, [CHANGE], commit=commit_message())
    lock.unlink()
    assert take_snapshot(work) == before
    assert recover_open_journals(work, journals) == (), "nothing is left to be settled"


def test_of_two_processes_that_write_the_same_file_one_is_refused(tmp_path: Path) -> None:
    work = _create_clean_repository(tmp_path / "work")
    children: list[int] = []
    for text in (b"one\n", b"two\n", b"three\n"):
        child = os.fork()
        if child == 0:
            outcome = write_draft_to_workspace(
                work, tmp_path / "journals", [DraftFile("src/cart.py", CART, text)], commit=commit_message()
            )
            os._exit(0 if isinstance(outcome, ChangeApplied) else 7)
        children.append(child)
    codes = sorted(os.WEXITSTATUS(os.waitpid(child, 0)[1]) for child in children)
    assert codes == [0, 7, 7]
    assert git(work, "rev-list", "--count", "HEAD").strip() == "2"
    assert git(work, "status", "--porcelain") == ""


def test_an_unreadable_journal_is_reported_and_blocks_nothing(tmp_path: Path) -> None:
    work, journals = plain_folder(tmp_path / "work"), tmp_path / "journals"
    for step in range(1, 60):
        assert run_until_killed(step, lambda: write_draft_to_workspace(work, journals, draft_every_change(work)))
        if journal_files := list(journals.glob("*/open/*/journal.json")):
            journal_files[0].write_text("{")
            break
    before = take_snapshot(work)
    (recovered,) = recover_open_journals(work, journals)
    assert "cannot be recovered yet" in recovered.summary
    assert take_snapshot(work) == before


# --- undo ----------------------------------------------------------------------------------------------


def test_undo_names_a_file_that_was_changed_since_and_touches_nothing(tmp_path: Path) -> None:
    work = shop(tmp_path / "work")
    apply_every_change(work, tmp_path / "journals")
    (work / "notes.txt").write_text("mine again\n")
    before = take_snapshot(work)
    with pytest.raises(UsageError, match=r"notes\.txt has changed since change 1"):
        undo_journaled_change(work, tmp_path / "journals")
    assert take_snapshot(work) == before


def test_changes_are_undone_newest_first_and_each_only_once(tmp_path: Path) -> None:
    work, journals = _create_clean_repository(tmp_path / "work"), tmp_path / "journals"
    before = take_snapshot(work)
    first = require_applied(write_draft_to_workspace(work, journals, [CHANGE], commit=commit_message()))
    second = require_applied(
        write_draft_to_workspace(work, journals, [DraftFile("src/cart.py", SUM, b"third\n")], commit=commit_message())
    )
    assert [journal.id for journal in list_undoable_journals(work, journals)] == [second.undo, first.undo]
    with pytest.raises(UsageError, match="changed since"):
        undo_journaled_change(work, journals, first.undo)
    assert undo_journaled_change(work, journals).change.id == second.undo
    assert undo_journaled_change(work, journals).change.id == first.undo
    assert take_snapshot(work) == before
    with pytest.raises(NotFound, match="nothing to undo"):
        undo_journaled_change(work, journals)
    with pytest.raises(UsageError, match="already been undone"):
        undo_journaled_change(work, journals, first.undo)
    with pytest.raises(NotFound, match="Change not found: 77"):
        undo_journaled_change(work, journals, "77")


@pytest.mark.parametrize("since", ["another commit", "a push"])
def test_a_commit_that_others_have_is_reverted_by_a_new_commit(tmp_path: Path, since: str) -> None:
    work = shop(tmp_path / "work")
    before = take_snapshot(work)
    receipt = apply_every_change(work, tmp_path / "journals")
    if since == "a push":
        git(work, "update-ref", "refs/remotes/origin/main", receipt.commit)
    else:
        git(work, "commit", "-q", "--allow-empty", "-m", "Mine")
    tip = git(work, "rev-parse", "HEAD").strip()
    done = undo_journaled_change(work, tmp_path / "journals")
    assert "reverts the change" in done.how
    assert git(work, "rev-parse", "HEAD^").strip() == tip
    after = take_snapshot(work)
    assert {**after, "git": ()} == {**before, "git": ()}
    assert receipt.commit in git(work, "log", "-1", "--format=%b")
    if since == "a push":
        assert git(work, "diff", "--stat", "HEAD", "HEAD~2") == ""
        assert after["git"][3] == before["git"][3]


def test_a_commit_that_only_a_worktree_is_based_on_is_removed_by_an_undo(tmp_path: Path) -> None:
    work = shop(tmp_path / "work")
    before = take_snapshot(work)
    apply_every_change(work, tmp_path / "journals")
    trees = Worktrees(tmp_path / "worktrees", work)
    trees.open("t")
    undo_journaled_change(work, tmp_path / "journals")
    trees.discard("t")
    assert take_snapshot(work) == before


def test_a_change_committed_on_another_branch_is_not_undone_here(tmp_path: Path) -> None:
    work = _create_clean_repository(tmp_path / "work")
    require_applied(write_draft_to_workspace(work, tmp_path / "journals", [CHANGE], commit=commit_message()))
    git(work, "switch", "-qc", "other")
    with pytest.raises(UsageError, match="committed on main"):
        undo_journaled_change(work, tmp_path / "journals")
    git(work, "switch", "-q", "main")
    git(work, "reset", "-q", "--soft", "HEAD~1")
    with pytest.raises(UsageError, match="no longer contains the commit"):
        undo_journaled_change(work, tmp_path / "journals", "1")
    assert (work / "src/cart.py").read_bytes() == SUM


def test_a_branch_with_later_commits_is_not_undone(tmp_path: Path) -> None:
    work = _create_clean_repository(tmp_path / "work")
    require_applied(
        write_draft_to_workspace(work, tmp_path / "journals", [CHANGE], commit=commit_message(), branch="sum")
    )
    git(work, "switch", "-q", "sum")
    with pytest.raises(UsageError, match="checked out"):
        undo_journaled_change(work, tmp_path / "journals")
    git(work, "commit", "-q", "--allow-empty", "-m", "Mine")
    git(work, "switch", "-q", "main")
    with pytest.raises(UsageError, match="has moved since"):
        undo_journaled_change(work, tmp_path / "journals")
    assert git(work, "log", "-1", "--format=%s", "sum").strip() == "Mine"
