"""A redacted stream shows the same text as the record, however it is cut into pieces."""

from __future__ import annotations

import base64
import random
import re
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundtable.core.text.redaction import RedactedStream, Redactor
from tests.core.test_redaction import ASSIGNED, HARMLESS, PEM, SAMPLES, token

PROSE = "The sorting high-level plan: use gRPC (e.g. key = id), AI or a task-based design; see https://a.example/x.\n"
KNOWN = [token(40, seed=11), "a key/with spaces+and signs 1", "abcdefgh1234", "gh1234_and_more_of_it"]
SPLIT = [f"{KNOWN[0][:7]}\n    {KNOWN[0][7:]}", " ".join(KNOWN[1]), f'{KNOWN[3][:9]}" + "{KNOWN[3][9:]}']
SECRETS = [*(secret for _, secret in SAMPLES), *ASSIGNED, *KNOWN, *(quote(key, safe="") for key in KNOWN), *SPLIT]


GLUE = (" key", " token:", " api_key =", " g", " -----", "://u:", "Bearer ", "sk-", "=", ":", "@", '"', "\n", " ")
SHARED = Redactor(KNOWN)
"""One for many streams, as in a process: words that passed once are not judged again."""


def shown(redactor: Redactor, pieces: list[str]) -> str:
    stream = RedactedStream(redactor)
    return "".join([*map(stream.feed, pieces), stream.finish()])


def cut_up(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "Use {} here.", "x{}y", 'key="{}" and', "({})\n{}", PROSE + "{}" + PROSE])
@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_secret_in_pieces_is_never_shown(secret: str, around: str, size: int) -> None:
    redactor = Redactor(KNOWN)
    text = around.replace("{}", secret)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert shown(redactor, pieces) == redactor.redact(text)


texts = st.lists(
    st.sampled_from([*SECRETS, *HARMLESS[:-1], PROSE, *GLUE]) | st.text(max_size=8), min_size=1, max_size=8
).map("".join)


@settings(max_examples=500, deadline=None)
@given(texts, st.lists(st.integers(0, 10_000), max_size=40))
def test_any_text_cut_anywhere_is_redacted_like_the_whole(text: str, places: list[int]) -> None:
    assert shown(SHARED, cut_up(text, places)) == SHARED.redact(text)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_any_text_word_by_word_is_redacted_like_the_whole(text: str) -> None:
    assert shown(SHARED, re.findall(r"\s?\S*", text)) == SHARED.redact(text)


def test_overlapping_secrets_are_redacted_as_one() -> None:
    redactor = Redactor(KNOWN)
    text = f"{ASSIGNED[0]}{PEM}"
    assert redactor.redact(text) == "Authorization: Bearer [redacted:assigned-secret]"
    assert shown(redactor, list(text)) == redactor.redact(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_words_arrive_as_they_are(text: str) -> None:
    assert shown(Redactor(KNOWN), [text[start : start + 5] for start in range(0, len(text), 5)]) == text


def test_ordinary_words_do_not_wait() -> None:
    stream = RedactedStream(Redactor())
    for word in ("We", " should", " use", " the", " REST", " API", ",", " not", " this", " one", ": ", "because", "\n"):
        assert stream.feed(word) == word
    assert stream.finish() == ""


def test_the_beginning_of_a_token_is_held_back_until_it_is_harmless() -> None:
    stream = RedactedStream(Redactor(["abcdefgh1234"]))
    assert stream.feed("so abc") == "so "
    assert stream.feed("def") == ""
    assert stream.feed("initely") == "abcdefinitely"


def test_a_secret_learned_during_a_stream_is_redacted_at_once() -> None:
    redactor = Redactor()
    stream = RedactedStream(redactor)
    assert stream.feed("The key is ") == "The key is "
    redactor.learn("abcdefgh1234")
    assert stream.feed("abcd") == ""
    assert stream.feed("efgh1234!") == "[redacted:known-key]!"


def test_a_base64_encoded_key_is_found_at_any_offset() -> None:
    key = token(40, seed=3)
    redactor = Redactor([key])
    for name in ("", "a", "al", "ali", "alice"):
        coded = base64.b64encode(f"{name}:{key}".encode()).decode()
        clean = redactor.redact(f"it was sent as Basic {coded}")
        assert "[redacted:known-key]" in clean
        assert coded[8:-8] not in clean


@pytest.mark.parametrize(
    "text",
    [
        "sk-" * 50_000,
        "-----BEGIN PRIVATE KEY-----" + "a b " * 40_000,
        "=" * 150_000,
        "a=" * 80_000,
        "abcdefgh1" * 16_000,
    ],
)
def test_redacting_a_stream_takes_bounded_time(text: str) -> None:
    redactor = Redactor(KNOWN)
    assert shown(redactor, [text[start : start + 4] for start in range(0, len(text), 4)]) == redactor.redact(text)


def test_pieces_of_any_size_agree_on_a_long_text() -> None:
    dice = random.Random(5)
    text = "".join(dice.choice([PROSE, dice.choice(SECRETS), " ", "\n"]) for _ in range(400))
    redactor = Redactor(KNOWN)
    for _ in range(5):
        assert shown(redactor, cut_up(text, [dice.randrange(len(text)) for _ in range(2000)])) == redactor.redact(text)
