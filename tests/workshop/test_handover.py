"""A project is delivered to a new place: as a folder, a zip, or a repository with one commit per version."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest

from roundtable.core.changeset import DraftFile
from roundtable.core.faults import UsageError
from roundtable.core.handover import HandoverForm
from roundtable.workshop.project.handover import (
    ProjectVersion,
    edited_project_files,
    hand_over_project,
    read_deliverable_project_files,
)
from roundtable.workshop.repo.commits import CommitMessage
from tests.repository import git, repository

AT = "2026-11-15T18:00:00.123456Z"
LATER = "2026-11-15T19:30:00Z"


def project_files(*files: tuple[str, str], runs: str = "") -> dict[str, DraftFile]:
    return {path: DraftFile(path, None, text.encode(), executable=path == runs) for path, text in files}


FIRST = ProjectVersion(
    {}, AT, CommitMessage("D1 requirements", "s1", approved_by="ada", stage="D1 requirements"), {"docs/D1.md": "R1"}
)
SECOND = ProjectVersion(
    project_files(("app.py", "print(1)\n"), ("bin/run", "#!/bin/sh\n"), ("old.py", "x = 1\n"), runs="bin/run"),
    AT,
    CommitMessage("D2 development", "s1", producers=("claude", "gpt"), stage="D2 development"),
    FIRST.documents,
)
CHANGED = project_files(("app.py", "print(2)\n"), ("bin/run", "#!/bin/sh\n"), runs="bin/run")
THIRD = ProjectVersion(CHANGED, LATER, CommitMessage("D3 review"), FIRST.documents)
ALL = (FIRST, SECOND, THIRD)


@pytest.fixture(autouse=True)
def home_without_git_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without a git configuration."""
    (tmp_path / "me").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path / "me"


def list_files(folder: Path) -> dict[str, tuple[str, int]]:
    """Return every file of a folder except those of git, with its permissions."""
    paths = [
        path for path in sorted(folder.rglob("*")) if path.is_file() and ".git" not in path.relative_to(folder).parts
    ]
    return {str(path.relative_to(folder)): (path.read_text(), path.stat().st_mode & 0o777) for path in paths}


def test_a_folder_gets_exactly_the_files_of_the_last_version(tmp_path: Path) -> None:
    hand_over_project(tmp_path / "new/todo", "folder", ALL, "ada")
    assert list_files(tmp_path / "new") == {
        "todo/app.py": ("print(2)\n", 0o644),
        "todo/bin/run": ("#!/bin/sh\n", 0o755),
    }
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["todo"]


@pytest.mark.parametrize("form", ["folder", "git", "zip"])
def test_existing_files_are_kept_and_an_identical_project_is_accepted(tmp_path: Path, form: HandoverForm) -> None:
    place = tmp_path / "out" / "todo"
    first = hand_over_project(place, form, ALL, "ada")
    before = place.stat()
    assert hand_over_project(place, form, ALL, "ada") == first
    assert place.stat().st_ino == before.st_ino
    with pytest.raises(UsageError, match="exists already"):
        hand_over_project(place, form, ALL[:2], "ada")
    assert hand_over_project(place, form, ALL, "ada") == first, "nothing of it was changed"
    assert [path.name for path in place.parent.iterdir()] == ["todo"]


@pytest.mark.parametrize("form", ["folder", "git", "zip"])
def test_an_existing_file_or_link_is_never_overwritten(tmp_path: Path, form: HandoverForm) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    for name in ("mine", "link"):
        with pytest.raises(UsageError, match="exists already"):
            hand_over_project(tmp_path / name, form, ALL, "ada")
    assert (tmp_path / "mine").read_text() == "mine"
    assert list((tmp_path / "empty").iterdir()) == []


def test_an_empty_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "todo").mkdir()
    hand_over_project(tmp_path / "todo", "folder", ALL, "ada")
    assert list(list_files(tmp_path / "todo")) == ["app.py", "bin/run"]


MANY = """
from pathlib import Path
from roundtable.core.changeset import DraftFile
from roundtable.workshop.project.handover import ProjectVersion, hand_over_project
from roundtable.workshop.repo.commits import CommitMessage

files = {f"{number}.txt": DraftFile(f"{number}.txt", None, b"x" * 1000) for number in range(4_000)}
hand_over_project(Path("todo"), "folder", [ProjectVersion(files, "2026-11-15T18:00:00Z", CommitMessage("x"))], "ada")
"""


def staging_folders(folder: Path) -> list[Path]:
    """Return the staging folders in which the second file has been written."""
    return [path.parent.parent for path in folder.glob(".*/made/1.txt")]


def start_handover(folder: Path) -> subprocess.Popen[bytes]:
    """Start another process that is in the middle of a handover."""
    process = subprocess.Popen([sys.executable, "-c", MANY], cwd=folder)
    give_up = time.monotonic() + 60
    while not staging_folders(folder):
        assert time.monotonic() < give_up
        time.sleep(0.01)
    return process


def test_a_killed_handover_leaves_nothing_at_the_destination(tmp_path: Path) -> None:
    with start_handover(tmp_path) as process:
        process.kill()
    assert staging_folders(tmp_path)
    assert not (tmp_path / "todo").exists()
    hand_over_project(tmp_path / "todo", "folder", ALL, "ada")
    assert list(list_files(tmp_path / "todo")) == ["app.py", "bin/run"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["me", "todo"]


def test_concurrent_handovers_do_not_disturb_each_other(tmp_path: Path) -> None:
    with start_handover(tmp_path) as process:
        process.send_signal(signal.SIGSTOP)
        hand_over_project(tmp_path / "other", "folder", ALL, "ada")
        assert staging_folders(tmp_path), "it is alive, so what it makes is left alone"
        process.send_signal(signal.SIGCONT)
    assert process.returncode == 0
    assert len(list((tmp_path / "todo").iterdir())) == 4_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["me", "other", "todo"]


def test_a_folder_that_only_looks_like_ours_is_kept(tmp_path: Path) -> None:
    mine = [tmp_path / name for name in (".todo.being-made", ".roundtable-making-mine")]
    for folder in mine:
        folder.mkdir()
        (folder / "lock").write_text("mine")
    hand_over_project(tmp_path / "todo", "folder", ALL, "ada")
    assert [(folder / "lock").read_text() for folder in mine] == ["mine", "mine"]


@pytest.mark.parametrize("form", ["folder", "git"])
def test_a_folder_with_an_added_file_is_not_identical(tmp_path: Path, form: HandoverForm) -> None:
    for name in ("link", "folder", "pipe", "hook", "settings"):
        place = tmp_path / name
        hand_over_project(place, form, ALL, "ada")
        (place / ".git").mkdir(exist_ok=True)
        match name:
            case "link":
                (place / "x").symlink_to("/etc/passwd")
            case "folder":
                (place / "empty").mkdir()
            case "pipe":
                os.mkfifo(place / "pipe")
            case "hook":
                (place / ".git/hooks").mkdir()
            case _:
                (place / ".git/config").write_text("[core]\nfsmonitor = ./evil\n")
        with pytest.raises(UsageError, match="exists already"):
            hand_over_project(place, form, ALL, "ada")


@pytest.mark.parametrize("name", [".zip", "..zip", "...zip", "new/..", ".."])
@pytest.mark.parametrize("form", ["folder", "zip"])
def test_a_place_without_a_name_is_refused(tmp_path: Path, name: str, form: HandoverForm) -> None:
    (tmp_path / "w").mkdir()
    with pytest.raises(UsageError, match="does not contain a project name"):
        hand_over_project(tmp_path / "w" / name, form, ALL, "ada")
    assert list((tmp_path / "w").iterdir()) == []


def test_existing_files_are_compared_without_reading_them_into_memory(tmp_path: Path) -> None:
    hand_over_project(tmp_path / "todo", "folder", ALL, "ada")
    os.truncate(tmp_path / "todo/app.py", 1 << 40)
    with pytest.raises(UsageError, match="exists already"):
        hand_over_project(tmp_path / "todo", "folder", ALL, "ada")


def test_a_zip_is_reproducible_and_unpacks_into_one_folder(tmp_path: Path) -> None:
    for name in ("a", "b"):
        hand_over_project(tmp_path / name / "todo.zip", "zip", ALL, "ada")
    assert (tmp_path / "a/todo.zip").read_bytes() == (tmp_path / "b/todo.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a/todo.zip") as zip:
        assert zip.namelist() == ["todo/app.py", "todo/bin/run"]
        assert [oct(entry.external_attr >> 16) for entry in zip.infolist()] == ["0o100644", "0o100755"]
        assert zip.infolist()[0].date_time == (2026, 11, 15, 19, 30, 0)
        assert zip.testzip() is None
        assert zip.read("todo/app.py") == b"print(2)\n"


def test_a_repository_has_one_commit_per_version_with_its_origin(tmp_path: Path) -> None:
    tip = hand_over_project(tmp_path / "todo", "git", ALL, "ada")
    folder = tmp_path / "todo"
    assert git(folder, "rev-parse", "HEAD").strip() == tip
    assert git(folder, "log", "--reverse", "--format=%s").split("\n")[:-1] == [
        "D1 requirements",
        "D2 development",
        "D3 review",
    ]
    trailers = git(folder, "log", "-1", "--format=%(trailers:only,unfold)", "HEAD~1").split("\n")
    assert trailers[:4] == [
        "Roundtable-Session: s1",
        "Roundtable-Stage: D2 development",
        "Produced-By: claude",
        "Produced-By: gpt",
    ]
    assert git(folder, "log", "--format=%an <%ae> %cs %at").split("\n")[:2] == [
        "ada <ada@localhost> 2026-11-15 1794771000",
        "ada <ada@localhost> 2026-11-15 1794765600",
    ]
    names = ["docs/D1.md", "app.py bin/run old.py", "app.py old.py"]
    tips = git(folder, "log", "--reverse", "--format=%H").split()
    assert git(folder, "show", "--format=", "--name-only", tips[0]).split() == names[0].split()
    for (old, new), changed in zip(pairwise(tips), names[1:], strict=True):
        assert git(folder, "diff", "--name-only", old, new).split() == changed.split()
    assert git(folder, "status", "--porcelain") == ""
    git(folder, "fsck", "--strict")
    assert list_files(folder)["docs/D1.md"] == ("R1", 0o644)
    assert hand_over_project(tmp_path / "twin", "git", ALL, "ada") == tip, "the same versions are the same commits"


def test_commits_use_the_persons_identity_and_default_branch(tmp_path: Path, home_without_git_config: Path) -> None:
    (home_without_git_config / ".gitconfig").write_text(
        "[user]\nname = Ada L\nemail = ada@l.example\n[init]\ndefaultBranch = trunk\n"
    )
    hand_over_project(tmp_path / "todo", "git", ALL, "somebody")
    assert git(tmp_path / "todo", "log", "-1", "--format=%an <%ae>") == "Ada L <ada@l.example>\n"
    assert git(tmp_path / "todo", "branch", "--show-current") == "trunk\n"


def test_a_version_without_changes_makes_no_commit(tmp_path: Path) -> None:
    hand_over_project(tmp_path / "todo", "git", (SECOND, SECOND, THIRD), "ada")
    assert git(tmp_path / "todo", "log", "--format=%s").split("\n")[:-1] == ["D3 review", "D2 development"]


def test_documents_never_replace_project_files(tmp_path: Path) -> None:
    mine = ProjectVersion(
        project_files(("docs", "a file of that name\n")), AT, CommitMessage("D2"), {"docs/D1.md": "R1"}
    )
    hand_over_project(tmp_path / "todo", "git", (mine,), "ada")
    assert list_files(tmp_path / "todo") == {"docs": ("a file of that name\n", 0o644)}


def test_a_repository_can_be_pushed_to_an_empty_one(tmp_path: Path) -> None:
    tip = hand_over_project(tmp_path / "todo", "git", ALL, "ada")
    git(tmp_path, "init", "-q", "--bare", "far.git")
    git(tmp_path / "todo", "remote", "add", "origin", str(tmp_path / "far.git"))
    git(tmp_path / "todo", "push", "-q", "-u", "origin", "HEAD")
    assert git(tmp_path / "far.git", "rev-parse", "main").strip() == tip


def test_existing_files_are_handed_over_except_ignored_and_secret_ones(tmp_path: Path) -> None:
    files = {"a.py": "a\n", "b.py": "b\n", "gone.py": "g\n", ".gitignore": "built\n", "built": "x", ".env": "KEY=1"}
    folder = repository(tmp_path / "shop", files)
    (folder / "link").symlink_to("a.py")
    base = read_deliverable_project_files(folder)
    assert list(base) == [".gitignore", "a.py", "b.py", "gone.py"]
    draft = (
        DraftFile("b.py", b"b\n", b"b2\n"),
        DraftFile("gone.py", b"g\n", None),
        DraftFile("c.py", b"a\n", b"a\n", was="a.py"),
        DraftFile("new.py", None, b"n\n"),
    )
    assert {path: file.after for path, file in edited_project_files(base, draft).items()} == {
        ".gitignore": b"built\n",
        "b.py": b"b2\n",
        "c.py": b"a\n",
        "new.py": b"n\n",
    }


def test_an_unwritable_destination_stays_unchanged(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for place in (tmp_path / "file" / "todo", tmp_path / ("x" * 300), Path("/proc/x/y")):
        with pytest.raises(UsageError, match="could not be written"):
            hand_over_project(place, "folder", ALL, "ada")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "me"]
