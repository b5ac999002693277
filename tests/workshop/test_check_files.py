"""The files that decide what a check does are found by the command of the check."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.core.changeset import DraftFile
from roundtable.workshop.trial.check_files import (
    find_trial_check_files_in_change,
    restore_trial_check_file,
    trial_check_file_label,
)
from tests.repository import write

EXISTING_FILES = {
    path: "something\n" for path in ("check.sh", "Makefile", "web/Makefile", "calc.py", "package.json", "ci/run.py")
}
PACKAGE = b'{"name": "shop", "scripts": {"test": "sh check.sh"}}'


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    write(tmp_path, EXISTING_FILES)
    return tmp_path


def change_file(
    path: str, before: bytes | None = b"a\n", after: bytes | None = b"b\n", old_path: str = ""
) -> DraftFile:
    return DraftFile(path, before, after, old_path)


@pytest.mark.parametrize(
    ("argv", "file"),
    [
        (("sh", "check.sh"), change_file("check.sh")),
        (("sh", "-e", "./check.sh", "fast"), change_file("check.sh")),
        (("./check.sh",), change_file("check.sh", after=None)),
        (("./check.sh",), change_file("other.sh", old_path="check.sh")),
        (("/usr/bin/python3.11", "ci/run.py"), change_file("ci/run.py")),
        (("bash", "-c", "cd . ;sh check.sh || python3 ci/run.py"), change_file("ci/run.py")),
        (("bash", "-c", "it's broken"), None),
        (("bash", "-lc", "npm ci && npm test"), change_file("package.json")),
        (("npm", "test"), change_file("package.json", after=b"{not json")),
        (("npm", "test"), change_file("package.json", PACKAGE, b'{"name": "shop"}')),
        (("npm", "test"), change_file("package.json", PACKAGE, b'{"name": "shop", "version": "2"}')),
        (("npm", "test"), change_file("old.json", PACKAGE, PACKAGE, old_path="package.json")),
        (("make", "test"), change_file("GNUmakefile", before=None)),
        (("make", "-C", "web"), change_file("web/makefile", before=None)),
    ],
)
def test_changed_check_files_are_found(workspace: Path, argv: tuple[str, ...], file: DraftFile | None) -> None:
    files = [file] if file else []
    assert find_trial_check_files_in_change([*files, change_file("calc.py")], {"it": argv}, workspace) == tuple(files)


@pytest.mark.parametrize(
    ("argv", "file"),
    [
        (("python3", "-m", "doctest", "calc.py"), change_file("calc.py")),
        (("ruff", "check", "calc.py"), change_file("calc.py")),
        (("sh", "check.sh", "calc.py"), change_file("calc.py")),
        (("sh", "check.sh"), change_file("Makefile")),
        (("sh", "new.sh"), change_file("new.sh", before=None)),
        (("make", "test"), change_file("docs/Makefile", before=None)),
        (("npm", "test"), change_file("package.json", PACKAGE, PACKAGE.replace(b"shop", b"store"))),
        (("npm", "test"), change_file("web/package.json", None, PACKAGE)),
    ],
    ids=str,
)
def test_new_files_and_mere_arguments_are_no_check_files(
    workspace: Path, argv: tuple[str, ...], file: DraftFile
) -> None:
    assert find_trial_check_files_in_change([file], {"it": argv}, workspace) == ()


def test_only_the_scripts_of_a_package_are_restored() -> None:
    package_json = b'{"scripts": {"test": "exit 0"}, "name": "shop", "license": "\xc3\xa9"}'
    put_back = restore_trial_check_file(change_file("package.json", PACKAGE, package_json))
    assert put_back is not None
    text = '{\n  "scripts": {\n    "test": "sh check.sh"\n  },\n  "name": "shop",\n  "license": "é"\n}\n'
    assert put_back.after == text.encode()
    new = b'{"name": "shop", "scripts": {"test": "exit 0"}}'
    assert restore_trial_check_file(change_file("package.json", b'{"name": "shop"}', new)) is None
    assert restore_trial_check_file(change_file("package.json", PACKAGE, new)) is None
    assert restore_trial_check_file(change_file("package.json", PACKAGE, None)) is None
    assert restore_trial_check_file(change_file("check.sh")) is None


def test_a_check_file_has_a_description() -> None:
    assert trial_check_file_label(change_file("web/package.json")) == "the scripts of web/package.json"
    assert trial_check_file_label(change_file("other.sh", old_path="check.sh")) == "check.sh"
