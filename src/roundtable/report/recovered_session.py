"""A damaged session as a Markdown document: every fact that can be read, in order, without folding them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from roundtable.core.events import DAMAGED_KIND, Recorded, UnknownEvent, encode_event
from roundtable.core.text.quotation import escape_markdown_line, quote_markdown

_LONGEST_FIELD = 60
"""Characters of a text that is printed on one line."""


def render_recovered_session(records: Sequence[Recorded]) -> str:
    """Return the readable facts as Markdown, under a line that says how many cannot be read."""
    damaged = [recorded.seq for recorded in records if _kind(recorded) == DAMAGED_KIND]
    numbers = ", ".join(map(str, damaged)) or "none"
    parts = [f"**DAMAGED**: {len(damaged)} of {len(records)} facts cannot be read (numbers: {numbers})."]
    for recorded in records:
        parts += _fact_parts(recorded)
    return "\n\n".join(parts) + "\n"


def _kind(recorded: Recorded) -> str:
    event = recorded.event
    return event.kind_name if isinstance(event, UnknownEvent) else str(event.__struct_config__.tag)


def _fact_parts(recorded: Recorded) -> Iterator[str]:
    yield f"## {recorded.seq} · {escape_markdown_line(_kind(recorded))} · {escape_markdown_line(recorded.at)}"
    fields = msgspec.json.decode(encode_event(recorded.event))
    for name, text in _texts(fields):
        if name == "kind":
            continue
        if len(text) <= _LONGEST_FIELD and "\n" not in text:
            yield f"{escape_markdown_line(name)}: {escape_markdown_line(text)}"
        else:
            yield f"{escape_markdown_line(name)}:\n\n{quote_markdown(text)}"


def _texts(node: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The texts and numbers in a JSON value, each with the path of its key; empty values are left out."""
    if isinstance(node, dict):
        for key, value in cast("dict[str, Any]", node).items():
            yield from _texts(value, f"{name}.{key}" if name else key)
    elif isinstance(node, list):
        for number, value in enumerate(cast("list[Any]", node)):
            yield from _texts(value, f"{name}[{number}]")
    elif node not in ("", None, False):
        yield name, str(node)
