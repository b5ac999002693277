"""Drafts computed from changesets on a real tree, and the refusals of operations that cannot be applied."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundtable.core.changeset import (
    Changeset,
    CreateFile,
    DeleteFile,
    DraftFile,
    EditBlock,
    EditFile,
    Operation,
    PutSymbol,
    RenameFile,
    ReplaceFile,
)
from roundtable.core.refusals import RefusalKind
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import compute_digest
from roundtable.report.refusals import refusal_sentence
from roundtable.workshop.edit.draft import DraftResult, apply_changeset_in_memory
from tests.repository import git, repository, write

K = RefusalKind


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(
        tmp_path / "shop",
        {
            "a.py": "one\ntwo\nthree\n",
            "twice.py": "x = 1\ny = 2\nx = 1\n",
            "deep.py": "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n",
            "run.sh": "echo\n",
            ".gitignore": "out/\n",
        },
    )


def draft(
    root: Path, *operations: Operation, over: tuple[DraftFile, ...] = (), scope: tuple[str, ...] = ()
) -> DraftResult:
    """Compute a draft of these operations."""
    return apply_changeset_in_memory(Changeset(operations, "claude", scope, "D-1"), root, Redactor().finds, over)


def files_after(root: Path, *operations: Operation) -> dict[str, bytes | None]:
    """Return the files after these operations, none of which may be refused."""
    drafted = draft(root, *operations)
    assert not drafted.refused
    return {file.path: file.after for file in drafted.files}


def kinds(drafted: DraftResult) -> list[RefusalKind | None]:
    return [refusal.kind for refusal in drafted.refused]


def edit(path: str, search: str, replace: str, line: int = 0) -> EditFile:
    return EditFile(path, (EditBlock(search, replace, line),))


def test_every_operation_yields_files_before_and_after_and_writes_nothing(shop: Path) -> None:
    (shop / "run.sh").chmod(0o755)
    drafted = draft(
        shop,
        CreateFile("new/b.py", "b\n"),
        ReplaceFile("a.py", "1\n", asked_by="C3"),
        RenameFile("deep.py", "flat.py"),
        DeleteFile("twice.py"),
        EditFile("run.sh", (), executable=False),
    )
    assert drafted.refused == ()
    files = {file.path: file for file in drafted.files}
    assert files["new/b.py"] == DraftFile("new/b.py", None, b"b\n", asked_by="D-1")
    assert files["a.py"] == DraftFile("a.py", b"one\ntwo\nthree\n", b"1\n", asked_by="C3")
    assert (files["flat.py"].was, files["flat.py"].before) == ("deep.py", files["flat.py"].after)
    assert files["twice.py"].after is None
    assert (files["run.sh"].was_executable, files["run.sh"].executable) == (True, False)
    assert len(files) == 5
    assert git(shop, "status", "--porcelain", "--untracked-files=all").split() == ["M", "run.sh"]


def test_several_edits_of_one_file_are_applied_in_order(shop: Path) -> None:
    assert files_after(shop, edit("a.py", "two\n", "2\n"), edit("a.py", "2\n", "II\n")) == {"a.py": b"one\nII\nthree\n"}
    both = EditFile("a.py", (EditBlock("three\n", "3\n"), EditBlock("one\n", "1\n")))
    assert files_after(shop, both) == {"a.py": b"1\ntwo\n3\n"}


def test_a_renamed_file_is_edited_under_its_new_name(shop: Path) -> None:
    (file,) = draft(shop, RenameFile("a.py", "b.py"), edit("b.py", "two\n", "2\n")).files
    assert (file.path, file.was, file.before, file.after) == ("b.py", "a.py", b"one\ntwo\nthree\n", b"one\n2\nthree\n")


def test_a_name_that_another_file_takes_over_is_a_change_of_both_files(shop: Path) -> None:
    assert files_after(shop, RenameFile("a.py", "b.py"), CreateFile("a.py", "new\n")) == {
        "a.py": b"new\n",
        "b.py": b"one\ntwo\nthree\n",
    }
    assert files_after(shop, DeleteFile("run.sh"), RenameFile("a.py", "run.sh")) == {
        "a.py": None,
        "run.sh": b"one\ntwo\nthree\n",
    }


def test_an_operation_without_effect_adds_no_file_to_the_draft(shop: Path) -> None:
    drafted = draft(shop, ReplaceFile("a.py", "one\ntwo\nthree\n"), CreateFile("b.py", ""), DeleteFile("b.py"))
    assert drafted == DraftResult(())


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (edit("a.py", "four\n", "4\n"), K.NOT_FOUND),
        (edit("a.py", "wo\n", "4\n"), K.NOT_FOUND),
        (edit("twice.py", "x = 1\n", "x = 3\n"), K.AMBIGUOUS),
        (edit("twice.py", "x = 1\n", "x = 3\n", 2), K.AMBIGUOUS),
        (edit("a.py", "", "4\n"), K.AMBIGUOUS),
        (EditFile("a.py", (EditBlock("one\ntwo\n", "1\n"), EditBlock("two\nthree\n", "2\n"))), K.CONTRADICTION),
        (edit("b.py", "one\n", "1\n"), K.MISSING),
        (CreateFile("a.py", "1\n"), K.EXISTS),
        (DeleteFile("b.py"), K.MISSING),
        (RenameFile("b.py", "c.py"), K.MISSING),
        (RenameFile("a.py", "run.sh"), K.EXISTS),
        (RenameFile("a.py", "a.py"), K.CONTRADICTION),
        (ReplaceFile("a.py", "1\n", compute_digest(b"one\n")), K.STALE),
        (ReplaceFile("b.py", "1\n", compute_digest(b"one\n")), K.STALE),
        (DeleteFile("a.py", compute_digest(b"one\n")), K.STALE),
        (ReplaceFile("out/a.py", "1\n"), K.IGNORED),
        (PutSymbol("deep.py", "A.f", "def f(self)\n"), K.SYNTAX),
        (PutSymbol("run.sh", "f", "f() {}\n"), K.LANGUAGE),
        (ReplaceFile("a.py", "key = 'sk-ant-api03-" + "a1B2" * 10 + "'\n"), K.SECRET),
        (ReplaceFile("a.py", "key = '[redacted:openai-key]'\n"), K.SECRET),
        (ReplaceFile("a.py", "x" * 1_000_001), K.TOO_LARGE),
        (ReplaceFile("a.py", "a\0b"), K.BINARY),
    ],
)
def test_an_operation_that_cannot_be_applied_is_refused_by_kind(
    shop: Path, operation: Operation, kind: RefusalKind
) -> None:
    drafted = draft(shop, operation, edit("twice.py", "y = 2\n", "y = 3\n"))
    assert kinds(drafted) == [kind]
    assert refusal_sentence(drafted.refused[0]).endswith((".", "…."))
    assert [file.path for file in drafted.files] == ["twice.py"]


def test_edits_of_one_base_can_be_combined(shop: Path) -> None:
    base = compute_digest((shop / "a.py").read_bytes())
    first, second = (
        EditFile("a.py", (EditBlock("one\n", "1\n"),), base),
        EditFile("a.py", (EditBlock("two\n", "2\n"),), base),
    )
    assert files_after(shop, first, second) == {"a.py": b"1\n2\nthree\n"}


def test_a_file_written_twice_is_accepted_only_if_both_versions_are_equal(shop: Path) -> None:
    assert files_after(shop, ReplaceFile("a.py", "1\n"), ReplaceFile("a.py", "1\n")) == {"a.py": b"1\n"}
    drafted = draft(shop, ReplaceFile("a.py", "1\n"), ReplaceFile("a.py", "2\n"))
    assert (kinds(drafted), drafted.files) == ([K.CONTRADICTION], ())
    drafted = draft(shop, DeleteFile("a.py"), ReplaceFile("a.py", "2\n"))
    assert (kinds(drafted), drafted.files) == ([K.CONTRADICTION], ())


def test_a_function_written_twice_is_accepted_only_if_both_versions_are_equal(shop: Path) -> None:
    first, second = (f"def f(self):\n    return {number}\n" for number in (3, 4))
    files = files_after(shop, PutSymbol("deep.py", "A.f", first))
    assert files_after(shop, *(PutSymbol("deep.py", "A.f", first, asked_by=by) for by in ("C1", "C2"))) == files
    drafted = draft(shop, PutSymbol("deep.py", "A.f", first), PutSymbol("deep.py", "A.f", second))
    assert (kinds(drafted), drafted.files) == ([K.CONTRADICTION], ())


def test_two_partial_files_with_different_versions_of_a_function_are_refused(tmp_path: Path) -> None:
    shop = repository(
        tmp_path / "sums", {"m.py": "import os\n\n\ndef a():\n    return 1\n\n\ndef b():\n    return 2\n"}
    )
    drafted = draft(shop, *(ReplaceFile("m.py", f"def a():\n    return {number}\n") for number in (3, 4)))
    assert (kinds(drafted), drafted.files) == ([K.CONTRADICTION], ())


def test_a_line_number_selects_one_of_several_equal_lines(shop: Path) -> None:
    assert files_after(shop, edit("twice.py", "x = 1\n", "x = 3\n", 3)) == {"twice.py": b"x = 1\ny = 2\nx = 3\n"}


@pytest.mark.parametrize(
    ("before", "search", "replace", "becomes"),
    [
        ("a  \nb\n", "a\nb\n", "c\n", "c\n"),
        ("a\r\nb\r\nc\r\n", "b\n", "x\ny\n", "a\r\nx\r\ny\r\nc\r\n"),
        ("a\r\nb\n", "a\nb\n", "c\nd\n", "c\r\nd\r\n"),
        ("a\nb", "b\n", "c\n", "a\nc"),
        ("a\nb", "a\nb\n", "c\nd\n", "c\nd"),
        ("\ufeffa\nb\n", "a\n", "c\n", "\ufeffc\nb\n"),
        (
            "if x:\n    a\n    if y:\n        b\n",
            "a\nif y:\n    b\n",
            "c\n\nd\n",
            "if x:\n    c\n\n    d\n",
        ),
        ("value = 1\n", "value", "other", "other = 1\n"),
    ],
)
def test_near_matches_keep_the_style_of_the_file(
    tmp_path: Path, before: str, search: str, replace: str, becomes: str
) -> None:
    (tmp_path / "a.txt").write_bytes(before.encode())
    drafted = draft(tmp_path, edit("a.txt", search, replace))
    assert [file.after for file in drafted.files] == [becomes.encode()]


@pytest.mark.parametrize(
    ("before", "search"),
    [
        ("a b\n", "a  b\n"),
        ("    a\n  b\n", "a\nb\n"),
        ("a \nb\na\t\nb\n", "a\nb\n"),
        ("A\n", "a\n"),
        ("a\n\nb\n", "a\nb\n"),
    ],
)
def test_other_fuzzy_matches_are_refused(tmp_path: Path, before: str, search: str) -> None:
    (tmp_path / "a.txt").write_text(before)
    drafted = draft(tmp_path, edit("a.txt", search, "c\n"))
    assert (drafted.files, len(drafted.refused)) == ((), 1)


@pytest.mark.parametrize(
    ("before", "becomes"),
    [
        ("a\r\nb\r\n", "x\r\ny\r\n"),
        ("a\nb", "x\ny"),
        ("\ufeffa\n", "\ufeffx\ny\n"),
        ("a\r\nb", "x\r\ny"),
        ("", "x\ny\n"),
    ],
)
def test_a_rewritten_file_keeps_its_line_endings_and_byte_order_mark(tmp_path: Path, before: str, becomes: str) -> None:
    (tmp_path / "a.txt").write_bytes(before.encode())
    assert files_after(tmp_path, ReplaceFile("a.txt", "x\ny\n")) == {"a.txt": becomes.encode()}


def test_a_replaced_function_leaves_the_rest_of_its_file_unchanged(shop: Path) -> None:
    files = files_after(shop, PutSymbol("deep.py", "A.f", "def f(self):\n    return 3\n"))
    assert files == {"deep.py": (shop / "deep.py").read_bytes().replace(b"return 1", b"return 3")}


def test_files_outside_the_scope_are_refused_and_ignored_files_in_it_are_accepted(shop: Path) -> None:
    drafted = draft(shop, ReplaceFile("a.py", "1\n"), ReplaceFile("out/b.py", "b\n"), scope=("out/b.py",))
    assert kinds(drafted) == [K.OUT_OF_SCOPE]
    assert [file.path for file in drafted.files] == ["out/b.py"]
    assert kinds(draft(shop, RenameFile("a.py", "b.py"), scope=("a.py",))) == [K.OUT_OF_SCOPE]


def test_a_draft_can_build_on_an_earlier_draft(shop: Path) -> None:
    first = draft(shop, edit("a.py", "one\n", "1\n"), RenameFile("run.sh", "go.sh"), CreateFile("n.py", "n\n")).files
    second = draft(
        shop, edit("a.py", "1\ntwo\n", "1\n2\n"), edit("go.sh", "echo\n", "true\n"), DeleteFile("n.py"), over=first
    )
    assert second.refused == ()
    assert {file.path: (file.was, file.before, file.after) for file in second.files} == {
        "a.py": ("", b"one\ntwo\nthree\n", b"1\n2\nthree\n"),
        "go.sh": ("run.sh", b"echo\n", b"true\n"),
    }


def test_an_earlier_draft_of_a_file_changed_since_is_stale(shop: Path) -> None:
    first = draft(shop, edit("a.py", "one\n", "1\n"), CreateFile("n.py", "n\n")).files
    assert draft(shop, over=first).files == first
    write(shop, {"a.py": "changed\n"})
    drafted = draft(shop, over=first)
    assert (kinds(drafted), [file.path for file in drafted.files]) == ([K.STALE], ["n.py"])


def test_an_existing_secret_is_not_a_new_leak(shop: Path) -> None:
    write(shop, {"a.py": "password = 'hunter2hunter2hunter2'\nx = 1\n"})
    assert kinds(draft(shop, edit("a.py", "x = 1\n", "x = 2\n"))) == []
    known = apply_changeset_in_memory(
        Changeset((ReplaceFile("b.py", "tell me\n"),)), shop, lambda text: ["known"] * ("tell" in text)
    )
    assert kinds(known) == [K.SECRET]


LINES = st.lists(
    st.sampled_from(["a\n", "b\n", "c\n", "  d\n", "\n", "e\r\n", "```\n", "+x\n", "--- q\n", "@@ -1 +1 @@\n"])
)
TEXTS = st.tuples(LINES, st.sampled_from(["", "end", "\\ No newline"])).map(lambda pair: "".join((*pair[0], pair[1])))


@settings(max_examples=40, deadline=None)
@given(before=TEXTS, becomes=TEXTS)
def test_a_diff_of_git_is_applied_byte_for_byte(before: str, becomes: str) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place)
        for name, text in (("a", before), ("b", becomes)):
            (folder / name).mkdir()
            (folder / name / "f.txt").write_bytes(text.encode())
        diff = subprocess.run(
            ["git", "diff", "--no-index", "--no-renames", "a/f.txt", "b/f.txt"],
            cwd=folder,
            capture_output=True,
            check=False,
        ).stdout.decode()
        diff = diff.replace("a/a/f.txt", "a/f.txt").replace("b/b/f.txt", "b/f.txt")
        if not diff:
            return
        drafted = apply_changeset_in_memory(parse_reply_file_changes(diff), folder / "a", Redactor().finds)
        assert drafted.refused == ()
        assert [file.after for file in drafted.files] == [becomes.encode()]


@pytest.mark.parametrize("folder", ["hooks", "./hooks/", "tools/../hooks"])
def test_files_in_the_hooks_folder_of_git_are_refused(shop: Path, folder: str) -> None:
    git(shop, "config", "core.hooksPath", folder)
    drafted = draft(
        shop, CreateFile("hooks/pre-commit", "#!/bin/sh\n", executable=True), CreateFile("hooks.md", "of hooks\n")
    )
    assert kinds(drafted) == [K.REPOSITORY]
    assert [file.path for file in drafted.files] == ["hooks.md"]
    assert kinds(draft(shop, CreateFile("HOOKS/pre-push", "x\n"))) == [K.REPOSITORY]


def test_the_hooks_folder_is_found_from_a_folder_inside_the_repository(shop: Path) -> None:
    git(shop, "config", "core.hooksPath", "part/hooks")
    (shop / "part").mkdir()
    assert kinds(draft(shop / "part", CreateFile("hooks/pre-commit", "x\n"))) == [K.REPOSITORY]
    assert kinds(draft(shop / "part", CreateFile("part/hooks/a", "x\n"))) == []


def test_a_folder_that_git_would_treat_as_a_repository_is_refused(shop: Path) -> None:
    parts = (CreateFile("doc/HEAD", "ref: refs/heads/main\n"), CreateFile("doc/config", "[core]\n"))
    whole = (*parts, CreateFile("doc/objects/a", "x\n"), CreateFile("doc/refs/a", "x\n"), CreateFile("doc.md", "x\n"))
    drafted = draft(shop, *whole)
    assert kinds(drafted) == [K.REPOSITORY] * 4
    assert [file.path for file in drafted.files] == ["doc.md"]
    assert kinds(draft(shop, *parts)) == []
    assert kinds(draft(shop, parts[0], CreateFile("doc/commondir", "../.git\n"))) == [K.REPOSITORY] * 2


def test_a_file_that_turns_an_existing_folder_into_a_repository_is_refused(shop: Path) -> None:
    write(shop, {"doc/objects/a": "x\n", "doc/refs/a": "x\n"})
    assert kinds(draft(shop, CreateFile("doc/head", "ref: refs/heads/main\n"))) == [K.REPOSITORY]
    assert kinds(draft(shop, CreateFile("doc/a.md", "x\n"))) == []
