"""Writing a change to the workspace, as every meeting does it: shown, approved, rehearsed, then written at once.

1. The draft is compared with the workspace and shown hunk by hunk. The person accepts all, some or none of it, or asks
   the table about a hunk. Permanent losses and files that other programs execute need a typed phrase.
2. The accepted hunks are rehearsed in a scratch tree. If checks break there, the author repairs the change, a limited
   number of times, and the result is shown and approved again. Any other problem leads back to the question, with the
   reason.
3. Then it is written: all of it or nothing. Without a person's approval on record, the workshop refuses.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.changeset import Hunk
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
from roundtable.core.reasons import (
    ChangeUnapproved,
    ChoiceRepeated,
    DraftRepaired,
    HunksNotNamed,
    NotYetWritten,
    Reason,
    Reasons,
    SelectionWeaker,
)
from roundtable.core.values import Decision, Digest, Gate, Outcome, Prompt, Turns
from roundtable.meetings.meeting import PlannedRound
from roundtable.meetings.try_candidates import (
    WHOLE_FILES_CODEC,
    meeting_changes_reply_format,
    perform_required_meeting_step,
)
from roundtable.report.change_reasons import (
    change_approval_sentence,
    dangerous_change_sentence,
    render_commit_message_of_change,
)
from roundtable.report.reasons import describe_reasons, reason_sentence

APPROVE_GATE, TESTS_GATE = "approve", "approve-tests"
DESTROY_GATE, DESTROY_TESTS_GATE = "destroy", "destroy-tests"
WRITE_GATES = {
    APPROVE_GATE: ("all", "ask", "none"),
    TESTS_GATE: ("all", "ask", "none"),
    DESTROY_GATE: ("confirm", "no"),
}
"""Answers that can be given in advance. `some` cannot: which hunks it means is known only once they are shown.

An approval given in advance does not allow changes to existing tests, unless it names that gate.
"""
MAX_QUESTIONS = 5
"""How often the table can be asked about hunks before the person has to choose."""
MAX_GATE_RETURNS = 5
"""How often an answer that cannot be carried out leads back to the question."""

ABOUT_ROUND = PlannedRound("about", "free", Turns(visibility="own"), likely=False)
REPAIR_ROUND = PlannedRound("repair", WHOLE_FILES_CODEC, Turns(visibility="own"), likely=False)

WRITE_CHOICES = {
    "all": "write all of it",
    "some": "write some of it: accept, reject or rewrite each hunk",
    "ask": "ask the seats about it first",
    "none": "write nothing",
}


class WriteProgress(msgspec.Struct):
    """The progress of a change to the workspace: its author, its target, and counters of its rounds and questions.

    `preface` is what the question begins with, such as why it is asked again; `problem` is what prevents this draft;
    `confirmed_choice` is a choice that the person had to confirm; `required_checks` passed before a repair and must
    still pass. A change `after_stages` follows stages whose rounds its author does not see again: it is shown the
    files instead. `authors` are all authors if there are several; `body` is the body of the commit message.
    """

    stage: str
    seat: str
    repairs: int = 2
    dry_run: bool = False
    branch: str = ""
    rounds_held: int = 0
    gates_asked: int = 0
    preface: Reasons = ()
    problem: Reasons = ()
    confirmed_choice: str = ""
    required_checks: tuple[str, ...] = ()
    after_stages: bool = False
    authors: tuple[str, ...] = ()
    body: str = ""

    def next_round(self, purpose: str) -> str:
        """The name of the next round."""
        self.rounds_held += 1
        return f"{self.stage}/{self.rounds_held}-{purpose}"

    def gate_id(self, name: str) -> str:
        """The id of a gate, numbered from the second question on."""
        return name if self.gates_asked == 1 else f"{name}-{self.gates_asked}"

    def ask_again(self, *problem: Reason) -> None:
        """Ask about the same draft once more, and tell the person why."""
        self.problem, self.preface = problem, (NotYetWritten(), *problem, ChoiceRepeated())


async def write_change_in_meeting(table: Table, progress: WriteProgress, decision: Decision, draft: Digest) -> Decision:
    """Show a draft, ask the person for approval, rehearse it and write it; the decision says how far that went."""
    decision = await table.check_decrees(decision)
    if decision.outcome is not Outcome.REACHED:
        return decision
    for sitting in range(1, progress.repairs + MAX_GATE_RETURNS + 2):
        numbered = "" if sitting == 1 else f"-{sitting}"
        planned = await perform_required_meeting_step(
            table, f"{progress.stage}/plan{numbered}", PlanChange(draft), ChangePlanned
        )
        if obstacle := rule.decide_reason_for_unwritable_plan(planned, table.charter.slug):
            return rule.decision_on_unwritable_change(decision, obstacle)
        if progress.dry_run:
            return rule.decision_on_plan_without_change(decision, planned)
        gate, answer = await _ask_for_approval(table, progress, planned)
        if answer == "none":
            return rule.decide_change_declined(
                decision, planned, progress.problem, answered=not table.answered_by_default(gate)
            )
        choice = table.answer_text(gate) if answer == "some" else ""
        if answer == "some" and not choice:
            progress.ask_again(HunksNotNamed())
            continue
        rehearsed = await perform_required_meeting_step(
            table, f"{progress.stage}/rehearse{numbered}", RehearseChange(draft, choice), ChangeRehearsed
        )
        problems = rule.decide_rehearsal_problems(rehearsed, () if choice else progress.required_checks)
        if not problems:
            if weaker := await _find_weakness(
                table, progress, draft, rehearsed, choice, f"{progress.stage}/rehearse{numbered}"
            ):
                progress.confirmed_choice = choice
                progress.ask_again(weaker)
                continue
            return await _write_change(table, progress, decision, planned, rehearsed, gate, choice)
        if repaired := await _ask_for_repair(table, progress, rehearsed, describe_reasons(problems)):
            draft, progress.problem = repaired, ()
            progress.required_checks = tuple(check.name for check in rehearsed.checks if check.passed)
            progress.preface = (NotYetWritten(), *problems, DraftRepaired(progress.seat))
        else:
            progress.ask_again(*problems)
    return rule.decision_on_unwritable_change(decision, *progress.problem)


async def _find_weakness(
    table: Table, progress: WriteProgress, draft: Digest, part: ChangeRehearsed, choice: str, step: str
) -> SelectionWeaker | None:
    """The checks that fail because of the person's choice of hunks; None if the person confirmed that choice."""
    if not choice or choice == progress.confirmed_choice or all(check.passed for check in part.checks):
        return None
    whole = await perform_required_meeting_step(table, f"{step}/whole", RehearseChange(draft), ChangeRehearsed)
    return rule.decide_reason_for_weaker_selection(part, whole)


async def _ask_for_approval(table: Table, progress: WriteProgress, planned: ChangePlanned) -> tuple[str, str]:
    """The person's answer, and the gate at which it was given; they may ask the table in between.

    An approval given in advance also covers what a repair changed, but not after the table was asked.
    """
    for questions_left in range(MAX_QUESTIONS, -1, -1):
        progress.gates_asked += 1
        name = TESTS_GATE if planned.tests else APPROVE_GATE
        gate = progress.gate_id(name)
        again_of = name if questions_left == MAX_QUESTIONS and gate != name and not progress.problem else ""
        details = {option: meaning for option, meaning in WRITE_CHOICES.items() if questions_left or option != "ask"}
        question = change_approval_sentence(
            planned, progress.authors or (progress.seat,), describe_reasons(progress.preface), progress.branch
        )
        answer = await table.gate(Gate(gate, question, tuple(details), "none", details, writes=True, again_of=again_of))
        if answer != "ask":
            return gate, answer
        name = progress.next_round("about")
        if await table.may_open(name):
            words = table.answer_text(gate)
            hunks = render_meeting_prompt_hunks([hunk for hunk in planned.hunks if hunk.id in words] or planned.hunks)
            turns = (
                msgspec.structs.replace(ABOUT_ROUND.turns, stage=progress.stage)
                if progress.after_stages
                else ABOUT_ROUND.turns
            )
            await table.ask(name, Prompt(ABOUT_ROUND.template, quotes={"hunks": hunks}), turns=turns)
    raise AssertionError("the last question has no ask among its options")


def render_meeting_prompt_hunks(hunks: Sequence[Hunk]) -> str:
    """Hunks as a diff for the seats, each under its id."""
    return "\n".join(
        "\n".join((hunk.id, *(f"{sign}{line}" for sign, side in hunk.sides for line in side))) for hunk in hunks
    )


async def _ask_for_repair(table: Table, progress: WriteProgress, rehearsed: ChangeRehearsed, trouble: str) -> Digest:
    """The draft as its author repaired it, knowing what broke; empty where it cannot."""
    if not rehearsed.draft or not progress.repairs:
        return ""
    progress.repairs -= 1
    name = progress.next_round("repair")
    if not await table.may_open(name):
        return ""
    prompt = Prompt(REPAIR_ROUND.template, quotes={"trouble": trouble})
    turns = REPAIR_ROUND.turns
    if progress.after_stages:
        listing = await perform_required_meeting_step(
            table,
            f"{name}/files",
            ListProject(rehearsed.draft, table.charter.limits.max_tokens, (progress.seat,), trouble),
            ProjectListed,
        )
        prompt = msgspec.structs.replace(prompt, files=listing.items)
        turns = msgspec.structs.replace(turns, stage=progress.stage)
    answers = await table.ask(
        name, prompt, expect=meeting_changes_reply_format(table), seats=(progress.seat,), turns=turns
    )
    if answers.move_of(progress.seat) is None:
        return ""
    drafted = await perform_required_meeting_step(
        table, f"{name}/draft", DraftMove(name, progress.seat, rehearsed.draft), MoveDrafted
    )
    return "" if drafted.refused else drafted.draft


async def _write_change(
    table: Table,
    progress: WriteProgress,
    decision: Decision,
    planned: ChangePlanned,
    rehearsed: ChangeRehearsed,
    gate: str,
    choice: str,
) -> Decision:
    """Write the change; a danger is confirmed first, and only the phrase itself confirms it."""
    if rehearsed.destroys:
        id = progress.gate_id(DESTROY_TESTS_GATE if planned.tests else DESTROY_GATE)
        question = Gate(id, dangerous_change_sentence(rehearsed), ("confirm", "no"), "no", writes=True)
        if await table.gate(question) != "confirm":
            return rule.decide_change_declined(decision, planned, answered=not table.answered_by_default(id))
        if table.answer_text(id).strip() != rehearsed.phrase:
            return rule.decide_change_unapproved(decision, ChangeUnapproved("phrase"))
    message = render_commit_message_of_change(table.charter.question, decision, progress.body)
    applied = await table.do(f"{progress.stage}/execute", ApplyChange(rehearsed.draft, gate, message, progress.branch))
    if isinstance(applied, Fault):
        return rule.decision_after_failed_write(decision, applied)
    assert isinstance(applied, ChangeApplied)
    decision = rule.decide_change_applied(decision, applied, rehearsed, table.charter.question, choice)
    edited = rule.decide_reason_for_edited_hunks(choice)
    if edited is None:
        return decision
    text = "\n\n".join(filter(None, (reason_sentence(edited), decision.text)))
    return msgspec.structs.replace(decision, text=text)
