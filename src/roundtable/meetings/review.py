"""The review: every seat looks at the changes alone, and what it finds is run, not voted on.

1. Blind: each seat lists what is wrong, where and how bad, each with a program that shows it.
2. The findings are pooled, what several found is one, and the programs run in the sandbox on a copy of the tree with
   the change. What they show there and not on the tree before it is reproduced; what they look for and do not find is
   refuted; what shows before it as well is old.
3. What nobody could show is put to all seats once more, unsigned: who can, writes a program that settles it.
4. The decision lists all of it. What was reproduced stands against the changes; what is unproven is named as such.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.findings import Finding, pool_findings, unproven_findings, weigh_findings_by_proof
from roundtable.core.decide.positions import decide_without_quorum
from roundtable.core.decide.review import decide_review
from roundtable.core.effects import ClaimsProven, ProveClaims
from roundtable.core.faults import Fault
from roundtable.core.ports import Table
from roundtable.core.text.diffs import DIFF_CONTEXT_NAME
from roundtable.core.values import Decision, Expect, Prompt, Round, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound

BLIND = PlannedRound("blind", "findings", Turns(visibility="none"))
EXAMINE = PlannedRound("examine", "proofs", Turns(visibility="own"))


class ReviewSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the changes stand, as `roundtable review` fills it in: between the commits `base` and `tip`, in the
    workspace where there is no `tip`, or in a `patch` that is laid over it."""

    base: str = ""
    tip: str = ""
    patch: bool = False


def plan_review_rounds(settings: ReviewSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """A second round is to be expected: seldom does everything come with a proof."""
    return (BLIND, EXAMINE)


async def hold_review_meeting(table: Table) -> Decision:
    """Hold the meeting."""
    blind = await table.ask("review/1-blind", Prompt(BLIND.template), expect=Expect(BLIND.codec), turns=BLIND.turns)
    if not blind.quorate:
        return decide_without_quorum(blind)
    findings = pool_findings(blind)
    if not findings:
        return decide_review((), (blind,), "")

    first = await _run(table, blind)
    if isinstance(first, Fault) or not first.sandbox:
        lacking = first.message if isinstance(first, Fault) else _lacking(first)
        results = () if isinstance(first, Fault) else (first,)
        return decide_review(weigh_findings_by_proof(findings, results), (blind,), "", lacking)

    found, rounds = weigh_findings_by_proof(findings, (first,)), (blind,)
    name = "review/2-examine"
    if unproven_findings(found) and await table.may_open(name):
        examined = await _examined(table, name, unproven_findings(found))
        second = await _run(table, examined) if any(it.verdict.claims for it in examined.moves) else None
        rounds = (blind, examined)
        found = weigh_findings_by_proof(findings, (first, second) if isinstance(second, ClaimsProven) else (first,))
    return decide_review(found, rounds, first.sandbox)


async def _examined(table: Table, name: str, open: Sequence[Finding]) -> Round:
    """Everybody reads what is unproven, unsigned, and may settle it either way."""
    prompt = Prompt(EXAMINE.template, lists={"findings": tuple(f"{it.id}: {it.in_full}" for it in open)})
    expect = Expect(EXAMINE.codec, tuple(it.id for it in open))
    return await table.ask(name, prompt, expect=expect, turns=EXAMINE.turns)


async def _run(table: Table, round: Round) -> ClaimsProven | Fault:
    """Run the proofs of a round, on the tree with the changes and on the one before."""
    settings = msgspec.convert(table.charter.settings, ReviewSettings)
    patch = (
        next((it.digest for it in table.charter.context if it.name == DIFF_CONTEXT_NAME), "") if settings.patch else ""
    )
    result = await table.do(f"{round.name}/proofs", ProveClaims((round.name,), settings.base, settings.tip, patch))
    assert isinstance(result, ClaimsProven | Fault)
    return result


def _lacking(result: ClaimsProven) -> str:
    return next((it.why for it in result.proofs if it.why), "There is no sandbox here.")


MEETING = Meeting(
    "review",
    1,
    hold_review_meeting,
    ReviewSettings,
    plan_review_rounds,
    ("system", "blind", "examine"),
    "Changes are reviewed blind; what is found is reproduced or refuted by running it.",
    filled_settings=("base", "tip", "patch"),
)
