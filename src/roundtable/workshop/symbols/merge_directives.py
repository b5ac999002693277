"""What a judge asks for in words, understood or not: a seat, what to take from it, and into which file.

Every word of a directive must be known: a verb, a seat, a file, a symbol, or one of the few words between them. With
any other word it is not understood, and nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from roundtable.workshop.symbols.symbol_lookup import RequestedKind, parse_symbol_query

_TAKE = {
    "replace", "swap", "exchange", "overwrite", "substitute", "add", "take", "use", "include", "incorporate", "adopt",
    "bring", "copy", "insert", "prefer", "pull", "port", "merge", "keep", "splice",
}  # fmt: skip
_NEW = {"add", "insert"}
_AS_IS = {"as is", "unchanged"}
"""Of what the base has, that it stays; of what another has, that nothing of it is changed."""
_BASE = {"base", *_AS_IS}
_DROP = {"remove", "delete", "drop"}
_INTO = {"to", "into", "in", "of"}
_BETWEEN = {
    "the", "a", "an", "by", "with", "from", "version", "implementation", "helper", "constant", "its",
    "candidate", "seat", "also", "please", "one", "as",
    "is", "instead", "definition", "module", "code", "over", "whole", "entire", "complete", "full", "file",
    "=", "*", "_", "(", ")", '"', "'", "“", "”", "→", "←", "->", "=>", ":", "?", "!", "**",
    "***", *_INTO,
}  # fmt: skip
_SORTS = {
    "constructor": RequestedKind.CONSTRUCTOR,
    "constructors": RequestedKind.CONSTRUCTOR,
    "method": RequestedKind.METHOD,
    "methods": RequestedKind.METHOD,
    "class": RequestedKind.CLASS,
    "struct": RequestedKind.CLASS,
    "type": RequestedKind.CLASS,
    "function": RequestedKind.FUNCTION,
    "functions": RequestedKind.FUNCTION,
}
_END = {";", "."}
_AND = {",", "and", "&", "plus", "then", *_END}
_REASON = re.compile(
    r"[\s,]*(?<![`\w])(?:because|since|which|so that|as it)\b(?!`)(?:\([^()]*\)|[^)])*?(?=\.(?:\s|$)|[;\n)]|$)", re.I
)
_REPLACE = r"\b(?:replace|swap|exchange|overwrite|substitute) "
_GIVES_WAY = re.compile(
    rf"(?!.*OTHER .*BASE ).*{_REPLACE}.*BASE .*\b(?:by|with|from) .*OTHER "
    r"|(?!.*BASE .*OTHER ).*OTHER .*\b(?:to|into|over|instead of) (?:the )?BASE "
    r"|(?!.*BASE ).*OTHER .*\binstead $"
)
"""How it is said that another's stands in for the base's: `replace BASE's by OTHER's`, `OTHER's instead of BASE's`."""
_TO_NOBODY = re.compile(rf"(?!.*\b(?:by|with|from) .*BASE ).*{_REPLACE}.*BASE ")
"""How it is said that the base's does not stand, without saying whose does."""
_TURNS = {"by", "with", "as", "→", "->", "=>"}
_BULLET = re.compile(r"^\s*(?:[*•-]|\d+[.)])\s+")
_WORD = re.compile(
    r"(?:(?i:as is\b)|`[^`]+`"
    r"|[\w$@#~/\\.:<>-]*\boperator ?(?:\(\)|\[\]|[-+*/%^&|~!=<>]+)(?:\([^()]*\))?"
    r"|(?:[\w$@~/\\.:<>-]+[.#])?(?:\[\]=?|(?<=[.#])[-+*/%^&|~!=<>]+@?|[-+*/%^&|~!=<>]{2,})(?![\w$])"
    r"|[\w$@#~/\\.:<>-]+(?:[?!]|=(?![\w=]))?(?:\([^()]*\))?)(?:['’]s)?"
    r"|\S"
)
"""A name, with the signs that names have in Ruby and C++; else a sign by itself."""
_OF_FILE = re.compile(r"`?([^`]+?\.\w+)(?:::?|#)([^`]+)`?")
_OWN = re.compile(r"['’]s(?=`?$)")
_OWN_OF = re.compile(r"`([^`\s]+['’]s)\s+([^`]+)`")


class MergeAction(StrEnum):
    """What is to be done."""

    TAKE = "take"
    TAKE_FILE = "take_file"
    TAKE_IMPORTS = "take_imports"
    REMOVE = "remove"


class MergeOrder(NamedTuple):
    """One thing to be done, as it was understood: symbols, or a file, of a seat. `is_new` if it is to be added."""

    action: MergeAction
    seat: str
    names: tuple[str, ...] = ()
    path: str = ""
    kind: RequestedKind = RequestedKind.ANY
    is_new: bool = False


class UnclearDirective(NamedTuple):
    """A directive, or the piece of it, that was not understood, and why."""

    text: str
    reason: str


class DirectiveVocabulary(NamedTuple):
    """What words can mean: the seats, the files, and the last parts of all symbols' names."""

    base: str
    seats: Collection[str]
    paths: Collection[str]
    symbols: Collection[str]


class _Is(StrEnum):
    TAKE = "take"
    DROP = "drop"
    SEAT = "seat"
    PATH = "path"
    SYMBOL = "symbol"
    HOLDER = "holder"
    IMPORTS = "imports"
    SORT = "sort"
    BETWEEN = "between"
    AND = "and"
    UNKNOWN = "unknown"


class _Word(NamedTuple):
    written: str
    what: _Is
    means: str = ""


_Piece = list[_Word]
_VERBS = {_Is.TAKE, _Is.DROP}
_WHAT = {_Is.SYMBOL, _Is.PATH, _Is.IMPORTS}


def parse_merge_directive(directive: str, known: DirectiveVocabulary) -> list[MergeOrder | UnclearDirective]:
    """The orders in one directive, and the pieces of it that are none."""
    found: list[MergeOrder | UnclearDirective] = []
    reasons = list(_REASON.finditer(directive))
    if unsure := next((word for it in reasons for word in _unsure(it, known)), None):
        return [UnclearDirective(directive, f"`{unsure.written}` may belong to the reason before it, or be asked for.")]
    for piece in _pieces(list(_words(directive, known))):
        order = _order(piece, known)
        if (
            isinstance(order, UnclearDirective)
            and not _all(piece, _Is.SYMBOL)
            and set(_all(piece, _Is.SEAT)) - {known.base}
        ):
            return [UnclearDirective(directive, order.reason)]
        if isinstance(order, UnclearDirective) and reasons:
            order = order._replace(text=directive)
        if order:
            found.append(order)
    return found


def _words(directive: str, known: DirectiveVocabulary) -> Iterator[_Word]:
    into = False
    for written in _written(directive, known):
        word = _meaning(written.rstrip(".:") or written, known)
        if word.what is _Is.UNKNOWN:
            word = _meaning(written.rstrip(".:?!=") or written, known)
        if into and word.what is _Is.SYMBOL:
            word = word._replace(what=_Is.HOLDER)
        yield word
        into = word.written.lower() in _INTO or (into and word.what in {_Is.BETWEEN, _Is.SORT})
        if written.endswith((".", ":")) and len(written) > 1:
            yield _meaning(written[-1], known)


def _written(directive: str, known: DirectiveVocabulary) -> Iterator[str]:
    """The words as they stand there; `app.py::run` is the file and the symbol."""
    for written in _WORD.findall(_BULLET.sub("", _REASON.sub(lambda it: _more(it, known), directive))):
        two = _OWN_OF.fullmatch(written) or _OF_FILE.fullmatch(written)
        yield from two.groups() if two and (two.re is _OWN_OF or _path(two[1], known)) else (written,)


def _more(reason: re.Match[str], known: DirectiveVocabulary) -> str:
    """What a reason says that is none: its parts that name a seat, and a symbol that was not named before."""
    before, parts = _parts(reason, known)
    more = (part for part in parts if _is_more(part, before))
    return "".join(f", {' '.join(it.written for it in part)}" for part in more)


def _unsure(reason: re.Match[str], known: DirectiveVocabulary) -> Iterator[_Word]:
    """What may be a reason no longer: after its first comma or `and`, a verb, or what was not named before.

    A seat may be named in a reason for its own sake, as in `and gemini's is not`; among known words only it is more.
    """
    before, (_, *later) = _parts(reason, known)
    named = {(it.what, it.means) for it in before}
    for part in (it for it in later if not _is_more(it, before)):
        telling = _WHAT if _has(part, _Is.UNKNOWN) else {*_WHAT, _Is.SEAT}
        begun = _verb([it for it in part if it.what is not _Is.AND])
        yield from [begun] if begun else []
        yield from (it for it in part if it.what in telling and (it.what, it.means) not in named)


def _parts(reason: re.Match[str], known: DirectiveVocabulary) -> tuple[_Piece, list[_Piece]]:
    """What stands before a reason, and the reason itself by its first `and` and its commas."""
    before, first, *later = (
        [_meaning(it.rstrip(".:") or it, known) for it in _WORD.findall(text)]
        for text in (reason.string[: reason.start()], *reason[0].lstrip(", \t\r\n").split(","))
    )
    at = next((at for at, it in enumerate(first) if it.what is _Is.AND), len(first))
    return before, [first[:at], first[at:], *later]


def _is_more(part: _Piece, before: _Piece) -> bool:
    return bool(_all(part, _Is.SEAT)) and not set(_all(part, _Is.SYMBOL)) <= set(_all(before, _Is.SYMBOL))


def _path(word: str, known: DirectiveVocabulary) -> str:
    """The file a word means: by its whole path, or by the end of it if only one ends so."""
    paths = [it for it in known.paths if it == word or it.endswith(f"/{word}")]
    return word if word in paths else paths[0] if len(paths) == 1 else ""


def _meaning(written: str, known: DirectiveVocabulary) -> _Word:
    plain, small = _OWN.sub("", written).strip("`"), written.lower()
    if plain.lower() in _BASE and plain not in known.symbols:
        return _Word(written, _Is.SEAT, known.base)
    seats = _seats(plain, known)
    if seats and (_OWN.search(written) or plain not in known.symbols):
        return _Word(written, _Is.SEAT, seats[0]) if len(seats) == 1 else _Word(written, _Is.UNKNOWN)
    if path := _path(plain, known):
        return _Word(written, _Is.PATH, path)
    for words, what in ((_AND, _Is.AND), (_TAKE, _Is.TAKE), (_DROP, _Is.DROP), (_BETWEEN, _Is.BETWEEN)):
        if small in words:
            return _Word(written, what)
    if small in _SORTS:
        return _Word(written, _Is.SORT, _SORTS[small])
    if small == "imports":
        return _Word(written, _Is.IMPORTS)
    parts = parse_symbol_query(plain).parts
    if parts and parts[-1] in known.symbols:
        return _Word(written, _Is.SYMBOL, plain)
    return _Word(written, _Is.UNKNOWN)


def _seats(word: str, known: DirectiveVocabulary) -> list[str]:
    """The seats a word may mean: one of that name, else those whose names begin so. One letter is a label, as it is."""
    small = word.lower()
    exact = [it for it in known.seats if it == word or (len(it) > 1 and it.lower() == small)]
    return exact or [it for it in known.seats if len(small) > 2 and it.lower().startswith(small)]


def _pieces(words: list[_Word]) -> Iterator[_Piece]:
    """What is said of one seat each; nothing is joined over the end of a sentence."""
    piece: _Piece = []
    pieces: list[_Piece] = []
    for word in (*words, _Word(".", _Is.AND)):
        if word.what is not _Is.AND:
            piece.append(word)
            continue
        pieces += [piece] if piece else []
        piece = []
        if word.written in _END:
            yield from _joined(pieces)
            pieces = []


def _joined(pieces: list[_Piece]) -> list[_Piece]:
    """`login, logout and rollback from gemini` is one piece: what has no seat goes with the next, or with the last.

    It goes with the last one too where that began with its seat, as `gpt: login, logout` does.
    """
    joined: list[_Piece] = []
    ahead: _Piece = []
    for index, piece in enumerate(pieces):
        lacks = not _all(piece, _Is.SEAT) and not _has(piece, _Is.UNKNOWN)
        after = pieces[index + 1] if index + 1 < len(pieces) else None
        goes_on = after is not None and not _verb(after) and not _has(after, _Is.UNKNOWN)
        of_last = bool(joined) and not ahead and not _verb(piece)
        if lacks and of_last and (not goes_on or _is_heading(joined[-1])):
            joined[-1] = joined[-1] + piece
        elif lacks and goes_on:
            ahead += piece
        else:
            joined.append(ahead + piece)
            ahead = []
    return joined


def _verb(piece: _Piece) -> _Word | None:
    """What a piece begins with, if that says what to do."""
    first = next((it for it in piece if it.what is not _Is.BETWEEN), None)
    return first if first and first.what in _VERBS else None


def _is_heading(piece: _Piece) -> bool:
    return any(one.what is _Is.SEAT and other.written == ":" for one, other in pairwise(piece))


def _has(piece: _Piece, what: _Is) -> bool:
    return any(it.what is what for it in piece)


def _all(piece: _Piece, what: _Is) -> list[str]:
    return list(dict.fromkeys(it.means for it in piece if it.what is what))


def _order(piece: _Piece, known: DirectiveVocabulary) -> MergeOrder | UnclearDirective | None:
    said = " ".join(it.written for it in piece)
    unknown = next((it for it in piece if it.what is _Is.UNKNOWN), None)
    if unknown:
        several = " or ".join(_seats(_OWN.sub("", unknown.written).strip("`"), known))
        why = f"may be {several}" if several else "is neither a seat nor a file nor a symbol that anyone wrote"
        return UnclearDirective(said, f"`{unknown.written}` {why}.")
    if set(_all(piece, _Is.SEAT)) - {known.base}:
        piece = [it for it in piece if it.written.lower() not in _AS_IS]
    seats = _whose(piece, known)
    if why := _unfit(piece, seats, known):
        return UnclearDirective(said, why)
    names, path = _named(piece, known), "".join(_all(piece, _Is.PATH))
    if _has(piece, _Is.DROP):
        order = MergeOrder(MergeAction.REMOVE, "", names, path, _sort(piece))
        return order if names else UnclearDirective(said, "It does not say what to remove.")
    if seats == [known.base]:
        return None
    return _taken(piece, seats, names, path) or UnclearDirective(said, _lacking(seats))


def _whose(piece: _Piece, known: DirectiveVocabulary) -> list[str]:
    """Whose is to stand, the base's or another's; all that are named where it does not say."""
    seats = _all(piece, _Is.SEAT)
    others = [it for it in seats if it != known.base]
    if not others or (seats == others and not any(it.written.lower() in {"over", "instead"} for it in piece)):
        return seats
    for stands, gives_way in ((others, [known.base]), ([known.base], others)):
        if _GIVES_WAY.match(_shape(piece, dict.fromkeys(gives_way, "BASE") | dict.fromkeys(stands, "OTHER"))):
            return stands
    return [known.base, *others]


def _shape(piece: _Piece, roles: Mapping[str, str]) -> str:
    """A piece with the roles that its seats have in it."""
    return "".join(f"{roles[it.means] if it.what is _Is.SEAT else it.written.lower()} " for it in piece)


def _unfit(piece: _Piece, seats: list[str], known: DirectiveVocabulary) -> str:
    """Why words that are all known are no order."""
    others = [it for it in _all(piece, _Is.SEAT) if it != known.base]
    if len(others) > 1:
        return "It names several seats."
    if len(_all(piece, _Is.PATH)) > 1:
        return "It names several files."
    if _has(piece, _Is.DROP) and others:
        return f"Only what is in the base can be removed, and it names {others[0]}."
    if _says_more(piece, known):
        return "It says several things to do at once."
    gives_way = seats == [known.base] and not others and _TO_NOBODY.match(_shape(piece, {known.base: "BASE"}))
    return "It does not say clearly whose is to stand." if gives_way or len(seats) > 1 else ""


def _says_more(piece: _Piece, known: DirectiveVocabulary) -> bool:
    """Whether there is a second verb, a verb in the middle, or one symbol that is to become another."""
    verbs = [at for at, it in enumerate(piece) if it.what in _VERBS and it.written not in known.symbols]
    if any(_verb(piece) is not piece[at] and piece[at - 1].written != ":" for at in verbs) or len(verbs) > 1:
        return True
    at = next((at for at, it in enumerate(piece) if it.written.lower() in _TURNS), len(piece))
    before, after = (
        {parse_symbol_query(it).parts[-1] for it in _all(part, _Is.SYMBOL)} for part in (piece[:at], piece[at:])
    )
    return bool(before) and not after <= before


def _sort(piece: _Piece) -> RequestedKind:
    """What the symbols of a piece are said to be, if it says one thing only."""
    sorts = _all(piece, _Is.SORT)
    return RequestedKind(sorts[0]) if len(sorts) == 1 else RequestedKind.ANY


def _lacking(seats: list[str]) -> str:
    return f"It does not say what to take from {seats[0]}." if seats else "It does not say from whom."


def _taken(piece: _Piece, seats: list[str], names: tuple[str, ...], path: str) -> MergeOrder | None:
    if not seats:
        return None
    if names:
        is_new = any(it.what is _Is.TAKE and it.written.lower() in _NEW for it in piece)
        return MergeOrder(MergeAction.TAKE, seats[0], names, path, _sort(piece), is_new)
    if any(it.what is _Is.IMPORTS for it in piece):
        return MergeOrder(MergeAction.TAKE_IMPORTS, seats[0], (), path)
    return MergeOrder(MergeAction.TAKE_FILE, seats[0], (), path) if path else None


def _named(piece: _Piece, known: DirectiveVocabulary) -> tuple[str, ...]:
    """The symbols of a piece, inside the class it names if it does. A word such as `add` is one if nothing else is."""
    names, holders = _all(piece, _Is.SYMBOL), _all(piece, _Is.HOLDER)
    if not names and holders:
        names, holders = holders, []
    if not names and not _all(piece, _Is.PATH) and not any(it.what is _Is.IMPORTS for it in piece):
        common = {_Is.TAKE, _Is.BETWEEN, _Is.SORT}
        names = [it.written for it in piece[1:] if it.what in common and it.written in known.symbols]
    return tuple(f"{holders[0]}.{it}" for it in names) if len(holders) == 1 else tuple(names)
