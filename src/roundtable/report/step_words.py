"""Sentences about steps: files shown and refused, checks run, candidates tried, changes planned and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from roundtable.core.decide.trial_outcome import decide_candidate_problems
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
from roundtable.core.refusals import Refusal
from roundtable.core.sandbox import Resource
from roundtable.core.text.sanitize import sanitize_line
from roundtable.report.candidate_words import candidate_problem_sentences
from roundtable.report.change_reasons import NO_CHECKS_TO_RUN
from roundtable.report.change_words import (
    CANDIDATE_COLUMNS,
    CHECK_COLUMNS,
    TAKEN_PART_COLUMNS,
    describe_applied_change,
    describe_change_plan,
    describe_change_refusal,
    render_candidate_table_rows,
    render_check_result_table_rows,
    render_taken_part_rows,
)
from roundtable.report.check_words import describe_check_name
from roundtable.report.reasons import describe_reasons
from roundtable.report.refusals import refusal_sentences
from roundtable.report.stage_words import describe_stage_step

_LONGEST = 160
_NO_RESULT = "No result."
_RUNNING_STEPS: dict[type[Effect], str] = {
    ReadFiles: "Reading the requested files.",
    RunChecks: "Running the requested checks in the sandbox.",
    OpenChild: "Holding a child meeting.",
    EndStage: "Recording the result of the stage.",
    PlanChange: "Comparing the draft with the workspace.",
    RehearseChange: "Rehearsing the change: running the checks in a temporary copy.",
    ApplyChange: "Writing the change.",
    ProveClaims: "Running the proofs in the sandbox.",
    ListProject: "Reading the project.",
    SplitForReview: "Reading the project and building its map.",
    RunProject: "Running the program in the sandbox.",
    DeliverProject: "Delivering the project.",
}


def describe_step_result(result: EffectResult) -> str:
    """The result of a step in one line, safe to print."""
    return " ".join(_result_sentences(result))


def running_step_sentence(effect: Effect) -> str:
    """A sentence about a running step, in the present tense."""
    match effect:
        case TryCandidates():
            return f"Running the candidates of {_join_names(effect.seats)} in the sandbox."
        case TryMerged():
            return f"Running the candidate of {sanitize_line(effect.base)} with the merged parts in the sandbox."
        case SynthesiseDrafts():
            return f"Merging parts of other candidates into the candidate of {sanitize_line(effect.base)}."
        case DraftMove():
            return f"Preparing a draft from the changes of {sanitize_line(effect.seat)}."
        case _:
            return _RUNNING_STEPS[type(effect)]


def render_step_result_lines(result: EffectResult) -> list[str]:
    """The result of a step as terminal lines, with tables where there are several values."""
    match result:
        case CandidatesTried():
            where = f" (in {sanitize_line(result.sandbox)})" if result.sandbox else ""
            reason = [sanitize_line(describe_reasons(result.how))] if result.how else []
            table = _aligned(CANDIDATE_COLUMNS, render_candidate_table_rows(result))
            return [f"The candidates, best first{where}:", *table, *_first_problems(result.candidates), *reason]
        case MergeTried():
            candidate = result.candidate
            table = _aligned(CANDIDATE_COLUMNS, render_candidate_table_rows(CandidatesTried((candidate,))))
            return [f"The merged candidate of {sanitize_line(candidate.seat)}:", *table, *_first_problems((candidate,))]
        case DraftsSynthesised() if result.took:
            rows = _aligned(TAKEN_PART_COLUMNS, render_taken_part_rows(result.took))
            return ["Contributions:", *rows, *_removed_symbols(result), *map(_unmerged_part, result.left)]
        case ChangeRehearsed() if result.checks:
            return [
                "The rehearsal:",
                *_aligned(CHECK_COLUMNS, render_check_result_table_rows(result)),
                *_rehearsal_problems(result),
            ]
        case (
            ChangePlanned()
            | ChangeApplied()
            | MoveDrafted()
            | ClaimsProven()
            | DraftsSynthesised()
            | ChangeRehearsed()
            | StageEnded()
        ):
            return list(_result_sentences(result)) or [_NO_RESULT]
        case _:
            return [describe_step_result(result) or _NO_RESULT]


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [[sanitize_line(cell, _LONGEST) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  " + "  ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]


def _result_sentences(result: EffectResult) -> Iterator[str]:
    match result:
        case FilesRead():
            if result.items:
                yield f"Shown to all seats: {', '.join(sanitize_line(item.name, _LONGEST) for item in result.items)}."
            yield from _refused_names(result.refused)
        case ChecksRun():
            yield from map(_describe_check, result.outcomes)
            yield from _unenforced_limits(result.unenforced)
            yield from _refused_names(result.refused)
        case ChildEnded():
            yield f"The child meeting ended with the outcome {result.decision.outcome}."
        case ClaimsProven():
            yield from map(_describe_proof, result.proofs)
        case ProjectListed() | ProjectSplit() | ProjectRan() | ProjectDelivered() | StageEnded():
            yield from describe_stage_step(result)
        case _:
            yield from _workshop_sentences(result)


def _workshop_sentences(
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
            yield from map(_describe_candidate, result.candidates)
            if result.how:
                yield sanitize_line(describe_reasons(result.how))
        case MergeTried():
            yield _describe_candidate(result.candidate)
        case DraftsSynthesised():
            yield from (_end_line(f"{part.symbol or part.path} came from {part.seat}") for part in result.took)
            yield from _removed_symbols(result)
            yield from map(_unmerged_part, result.left)
        case MoveDrafted():
            if result.files:
                yield f"Drafted: {_join_names(result.files)}."
            yield from map(_describe_refusal, result.refused)
        case ChangePlanned():
            yield from map(_end_line, describe_change_plan(result))
        case ChangeRehearsed():
            yield from map(_describe_check, result.checks)
            if not result.checks and not result.refused:
                yield NO_CHECKS_TO_RUN
            yield from _rehearsal_problems(result)
        case ChangeApplied():
            yield from map(_end_line, describe_applied_change(result))


def _end_line(words: str) -> str:
    words = sanitize_line(words, _LONGEST)
    return words if words.endswith((".", "…")) else f"{words}."


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(sanitize_line(name, _LONGEST) for name in names)


def _refused_names(refused: Mapping[str, str]) -> Iterator[str]:
    for name, reason in refused.items():
        yield f"Refused: {sanitize_line(name, _LONGEST)} ({sanitize_line(reason, _LONGEST).rstrip('.')})."


def _describe_refusal(refusal: Refusal) -> str:
    return sanitize_line(describe_change_refusal("Refused", refusal), _LONGEST)


def _first_problems(candidates: Sequence[Candidate]) -> Iterator[str]:
    """The first problem of each candidate that did not pass."""
    for candidate in candidates:
        if problem := next(candidate_problem_sentences(decide_candidate_problems(candidate)), ""):
            yield f"  {sanitize_line(candidate.seat)}: {sanitize_line(problem, _LONGEST)}"


def _rehearsal_problems(rehearsed: ChangeRehearsed) -> Iterator[str]:
    if rehearsed.broken_checks:
        yield f"Checks that the change broke: {_join_names(rehearsed.broken_checks)}."
    if rehearsed.lost:
        yield f"Hunks lost in the merge: {_join_names(rehearsed.lost)}."
    yield from _unenforced_limits(rehearsed.unenforced)
    yield from map(_describe_refusal, rehearsed.refused)


def _unenforced_limits(unenforced: Sequence[Resource]) -> Iterator[str]:
    if unenforced:
        yield f"Limits not enforced: {', '.join(unenforced)}."


def _removed_symbols(result: DraftsSynthesised) -> Iterator[str]:
    return (_end_line(f"{removed.symbol} was removed from {removed.path}") for removed in result.removed)


def _unmerged_part(unmerged_directive: UnmergedDirective) -> str:
    return _end_line(
        f"Not merged: {unmerged_directive.directive} ({refusal_sentences(unmerged_directive.refused).rstrip('.')})"
    )


def _describe_candidate(candidate: Candidate) -> str:
    if candidate.refused:
        return " ".join(
            [
                f"{sanitize_line(candidate.seat, _LONGEST)} proposed changes that cannot be written.",
                *map(_describe_refusal, candidate.refused),
            ]
        )
    failed = [describe_check_name(outcome) for outcome in candidate.checks if not outcome.passed]
    verdict = (
        f"failed {_join_names(failed)}" if failed else "passed every check" if candidate.draft else "wrote nothing"
    )
    return f"{sanitize_line(candidate.seat, _LONGEST)} {verdict}."


def _describe_proof(proof: Proof) -> str:
    """The seat, the claim and the result of a proof."""
    reason = sanitize_line(proof.why, _LONGEST).rstrip(".")
    result = {
        True: "confirmed this claim",
        False: "refuted this claim",
        None: f"could not be run ({reason}) for this claim" if reason else "could not be run for this claim",
    }
    claim = f"“{sanitize_line(proof.claim, _LONGEST)}”"
    return f"The proof by {sanitize_line(proof.seat)} {result[proof.held]}: {claim}."


def _describe_check(outcome: CheckOutcome) -> str:
    result = "was stopped" if outcome.code is None else f"ended with exit code {outcome.code}"
    return f"Check {sanitize_line(describe_check_name(outcome), _LONGEST)} {result} after {outcome.seconds:.1f} s."
