"""Short forms of numbers and sentences."""

from __future__ import annotations


def format_count(number: int) -> str:
    """A number in at most four characters, such as `812`, `1.2k` or `34k`."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 10_000 else f"{number // 1000}k"


def format_seconds(elapsed: float) -> str:
    """A duration such as `1.2s`, `48s` or `3m05s`."""
    if elapsed < 10:
        return f"{elapsed:.1f}s"
    minutes, rest = divmod(int(elapsed), 60)
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def format_sentence(text: str) -> str:
    """The text with a full stop if it ends in a letter or digit."""
    text = text.strip()
    return f"{text}." if text[-1:].isalnum() else text
