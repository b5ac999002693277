"""A block that holds only some functions of a file puts those into it, and takes nothing away."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.core.changes import Changeset, Replace
from roundtable.core.redaction import Redactor
from roundtable.workshop.drafting import drafted
from tests.repository import repository

STATS = '''"""Numbers."""


def mean(values):
    return sum(values) / len(values)


def median(values):
    return sorted(values)[len(values) // 2]
'''
MEDIAN = "def median(values):\n    return 2.5\n"


def written(root: Path, text: str) -> str:
    drafting = drafted(Changeset((Replace("stats.py", text),)), root, Redactor().finds)
    assert drafting.refused == ()
    (file,) = drafting.files
    assert file.after is not None
    return file.after.decode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path, {"stats.py": STATS})


def test_a_function_alone_replaces_its_own_and_leaves_the_others(root: Path) -> None:
    assert written(root, MEDIAN) == STATS.replace("return sorted(values)[len(values) // 2]", "return 2.5")


def test_a_new_function_with_its_import_is_added(root: Path) -> None:
    mode = "import collections\n\n\ndef mode(values):\n    return collections.Counter(values).most_common(1)[0][0]\n"
    text = written(root, mode)
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
def test_what_may_be_a_whole_file_is_one(root: Path, whole: str) -> None:
    assert written(root, whole) == whole
