"""What people are told when a project that was made from nothing is finished, and where it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from roundtable.core.decide.stage_outcome import finished, run_trouble
from roundtable.core.effects import Delivered
from roundtable.core.faults import Fault
from roundtable.core.stages import StageEnd, settings_of
from roundtable.core.text.wording import many
from roundtable.core.values import Charter, Decision, NextStep, Outcome

Form = Literal["folder", "git", "zip"]

_ANY_TIME = "`roundtable project` with this session hands it over whenever you like."
FORMS: Mapping[Form, str] = {
    "folder": "as a plain folder",
    "git": "as a git repository with a commit for each stage",
    "zip": "as a zip",
}


def is_nameless(name: str) -> bool:
    """Whether the last part of a path says nothing of what the project, or the folder in its zip, is called."""
    return name.removesuffix(".zip") in ("", ".", "..")


def place(charter: Charter, form: Form) -> str:
    """Where a project goes: where the person said at the opening, else into the workspace under the session's name."""
    into = settings_of(charter).into or charter.slug
    path = into if into.startswith("/") else f"{charter.workspace.rstrip('/')}/{into}"
    return named_as(path, form)


def named_as(path: str, form: Form) -> str:
    """The same place under the name that a project of this form has there: a zip says that it is one."""
    return f"{path.removesuffix('.zip')}.zip" if form == "zip" else path


def choices(charter: Charter) -> Mapping[str, str]:
    """What can be done with it, and where each would put it."""
    forms = {form: f"{how}: {place(charter, form)}" for form, how in FORMS.items()}
    return {**forms, NextStep.LATER: f"write nothing now; {_ANY_TIME}"}


def question(charter: Charter, ends: Sequence[StageEnd]) -> str:
    """What the person is asked of a project that is finished."""
    return f"{run_trouble(charter, ends) or 'The project is finished.'} How do you want it?"


def kept(charter: Charter, ends: Sequence[StageEnd]) -> Decision:
    """It is finished, and nothing was written."""
    return finished(charter, ends, f"Nothing was written: {_ANY_TIME}")


def extended(decision: Decision) -> Decision:
    """A project of the person's with what was made for it: while nobody has said no, what was agreed on stands."""
    waits = decision.next_step == NextStep.LATER
    return msgspec.structs.replace(decision, outcome=Outcome.REACHED) if waits else decision


def handed_over(charter: Charter, ends: Sequence[StageEnd], given: Delivered | Fault) -> Decision:
    """It is finished, and stands where it was wanted; or it could not be put there."""
    if isinstance(given, Fault):
        why = f"It could not be handed over. {given.message} {given.help} {_ANY_TIME}"
        return finished(charter, ends, why)
    commit = f" as commit {given.commit[:12]}" if given.commit else ""
    decision = finished(charter, ends, f"It was handed over{commit}, {many(len(given.files), 'file')}: {given.path}")
    return msgspec.structs.replace(decision, next_step=NextStep.DELIVERED)
