"""How a change reaches the workspace, in every meeting that writes: shown, approved, rehearsed, then written at once.

1. The draft is held against the workspace and shown hunk by hunk. The person takes all, some or none of it, or asks
   the table about a hunk. What would be lost for good needs a typed phrase.
2. What was taken is rehearsed in a scratch tree. Checks that break there go back to who wrote it, a bounded number of
   times; what comes of that is another draft, and is shown and approved anew.
3. Then it is written: all of it or nothing. Without a person's yes on the record the workshop refuses.
"""

from __future__ import annotations

import msgspec

from roundtable.core.effects import Applied, ApplyChange, Drafted, DraftMove, PlanChange, Planned, Rehearse, Rehearsed
from roundtable.core.faults import Fault
from roundtable.core.ports import Table
from roundtable.core.rules import building as rule
from roundtable.core.values import Decision, Digest, Expect, Gate, Outcome, Prompt, Turns
from roundtable.protocols.protocol import PlannedRound
from roundtable.protocols.trying import done

APPROVE, DESTROY = "approve", "destroy"
GATES = (APPROVE, DESTROY)
MOST_ASKS = 5
"""How often the table can be asked about hunks before the person has to choose."""

ABOUT = PlannedRound("about", "free", Turns(visibility="own"), likely=False)
REPAIR = PlannedRound("repair", "changes", Turns(visibility="own"), likely=False)

CHOICES = {
    "all": "write all of it",
    "some": "write some of it: each hunk is taken, left or rewritten",
    "ask": "ask the table about it first",
    "none": "write nothing",
}


class Course(msgspec.Struct):
    """A change on its way: whose it is, where it may go, and how far its rounds and questions are counted."""

    stage: str
    seat: str
    repairs: int = 2
    dry_run: bool = False
    branch: str = ""
    rounds: int = 0
    asked: int = 0

    def next_round(self, purpose: str) -> str:
        """The name of the next round."""
        self.rounds += 1
        return f"{self.stage}/{self.rounds}-{purpose}"


async def carried_out(table: Table, course: Course, decision: Decision, draft: Digest) -> Decision:
    """Take a draft to the workspace as far as the person allows; the decision says how far it came."""
    decision = await table.heed(decision)
    if decision.outcome is not Outcome.REACHED:
        return decision
    for sitting in range(1, course.repairs + 2):
        numbered = "" if sitting == 1 else f"-{sitting}"
        planned = await done(table, f"{course.stage}/plan{numbered}", PlanChange(draft), Planned)
        if planned.refused or not planned.hunks:
            return rule.unwritten(decision, rule.against(planned))
        if course.dry_run:
            return rule.only_shown(decision, planned)
        gate, answer = await _asked(table, course, planned)
        choice = table.words(gate) if answer == "some" else ""
        if answer == "none" or (answer == "some" and not choice):
            return rule.left(decision, answered=not table.charter.headless or gate in table.charter.answers)
        rehearsed = await done(table, f"{course.stage}/rehearse{numbered}", Rehearse(draft, choice), Rehearsed)
        if not rule.trouble(rehearsed):
            return await _written(table, course, decision, planned, rehearsed, gate)
        draft = await _repaired(table, course, rehearsed) if sitting <= course.repairs else ""
        if not draft:
            return rule.unwritten(decision, rule.trouble(rehearsed))
    return decision


async def _asked(table: Table, course: Course, planned: Planned) -> tuple[str, str]:
    """The person's answer to a plan, and the gate it was given at; the table may be asked in between."""
    for left in range(MOST_ASKS, -1, -1):
        course.asked += 1
        gate = APPROVE if course.asked == 1 else f"{APPROVE}-{course.asked}"
        details = {option: meaning for option, meaning in CHOICES.items() if left or option != "ask"}
        question = rule.approval(planned, course.seat)
        answer = await table.gate(Gate(gate, question, tuple(details), "none", details, writes=True))
        if answer != "ask":
            return gate, answer
        name = course.next_round("about")
        if await table.may_open(name):
            hunks = rule.asked_about(planned, table.words(gate))
            await table.ask(name, Prompt(ABOUT.template, quotes={"hunks": hunks}), turns=ABOUT.turns)
    raise AssertionError("the last question has no ask among its options")


async def _repaired(table: Table, course: Course, rehearsed: Rehearsed) -> Digest:
    """What the seat that wrote it makes of it, knowing what broke; nothing where it cannot."""
    name = course.next_round("repair")
    if not rehearsed.draft or not await table.may_open(name):
        return ""
    prompt = Prompt(REPAIR.template, quotes={"trouble": rule.trouble(rehearsed)})
    said = await table.ask(name, prompt, expect=Expect(REPAIR.codec), seats=(course.seat,), turns=REPAIR.turns)
    if said.by(course.seat) is None:
        return ""
    drafted = await done(table, f"{name}/draft", DraftMove(name, course.seat, rehearsed.draft), Drafted)
    return "" if drafted.refused else drafted.draft


async def _written(
    table: Table, course: Course, decision: Decision, planned: Planned, rehearsed: Rehearsed, gate: str
) -> Decision:
    """The last step; what would be lost for good is asked about once more, and only the phrase itself is a yes."""
    if rehearsed.destroys:
        id = DESTROY if gate == APPROVE else gate.replace(APPROVE, DESTROY)
        asked = Gate(id, rule.destruction(rehearsed, planned.phrase), ("confirm", "no"), "no", writes=True)
        if await table.gate(asked) != "confirm" or table.words(id).strip() != planned.phrase:
            return rule.left(decision, answered=not table.charter.headless)
    message = rule.message(table.charter.question)
    applied = await table.do(f"{course.stage}/execute", ApplyChange(rehearsed.draft, gate, message, course.branch))
    if isinstance(applied, Fault):
        return rule.not_applied(decision, applied)
    assert isinstance(applied, Applied)
    return rule.written(decision, applied, rehearsed)
