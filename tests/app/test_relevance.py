"""Which files, and which parts of a diff, are shown first if not everything fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.app.opening.relevance import (
    RankedFile,
    extract_context_search_terms,
    fit_diff_into_opening_context,
    rank_context_files,
)
from roundtable.core.text.diffs import split_diff_text_by_file
from roundtable.core.text.file_names import is_generated_file_name, is_sensitive_file_name


def order(question: str, *candidates: RankedFile) -> list[str]:
    return [file.path for file in rank_context_files(extract_context_search_terms(question), candidates)]


def hunk(path: str, lines: int = 3) -> str:
    body = "".join(f"+line {number} of {path}\n" for number in range(lines))
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n{body}"


def test_a_file_named_in_the_question_comes_first() -> None:
    files = [RankedFile("src/api/routes.py"), RankedFile("src/auth/token.py"), RankedFile("tests/test_routes.py")]
    assert order("Why does the auth token expire?", *files)[0] == "src/auth/token.py"


def test_the_content_of_a_file_counts_as_well_as_its_name() -> None:
    files = [RankedFile("a.py", text="def start(): ..."), RankedFile("b.py", text="def refresh(token): return token")]
    assert order("Who refreshes the token?", *files) == ["b.py", "a.py"]


def test_recently_changed_files_come_first() -> None:
    assert order("What now?", RankedFile("a.py"), RankedFile("b.py", recent=1), RankedFile("c.py", recent=5)) == [
        "b.py",
        "c.py",
        "a.py",
    ]


@pytest.mark.parametrize("path", ["package-lock.json", "web/app.min.js", "Cargo.lock", "vendor/lib/x.go", "a/go.sum"])
def test_generated_files_come_last(path: str) -> None:
    assert is_generated_file_name(path)
    assert order(f"What about {path}?", RankedFile(path, recent=1), RankedFile("other.py")) == ["other.py", path]


@given(st.text(), st.lists(st.tuples(st.text(), st.integers(0, 30), st.text()), max_size=8))
def test_the_order_of_relevant_files_is_deterministic(question: str, files: list[tuple[str, int, str]]) -> None:
    candidates = [RankedFile(*fields) for fields in dict.fromkeys(files)]
    once, again = (
        rank_context_files(extract_context_search_terms(question), candidates),
        rank_context_files(extract_context_search_terms(question), reversed(candidates)),
    )
    assert [file.path for file in once] == [file.path for file in again]


@pytest.mark.parametrize(
    "path",
    [
        ".env", "deploy/.env.production", "prod.env", "keys/id_rsa", "id_ed25519.pub", "certs/server.PEM",
        "a/.ssh/config", ".aws/credentials", "home/.netrc", ".git/config", "sub/.git", "Secrets.yaml", ".npmrc",
        "app/credentials.json", "secrets.toml", ".env.js", "secret",
    ],
)  # fmt: skip
def test_sensitive_files_are_recognized_by_their_names(path: str) -> None:
    assert is_sensitive_file_name(path)


@pytest.mark.parametrize(
    "path",
    [
        "src/env.py", "keyboard.ts", "docs/secrets-of-design.md", "environment.yml", "git.py", "app/credentials.py",
        "src/secrets.rs", "api/secret.ts", "docs/secrets.md",
    ],
)  # fmt: skip
def test_file_names_that_only_sound_secret_are_not_sensitive(path: str) -> None:
    assert not is_sensitive_file_name(path)


def test_a_diff_is_read_file_by_file() -> None:
    renamed = "diff --git a/old.py b/new.py\nsimilarity index 100%\nrename from old.py\nrename to new.py\n"
    quoted = 'diff --git "a/t\\303\\244/.env" "b/t\\303\\244/.env"\nnew file mode 100644\n'
    found = split_diff_text_by_file(hunk("a.py") + renamed + quoted)
    assert [file.path for file in found][:2] == ["a.py", "new.py"]
    assert found[1].paths == ("old.py", "new.py")
    assert is_sensitive_file_name(found[2].path)


def test_a_plain_patch_is_read_file_by_file_too() -> None:
    first = "--- a/x.c\t2026-01-01\n+++ b/x.c\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n"
    patch = first + "--- y.c\n+++ y.c\n@@ -1 +1 @@\n--- c\n+++ d\n"
    assert [section.path for section in split_diff_text_by_file(patch)] == ["x.c", "y.c"]


def test_a_diff_that_does_not_fit_drops_lockfiles_first_and_keeps_relevant_files() -> None:
    found = split_diff_text_by_file(hunk("package-lock.json", 50) + hunk("src/b.py", 20) + hunk("src/locks.py", 20))
    cut = fit_diff_into_opening_context(
        extract_context_search_terms("Are the locks safe?"), found, len(hunk("src/locks.py", 20)) + 10
    )
    assert "+line 19 of src/locks.py" in cut.text
    assert cut.left_out == ("package-lock.json", "src/b.py")


def test_a_partly_shown_file_says_how_much_is_missing() -> None:
    cut = fit_diff_into_opening_context((), split_diff_text_by_file(hunk("long.py", 200)), 1_000)
    assert cut.parted == ("long.py",)
    assert "more lines of this file are left out because they do not fit]" in cut.text


@given(
    st.lists(st.tuples(st.sampled_from(["a.py", "b.lock", "c/d.md"]), st.integers(0, 60)), max_size=6),
    st.integers(0, 4_000),
)
def test_a_shortened_diff_stays_within_its_limit(files: list[tuple[str, int]], room: int) -> None:
    found = split_diff_text_by_file("".join(hunk(*fields) for fields in files))
    cut = fit_diff_into_opening_context((), found, room)
    assert len(cut.text.encode()) <= room
    assert {section.path for section in found} == {
        *cut.left_out,
        *(section.path for section in split_diff_text_by_file(cut.text)),
    }


@given(st.lists(st.sampled_from([hunk("a.py"), hunk("b.lock"), "prose\n"]) | st.text()).map("".join))
def test_reading_any_text_as_a_diff_loses_nothing(text: str) -> None:
    assert "".join(section.text for section in split_diff_text_by_file(text)).strip() == text.strip()
