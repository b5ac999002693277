"""Messages and decisions of meetings in stages, including the delivery of a finished project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from roundtable.core.effects import ProjectDelivered, ProjectListed
from roundtable.core.faults import Fault
from roundtable.core.reasons import (
    HandoverFailed,
    JudgeReadOwnWords,
    LastRunFailed,
    ProjectHandedOver,
    ProjectNotWritten,
    Reasons,
    StageFailed,
    StageNotice,
    StagesHeld,
    StagesStopped,
)
from roundtable.core.stages import STAGE_ENDING_WORDS, SdlcSettings, Stage, StageEnd
from roundtable.core.text.wording import end_sentence, pluralize
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
    """Return the question to the person after a stage."""
    said = [f"{stage.title} is over. It {STAGE_ENDING_WORDS[end.how]}."]
    said += map(end_sentence, end.all_notices)
    return " ".join((*said, "Is this the result?" if last else "Go on?"))


def list_unshown_files(listed: ProjectListed) -> str:
    """Return the names of files that do not fit into the prompt, for the seats; empty if all are shown."""
    more = len(listed.left) - _LISTED
    return "\n".join((*listed.left[:_LISTED], *((f"and {more} more",) if more > 0 else ())))


def describe_unshown_files(listed: ProjectListed) -> tuple[str, ...]:
    """Return notices for the person about files that seats were not shown."""
    shown, all = len(listed.items), len(listed.items) + len(listed.left)
    files = pluralize(all, "file")
    short = f"{shown} of {files} of the project were shown; for the others there is no room in the windows."
    return (*((short,) if listed.left else ()), *describe_refused_files(listed.refused, "read"))


def describe_refused_files(why: Mapping[str, str], done: str) -> tuple[str, ...]:
    """Return one sentence on the files that were not `done`, with the reasons; empty if there are none."""
    reasons = [why[name].rstrip(".") for name in sorted(why)]
    more = f"; and {len(reasons) - _NAMED} more" if len(reasons) > _NAMED else ""
    return (f"Not {done}: {'; '.join(reasons[:_NAMED])}{more}.",) if reasons else ()


def describe_missing_seats(rounds: Sequence[Round]) -> tuple[str, ...]:
    """Return a sentence for each seat that failed in these rounds, with the reason."""
    return tuple(
        f"{absence.seat} did not answer in {round.name}: {end_sentence(absence.fault.message)}"
        for round in rounds
        for absence in round.missing
    )


def decide_stages_stopped(ends: Sequence[StageEnd], answer: str, *, answered: bool) -> Decision:
    """Return the decision of a session that stopped after a stage, by the person or by default."""
    where = ends[-1].stage
    if answer == NextStep.BACK:
        return Decision(Outcome.CANCELLED, (StagesStopped(where, "back"),), next_step=NextStep.BACK)
    stopped = StagesStopped(where, "person" if answered else "nobody")
    return Decision(Outcome.CANCELLED, (stopped,), next_step=NextStep.STOP)


def find_last_run_failure(charter: Charter, ends: Sequence[StageEnd]) -> LastRunFailed | None:
    """Return that the last run of a finished project failed; None if it succeeded or was not planned."""
    runs = {stage.name for stage in Stage.list_of(charter) if stage.kind == "run"}
    last = next((end for end in reversed(ends) if end.stage in runs and end.how != "skipped"), None)
    if last is None or last.how != "failed" or not StageEnd.latest_draft(ends):
        return None
    return LastRunFailed(ran=bool(last.text))


def decide_project_finished(charter: Charter, ends: Sequence[StageEnd], where: Reasons = ()) -> Decision:
    """Return the decision with the current project as the result; `where` says where it was written."""
    failed = [end for end in ends if end.how == "failed"]
    begun = [end for end in ends if end.how != "skipped"]
    own = tuple(end.stage for end in ends if end.own_words)
    how = (
        StagesHeld(tuple(end.stage for end in begun if end.held)),
        *((JudgeReadOwnWords(own),) if own else ()),
        *where,
    )
    trouble = find_last_run_failure(charter, ends)
    notices = (
        *((trouble,) if trouble else ()),
        *(StageFailed(end.stage) for end in failed),
        *(StageNotice(end.stage, notice) for end in ends for notice in end.notices),
    )
    outcome = Outcome.DEADLOCK if len(failed) == len(begun) else Outcome.REACHED
    text = "\n\n".join(f"{end.id} {end.stage}\n{end.text}" for end in ends if end.text)
    later = NextStep.LATER if outcome is Outcome.REACHED and StageEnd.latest_draft(ends) else ""
    return Decision(outcome, how, text=text, notices=notices, next_step=later)


HandoverForm = Literal["folder", "git", "zip"]

_ANY_TIME = "`roundtable project` with this session delivers it at any time."
HANDOVER_FORMS: Mapping[HandoverForm, str] = {
    "folder": "as a plain folder",
    "git": "as a git repository with a commit for each stage",
    "zip": "as a zip",
}


def is_nameless_path(name: str) -> bool:
    """Return whether the last part of a path contains no name for the project."""
    return name.removesuffix(".zip") in ("", ".", "..")


def handover_path(charter: Charter, form: HandoverForm) -> str:
    """Return the target of delivery: `--into`, or a folder in the workspace named after the session."""
    into = SdlcSettings.of(charter).into or charter.slug
    path = into if into.startswith("/") else f"{charter.workspace.rstrip('/')}/{into}"
    return path_for_handover_form(path, form)


def path_for_handover_form(path: str, form: HandoverForm) -> str:
    """Return the target path for this form of delivery: a zip ends in `.zip`."""
    return f"{path.removesuffix('.zip')}.zip" if form == "zip" else path


def handover_choices(charter: Charter) -> Mapping[str, str]:
    """Return the options of the gate `deliver`, each with its description."""
    forms = {form: f"{how}: {handover_path(charter, form)}" for form, how in HANDOVER_FORMS.items()}
    return {**forms, NextStep.LATER: f"write nothing now; {_ANY_TIME}"}


def decide_project_kept(charter: Charter, ends: Sequence[StageEnd]) -> Decision:
    """Return the decision of a finished project that was not written."""
    return decide_project_finished(charter, ends, (ProjectNotWritten(),))


def decide_project_extended(decision: Decision) -> Decision:
    """Return the decision of an extended project: reached unless the person rejected the change."""
    waits = decision.next_step == NextStep.LATER
    return msgspec.structs.replace(decision, outcome=Outcome.REACHED) if waits else decision


def decide_project_handed_over(charter: Charter, ends: Sequence[StageEnd], given: ProjectDelivered | Fault) -> Decision:
    """Return the decision of a finished project after delivery, or after a failed delivery."""
    if isinstance(given, Fault):
        return decide_project_finished(charter, ends, (HandoverFailed(given),))
    handed_over = ProjectHandedOver(len(given.files), given.path, given.commit)
    decision = decide_project_finished(charter, ends, (handed_over,))
    return msgspec.structs.replace(decision, next_step=NextStep.DELIVERED)
