"""The discussion stage: all seats answer blind, a judge says whether they agree, and open points are argued.

After the last round without agreement the person sees the dispute and chooses a direction.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.stage_outcome import decide_missing_seat_notices
from roundtable.core.reasons import distinct_reasons
from roundtable.core.stages import StageEnd
from roundtable.core.text.wording import pluralize
from roundtable.core.values import DISPUTE, OWN_WORDS_OPTION, Decision, Expect, Gate, Outcome, Round
from roundtable.meetings.stages.context import StageContext
from roundtable.meetings.stages.judge import (
    NONE_OPTION,
    JudgeResult,
    ask_stage_judge,
    render_stage_prompt_answers_unsigned,
)


async def hold_discussion_stage(context: StageContext) -> StageEnd:
    """Hold a discussion stage."""
    return await context.add_unshown_notice(await _hold_rounds(context))


async def _hold_rounds(context: StageContext) -> StageEnd:
    verdict, rounds = JudgeResult(), tuple[Round, ...]()
    for number in range(1, context.stage.rounds + 1):
        round = context.address.step(number)
        if not await context.table.may_open(_round_name(round, number)):
            break
        answers = await _ask_round(context, round, number, verdict)
        rounds = (*rounds, answers)
        if not answers.moves:
            break
        verdict = await _ask_judge(context, round, answers)
        if verdict.consensus:
            assert verdict.move is not None
            text = verdict.move.verdict.summary
            notices = (*decide_missing_seat_notices(rounds), *verdict.notices)
            end = context.end(
                how="agreed", text=text, judge=verdict.judge, notices=notices, own_words=verdict.judged_own_words
            )
            return await _check_agreement(context, end)
    return await _ask_person(context, verdict, rounds) if rounds else context.end_not_held()


def _round_name(round: str, number: int) -> str:
    return f"{round}-draft" if number == 1 else f"{round}-discuss"


async def _ask_round(context: StageContext, round: str, number: int, verdict: JudgeResult) -> Round:
    """Ask for drafts first, then for a stance on what is open."""
    expect = Expect(tokens=context.stage.tokens)
    if number == 1:
        prompt = context.prompt("draft", shown=await context.list_project_files())
        turns = context.turns(blind=context.stage.speaking == "blind")
    else:
        prompt = context.prompt("discuss", {"open": verdict.option_list})
        turns = context.turns(blind=False)
        if context.stage.speaking == "blind":
            turns = msgspec.structs.replace(turns, concurrency="parallel", visibility="previous_rounds", order="listed")
    return await context.table.ask(_round_name(round, number), prompt, expect=expect, seats=context.seats, turns=turns)


async def _ask_judge(context: StageContext, round: str, answers: Round) -> JudgeResult:
    """Let the judge read the last round, with unsigned and shuffled answers."""
    prompt = context.prompt("judge")
    prompt = msgspec.structs.replace(
        prompt, lists={"answers": render_stage_prompt_answers_unsigned(context, answers.moves)}
    )
    expect = Expect("judge-discussion", tokens=context.stage.tokens)
    return await ask_stage_judge(context, round, prompt, expect, [move.seat for move in answers.moves])


async def _check_agreement(context: StageContext, end: StageEnd) -> StageEnd:
    """The end of the stage after checking each agreed line against earlier decrees and failures."""
    notices = list(end.notices)
    for line in filter(None, map(str.strip, end.text.splitlines())):
        decision = await context.table.check_decrees(Decision(Outcome.REACHED, (), position=line, text=end.text))
        if decision.outcome is not Outcome.REACHED:
            return msgspec.structs.replace(end, how="failed", text="", notices=(*end.notices, *decision.how))
        notices += decision.notices
    return msgspec.structs.replace(end, notices=distinct_reasons(notices))


async def _ask_person(context: StageContext, verdict: JudgeResult, rounds: Sequence[Round]) -> StageEnd:
    """Ask the person for a direction; their own words come after the chosen option."""
    options = {f"option-{number}": option for number, option in enumerate(verdict.options_for_person, 1)}
    details = {
        **options,
        OWN_WORDS_OPTION: "write the answer yourself",
        NONE_OPTION: "leave the question open and end the stage",
    }
    gate = context.address.question_gate(DISPUTE)
    after = pluralize(len(rounds), "round")
    status = " ".join(filter(None, (f"{verdict.verdict_clause}.", verdict.hidden_options_notice)))
    question = f"{context.stage.title}: no agreement after {after}. {status} Which answer should be used?"
    answer = await context.table.gate(Gate(gate, question, tuple(details), NONE_OPTION, details, kind=DISPUTE))
    words = context.table.answer_text(gate)
    text = "\n".join(filter(None, (options.get(answer, ""), words)))
    how = "chosen" if text and answer != NONE_OPTION else "failed"
    notices = (*decide_missing_seat_notices(rounds), *verdict.notices)
    return context.end(how=how, text=text, judge=verdict.judge, notices=notices, own_words=verdict.judged_own_words)
