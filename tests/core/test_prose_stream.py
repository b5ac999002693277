"""Prose is streamed as it is written, however the stream is cut."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.replies import ProseStream
from tests.core.test_relaxed_json import TEXTS, VALUES


def chunks(text: str, cuts: list[int]) -> list[str]:
    """Cut the text at the given places, modulo its length."""
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(places)]


@given(
    TEXTS,
    st.dictionaries(TEXTS.filter(lambda key: key != "answer"), VALUES, max_size=3),
    st.dictionaries(TEXTS.filter(lambda key: key != "answer"), VALUES, max_size=3),
    st.lists(st.integers(0, 500), max_size=8),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_the_spoken_field_is_streamed_however_the_reply_is_cut(
    answer: str, before: dict[str, Any], after: dict[str, Any], cuts: list[int], indent: int | None, ascii_only: bool
) -> None:
    after = {key: value for key, value in after.items() if key not in before}
    text = json.dumps({**before, "answer": answer, **after}, indent=indent, ensure_ascii=ascii_only)
    speech = ProseStream("answer")
    assert "".join(speech.feed(piece) for piece in chunks(text, cuts)) == answer
    speech = ProseStream("answer")
    assert "".join(map(speech.feed, text)) == answer


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ('{"x": {"answer": "no"}, "answer": "yes"}', "yes"),
        ('{"x": ["answer", "no"], "answer": "yes"}', "yes"),
        ('{"x": "answer", "y": "no"}', ""),
        ('{"answer": ["no"], "x": "no"}', ""),
        ('{"answer": 4}', ""),
        ('Here "is it:\n```json\n{"answer": "yes"}\n```', "yes"),
        (r'{"answer": "a\ud800"}', "a�"),
        (r'{"answer": "\ud800\ud83d\ude00\ude00b"}', "�😀�b"),
        (r'{"answer": "\uzzzz"}', "�"),
        ('{"answer": "half', "half"),
        ("no object at all", ""),
    ],
)
def test_only_the_field_of_the_outermost_object_is_streamed(text: str, prose: str) -> None:
    speech = ProseStream("answer")
    assert "".join(map(speech.feed, text)) == prose


def test_prose_is_streamed_with_the_piece_that_completes_it() -> None:
    speech = ProseStream("answer")
    assert [speech.feed(piece) for piece in ('{"answ', 'er": "He', r"llo \ud83d", r"\ud", r"e00", '!"', "}")] == [
        "",
        "He",
        "llo ",
        "",
        "😀",
        "!",
        "",
    ]


@given(st.lists(st.text(max_size=10), max_size=5))
def test_a_reply_without_a_spoken_field_is_streamed_whole(pieces: list[str]) -> None:
    speech = ProseStream("")
    assert [speech.feed(piece) for piece in pieces] == pieces


@given(st.text(alphabet='{}[]":,\\ud8answer ', max_size=80))
def test_random_text_never_raises_while_prose_is_streamed(noise: str) -> None:
    speech = ProseStream("answer")
    for char in noise:
        speech.feed(char)
