"""Sentences about the stages of a meeting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roundtable.core.effects import ProjectDelivered, ProjectListed, ProjectRan, ProjectSplit, StageEnded
from roundtable.core.replies.judge import restore_seat_names_in_reply_directive
from roundtable.core.stage_history import StageFileChange
from roundtable.core.stages import Stage, StageEnd, StageEnding
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import end_text_as_sentence, join_names_as_text, join_text_lines, pluralize
from roundtable.core.verdict import Directives
from roundtable.report.reasons import reason_sentence
from roundtable.report.run_words import RUN_STOPPED_BY_PERSON, program_run_method_sentence

STAGE_ENDING_WORDS: dict[StageEnding, str] = {
    "agreed": "was agreed on",
    "chosen": "was decided by the person",
    "run": "was decided by running the candidates",
    "same": "was written identically by several seats",
    "alone": "was written by only one seat",
    "ran": "ran successfully",
    "skipped": "was skipped",
    "failed": "ended without a result",
}
"""The ending in words, to follow the name of a stage."""
_AGREED_LENGTH = 300
"""Largest number of characters of what a stage agreed, in a summary."""


def describe_stage_step(
    result: ProjectListed | ProjectSplit | ProjectRan | ProjectDelivered | StageEnded,
) -> Iterator[str]:
    """The result of a step of a stage, a sentence each."""
    match result:
        case ProjectListed():
            omitted = (
                f"; {pluralize(len(result.left), 'file')} did not fit into the context window" if result.left else ""
            )
            yield f"The seats see {pluralize(len(result.items), 'file')} of the project{omitted}."
        case ProjectSplit():
            yield f"The project is reviewed in {pluralize(len(result.chunks), 'part')}, one after another."
        case ProjectRan():
            yield from _describe_run(result)
        case ProjectDelivered():
            yield f"Project delivered: {sanitize_line(result.path)}."
        case StageEnded():
            yield from describe_stage_end(result.end)


def describe_stage_end(end: StageEnd) -> Iterator[str]:
    """How a stage ended: the outcome, the judge, the base and notices."""
    again = f" (attempt {end.attempt})" if end.attempt > 1 else ""
    judged = f" ({sanitize_line(end.judge)} judged)" if end.judge else ""
    yield f"{sanitize_line(end.stage)}{again} {STAGE_ENDING_WORDS[end.how]}{judged}."
    if end.base:
        others = sorted({part.seat for part in end.took} - {end.base})
        parts = f", with parts of {join_names_as_text(others)}" if others else ""
        yield f"The result is based on the files of {sanitize_line(end.base)}{parts}."
    yield from (end_text_as_sentence(sanitize_line(sentence)) for sentence in stage_notice_sentences(end))


def stage_notice_sentences(end: StageEnd) -> tuple[str, ...]:
    """The notices of a stage, a sentence each."""
    return tuple(map(reason_sentence, end.all_notices))


def stage_gate_sentence(stage: Stage, end: StageEnd, *, last: bool) -> str:
    """The question to the person after a stage."""
    ending = f"The stage {stage.title} is finished. It {STAGE_ENDING_WORDS[end.how]}."
    notices = map(end_text_as_sentence, stage_notice_sentences(end))
    return " ".join((ending, *notices, "Accept this result?" if last else "Continue?"))


def describe_stage_contributions(end: StageEnd) -> Iterator[str]:
    """How a stage ended, and which of its files came from which seat."""
    yield from describe_stage_end(end)
    yield from (
        f"- {sanitize_line(part.path)}: {sanitize_line(part.symbol or 'the file')} from {part.seat}"
        for part in end.took
    )


def describe_file_contributions(change: StageFileChange) -> str:
    """The seats that contributed to a file in a stage, and the parts taken from them."""
    parts = [f"{part.symbol} from {part.seat}" if part.symbol else f"from {part.seat}" for part in change.took]
    return ", ".join(filter(None, (change.base, *parts)))


def describe_stage_history(ends: Sequence[StageEnd]) -> str:
    """How stages led to a change, a paragraph each: what was agreed and who contributed."""
    completed = [end for end in ends if end.how not in ("skipped", "failed")]
    return "\n\n".join(
        "\n".join((f"{end.id} {sanitize_line(end.text, _AGREED_LENGTH)}".strip(), *describe_stage_contributions(end)))
        for end in completed
    )


def _describe_run(run: ProjectRan) -> Iterator[str]:
    yield from (
        end_text_as_sentence(sanitize_line(sentence))
        for sentence in (program_run_method_sentence(run), *run.notes, run.why)
        if sentence
    )
    for step in run.steps:
        yield f"The step {sanitize_line(step.name)} {'passed' if step.passed else 'failed'} ({step.seconds:.1f} s)."
    if run.stopped:
        yield RUN_STOPPED_BY_PERSON


def describe_stage_ruling(directives: Directives, candidates: Sequence[str]) -> str:
    """The ruling of a judge on the files of a stage, without labels and names of seats."""
    names = {label: "the base" if label == directives.base else "another candidate" for label in candidates}
    additions = [
        restore_seat_names_in_reply_directive(directive, names)
        for directive in (*directives.incorporate, *directives.must_fix)
    ]
    if not additions:
        return "The judge chose one candidate without changes."
    items = (f"- {addition}" for addition in additions)
    return "\n".join(("The judge chose one candidate as the base and asked for these additions:", *items))


def stage_files_question_sentence(title: str, verdict: str, options: Sequence[str]) -> str:
    """The question whose files to take; `verdict` is what the judge said, with the options that remain."""
    remaining = f": {'; '.join(map(join_text_lines, options))}" if options else ""
    ruled = end_text_as_sentence(f"{verdict}{remaining}")
    return f"{title}: the seats did not agree on whose files to use. {ruled} Whose files should be used?"
