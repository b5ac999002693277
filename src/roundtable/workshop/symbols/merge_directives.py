"""A judge's merge directives in words: which seat, what to take from it, and into which file.

Every word of a directive must be known: a verb, a seat, a file, a symbol, or one of the few words between them. A
directive with any other word is not understood, and nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.workshop.symbols.symbol_lookup import RequestedKind, parse_symbol_query

_TAKE_WORDS = {
    "replace", "swap", "exchange", "overwrite", "substitute", "add", "take", "use", "include", "incorporate", "adopt",
    "bring", "copy", "insert", "prefer", "pull", "port", "merge", "keep", "splice",
}  # fmt: skip
_ADD_WORDS = {"add", "insert"}
_UNCHANGED_WORDS = {"as is", "unchanged"}
"""About the base: it stays. About another seat: nothing of its code is changed."""
_BASE_WORDS = {"base", *_UNCHANGED_WORDS}
_REMOVE_WORDS = {"remove", "delete", "drop"}
_INTO_WORDS = {"to", "into", "in", "of"}
_FILLER_WORDS = {
    "the", "a", "an", "by", "with", "from", "version", "implementation", "helper", "constant", "its",
    "candidate", "seat", "also", "please", "one", "as",
    "is", "instead", "definition", "module", "code", "over", "whole", "entire", "complete", "full", "file",
    "=", "*", "_", "(", ")", '"', "'", "“", "”", "→", "←", "->", "=>", ":", "?", "!", "**",
    "***", *_INTO_WORDS,
}  # fmt: skip
_KIND_WORDS = {
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
_SENTENCE_ENDS = {";", "."}
_CONJUNCTIONS = {",", "and", "&", "plus", "then", *_SENTENCE_ENDS}
_REASON_CLAUSE = re.compile(
    r"[\s,]*(?<![`\w])(?:because|since|which|so that|as it)\b(?!`)(?:\([^()]*\)|[^)])*?(?=\.(?:\s|$)|[;\n)]|$)", re.I
)
_REPLACE_VERB = r"\b(?:replace|swap|exchange|overwrite|substitute) "
_OTHER_REPLACES_BASE = re.compile(
    rf"(?!.*OTHER .*BASE ).*{_REPLACE_VERB}.*BASE .*\b(?:by|with|from) .*OTHER "
    r"|(?!.*BASE .*OTHER ).*OTHER .*\b(?:to|into|over|instead of) (?:the )?BASE "
    r"|(?!.*BASE ).*OTHER .*\binstead $"
)
"""The other's code replaces the base's: `replace BASE's by OTHER's`, `OTHER's instead of BASE's`."""
_BASE_REPLACED_BY_NOBODY = re.compile(rf"(?!.*\b(?:by|with|from) .*BASE ).*{_REPLACE_VERB}.*BASE ")
"""The base's code is to be replaced, without saying by whose."""
_BECOMES_WORDS = {"by", "with", "as", "→", "->", "=>"}
_BULLET = re.compile(r"^\s*(?:[*•-]|\d+[.)])\s+")
_WORD = re.compile(
    r"(?:(?i:as is\b)|`[^`]+`"
    r"|[\w$@#~/\\.:<>-]*\boperator ?(?:\(\)|\[\]|[-+*/%^&|~!=<>]+)(?:\([^()]*\))?"
    r"|(?:[\w$@~/\\.:<>-]+[.#])?(?:\[\]=?|(?<=[.#])[-+*/%^&|~!=<>]+@?|[-+*/%^&|~!=<>]{2,})(?![\w$])"
    r"|[\w$@#~/\\.:<>-]+(?:[?!]|=(?![\w=]))?(?:\([^()]*\))?)(?:['’]s)?"
    r"|\S"
)
"""A name, with the signs that names have in Ruby and C++; else a sign by itself."""
_FILE_AND_SYMBOL = re.compile(r"`?([^`]+?\.\w+)(?:::?|#)([^`]+)`?")
_POSSESSIVE = re.compile(r"['’]s(?=`?$)")
_OWNER_AND_SYMBOL = re.compile(r"`([^`\s]+['’]s)\s+([^`]+)`")


class MergeAction(StrEnum):
    """The action of an order."""

    TAKE = "take"
    TAKE_FILE = "take_file"
    TAKE_IMPORTS = "take_imports"
    REMOVE = "remove"


class MergeOrder(NamedTuple):
    """One understood order: take symbols or a file of a seat. `is_new` if the symbols are to be added."""

    action: MergeAction
    seat: str
    names: tuple[str, ...] = ()
    path: str = ""
    kind: RequestedKind = RequestedKind.ANY
    is_new: bool = False


class UnclearDirective(NamedTuple):
    """A directive, or a part of it, that was not understood, and the reason."""

    text: str
    refusal: Refusal


class DirectiveVocabulary(NamedTuple):
    """The meanings of words: the seats, the files, and the last parts of all symbol names."""

    base: str
    seats: Collection[str]
    paths: Collection[str]
    symbols: Collection[str]


class _WordKind(StrEnum):
    TAKE = "take"
    REMOVE = "remove"
    SEAT = "seat"
    PATH = "path"
    SYMBOL = "symbol"
    CONTAINER = "container"
    IMPORTS = "imports"
    SYMBOL_KIND = "symbol kind"
    FILLER = "filler"
    CONJUNCTION = "conjunction"
    UNKNOWN = "unknown"


class _Word(NamedTuple):
    written: str
    kind: _WordKind
    meaning: str = ""


_Piece = list[_Word]
_VERB_KINDS = {_WordKind.TAKE, _WordKind.REMOVE}
_OBJECT_KINDS = {_WordKind.SYMBOL, _WordKind.PATH, _WordKind.IMPORTS}


def plan_symbol_merges_of_directive(
    directive: str, vocabulary: DirectiveVocabulary
) -> list[MergeOrder | UnclearDirective]:
    """Return the orders in one directive, and the parts of it that were not understood."""
    orders: list[MergeOrder | UnclearDirective] = []
    reasons = list(_REASON_CLAUSE.finditer(directive))
    if doubtful := next((word for reason in reasons for word in _find_doubtful_words(reason, vocabulary)), None):
        return [UnclearDirective(directive, Refusal.of("", RefusalCode.WORD_IN_REASON, word=doubtful.written))]
    for piece in _split_pieces(list(_classify_words(directive, vocabulary))):
        order = _parse_piece(piece, vocabulary)
        if (
            isinstance(order, UnclearDirective)
            and not _meanings(piece, _WordKind.SYMBOL)
            and set(_meanings(piece, _WordKind.SEAT)) - {vocabulary.base}
        ):
            return [UnclearDirective(directive, order.refusal)]
        if isinstance(order, UnclearDirective) and reasons:
            order = order._replace(text=directive)
        if order:
            orders.append(order)
    return orders


def _classify_words(directive: str, vocabulary: DirectiveVocabulary) -> Iterator[_Word]:
    is_after_into = False
    for written in _split_words(directive, vocabulary):
        word = _classify(written.rstrip(".:") or written, vocabulary)
        if word.kind is _WordKind.UNKNOWN:
            word = _classify(written.rstrip(".:?!=") or written, vocabulary)
        if is_after_into and word.kind is _WordKind.SYMBOL:
            word = word._replace(kind=_WordKind.CONTAINER)
        yield word
        is_after_into = word.written.lower() in _INTO_WORDS or (
            is_after_into and word.kind in {_WordKind.FILLER, _WordKind.SYMBOL_KIND}
        )
        if written.endswith((".", ":")) and len(written) > 1:
            yield _classify(written[-1], vocabulary)


def _split_words(directive: str, vocabulary: DirectiveVocabulary) -> Iterator[str]:
    """Yield the words as written; `app.py::run` gives the file and the symbol."""
    for written in _WORD.findall(
        _BULLET.sub("", _REASON_CLAUSE.sub(lambda match: _keep_extra_parts(match, vocabulary), directive))
    ):
        pair = _OWNER_AND_SYMBOL.fullmatch(written) or _FILE_AND_SYMBOL.fullmatch(written)
        yield from (
            pair.groups() if pair and (pair.re is _OWNER_AND_SYMBOL or _find_path(pair[1], vocabulary)) else (written,)
        )


def _keep_extra_parts(reason: re.Match[str], vocabulary: DirectiveVocabulary) -> str:
    """Return the parts of a reason that are none: those that name a seat with a symbol not named before."""
    before, parts = _split_reason(reason, vocabulary)
    extra = (part for part in parts if _names_something_new(part, before))
    return "".join(f", {' '.join(word.written for word in part)}" for part in extra)


def _find_doubtful_words(reason: re.Match[str], vocabulary: DirectiveVocabulary) -> Iterator[_Word]:
    """Yield words that may not belong to the reason: after its first comma or `and`, a verb or a new object.

    A reason may name a seat only to explain, as in `and gemini's is not`. It counts only if all words are known.
    """
    before, (_, *later) = _split_reason(reason, vocabulary)
    named = {(word.kind, word.meaning) for word in before}
    for part in (part for part in later if not _names_something_new(part, before)):
        relevant = _OBJECT_KINDS if _has_kind(part, _WordKind.UNKNOWN) else {*_OBJECT_KINDS, _WordKind.SEAT}
        verb = _leading_verb([word for word in part if word.kind is not _WordKind.CONJUNCTION])
        yield from [verb] if verb else []
        yield from (word for word in part if word.kind in relevant and (word.kind, word.meaning) not in named)


def _split_reason(reason: re.Match[str], vocabulary: DirectiveVocabulary) -> tuple[_Piece, list[_Piece]]:
    """Return the words before a reason, and the reason split at its first `and` and its commas."""
    before, first, *later = (
        [_classify(found_word.rstrip(".:") or found_word, vocabulary) for found_word in _WORD.findall(text)]
        for text in (reason.string[: reason.start()], *reason[0].lstrip(", \t\r\n").split(","))
    )
    position = next((position for position, word in enumerate(first) if word.kind is _WordKind.CONJUNCTION), len(first))
    return before, [first[:position], first[position:], *later]


def _names_something_new(part: _Piece, before: _Piece) -> bool:
    return bool(_meanings(part, _WordKind.SEAT)) and not set(_meanings(part, _WordKind.SYMBOL)) <= set(
        _meanings(before, _WordKind.SYMBOL)
    )


def _find_path(word: str, vocabulary: DirectiveVocabulary) -> str:
    """Return the file that a word means: by its whole path, or by an ending that only one path has."""
    paths = [path for path in vocabulary.paths if path == word or path.endswith(f"/{word}")]
    return word if word in paths else paths[0] if len(paths) == 1 else ""


def _classify(written: str, vocabulary: DirectiveVocabulary) -> _Word:
    name, lower = _POSSESSIVE.sub("", written).strip("`"), written.lower()
    if name.lower() in _BASE_WORDS and name not in vocabulary.symbols:
        return _Word(written, _WordKind.SEAT, vocabulary.base)
    seats = _find_seats(name, vocabulary)
    if seats and (_POSSESSIVE.search(written) or name not in vocabulary.symbols):
        return _Word(written, _WordKind.SEAT, seats[0]) if len(seats) == 1 else _Word(written, _WordKind.UNKNOWN)
    if path := _find_path(name, vocabulary):
        return _Word(written, _WordKind.PATH, path)
    for words, kind in (
        (_CONJUNCTIONS, _WordKind.CONJUNCTION),
        (_TAKE_WORDS, _WordKind.TAKE),
        (_REMOVE_WORDS, _WordKind.REMOVE),
        (_FILLER_WORDS, _WordKind.FILLER),
    ):
        if lower in words:
            return _Word(written, kind)
    if lower in _KIND_WORDS:
        return _Word(written, _WordKind.SYMBOL_KIND, _KIND_WORDS[lower])
    if lower == "imports":
        return _Word(written, _WordKind.IMPORTS)
    parts = parse_symbol_query(name).parts
    if parts and parts[-1] in vocabulary.symbols:
        return _Word(written, _WordKind.SYMBOL, name)
    return _Word(written, _WordKind.UNKNOWN)


def _find_seats(word: str, vocabulary: DirectiveVocabulary) -> list[str]:
    """Return the seats that a word may mean: by name, else by the beginning of the name. One letter is a label."""
    lower = word.lower()
    exact = [seat for seat in vocabulary.seats if seat == word or (len(seat) > 1 and seat.lower() == lower)]
    return exact or [seat for seat in vocabulary.seats if len(lower) > 2 and seat.lower().startswith(lower)]


def _split_pieces(words: list[_Word]) -> Iterator[_Piece]:
    """Split the words into pieces, each about one seat. Nothing is joined across the end of a sentence."""
    piece: _Piece = []
    pieces: list[_Piece] = []
    for word in (*words, _Word(".", _WordKind.CONJUNCTION)):
        if word.kind is not _WordKind.CONJUNCTION:
            piece.append(word)
            continue
        pieces += [piece] if piece else []
        piece = []
        if word.written in _SENTENCE_ENDS:
            yield from _join_pieces(pieces)
            pieces = []


def _join_pieces(pieces: list[_Piece]) -> list[_Piece]:
    """Join the pieces of `login, logout and rollback from gemini`: a piece without a seat goes with the next one.

    It goes with the last one if that is final or began with its seat, as `gpt: login, logout` does.
    """
    joined: list[_Piece] = []
    waiting: _Piece = []
    for index, piece in enumerate(pieces):
        has_no_seat = not _meanings(piece, _WordKind.SEAT) and not _has_kind(piece, _WordKind.UNKNOWN)
        following = pieces[index + 1] if index + 1 < len(pieces) else None
        continues = (
            following is not None and not _leading_verb(following) and not _has_kind(following, _WordKind.UNKNOWN)
        )
        may_join_last = bool(joined) and not waiting and not _leading_verb(piece)
        if has_no_seat and may_join_last and (not continues or _is_heading(joined[-1])):
            joined[-1] = joined[-1] + piece
        elif has_no_seat and continues:
            waiting += piece
        else:
            joined.append(waiting + piece)
            waiting = []
    return joined


def _leading_verb(piece: _Piece) -> _Word | None:
    """Return the verb at the beginning of a piece, if there is one."""
    first = next((word for word in piece if word.kind is not _WordKind.FILLER), None)
    return first if first and first.kind in _VERB_KINDS else None


def _is_heading(piece: _Piece) -> bool:
    return any(one.kind is _WordKind.SEAT and other.written == ":" for one, other in pairwise(piece))


def _has_kind(piece: _Piece, kind: _WordKind) -> bool:
    return any(word.kind is kind for word in piece)


def _meanings(piece: _Piece, kind: _WordKind) -> list[str]:
    return list(dict.fromkeys(word.meaning for word in piece if word.kind is kind))


def _parse_piece(piece: _Piece, vocabulary: DirectiveVocabulary) -> MergeOrder | UnclearDirective | None:
    text = " ".join(word.written for word in piece)
    unknown = next((word for word in piece if word.kind is _WordKind.UNKNOWN), None)
    if unknown:
        if seats := ", ".join(_find_seats(_POSSESSIVE.sub("", unknown.written).strip("`"), vocabulary)):
            facts = {"word": unknown.written, "candidates": seats}
            return UnclearDirective(text, Refusal.of("", RefusalCode.WORD_AMBIGUOUS, **facts))
        return UnclearDirective(text, Refusal.of("", RefusalCode.WORD_UNKNOWN, word=unknown.written))
    if set(_meanings(piece, _WordKind.SEAT)) - {vocabulary.base}:
        piece = [word for word in piece if word.written.lower() not in _UNCHANGED_WORDS]
    seats = _seats_to_take_from(piece, vocabulary)
    if refusal := _refuse_invalid_piece(piece, seats, vocabulary):
        return UnclearDirective(text, refusal)
    names, path = _named_symbols(piece, vocabulary), "".join(_meanings(piece, _WordKind.PATH))
    if _has_kind(piece, _WordKind.REMOVE):
        order = MergeOrder(MergeAction.REMOVE, "", names, path, _requested_kind(piece))
        return order if names else UnclearDirective(text, Refusal.of("", RefusalCode.NO_REMOVAL_NAMED))
    if seats == [vocabulary.base]:
        return None
    return _make_take_order(piece, seats, names, path) or UnclearDirective(text, _refuse_missing_part(seats))


def _seats_to_take_from(piece: _Piece, vocabulary: DirectiveVocabulary) -> list[str]:
    """Return the seat whose code is to be used, the base or another; all named seats if that is unclear."""
    seats = _meanings(piece, _WordKind.SEAT)
    others = [seat for seat in seats if seat != vocabulary.base]
    if not others or (seats == others and not any(word.written.lower() in {"over", "instead"} for word in piece)):
        return seats
    for winners, losers in ((others, [vocabulary.base]), ([vocabulary.base], others)):
        if _OTHER_REPLACES_BASE.match(
            _with_roles(piece, dict.fromkeys(losers, "BASE") | dict.fromkeys(winners, "OTHER"))
        ):
            return winners
    return [vocabulary.base, *others]


def _with_roles(piece: _Piece, roles: Mapping[str, str]) -> str:
    """Return a piece as text in which seats are replaced by their roles."""
    return "".join(f"{roles[word.meaning] if word.kind is _WordKind.SEAT else word.written.lower()} " for word in piece)


def _refuse_invalid_piece(piece: _Piece, seats: list[str], vocabulary: DirectiveVocabulary) -> Refusal | None:
    """Return why a piece of known words is not an order; None if it is one."""
    others = [seat for seat in _meanings(piece, _WordKind.SEAT) if seat != vocabulary.base]
    if len(others) > 1:
        return Refusal.of("", RefusalCode.SEVERAL_SEATS)
    if len(_meanings(piece, _WordKind.PATH)) > 1:
        return Refusal.of("", RefusalCode.SEVERAL_FILES)
    if _has_kind(piece, _WordKind.REMOVE) and others:
        return Refusal.of("", RefusalCode.REMOVAL_NOT_IN_BASE, seat=others[0])
    if _asks_for_several_things(piece, vocabulary):
        return Refusal.of("", RefusalCode.SEVERAL_REQUESTS)
    is_replaced_by_nobody = (
        seats == [vocabulary.base]
        and not others
        and _BASE_REPLACED_BY_NOBODY.match(_with_roles(piece, {vocabulary.base: "BASE"}))
    )
    is_unclear = is_replaced_by_nobody or len(seats) > 1
    return Refusal.of("", RefusalCode.WINNER_UNCLEAR) if is_unclear else None


def _asks_for_several_things(piece: _Piece, vocabulary: DirectiveVocabulary) -> bool:
    """Tell whether there is a second verb, a verb in the middle, or a symbol that is to become another."""
    verbs = [
        index for index, word in enumerate(piece) if word.kind in _VERB_KINDS and word.written not in vocabulary.symbols
    ]
    if (
        any(_leading_verb(piece) is not piece[index] and piece[index - 1].written != ":" for index in verbs)
        or len(verbs) > 1
    ):
        return True
    index = next((index for index, word in enumerate(piece) if word.written.lower() in _BECOMES_WORDS), len(piece))
    before, after = (
        {parse_symbol_query(name).parts[-1] for name in _meanings(part, _WordKind.SYMBOL)}
        for part in (piece[:index], piece[index:])
    )
    return bool(before) and not after <= before


def _requested_kind(piece: _Piece) -> RequestedKind:
    """Return the symbol kind that a piece names, if it names exactly one."""
    kinds = _meanings(piece, _WordKind.SYMBOL_KIND)
    return RequestedKind(kinds[0]) if len(kinds) == 1 else RequestedKind.ANY


def _refuse_missing_part(seats: list[str]) -> Refusal:
    if not seats:
        return Refusal.of("", RefusalCode.NO_SEAT_NAMED)
    return Refusal.of("", RefusalCode.NO_PART_NAMED, seat=seats[0])


def _make_take_order(piece: _Piece, seats: list[str], names: tuple[str, ...], path: str) -> MergeOrder | None:
    if not seats:
        return None
    if names:
        is_new = any(word.kind is _WordKind.TAKE and word.written.lower() in _ADD_WORDS for word in piece)
        return MergeOrder(MergeAction.TAKE, seats[0], names, path, _requested_kind(piece), is_new)
    if any(word.kind is _WordKind.IMPORTS for word in piece):
        return MergeOrder(MergeAction.TAKE_IMPORTS, seats[0], (), path)
    return MergeOrder(MergeAction.TAKE_FILE, seats[0], (), path) if path else None


def _named_symbols(piece: _Piece, vocabulary: DirectiveVocabulary) -> tuple[str, ...]:
    """Return the symbols of a piece, inside the class it names, if any.

    A word such as `add` is a symbol if the piece names nothing else.
    """
    names, containers = _meanings(piece, _WordKind.SYMBOL), _meanings(piece, _WordKind.CONTAINER)
    if not names and containers:
        names, containers = containers, []
    if not names and not _meanings(piece, _WordKind.PATH) and not any(word.kind is _WordKind.IMPORTS for word in piece):
        common_kinds = {_WordKind.TAKE, _WordKind.FILLER, _WordKind.SYMBOL_KIND}
        names = [word.written for word in piece[1:] if word.kind in common_kinds and word.written in vocabulary.symbols]
    return tuple(f"{containers[0]}.{name}" for name in names) if len(containers) == 1 else tuple(names)
