"""What a stage of files comes to: the judge's base with parts of the others, the person's choice, or nothing.

A stage that comes to files: all write them, all are run, and a judge says whose is the base and what others add.

What is to be added is spliced in by structure, without a word being asked for. Where nothing passes, or the judge sees
no consensus, all write again, knowing why; after the last round the person chooses.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide import stage_files as rule
from roundtable.core.decide.merge_ruling import blind_candidate_names, name_seats_in_directive
from roundtable.core.decide.stage_outcome import describe_missing_seats
from roundtable.core.effects import Candidate, CandidatesTried, DraftsSynthesised, ProjectListed
from roundtable.core.stages import StageEnd, StageEnding, stage_question_gate_id
from roundtable.core.values import Expect, Gate, Prompt, Round, Turns
from roundtable.meetings.merge_candidates import RefineRequest, SpliceOutcome, candidate_operations, splice_candidates
from roundtable.meetings.stages.context import StageContext
from roundtable.meetings.stages.judge import NO_JUDGE_LIMITS_REACHED, NONE_OPTION, JudgeResult, ask_stage_judge
from roundtable.meetings.try_candidates import build_trial_effect, require_effect


class FilesStageWork(msgspec.Struct, frozen=True):
    """What was written, what running it showed, and what the judge said of it."""

    rounds: tuple[Round, ...]
    result: CandidatesTried
    verdict: JudgeResult

    @property
    def found(self) -> tuple[Candidate, ...]:
        """Those that can be chosen from."""
        return rule.eligible_stage_candidates(self.result)


async def finish_agreed_files(setting: StageContext, work: FilesStageWork) -> StageEnd:
    """The judge's base with what it wants of the others."""
    move = work.verdict.move
    assert move is not None
    assert move.verdict.directives is not None
    directives = move.verdict.directives
    names = blind_candidate_names(work.found, setting.table.labels)
    base = next(it for it in work.found if it.seat == names[directives.base])
    wanted = [name_seats_in_directive(it, names) for it in (*directives.incorporate, *directives.must_fix)]
    made = _as_it_is(base)
    if wanted:
        drafts = {it.seat: it.draft for it in work.found}
        refining = await _refining(setting, len(work.rounds))
        tried = build_trial_effect(work.rounds, setting.draft)
        made = await splice_candidates(setting.table, setting.name, base, drafts, wanted, refining, tried)
    return _end(setting, work, base, made, "agreed", rule.describe_stage_ruling(directives, tuple(names)))


async def _refining(setting: StageContext, number: int) -> RefineRequest:
    """What is left is asked of the base's author, who is shown the files as they have become."""

    async def prompt(made: DraftsSynthesised) -> Prompt:
        concerned = sorted({path for it in made.left for path in it.files})
        listed = await setting.listed("merged", made.draft, " ".join(concerned))
        if concerned:
            listed = ProjectListed(tuple(it for it in listed.items if it.name in concerned))
        return setting.prompt("refine", shown=listed)

    expect = setting.changes(await setting.project())
    turns = Turns(visibility="own", stage=setting.name)
    return RefineRequest(f"{setting.name}/{number}-refine", prompt, expect, turns)


async def finish_undecided_files(setting: StageContext, work: FilesStageWork) -> StageEnd:
    """The person chooses; of one candidate there is no choice, and of none nothing comes.

    Where no judge can be heard at all, running them decides if it puts one before the others.
    """
    if not work.found:
        return _nothing(
            setting, work, *(tuple(rule.describe_left_out_candidates(work.result, ())) or ("Nobody wrote anything.",))
        )
    if len(work.found) == 1:
        how = "same" if rule.is_written_by_several(work.found[0], work.result) else "alone"
        return _end(setting, work, work.found[0], _as_it_is(work.found[0]), how)
    if work.verdict.move is None and (first := rule.candidate_ranked_first(work.result, work.found)):
        return _end(setting, work, first, _as_it_is(first), "run", rule.RANKED_FIRST_BY_RUNNING)
    gate = _gate(setting, work)
    answer = await setting.table.gate(gate)
    chosen = next((it for it in work.found if it.seat == answer), None)
    if chosen is None:
        return _nothing(setting, work, "They do not agree, and none of their files was taken.")
    return _end(setting, work, chosen, _as_it_is(chosen), "chosen", setting.table.answer_text(gate.id))


def _gate(setting: StageContext, work: FilesStageWork) -> Gate:
    details = {it.seat: rule.describe_candidate_run(it, work.result) for it in work.found} | {
        NONE_OPTION: "take none of them and end the stage here"
    }
    verdict = work.verdict
    question = rule.stage_files_question(
        setting.stage.title, tuple(filter(None, (*verdict.shown, verdict.unshown))), verdict.heard
    )
    return Gate(stage_question_gate_id(setting.name, "dispute"), question, tuple(details), NONE_OPTION, details)


def _as_it_is(base: Candidate) -> SpliceOutcome:
    return SpliceOutcome(base.draft, DraftsSynthesised(base.draft))


def _nothing(setting: StageContext, work: FilesStageWork, *why: str) -> StageEnd:
    return setting.end(
        how="failed",
        judge=work.verdict.judge,
        notices=(*describe_missing_seats(work.rounds), *work.verdict.notices, *why),
        own_words=work.verdict.own_words,
    )


def _end(
    setting: StageContext,
    work: FilesStageWork,
    base: Candidate,
    made: SpliceOutcome,
    how: StageEnding,
    ruling: str = "",
) -> StageEnd:
    """Whose the files are, and what has to be known of them."""
    took = rule.stage_file_origins(base, made.made)
    return setting.end(
        how=how,
        text=rule.describe_stage_files(took, ruling),
        draft=made.draft,
        judge=work.verdict.judge,
        base=base.seat,
        took=took,
        notices=(
            *describe_missing_seats(work.rounds),
            *work.verdict.notices,
            *rule.describe_left_out_candidates(work.result, work.found),
            *rule.describe_candidate_doubts(base),
            *rule.describe_unfulfilled_directives(base.seat, made.undone, made.broke),
        ),
        own_words=work.verdict.own_words,
    )


async def hold_files_stage(setting: StageContext, template: str = "write") -> StageEnd:
    """Hold the stage, or whatever else comes to files; `template` is what is asked first."""
    return await setting.with_unshown(await _held(setting, template))


async def _held(setting: StageContext, template: str) -> StageEnd:
    rounds, result, verdict = tuple[Round, ...](), CandidatesTried(()), JudgeResult()
    for number in range(1, setting.stage.rounds + 1):
        name = f"{setting.name}/{number}-{template}"
        if not await setting.table.may_open(name):
            verdict = verdict if verdict.move else JudgeResult(notices=(f"{NO_JUDGE_LIMITS_REACHED}.",), limited=True)
            break
        held = await _asked(setting, name, number, verdict, template)
        rounds = (*rounds, held)
        if not held.moves:
            break
        result = await _run(setting, number, rounds)
        found, last = rule.eligible_stage_candidates(result), number == setting.stage.rounds
        verdict = JudgeResult()
        if not last and not any(it.passed for it in found):
            continue
        if len(found) < 2:
            break
        verdict = await _judged(setting, rounds, result)
        if verdict.consensus:
            return await finish_agreed_files(setting, FilesStageWork(rounds, result, verdict))
        if verdict.move is None:
            break
    return (
        await finish_undecided_files(setting, FilesStageWork(rounds, result, verdict)) if rounds else setting.not_held()
    )


async def _asked(setting: StageContext, name: str, number: int, verdict: JudgeResult, template: str) -> Round:
    """All files, blind; later with what is open, what running the seat's own showed, and the others' work."""
    shown = await setting.project()
    expect = setting.changes(shown)
    blind = setting.stage.speaking == "blind"
    turns = setting.turns(blind=blind)
    if number == 1:
        prompt = setting.prompt(template, shown=shown)
    else:
        prompt = setting.prompt("rewrite", {"open": verdict.bullets})
        ruled = rule.JUDGE_SEES_NO_CONSENSUS if verdict.options else rule.NO_STAGE_FILES_PASSED
        prompt = msgspec.structs.replace(prompt, values={**prompt.values, "ruled": ruled})
        if blind:
            seen = "previous_rounds" if verdict.options else "own"
            turns = Turns(visibility=seen, stage=setting.name)
    turns = msgspec.structs.replace(turns, at_bench=_in_the_workspace(setting))
    return await setting.table.ask(name, prompt, expect=expect, seats=setting.seats, turns=turns)


def _in_the_workspace(setting: StageContext) -> bool:
    """Whether the project is as the workspace has it, so that a voice with hands can work on a copy of that."""
    return setting.settings.existing and not setting.draft


async def _run(setting: StageContext, number: int, rounds: Sequence[Round]) -> CandidatesTried:
    effect = build_trial_effect(rounds, setting.draft)
    return await require_effect(setting.table, f"{setting.name}/{number}-try", effect, CandidatesTried)


async def _judged(setting: StageContext, rounds: Sequence[Round], result: CandidatesTried) -> JudgeResult:
    """The judge reads the candidates under no name and in an order of its own."""
    found, labels = rule.eligible_stage_candidates(result), setting.table.labels
    texts = [rule.render_candidate_for_judge(it, result, candidate_operations(it, rounds), labels) for it in found]
    prompt = setting.prompt("judge-files")
    prompt = msgspec.structs.replace(prompt, lists={"candidates": tuple(texts)})
    expect = Expect("judge-merge", tuple(blind_candidate_names(found, labels)), setting.stage.tokens)
    return await ask_stage_judge(setting, f"{setting.name}/{len(rounds)}", prompt, expect, [it.seat for it in found])
