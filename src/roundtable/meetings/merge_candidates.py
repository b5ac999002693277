"""Candidates that behave alike: seats judge them blind, and parts of the others are merged into one.

Parts are merged by structure; the author of the base is asked only for what cannot be merged that way.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import msgspec

from roundtable.core.candidate_reasons import AdditionsFailed, CandidateProblems, NobodyJudged
from roundtable.core.changeset import CreateFile, DeleteFile, EditFile, Operation, PutSymbol, RenameFile, ReplaceFile
from roundtable.core.decide import merge_ruling, trial_outcome
from roundtable.core.decide.merge_ruling import JudgeDirectives, decide_swapped_order_verdicts
from roundtable.core.effects import (
    Candidate,
    CandidatesTried,
    DraftMove,
    DraftsSynthesised,
    MergeTried,
    MoveDrafted,
    SynthesiseDrafts,
    TryCandidates,
    TryMerged,
)
from roundtable.core.ports import Table
from roundtable.core.reasons import Reasons
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.replies.judge import restore_seat_names_in_judge_reply
from roundtable.core.text.wording import join_names_as_text
from roundtable.core.values import Digest, Expect, Prompt, Right, Round, Turns
from roundtable.core.verdict import Directives
from roundtable.meetings.meeting import PlannedRound
from roundtable.meetings.try_candidates import (
    WHOLE_FILES_CODEC,
    meeting_changes_reply_format,
    meeting_trial_effect,
    perform_required_meeting_step,
)
from roundtable.meetings.write_change import WriteProgress

_WORD = re.compile(r"[\w$./:#-]+")


class RefineRequest(msgspec.Struct, frozen=True):
    """The request to the author of the base for parts that cannot be spliced; `prompt` renders it for a draft."""

    round: str
    prompt: Callable[[DraftsSynthesised], Awaitable[Prompt]]
    expect: Expect
    turns: Turns


class SpliceOutcome(msgspec.Struct, frozen=True):
    """The result of splicing; `unfulfilled` are the directives that were not carried out.

    `problems` are those that the result has and the base does not; then the base is used alone.
    """

    draft: Digest
    synthesis: DraftsSynthesised
    problems: CandidateProblems | None = None
    unfulfilled: tuple[str, ...] = ()


def candidate_file_operations_in_meeting(candidate: Candidate, rounds: Sequence[Round]) -> Sequence[Operation]:
    """The file operations in the reply of a candidate's seat, before any was dropped or reverted."""
    moves = (round.move_of(candidate.seat) for round in rounds if round.name == candidate.round)
    move = next(filter(None, moves))
    return parse_reply_file_changes(move.text).operations


async def hold_splice_and_refine_round(
    table: Table,
    stage: str,
    base: Candidate,
    drafts: Mapping[str, Digest],
    directives: JudgeDirectives,
    refining: RefineRequest,
    trial: TryCandidates,
) -> SpliceOutcome:
    """Splice the requested parts into the base, and ask its author once for the rest; discard a result that fails.

    `trial` is the effect that ran the candidates: the result has to pass everything that the base passed.
    """
    effect = SynthesiseDrafts(base.seat, dict(drafts), directives.incorporate, directives.must_fix)
    synthesis = await perform_required_meeting_step(table, f"{stage}/synthesise", effect, DraftsSynthesised)
    draft, undone = synthesis.draft, tuple(directive.directive for directive in synthesis.left)
    if synthesis.left and await table.may_open(refining.round):
        refined = await _ask_for_rest(table, base.seat, synthesis, refining)
        draft, undone = (refined, ()) if refined else (draft, undone)
    if draft == base.draft:
        return SpliceOutcome(draft, synthesis, unfulfilled=undone)
    effect = TryMerged(draft, base.seat, trial.rounds, trial.seats, trial.over)
    again = (await perform_required_meeting_step(table, f"{stage}/try-merged", effect, MergeTried)).candidate
    if problems := merge_ruling.decide_merge_regressions(again, base):
        return SpliceOutcome(base.draft, DraftsSynthesised(base.draft), problems, directives.all)
    return SpliceOutcome(again.draft, synthesis, unfulfilled=undone)


async def _ask_for_rest(table: Table, seat: str, synthesis: DraftsSynthesised, refining: RefineRequest) -> Digest:
    """The draft with the rest as the author of the base wrote it; empty where that cannot be written."""
    files = _files_of_unspliced_directives(synthesis)
    prompt = await refining.prompt(synthesis)
    prompt = msgspec.structs.replace(
        prompt, quotes={**prompt.quotes, "wanted": _render_unspliced_directives(synthesis)}
    )
    expect = msgspec.structs.replace(refining.expect, choices=files)
    answers = await table.ask(refining.round, prompt, expect=expect, seats=(seat,), turns=refining.turns)
    if not answers.move_of(seat):
        return ""
    move = DraftMove(refining.round, seat, synthesis.draft, files)
    refined = await perform_required_meeting_step(table, f"{refining.round}/draft", move, MoveDrafted)
    return "" if refined.refused else refined.draft


JUDGE_ROUND = PlannedRound("judge", "judge-merge", Turns(visibility="none", secret=True), likely=False)
REFINE_ROUND = PlannedRound("refine", WHOLE_FILES_CODEC, Turns(visibility="own"), likely=False)


class MergedCandidate(msgspec.Struct, frozen=True):
    """A merged change: its base, its draft, its authors, how it was made, and whether a judge's verdict was used."""

    base: str
    draft: Digest
    authors: tuple[str, ...]
    reasons: Reasons = ()
    judged: bool = False


async def hold_judge_rounds(
    table: Table, progress: WriteProgress, rounds: Sequence[Round], result: CandidatesTried
) -> MergedCandidate:
    """Let seats compare candidates that behave alike; no seat judges its own work where others can."""
    candidates = trial_outcome.decide_best_candidates(result)
    by_seat = {candidate.seat: candidate for candidate in candidates}
    names = seats_by_blind_name_in_meeting(candidates, table.labels)
    judges = [seat.name for seat in table.seats if Right.JUDGE in seat.rights]
    impartial = [seat for seat in judges if seat not in names.values()]
    first, number = candidates[0], progress.rounds_held + 1
    progress.rounds_held += 2
    alone = MergedCandidate(first.seat, first.draft, (first.seat,), (NobodyJudged(first.seat),))
    if not judges:
        return alone
    rulings: list[dict[str, Directives]] = []
    for candidate_names, purpose in ((names, "judge-ab"), (_swap_blind_names(names), "judge-ba")):
        name = f"{progress.stage}/{number}-{purpose}"
        if not await table.may_open(name):
            return alone
        operations = {
            label: candidate_file_operations_in_meeting(by_seat[seat], rounds)
            for label, seat in candidate_names.items()
        }
        texts = tuple(
            f"{label}:\n{render_unsigned_candidate_in_meeting(changed)}" for label, changed in operations.items()
        )
        prompt = Prompt(JUDGE_ROUND.template, quotes={"candidates": texts})
        expect = Expect(JUDGE_ROUND.codec, tuple(candidate_names))
        answers = await table.ask(name, prompt, expect=expect, seats=impartial or judges, turns=JUDGE_ROUND.turns)
        counted = [(move.seat, move.verdict.directives) for move in answers.moves if move.verdict.counts]
        rulings.append(
            {judge: restore_seat_names_in_judge_reply(ruling, candidate_names) for judge, ruling in counted if ruling}
        )
    bases = ({judge: directives.base for judge, directives in order.items()} for order in rulings)
    verdicts = decide_swapped_order_verdicts(*bases, candidates=names.values())
    base = next(iter(verdicts.tally()), first.seat)
    wanted = merge_ruling.rule_judge_directives(rulings, verdicts, base, names.values())
    draft = next(candidate.draft for candidate in candidates if candidate.seat == base)
    unmerged = MergedCandidate(
        base,
        draft,
        (base,),
        (merge_ruling.decide_reason_for_judge_verdicts(rulings, verdicts, base, wanted.once),),
        bool(verdicts.tally()),
    )
    return await _merge_parts(table, progress, rounds, result, unmerged, wanted) if wanted.all else unmerged


async def _merge_parts(
    table: Table,
    progress: WriteProgress,
    rounds: Sequence[Round],
    result: CandidatesTried,
    alone: MergedCandidate,
    directives: JudgeDirectives,
) -> MergedCandidate:
    """The base with the parts that the judges want; the base alone if that fails."""
    candidates = {candidate.seat: candidate for candidate in trial_outcome.decide_best_candidates(result)}
    base = alone.base

    async def refine(synthesis: DraftsSynthesised) -> Prompt:
        others = _seats_in_unspliced_directives(synthesis, [seat for seat in candidates if seat != base])
        operations = {other: candidate_file_operations_in_meeting(candidates[other], rounds) for other in others}
        texts = tuple(
            f"{other}:\n{render_unsigned_candidate_in_meeting(changed)}" for other, changed in operations.items()
        )
        return Prompt(REFINE_ROUND.template, quotes={"others": texts})

    refining = RefineRequest(
        f"{progress.stage}/{progress.rounds_held}-refine",
        refine,
        meeting_changes_reply_format(table),
        REFINE_ROUND.turns,
    )
    drafts = {seat: seat_candidate.draft for seat, seat_candidate in candidates.items()}
    splice = await hold_splice_and_refine_round(
        table, progress.stage, candidates[base], drafts, directives, refining, meeting_trial_effect(rounds)
    )
    if splice.problems:
        reasons = (*alone.reasons, AdditionsFailed(base, splice.problems))
        return msgspec.structs.replace(alone, draft=splice.draft, reasons=reasons)
    if splice.draft == alone.draft:
        return alone
    authors = tuple(dict.fromkeys((base, *(took.seat for took in splice.synthesis.took))))
    reasons = (*alone.reasons, merge_ruling.decide_reason_for_merged_parts(splice.synthesis, base))
    return MergedCandidate(base, splice.draft, authors, reasons, alone.judged)


def seats_by_blind_name_in_meeting(candidates: Sequence[Candidate], labels: Mapping[str, str]) -> dict[str, str]:
    """The seat of each candidate by the blind name that judges see, such as `candidate-B`."""
    named = sorted((labels[candidate.seat], candidate.seat) for candidate in candidates)
    return {f"candidate-{label}": seat for label, seat in named}


def _swap_blind_names(names: Mapping[str, str]) -> dict[str, str]:
    """The blind names for the second reading: the order of the candidates is reversed, and the names with it."""
    return dict(zip(names, reversed(list(names.values())), strict=True))


def _seats_in_unspliced_directives(synthesis: DraftsSynthesised, seats: Collection[str]) -> tuple[str, ...]:
    """The seats that are named in directives that could not be spliced."""
    words = {word.strip(".:-").lower() for unmerged in synthesis.left for word in _WORD.findall(unmerged.directive)}
    return tuple(seat for seat in seats if seat.lower() in words)


def _files_of_unspliced_directives(synthesis: DraftsSynthesised) -> tuple[str, ...]:
    """The only files that the unspliced directives may change; empty if one of them names no file."""
    has_all_files = all(unmerged.files for unmerged in synthesis.left)
    return tuple(dict.fromkeys(path for unmerged in synthesis.left for path in unmerged.files)) if has_all_files else ()


def _render_unspliced_directives(synthesis: DraftsSynthesised) -> str:
    """The unspliced directives as a list, for the seat that must carry them out."""
    return "\n".join(
        f"- {unmerged.directive}{f' (only in {join_names_as_text(unmerged.files)})' if unmerged.files else ''}"
        for unmerged in synthesis.left
    )


def render_unsigned_candidate_in_meeting(operations: Sequence[Operation]) -> str:
    """A candidate for judges: the files that it writes, without its author's explanation."""
    return "\n".join(map(_render_operation, operations))


def _render_operation(operation: Operation) -> str:
    match operation:
        case CreateFile() | ReplaceFile():
            return f"{operation.path}, whole:\n{operation.text}"
        case PutSymbol():
            return f"{operation.path}, {operation.symbol}:\n{operation.text}"
        case EditFile():
            blocks = "\n".join(f"instead of:\n{block.search}\nthis:\n{block.replace}" for block in operation.blocks)
            return f"{operation.path}:\n{blocks}"
        case DeleteFile():
            return f"{operation.path} is deleted."
        case RenameFile():
            return f"{operation.path} becomes {operation.to}."
