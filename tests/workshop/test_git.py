"""Reading from git: only files that really differ from the last commit count as changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roundtable.app.opening.preflight import opening_notices_on_unwritable_files
from roundtable.core.changeset import DraftFile
from roundtable.core.refusals import RefusalKind
from roundtable.core.values import Charter
from roundtable.report.refusals import refusal_sentence
from roundtable.workshop.edit.apply_draft import write_draft_to_workspace
from roundtable.workshop.edit.rehearsal import list_changed_files_outside_edit_draft
from roundtable.workshop.edit.undo import undo_journaled_change
from roundtable.workshop.repo.commits import CommitMessage
from roundtable.workshop.repo.git import open_git
from tests.repository import commit, git, opened, repository, write
from tests.workshop.scenes import apply_every_change, commit_message, require_applied, shop

LATER = 2_000_000_000
BUILD = Charter("Mend it", (), "build", 1)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return repository(tmp_path / "work", {"a.py": "a\n", "b.py": "b\n", "src/c.py": "c\n", ".env": "KEY=1\n"})


def _modified_files(folder: Path) -> tuple[str, ...]:
    with open_git(folder) as reader:
        return reader.modified_files()


def test_a_touched_but_unchanged_file_is_not_uncommitted(work: Path) -> None:
    for name in ("a.py", "b.py"):
        os.utime(work / name, (LATER, LATER))
    write(work, {"b.py": "mine\n", "new.py": "n\n"})
    assert _modified_files(work) == ("b.py",)
    assert list_changed_files_outside_edit_draft(work, ()) == ("b.py", "new.py")
    assert opening_notices_on_unwritable_files(work, BUILD, ("a.py",)) == ()
    assert "b.py" in opening_notices_on_unwritable_files(work, BUILD, ("a.py", "b.py:1-2"))[0]


def test_a_staged_change_counts_although_the_file_was_changed_back(work: Path) -> None:
    write(work, {"a.py": "staged\n"})
    git(work, "add", "a.py")
    write(work, {"a.py": "a\n"})
    assert _modified_files(work) == ("a.py",)


def test_in_a_subfolder_of_a_repository_paths_are_relative_to_it(work: Path) -> None:
    write(work, {"a.py": "mine\n", "src/c.py": "mine\n"})
    assert _modified_files(work / "src") == ("c.py",)


def test_a_touched_secret_file_is_not_read(work: Path) -> None:
    for name in ("a.py", ".env"):
        os.utime(work / name, (LATER, LATER))
    with opened(work, ["a.py", ".env"]) as looked_into:
        assert _modified_files(work) == ()
    assert looked_into == {"a.py"}


def test_the_working_tree_is_clean_for_git_after_an_undo(tmp_path: Path) -> None:
    work, journals = shop(tmp_path / "shop"), tmp_path / "journals"
    mine = ["mine.py"]
    for _ in range(2):
        apply_every_change(work, journals)
        assert git(work, "diff-files", "--name-only").split() == mine, "without a look at the files themselves"
        undo_journaled_change(work, journals)
        assert git(work, "diff-files", "--name-only").split() == mine


@pytest.mark.parametrize("how", ["core.autocrlf", "attributes"])
def test_a_file_that_git_converts_is_reported_once_before_the_meeting(tmp_path: Path, how: str) -> None:
    work = repository(tmp_path / "work", {"a.py": "a\n", "b.py": "b\n"})
    if how == "attributes":
        write(work, {".gitattributes": "*.py text eol=crlf\n"})
        commit(work, "Windows")
    else:
        git(work, "config", "core.autocrlf", "true")
    (work / "a.py").unlink()
    git(work, "checkout", "a.py")
    assert (work / "a.py").read_bytes() == b"a\r\n"
    assert git(work, "status", "--porcelain") == ""
    (sentence,) = opening_notices_on_unwritable_files(work, BUILD, ("a.py", "b.py", "the decision"))
    assert sentence.startswith("Git converts these files on commit")
    assert sentence.endswith(": a.py.")
    outcome = write_draft_to_workspace(
        work, tmp_path / "journals", [DraftFile("a.py", b"a\r\n", b"c\r\n")], commit=commit_message()
    )
    assert isinstance(outcome, tuple)
    assert [refusal.kind for refusal in outcome] == [RefusalKind.FILTERED]
    assert "core.autocrlf" in refusal_sentence(outcome[0])


def test_a_repository_that_replaces_a_file_is_not_read(work: Path, tmp_path: Path) -> None:
    git(work, "config", "diff.submodule", "diff")
    (work / "b.py").unlink()
    inner = repository(work / "b.py", {"run.sh": f"#!/bin/sh\ntouch {tmp_path}/ran\n"})
    (inner / "run.sh").chmod(0o755)
    git(inner, "config", "diff.external", str(inner / "run.sh"))
    with open_git(work) as reader:
        assert "deleted file mode 100644" in reader.diff_uncommitted().diff
    assert not (tmp_path / "ran").exists()


def test_the_newest_commits_are_listed_in_full_whatever_the_users_git_settings(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", {"a.py": "a\n"}, "Grüße")
    git(work, "config", "i18n.logOutputEncoding", "ISO-8859-1")
    git(work, "config", "log.showRoot", "false")
    with open_git(work) as reader:
        (first,) = reader.recent_commits()
        assert reader.recent_commit_lines("HEAD") == [first.line]
    assert first.line.endswith(" Grüße")
    assert first.files == ("a.py",)


def test_a_commit_message_is_correct_although_the_users_own_are_not_in_utf_8(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", {"a.py": "a\n"})
    git(work, "config", "i18n.commitEncoding", "ISO-8859-1")
    require_applied(
        write_draft_to_workspace(
            work, tmp_path / "journals", [DraftFile("a.py", b"a\n", b"b\n")], commit=CommitMessage("Grüße")
        )
    )
    assert git(work, "log", "-1", "--encoding=UTF-8", "--format=%s") == "Grüße\n"
