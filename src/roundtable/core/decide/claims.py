"""Proofs of claims: confirmed points are agreed, refuted objections are removed, and results are described."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from roundtable.core.decide.positions import normalize_position
from roundtable.core.effects import Proof
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.core.text.wording import fence_code
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


_CLAIM, _PROGRAM = 300, 2_000


def render_proof(proof: Proof) -> Iterator[str]:
    """Return a claim with its program, the result and the output."""
    yield f"Claimed: {sanitize_line(proof.claim, _CLAIM)}"
    yield _describe_proof_result(proof)
    if proof.program:
        yield fence_code(sanitize_text(proof.program)[:_PROGRAM])
    if proof.outcome is not None:
        yield sanitize_text(proof.outcome.output)


def _describe_proof_result(proof: Proof) -> str:
    """Return the result of a proof in one sentence."""
    if proof.held is None:
        return f"It could not be run: {sanitize_line(proof.why, _CLAIM)}"
    if not proof.held:
        return "Running it showed that this is not so (exit code 1)."
    before = " It was so before the change as well." if proof.held_before else ""
    return f"Running it showed that this is so (exit code 0).{before}"
