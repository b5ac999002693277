"""What came of a step, in a sentence for people: files shown and refused, checks run, a child meeting's end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from roundtable.core.changeset import Refusal
from roundtable.core.decide.change_outcome import NO_CHECKS_TO_RUN
from roundtable.core.decide.trial_outcome import candidate_failure_reasons
from roundtable.core.effects import (
    ApplyChange,
    Candidate,
    CandidatesTried,
    ChangeApplied,
    ChangePlanned,
    ChangeRehearsed,
    CheckOutcome,
    ChecksRun,
    ChildEnded,
    ClaimsProven,
    DeliverProject,
    DraftMove,
    DraftsSynthesised,
    Effect,
    EffectResult,
    EndStage,
    FilesRead,
    ListProject,
    MergeTried,
    MoveDrafted,
    OpenChild,
    PlanChange,
    ProjectDelivered,
    ProjectListed,
    ProjectRan,
    ProjectSplit,
    Proof,
    ProveClaims,
    ReadFiles,
    RehearseChange,
    RunChecks,
    RunProject,
    SplitForReview,
    StageEnded,
    SynthesiseDrafts,
    TryCandidates,
    TryMerged,
    UnmergedDirective,
)
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import end_sentence
from roundtable.report.provenance import (
    CANDIDATE_COLUMNS,
    CHECK_COLUMNS,
    TAKEN_PART_COLUMNS,
    candidate_table_rows,
    check_table_rows,
    describe_applied_change,
    describe_change_plan,
    describe_change_refusal,
    taken_part_rows,
)
from roundtable.report.stage_words import describe_stage_step

_LONGEST = 160
_NOTHING = "Nothing came of it."
_BEGUN: dict[type[Effect], str] = {
    ReadFiles: "Reading the files that were asked for.",
    RunChecks: "Running the checks that were asked for, in the sandbox.",
    OpenChild: "Holding a meeting under this one.",
    EndStage: "Putting down what the stage came to.",
    PlanChange: "Holding the draft against the workspace.",
    RehearseChange: "Rehearsing it in a scratch tree, with the checks.",
    ApplyChange: "Writing it.",
    ProveClaims: "Running the proofs, in the sandbox.",
    ListProject: "Reading the project.",
    SplitForReview: "Reading the project and drawing its map.",
    RunProject: "Running the program, in the sandbox.",
    DeliverProject: "Handing the project over.",
}


def describe_step_result(result: EffectResult) -> str:
    """The result in a line; names and reasons come from outside and are cleaned."""
    return " ".join(_sentences(result))


def describe_running_step(effect: Effect) -> str:
    """What is being done, while it is."""
    match effect:
        case TryCandidates():
            return f"Running what {_names(effect.seats)} wrote, in the sandbox."
        case TryMerged():
            return f"Running what became of {sanitize_line(effect.base)}'s, in the sandbox."
        case SynthesiseDrafts():
            return f"Splicing into what {sanitize_line(effect.base)} wrote."
        case DraftMove():
            return f"Drafting what {sanitize_line(effect.seat)} wants to write."
        case _:
            return _BEGUN[type(effect)]


def render_step_result_lines(result: EffectResult) -> list[str]:
    """The same for a terminal: what is a table is one."""
    match result:
        case CandidatesTried():
            where = f" (in {sanitize_line(result.sandbox)})" if result.sandbox else ""
            how = [end_sentence(sanitize_line(result.how))] if result.how else []
            table = _aligned(CANDIDATE_COLUMNS, candidate_table_rows(result))
            return [f"The candidates, best first{where}:", *table, *_why_not(result.candidates), *how]
        case MergeTried():
            it = result.candidate
            table = _aligned(CANDIDATE_COLUMNS, candidate_table_rows(CandidatesTried((it,))))
            return [f"What became of {sanitize_line(it.seat)}'s:", *table, *_why_not((it,))]
        case DraftsSynthesised() if result.took:
            rows = _aligned(TAKEN_PART_COLUMNS, taken_part_rows(result.took))
            return ["What came from whom:", *rows, *_taken_out(result), *map(_unspliced, result.left)]
        case ChangeRehearsed() if result.checks:
            return ["The rehearsal:", *_aligned(CHECK_COLUMNS, check_table_rows(result)), *_went_wrong(result)]
        case (
            ChangePlanned()
            | ChangeApplied()
            | MoveDrafted()
            | ClaimsProven()
            | DraftsSynthesised()
            | ChangeRehearsed()
            | StageEnded()
        ):
            return list(_sentences(result)) or [_NOTHING]
        case _:
            return [describe_step_result(result) or _NOTHING]


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [[sanitize_line(cell, _LONGEST) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  " + "  ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]


def _sentences(result: EffectResult) -> Iterator[str]:
    match result:
        case FilesRead():
            if result.items:
                yield f"Shown to all: {', '.join(sanitize_line(item.name, _LONGEST) for item in result.items)}."
            yield from _refused(result.refused)
        case ChecksRun():
            yield from map(_check, result.outcomes)
            yield from _refused(result.refused)
        case ChildEnded():
            yield f"The meeting under it ended: {result.decision.outcome}."
        case ClaimsProven():
            yield from map(_proof, result.proofs)
        case ProjectListed() | ProjectSplit() | ProjectRan() | ProjectDelivered() | StageEnded():
            yield from describe_stage_step(result)
        case _:
            yield from _of_the_bench(result)


def _of_the_bench(
    result: CandidatesTried
    | MergeTried
    | DraftsSynthesised
    | MoveDrafted
    | ChangePlanned
    | ChangeRehearsed
    | ChangeApplied,
) -> Iterator[str]:
    match result:
        case CandidatesTried():
            yield from map(_candidate, result.candidates)
            if result.how:
                yield end_sentence(sanitize_line(result.how))
        case MergeTried():
            yield _candidate(result.candidate)
        case DraftsSynthesised():
            yield from (_sentence(f"{it.symbol or it.path} came from {it.seat}") for it in result.took)
            yield from _taken_out(result)
            yield from map(_unspliced, result.left)
        case MoveDrafted():
            if result.files:
                yield f"Drafted: {_names(result.files)}."
            yield from map(_not_written, result.refused)
        case ChangePlanned():
            yield from map(_sentence, describe_change_plan(result))
        case ChangeRehearsed():
            yield from map(_check, result.checks)
            if not result.checks and not result.refused:
                yield NO_CHECKS_TO_RUN
            yield from _went_wrong(result)
        case ChangeApplied():
            yield from map(_sentence, describe_applied_change(result))


def _sentence(words: str) -> str:
    words = sanitize_line(words, _LONGEST)
    return words if words.endswith((".", "…")) else f"{words}."


def _names(names: Sequence[str]) -> str:
    return ", ".join(sanitize_line(name, _LONGEST) for name in names)


def _refused(refused: Mapping[str, str]) -> Iterator[str]:
    for name, why in refused.items():
        yield f"Refused: {sanitize_line(name, _LONGEST)} ({sanitize_line(why, _LONGEST).rstrip('.')})."


def _not_written(refusal: Refusal) -> str:
    path, sentence = sanitize_line(refusal.path, _LONGEST), sanitize_line(refusal.sentence, _LONGEST)
    return describe_change_refusal("Refused", msgspec.structs.replace(refusal, path=path, sentence=sentence))


def _why_not(candidates: Sequence[Candidate]) -> Iterator[str]:
    """The first reason against each candidate that did not pass."""
    for it in candidates:
        if why := next(candidate_failure_reasons(it), ""):
            yield f"  {sanitize_line(it.seat)}: {sanitize_line(why, _LONGEST)}"


def _went_wrong(rehearsed: ChangeRehearsed) -> Iterator[str]:
    if rehearsed.broken_checks:
        yield f"Broken by the change: {_names(rehearsed.broken_checks)}."
    if rehearsed.lost:
        yield f"Lost in the merge: {_names(rehearsed.lost)}."
    yield from map(_not_written, rehearsed.refused)


def _taken_out(result: DraftsSynthesised) -> Iterator[str]:
    return (_sentence(f"{it.symbol} was taken out of {it.path}") for it in result.removed)


def _unspliced(it: UnmergedDirective) -> str:
    return _sentence(f"Not spliced: {it.directive} ({it.why.rstrip('.')})")


def _candidate(it: Candidate) -> str:
    if it.refused:
        return " ".join(
            [f"{sanitize_line(it.seat, _LONGEST)} wrote what cannot be written.", *map(_not_written, it.refused)]
        )
    failed = [outcome.name for outcome in it.checks if not outcome.passed]
    verdict = f"failed {_names(failed)}" if failed else "passed every check" if it.draft else "wrote nothing"
    return f"{sanitize_line(it.seat, _LONGEST)} {verdict}."


def _proof(it: Proof) -> str:
    """Whose program it was, what it was about, and what running it showed."""
    why = sanitize_line(it.why, _LONGEST).rstrip(".")
    result = {
        True: "it is so",
        False: "it is not so",
        None: f"could not be run ({why})" if why else "could not be run",
    }
    return f"The program of {sanitize_line(it.seat)} about “{sanitize_line(it.claim, _LONGEST)}”: {result[it.held]}."


def _check(outcome: CheckOutcome) -> str:
    result = "was stopped" if outcome.code is None else f"ended with exit code {outcome.code}"
    return f"Check {sanitize_line(outcome.name, _LONGEST)} {result} after {outcome.seconds:.1f} s."
