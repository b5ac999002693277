"""Sentences about the run of a project: how it was run, how its steps ended, and the questions about it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.candidate_reasons import RunFailure
from roundtable.core.decide.program_run import decide_program_run_failure
from roundtable.core.effects import CheckOutcome, ProjectRan
from roundtable.core.sandbox import Limit
from roundtable.core.stages import Contribution
from roundtable.core.text.wording import end_text_as_sentence, join_names_as_text, join_text_lines

RUN_STOPPED_BY_PERSON = "The person stopped the program."
_MAX_STEP_OUTPUT = 6_000
"""Largest number of characters of a step's output that is shown; the end of it says what went wrong."""
_MAX_SUMMARY_OUTPUT = 2_000
_MAX_FILES_LENGTH = 200
_MAX_FAILURE_LENGTH = 200
_METHODS = {"compose": "with its compose file", "dockerfile": "with its Dockerfile", "plan": "as a plain program"}
_SERVICE_ADVICE = (
    "The program ran until its time limit. If it is a service, add a [check] section to run.toml: the command in that "
    "section is run while the service runs, and then the service is stopped."
)


def program_run_method_sentence(run: ProjectRan) -> str:
    """How and where the program was run; empty if it was not run."""
    where = f", in {run.sandbox}" if run.sandbox else ""
    return f"The program was run {_METHODS[run.how]}{where}." if run.how else ""


def render_project_run(run: ProjectRan) -> str:
    """How the program was run, how each step ended, and the end of their output, for seats that fix it."""
    return _render_run(run, _MAX_STEP_OUTPUT)


def render_project_run_summary(run: ProjectRan) -> str:
    """How the program was run, with only the last lines of output, for seats in later stages."""
    return _render_run(run, _MAX_SUMMARY_OUTPUT)


def _render_run(run: ProjectRan, most: int) -> str:
    lines = [*filter(None, (program_run_method_sentence(run), *run.notes, run.why))]
    lines += (
        [f"The install step of the program was not allowed: {' '.join(run.wants_install)}."]
        if run.wants_install
        else []
    )
    lines += [_render_step(step, most) for step in run.steps]
    lines += [_SERVICE_ADVICE] if _reached_time_limit(run) else []
    lines += [RUN_STOPPED_BY_PERSON] if run.stopped else []
    return "\n".join(lines) or "Nothing was run."


def _render_step(step: CheckOutcome, most: int) -> str:
    limit = f" The step reached its {step.limit} limit." if step.limit else ""
    return f"{_step_result(step.name, ' '.join(step.argv), step.code)}.{limit}\n{step.output[-most:]}".rstrip()


def _step_result(name: str, command: str, code: int | None) -> str:
    return f"{name} ({command}) {'was stopped' if code is None else f'ended with exit code {code}'}"


def _reached_time_limit(run: ProjectRan) -> bool:
    """Whether a program without a check ran until its time limit."""
    return len(run.steps) > 0 and run.steps[-1].name == "run" and run.steps[-1].limit is Limit.TIME


def run_failure_sentence(failure: RunFailure) -> str:
    """Why a run of the program failed, in one line."""
    if not failure.step:
        return end_text_as_sentence(_shorten_line(failure.why or "Nothing was run", _MAX_FAILURE_LENGTH))
    line = f": {failure.line}" if failure.line else ""
    result = _step_result(failure.step, failure.command, failure.code)
    return end_text_as_sentence(_shorten_line(f"{result}{line}", _MAX_FAILURE_LENGTH))


def install_step_question_sentence(argv: Sequence[str]) -> str:
    """The question whether the install step may run, with its consequences."""
    command = " ".join(msgspec.json.encode(argument).decode() for argument in argv)
    return (
        f"The program needs to install packages: {command}. The seats wrote this step. Only this step would run with "
        "network access in the sandbox, so it could also reach servers on this machine. Your approval covers the "
        "project as it is now: if its files change, you are asked again. Allow this step?"
    )


def program_rerun_question_sentence(run: ProjectRan, fixes: Sequence[Contribution]) -> str:
    """The question whether to run the program again with a fix."""
    seats = join_names_as_text(list(dict.fromkeys(fix.seat for fix in fixes)))
    files = _shorten_line(join_names_as_text(list(dict.fromkeys(fix.path for fix in fixes))), _MAX_FILES_LENGTH)
    failure = run_failure_sentence(decide_program_run_failure(run))
    return f"The program failed: {failure} {seats} then changed {files}. Run the program again?"


def _shorten_line(text: str, most: int) -> str:
    line = join_text_lines(text)
    return line if len(line) <= most else f"{line[:most]}…"
