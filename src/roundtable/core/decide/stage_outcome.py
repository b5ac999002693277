"""What a meeting in stages says to people, and the decision it comes to.

What people are told when a project that was made from nothing is finished, and where it goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from roundtable.core.effects import ProjectDelivered, ProjectListed
from roundtable.core.faults import Fault
from roundtable.core.reasons import Said
from roundtable.core.stages import (
    STAGE_ENDING_WORDS,
    Stage,
    StageEnd,
    charter_stages,
    latest_stage_draft,
    sdlc_settings,
)
from roundtable.core.text.wording import end_sentence, join_names, pluralize
from roundtable.core.values import Charter, Decision, NextStep, Outcome, Round

STAGE_PROMPTS = (
    "system",
    "draft",
    "discuss",
    "judge",
    "about",
    "repair",
    "chunk",
    "findings-judge",
    "look",
    "fix",
    "write",
    "rewrite",
    "judge-files",
    "refine",
    "analyse",
)
"""The prompts of such a meeting."""

UNSHOWN_FILES_INTRO = (
    "There is no room for all files of the project. These are not shown; the map of the program says what they hold. "
    "Use them as the map says, and leave them as they are:"
)
STAGE_NOT_HELD = "Nobody was asked: the limits of the session were reached."
_NAMED = 5
_LISTED = 100


def stage_gate_question(stage: Stage, end: StageEnd, *, last: bool) -> str:
    """What the person is asked after a stage."""
    said = [f"{stage.title} is over. It {STAGE_ENDING_WORDS[end.how]}."]
    said += map(end_sentence, end.all_notices)
    return " ".join((*said, "Is this the result?" if last else "Go on?"))


def list_unshown_files(listed: ProjectListed) -> str:
    """The files that seats are not shown for want of room, as they read it; empty where they are shown all of them."""
    more = len(listed.left) - _LISTED
    return "\n".join((*listed.left[:_LISTED], *((f"and {more} more",) if more > 0 else ())))


def describe_unshown_files(listed: ProjectListed) -> tuple[str, ...]:
    """What the person has to know of files that nobody was shown."""
    shown, all = len(listed.items), len(listed.items) + len(listed.left)
    files = pluralize(all, "file")
    short = f"{shown} of {files} of the project were shown; for the others there is no room in the windows."
    return (*((short,) if listed.left else ()), *describe_refused_files(listed.refused, "read"))


def describe_refused_files(why: Mapping[str, str], done: str) -> tuple[str, ...]:
    """Which files were left out of what was `done`, and why, in one sentence."""
    reasons = [why[name].rstrip(".") for name in sorted(why)]
    more = f"; and {len(reasons) - _NAMED} more" if len(reasons) > _NAMED else ""
    return (f"Not {done}: {'; '.join(reasons[:_NAMED])}{more}.",) if reasons else ()


def describe_missing_seats(rounds: Sequence[Round]) -> tuple[str, ...]:
    """Who was asked and not heard, in which round and why, a sentence each."""
    return tuple(
        f"{it.seat} was not heard in {round.name}: {end_sentence(it.fault.message)}"
        for round in rounds
        for it in round.missing
    )


def decide_stages_stopped(ends: Sequence[StageEnd], answer: str, *, answered: bool) -> Decision:
    """The person stopped, or went back to an earlier stage on another line; or nobody answered."""
    where = ends[-1].stage
    if answer == NextStep.BACK:
        how = f"After {where} the person went back to an earlier stage; this line ends here and can still be read."
        return Decision(Outcome.CANCELLED, (Said(how),), next_step=NextStep.BACK)
    how = f"It was stopped after {where}{', as the person said' if answered else ': nobody said to go on'}."
    return Decision(Outcome.CANCELLED, (Said(how),), next_step=NextStep.STOP)


def describe_last_run_failure(charter: Charter, ends: Sequence[StageEnd]) -> str:
    """What its last run says against a project that is finished; empty where it ran, or was not to be run."""
    runs = {it.name for it in charter_stages(charter) if it.kind == "run"}
    last = next((it for it in reversed(ends) if it.stage in runs and it.how != "skipped"), None)
    if last is None or last.how != "failed" or not latest_stage_draft(ends):
        return ""
    return f"The project is finished, but {'its last run failed' if last.text else 'it could not be run'}."


def decide_project_finished(charter: Charter, ends: Sequence[StageEnd], where: str = "") -> Decision:
    """The project as it stands is the result."""
    failed = [it for it in ends if it.how == "failed"]
    begun = [it for it in ends if it.how != "skipped"]
    held = [it.stage for it in begun if it.held]
    count = pluralize(len(held), "stage")
    own = [it.stage for it in ends if it.own_words]
    said = [f"{count} {'was' if len(held) == 1 else 'were'} held{': ' if held else ''}{', '.join(held)}."]
    said += [f"In {join_names(own)} the judge read its own words among the others', unsigned."] if own else []
    notices = [trouble] if (trouble := describe_last_run_failure(charter, ends)) else []
    notices += [f"{it.stage} came to nothing." for it in failed]
    notices += [f"{it.stage}: {told}" for it in ends for told in it.notices]
    outcome = Outcome.DEADLOCK if len(failed) == len(begun) else Outcome.REACHED
    text = "\n\n".join(f"{it.id} {it.stage}\n{it.text}" for it in ends if it.text)
    later = NextStep.LATER if outcome is Outcome.REACHED and latest_stage_draft(ends) else ""
    how = tuple(map(Said, filter(None, (*said, where))))
    return Decision(outcome, how, text=text, notices=tuple(map(Said, notices)), next_step=later)


HandoverForm = Literal["folder", "git", "zip"]

_ANY_TIME = "`roundtable project` with this session hands it over whenever you like."
HANDOVER_FORMS: Mapping[HandoverForm, str] = {
    "folder": "as a plain folder",
    "git": "as a git repository with a commit for each stage",
    "zip": "as a zip",
}


def is_nameless_path(name: str) -> bool:
    """Whether the last part of a path says nothing of what the project, or the folder in its zip, is called."""
    return name.removesuffix(".zip") in ("", ".", "..")


def handover_path(charter: Charter, form: HandoverForm) -> str:
    """Where a project goes: where the person said at the opening, else into the workspace under the session's name."""
    into = sdlc_settings(charter).into or charter.slug
    path = into if into.startswith("/") else f"{charter.workspace.rstrip('/')}/{into}"
    return path_for_handover_form(path, form)


def path_for_handover_form(path: str, form: HandoverForm) -> str:
    """The same place under the name that a project of this form has there: a zip says that it is one."""
    return f"{path.removesuffix('.zip')}.zip" if form == "zip" else path


def handover_choices(charter: Charter) -> Mapping[str, str]:
    """What can be done with it, and where each would put it."""
    forms = {form: f"{how}: {handover_path(charter, form)}" for form, how in HANDOVER_FORMS.items()}
    return {**forms, NextStep.LATER: f"write nothing now; {_ANY_TIME}"}


def handover_question(charter: Charter, ends: Sequence[StageEnd]) -> str:
    """What the person is asked of a project that is finished."""
    return f"{describe_last_run_failure(charter, ends) or 'The project is finished.'} How do you want it?"


def decide_project_kept(charter: Charter, ends: Sequence[StageEnd]) -> Decision:
    """It is finished, and nothing was written."""
    return decide_project_finished(charter, ends, f"Nothing was written: {_ANY_TIME}")


def decide_project_extended(decision: Decision) -> Decision:
    """A project of the person's with what was made for it: while nobody has said no, what was agreed on stands."""
    waits = decision.next_step == NextStep.LATER
    return msgspec.structs.replace(decision, outcome=Outcome.REACHED) if waits else decision


def decide_project_handed_over(charter: Charter, ends: Sequence[StageEnd], given: ProjectDelivered | Fault) -> Decision:
    """It is finished, and stands where it was wanted; or it could not be put there."""
    if isinstance(given, Fault):
        why = f"It could not be handed over. {given.message} {given.help} {_ANY_TIME}"
        return decide_project_finished(charter, ends, why)
    commit = f" as commit {given.commit[:12]}" if given.commit else ""
    decision = decide_project_finished(
        charter, ends, f"It was handed over{commit}, {pluralize(len(given.files), 'file')}: {given.path}"
    )
    return msgspec.structs.replace(decision, next_step=NextStep.DELIVERED)
