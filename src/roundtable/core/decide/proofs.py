"""A proof in words: what was claimed, whether running it showed that, and the last of what it said."""

from __future__ import annotations

from collections.abc import Iterator

from roundtable.core.effects import Proof
from roundtable.core.text.sanitize import clean, one_line
from roundtable.core.text.wording import fenced

_CLAIM, _PROGRAM = 300, 2_000


def proof_lines(proof: Proof) -> Iterator[str]:
    """The claim, its program so that nobody need believe it, how that ended, and its output."""
    yield f"Claimed: {one_line(proof.claim, _CLAIM)}"
    yield ended(proof)
    if proof.program:
        yield fenced(clean(proof.program)[:_PROGRAM])
    if proof.outcome is not None:
        yield clean(proof.outcome.output)


def ended(proof: Proof) -> str:
    """How it ended, in a sentence."""
    if proof.held is None:
        return f"It could not be run: {one_line(proof.why, _CLAIM)}"
    if not proof.held:
        return "Running it showed that this is not so (exit code 1)."
    before = " It was so before the change as well." if proof.held_before else ""
    return f"Running it showed that this is so (exit code 0).{before}"
