"""When a proposal repeats what was rejected or has failed, and what then becomes of a decision for it.

A proposal repeats an earlier one when it says all that the earlier one said, whatever it says besides: every content
word of that one stands in it, in the same sense. A word that turns the sense (not, instead of, drop) turns what comes
after it in its clause: `GraphQL, not REST` is for GraphQL and against REST. A proposal that says less repeats it too,
if it says nothing else and at least three in ten of all their words are shared. A word exchanged for another makes
another proposal (sessions in Redis, sessions in Postgres), unless nearly everything else is shared. In doubt it is a
repetition: that costs the person one question, and a no that is overlooked is none.

What has failed, failed as the answer to a question: to one that shares fewer than half of the words it may be given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from roundtable.core.ledger import BINDING_KINDS, EntryKind
from roundtable.core.reasons import DecreeAllowed, DecreeUpheld, distinct_reasons
from roundtable.core.text.wording import complete_short_answer_text, content_words, distinctive_words, end_sentence
from roundtable.core.values import Charter, Decision, Gate, Move, Outcome, RecalledEntry

DECREE_GATE = "decree"
UPHOLD, ALLOW = "uphold", "allow"

_LEAST_SHARED, _NEARLY_ALL = 0.3, 0.8
_LEAST_ASKED = 0.5
"""The share of the shorter question's words that two questions on one matter have in common."""

_STEM = 5
"""`index` and `indexes` are one word: alike for so many letters, and no more than three apart."""

_LEAST_SAID = 2
"""Words of its own that a line must have beside an id: with fewer, the id is only mentioned."""

_CLAUSES = re.compile(r"[,;:.!?](?=[\s,;:.!?]|$)|[，。；：、！？()（）—–\n]|\s-+\s")
_TURNING = re.compile(
    r"\b(?:not(?! only\b)|no|never|cannot|\w+n['’]t|without|instead of|against|except|unless|than|over(?! to\b)"
    r"|avoid(?:ing)?|drop(?:ping)?|remov(?:e|ing)|replac(?:e|ing)|reject(?:ing)?"
    r"|(?:mov|migrat|switch)(?:e|ing)? (?:away )?(?:from|off))\b"
    r"|不(?:要|用|使用|采用|选|应|能|可|会|该|需|必|再|是|做|改|宜|引入|建议|推荐|考虑|支持)|没有?必要|没有"
    r"|(?:^|请|千万)别|勿|而非|避免|放弃|弃用|取代|代替"
)
_TURNED_BACK = re.compile(r"\b(?:with|by|but|to|use|adopt|choose|pick|take|go)\b|而是|改用|换成|使用|采用")
"""What ends the reach of a turning word within its clause: `replace REST with GraphQL`."""

_DENIED = re.compile(r"[?？]\s*(?:no|never|not|否|不是?)(?=[,;:.!，。；！]|$)|[.!。！]\s*(?:no|否|不)\W*$")
"""A question that is answered with no, and nothing else in that clause."""

SensedWord = tuple[str, bool]
"""A content word, and whether it is spoken for rather than against."""


def is_same_proposal(proposal: str, earlier: str) -> bool:
    """Whether a proposal comes to an earlier one again, each in a line or so."""
    new, old = _sense(proposal), _sense(earlier)
    shared = sum(any(_alike(word, other) for other in new) for word in old)
    if shared == len(old):
        return bool(old)
    share = shared / (len(old) + len(new) - shared)
    nothing_else = all(any(_alike(word, other) for other in old) for word in new)
    return share >= _NEARLY_ALL or (nothing_else and share >= _LEAST_SHARED)


@lru_cache(maxsize=1024)
def _sense(text: str) -> tuple[SensedWord, ...]:
    """What a text is for and what it is against."""
    text = text.casefold()
    if denied := _DENIED.search(text):
        asked = _told(text[: denied.start()])
        found = [*((word, not wanted) for word, wanted in asked), *_told(text[denied.end() :])]
    else:
        found = _told(text)
    return tuple(dict.fromkeys(found)) or tuple((word, True) for word in content_words(text))


def _told(text: str) -> list[SensedWord]:
    found: list[SensedWord] = []
    for clause in _CLAUSES.split(text):
        wanted, *turned = _TURNING.split(clause.strip())
        parts = [(wanted, True)]
        for part in turned:
            unwanted, wanted = _turned_back(part)
            parts += [(unwanted, False), (wanted, True)]
        found += [(word, wanted) for part, wanted in parts for word in distinctive_words(part)]
    return found


def _turned_back(part: str) -> tuple[str, str]:
    """What a turning word reaches, and what comes after that; it reaches some word at least."""
    looked = 0
    for back in _TURNED_BACK.finditer(part):
        if distinctive_words(part[looked : back.start()]):
            return part[: back.start()], part[back.end() :]
        looked = back.end()
    return part, ""


def _alike(one: SensedWord, other: SensedWord) -> bool:
    short, long = sorted((one[0], other[0]), key=len)
    return one == other or (
        one[1] is other[1]
        and len(short) >= _STEM
        and len(long) - len(short) <= 3
        and short.isalpha()
        and long.startswith(short)
    )


def find_repeated_decrees(question: str, position: str, recalled: Iterable[RecalledEntry]) -> list[RecalledEntry]:
    """The decrees and failed approaches that an answer to a question comes to again."""
    text = complete_short_answer_text(question, position)
    return [
        entry
        for entry in recalled
        if entry.kind in BINDING_KINDS and _same_matter(question, entry.question) and is_same_proposal(text, entry.text)
    ]


def _same_matter(question: str, earlier: str) -> bool:
    """Whether two questions ask about the same; a no without a question holds for all of them."""
    new, old = set(content_words(question)), set(content_words(earlier))
    return not earlier or len(new & old) >= _LEAST_ASKED * min(len(new), len(old))


def is_decree_named(entry: RecalledEntry, text: str) -> bool:
    """Whether a text names an entry by its id, and not by a longer one."""
    return _id_of(entry).search(text) is not None


def is_decree_answered(entry: RecalledEntry, texts: Iterable[str]) -> bool:
    """Whether somebody says something on an entry: its id is named, and not only among the words it rejects."""
    id, rejected = _id_of(entry), set(distinctive_words(entry.text))
    lines = [line for text in texts for line in text.splitlines() if id.search(line)]
    return any(len(set(distinctive_words(id.sub(" ", line))) - rejected) >= _LEAST_SAID for line in lines)


def _id_of(entry: RecalledEntry) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(entry.id)}(?![\w-])", re.IGNORECASE)


def find_unanswered_decree_in_proposal(charter: Charter, position: str, text: str) -> RecalledEntry | None:
    """What a seat's proposal repeats without a word on it."""
    return next((entry for entry in _repeated(charter, position) if not is_decree_answered(entry, (text,))), None)


def decrees_against_decision(charter: Charter, decision: Decision) -> list[RecalledEntry]:
    """What a decision repeats: it cannot stand unless each of these is answered, or no longer holds."""
    return _repeated(charter, decision.position) if decision.outcome is Outcome.REACHED else []


def _repeated(charter: Charter, position: str) -> list[RecalledEntry]:
    return find_repeated_decrees(charter.question, position, (*charter.recalled, *charter.untold)) if position else []


def is_decree_answered_by_decision(entry: RecalledEntry, decision: Decision, moves: Iterable[Move]) -> bool:
    """Whether a decision says what has changed, in its own words or in those of the seats that proposed it."""
    authors = {seat for proposal in decision.proposals if proposal.id == decision.winner for seat in proposal.authors}
    own = (move.text for move in moves if move.seat in {*authors, decision.author})
    return is_decree_answered(entry, (decision.text, decision.position, *own))


def decree_gate(entry: RecalledEntry, decision: Decision, number: int = 1) -> Gate:
    """The question that only a person may answer: does the earlier no still hold?"""
    what = "rejected" if entry.kind == EntryKind.DECREE else "failed before"
    told = f"{entry.text} (why: {entry.why})" if entry.why else entry.text
    question = (
        f"The table agrees on: {end_sentence(decision.position)} That repeats {entry.id}, {what}: {end_sentence(told)} "
        "Nobody says what has changed."
    )
    details = {
        UPHOLD: "It still holds: there is no decision.",
        ALLOW: "It no longer holds: the decision stands, with a notice above it.",
    }
    id = Gate.numbered_id(DECREE_GATE, number)
    return Gate(id, question, (UPHOLD, ALLOW), default=UPHOLD, details=details, kind=DECREE_GATE)


def decision_after_decree_answer(entry: RecalledEntry, decision: Decision, option: str) -> Decision:
    """The decision after that answer."""
    if option == ALLOW:
        notice = DecreeAllowed(decision.position, entry.id, entry.text)
        return msgspec.structs.replace(decision, notices=distinct_reasons((*decision.notices, notice)))
    return msgspec.structs.replace(
        decision,
        outcome=Outcome.DEADLOCK,
        how=(DecreeUpheld(decision.position, entry.id, entry.text, entry.why),),
        winner="",
        position="",
        text="",
        author="",
        next_step="",
    )
