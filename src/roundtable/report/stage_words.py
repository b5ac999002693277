"""What a meeting in stages came to, as every view tells it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roundtable.core.decide.program_run import RUN_STOPPED_BY_PERSON, describe_run_method
from roundtable.core.decide.ruling import join_names
from roundtable.core.effects import ProjectDelivered, ProjectListed, ProjectRan, ProjectSplit, StageEnded
from roundtable.core.session import Session
from roundtable.core.stages import STAGE_ENDING_WORDS, StageEnd, last_stage_attempts
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import end_sentence, pluralize

_AGREED = 300
"""Characters of what a stage agreed on, where a line of it has to do."""


def list_stage_ends(session: Session) -> tuple[StageEnd, ...]:
    """How each stage of a session ended, the last attempt at each, in the order of the stages."""
    return last_stage_attempts(it.end for it in session.results.values() if isinstance(it, StageEnded))


def describe_stage_step(
    result: ProjectListed | ProjectSplit | ProjectRan | ProjectDelivered | StageEnded,
) -> Iterator[str]:
    """What came of a step, a sentence each."""
    match result:
        case ProjectListed():
            rest = f"; {len(result.left)} left out for room" if result.left else ""
            yield f"Shown of the project: {pluralize(len(result.items), 'file')}{rest}."
        case ProjectSplit():
            yield f"To be reviewed, one after the other: {pluralize(len(result.chunks), 'part')}."
        case ProjectRan():
            yield from _ran(result)
        case ProjectDelivered():
            yield f"Handed over: {sanitize_line(result.path)}."
        case StageEnded():
            yield from describe_stage_end(result.end)


def describe_stage_end(end: StageEnd) -> Iterator[str]:
    """How a stage ended: by whom, on whose work it rests, and what has to be known about it."""
    again = f" (attempt {end.attempt})" if end.attempt > 1 else ""
    judged = f" ({sanitize_line(end.judge)} judged)" if end.judge else ""
    yield f"{sanitize_line(end.stage)}{again} {STAGE_ENDING_WORDS[end.how]}{judged}."
    if end.base:
        others = sorted({it.seat for it in end.took} - {end.base})
        yield f"The base is {sanitize_line(end.base)}'s" + (f", with parts of {join_names(others)}." if others else ".")
    yield from (end_sentence(sanitize_line(it)) for it in end.all_notices)


def describe_stage_contributions(end: StageEnd) -> Iterator[str]:
    """How a stage ended, and what of its files came from whom."""
    yield from describe_stage_end(end)
    yield from (
        f"- {sanitize_line(it.path)}: {sanitize_line(it.symbol or 'the file')} from {it.seat}" for it in end.took
    )


def summarize_stage_history(ends: Sequence[StageEnd]) -> str:
    """How stages came to a change, a paragraph each: what was agreed, in a line, and whose the files are."""
    held = [it for it in ends if it.how not in ("skipped", "failed")]
    return "\n\n".join(
        "\n".join((f"{it.id} {sanitize_line(it.text, _AGREED)}".strip(), *describe_stage_contributions(it)))
        for it in held
    )


def _ran(ran: ProjectRan) -> Iterator[str]:
    yield from (end_sentence(sanitize_line(it)) for it in (describe_run_method(ran), *ran.notes, ran.why) if it)
    for it in ran.steps:
        yield f"{sanitize_line(it.name)} {'passed' if it.passed else 'failed'} ({it.seconds:.1f} s)."
    if ran.stopped:
        yield RUN_STOPPED_BY_PERSON
