"""The files stage: all seats write the files, all candidates are run, and a judge names a base and what to add to it.

Additions are spliced in by structure, without asking a seat. If no candidate passes, or the judge sees no consensus,
all seats write again, knowing why; after the last round the person chooses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from roundtable.core.changeset import Operation
from roundtable.core.decide import stage_files as rule
from roundtable.core.decide.merge_ruling import JudgeDirectives
from roundtable.core.decide.stage_outcome import decide_missing_seat_notices
from roundtable.core.effects import Candidate, CandidatesTried, DraftsSynthesised, ProjectListed
from roundtable.core.reasons import JudgeNotAsked, NoFilesChosen, NothingWritten, Reason
from roundtable.core.replies.judge import restore_seat_names_in_reply_directive
from roundtable.core.stages import Contribution, StageEnd, StageEnding
from roundtable.core.text.wording import join_text_lines
from roundtable.core.values import DISPUTE, Expect, Gate, Prompt, Round, Turns
from roundtable.meetings.merge_candidates import (
    RefineRequest,
    SpliceOutcome,
    candidate_file_operations_in_meeting,
    hold_splice_and_refine_round,
    render_unsigned_candidate_in_meeting,
    seats_by_blind_name_in_meeting,
)
from roundtable.meetings.stages.context import StageContext
from roundtable.meetings.stages.judge import NONE_OPTION, JudgeResult, ask_stage_judge
from roundtable.meetings.try_candidates import meeting_trial_effect, perform_required_meeting_step
from roundtable.report.candidate_words import (
    describe_candidate_difference,
    describe_candidate_result,
    render_candidate_trial,
)
from roundtable.report.stage_words import describe_stage_ruling, stage_files_question_sentence

_NO_CONSENSUS = "The judge sees no consensus yet. Open points:"
_NOTHING_PASSED = "No candidate passed the checks and tests that were run."
_RANKED_FIRST = "Running the candidates ranked this one first."


class FilesStageWork(msgspec.Struct, frozen=True):
    """The rounds of a files stage, the trial of its candidates, and the judge's verdict."""

    rounds: tuple[Round, ...]
    result: CandidatesTried
    verdict: JudgeResult

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The candidates that can be chosen."""
        return rule.decide_eligible_candidates(self.result)


async def _finish_agreed_files(context: StageContext, work: FilesStageWork) -> StageEnd:
    """End the stage with the judge's base and its additions."""
    move = work.verdict.move
    assert move is not None
    assert move.verdict.directives is not None
    directives = move.verdict.directives
    names = seats_by_blind_name_in_meeting(work.candidates, context.table.labels)
    base = next(candidate for candidate in work.candidates if candidate.seat == names[directives.base])
    wanted = tuple(
        restore_seat_names_in_reply_directive(directive, names)
        for directive in (*directives.incorporate, *directives.must_fix)
    )
    outcome = _unspliced(base)
    if wanted:
        drafts = {candidate.seat: candidate.draft for candidate in work.candidates}
        refining = await _refine_request(context, len(work.rounds))
        tried = meeting_trial_effect(work.rounds, context.draft)
        outcome = await hold_splice_and_refine_round(
            context.table, context.name, base, drafts, JudgeDirectives(wanted), refining, tried
        )
    return _end_with_base(context, work, base, outcome, "agreed", describe_stage_ruling(directives, tuple(names)))


async def _refine_request(context: StageContext, number: int) -> RefineRequest:
    """The request to the author of the base, with the files as spliced so far."""

    async def prompt(synthesis: DraftsSynthesised) -> Prompt:
        concerned = sorted({path for directive in synthesis.left for path in directive.files})
        listed = await context.list_files("merged", synthesis.draft, " ".join(concerned))
        if concerned:
            listed = ProjectListed(tuple(item for item in listed.items if item.name in concerned))
        return context.prompt("refine", shown=listed)

    expect = context.expect_changes(await context.list_project_files())
    turns = Turns(visibility="own", stage=context.name)
    return RefineRequest(context.address.step(f"{number}-refine"), prompt, expect, turns)


async def _finish_undecided_files(context: StageContext, work: FilesStageWork) -> StageEnd:
    """End the stage without a judge's consensus: the person chooses between several candidates.

    If no judge answered, the results of running them decide if they rank one first.
    """
    if not work.candidates:
        return _end_without_files(
            context, work, *(rule.decision_reasons_for_left_out_candidates(work.result, ()) or (NothingWritten(),))
        )
    if len(work.candidates) == 1:
        how = "same" if _is_written_by_several(work.candidates[0], work.result) else "alone"
        return _end_with_base(context, work, work.candidates[0], _unspliced(work.candidates[0]), how)
    if work.verdict.move is None and (first := rule.decide_single_best_candidate(work.result, work.candidates)):
        return _end_with_base(context, work, first, _unspliced(first), "run", _RANKED_FIRST)
    gate = _dispute_gate(context, work)
    answer = await context.table.gate(gate)
    chosen = next((candidate for candidate in work.candidates if candidate.seat == answer), None)
    if chosen is None:
        return _end_without_files(context, work, NoFilesChosen())
    return _end_with_base(context, work, chosen, _unspliced(chosen), "chosen", context.table.answer_text(gate.id))


def _dispute_gate(context: StageContext, work: FilesStageWork) -> Gate:
    details = {candidate.seat: describe_candidate_result(candidate, work.result) for candidate in work.candidates} | {
        NONE_OPTION: "take none of them and end the stage"
    }
    verdict = work.verdict
    options = tuple(filter(None, (*verdict.options_for_person, verdict.hidden_options_notice)))
    question = stage_files_question_sentence(context.stage.title, verdict.verdict_clause, options)
    return Gate(context.address.question_gate(DISPUTE), question, tuple(details), NONE_OPTION, details, kind=DISPUTE)


def _unspliced(base: Candidate) -> SpliceOutcome:
    return SpliceOutcome(base.draft, DraftsSynthesised(base.draft))


def _end_without_files(context: StageContext, work: FilesStageWork, *reasons: Reason) -> StageEnd:
    return context.end(
        how="failed",
        judge=work.verdict.judge,
        notices=(*decide_missing_seat_notices(work.rounds), *work.verdict.notices, *reasons),
        own_words=work.verdict.judged_own_words,
    )


def _end_with_base(
    context: StageContext,
    work: FilesStageWork,
    base: Candidate,
    outcome: SpliceOutcome,
    how: StageEnding,
    ruling: str = "",
) -> StageEnd:
    """The end of the stage, with the origin of its files and all notices."""
    origins = _file_origins(base, outcome.synthesis)
    return context.end(
        how=how,
        text=_describe_stage_files(origins, ruling),
        draft=outcome.draft,
        judge=work.verdict.judge,
        base=base.seat,
        took=origins,
        notices=(
            *decide_missing_seat_notices(work.rounds),
            *work.verdict.notices,
            *rule.decision_reasons_for_left_out_candidates(work.result, work.candidates),
            *rule.decision_reasons_for_chosen_candidate(base),
            *rule.decision_reasons_for_unfulfilled_directives(base.seat, outcome.unfulfilled, outcome.problems),
        ),
        own_words=work.verdict.judged_own_words,
    )


async def hold_files_stage(context: StageContext, template: str = "write") -> StageEnd:
    """Hold a files stage; `template` is the prompt of the first round."""
    return await context.add_unshown_notice(await _hold_rounds(context, template))


async def _hold_rounds(context: StageContext, template: str) -> StageEnd:
    rounds, result, verdict = tuple[Round, ...](), CandidatesTried(()), JudgeResult()
    for number in range(1, context.stage.rounds + 1):
        name = context.address.step(f"{number}-{template}")
        if not await context.table.may_open(name):
            verdict = verdict if verdict.move else JudgeResult(notices=(JudgeNotAsked(),), limits_reached=True)
            break
        answers = await _ask_round(context, name, number, verdict, template)
        rounds = (*rounds, answers)
        if not answers.moves:
            break
        result = await _try_candidates(context, number, rounds)
        candidates, last = rule.decide_eligible_candidates(result), number == context.stage.rounds
        verdict = JudgeResult()
        if not last and not any(candidate.passed for candidate in candidates):
            continue
        if len(candidates) < 2:
            break
        verdict = await _ask_judge(context, rounds, result)
        if verdict.consensus:
            return await _finish_agreed_files(context, FilesStageWork(rounds, result, verdict))
        if verdict.move is None:
            break
    return (
        await _finish_undecided_files(context, FilesStageWork(rounds, result, verdict))
        if rounds
        else context.end_not_held()
    )


async def _ask_round(context: StageContext, name: str, number: int, verdict: JudgeResult, template: str) -> Round:
    """Ask for all files, blind; in later rounds with what is open, the author's results, and the others' work."""
    listing = await context.list_project_files()
    expect = context.expect_changes(listing)
    blind = context.stage.speaking == "blind"
    turns = context.turns(blind=blind)
    if number == 1:
        prompt = context.prompt(template, shown=listing)
    else:
        prompt = context.prompt("rewrite", {"open": verdict.option_list})
        ruled = _NO_CONSENSUS if verdict.options else _NOTHING_PASSED
        prompt = msgspec.structs.replace(prompt, values={**prompt.values, "ruled": ruled})
        if blind:
            visibility = "previous_rounds" if verdict.options else "own"
            turns = Turns(visibility=visibility, stage=context.name)
    turns = msgspec.structs.replace(turns, at_bench=_is_workspace_state(context))
    return await context.table.ask(name, prompt, expect=expect, seats=context.seats, turns=turns)


def _is_workspace_state(context: StageContext) -> bool:
    """Whether the project equals the workspace, so that a voice that edits files can work on a copy of it."""
    return context.settings.existing and not context.draft


async def _try_candidates(context: StageContext, number: int, rounds: Sequence[Round]) -> CandidatesTried:
    effect = meeting_trial_effect(rounds, context.draft)
    return await perform_required_meeting_step(
        context.table, context.address.step(f"{number}-try"), effect, CandidatesTried
    )


async def _ask_judge(context: StageContext, rounds: Sequence[Round], result: CandidatesTried) -> JudgeResult:
    """Let the judge read the candidates, unsigned and shuffled."""
    candidates, labels = rule.decide_eligible_candidates(result), context.table.labels
    texts = [
        _render_candidate_for_judge(candidate, result, candidate_file_operations_in_meeting(candidate, rounds), labels)
        for candidate in candidates
    ]
    prompt = context.prompt("judge-files")
    prompt = msgspec.structs.replace(prompt, lists={"candidates": tuple(texts)})
    expect = Expect("judge-merge", tuple(seats_by_blind_name_in_meeting(candidates, labels)), context.stage.tokens)
    return await ask_stage_judge(
        context, context.address.step(len(rounds)), prompt, expect, [candidate.seat for candidate in candidates]
    )


def _file_origins(base: Candidate, synthesis: DraftsSynthesised) -> tuple[Contribution, ...]:
    """The author of every file, and of every merged part of a file."""
    whole_files = {part.path for part in synthesis.took if not part.symbol}
    return (
        *(Contribution(path, "", base.seat) for path in base.files if path not in whole_files),
        *synthesis.took,
    )


def _is_written_by_several(candidate: Candidate, tried: CandidatesTried) -> bool:
    """Whether other seats wrote an identical candidate."""
    return sum(other.draft == candidate.draft for other in tried.candidates) > 1


def _describe_stage_files(parts: Sequence[Contribution], ruling: str) -> str:
    """The result of the stage for later stages: the files and how they were chosen."""
    paths = sorted({join_text_lines(part.path) for part in parts})
    return "\n".join(filter(None, (f"Files written: {', '.join(paths)}.", ruling)))


def _render_candidate_for_judge(
    candidate: Candidate, tried: CandidatesTried, operations: Sequence[Operation], labels: Mapping[str, str]
) -> str:
    """A candidate under its blind label, with the results of running it."""
    results = (render_candidate_trial(candidate), describe_candidate_difference(tried, candidate.seat))
    shown = "\n".join(filter(None, results))
    for seat, label in labels.items():
        shown = re.sub(rf"(?<![\w-]){re.escape(seat)}: ", f"candidate-{label}: ", shown)
    return (
        f"candidate-{labels[candidate.seat]}:\nRunning it: {shown}\n{render_unsigned_candidate_in_meeting(operations)}"
    )
