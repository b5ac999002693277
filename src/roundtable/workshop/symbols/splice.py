"""One symbol of a file replaced, added or taken out. All other bytes stay as they are, and the result must parse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from roundtable.core.changeset import RefusalKind
from roundtable.workshop.symbols.fragments import FRAME, Variant, moved, told_apart, variants
from roundtable.workshop.symbols.outline import Outline, Symbol, outline
from roundtable.workshop.symbols.placement import in_class_itself, place_for
from roundtable.workshop.symbols.spans import comma_after, indentation, line_end, line_start
from roundtable.workshop.symbols.symbol_lookup import Wanted, named, sort_of, wanted
from roundtable.workshop.symbols.syntax_trees import Refused, errors, line_of


class Read(NamedTuple):
    """A file, what was asked for, which of its symbols that is (None: a new one), and the variant of it."""

    base: Outline
    name: Wanted
    target: Symbol | None
    variant: Variant


def spliced(read: Read) -> bytes | Refused:
    """The file with the variant in it: replaced where the file has the symbol, added where it has not."""
    return _replaced(read.base, read.target, read.variant) if read.target else _added(read)


def removed(base: Outline, symbols: Sequence[Symbol]) -> bytes | Refused:
    """The file without the one symbol that is meant, and without the blank lines above it."""
    if len(symbols) > 1 or not symbols[0].alone:
        return _ambiguous(base.path, symbols)
    comma = comma_after(symbols[0].node)
    source, start, end = base.source, symbols[0].start, comma.end_byte if comma else symbols[0].end
    if line_start(source, start) != start or start == 0 or source[start - 1 : start] == b"\n":
        start, end = line_start(source, start), line_end(source, end)
        above = source[:start].rstrip(b" \t\r\n")
        if above:
            start = len(above)
        else:
            end += len(source[end:]) - len(source[end:].lstrip(b"\r\n"))
    return sound(base, source[:start] + source[end:])


def read_text(path: str, source: bytes, symbol: str, text: bytes) -> Read | Refused:
    """The file, which of its symbols is meant, and the one variant of it in the text."""
    base = outline(path, source)
    if isinstance(base, Refused):
        return base
    name = wanted(symbol)
    if not name.parts:
        return Refused(RefusalKind.NOT_FOUND, f"No symbol was named for {path}.")
    found = variants(base.language, path, text, name)
    return found if isinstance(found, Refused) else paired(base, name, named(base, name), found)


def paired(base: Outline, name: Wanted, there: Sequence[Symbol], found: Sequence[Variant]) -> Read | Refused:
    """The one symbol of a file and the one variant that belong together, of all that have the name."""
    theirs = told_apart([it.symbol for it in found], there)
    ours = told_apart([it for it in there if sort_of(it) is sort_of(theirs[0])] or there, theirs)
    if len(theirs) > 1:
        return _ambiguous("the text", theirs)
    if len(ours) > 1:
        return _ambiguous(base.path, ours)
    chosen = next(it for it in found if it.symbol is theirs[0])
    if not all(it.alone for it in (*theirs, *ours)):
        sentence = f"{chosen.symbol.simple} is declared in one statement with others, which cannot be taken apart."
        return Refused(RefusalKind.AMBIGUOUS, sentence)
    if ours and not _is_of_sort(chosen.symbol, ours[0]):
        sentence = f"{ours[0].name} is a {ours[0].kind} in {base.path}, and in the text it is a {theirs[0].kind}"
        return Refused(RefusalKind.NOT_FOUND, f"{sentence}, {theirs[0].name}.")
    if ours and theirs[0].holder and in_class_itself(theirs[0]) is not in_class_itself(ours[0]):
        sentence = f"Of {base.path} and the text only one has {ours[0].name} in `class << self`."
        return Refused(RefusalKind.NOT_FOUND, sentence)
    return Read(base, name, ours[0] if ours else None, chosen)


def _is_of_sort(symbol: Symbol, target: Symbol) -> bool:
    """Whether one can be put where the other is: of the same sort, and of the same class as far as both have one."""
    owners = {it.owner.rpartition(".")[2] for it in (symbol, target)} - {"", FRAME}
    return sort_of(symbol) is sort_of(target) and len(owners) < 2


def _ambiguous(where: str, symbols: Sequence[Symbol]) -> Refused:
    several = "; ".join(dict.fromkeys(it.signature for it in symbols[:4]))
    return Refused(RefusalKind.AMBIGUOUS, f"{symbols[0].name} may be any of {len(symbols)} in {where}: {several}.")


def newline_of(source: bytes) -> bytes:
    """The newline a file is written with, by its first."""
    first = source.find(b"\n")
    return b"\r\n" if first > 0 and source[first - 1 : first] == b"\r" else b"\n"


def _replaced(base: Outline, target: Symbol, variant: Variant) -> bytes | Refused:
    symbol, source = variant.symbol, base.source
    has_comment = symbol.start < symbol.bare
    start = target.start if has_comment else target.bare
    kept = base.language.kept
    if target.outer.type in kept and symbol.outer.type not in kept:
        inner = target.outer.child_by_field_name("declaration")
        start = inner.start_byte if inner is not None else start
        has_comment = False
    text = moved(variant, has_comment, indentation(source, start), newline_of(source))
    return sound(base, source[:start] + text + source[target.end :], target.name, start)


def _added(read: Read) -> bytes | Refused:
    base, variant, source = read.base, read.variant, read.base.source
    place = place_for(base, read.name, variant)
    if isinstance(place, Refused):
        return place
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
