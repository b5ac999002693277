"""The failure of a program after its runs."""

from __future__ import annotations

from roundtable.core.candidate_reasons import RunFailure, RunsFailed
from roundtable.core.effects import ProjectRan
from roundtable.core.text.wording import join_text_lines

_MAX_LINE = 200


def decide_program_run_failure(run: ProjectRan) -> RunFailure:
    """Return the step at which a run failed, or why there was no run."""
    failed = next((step for step in run.steps if not step.passed), None)
    if run.why or failed is None:
        return RunFailure(why=join_text_lines(run.why))
    line = next((line for line in reversed(failed.output.splitlines()) if line.strip()), "")
    return RunFailure(failed.name, " ".join(failed.argv), failed.code, join_text_lines(line)[:_MAX_LINE])


def decide_reason_for_failed_program_runs(run: ProjectRan, runs: int) -> RunsFailed:
    """Return the reason of a stage whose program fails after all its runs."""
    return RunsFailed(runs, decide_program_run_failure(run))
