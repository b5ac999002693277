"""Approvals of other seats, where a build asks for them before the person is shown the change: no author counts."""

from __future__ import annotations

from collections.abc import Collection

from roundtable.core.decide import change_outcome as rule
from roundtable.core.effects import PlanChange, Planned
from roundtable.core.ports import Table
from roundtable.core.values import Digest, Expect, Prompt, Turns
from roundtable.core.verdict import Stance
from roundtable.meetings.meeting import PlannedRound
from roundtable.meetings.try_candidates import done
from roundtable.meetings.write_change import Course

APPROVAL = PlannedRound("approval", "approval", Turns(visibility="none"))


async def lacking(table: Table, course: Course, draft: Digest, authors: Collection[str], needed: int) -> str:
    """What a change lacks of the approvals it needs; nothing where it has them."""
    others = tuple(seat.name for seat in table.seats if seat.name not in authors)
    name = course.next_round("approval")
    if len(others) < needed or not await table.may_open(name):
        return rule.approvals((), needed, {})
    planned = await done(table, f"{name}/plan", PlanChange(draft), Planned)
    prompt = Prompt(APPROVAL.template, quotes={"change": rule.asked_about(planned, "")})
    said = await table.ask(name, prompt, expect=Expect(APPROVAL.codec), seats=others, turns=APPROVAL.turns)
    counted = [move for move in said.moves if move.verdict.counts]
    approved = tuple(move.seat for move in counted if move.verdict.stance is Stance.SUPPORT)
    against = {
        move.seat: "; ".join(it.text for it in move.verdict.issues)
        for move in counted
        if move.verdict.stance is Stance.OPPOSE
    }
    return "" if len(approved) >= needed and not against else rule.approvals(approved, needed, against)
