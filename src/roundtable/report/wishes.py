"""What a seat wants to be written, as a list of files: its whole reply is for programs, and for who asks to see it."""

from __future__ import annotations

from roundtable.core.changeset import Create, Delete, Edit, Operation, PutSymbol, Rename, Replace
from roundtable.core.replies.file_changes import changes_of
from roundtable.core.replies.unreadable import Unreadable
from roundtable.core.values import Expect

_CODEC = "changes"


def writes(expect: Expect) -> bool:
    """Whether a round asked for changes."""
    return expect.codec.startswith(_CODEC)


def wish_lines(reply: str) -> list[str]:
    """A line per file of a reply in the changes form; none where it cannot be read."""
    try:
        return list(dict.fromkeys(map(_told, changes_of(reply).operations)))
    except Unreadable:
        return []


def _told(it: Operation) -> str:
    match it:
        case Create() | Replace():
            return f"{it.path}: whole, +{_lines(it.text)}"
        case PutSymbol():
            return f"{it.path}: {it.symbol}, +{_lines(it.text)}"
        case Edit():
            more, less = (
                sum(map(_lines, side)) for side in ([b.replace for b in it.blocks], [b.search for b in it.blocks])
            )
            return f"{it.path}: +{more} -{less}"
        case Delete():
            return f"{it.path}: deleted"
        case Rename():
            return f"{it.path}: renamed to {it.to}"


def _lines(text: str) -> int:
    return len(text.splitlines())
