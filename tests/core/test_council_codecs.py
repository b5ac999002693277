"""Positions, reconsidered positions and ratings, in replies as real models write them."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.replies.fields import read_reply_tenths_field
from roundtable.core.verdict import Evidence, ParseStatus, Stance
from tests.core.cases import heard, verdict

BLOCK = '```json\n{"position": "REST", "confidence": 8}\n```'


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (f"Use REST.\n\n{BLOCK}", "Use REST."),
        (f"{BLOCK}\n\nThat is all.", "That is all."),
        (f"Before.\n{BLOCK}\nAfter.", "Before.\n\nAfter."),
        ('Use REST. {"position": "rest", "confidence": "8/10"}', "Use REST."),
        ('{"answer": "Use REST.", "position": "REST", "confidence": 8}', "Use REST."),
        ('{"answer": "", "position": "REST", "confidence": 8}', "REST"),
        (BLOCK, "REST"),
        ("Use REST.\n~~~\n{position: 'rest', confidence: 8.0,}\n~~~", "Use REST."),
        ('Use REST.\n```json\n{"position": "**REST**", "confidence": 8}', "Use REST."),
        ('Use REST.\n```json\n{"confidence": 8, "position": "REST"\n```', "Use REST."),
        (f'Draft: {{"position": "GraphQL", "confidence": 2}}\n\nNo.\n{BLOCK}', None),
        (f'{BLOCK}\nThey said:\n> {{"position": "GraphQL", "confidence": 9}}', None),
        (f'{BLOCK}\n{{"position": "GraphQL", "confi', None),
        ('A code sample: {"x": {"y": [1]}} and `{}`.\n' + BLOCK, 'A code sample: {"x": {"y": [1]}} and `{}`.'),
    ],
)
def test_a_position_is_read_from_a_reply(reply: str, text: str | None) -> None:
    reading = heard("position", reply, ["REST", "GraphQL"])
    assert (reading.verdict.position, reading.verdict.confidence) == ("REST", 0.8)
    assert reading.verdict.counts
    assert reading.verdict.stance is Stance.SUPPORT
    assert text is None or reading.text == text


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I would use REST.",
        '{"position": "SOAP", "confidence": 9}',
        '{"position": ["REST"], "confidence": 9}',
        '{"position": "", "confidence": 9}',
        '{"position": "REST',
        '{"answer": "Use REST, and the rea',
        '> {"position": "REST", "confidence": 9}',
        '{"verdict": {"position": "REST"}}',
    ],
)
def test_a_reply_without_a_position_does_not_count(reply: str) -> None:
    assert verdict("position", reply, ["REST", "GraphQL"]).parse is ParseStatus.FAILED


def test_a_reply_cut_off_in_its_prose_still_reads_as_prose() -> None:
    assert heard("position", '{"answer": "Use REST, and\\nthe rea', structured=True).text == "Use REST, and\nthe rea"


def test_long_options_can_be_chosen() -> None:
    option = "Use REST. " * 60 + "(now)"
    assert verdict("position", json.dumps({"position": option.lower() + "\n"}), ["x", option]).position == option


def test_a_free_position_is_one_line() -> None:
    answer = verdict("position", json.dumps({"position": "  Use\n REST  " + "x" * 400, "confidence": 11}))
    assert answer.position.startswith("Use REST xxx")
    assert len(answer.position) == 300
    assert answer.confidence == 1.0


@pytest.mark.parametrize("number", ["true", "NaN", "null", '"high"', "[8]", "1e999", '""'])
def test_a_confidence_that_is_not_a_number_is_ignored(number: str) -> None:
    answer = verdict("position", f'{{"position": "x", "confidence": {number}}}')
    assert (answer.position, answer.confidence) == ("x", None)


@given(st.floats() | st.integers() | st.text(max_size=8) | st.booleans())
def test_a_confidence_outside_the_scale_is_clamped(value: float | str | bool) -> None:
    share = read_reply_tenths_field(value)
    assert share is None or 0 <= share <= 1
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        assert share is None


def test_a_change_of_mind_names_its_reason() -> None:
    block = {
        "answer": "I was wrong.",
        "stand": "b",
        "position": "",
        "error": "I forgot the cache.",
        "evidence": [{"text": "TTL is 5 s", "source": "config.py:3"}, "it's measured", {"text": ""}, "none"],
        "confidence": 7,
    }
    reading = heard("reconsider", json.dumps(block), ["A", "B", "new"], structured=True)
    answer = reading.verdict
    assert (reading.text, answer.target, answer.position, answer.error) == (
        "I was wrong.",
        "B",
        "",
        "I forgot the cache.",
    )
    assert answer.evidence == (Evidence("TTL is 5 s", "config.py:3"), Evidence("it's measured"))
    assert (answer.confidence, answer.parse) == (0.7, ParseStatus.EXACT)


@pytest.mark.parametrize(
    ("block", "target"),
    [
        ('{"stand": "A"}', "A"),
        ('{"stand": "Proposal a.", "error": "none"}', "A"),
        ('{"stand": "NEW", "position": "use gRPC"}', "new"),
        ('{"stand": "new", "position": " "}', ""),
        ('{"stand": "new"}', ""),
        ('{"stand": "C"}', ""),
        ('{"stand": "A and B"}', ""),
        ('{"stand": "A', ""),
        ('{"position": "A"}', ""),
    ],
)
def test_a_reconsidered_position_is_read_from_a_reply(block: str, target: str) -> None:
    answer = verdict("reconsider", block, ["A", "B", "new"])
    assert (answer.target, answer.counts, answer.error) == (target, bool(target), "")


@pytest.mark.parametrize(
    ("reply", "ratings"),
    [
        ('{"ratings": {"A": "same", "B": "opposed"}}', {"A": "same", "B": "opposed"}),
        ('{"ratings": {"a": "SAME", "Proposal B": "Acceptable."}}', {"A": "same", "B": "acceptable"}),
        ('{"ratings": {"A": "same", "B": "love it", "Z": "same"}}', {"A": "same"}),
        ('{"ratings": {"A": "same", "B": "oppo', {"A": "same"}),
        ("A: same\nB: opposed", {"A": "same", "B": "opposed"}),
        ("- **A**: same, I think\n- **Proposal B:** *opposed*", {"A": "same", "B": "opposed"}),
        ("> A: same\nB: opposed", {"B": "opposed"}),
        ("A: sameish", {}),
        ("They are all the same.", {}),
        ('{"ratings": {"A": 3}}', {}),
        ('{"ratings": []}', {}),
    ],
)
def test_ratings_of_proposals_are_read_from_a_reply(reply: str, ratings: dict[str, str]) -> None:
    answer = verdict("ratings", reply, ["A", "B"])
    assert (answer.ratings, answer.counts) == (ratings, bool(ratings))
