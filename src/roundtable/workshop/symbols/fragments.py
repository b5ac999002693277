"""A piece of code read by itself: which symbol in it is meant, and how it looks somewhere else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from roundtable.core.changeset import RefusalKind
from roundtable.workshop.symbols.languages import LANGUAGES, Language
from roundtable.workshop.symbols.outline import Outline, Symbol, outlined
from roundtable.workshop.symbols.signatures import alike
from roundtable.workshop.symbols.spans import indentation, line_start
from roundtable.workshop.symbols.symbol_lookup import Wanted, foremost
from roundtable.workshop.symbols.syntax_trees import Refused, errors, line_of

FRAME = "_"
"""What the class is called that a piece of code is put into to be read."""


class Variant(NamedTuple):
    """A symbol in the text it was found in."""

    within: Outline
    symbol: Symbol


def readings(language: Language, path: str, text: bytes) -> Iterator[Outline]:
    """The ways a piece of code can be read without error: as it is, or as what stands inside a class."""
    for before, after in ((b"", b""), *language.frames):
        framed = before + text + after
        if language.opens in framed and not any(errors(language, framed)):
            yield outlined(language, path, framed)


def variants(language: Language, path: str, text: bytes, name: Wanted) -> tuple[Variant, ...] | Refused:
    """The symbols of a text that have this name; those that have more of it go before the others."""
    defined: set[str] = set()
    readable = False
    for read in readings(language, path, text):
        readable = True
        found = name.of([it for it in read.symbols if it.simple == name.parts[-1]], language)
        if found:
            most = max(_shared(it, name) for it in found)
            found = foremost([it for it in found if _shared(it, name) == most], name)
            return tuple(Variant(read, it) for it in found)
        defined.update(it.simple for it in read.symbols)
    if readable:
        known = ", ".join(sorted(defined - {FRAME})[:5]) or "nothing with a name"
        return Refused(RefusalKind.NOT_FOUND, f"The text for {name.parts[-1]} does not define it, but {known}.")
    return unreadable(language, path, text)


def _shared(symbol: Symbol, name: Wanted) -> int:
    """How many parts of the name it has, from the end on."""
    pairs = zip(reversed(symbol.name.split(".")), reversed(name.parts), strict=False)
    return sum(1 for _ in takewhile(lambda it: it[0] == it[1], pairs))


def unreadable(language: Language, path: str, text: bytes) -> Refused:
    """Why a text cannot be read: it is in another language, or broken."""
    for other in LANGUAGES:
        if other is not language and any(it.symbols for it in readings(other, path, text)):
            sentence = f"The text reads as {other.name}, and {path} is {language.name}."
            return Refused(RefusalKind.LANGUAGE, sentence)
    wrong = next(errors(language, text), None)
    line = line_of(text, wrong) if wrong else 1
    return Refused(RefusalKind.SYNTAX, f"Line {line} of the text for {path} is not valid {language.name}.")


def told_apart(symbols: Sequence[Symbol], by: Sequence[Symbol]) -> list[Symbol]:
    """Those of several symbols of one name that the only other one's signature tells."""
    if len(symbols) > 1 and len(by) == 1:
        return [symbols[index] for index in alike([it.node for it in symbols], by[0].node)]
    return list(symbols)


def moved(variant: Variant, has_comment: bool, indent: bytes, newline: bytes) -> bytes:
    """A symbol's text as it stands at another indentation, without the blanks before its first line.

    Lines inside a string stay as they are, and so do lines that are indented less than the first.
    """
    source, symbol = variant.within.source, variant.symbol
    start = symbol.start if has_comment else symbol.bare
    text = source[line_start(source, start) : symbol.end]
    own = indentation(source, start)
    lines = text.split(b"\n")
    if own != indent:
        first = source.count(b"\n", 0, start)
        fixed = _string_rows(variant, start)
        lines = [
            indent + line[len(own) :] if line.startswith(own) and line.strip() and first + row not in fixed else line
            for row, line in enumerate(lines)
        ]
    text = b"\n".join(lines)
    text = text[len(indent) :] if text.startswith(indent) else text.lstrip(b" \t")
    has_cr, cr_wanted = b"\r\n" in text, newline == b"\r\n"
    if cr_wanted and not has_cr:
        return text.replace(b"\n", newline)
    if has_cr and not cr_wanted and text.count(b"\n") == text.count(b"\r\n"):
        return text.replace(b"\r\n", b"\n")
    return text


def _string_rows(variant: Variant, start: int) -> set[int]:
    rows: set[int] = set()
    strings = variant.within.language.strings
    waiting = [variant.within.root]
    while waiting:
        at = waiting.pop()
        if at.end_byte < start or at.start_byte > variant.symbol.end:
            continue
        if at.type in strings:
            first = line_of(variant.within.source, at)
            rows.update(range(first, first + (at.text or b"").count(b"\n")))
        else:
            waiting.extend(at.children)
    return rows
