"""Code-red: which root cause enough doctors are confident of, and in whose words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from roundtable.core.decide.agreement import rule_key_convergence
from roundtable.core.decide.decision import decision_from_ruling, dissent_from_move
from roundtable.core.decide.ruling import Ruling, counted_verdicts
from roundtable.core.reasons import NobodyDiagnosed
from roundtable.core.values import Decision, Move, Outcome, Proposal, Round


class RootCauseCriteria(msgspec.Struct, frozen=True):
    """The required number of doctors, their confidence out of ten, and the similarity of cause names."""

    doctors: int = 2
    confidence: float = 8
    similarity: float = 0.7


def _rule_root_cause(round: Round, criteria: RootCauseCriteria) -> Ruling:
    """Return the ruling on one round of diagnoses, worded for doctors."""
    found = rule_key_convergence(
        round.moves, round.electorate, criteria.doctors, criteria.confidence, criteria.similarity, round=round.name
    )
    if found.outcome is Outcome.INSUFFICIENT:
        return msgspec.structs.replace(found, why=(NobodyDiagnosed(),))
    return found


def is_diagnosis_over(rounds: Sequence[Round], criteria: RootCauseCriteria) -> bool:
    """Return whether convergence is over: agreement, or no doctor changes its diagnosis or requests a file."""
    if _rule_root_cause(rounds[-1], criteria).reached or not rounds[-1].quorate:
        return True
    said = [move.verdict for move in rounds[-1].moves]
    asked = any(verdict.wants.files or verdict.wants.checks or verdict.claims for verdict in said)
    return len(rounds) > 1 and not asked and _diagnoses(rounds[-1]) == _diagnoses(rounds[-2])


def list_diagnoses(round: Round, labels: dict[str, str]) -> tuple[str, ...]:
    """Return the unsigned names of causes with the confidence of each."""
    lines = [
        (labels[seat], said.key or "no cause named", (said.confidence or 0) * 10)
        for seat, said in counted_verdicts(round.moves, round.electorate, round.name).items()
    ]
    return tuple(f"{label}: {key}, {sure:g} of 10 sure" for label, key, sure in lines)


def _root_cause_words(key: str) -> str:
    """Return the name of a cause as words."""
    return key.replace("-", " ").capitalize()


def decide_code_red(rounds: Sequence[Round], criteria: RootCauseCriteria) -> Decision:
    """Return the root cause in the words of the most confident doctor, with its evidence and next test."""
    blind, newest = rounds[0], rounds[-1]
    found = _rule_root_cause(newest, criteria)
    behind = [move for move in newest.moves if move.seat in found.supporters]
    surest = max(behind, key=lambda move: move.verdict.confidence or 0, default=None)
    elsewhere = [move for move in newest.moves if move.seat in found.counted and move not in behind]
    causes = _causes(newest, found)
    decision = decision_from_ruling(
        found,
        rounds,
        proposals=causes,
        winner=found.winner,
        spokesman=surest,
        dissent=[
            dissent_from_move(move, _root_cause_words(move.verdict.key)) for move in elsewhere if move.verdict.key
        ],
    )
    return msgspec.structs.replace(
        decision,
        text=_report(surest) if surest else "",
        tally={cause.id: len(cause.authors) for cause in causes},
        blind_vote=dict(Counter(key for key, _ in _diagnoses(blind).values() if key).most_common()),
    )


def _causes(round: Round, found: Ruling) -> tuple[Proposal, ...]:
    """Return every named cause; names similar to the winner are counted with it."""
    authors: dict[str, list[str]] = {}
    for move in round.moves:
        if move.seat in found.counted and move.verdict.key:
            key = found.winner if move.seat in found.supporters else move.verdict.key
            authors.setdefault(key, []).append(move.seat)
    return tuple(Proposal(key, _root_cause_words(key), tuple(seats)) for key, seats in authors.items())


def _diagnoses(round: Round) -> dict[str, tuple[str, float | None]]:
    verdicts = counted_verdicts(round.moves, round.electorate, round.name)
    return {seat: (said.key, said.confidence) for seat, said in verdicts.items()}


def _report(move: Move) -> str:
    said = move.verdict
    facts = [f"- {fact.text}{f' ({fact.source})' if fact.source else ''}" for fact in said.evidence]
    lists = {"Evidence:": facts, "Confirmed:": _items(said.confirms), "Ruled out:": _items(said.rules_out)}
    parts = [move.text, *("\n".join((head, *lines)) for head, lines in lists.items() if lines)]
    parts += [f"Next test: {said.next_test}"] if said.next_test else []
    return "\n\n".join(parts)


def _items(texts: Sequence[str]) -> list[str]:
    return [f"- {text}" for text in texts]
