"""No text freezes a reader: the shapes that once did, and a short run of the fuzz job."""

from __future__ import annotations

import pytest

from roundtable.core.replies.codec import MAX_REPLY_CHARACTERS
from tests.fuzz.job import fuzz_readers
from tests.fuzz.readers import READERS
from tests.fuzz.shapes import Shape
from tests.fuzz.timing import find_superlinear_growth, measure_cpu_seconds
from tests.sampling import IS_FULL

SLOW_SHAPES = [
    ("changes of 0", Shape("", "```python a.py\n")),
    ("changes of 0", Shape("", "```\n")),
    ("changes of 1", Shape("", "~~~\n")),
    ("changes-in-parts of 4", Shape("", "<<<<<<< SEARCH\n```python a.py\n")),
    ("changes of 0", Shape("", "```python\n```python\nx\n```\n")),
    ("changes of 0", Shape("a.py\n", "```python\n\n```\n")),
    ("changes of 0", Shape("```a" + " ", " ", "b\nx\n```\n")),
    ("position of 0", Shape("", '{"position":')),
    ("position of 0", Shape("", '{"position":"x"}')),
    ("position of 4", Shape("", '{"abc\n')),
    ("position of 0", Shape("", "{a:[")),
    ("position of 0", Shape("", '{a:"x')),
    ("score-json of 0", Shape('{"consensus_score": ', "1", "x")),
    ("ranked-ballot of 0", Shape("", "2. x\n")),
    ("position of 0", Shape("", "~", "`\n{}")),
    ("changes-in-parts of 1", Shape("", "- ```\n")),
    ("score-json of 0", Shape('{"a":[', "1,")),
    ("findings of 0", Shape("", '{"a":1}\n')),
    ("sanitizing", Shape("", "\x90")),
    ("prompt builder", Shape("", "<note ")),
]


@pytest.mark.parametrize(("reader", "shape"), SLOW_SHAPES)
def test_a_reply_of_a_hostile_shape_is_read_in_linear_time(reader: str, shape: Shape) -> None:
    assert not find_superlinear_growth(READERS[reader], shape)


BUSY_SHAPES = [
    ("position of 0", Shape("", "{")),
    ("position of 0", Shape('{"a":[', "1,")),
    ("position of 0", Shape("", '{"a":1}\n')),
    ("changes-in-parts of 1", Shape("", "- ```\n")),
    ("sanitizing", Shape("", "\x90")),
]


@pytest.mark.parametrize(("reader", "shape"), BUSY_SHAPES)
def test_the_longest_reply_is_read_within_a_few_seconds_of_the_processor(reader: str, shape: Shape) -> None:
    assert measure_cpu_seconds(READERS[reader], shape.text(MAX_REPLY_CHARACTERS)) < 3


def test_no_reader_fails_on_random_hostile_text() -> None:
    report = fuzz_readers(seed=20, seconds=120, cases=100_000 if IS_FULL else 8_000)
    assert report.problems == ()
    assert report.cases >= 8_000
