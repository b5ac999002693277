"""A stage that comes to files: all write them, all are run, and a judge says whose is the base and what others add.

What is to be added is spliced in by structure, without a word being asked for. Where nothing passes, or the judge sees
no consensus, all write again, knowing why; after the last round the person chooses.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide import stage_files as rule
from roundtable.core.decide.merge_ruling import candidate_names
from roundtable.core.effects import CandidatesTried
from roundtable.core.stages import StageEnd
from roundtable.core.values import Expect, Round, Turns
from roundtable.meetings.splicing import written_as
from roundtable.meetings.stages.context import Setting
from roundtable.meetings.stages.files_stage import Work, agreed, undecided
from roundtable.meetings.stages.judge import LIMITED, Judged, judged
from roundtable.meetings.try_candidates import all_written, done


async def written(setting: Setting, template: str = "write") -> StageEnd:
    """Hold the stage, or whatever else comes to files; `template` is what is asked first."""
    return await setting.with_unshown(await _held(setting, template))


async def _held(setting: Setting, template: str) -> StageEnd:
    rounds, result, verdict = tuple[Round, ...](), CandidatesTried(()), Judged()
    for number in range(1, setting.stage.rounds + 1):
        name = f"{setting.name}/{number}-{template}"
        if not await setting.table.may_open(name):
            verdict = verdict if verdict.move else Judged(notices=(f"{LIMITED}.",), limited=True)
            break
        held = await _asked(setting, name, number, verdict, template)
        rounds = (*rounds, held)
        if not held.moves:
            break
        result = await _run(setting, number, rounds)
        found, last = rule.eligible(result), number == setting.stage.rounds
        verdict = Judged()
        if not last and not any(it.passed for it in found):
            continue
        if len(found) < 2:
            break
        verdict = await _judged(setting, rounds, result)
        if verdict.consensus:
            return await agreed(setting, Work(rounds, result, verdict))
        if verdict.move is None:
            break
    return await undecided(setting, Work(rounds, result, verdict)) if rounds else setting.not_held()


async def _asked(setting: Setting, name: str, number: int, verdict: Judged, template: str) -> Round:
    """All files, blind; later with what is open, what running the seat's own showed, and the others' work."""
    shown = await setting.project()
    expect = setting.changes(shown)
    blind = setting.stage.speaking == "blind"
    turns = setting.turns(blind=blind)
    if number == 1:
        prompt = setting.prompt(template, shown=shown)
    else:
        prompt = setting.prompt("rewrite", {"open": verdict.bullets})
        ruled = rule.OPEN if verdict.options else rule.NONE_PASSED
        prompt = msgspec.structs.replace(prompt, values={**prompt.values, "ruled": ruled})
        if blind:
            seen = "previous_rounds" if verdict.options else "own"
            turns = Turns(visibility=seen, stage=setting.name)
    turns = msgspec.structs.replace(turns, at_bench=_in_the_workspace(setting))
    return await setting.table.ask(name, prompt, expect=expect, seats=setting.seats, turns=turns)


def _in_the_workspace(setting: Setting) -> bool:
    """Whether the project is as the workspace has it, so that a voice with hands can work on a copy of that."""
    return setting.settings.existing and not setting.draft


async def _run(setting: Setting, number: int, rounds: Sequence[Round]) -> CandidatesTried:
    effect = all_written(rounds, setting.draft)
    return await done(setting.table, f"{setting.name}/{number}-try", effect, CandidatesTried)


async def _judged(setting: Setting, rounds: Sequence[Round], result: CandidatesTried) -> Judged:
    """The judge reads the candidates under no name and in an order of its own."""
    found, labels = rule.eligible(result), setting.table.labels
    texts = [rule.before_the_judge(it, result, written_as(it, rounds), labels) for it in found]
    prompt = setting.prompt("judge-files")
    prompt = msgspec.structs.replace(prompt, lists={"candidates": tuple(texts)})
    expect = Expect("judge-merge", tuple(candidate_names(found, labels)), setting.stage.tokens)
    return await judged(setting, f"{setting.name}/{len(rounds)}", prompt, expect, [it.seat for it in found])
