"""The code-red meeting: whether its seats (doctors) agree on a root cause, and the decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from roundtable.core.decide.agreement import rule_root_cause_convergence
from roundtable.core.decide.decision import decision_dissent_from_move, decision_from_ruling
from roundtable.core.decide.ruling import Ruling, verdicts_counted_in_decision
from roundtable.core.reasons import NobodyDiagnosed
from roundtable.core.values import Decision, Move, Outcome, Proposal, Round


class RootCauseCriteria(msgspec.Struct, frozen=True):
    """The required number of doctors, their confidence out of ten, and the similarity of cause names."""

    doctors: int = 2
    confidence: float = 8
    similarity: float = 0.7


def _rule_root_cause(round: Round, criteria: RootCauseCriteria) -> Ruling:
    """Return the ruling on one round of diagnoses."""
    ruling = rule_root_cause_convergence(
        round.moves, round.electorate, criteria.doctors, criteria.confidence, criteria.similarity, round=round.name
    )
    if ruling.outcome is Outcome.INSUFFICIENT:
        return msgspec.structs.replace(ruling, why=(NobodyDiagnosed(),))
    return ruling


def is_diagnosis_decided_or_stalled(rounds: Sequence[Round], criteria: RootCauseCriteria) -> bool:
    """Return whether the search is over: agreement, no quorum, or no new diagnosis, request or claim in a round."""
    if _rule_root_cause(rounds[-1], criteria).reached or not rounds[-1].quorate:
        return True
    verdicts = [move.verdict for move in rounds[-1].moves]
    has_requests = any(verdict.wants.files or verdict.wants.checks or verdict.claims for verdict in verdicts)
    return len(rounds) > 1 and not has_requests and _diagnoses(rounds[-1]) == _diagnoses(rounds[-2])


def list_diagnoses_to_decide(round: Round, labels: dict[str, str]) -> tuple[str, ...]:
    """Return a line for each diagnosis, unsigned: the label of the seat, the root cause and the confidence."""
    lines = [
        (labels[seat], said.key or "no cause named", (said.confidence or 0) * 10)
        for seat, said in verdicts_counted_in_decision(round.moves, round.electorate, round.name).items()
    ]
    return tuple(f"{label}: {key}, {sure:g} of 10 sure" for label, key, sure in lines)


def _root_cause_text(key: str) -> str:
    """Return the key of a root cause, such as `stale-cache`, as words."""
    return key.replace("-", " ").capitalize()


def decide_code_red(rounds: Sequence[Round], criteria: RootCauseCriteria) -> Decision:
    """Return the decision: the root cause in the words of the most confident doctor, with evidence and next test."""
    blind, newest = rounds[0], rounds[-1]
    ruling = _rule_root_cause(newest, criteria)
    supporting = [move for move in newest.moves if move.seat in ruling.supporters]
    most_confident = max(supporting, key=lambda move: move.verdict.confidence or 0, default=None)
    others = [move for move in newest.moves if move.seat in ruling.counted and move not in supporting]
    causes = _root_causes(newest, ruling)
    decision = decision_from_ruling(
        ruling,
        rounds,
        proposals=causes,
        winner=ruling.winner,
        spokesman=most_confident,
        dissent=[
            decision_dissent_from_move(move, _root_cause_text(move.verdict.key)) for move in others if move.verdict.key
        ],
    )
    return msgspec.structs.replace(
        decision,
        text=_diagnosis_text(most_confident) if most_confident else "",
        tally={cause.id: len(cause.authors) for cause in causes},
        blind_vote=dict(Counter(key for key, _ in _diagnoses(blind).values() if key).most_common()),
    )


def _root_causes(round: Round, ruling: Ruling) -> tuple[Proposal, ...]:
    """Return every named root cause as a proposal; the winner includes causes with similar names."""
    authors: dict[str, list[str]] = {}
    for move in round.moves:
        if move.seat in ruling.counted and move.verdict.key:
            key = ruling.winner if move.seat in ruling.supporters else move.verdict.key
            authors.setdefault(key, []).append(move.seat)
    return tuple(Proposal(key, _root_cause_text(key), tuple(seats)) for key, seats in authors.items())


def _diagnoses(round: Round) -> dict[str, tuple[str, float | None]]:
    verdicts = verdicts_counted_in_decision(round.moves, round.electorate, round.name)
    return {seat: (said.key, said.confidence) for seat, said in verdicts.items()}


def _diagnosis_text(move: Move) -> str:
    """Return a doctor's words with the evidence, confirmations, exclusions and next test of the diagnosis."""
    said = move.verdict
    facts = [f"- {fact.text}{f' ({fact.source})' if fact.source else ''}" for fact in said.evidence]
    lists = {"Evidence:": facts, "Confirmed:": _bullets(said.confirms), "Ruled out:": _bullets(said.rules_out)}
    parts = [move.text, *("\n".join((head, *lines)) for head, lines in lists.items() if lines)]
    parts += [f"Next test: {said.next_test}"] if said.next_test else []
    return "\n\n".join(parts)


def _bullets(texts: Sequence[str]) -> list[str]:
    return [f"- {text}" for text in texts]
