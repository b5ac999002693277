"""When a proposal repeats what was rejected or has failed, and what then becomes of a decision for it.

Two proposals are the same when one says all that the other says: every content word of the shorter stands in the
longer, and they share at least three in ten of all their words. A word exchanged for another makes another proposal
(sessions in Redis, sessions in Postgres), unless nearly everything else is shared. A word that turns a sentence round
(not, instead, drop) on one side only makes them opposites. So a decree is met when its proposal comes back longer,
shorter or in another order, and not when somebody argues against it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from roundtable.core.ledger import BINDING, EntryKind
from roundtable.core.values import Charter, Decision, Gate, Move, Outcome, Recalled
from roundtable.core.verdict import Verdict
from roundtable.core.wording import content_words, in_full, words

GATE = "decree"
UPHOLD, ALLOW = "uphold", "allow"

_LEAST_SHARED, _NEARLY_ALL = 0.3, 0.8
_STEM = 5
"""`index` and `indexes` are one word: alike for so many letters, and no more than three apart."""

_TURNING = frozenset(
    words("not no non never without instead rather avoid drop replace remove reject against except unless over than")
)
_TURNING_SIGNS = "不别非勿没"


def repeats(text: str, recalled: Iterable[Recalled]) -> Recalled | None:
    """The decree or failed approach that a proposal comes to again, if there is one."""
    return next((it for it in recalled if it.kind in BINDING and same_proposal(text, it.text)), None)


def same_proposal(one: str, other: str) -> bool:
    """Whether two proposals, each in a line or so, come to the same."""
    few, many = sorted((content_words(one), content_words(other)), key=len)
    if not few or _turns(one) != _turns(other):
        return False
    shared = sum(any(_alike(word, it) for it in many) for word in few)
    share = shared / (len(few) + len(many) - shared)
    return share >= _NEARLY_ALL or (shared == len(few) and share >= _LEAST_SHARED)


def _turns(text: str) -> bool:
    return bool(_TURNING.intersection(words(text))) or any(sign in text for sign in _TURNING_SIGNS)


def _alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (
        len(short) >= _STEM and len(long) - len(short) <= 3 and short.isalpha() and long.startswith(short)
    )


def answers(entry: Recalled, texts: Iterable[str], verdicts: Iterable[Verdict]) -> bool:
    """Whether somebody says that an entry's objection is answered: it is named by its id."""
    named = (name for verdict in verdicts for name in verdict.addresses)
    return any(entry.id.casefold() in text.casefold() for text in (*texts, *named))


def unanswered(charter: Charter, position: str, text: str, verdict: Verdict) -> Recalled | None:
    """What a seat's proposal repeats without a word on it."""
    found = repeats(in_full(charter.question, position), charter.recalled) if position else None
    return None if found is None or answers(found, (text,), (verdict,)) else found


def forbidden(charter: Charter, decision: Decision, moves: Iterable[Move]) -> Recalled | None:
    """What stands against a decision: its winner repeats it, and neither it nor its author's own words answer it."""
    if decision.outcome is not Outcome.REACHED or not decision.position:
        return None
    found = repeats(in_full(charter.question, decision.position), charter.recalled)
    if found is None:
        return None
    own = [move for move in moves if move.seat == decision.author]
    said = (decision.text, decision.position, *(move.text for move in own))
    return None if answers(found, said, (move.verdict for move in own)) else found


def gate(entry: Recalled, decision: Decision) -> Gate:
    """The question that only a person may answer: does the earlier no still hold?"""
    what = "rejected" if entry.kind == EntryKind.DECREE else "failed before"
    question = (
        f"The table agrees on: {decision.position}. That repeats {entry.id}, {what}: {entry.text}"
        f"{f' (why: {entry.why})' if entry.why else ''}. Nobody says what has changed."
    )
    details = {
        UPHOLD: "It still holds: there is no decision.",
        ALLOW: "It no longer holds: the decision stands, with a notice above it.",
    }
    return Gate(GATE, question, (UPHOLD, ALLOW), default=UPHOLD, details=details)


def ruled(entry: Recalled, decision: Decision, option: str) -> Decision:
    """The decision after that answer."""
    what = f"{decision.position} repeats {entry.id} ({entry.text}) and does not answer it"
    if option == ALLOW:
        notice = f"Allowed all the same: {what}."
        return msgspec.structs.replace(decision, notices=(*decision.notices, notice))
    why = f" It was turned down because: {entry.why.rstrip('. ')}." if entry.why else ""
    return msgspec.structs.replace(
        decision,
        outcome=Outcome.DEADLOCK,
        how=f"{what}.{why}",
        winner="",
        position="",
        text="",
        author="",
        next_step="",
    )
