"""Proofs of claims, applied to a round: each claim gets its result, and refuted issues and root causes are removed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.positions import normalize_counted_position
from roundtable.core.effects import Proof
from roundtable.core.values import Move, Round
from roundtable.core.verdict import Stance, Verdict


def decide_claims_of_round_by_proofs(round: Round, proofs: Sequence[Proof], earlier: Sequence[Round] = ()) -> Round:
    """Return a round with the results of its proofs and of earlier ones; refuted issues and causes are removed.

    If proofs contradict each other, the claim stays open.
    """
    results = [(proof.claim, proof.held) for proof in proofs if round.move_of(proof.seat) is not None]
    results += [(claim.text, claim.held) for round in earlier for move in round.moves for claim in move.verdict.claims]
    results_by_claim: dict[str, set[bool]] = {}
    for text, is_true in results:
        if is_true is not None:
            results_by_claim.setdefault(normalize_counted_position(text), set()).add(is_true)
    proven = {words: values == {True} for words, values in results_by_claim.items() if len(values) == 1}
    return msgspec.structs.replace(round, moves=tuple(_apply_to_move(move, proven) for move in round.moves))


def _apply_to_move(move: Move, proven: dict[str, bool]) -> Move:
    """Return a move with the results of its claims, without refuted issues and root causes."""
    said = move.verdict
    claims = tuple(
        msgspec.structs.replace(claim, held=proven.get(normalize_counted_position(claim.text))) for claim in said.claims
    )
    issues = tuple(
        issue for issue in said.issues if not _is_refuted(issue.text, proven) and not _is_refuted(issue.id, proven)
    )
    key = "" if _is_refuted(said.key, proven) or _is_refuted(said.key.replace("-", " "), proven) else said.key
    verdict = msgspec.structs.replace(said, claims=claims, issues=issues, key=key)
    if said.issues and not issues and said.stance is Stance.OPPOSE and said.score is None:
        verdict = msgspec.structs.replace(verdict, stance=_stance_without_objections(said))
    return msgspec.structs.replace(move, verdict=verdict)


def _is_refuted(text: str, proven: dict[str, bool]) -> bool:
    """Return whether a program refuted the claim with these words."""
    return proven.get(normalize_counted_position(text)) is False


def _stance_without_objections(said: Verdict) -> Stance:
    """Return the stance of a verdict whose objections were all refuted; scores are never changed."""
    if said.points:
        return Stance.AMEND
    return Stance.SUPPORT if said.target else Stance.UNKNOWN
