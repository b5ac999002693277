"""Proofs of claims: confirmed points are agreed, refuted objections are removed, and results are described."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.positions import normalize_position
from roundtable.core.effects import Proof
from roundtable.core.values import Move, Round
from roundtable.core.verdict import Stance, Verdict


def apply_proofs_to_round(round: Round, proofs: Sequence[Proof], earlier: Sequence[Round] = ()) -> Round:
    """Return a round with the results of its proofs and of earlier ones; refuted issues and causes are removed.

    If proofs contradict each other, the claim stays open.
    """
    runs = [(proof.claim, proof.held) for proof in proofs if round.move_of(proof.seat) is not None]
    runs += [(claim.text, claim.held) for round in earlier for move in round.moves for claim in move.verdict.claims]
    held: dict[str, set[bool]] = {}
    for text, answer in runs:
        if answer is not None:
            held.setdefault(normalize_position(text), set()).add(answer)
    sure = {words: answers == {True} for words, answers in held.items() if len(answers) == 1}
    return msgspec.structs.replace(round, moves=tuple(_settled(move, sure) for move in round.moves))


def _settled(move: Move, sure: dict[str, bool]) -> Move:
    said = move.verdict
    claims = tuple(
        msgspec.structs.replace(claim, held=sure.get(normalize_position(claim.text))) for claim in said.claims
    )
    issues = tuple(issue for issue in said.issues if not _denied(issue.text, sure) and not _denied(issue.id, sure))
    key = "" if _denied(said.key, sure) or _denied(said.key.replace("-", " "), sure) else said.key
    verdict = msgspec.structs.replace(said, claims=claims, issues=issues, key=key)
    if said.issues and not issues and said.stance is Stance.OPPOSE and said.score is None:
        verdict = msgspec.structs.replace(verdict, stance=_without_objection(said))
    return msgspec.structs.replace(move, verdict=verdict)


def _denied(text: str, sure: dict[str, bool]) -> bool:
    return sure.get(normalize_position(text)) is False


def _without_objection(said: Verdict) -> Stance:
    """Return the stance of a verdict whose objections were all refuted; scores are never changed."""
    if said.points:
        return Stance.AMEND
    return Stance.SUPPORT if said.target else Stance.UNKNOWN
