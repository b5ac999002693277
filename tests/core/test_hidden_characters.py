"""A person approves what they see: invisible characters are spelled out."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from roundtable.core.text.sanitize import reveal_hidden_characters


@pytest.mark.parametrize(
    "letter",
    [
        *("\x00", "\x1b", "\r", "\n", "\x85", "\u200b", "\u200d", "\u202e", "\u2028", "\ufeff", "\u00ad", "\u180e"),
        *("\ufe01", "\ufe0f", "\U000e0101", "\U000e0041", "\u3164", "\u115f", "\u1160", "\uffa0", "\u2800", "\u034f"),
        *("\u00a0", "\u2003", "\u3000", "\ue000", "\U0010fffd", "\u0378", "\ud800"),
    ],
)
def test_an_invisible_letter_is_spelled_out(letter: str) -> None:
    assert reveal_hidden_characters(f"a{letter}b") == f"a{letter.encode('unicode_escape').decode()}b"


def test_every_invisible_letter_is_spelled_out_and_visible_ones_stay() -> None:
    everything = map(chr, range(sys.maxunicode + 1))
    left = {
        letter
        for letter in everything
        if unicodedata.category(letter)[0] in "CZ" and reveal_hidden_characters(letter) == letter
    }
    assert left == {" ", "\t"}
    text = "if x:\treturn 'ß naïve 漢字 العربية ✓ 👍'"
    assert reveal_hidden_characters(text) == text
