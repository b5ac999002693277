"""How a change reaches the workspace, in every meeting that writes: shown, approved, rehearsed, then written at once.

1. The draft is held against the workspace and shown hunk by hunk. The person takes all, some or none of it, or asks
   the table about a hunk. What would be lost for good needs a typed phrase.
2. What was taken is rehearsed in a scratch tree. Checks that break there go back to who wrote it, a bounded number of
   times; what comes of that is shown and approved anew. Any other mistake leads back to the question, with the reason.
3. Then it is written: all of it or nothing. Without a person's yes on the record the workshop refuses.
"""

from __future__ import annotations

import msgspec

from roundtable.core.decide import change_outcome as rule
from roundtable.core.effects import (
    ApplyChange,
    ChangeApplied,
    ChangePlanned,
    ChangeRehearsed,
    DraftMove,
    ListProject,
    MoveDrafted,
    PlanChange,
    ProjectListed,
    RehearseChange,
)
from roundtable.core.faults import Fault
from roundtable.core.ports import Table
from roundtable.core.values import Decision, Digest, Gate, Outcome, Prompt, Turns
from roundtable.meetings.meeting import PlannedRound
from roundtable.meetings.try_candidates import WHOLE_FILES_CODEC, expect_changes, require_effect

APPROVE_GATE, TESTS_GATE, DESTROY_GATE = "approve", "approve-tests", "destroy"
WRITE_GATES = {
    APPROVE_GATE: ("all", "ask", "none"),
    TESTS_GATE: ("all", "ask", "none"),
    DESTROY_GATE: ("confirm", "no"),
}
"""What can be answered ahead: which hunks `some` means can only be told once they are shown.

Tests that were there may not be changed by a yes that was given before anybody knew of it, unless it names just that.
"""
MAX_QUESTIONS = 5
"""How often the table can be asked about hunks before the person has to choose."""
MAX_GATE_RETURNS = 5
"""How often an answer that cannot be carried out leads back to the question."""

ABOUT_ROUND = PlannedRound("about", "free", Turns(visibility="own"), likely=False)
REPAIR_ROUND = PlannedRound("repair", WHOLE_FILES_CODEC, Turns(visibility="own"), likely=False)

WRITE_CHOICES = {
    "all": "write all of it",
    "some": "write some of it: each hunk is taken, left or rewritten",
    "ask": "ask the table about it first",
    "none": "write nothing",
}


class ChangeProgress(msgspec.Struct):
    """A change on its way: whose it is, where it may go, and how far its rounds and questions are counted.

    `before` is what a person has to know first, such as what became of their answer; `trouble`, what stands in the way
    of this draft; `insisted`, a choice that they were asked about once more; `held`, what passed before it was repaired
    and has to pass still. One that is `apart` comes after stages of which its author need not hear again: it is shown
    the files instead. Where others wrote as well, `authors` are all of them; `body` is what its commit says of how it
    came about.
    """

    stage: str
    seat: str
    repairs: int = 2
    dry_run: bool = False
    branch: str = ""
    rounds: int = 0
    asked: int = 0
    before: str = ""
    trouble: str = ""
    insisted: str = ""
    held: tuple[str, ...] = ()
    apart: bool = False
    authors: tuple[str, ...] = ()
    body: str = ""

    def next_round(self, purpose: str) -> str:
        """The name of the next round."""
        self.rounds += 1
        return f"{self.stage}/{self.rounds}-{purpose}"


async def carry_out_change(table: Table, course: ChangeProgress, decision: Decision, draft: Digest) -> Decision:
    """Take a draft to the workspace as far as the person allows; the decision says how far it came."""
    decision = await table.check_decrees(decision)
    if decision.outcome is not Outcome.REACHED:
        return decision
    for sitting in range(1, course.repairs + MAX_GATE_RETURNS + 2):
        numbered = "" if sitting == 1 else f"-{sitting}"
        planned = await require_effect(table, f"{course.stage}/plan{numbered}", PlanChange(draft), ChangePlanned)
        if planned.refused or not planned.hunks:
            return rule.decide_change_not_written(decision, rule.describe_plan_obstacles(planned, table.charter.slug))
        if course.dry_run:
            return rule.decide_dry_run(decision, planned)
        gate, answer = await _asked(table, course, planned)
        if answer == "none":
            return rule.decide_change_declined(
                decision, planned, course.trouble, answered=not table.answered_by_default(gate)
            )
        choice = table.answer_text(gate) if answer == "some" else ""
        if answer == "some" and not choice:
            _lead_back(course, "The answer `some` does not tell which hunks.")
            continue
        rehearsed = await require_effect(
            table, f"{course.stage}/rehearse{numbered}", RehearseChange(draft, choice), ChangeRehearsed
        )
        trouble = rule.describe_rehearsal_failure(rehearsed, () if choice else course.held)
        if not trouble:
            if weaker := await _weaker(table, course, draft, rehearsed, choice, f"{course.stage}/rehearse{numbered}"):
                course.insisted = choice
                _lead_back(course, weaker)
                continue
            return await _written(table, course, decision, planned, rehearsed, gate, choice)
        if mended := await _repaired(table, course, rehearsed, trouble):
            course.held = tuple(it.name for it in rehearsed.checks if it.passed)
            draft, course.trouble, course.before = mended, "", rule.describe_repaired_draft(trouble, course.seat)
        else:
            _lead_back(course, trouble)
    return rule.decide_change_not_written(decision, course.trouble)


def _lead_back(course: ChangeProgress, why: str) -> None:
    """A mistake at the gate is no decision: the same draft is asked about once more, and the person is told why."""
    course.trouble, course.before = why, rule.describe_retried_approval(why)


async def _weaker(
    table: Table, course: ChangeProgress, draft: Digest, part: ChangeRehearsed, choice: str, step: str
) -> str:
    """What fails for what the person left or wrote anew, unless they were told and chose the same again."""
    if not choice or choice == course.insisted or all(it.passed for it in part.checks):
        return ""
    return rule.describe_weaker_selection(
        part, await require_effect(table, f"{step}/whole", RehearseChange(draft), ChangeRehearsed)
    )


async def _asked(table: Table, course: ChangeProgress, planned: ChangePlanned) -> tuple[str, str]:
    """The person's answer to a plan, and the gate it was given at; the table may be asked in between.

    A yes that was given ahead holds for what a repair made of the draft, but not once the table was asked.
    """
    for left in range(MAX_QUESTIONS, -1, -1):
        course.asked += 1
        name = TESTS_GATE if planned.tests else APPROVE_GATE
        gate = name if course.asked == 1 else f"{name}-{course.asked}"
        again_of = name if left == MAX_QUESTIONS and gate != name and not course.trouble else ""
        details = {option: meaning for option, meaning in WRITE_CHOICES.items() if left or option != "ask"}
        question = rule.change_approval_question(
            planned, course.authors or (course.seat,), course.before, course.branch
        )
        answer = await table.gate(Gate(gate, question, tuple(details), "none", details, writes=True, again_of=again_of))
        if answer != "ask":
            return gate, answer
        name = course.next_round("about")
        if await table.may_open(name):
            hunks = rule.render_named_hunks(planned, table.answer_text(gate))
            turns = (
                msgspec.structs.replace(ABOUT_ROUND.turns, stage=course.stage) if course.apart else ABOUT_ROUND.turns
            )
            await table.ask(name, Prompt(ABOUT_ROUND.template, quotes={"hunks": hunks}), turns=turns)
    raise AssertionError("the last question has no ask among its options")


async def _repaired(table: Table, course: ChangeProgress, rehearsed: ChangeRehearsed, trouble: str) -> Digest:
    """What the seat that wrote it makes of it, knowing what broke; nothing where it cannot."""
    if not rehearsed.draft or not course.repairs:
        return ""
    course.repairs -= 1
    name = course.next_round("repair")
    if not await table.may_open(name):
        return ""
    prompt = Prompt(REPAIR_ROUND.template, quotes={"trouble": trouble})
    turns = REPAIR_ROUND.turns
    if course.apart:
        shown = await require_effect(
            table,
            f"{name}/files",
            ListProject(rehearsed.draft, table.charter.limits.max_tokens, (course.seat,), trouble),
            ProjectListed,
        )
        prompt = msgspec.structs.replace(prompt, files=shown.items)
        turns = msgspec.structs.replace(turns, stage=course.stage)
    said = await table.ask(name, prompt, expect=expect_changes(table), seats=(course.seat,), turns=turns)
    if said.move_of(course.seat) is None:
        return ""
    drafted = await require_effect(table, f"{name}/draft", DraftMove(name, course.seat, rehearsed.draft), MoveDrafted)
    return "" if drafted.refused else drafted.draft


async def _written(
    table: Table,
    course: ChangeProgress,
    decision: Decision,
    planned: ChangePlanned,
    rehearsed: ChangeRehearsed,
    gate: str,
    choice: str,
) -> Decision:
    """The last step; what would be lost for good is asked about once more, and only the phrase itself is a yes."""
    if rehearsed.destroys:
        id = DESTROY_GATE if gate == APPROVE_GATE else gate.replace(APPROVE_GATE, DESTROY_GATE)
        asked = Gate(id, rule.destruction_question(rehearsed), ("confirm", "no"), "no", writes=True)
        if await table.gate(asked) != "confirm":
            return rule.decide_change_declined(decision, planned, answered=not table.answered_by_default(id))
        if table.answer_text(id).strip() != rehearsed.phrase:
            return rule.decide_change_unapproved(
                decision, "what would be lost for good was not confirmed with the phrase itself"
            )
    message = rule.commit_message(table.charter.question, decision.position, course.body)
    applied = await table.do(f"{course.stage}/execute", ApplyChange(rehearsed.draft, gate, message, course.branch))
    if isinstance(applied, Fault):
        return rule.decide_apply_failed(decision, applied)
    assert isinstance(applied, ChangeApplied)
    return rule.decide_change_applied(decision, applied, rehearsed, table.charter.question, choice)
