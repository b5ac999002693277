"""Refusals for the contents of a draft, and losses that need a confirmation phrase."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.core.changeset import DraftFile
from roundtable.core.refusals import RefusalKind
from roundtable.workshop.edit.lost_tests import find_edits_changing_tests
from roundtable.workshop.edit.validation import find_destructive_edits, validate_edited_files
from tests.repository import repository, write

K = RefusalKind
TESTS = b"""import shop


def test_adds():
    assert shop.add(1, 2) == 3


def test_takes():
    assert shop.take(3, 2) == 1
"""
KEPT = {"kept.py": "x = 1\n", "uv.lock": "version = 1\n", ".github/workflows/ci.yml": "on: push\n"}


def kinds(*files: DraftFile) -> list[RefusalKind | None]:
    return [refusal.kind for refusal in validate_edited_files(files)]


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        (DraftFile("a.py", None, b"def f(:\n"), K.SYNTAX),
        (DraftFile("a.py", b"x = 1\n", b"def f(:\n"), K.SYNTAX),
        (DraftFile("a.js", None, b"function (\n"), K.SYNTAX),
        (DraftFile("a.go", None, b"package a\nfunc f( {\n"), K.SYNTAX),
        (DraftFile("a.py", b"x\n", b"<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n"), K.CONFLICT_MARKERS),
        (DraftFile("a.txt", b"x\n", b"<<<<<<< HEAD\nx\n"), K.CONFLICT_MARKERS),
        (DraftFile("a.py", None, b"```python\nx = 1\n```\n"), K.LEAKED_FENCE),
        (DraftFile("a.py", b"x = 1\n", b"x = 1\n```\n"), K.LEAKED_FENCE),
        (DraftFile("a.toml", None, b"a = 1\n```\nb = 2\n"), K.LEAKED_FENCE),
        (DraftFile("README.md", None, b"```markdown\n# Hi\n```\n"), K.LEAKED_FENCE),
    ],
)
def test_forbidden_content_is_refused_by_kind(file: DraftFile, kind: RefusalKind) -> None:
    assert kinds(file) == [kind]


@pytest.mark.parametrize(
    "file",
    [
        DraftFile("a.py", None, b"x = 1\n"),
        DraftFile("a.py", b"def f(:\n", b"def g(:\n"),
        DraftFile("a.unknown", None, b"def f(:\n"),
        DraftFile("README.md", None, b"# Hi\n\n```\nmake\n```\n"),
        DraftFile("a.py", None, b'"""Shows\n\n```\nmake\n```\n"""\n'),
        DraftFile("prompts/ask.j2", None, b"Answer so:\n```json\n{}\n```\nand no other way\n"),
        DraftFile("a.md", b"<<<<<<< a\n", b"<<<<<<< a\nmore\n"),
        DraftFile("a.rst", None, b"Title\n=======\n"),
        DraftFile("a.py", b"x\n", None),
    ],
)
def test_valid_content_and_existing_errors_are_accepted(file: DraftFile) -> None:
    assert kinds(file) == []


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/test_shop.py", TESTS, None),
        ("tests/test_shop.py", TESTS, TESTS.split(b"\n\n\ndef test_takes")[0] + b"\n"),
        ("tests/test_shop.py", TESTS, TESTS.replace(b"assert shop.take(3, 2) == 1", b"pass")),
        ("tests/test_shop.py", TESTS, TESTS.replace(b"assert shop.take(3, 2) == 1", b"assert True")),
        ("tests/test_shop.py", TESTS, TESTS.replace(b"def test_takes", b"@pytest.mark.skip\ndef test_takes")),
        ("tests/test_shop.py", TESTS, b"pytestmark = pytest.mark.skip()\n" + TESTS),
        ("shop.test.js", b"it('adds', () => { expect(add(1, 2)).toBe(3) })\n", b"\n"),
        ("shop.test.js", b"it('adds', () => { expect(add(1, 2)).toBe(3) })\n", b"it.skip('adds', () => {})\n"),
        (
            "shop.spec.ts",
            b"test('adds', () => { expect(1).toBe(1) })\n",
            b"xtest('adds', () => { expect(1).toBe(1) })\n",
        ),
        (
            "shop_test.go",
            b"package a\n\nfunc TestAdd(t *testing.T) {\n\tif Add() != 3 {\n\t\tt.Fail()\n\t}\n}\n",
            b"package a\n",
        ),
        (
            "src/lib.rs",
            b"fn a() {}\n\n#[test]\nfn adds() {\n    assert_eq!(a(), 1);\n}\n",
            b"fn a() {}\n\n#[test]\n#[ignore]\nfn adds() {\n    assert_eq!(a(), 1);\n}\n",
        ),
        (
            "src/ShopTest.java",
            b"class ShopTest {\n    @Test\n    void adds() {\n        check(1);\n    }\n}\n",
            b"class ShopTest {\n}\n",
        ),
        ("Tests/Helper.cs", b"class Helper {\n}\n", None),
        ("spec/shop_spec.rb", b"it 'adds' do\n  expect(1).to eq 1\nend\n", b"# none\n"),
    ],
)
def test_deleted_emptied_and_skipped_tests_are_refused_by_name(path: str, before: bytes, after: bytes | None) -> None:
    file = DraftFile(path, before, after)
    assert kinds(file) == [K.TESTS_DELETED]


def test_moved_renamed_and_extended_tests_are_not_lost() -> None:
    head, _, takes = TESTS.partition(b"\n\n\ndef test_takes")
    moved = DraftFile("tests/test_more.py", None, b"import shop\n\n\ndef test_takes" + takes)
    assert kinds(DraftFile("tests/test_shop.py", TESTS, head + b"\n"), moved) == []
    assert kinds(DraftFile("tests/test_new.py", TESTS, TESTS, was="tests/test_shop.py")) == []
    renamed = TESTS.replace(b"test_takes", b"test_takes_away")
    assert kinds(DraftFile("tests/test_shop.py", TESTS, renamed)) == []
    assert kinds(DraftFile("tests/test_shop.py", TESTS, TESTS + b"\n\ndef test_c():\n    assert f()\n")) == []


@pytest.mark.feature("S4.104")
@pytest.mark.parametrize(
    ("file", "words"),
    [
        (DraftFile("notes.txt", b"mine\n", None), "git does not track it"),
        (DraftFile("notes.txt", b"mine\nall\n", b"theirs\n"), "git does not track it"),
        (DraftFile("kept.py", b"x = 1\n", b"\n"), "is emptied"),
        (DraftFile(".github/workflows/ci.yml", b"on: push\n", None), "continuous integration"),
        (DraftFile("uv.lock", b"version = 1\n", None), "pins"),
        (DraftFile("migrations/0002.sql", None, b"DROP TABLE users;\n"), "DROP TABLE users"),
        (DraftFile("db/schema.sql", b"SELECT 1;\n", b"SELECT 1;\ntruncate orders;\n"), "truncate orders"),
        (DraftFile("app/migrations/0003.py", None, b"op.drop_column('users', 'name')\n"), "deletes data"),
        (DraftFile("clean.sh", b"echo\n", b"echo\nrm -rf build\n"), "rm -rf build"),
        (DraftFile("Makefile", None, b"clean:\n\trm -fr out\n"), "whole folders"),
        (DraftFile("release.sh", None, b"git push --force origin main\n"), "rewrites git history"),
        (DraftFile(".gitlab-ci.yml", None, b"script: git reset --hard HEAD~3\n"), "rewrites git history"),
    ],
)
def test_a_permanent_loss_is_described_in_a_sentence(tmp_path: Path, file: DraftFile, words: str) -> None:
    root = repository(tmp_path / "shop", KEPT)
    write(root, {"notes.txt": "mine\n"})
    (sentence,) = find_destructive_edits((file,), root)
    assert words in sentence
    assert sentence.startswith((file.path, "Most of"))


def test_many_deletions_are_described_in_one_sentence(tmp_path: Path) -> None:
    names = [f"{number}.py" for number in range(6)]
    root = repository(tmp_path / "shop", dict.fromkeys(names, "x\n"))
    deleted = [DraftFile(name, b"x\n", None) for name in names]
    assert find_destructive_edits(deleted[:5], root) == ()
    (sentence,) = find_destructive_edits(deleted, root)
    assert sentence.startswith("6 files are deleted")


def test_an_ordinary_change_needs_no_confirmation_phrase(tmp_path: Path) -> None:
    root = repository(tmp_path / "shop", {"a.py": "x = 1\n", "old.py": "y\n", "clean.sh": "rm -rf build\n"})
    files = (
        DraftFile("a.py", b"x = 1\n", b"import shutil\nshutil.rmtree('x')  # rm -rf\n"),
        DraftFile("old.py", b"y\n", None),
        DraftFile("clean.sh", b"rm -rf build\n", b"rm -rf build\necho done\n"),
        DraftFile("new.sql", None, b"SELECT dropped FROM t;\n"),
    )
    assert find_destructive_edits(files, root) == ()


UNITTESTS = b"""import unittest


class Shop(unittest.TestCase):
    def test_takes(self):
        self.assertEqual(take(1), 1)
"""


@pytest.mark.parametrize(
    ("path", "was", "after"),
    [
        ("shop_notes.py", "test_shop.py", UNITTESTS),
        ("tests/notes.py", "tests/test_shop.py", UNITTESTS),
        ("test_shop.py", "", UNITTESTS.replace(b"(unittest.TestCase)", b"")),
        ("test_shop.py", "", UNITTESTS.replace(b"unittest.TestCase", b"object")),
    ],
)
def test_tests_that_are_no_longer_collected_are_lost(path: str, was: str, after: bytes) -> None:
    assert kinds(DraftFile(path, UNITTESTS, after, was=was)) == [K.TESTS_DELETED]


def test_a_test_class_may_inherit_from_another() -> None:
    after = UNITTESTS.replace(b"unittest.TestCase", b"unittest.IsolatedAsyncioTestCase")
    assert kinds(DraftFile("test_shop.py", UNITTESTS, after)) == []
    assert kinds(DraftFile("tests/test_shop.py", UNITTESTS, UNITTESTS, was="test_shop.py")) == []


def test_large_test_files_are_compared_quickly() -> None:
    """Comparing these letter by letter, or trying a pattern at every letter, took minutes."""
    old = "".join(
        f"def test_old_{number}():\n    assert f({number}) == {number * 7}\n\n" for number in range(3_000)
    ).encode()
    new = old.replace(b"test_old", b"test_new").replace(b"assert f(", b"check(g, ")
    assert kinds(DraftFile("test_a.py", old, new)) == [K.TESTS_DELETED]
    blank = b"it" + b" " * 300_000 + b"x\n"
    assert kinds(DraftFile("a.test.txt", b"it('a')\n", b"it('a')\n" + blank)) == []
    assert kinds(DraftFile("test_b.py", old, b"# " + b"pytestmark=" * 80_000 + b"\n" + old)) == []
    long = b"#!/bin/sh\n" + b"rm -r x" + b" find git push x" * 50_000 + b"\n"
    assert find_destructive_edits((DraftFile("a.sh", None, long),), Path("/"))


HELD = b"from calc import double\n\nFOUR = 4\n\n\ndef test_double():\n    assert double(2) == FOUR\n"
TRIED = b"import { double } from './calc'\n\ntest('doubles', () => {\n  expect(double(2)).toBe(4)\n})\n"


@pytest.mark.parametrize(
    ("path", "before", "after", "named"),
    [
        ("test_calc.py", HELD, HELD.replace(b"== FOUR", b"== 6"), "test_double of test_calc.py"),
        ("test_calc.py", HELD, HELD.replace(b"    assert", b"    return\n    assert"), "test_double of test_calc.py"),
        ("test_calc.py", HELD, HELD.replace(b"= 4", b"= 6"), "the code around the tests of test_calc.py"),
        ("calc.test.js", TRIED, TRIED.replace(b"toBe(4)", b"toBe(6)"), "the code around the tests of calc.test.js"),
        ("tests/four.txt", b"4\n", b"6\n", "the code around the tests of tests/four.txt"),
        ("test_calc.py", HELD, HELD + b"\n\ndef test_more():\n    assert double(3) == 6\n", ""),
        ("test_calc.py", HELD, HELD.replace(b"import double", b"import double, half"), ""),
        ("test_calc.py", HELD, HELD.replace(b"\n\n\n", b"\n\n"), ""),
        ("calc.py", b"FOUR = 4\n", b"FOUR = 6\n", ""),
    ],
)
def test_changed_tests_are_named_and_new_tests_are_not(path: str, before: bytes, after: bytes, named: str) -> None:
    assert find_edits_changing_tests([DraftFile(path, before, after)]) == ({path: (named,)} if named else {})


def test_a_moved_test_counts_as_changed_only_if_its_content_changed() -> None:
    moved = DraftFile("tests/test_double.py", None, HELD)
    assert find_edits_changing_tests([DraftFile("test_calc.py", HELD, None), moved]) == {}
    assert find_edits_changing_tests([DraftFile("test_double.py", HELD, HELD, was="test_calc.py")]) == {}
    weaker = DraftFile("test_double.py", HELD, HELD.replace(b"== FOUR", b"!= 5"), was="test_calc.py")
    assert find_edits_changing_tests([weaker]) == {"test_double.py": ("test_double of test_calc.py",)}
