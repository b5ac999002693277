"""The rules of the house that no other tool checks."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from roundtable.app import desk
from roundtable.core.events import EVENT_KINDS
from roundtable.meetings import MEETINGS

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def test_importing_roundtable_has_no_side_effects() -> None:
    program = "import sys; before = set(sys.modules); import roundtable; print(sorted(set(sys.modules) - before))"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "['roundtable']"


def test_every_module_has_a_docstring() -> None:
    for path in SOURCES:
        assert path.read_text().startswith('"""'), f"{path.relative_to(ROOT)} has no docstring"


def test_a_meeting_is_about_a_hundred_lines() -> None:
    for name in MEETINGS:
        path = ROOT / "src" / "roundtable" / "meetings" / f"{name.replace('-', '_')}.py"
        assert len(path.read_text().splitlines()) <= 200, f"{name} is more than its minutes"


def test_doors_stories_and_benchmarks_use_nothing_of_the_app_but_the_desk() -> None:
    for folder in ("tests/doors", "tests/stories", "bench"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line in path.read_text().splitlines():
                assert "roundtable.app" not in line or "roundtable.app.desk" in line, f"{path.name}: {line}"


def test_the_desk_offers_every_name_that_it_lists() -> None:
    for name in desk.NAMES:
        assert getattr(desk, name), name


def test_events_are_dotted() -> None:
    assert all(kind.count(".") == 1 or kind == "unknown" for kind in EVENT_KINDS)


def test_no_path_of_a_machine_and_no_registry_is_in_the_repository() -> None:
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    words = ("/" + "root/", "/" + "work/", "pypi" + ".org", "registry" + ".npmjs", "files.python" + "hosted")
    for name in listing.stdout.splitlines():
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".json", ".yml", ""} and path.is_file():
            text = path.read_text(errors="replace")
            assert not any(word in text for word in words), name


@pytest.mark.feature("S3.90")
def test_the_licence_is_mit() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
