"""A text with only some functions of a file replaces those and removes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.core.changeset import Changeset, ReplaceFile
from roundtable.core.text.redaction import Redactor
from roundtable.workshop.edit.draft import apply_changeset_in_memory
from tests.repository import repository

STATS = '''"""Numbers."""


def mean(values):
    return sum(values) / len(values)


def median(values):
    return sorted(values)[len(values) // 2]
'''
MEDIAN = "def median(values):\n    return 2.5\n"


BARE = STATS.removeprefix('"""Numbers."""\n\n\n')
MEAN, OLD_MEDIAN = BARE.split("\n\n\n")


def replace_file(root: Path, *texts: str) -> str:
    drafting = apply_changeset_in_memory(
        Changeset(tuple(ReplaceFile("stats.py", text) for text in texts)), root, Redactor().finds
    )
    assert drafting.refused == ()
    (file,) = drafting.files
    assert file.after is not None
    return file.after.decode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path, {"stats.py": STATS})


def test_a_text_with_one_function_replaces_only_that_function(root: Path) -> None:
    assert replace_file(root, MEDIAN) == STATS.replace("return sorted(values)[len(values) // 2]", "return 2.5")


def test_a_new_function_with_its_import_is_added(root: Path) -> None:
    mode = "import collections\n\n\ndef mode(values):\n    return collections.Counter(values).most_common(1)[0][0]\n"
    text = replace_file(root, mode)
    assert "def mean" in text
    assert "def median" in text
    assert "def mode" in text
    assert "import collections" in text


@pytest.mark.parametrize(
    "whole",
    [
        STATS.replace("def mean(values):\n    return sum(values) / len(values)\n\n\n", ""),
        f"{MEDIAN}\n\nprint(median([1]))\n",
        f'"""Numbers."""\n\n\n{MEDIAN}',
    ],
    ids=["it begins as the file does", "it holds more than functions", "with the head of the file"],
)
def test_a_text_that_may_be_a_whole_file_is_one(root: Path, whole: str) -> None:
    assert replace_file(root, whole) == whole


@pytest.mark.parametrize(
    "whole",
    [
        BARE.replace("mean", "average"),
        BARE.replace("mean", "average").replace("2]", "3]"),
        OLD_MEDIAN,
        f"import math\n\n\n{OLD_MEDIAN}",
    ],
    ids=["renamed", "renamed and another changed", "removed", "removed, with an import"],
)
def test_the_first_function_of_a_file_can_be_renamed_and_removed(tmp_path: Path, whole: str) -> None:
    assert replace_file(repository(tmp_path, {"stats.py": BARE}), whole) == whole


def test_a_class_can_be_renamed(tmp_path: Path) -> None:
    stack = "class Stack:\n    def copy(self):\n        return Stack()\n"
    assert replace_file(repository(tmp_path, {"stats.py": stack}), stack.replace("Stack", "Pile")).startswith(
        "class Pile:"
    )


@pytest.mark.parametrize(
    ("file", "texts", "there"),
    [
        (STATS, (OLD_MEDIAN.replace("2]", "3]"), MEAN), ("def mean", "3]")),
        (STATS, (OLD_MEDIAN, MEAN.replace("/", "//")), ("def median", "sum(values) //")),
        (
            "class A(Exception):\n    pass\n\n\nclass B(Exception):\n    pass\n",
            ("class C(Exception):\n    pass\n",),
            ("class A", "class B", "class C"),
        ),
    ],
    ids=["one changed, one not", "one not, one changed", "one more like those"],
)
def test_symbols_missing_from_a_partial_text_are_kept(
    tmp_path: Path, file: str, texts: tuple[str, ...], there: tuple[str, ...]
) -> None:
    text = replace_file(repository(tmp_path, {"stats.py": file}), *texts)
    assert [line for line in there if line not in text] == []
