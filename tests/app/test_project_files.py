"""A project is a folder with a draft on top: which files are shown, and how drafts build on each other."""

from __future__ import annotations

from pathlib import Path

from roundtable.app.effects.project_files import ProjectReader
from roundtable.core.changeset import Changeset, CreateFile, DraftFile
from roundtable.core.text.redaction import Redactor
from roundtable.store.in_memory import InMemoryStore
from roundtable.workshop.edit.draft import apply_changeset_in_memory
from roundtable.workshop.edit.stored_drafts import DraftStore, compare_edit_drafts
from roundtable.workshop.repo.git import create_empty_repository
from tests.repository import git, repository

SECRET = "sk-ant-api03-" + "a1B2c3D4e5" * 9
HERE = {
    "tests/test_app.py": "def test_app(): ...\n",
    "pyproject.toml": "[project]\n",
    "app.py": "print(1)\n",
    "old.py": "print(0)\n",
    "moved.py": "print(2)\n",
    ".gitignore": "build/\n",
    "build/out.py": "print(3)\n",
    "vendor/lib.py": "print(4)\n",
    ".env": "TOKEN=1\n",
    "settings.py": f'KEY = "{SECRET}"\n',
    "empty/__init__.py": "",
}
DRAFT = (
    DraftFile("app.py", b"print(1)\n", b"print('new')\n"),
    DraftFile("old.py", b"print(0)\n", None),
    DraftFile("here.py", b"print(2)\n", b"print(2)\n", was="moved.py"),
    DraftFile("zebra.py", None, b"print('z')\n"),
    DraftFile("data.bin.txt", None, b"\xff\xfe"),
)


async def test_program_files_come_before_settings_and_tests_and_refused_files_have_a_reason(
    tmp_path: Path,
) -> None:
    repository(tmp_path / "code", HERE)
    drafts = DraftStore(InMemoryStore())
    listing = ProjectReader(drafts, tmp_path / "code", Redactor(), ("vendor",))
    listed = await listing.read_files(await drafts.save(DRAFT))
    assert list(listed.files) == [
        "app.py",
        "here.py",
        "zebra.py",
        ".gitignore",
        "pyproject.toml",
        "tests/test_app.py",
    ]
    assert listed.files["app.py"] == b"print('new')\n", "as the draft leaves it"
    assert listed.refused == {
        ".env": ".env is a sensitive file and is never shown to a model.",
        "settings.py": "settings.py contains what looks like a secret (anthropic-key).",
        "data.bin.txt": "data.bin.txt cannot be read as text.",
        "empty/__init__.py": "empty/__init__.py contains no text.",
    }


def test_the_changes_of_a_later_draft_are_computed_against_the_earlier_draft() -> None:
    first = (DraftFile("a.py", b"1", b"2"), DraftFile("b.py", None, b"new"), DraftFile("c.py", b"c", b"changed"))
    later = (DraftFile("a.py", b"1", b"3"), DraftFile("b.py", None, b"new"), DraftFile("d.py", None, b"d"))
    assert compare_edit_drafts(first, later) == (
        DraftFile("a.py", b"2", b"3"),
        DraftFile("d.py", None, b"d"),
        DraftFile("c.py", b"changed", b"c"),
    )
    assert compare_edit_drafts(first, first) == ()
    assert compare_edit_drafts((), later) == later


def test_a_new_project_ignores_a_repository_above_its_folder(tmp_path: Path) -> None:
    """Some people have a repository in their home that ignores all but a few files."""
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("*\n")
    root = create_empty_repository(tmp_path / "data" / "nothing")
    assert create_empty_repository(root) == root, "made once"
    drafting = apply_changeset_in_memory(Changeset((CreateFile("app.py", "print(1)\n"),)), root, Redactor().finds)
    assert drafting.refused == ()
    assert [file.path for file in drafting.files] == ["app.py"]
