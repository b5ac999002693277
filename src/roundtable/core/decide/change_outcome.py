"""What becomes of a change on its way to the workspace, by its rehearsal and by what a person said."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from roundtable.core.changeset import HunkChoice, RefusalKind
from roundtable.core.decide.trial_outcome import (
    MAX_CHECK_OUTPUT,
    change_position,
    describe_check_failure,
    describe_failed_check,
    describe_refusal,
)
from roundtable.core.effects import ChangeApplied, ChangePlanned, ChangeRehearsed
from roundtable.core.faults import Fault
from roundtable.core.reasons import Said, distinct_reasons
from roundtable.core.text.wording import end_sentence, join_names, join_text_lines, pluralize
from roundtable.core.values import Decision, NextStep, Outcome

NO_CHECKS_TO_RUN = "There are no checks here to run."
SHOW_CHANGE_AGAIN = "`roundtable apply` with this session shows it again."
_SUBJECT = 72


def describe_plan_obstacles(planned: ChangePlanned, slug: str) -> str:
    """Why the plan of a session cannot be carried out, and how it can be once the person has made room for it.

    What was drafted on uncommitted work needs it committed; what was drafted without it needs it out of the way.
    """
    why = " ".join(map(describe_refusal, planned.refused)) or "It changes nothing."
    kinds = {it.kind for it in planned.refused}
    if kinds == {RefusalKind.UNCOMMITTED}:
        return f"{why} It was drafted on them, so commit them. Then: roundtable apply {slug}"
    if kinds == {RefusalKind.UNCOMMITTED, RefusalKind.STALE}:
        return f"{why} It was drafted without them, so stash them. Then: roundtable apply {slug}"
    if kinds == {RefusalKind.STALE}:
        return f"{why} To have it written for what stands there now, ask for it anew."
    return why


def change_approval_question(planned: ChangePlanned, seats: Sequence[str], before: str = "", branch: str = "") -> str:
    """What the person is asked about a plan of these seats; first, what they have to know before."""
    paths = list(dict.fromkeys(it.path for it in planned.hunks))
    size = f"{pluralize(len(planned.hunks), 'hunk')} in {join_names([join_text_lines(path) for path in paths])}"
    want = "wants" if len(seats) == 1 else "want"
    wants = f"{join_names(seats)} {want} to change {size}."
    asked = f"Commit it to the branch {join_text_lines(branch)}?" if branch else "Write it to your workspace?"
    return " ".join(filter(None, (before, wants, _describe_changed_tests(planned), asked)))


def _describe_changed_tests(planned: ChangePlanned) -> str:
    """Which tests that were there would be others, without anybody having asked for that."""
    names = join_names([join_text_lines(it) for it in planned.tests])
    return f"It changes tests that were there: {names}." if names else ""


def describe_retried_approval(why: str) -> str:
    """Why the person is asked once more about the same draft."""
    return f"Nothing is written yet. {why} Choose again."


def describe_repaired_draft(why: str, seat: str) -> str:
    """Why the person is asked about another draft."""
    return f"Nothing is written yet. {why} {seat} has mended it."


def _parse_hunk_choice(choice: str) -> HunkChoice:
    """Which hunks a person left or wrote anew, by their answer."""
    return msgspec.json.decode(choice, type=HunkChoice) if choice else HunkChoice()


def render_named_hunks(planned: ChangePlanned, words: str) -> str:
    """The hunks the person's words name, or all of them, as a diff."""
    named = [it for it in planned.hunks if it.id in words] or planned.hunks
    return "\n".join("\n".join((it.id, *(f"{sign}{line}" for sign, side in it.sides for line in side))) for it in named)


def destruction_question(rehearsed: ChangeRehearsed) -> str:
    """What the person must type a phrase for."""
    lost = " ".join(end_sentence(join_text_lines(it)) for it in rehearsed.destroys)
    return f"This would be lost for good: {lost} To allow it, confirm with the words: {rehearsed.phrase}"


def describe_rehearsal_failure(rehearsed: ChangeRehearsed, held: Collection[str] = ()) -> str:
    """What went wrong in a rehearsal; nothing if all is well. `held` is what passed before the draft was mended."""
    said = [describe_refusal(it) for it in rehearsed.refused]
    said += [f"The hunk {join_text_lines(id)} did not survive the merge." for id in rehearsed.lost]
    broke = [it for it in rehearsed.checks if it.name in rehearsed.broken_checks]
    ran_before = {it.name for it in rehearsed.before}
    said += [
        f"It breaks a check that passed before. {describe_check_failure(it)}" for it in broke if it.name in ran_before
    ]
    said += [
        f"The tests that come with it fail. {it.output[-MAX_CHECK_OUTPUT:]}"
        for it in broke
        if it.name not in ran_before
    ]
    lost = [it for it in rehearsed.checks if not it.passed and it.name in held and it not in broke]
    said += [f"Since it was mended, it fails what it passed before. {describe_check_failure(it)}" for it in lost]
    return " ".join((*said, _leaning(rehearsed) if broke else "")).strip()


def _leaning(rehearsed: ChangeRehearsed) -> str:
    """That the checks need what the commit does not have."""
    names = join_names([join_text_lines(path) for path in rehearsed.leans])
    return f"A check fails on what is committed, and passes together with what is not: {names}." if names else ""


def describe_weaker_selection(part: ChangeRehearsed, whole: ChangeRehearsed) -> str:
    """What fails with the part that a person took, and passes with all of it."""
    sound = {it.name for it in whole.checks if it.passed}
    names = [join_text_lines(it.name) for it in part.checks if not it.passed and it.name in sound]
    if not names:
        return ""
    fails = f"With what you took, {join_names(names)} still {'fails' if len(names) == 1 else 'fail'}, as before"
    return (
        f"{fails}; with all of it, {'it passes' if len(names) == 1 else 'they pass'}. To write it so, choose the same."
    )


def describe_broken_checks(rehearsed: ChangeRehearsed) -> str:
    """The same for the seats, with what the checks said."""
    broke = [
        f"{describe_failed_check(it)}\n{it.output[-MAX_CHECK_OUTPUT:]}".strip()
        for it in rehearsed.checks
        if it.name in rehearsed.broken_checks
    ]
    return "\n".join((*map(describe_refusal, rehearsed.refused), *broke))


def commit_message(question: str, decision: Decision, body: str = "") -> str:
    """What a commit says: what was decided, or the task where that is all the decision says; then how it came to it."""
    task = join_text_lines(question)
    line = task if decision.task_only else join_text_lines(decision.position) or task
    subject = (line if len(line) <= _SUBJECT else f"{line[: _SUBJECT - 1]}…").rstrip(".")
    return "\n\n".join(filter(None, (subject, body)))


def describe_missing_approvals(approved: Sequence[str], needed: int, against: Mapping[str, str]) -> str:
    """What a change lacks of the approvals it needs."""
    said = [f"{seat} asks for changes: {end_sentence(join_text_lines(why))}" for seat, why in against.items()]
    return " ".join((f"{len(approved)} of {needed} seats that did not write it approved it.", *said))


def decide_change_not_written(decision: Decision, why: str) -> Decision:
    """Nothing was written, because something stands against it."""
    return _without(decision, Outcome.DEADLOCK, f"Nothing was written. {why}")


def decide_change_declined(
    decision: Decision, planned: ChangePlanned, trouble: str = "", *, answered: bool
) -> Decision:
    """The person took none of it, or nobody was there to say yes; `trouble` is what an earlier yes came to."""
    if answered:
        return _without(decision, Outcome.REJECTED, f"The person said no, so nothing was written. {SHOW_CHANGE_AGAIN}")
    if trouble:
        return decide_change_not_written(decision, trouble)
    if planned.tests:
        names = join_names([join_text_lines(it) for it in planned.tests])
        return decide_change_unapproved(
            decision, f"nobody said yes to what it changes of the tests that were there ({names})"
        )
    return decide_change_unapproved(decision, "nobody said yes")


def decide_change_unapproved(decision: Decision, why: str) -> Decision:
    """Nothing was written, for want of a clear yes; there still can be one."""
    how = f"Nothing was written: {why}. {SHOW_CHANGE_AGAIN}"
    return msgspec.structs.replace(_without(decision, Outcome.DEADLOCK, how), next_step=NextStep.LATER)


def decide_dry_run(decision: Decision, planned: ChangePlanned) -> Decision:
    """A plan was all that was asked for."""
    shown = f"This was a dry run: nothing was written of {pluralize(len(planned.hunks), 'hunk')}."
    return msgspec.structs.replace(decision, how=(*decision.how, Said(shown)), next_step=NextStep.LATER)


def decide_apply_failed(decision: Decision, fault: Fault) -> Decision:
    """The last step failed."""
    return _without(
        decision, Outcome.DEADLOCK, f"It was approved, and could not be written. {fault.message} {fault.help}"
    )


def decide_change_applied(
    decision: Decision, applied: ChangeApplied, rehearsed: ChangeRehearsed, question: str = "", choice: str = ""
) -> Decision:
    """It stands in the workspace. What running showed of a candidate is not said of what the person made of it."""
    where = f" on the branch {applied.branch}" if applied.branch else ""
    commit = f" as commit {applied.commit[:12]}{where}" if applied.commit else where
    files = join_names([join_text_lines(path) for path in applied.files])
    back = "It was undone since" if applied.undone else f"To take it back: roundtable undo {applied.undo}"
    how = f"Written{commit}{_checked(rehearsed)}: {files}. {back}"
    unchecked = "" if rehearsed.checks or rehearsed.unrun else NO_CHECKS_TO_RUN
    own = _made_of_it(_parse_hunk_choice(choice))
    told = [Said(text) for text in (end_sentence(how), unchecked, applied.note, _leaning(rehearsed), own) if text]
    kept = join_names([join_text_lines(path) for path in applied.left])
    left = (Said(f"Not written, since somebody changed it in that very moment: {kept}."),) if kept else ()
    unrun = (Said(end_sentence(sentence)) for sentence in rehearsed.unrun)
    return msgspec.structs.replace(
        decision,
        how=(*told, *(() if own else decision.how)),
        text="\n\n".join(filter(None, (own, decision.text))),
        position=change_position(question, decision.author, applied.files)
        if own and decision.task_only
        else decision.position,
        notices=distinct_reasons((*decision.notices, *unrun, *left)),
        next_step=NextStep.APPLIED,
    )


def _checked(rehearsed: ChangeRehearsed) -> str:
    """How the checks ended on the merged tree."""
    if not rehearsed.checks:
        return ""
    failing = [join_text_lines(it.name) for it in rehearsed.checks if not it.passed]
    failed = f", of which {join_names(failing)} failed, as before" if failing else ""
    return f" after {pluralize(len(rehearsed.checks), 'check')} on the merged tree{failed}"


def _made_of_it(choice: HunkChoice) -> str:
    """What a person did to a change before they took it."""
    left, anew = (join_names([join_text_lines(id) for id in ids]) for ids in (choice.rejected, choice.edited))
    did = [f"left out {left}" if left else "", f"wrote {anew} anew" if anew else ""]
    return f"The person {' and '.join(filter(None, did))}." if any(did) else ""


def _without(decision: Decision, outcome: Outcome, why: str) -> Decision:
    return msgspec.structs.replace(decision, outcome=outcome, how=(*decision.how, Said(why.strip())))
