"""What findings weigh: a judge says so by their words alone, and where it cannot, the person does."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.findings import Weighed
from roundtable.core.decide.ruled_findings import Ruled, by_judge, by_severity, shown
from roundtable.core.stages import How, gate_within
from roundtable.core.text.wording import many
from roundtable.core.values import Expect, Gate, Round
from roundtable.meetings.stages.context import Setting
from roundtable.meetings.stages.judge import Judged, judged, unsigned

MEND, LEAVE = "mend", "leave"


class Weighing(msgspec.Struct, frozen=True):
    """How findings were weighed, and what the judge said; `ruled` is None where nobody weighed them."""

    ruled: Ruled | None
    how: How
    verdict: Judged


async def weighing_of(setting: Setting, last: int, rounds: Sequence[Round], found: Sequence[Weighed]) -> Weighing:
    """One judge on all findings; once more after the seats have said what they think of what is open."""
    wrote = list(dict.fromkeys(move.seat for it in rounds for move in it.moves))
    lines = tuple(shown(it, len(wrote)) for it in found)
    verdict = await _judged(setting, f"{setting.name}/{last + 1}", lines, (), wrote)
    looked = f"{setting.name}/{last + 2}-look"
    if verdict.consensus or not verdict.judge or not await setting.table.may_open(looked):
        return await _ended(setting, verdict, found)
    prompt = setting.prompt("look", {"open": verdict.bullets})
    prompt = msgspec.structs.replace(prompt, lists={"findings": lines})
    expect = Expect(tokens=setting.stage.tokens)
    again = await setting.table.ask(looked, prompt, expect=expect, seats=setting.seats, turns=setting.turns(blind=True))
    verdict = await _judged(setting, f"{setting.name}/{last + 2}", lines, unsigned(setting, again.moves), wrote)
    return await _ended(setting, verdict, found)


async def _judged(
    setting: Setting, round: str, lines: tuple[str, ...], answers: tuple[str, ...], wrote: Sequence[str]
) -> Judged:
    prompt = setting.prompt("findings-judge")
    prompt = msgspec.structs.replace(prompt, lists={"findings": lines, "answers": answers})
    return await judged(setting, round, prompt, Expect("judge-review", tokens=setting.stage.tokens), wrote)


async def _ended(setting: Setting, verdict: Judged, found: Sequence[Weighed]) -> Weighing:
    """As the judge says; where it sees no consensus, or none was heard, the person says whether to mend anything."""
    said = verdict.move.verdict.findings if verdict.move else None
    if verdict.consensus and said is not None:
        return Weighing(by_judge(found, said), "agreed", verdict)
    gate = gate_within(setting.name, "dispute")
    findings = many(len(found), "finding")
    question = f"{setting.stage.title}: {findings}. {verdict.heard}. What is to be done about them?"
    details = {
        MEND: "mend what the seats themselves call critical or high",
        LEAVE: "mend nothing; all findings are listed as they are",
    }
    answer = await setting.table.gate(Gate(gate, question, tuple(details), LEAVE, details))
    how = "failed" if setting.table.by_default(gate) else "chosen"
    ruled = by_severity(found) if answer == MEND else None
    return Weighing(ruled, how, verdict)
