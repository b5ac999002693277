"""Properties of every codec: it never raises, an unreadable reply never agrees, and the text is always readable."""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.faults import NotFound
from roundtable.core.replies import CODECS, find_reply_codec
from roundtable.core.replies.codec import Schema
from roundtable.core.values import Expect
from roundtable.core.verdict import ParseStatus, Stance
from tests.core.cases import heard

NAMES = sorted(CODECS)
CHOICES = ("A", "B", "new")
FORMS = [name for name in NAMES if CODECS[name].schema]

SCRAPS = st.sampled_from(
    [
        *("AGREE: ", "DISAGREE: ", "OBJECT: ", "ADD: ", "CONSENSUS: ", "DISCUSS: ", "BASE=", "APPROVE", "ABSTAIN\n"),
        *("RANKING: A > B", "1. A\n2. B\n", "A: same\n", "> ", "```\n", "```json\n", "**", "\n", "\n\n", '"', "'"),
        *('{"position": "A"', '"confidence": 9', ', "stand": "B"', '"ratings": {', "}", "]", "[", ",", ":", "\\u"),
        *('{"consensus_score": 9, "agrees_with": [], "pending_issues": []}', '{"approval": "approve"}', "A", "none"),
    ]
)
REPLIES = st.text(max_size=120) | st.lists(SCRAPS | st.text(max_size=6), max_size=14).map("".join)


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Return a strategy for every value that a schema allows."""
    match schema["type"]:
        case "object":
            parts = cast("dict[str, Schema]", schema["properties"])
            return st.fixed_dictionaries({name: values(part) for name, part in parts.items()})
        case "array":
            most = min(int(schema["maxItems"]), 3)
            return st.lists(values(schema["items"]), min_size=min(int(schema["minItems"]), most), max_size=most)
        case "integer":
            return st.integers(schema["minimum"], schema["maximum"])
        case "boolean":
            return st.booleans()
        case _ if "enum" in schema:
            return st.sampled_from(cast("list[str]", schema["enum"]))
        case _:
            return st.text(st.characters(codec="utf-8"), max_size=min(int(schema["maxLength"]), 30))


@pytest.mark.parametrize("name", NAMES)
@given(reply=REPLIES, choices=st.sampled_from([(), CHOICES]), structured=st.booleans())
def test_reading_a_reply_never_raises_and_an_unreadable_reply_takes_no_stance(
    name: str, reply: str, choices: tuple[str, ...], structured: bool
) -> None:
    reading = heard(name, reply, choices, structured=structured)
    if reading.verdict.parse is ParseStatus.FAILED:
        assert reading.verdict.stance is Stance.UNKNOWN
    assert bool(reading.text) == bool(reply.strip())
    msgspec.json.encode(reading)


@pytest.mark.parametrize("name", FORMS)
@given(data=st.data())
def test_every_reply_that_fits_the_schema_is_read_however_it_is_wrapped(name: str, data: st.DataObject) -> None:
    form = find_reply_codec(name)
    assert form.schema is not None
    reply = json.dumps(data.draw(values(form.schema(Expect(name, CHOICES)))))
    bare = heard(name, reply, CHOICES, structured=True)
    fenced = heard(name, f"Well.\n\n```json\n{reply}\n```\n", CHOICES)
    quoted = heard(name, f'> {{"position": "B"}}\n\n{reply}', CHOICES)
    assert bare.verdict.parse in (ParseStatus.EXACT, ParseStatus.FAILED, ParseStatus.REPAIRED)
    assert bare.verdict == fenced.verdict == quoted.verdict


@pytest.mark.parametrize("name", FORMS)
def test_reply_schemas_are_closed_and_bounded(name: str) -> None:
    form = find_reply_codec(name)
    assert form.schema is not None
    schema = form.schema(Expect(name, CHOICES))
    assert next(iter(schema["properties"])) == (form.spoken or "ratings")
    unseen = [schema]
    while unseen:
        part = unseen.pop()
        match part["type"]:
            case "object":
                assert part["required"] == list(part["properties"])
                assert part["additionalProperties"] is False
                unseen.extend(part["properties"].values())
            case "array":
                assert part["maxItems"] <= 20
                unseen.append(part["items"])
            case "string":
                assert "enum" in part or part["maxLength"] <= 1500
            case _:
                assert part["type"] in ("integer", "boolean")


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("choices", [(), CHOICES])
def test_a_reply_that_echoes_the_requested_form_is_not_a_vote(name: str, choices: tuple[str, ...]) -> None:
    form = find_reply_codec(name)
    expect = Expect(name, choices)
    answer = form.read_text(form.text_format(expect), expect).verdict
    assert not answer.counts or answer.stance is Stance.ABSTAIN


@pytest.mark.parametrize("name", FORMS)
def test_no_reply_format_asks_a_seat_to_agree(name: str) -> None:
    instructions = find_reply_codec(name).text_format(Expect(name, CHOICES)).lower()
    assert not any(word in instructions for word in ("raise", "try to agree", "reach consensus", "higher"))


def test_an_unknown_codec_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(NotFound) as caught:
        find_reply_codec("judge-merg")
    assert "judge-merge" in caught.value.help
    with pytest.raises(NotFound):
        find_reply_codec("zzz")


def test_the_free_codec_reads_no_verdict() -> None:
    reading = heard("free", "  AGREE: claude\n", structured=True)
    assert (reading.text, reading.verdict.stance) == ("AGREE: claude", Stance.UNKNOWN)
