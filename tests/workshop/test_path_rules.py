"""Which paths may be written: ordinary ones inside the workspace and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.refusals import RefusalKind
from roundtable.report.refusals import refusal_sentence
from roundtable.workshop.edit.path_rules import (
    check_write_path,
    check_write_path_on_disk,
    find_edit_path_name_collision,
    find_write_path_collisions,
    is_path_in_edit_scope,
)


@pytest.mark.parametrize(
    "path",
    [
        "a.py",
        "src/a.py",
        "src/a b.py",
        ".github/workflows/ci.yml",
        ".gitignore",
        "ünï/ß.py",
        "app/[id]/page.tsx",
        "a..b",
    ],
)
def test_a_plain_path_may_be_written(path: str) -> None:
    assert check_write_path(path) is None


@given(st.text(min_size=1))
def test_no_accepted_path_leads_out_of_the_workspace_on_any_system(path: str) -> None:
    if check_write_path(path) is None:
        parts = path.replace("\\", "/").split("/")
        assert path.isprintable()
        assert not path.startswith(("/", "~", "\\"))
        assert not {"", ".", ".."}.intersection(part.strip() for part in parts)
        assert ".git" not in {part.rstrip(". ").casefold() for part in parts}


def test_a_scope_covers_its_files_and_folders_and_nothing_else() -> None:
    scope = ("src", "docs/*.md", "setup.py")
    assert all(is_path_in_edit_scope(path, scope) for path in ("src/a.py", "src/deep/b.py", "docs/a.md", "setup.py"))
    assert not any(
        is_path_in_edit_scope(path, scope) for path in ("source/a.py", "docs/a.txt", "tests/setup.py", "src"[:2])
    )


def test_names_that_differ_only_in_case_collide() -> None:
    assert find_edit_path_name_collision("README.md", ["readme.md"]) == "readme.md"
    assert find_edit_path_name_collision("straße.py", ["STRASSE.py"]) == "STRASSE.py"
    assert find_edit_path_name_collision("a.py", ["a.py", "b.py"]) == ""


def test_a_refusal_is_a_sentence_that_begins_with_the_path() -> None:
    refusal = check_write_path("../x.py")
    assert refusal is not None
    assert (refusal.kind, refusal.path) == (RefusalKind.TRAVERSAL, "../x.py")
    assert refusal_sentence(refusal).startswith("../x.py")
    assert refusal_sentence(refusal).endswith(".")


@pytest.mark.parametrize("path", ["a\ufe0f.py", "a\u115fb.py", "a\u2800.py", "a\u034f.py", "a\tb.py", "a\u00a0b.py"])
def test_a_path_with_invisible_characters_is_refused(path: str) -> None:
    refusal = check_write_path(path)
    assert refusal is not None
    assert refusal.kind is RefusalKind.ENCODED


def test_git_settings_files_are_never_written() -> None:
    refusal = check_write_path("dotfiles/.gitconfig")
    assert refusal is not None
    assert refusal.kind is RefusalKind.REPOSITORY


@pytest.mark.feature("S4.104")
@pytest.mark.parametrize(
    "path", ["\u0441alc.py", "lib/p\u0430yment/a.py", "\u03bfpen.py", "test_\u0441alc.py", "README.\u043cd"]
)
def test_a_new_name_that_mixes_scripts_is_refused(tmp_path: Path, path: str) -> None:
    refusal = check_write_path_on_disk(tmp_path, path, 100)
    assert refusal is not None
    assert (refusal.kind, refusal.path) == (RefusalKind.ENCODED, path)
    assert "letters of several alphabets" in refusal_sentence(refusal)


@pytest.mark.parametrize(
    "path",
    [
        "calc.py",
        "привет.py",
        "данные/отчёт.txt",
        "ελληνικά.md",
        "会議memo.txt",
        "テストdata-01.py",
        "한글file.py",
        "naïve_ß.py",
        "test_данные.py",
        "pi_π.py",
    ],
)
def test_a_new_name_in_one_script_or_in_cjk_with_latin_is_accepted(tmp_path: Path, path: str) -> None:
    assert check_write_path_on_disk(tmp_path, path, 100) is None


def test_an_existing_file_with_a_mixed_script_name_may_be_changed(tmp_path: Path) -> None:
    (tmp_path / "\u0441alc.py").write_text("x\n")
    assert check_write_path_on_disk(tmp_path, "\u0441alc.py", 100) is None
    assert check_write_path_on_disk(tmp_path, "\u0441alculator.py", 100) is not None


@pytest.mark.parametrize(
    "path",
    [
        *("GITMOD~1", "gitatt~1", "GI7EBA~1", "a/ROUNDT~1/x"),
        *("src\N{DIVISION SLASH}a.py", "src\N{FRACTION SLASH}a.py", "src\N{BIG SOLIDUS}a.py"),
    ],
)
def test_windows_short_names_and_slash_look_lookalikes_are_refused(path: str) -> None:
    assert check_write_path(path) is not None


def test_new_folders_that_differ_only_in_case_collide() -> None:
    assert [refusal.path for refusal in find_write_path_collisions(["N/x.py", "n/y.py", "N/z.py"])] == ["n/y.py"]
