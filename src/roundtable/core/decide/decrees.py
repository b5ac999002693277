"""Find decisions that repeat a decree or a failed approach, and ask the person whether the decree still holds.

A proposal repeats an earlier one if it contains all its content words in the same sense, whatever else it says. A
negation (not, instead of, drop) reverses the sense of the words after it in its clause: `GraphQL, not REST` is for
GraphQL and against REST. A shorter proposal repeats the earlier one if it adds no word of its own and at least three in
ten of all words are shared. If one word is exchanged for another (sessions in Redis, sessions in Postgres), the
proposals differ, unless nearly all other words are shared. In doubt, the proposal is a repetition: that costs the
person one question, while a missed repetition would ignore a rejection.

A decree or failure applies only to questions about the same matter: those that share at least half of the content words
of the shorter question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from roundtable.core.ledger import BINDING_KINDS, EntryKind
from roundtable.core.reasons import DecreeAllowed, DecreeUpheld, distinct_reasons
from roundtable.core.text.wording import (
    complete_short_answer_text,
    content_words_of_text,
    distinctive_words_of_text,
    end_text_as_sentence,
)
from roundtable.core.values import Charter, Decision, Gate, Move, Outcome, RecalledEntry

DECREE_GATE = "decree"
UPHOLD, ALLOW = "uphold", "allow"

_MIN_SHARED_IF_SHORTER, _MIN_SHARED_IF_REWORDED = 0.3, 0.8
"""The share of common words that makes a proposal a repetition: if it adds no word of its own, and if it does."""

_MIN_SHARED_BY_QUESTIONS = 0.5
"""The share of the shorter question's words that two questions about the same matter have in common."""

_MIN_STEM_LENGTH, _MAX_ENDING_LENGTH = 5, 3
"""Lengths in letters for words that differ only in their ending, such as `index` and `indexing`."""

_MIN_WORDS_OF_ANSWER = 2
"""The words that a line must add to the id of a decree to answer it; with fewer, the line only mentions the decree."""

_CLAUSE_END = re.compile(r"[,;:.!?](?=[\s,;:.!?]|$)|[，。；：、！？()（）—–\n]|\s-+\s")
_NEGATION = re.compile(
    r"\b(?:not(?! only\b)|no|never|cannot|\w+n['’]t|without|instead of|against|except|unless|than|over(?! to\b)"
    r"|avoid(?:ing)?|drop(?:ping)?|remov(?:e|ing)|replac(?:e|ing)|reject(?:ing)?"
    r"|(?:mov|migrat|switch)(?:e|ing)? (?:away )?(?:from|off))\b"
    r"|不(?:要|用|使用|采用|选|应|能|可|会|该|需|必|再|是|做|改|宜|引入|建议|推荐|考虑|支持)|没有?必要|没有"
    r"|(?:^|请|千万)别|勿|而非|避免|放弃|弃用|取代|代替"
)
_NEGATION_END = re.compile(r"\b(?:with|by|but|to|use|adopt|choose|pick|take|go)\b|而是|改用|换成|使用|采用")
"""Words that end the reach of a negation within its clause, such as `with` in `replace REST with GraphQL`."""

_QUESTION_ANSWERED_NO = re.compile(
    r"[?？]\s*(?:no|never|not|否|不是?)(?=[,;:.!，。；！]|$)|[.!。！]\s*(?:no|否|不)\W*$"
)
"""A question that the text itself answers with a bare no, as in `REST? No.`."""

SensedWord = tuple[str, bool]
"""A content word, and whether the text is for it (True) or against it (False)."""


def is_proposal_same_as_decree(proposal: str, earlier: str) -> bool:
    """Whether a proposal repeats an earlier one; both are texts of about one line."""
    new, old = _sensed_words(proposal), _sensed_words(earlier)
    shared = sum(any(_is_same_word(word, other) for other in new) for word in old)
    if shared == len(old):
        return bool(old)
    share = shared / (len(old) + len(new) - shared)
    adds_nothing = all(any(_is_same_word(word, other) for other in old) for word in new)
    return share >= _MIN_SHARED_IF_REWORDED or (adds_nothing and share >= _MIN_SHARED_IF_SHORTER)


@lru_cache(maxsize=1024)
def _sensed_words(text: str) -> tuple[SensedWord, ...]:
    """The content words of a text, each with whether the text is for it; a question answered with no is reversed."""
    text = text.casefold()
    if answered_no := _QUESTION_ANSWERED_NO.search(text):
        question_words = _sensed_words_of_clauses(text[: answered_no.start()])
        reversed_words = [(word, not is_wanted) for word, is_wanted in question_words]
        words = [*reversed_words, *_sensed_words_of_clauses(text[answered_no.end() :])]
    else:
        words = _sensed_words_of_clauses(text)
    return tuple(dict.fromkeys(words)) or tuple((word, True) for word in content_words_of_text(text))


def _sensed_words_of_clauses(text: str) -> list[SensedWord]:
    """The content words of each clause; those in the reach of a negation are unwanted."""
    words: list[SensedWord] = []
    for clause in _CLAUSE_END.split(text):
        wanted, *negated_parts = _NEGATION.split(clause.strip())
        parts = [(wanted, True)]
        for part in negated_parts:
            unwanted, wanted = _split_where_negation_ends(part)
            parts += [(unwanted, False), (wanted, True)]
        words += [(word, is_wanted) for part, is_wanted in parts for word in distinctive_words_of_text(part)]
    return words


def _split_where_negation_ends(part: str) -> tuple[str, str]:
    """The text that a negation before it reaches, and the rest; a negation reaches at least one content word."""
    position = 0
    for end in _NEGATION_END.finditer(part):
        if distinctive_words_of_text(part[position : end.start()]):
            return part[: end.start()], part[end.end() :]
        position = end.end()
    return part, ""


def _is_same_word(one: SensedWord, other: SensedWord) -> bool:
    """Whether two words have the same sense and are equal, or differ only in a short ending."""
    short, long = sorted((one[0], other[0]), key=len)
    return one == other or (
        one[1] is other[1]
        and len(short) >= _MIN_STEM_LENGTH
        and len(long) - len(short) <= _MAX_ENDING_LENGTH
        and short.isalpha()
        and long.startswith(short)
    )


def find_decrees_repeated_by_position(
    question: str, position: str, recalled: Iterable[RecalledEntry]
) -> list[RecalledEntry]:
    """The decrees and failed approaches that an answer to a question repeats."""
    text = complete_short_answer_text(question, position)
    return [
        entry
        for entry in recalled
        if entry.kind in BINDING_KINDS
        and _is_same_matter(question, entry.question)
        and is_proposal_same_as_decree(text, entry.text)
    ]


def _is_same_matter(question: str, earlier: str) -> bool:
    """Whether two questions are about the same matter; an entry without a question applies to every question."""
    new, old = set(content_words_of_text(question)), set(content_words_of_text(earlier))
    return not earlier or len(new & old) >= _MIN_SHARED_BY_QUESTIONS * min(len(new), len(old))


def is_decree_named(entry: RecalledEntry, text: str) -> bool:
    """Whether a text contains the id of an entry, not only as a part of a longer id."""
    return _id_pattern(entry).search(text) is not None


def is_decree_answered(entry: RecalledEntry, texts: Iterable[str]) -> bool:
    """Whether a line of these texts answers an entry: it names its id and adds words that the entry does not have."""
    id_pattern, rejected_words = _id_pattern(entry), set(distinctive_words_of_text(entry.text))
    lines = [line for text in texts for line in text.splitlines() if id_pattern.search(line)]
    return any(
        len(set(distinctive_words_of_text(id_pattern.sub(" ", line))) - rejected_words) >= _MIN_WORDS_OF_ANSWER
        for line in lines
    )


def _id_pattern(entry: RecalledEntry) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(entry.id)}(?![\w-])", re.IGNORECASE)


def find_unanswered_decree_in_proposal(charter: Charter, position: str, text: str) -> RecalledEntry | None:
    """The first decree or failed approach that a seat's proposal repeats and its text does not answer, if any."""
    return next(
        (entry for entry in _find_repeated_in_charter(charter, position) if not is_decree_answered(entry, (text,))),
        None,
    )


def decrees_against_decision(charter: Charter, decision: Decision) -> list[RecalledEntry]:
    """The decrees and failed approaches that a reached decision repeats.

    The decision is valid only if each of them is answered, or if the person says that it no longer holds.
    """
    return _find_repeated_in_charter(charter, decision.position) if decision.outcome is Outcome.REACHED else []


def _find_repeated_in_charter(charter: Charter, position: str) -> list[RecalledEntry]:
    return (
        find_decrees_repeated_by_position(charter.question, position, (*charter.recalled, *charter.untold))
        if position
        else []
    )


def is_decree_answered_by_decision(entry: RecalledEntry, decision: Decision, moves: Iterable[Move]) -> bool:
    """Whether a decision answers an entry, in its own text or in the moves of the seats that proposed the winner."""
    authors = {seat for proposal in decision.proposals if proposal.id == decision.winner for seat in proposal.authors}
    own = (move.text for move in moves if move.seat in {*authors, decision.author})
    return is_decree_answered(entry, (decision.text, decision.position, *own))


def decision_gate_for_repeated_decree(entry: RecalledEntry, decision: Decision, number: int = 1) -> Gate:
    """The gate that asks the person whether a decree or failure that the decision repeats still holds."""
    fate = "rejected" if entry.kind == EntryKind.DECREE else "failed before"
    reasoned_text = f"{entry.text} (why: {entry.why})" if entry.why else entry.text
    question = (
        f"The table agrees on: {end_text_as_sentence(decision.position)} That repeats {entry.id}, {fate}: "
        f"{end_text_as_sentence(reasoned_text)} Nobody says what has changed."
    )
    details = {
        UPHOLD: f"{entry.id} still holds, so there is no decision.",
        ALLOW: f"{entry.id} no longer holds, so the decision is kept, with a notice above it.",
    }
    id = Gate.numbered_id(DECREE_GATE, number)
    return Gate(id, question, (UPHOLD, ALLOW), default=UPHOLD, details=details, kind=DECREE_GATE)


def decision_after_decree_answer(entry: RecalledEntry, decision: Decision, option: str) -> Decision:
    """The decision after the person's answer at the decree gate: kept with a notice, or a deadlock."""
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
