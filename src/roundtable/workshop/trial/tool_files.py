"""Files that would be loaded instead of a program that checks a candidate: it must not bring its own judge."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import PurePosixPath

from roundtable.core.changeset import DraftFile
from roundtable.core.text.file_names import is_collected_test_file_name

_PYTHON_RUNNERS = frozenset(
    ("_pytest", "coverage", "exceptiongroup", "hypothesis", "iniconfig", "nose", "nose2", "packaging", "pluggy", "py",
     "pytest", "sitecustomize", "tomli", "tox", "usercustomize")
)  # fmt: skip
_PYTHON_SUFFIXES = (".py", ".pyc", ".so", ".pyd")
_TOOL_FOLDERS = ("node_modules", ".cargo", "site-packages")
_TOOL_FILES = frozenset(
    (".npmrc", ".pnpmfile.cjs", ".yarnrc", ".yarnrc.yml", "bunfig.toml", "go.work", "rust-toolchain",
     "rust-toolchain.toml", "vendor/modules.txt")
)  # fmt: skip
"""Settings with which another program runs as npm, go or cargo."""


def find_added_tool_files(files: Iterable[DraftFile]) -> tuple[str, ...]:
    """Return the added files that hide a module of Python, a test runner, or a program of another toolchain.

    A file of the person's that has such a name already is theirs to have.
    """
    files = [file for file in files if file.after is not None]
    with_tests = (PurePosixPath(file.path).parent for file in files if is_collected_test_file_name(file.path))
    import_roots = {".", "src", "test", "tests", *map(str, with_tests)}
    return tuple(
        file.path
        for file in files
        if file.before is None and (_hides_python_module(file.path, import_roots) or _replaces_tool(file.path))
    )


def _hides_python_module(path: str, import_roots: Iterable[str]) -> bool:
    """Tell whether Python would import the file instead of a module of its own, from one of these folders."""
    place = PurePosixPath(path)
    if place.suffix not in _PYTHON_SUFFIXES:
        return False
    if place.name.partition(".")[0] == "__init__":
        place = place.parent
    module = place.name.partition(".")[0]
    return str(place.parent) in import_roots and (module in sys.stdlib_module_names or module in _PYTHON_RUNNERS)


def _replaces_tool(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return any(folder in parts[:-1] for folder in _TOOL_FOLDERS) or path in _TOOL_FILES or parts[-1] in _TOOL_FILES
