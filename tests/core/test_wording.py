"""Short forms of numbers, durations and sentences."""

from __future__ import annotations

from roundtable.core.text.wording import add_full_stop_to_text, format_count_as_text, format_seconds_as_text


def test_numbers_durations_and_sentences_have_short_forms() -> None:
    assert [format_count_as_text(number) for number in (999, 1234, 12_345)] == ["999", "1.2k", "12k"]
    assert [format_seconds_as_text(elapsed) for elapsed in (1.23, 48.7, 185)] == ["1.2s", "48s", "3m05s"]
    assert [add_full_stop_to_text(text) for text in ("a", "a.", "`b`", "c?")] == ["a.", "a.", "`b`", "c?"]
