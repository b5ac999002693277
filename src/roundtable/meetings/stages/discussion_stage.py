"""A stage that comes to words: all answer blind, a judge says whether they agree, and what is open is argued.

After the last round without agreement the person is shown the dispute and chooses a direction.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.stage_outcome import describe_missing_seats
from roundtable.core.stages import OWN_WORDS_OPTION, StageEnd, stage_question_gate_id
from roundtable.core.text.wording import pluralize
from roundtable.core.values import Decision, Expect, Gate, Outcome, Round
from roundtable.meetings.stages.context import StageContext
from roundtable.meetings.stages.judge import NONE_OPTION, JudgeResult, ask_stage_judge, unsign_answers
from roundtable.report.reasons import decision_sentence, notice_sentences


async def hold_discussion_stage(setting: StageContext) -> StageEnd:
    """Hold the stage."""
    return await setting.with_unshown(await _held(setting))


async def _held(setting: StageContext) -> StageEnd:
    verdict, rounds = JudgeResult(), tuple[Round, ...]()
    for number in range(1, setting.stage.rounds + 1):
        round = f"{setting.name}/{number}"
        if not await setting.table.may_open(_name(round, number)):
            break
        held = await _asked(setting, round, number, verdict)
        rounds = (*rounds, held)
        if not held.moves:
            break
        verdict = await _judged(setting, round, held)
        if verdict.consensus:
            assert verdict.move is not None
            text = verdict.move.verdict.summary
            notices = (*describe_missing_seats(rounds), *verdict.notices)
            end = setting.end(
                how="agreed", text=text, judge=verdict.judge, notices=notices, own_words=verdict.own_words
            )
            return await _heeded(setting, end)
    return await _disputed(setting, verdict, rounds) if rounds else setting.not_held()


def _name(round: str, number: int) -> str:
    return f"{round}-draft" if number == 1 else f"{round}-discuss"


async def _asked(setting: StageContext, round: str, number: int, verdict: JudgeResult) -> Round:
    """Drafts first, then what the others think of what is open."""
    expect = Expect(tokens=setting.stage.tokens)
    if number == 1:
        prompt = setting.prompt("draft", shown=await setting.project())
        turns = setting.turns(blind=setting.stage.speaking == "blind")
    else:
        prompt = setting.prompt("discuss", {"open": verdict.bullets})
        turns = setting.turns(blind=False)
        if setting.stage.speaking == "blind":
            turns = msgspec.structs.replace(turns, concurrency="parallel", visibility="previous_rounds", order="listed")
    return await setting.table.ask(_name(round, number), prompt, expect=expect, seats=setting.seats, turns=turns)


async def _judged(setting: StageContext, round: str, held: Round) -> JudgeResult:
    """The judge reads the last round, each answer under no name and in an order of its own."""
    prompt = setting.prompt("judge")
    prompt = msgspec.structs.replace(prompt, lists={"answers": unsign_answers(setting, held.moves)})
    expect = Expect("judge-discussion", tokens=setting.stage.tokens)
    return await ask_stage_judge(setting, round, prompt, expect, [it.seat for it in held.moves])


async def _heeded(setting: StageContext, end: StageEnd) -> StageEnd:
    """What becomes of an agreement of which a line repeats what was rejected or has failed: the person is asked."""
    notices = list(end.notices)
    for line in filter(None, map(str.strip, end.text.splitlines())):
        decision = await setting.table.check_decrees(Decision(Outcome.REACHED, (), position=line, text=end.text))
        if decision.outcome is not Outcome.REACHED:
            return msgspec.structs.replace(
                end, how="failed", text="", notices=(*end.notices, decision_sentence(decision))
            )
        notices += (notice for notice in notice_sentences(decision) if notice not in notices)
    return msgspec.structs.replace(end, notices=tuple(notices))


async def _disputed(setting: StageContext, verdict: JudgeResult, rounds: Sequence[Round]) -> StageEnd:
    """The person chooses a direction; their own words go before any of the options."""
    options = {f"option-{number}": it for number, it in enumerate(verdict.shown, 1)}
    details = {
        **options,
        OWN_WORDS_OPTION: "say it in your own words",
        NONE_OPTION: "leave it open and end the stage here",
    }
    gate = stage_question_gate_id(setting.name, "dispute")
    after = pluralize(len(rounds), "round")
    heard = " ".join(filter(None, (f"{verdict.heard}.", verdict.unshown)))
    question = f"{setting.stage.title}: after {after} there is no agreement. {heard} Which way?"
    answer = await setting.table.gate(Gate(gate, question, tuple(details), NONE_OPTION, details))
    words = setting.table.answer_text(gate)
    text = "\n".join(filter(None, (options.get(answer, ""), words)))
    how = "chosen" if text and answer != NONE_OPTION else "failed"
    notices = (*describe_missing_seats(rounds), *verdict.notices)
    return setting.end(how=how, text=text, judge=verdict.judge, notices=notices, own_words=verdict.own_words)
