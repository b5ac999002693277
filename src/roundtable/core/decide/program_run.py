"""Describes the run of a project, in words for seats and people."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.effects import CheckOutcome, ProjectRan
from roundtable.core.sandbox import Limit
from roundtable.core.stages import Contribution
from roundtable.core.text.wording import end_sentence, join_names, join_text_lines, pluralize

MAX_STEP_OUTPUT = 6_000
"""Characters of a step's output that are told; the end of it says what went wrong."""

RUN_STOPPED_BY_PERSON = "The person stopped it."
LAST_REPAIR_NOT_RUN = "The last fix was not run."
_SHORT = 200
_LAST_WORDS = 2_000
_SERVICE = "A service needs a [check] in run.toml: it is asked that while it runs, and then stopped."


_HOW = {"compose": "by its compose file", "dockerfile": "by its Dockerfile", "plan": "as a plain program"}


def describe_run_method(ran: ProjectRan) -> str:
    """Return a sentence on how and where the program was run; empty if it was not run."""
    where = f", in {ran.sandbox}" if ran.sandbox else ""
    return f"It was run {_HOW[ran.how]}{where}." if ran.how else ""


def describe_project_run(ran: ProjectRan) -> str:
    """Return how the project was run, how each step ended, and the end of their output."""
    return _told(ran, MAX_STEP_OUTPUT)


def summarize_project_run(ran: ProjectRan) -> str:
    """Return the description of a run with only the last lines of output, for seats in later stages."""
    return _told(ran, _LAST_WORDS)


def _told(ran: ProjectRan, longest: int) -> str:
    said = [*filter(None, (describe_run_method(ran),)), *ran.notes, *filter(None, (ran.why,))]
    said += [f"Its install step was not allowed: {' '.join(ran.wants_install)}."] if ran.wants_install else []
    said += [_step(it, longest) for it in ran.steps]
    said += [_SERVICE] if _never_ended(ran) else []
    said += [RUN_STOPPED_BY_PERSON] if ran.stopped else []
    return "\n".join(said) or "Nothing was run."


def _step(it: CheckOutcome, longest: int) -> str:
    limit = f" It reached the limit of {it.limit}." if it.limit else ""
    return f"{_ended(it)}.{limit}\n{it.output[-longest:]}".rstrip()


def _ended(it: CheckOutcome) -> str:
    how = "was stopped" if it.code is None else f"ended with exit code {it.code}"
    return f"{it.name} ({' '.join(it.argv)}) {how}"


def _never_ended(ran: ProjectRan) -> bool:
    """Return whether a program without a check ran until its time limit."""
    return len(ran.steps) > 0 and ran.steps[-1].name == "run" and ran.steps[-1].limit is Limit.TIME


def _describe_run_failure(ran: ProjectRan) -> str:
    """Return the cause of a failed run in one line."""
    failed = next((it for it in ran.steps if not it.passed), None)
    if ran.why or failed is None:
        return end_sentence(_line(ran.why or "Nothing was run", _SHORT))
    last = next((line for line in reversed(failed.output.splitlines()) if line.strip()), "")
    return end_sentence(_line(f"{_ended(failed)}{f': {last.strip()}' if last else ''}", _SHORT))


def _quoted(argv: Sequence[str]) -> str:
    """Return a complete argument list with each argument in quotes, for the person who must allow it."""
    return " ".join(msgspec.json.encode(it).decode() for it in argv)


def install_question(argv: Sequence[str]) -> str:
    """Return the question whether the install step may run, with its consequences."""
    return (
        f"The program wants to install what it needs: {_quoted(argv)}. This step alone, which the seats wrote, would "
        "run with a network in the sandbox, and so reach the servers of this machine too. Your approval covers the "
        "project as it is now; if its files change, you are asked again. Allow it?"
    )


def rerun_question(ran: ProjectRan, took: Sequence[Contribution]) -> str:
    """Return the question whether to run the program again with a fix."""
    by = join_names(list(dict.fromkeys(it.seat for it in took)))
    files = _line(join_names(list(dict.fromkeys(it.path for it in took))), _SHORT)
    return f"The program failed: {_describe_run_failure(ran)} {by} fixed {files}. Run it again?"


def _line(text: str, longest: int) -> str:
    line = join_text_lines(text)
    return line if len(line) <= longest else f"{line[:longest]}…"


def describe_failed_runs(ran: ProjectRan, runs: int) -> str:
    """Return a sentence on a program that fails after all its runs."""
    fails = "still fails" if runs > 1 else "fails"
    return f"The program {fails} after {pluralize(runs, 'run')}: {_describe_run_failure(ran)}"
