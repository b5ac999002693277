"""A stage that comes to findings and their mending, whatever the size of the project.

1. The project is cut into parts that fit every seat's window, each with a map of what in it hangs on the others. All
   seats look at each part alone, and give file and line of what is wrong, with a program that shows it where one can.
2. What several found, or one found from both ends, is one finding. The programs run on the project as it stands.
3. A judge weighs the findings, once, by their words alone: no code is sent again. Where it wants more to be said, all
   seats look at the findings once more, and after that the person decides.
4. What is critical is mended part by part, and the programs run once more.

What findings weigh: a judge says so by their words alone, and where it cannot, the person does.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.decide.findings import (
    FINDING_FIXED,
    FINDING_NOT_FIXED,
    FindingStatus,
    FindingWeight,
    RuledFindings,
    WeighedFinding,
    describe_finding_for_seats,
    describe_ruled_findings,
    describe_unfixed_findings,
    finding_as_proven,
    pool_findings,
    rule_findings_by_judge,
    rule_findings_by_severity,
    weigh_findings_by_proof,
)
from roundtable.core.decide.stage_outcome import describe_refused_files
from roundtable.core.effects import ClaimsProven, ProjectSplit, ProveClaims, ReviewChunk, SplitForReview
from roundtable.core.stages import StageEnd, StageEnding, stage_question_gate_id
from roundtable.core.text.wording import join_names, pluralize
from roundtable.core.values import Digest, Expect, Gate, Move, Round
from roundtable.meetings.stages.context import StageContext
from roundtable.meetings.stages.judge import JudgeResult, ask_stage_judge, unsign_answers
from roundtable.meetings.stages.repair import RepairResult, repair_findings
from roundtable.meetings.try_candidates import require_effect

REPAIR_OPTION, LEAVE_OPTION = "mend", "leave"


class FindingsRuling(msgspec.Struct, frozen=True):
    """How findings were weighed, and what the judge said; `ruled` is None where nobody weighed them."""

    ruled: RuledFindings | None
    how: StageEnding
    verdict: JudgeResult


async def weigh_findings(
    setting: StageContext, last: int, rounds: Sequence[Round], found: Sequence[WeighedFinding]
) -> FindingsRuling:
    """One judge on all findings; once more after the seats have said what they think of what is open."""
    wrote = list(dict.fromkeys(move.seat for it in rounds for move in it.moves))
    lines = tuple(describe_finding_for_seats(it, len(wrote)) for it in found)
    verdict = await _judged(setting, f"{setting.name}/{last + 1}", lines, (), wrote)
    looked = f"{setting.name}/{last + 2}-look"
    if verdict.consensus or not verdict.judge or not await setting.table.may_open(looked):
        return await _ended(setting, verdict, found)
    prompt = setting.prompt("look", {"open": verdict.bullets})
    prompt = msgspec.structs.replace(prompt, lists={"findings": lines})
    expect = Expect(tokens=setting.stage.tokens)
    again = await setting.table.ask(looked, prompt, expect=expect, seats=setting.seats, turns=setting.turns(blind=True))
    verdict = await _judged(setting, f"{setting.name}/{last + 2}", lines, unsign_answers(setting, again.moves), wrote)
    return await _ended(setting, verdict, found)


async def _judged(
    setting: StageContext, round: str, lines: tuple[str, ...], answers: tuple[str, ...], wrote: Sequence[str]
) -> JudgeResult:
    prompt = setting.prompt("findings-judge")
    prompt = msgspec.structs.replace(prompt, lists={"findings": lines, "answers": answers})
    return await ask_stage_judge(setting, round, prompt, Expect("judge-review", tokens=setting.stage.tokens), wrote)


async def _ended(setting: StageContext, verdict: JudgeResult, found: Sequence[WeighedFinding]) -> FindingsRuling:
    """As the judge says; where it sees no consensus, or none was heard, the person says whether to mend anything."""
    said = verdict.move.verdict.findings if verdict.move else None
    if verdict.consensus and said is not None:
        return FindingsRuling(rule_findings_by_judge(found, said), "agreed", verdict)
    gate = stage_question_gate_id(setting.name, "dispute")
    findings = pluralize(len(found), "finding")
    question = f"{setting.stage.title}: {findings}. {verdict.heard}. What is to be done about them?"
    details = {
        REPAIR_OPTION: "mend what the seats themselves call critical or high",
        LEAVE_OPTION: "mend nothing; all findings are listed as they are",
    }
    answer = await setting.table.gate(Gate(gate, question, tuple(details), LEAVE_OPTION, details))
    how = "failed" if setting.table.answered_by_default(gate) else "chosen"
    ruled = rule_findings_by_severity(found) if answer == REPAIR_OPTION else None
    return FindingsRuling(ruled, how, verdict)


async def hold_review_stage(setting: StageContext) -> StageEnd:
    """Hold the stage."""
    cut = SplitForReview(setting.draft, setting.settings.chunk, setting.stage.tokens, setting.stage.seats)
    parts = await require_effect(setting.table, f"{setting.name}/cut", cut, ProjectSplit)
    if not parts.chunks:
        return setting.end(how="failed", notices=("There is no code to review.",))
    rounds = await _read(setting, parts.chunks)
    notices = (*describe_refused_files(parts.refused, "reviewed"), *_unheard(parts, rounds))
    if not any(_heard(it) for it in rounds):
        return setting.end(how="failed", notices=notices)
    found = weigh_findings_by_proof(pool_findings(*rounds), await _proofs(setting, rounds, setting.draft, "proofs"))
    if not found:
        text = "Nobody found anything wrong."
        return setting.end(how="agreed", text=text, notices=notices)
    weighing = await weigh_findings(setting, len(parts.chunks), rounds, found)
    ruled = weighing.ruled or rule_findings_by_severity(found)
    critical = [it.finding for it in ruled.weighing(FindingWeight.CRITICAL, found)] if weighing.ruled else []
    mending = await repair_findings(setting, parts.chunks, critical)
    became = mending.became | await _still_shown(setting, rounds, found, mending)
    return setting.end(
        how=weighing.how,
        text=describe_ruled_findings(ruled, found, became),
        draft=mending.draft,
        judge=weighing.verdict.judge,
        took=mending.took,
        notices=(
            *notices,
            *weighing.verdict.notices,
            *describe_unfixed_findings(ruled, found, became),
            *mending.notices,
        ),
        own_words=weighing.verdict.own_words,
    )


async def _read(setting: StageContext, chunks: Sequence[ReviewChunk]) -> list[Round]:
    """All seats on each part, alone, as far as the limits of the session leave room for it."""
    prompt = setting.prompt("chunk")
    expect, turns = Expect("findings", tokens=setting.stage.tokens), setting.turns(blind=True)
    rounds: list[Round] = []
    for number, chunk in enumerate(chunks, 1):
        name = f"{setting.name}/{number}-chunk"
        if not await setting.table.may_open(name):
            break
        part = "all of the project" if len(chunks) == 1 else f"part {number} of {len(chunks)} of the project"
        files = (*chunk.files, chunk.map) if chunk.map else chunk.files
        about = msgspec.structs.replace(prompt, values={**prompt.values, "part": part}, files=files)
        rounds.append(await setting.table.ask(name, about, expect=expect, seats=setting.seats, turns=turns))
    return rounds


async def _proofs(setting: StageContext, rounds: Sequence[Round], draft: Digest, step: str) -> tuple[ClaimsProven, ...]:
    """What the seats' programs show, once every part was read: nobody is told of them before."""
    claimed = tuple(it.name for it in rounds if any(move.verdict.claims for move in _heard(it)))
    ran = await setting.table.do(f"{setting.name}/{step}", ProveClaims(claimed, draft=draft)) if claimed else None
    return (ran,) if isinstance(ran, ClaimsProven) else ()


async def _still_shown(
    setting: StageContext, rounds: Sequence[Round], found: Sequence[WeighedFinding], mending: RepairResult
) -> dict[str, str]:
    """What a program showed must not show any more where it was mended; no seat is taken at its word."""
    claimed = [
        it
        for it in found
        if it.standing is FindingStatus.REPRODUCED and mending.became.get(it.finding.id) == FINDING_FIXED
    ]
    again = await _proofs(setting, rounds, mending.draft, "proofs-after") if claimed else ()
    words = {
        FindingStatus.REPRODUCED: f"{FINDING_NOT_FIXED}a program still shows it.",
        FindingStatus.REFUTED: "Mended: the program that showed it does not find it any more.",
    }
    after = weigh_findings_by_proof([finding_as_proven(it) for it in claimed], again)
    return {it.finding.id: words[it.standing] for it in after if it.standing in words}


def _heard(round: Round) -> list[Move]:
    """What could be read; an answer in no form says nothing, least of all that nothing is wrong."""
    return [it for it in round.moves if it.verdict.counts]


def _unheard(parts: ProjectSplit, rounds: Sequence[Round]) -> tuple[str, ...]:
    """Who did not look at which parts, and which nobody did."""
    total = len(parts.chunks)
    missing: dict[str, list[str]] = {}
    for number, held in enumerate(rounds, 1):
        heard = {it.seat for it in _heard(held)}
        for seat in (it for it in held.electorate if it not in heard):
            missing.setdefault(seat, []).append(str(number))
    said = [f"{seat} was not heard on part {join_names(numbers)} of {total}." for seat, numbers in missing.items()]
    if len(rounds) < total:
        said.append(
            f"{total - len(rounds)} of {total} parts were not reviewed: the limits of the session were reached."
        )
    return tuple(said)
