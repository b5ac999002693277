"""Almost-valid JSON is read; the text inside its strings is never changed."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roundtable.core.replies.relaxed_json import FoundObject, TruncatedString, find_reply_json_objects

TEXTS = st.text(max_size=40) | st.text(alphabet="'\"“”‘’\\{}[],:/*`#\n ab", max_size=25)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def only(text: str) -> FoundObject:
    matches = find_reply_json_objects(text)
    assert len(matches) == 1, matches
    return matches[0]


@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.sampled_from([None, 2]), st.booleans())
def test_valid_json_is_read_exactly(value: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    matches = only(json.dumps(value, indent=indent, ensure_ascii=ascii_only))
    assert (matches.value, matches.repaired, matches.truncated) == (value, False, False)


@pytest.mark.parametrize(
    ("bent", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2,],}', {"a": [1, 2]}),
        ("{'a': 'b'}", {"a": "b"}),
        ("{a: 1, b_c: 2, d-e: 3}", {"a": 1, "b_c": 2, "d-e": 3}),
        ('{"a": True, "b": None, "c": False}', {"a": True, "b": None, "c": False}),
        ("{“a”: “b”}", {"a": "b"}),
        ("{‘a’: ‘it’s’}", {"a": "it’s"}),
        ('{"a": 1 // one\n, /* two */ "b": 2}', {"a": 1, "b": 2}),
        ('{"a": .5, "b": +2, "c": 007}', {"a": 0.5, "b": 2, "c": 7}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": "he said "no" to it", "b": 1}', {"a": 'he said "no" to it', "b": 1}),
        ("{'a': 'it's fine', 'b': 'dogs' tails'}", {"a": "it's fine", "b": "dogs' tails"}),
        (r'{"a": "C:\dir\_x", "b": "\'"}', {"a": r"C:\dir\_x", "b": "'"}),
        ('{"a": {"b": 1}', {"a": {"b": 1}}),
        ('{"a": "b", "c": [1, 2', {"a": "b", "c": [1]}),
        ('{"a": "b", "c": ["x"', {"a": "b", "c": ["x"]}),
        ('{"a": "b", "c": [', {"a": "b"}),
        ('{"a": "b", "c": 1', {"a": "b"}),
        ('{"a": "b", "c": tr', {"a": "b"}),
        ('{"a": "b", "c":', {"a": "b"}),
        ('{"a": "b", "c', {"a": "b"}),
        ('{"a": "b",', {"a": "b"}),
        ('```json\n{"a": "b"\n```\n', {"a": "b"}),
    ],
)
def test_invalid_json_is_repaired(bent: str, value: dict[str, Any]) -> None:
    matches = find_reply_json_objects(bent)[0]
    assert (matches.value, matches.repaired) == (value, True)


@pytest.mark.parametrize(
    "text", ["it's", "http://x//y", "a, }", "a,]", "/* no */", "True, None", "{a: 1}", "“x”", "\\n", "'"]
)
@pytest.mark.parametrize(
    "noise", ['{{"a": {0}, "b": [1,],}}', "{{a: {0}, b: True}}", "{{'a': {0} // note\n}}", '{{"a": {0}']
)
def test_repairing_json_does_not_change_its_strings(text: str, noise: str) -> None:
    assert find_reply_json_objects(noise.format(json.dumps(text)))[0].value["a"] == text


def test_a_truncated_string_is_marked() -> None:
    matches = only('{"answer": "so we sho')
    assert matches.truncated
    assert matches.value == {"answer": "so we sho"}
    assert isinstance(matches.value["answer"], TruncatedString)


def double_quoted(text: str) -> str:
    return json.dumps(text)


def single_quoted(text: str) -> str:
    return "'" + json.dumps(text)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"


def smart_quoted(text: str) -> str:
    return "“" + json.dumps(text)[1:-1].replace('\\"', '"') + "”"


QUOTERS = st.sampled_from([double_quoted, single_quoted, smart_quoted])
GAPS = st.sampled_from(["", " ", "\n", " // it's, }\n", '/* "x": 1, */'])


@given(
    st.lists(st.tuples(TEXTS, QUOTERS), min_size=1, max_size=4),
    GAPS,
    st.sampled_from(["", ","]),
    st.sampled_from(["}", ""]),
)
@example([("a, }", single_quoted)], " // it's, }\n", ",", "")
def test_every_string_survives_the_repair(strings: list[tuple[str, Any]], gap: str, comma: str, end: str) -> None:
    members = [f"k{index}{gap}:{gap}{quote(text)}" for index, (text, quote) in enumerate(strings)]
    bent = "{" + f"{gap},{gap}".join(members) + gap + comma + gap + end
    assert find_reply_json_objects(bent)[0].value == {f"k{index}": text for index, (text, _) in enumerate(strings)}


@pytest.mark.parametrize(
    "text", ["", "no", "{", "}", "{{{{", '{"a" "b"}', "{1: 2}", "{a b}", '{"a": b}', '{"a": 9/10}', "{,}"]
)
def test_text_that_is_not_an_object_is_not_repaired(text: str) -> None:
    assert all(matches.value == {} for matches in find_reply_json_objects(text))


def test_lone_surrogates_become_readable() -> None:
    assert only(r'{"a": "x\ud800y", "b": "\ud83d\ude00"}').value == {"a": "x�y", "b": "😀"}


@given(st.text(alphabet="{}[]\"':,\\ua1/*“’`\n ", max_size=80))
def test_random_text_never_raises_while_json_is_repaired(noise: str) -> None:
    list(find_reply_json_objects(noise))


@pytest.mark.parametrize(
    "hostile", ["{" * 20_000, '{"a":' * 10_000, '{"a":"' * 5_000, '{"a":["' * 5_000 + '",!', "{a:[" * 10_000]
)
def test_hostile_replies_are_rejected_quickly(hostile: str) -> None:
    started = time.perf_counter()
    list(find_reply_json_objects(hostile))
    assert time.perf_counter() - started < 5
