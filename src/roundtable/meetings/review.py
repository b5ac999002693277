"""The review: every seat looks at the changes alone, and findings are proven by running programs, not by votes.

1. Blind: each seat lists what is wrong, where and how bad, each with a program that proves it.
2. Equal findings are merged, and the programs run in the sandbox on a copy of the tree with the change. A fault
   that shows there and not before the change is reproduced; one that does not show is refuted; one that also shows
   before the change is old.
3. Unproven findings are shown to all seats once more, unsigned: a seat that can writes a program that settles them.
4. The decision lists all findings. Reproduced ones count against the changes; unproven ones are marked as such.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.findings import (
    Finding,
    WeighedFinding,
    decide_pooled_findings,
    decide_unproven_findings,
    weigh_findings_by_proof,
)
from roundtable.core.decide.positions import decide_without_quorum
from roundtable.core.decide.review import decide_review
from roundtable.core.effects import ClaimsProven, ProveClaims
from roundtable.core.faults import Fault
from roundtable.core.ports import Table
from roundtable.core.text.diffs import DIFF_CONTEXT_NAME
from roundtable.core.values import Decision, Expect, Prompt, Round, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound
from roundtable.report.finding_words import render_review_decision_text

BLIND = PlannedRound("blind", "findings", Turns(visibility="none"))
EXAMINE = PlannedRound("examine", "proofs", Turns(visibility="own"))


class ReviewSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which changes are reviewed; `roundtable review` fills in these settings.

    The changes are those between the commits `base` and `tip`, those of the workspace if there is no `tip`, or a
    `patch` that is applied to the workspace.
    """

    base: str = ""
    tip: str = ""
    patch: bool = False


def _plan_review_rounds(settings: ReviewSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """The rounds of a review; the second is likely, since seldom every finding has a proof."""
    return (BLIND, EXAMINE)


async def _hold_review_meeting(table: Table) -> Decision:
    """Hold a review."""
    blind = await table.ask("review/1-blind", Prompt(BLIND.template), expect=Expect(BLIND.codec), turns=BLIND.turns)
    if not blind.quorate:
        return decide_without_quorum(blind)
    findings = decide_pooled_findings(blind)
    if not findings:
        return _decide((), (blind,), "")

    first = await _run_proofs(table, blind)
    if isinstance(first, Fault) or not first.sandbox:
        missing_proofs_reason = first.message if isinstance(first, Fault) else _missing_sandbox_reason(first)
        results = () if isinstance(first, Fault) else (first,)
        return _decide(weigh_findings_by_proof(findings, results), (blind,), "", missing_proofs_reason)

    weighed, rounds = weigh_findings_by_proof(findings, (first,)), (blind,)
    name = "review/2-examine"
    if decide_unproven_findings(weighed) and await table.may_open(name):
        examined = await _ask_to_examine(table, name, decide_unproven_findings(weighed))
        second = await _run_proofs(table, examined) if any(move.verdict.claims for move in examined.moves) else None
        rounds = (blind, examined)
        weighed = weigh_findings_by_proof(findings, (first, second) if isinstance(second, ClaimsProven) else (first,))
    return _decide(weighed, rounds, first.sandbox)


def _decide(
    weighed: Sequence[WeighedFinding], rounds: Sequence[Round], sandbox: str, missing_proofs_reason: str = ""
) -> Decision:
    """The decision of the review with its text."""
    return render_review_decision_text(decide_review(weighed, rounds, sandbox, missing_proofs_reason), weighed)


async def _ask_to_examine(table: Table, name: str, unproven: Sequence[Finding]) -> Round:
    """Ask all seats for programs that settle the unproven findings, unsigned."""
    texts = tuple(f"{finding.id}: {finding.in_full}" for finding in unproven)
    prompt = Prompt(EXAMINE.template, lists={"findings": texts})
    expect = Expect(EXAMINE.codec, tuple(finding.id for finding in unproven))
    return await table.ask(name, prompt, expect=expect, turns=EXAMINE.turns)


async def _run_proofs(table: Table, round: Round) -> ClaimsProven | Fault:
    """Run the proofs of a round, on the tree with the changes and on the one before."""
    settings = msgspec.convert(table.charter.settings, ReviewSettings)
    patch = (
        next((item.digest for item in table.charter.context if item.name == DIFF_CONTEXT_NAME), "")
        if settings.patch
        else ""
    )
    result = await table.do(f"{round.name}/proofs", ProveClaims((round.name,), settings.base, settings.tip, patch))
    assert isinstance(result, ClaimsProven | Fault)
    return result


def _missing_sandbox_reason(result: ClaimsProven) -> str:
    return next((proof.why for proof in result.proofs if proof.why), "No sandbox is available.")


MEETING = Meeting(
    "review",
    1,
    _hold_review_meeting,
    ReviewSettings,
    _plan_review_rounds,
    ("system", "blind", "examine"),
    "Changes are reviewed blind; findings are reproduced or refuted by running programs.",
    filled_settings=("base", "tip", "patch"),
)
