"""Exporting the files of a commit: no sensitive files, and no program of the repository runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.workshop.repo.scratch_trees import CommitUnavailable, export_git_commit_files
from tests.repository import commit, git, repository, write


def read_files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def target_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


def test_a_commit_is_exported_without_sensitive_files_and_without_changing_the_repository(
    tmp_path: Path, target_folder: Path
) -> None:
    work = repository(tmp_path / "work", {"a.py": "1\n", "src/b.py": "2\n", ".env": "PASSWORD=tulip\n"})
    first = git(work, "rev-parse", "HEAD").strip()
    write(work, {"a.py": "changed\n", "new.py": "3\n"})
    commit(work, "Later")
    write(work, {"a.py": "again\n"})
    before = git(work, "status", "--porcelain")
    export_git_commit_files(work, first, target_folder)
    assert read_files(target_folder) == {"a.py": "1\n", "src/b.py": "2\n"}
    assert git(work, "status", "--porcelain") == before


def test_only_the_workspace_folder_of_a_larger_repository_is_exported(tmp_path: Path, target_folder: Path) -> None:
    top = repository(tmp_path / "top", {"shop/a.py": "1\n", "shop/src/b.py": "2\n", "other.py": "3\n"})
    export_git_commit_files(top / "shop", git(top, "rev-parse", "HEAD").strip(), target_folder)
    assert read_files(target_folder) == {"a.py": "1\n", "src/b.py": "2\n"}


def test_exporting_a_commit_runs_no_program_of_the_repository_config(tmp_path: Path, target_folder: Path) -> None:
    work = repository(tmp_path / "work", {"a.py": "1\n", ".gitattributes": "*.py filter=evil\n"})
    git(work, "config", "filter.evil.smudge", f"touch {tmp_path / 'ran'}; cat")
    export_git_commit_files(work, git(work, "rev-parse", "HEAD").strip(), target_folder)
    assert read_files(target_folder)["a.py"] == "1\n"
    assert not (tmp_path / "ran").exists()


def test_a_missing_commit_is_reported_in_one_sentence(tmp_path: Path, target_folder: Path) -> None:
    work = repository(tmp_path / "work", {"a.py": "1\n"})
    with pytest.raises(CommitUnavailable, match=r"The files of commit 000000000000 cannot be read"):
        export_git_commit_files(work, "0" * 40, target_folder)
    assert read_files(target_folder) == {}
