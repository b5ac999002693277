"""One symbol of a file replaced, added or taken out. All other bytes stay as they are, and the result must parse."""

from __future__ import annotations

from typing import NamedTuple

from roundtable.core.changes import RefusalKind
from roundtable.workshop.structure.fragments import Variant, Wanted, moved, told_apart, variants, wanted
from roundtable.workshop.structure.outline import Outline, Symbol, outline
from roundtable.workshop.structure.placing import place_for
from roundtable.workshop.structure.spans import indentation, line_end, line_start
from roundtable.workshop.structure.trees import Refused, errors, line_of


class Read(NamedTuple):
    """A file, which of its symbols is meant (none: a new one), and the variant of it."""

    base: Outline
    targets: list[Symbol]
    variant: Variant


def added(path: str, source: bytes, symbol: str, text: bytes) -> bytes | Refused:
    """The file with a new symbol of the text: beside its neighbours there, else after the last of its kind."""
    read = meant(path, source, symbol, text)
    if isinstance(read, Refused):
        return read
    base, targets, found = read
    if targets:
        return Refused(RefusalKind.EXISTS, f"{path} already has {symbol}.")
    return _added(base, wanted(symbol), found)


def spliced(read: Read, symbol: str) -> bytes | Refused:
    """The file with the variant in it: replaced where the file has the symbol, added where it has not."""
    return _replaced(*read) if read.targets else _added(read.base, wanted(symbol), read.variant)


def removed(path: str, source: bytes, symbol: str) -> bytes | Refused:
    """The file without one symbol and the blank lines above it."""
    base = outline(path, source)
    if isinstance(base, Refused):
        return base
    targets = targeted(base, wanted(symbol))
    if not targets:
        return Refused(RefusalKind.NOT_FOUND, f"{path} has no {symbol}.")
    if len(targets) > 1 or not targets[0].alone:
        return _ambiguous(path, targets)
    start, end = targets[0].start, targets[0].end
    if line_start(source, start) != start or start == 0 or source[start - 1 : start] == b"\n":
        start, end = line_start(source, start), line_end(source, end)
        above = source[:start].rstrip(b" \t\r\n")
        if above:
            start = len(above)
        else:
            end += len(source[end:]) - len(source[end:].lstrip(b"\r\n"))
    return sound(base, source[:start] + source[end:])


def targeted(base: Outline, name: Wanted) -> list[Symbol]:
    """The symbols of a file that a name means there: by the whole name before its end alone."""
    found = base.named(".".join(name.parts))
    exact = [it for it in found if it.name == ".".join(name.parts)]
    return name.of(exact or found)


def meant(path: str, source: bytes, symbol: str, text: bytes) -> Read | Refused:
    """The file, which of its symbols are meant, and the one variant of them in the text."""
    base = outline(path, source)
    if isinstance(base, Refused):
        return base
    name = wanted(symbol)
    if not name.parts:
        return Refused(RefusalKind.NOT_FOUND, f"No symbol was named for {path}.")
    found = variants(base.language, path, text, name)
    if isinstance(found, Refused):
        return found
    targets = targeted(base, name)
    meant = told_apart([it.symbol for it in found], targets)
    targets = told_apart(targets, meant)
    if len(meant) > 1:
        return _ambiguous("the text", meant)
    if len(targets) > 1:
        return _ambiguous(path, targets)
    chosen = next(it for it in found if it.symbol is meant[0])
    if not chosen.symbol.alone or any(not it.alone for it in targets):
        sentence = f"{chosen.symbol.simple} is declared in one statement with others, which cannot be taken apart."
        return Refused(RefusalKind.AMBIGUOUS, sentence)
    return Read(base, targets, chosen)


def _ambiguous(where: str, symbols: list[Symbol]) -> Refused:
    several = "; ".join(dict.fromkeys(it.signature for it in symbols[:4]))
    return Refused(RefusalKind.AMBIGUOUS, f"{symbols[0].name} may be any of {len(symbols)} in {where}: {several}.")


def newline_of(source: bytes) -> bytes:
    """The newline a file is written with, by its first."""
    first = source.find(b"\n")
    return b"\r\n" if first > 0 and source[first - 1 : first] == b"\r" else b"\n"


def _replaced(base: Outline, targets: list[Symbol], variant: Variant) -> bytes | Refused:
    target, symbol, source = targets[0], variant.symbol, base.source
    has_comment = symbol.start < symbol.bare
    start = target.start if has_comment else target.bare
    kept = base.language.kept
    if target.outer.type in kept and symbol.outer.type not in kept:
        inner = target.outer.child_by_field_name("declaration")
        start = inner.start_byte if inner is not None else start
        has_comment = False
    text = moved(variant, has_comment, indentation(source, start), newline_of(source))
    return sound(base, source[:start] + text + source[target.end :], target.name, start)


def _added(base: Outline, name: Wanted, variant: Variant) -> bytes | Refused:
    place = place_for(base, name, variant)
    if isinstance(place, Refused):
        return place
    source = base.source
    text = moved(variant, True, place.indent, newline_of(source))
    before, after = place.around(newline_of(source))
    made = source[: place.at] + before + text + after + source[place.at :]
    return sound(base, made, place.name, place.at + len(before))


def sound(base: Outline, made: bytes, name: str = "", at: int = 0) -> bytes | Refused:
    """The result, if it parses no worse than before and has the symbol where it was put."""
    after = outline(base.path, made)
    if isinstance(after, Refused):
        return after
    wrong = list(errors(base.language, made))
    if len(wrong) > sum(1 for _ in errors(base.language, base.source)):
        line = line_of(made, wrong[0])
        sentence = f"Line {line} of {base.path} would not be valid {base.language.name} with this."
        return Refused(RefusalKind.SYNTAX, sentence)
    if name and not any(it.name == name and it.start <= at < it.end for it in after.symbols):
        return Refused(RefusalKind.NOT_FOUND, f"What was put into {base.path} would not be {name} there.")
    return made
