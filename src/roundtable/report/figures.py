"""Short forms of numbers and sentences."""

from __future__ import annotations


def format_sentence(text: str) -> str:
    """The text with a full stop if it ends in a letter or digit."""
    text = text.strip()
    return f"{text}." if text[-1:].isalnum() else text
