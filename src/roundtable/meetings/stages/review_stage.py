"""The review stage: findings and their fixes, for a project of any size.

1. The project is split into parts that fit every seat's context window, each with a map of its dependencies. All seats
   review each part alone, and give file and line of each fault, with a program that proves it where possible.
2. Equal findings are merged. The programs run on the current project.
3. A judge weighs the findings by their words, without code. If it needs more, all seats discuss the open findings once,
   and after that the person decides.
4. Critical findings are fixed part by part, and the programs run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from roundtable.core.decide.findings import (
    FindingStatus,
    FindingWeight,
    RuledFindings,
    WeighedFinding,
    decide_pooled_findings,
    decide_unfixed_findings,
    keep_deciding_proofs_of_finding,
    rule_findings_by_judge,
    rule_findings_by_severity,
    weigh_findings_by_proof,
)
from roundtable.core.effects import ClaimsProven, ProjectSplit, ProveClaims, ReviewChunk, SplitForReview
from roundtable.core.reasons import (
    FilesUnusable,
    FindingRepair,
    NothingToReview,
    PartsUnreviewed,
    PartsUnreviewedBySeat,
    Reason,
    RepairCause,
)
from roundtable.core.stages import StageEnd, StageEnding
from roundtable.core.text.wording import pluralize
from roundtable.core.values import DISPUTE, Digest, Expect, Gate, Move, Round
from roundtable.meetings.stages.context import StageContext
from roundtable.meetings.stages.judge import JudgeResult, ask_stage_judge, render_stage_prompt_answers_unsigned
from roundtable.meetings.stages.repair import RepairResult, ask_stage_repair_of_findings
from roundtable.meetings.try_candidates import perform_required_meeting_step
from roundtable.report.finding_words import render_ruled_findings

REPAIR_OPTION, LEAVE_OPTION = "mend", "leave"


class FindingsRuling(msgspec.Struct, frozen=True):
    """How findings were weighed, and the judge's verdict; `ruled` is None where nobody weighed them."""

    ruling: RuledFindings | None
    how: StageEnding
    verdict: JudgeResult


async def _weigh_findings(
    context: StageContext, last: int, rounds: Sequence[Round], findings: Sequence[WeighedFinding]
) -> FindingsRuling:
    """Let a judge weigh all findings; once more after the seats discussed what is open."""
    authors = list(dict.fromkeys(move.seat for round in rounds for move in round.moves))
    lines = tuple(render_stage_prompt_finding(finding, len(authors)) for finding in findings)
    verdict = await _ask_judge(context, context.address.step(last + 1), lines, (), authors)
    looked = context.address.step(f"{last + 2}-look")
    if verdict.consensus or not verdict.judge or not await context.table.may_open(looked):
        return await _finish_weighing(context, verdict, findings)
    prompt = context.prompt("look", {"open": verdict.option_list})
    prompt = msgspec.structs.replace(prompt, lists={"findings": lines})
    expect = Expect(tokens=context.stage.tokens)
    again = await context.table.ask(looked, prompt, expect=expect, seats=context.seats, turns=context.turns(blind=True))
    verdict = await _ask_judge(
        context,
        context.address.step(last + 2),
        lines,
        render_stage_prompt_answers_unsigned(context, again.moves),
        authors,
    )
    return await _finish_weighing(context, verdict, findings)


async def _ask_judge(
    context: StageContext, round: str, lines: tuple[str, ...], answers: tuple[str, ...], authors: Sequence[str]
) -> JudgeResult:
    prompt = context.prompt("findings-judge")
    prompt = msgspec.structs.replace(prompt, lists={"findings": lines, "answers": answers})
    return await ask_stage_judge(context, round, prompt, Expect("judge-review", tokens=context.stage.tokens), authors)


async def _finish_weighing(
    context: StageContext, verdict: JudgeResult, found: Sequence[WeighedFinding]
) -> FindingsRuling:
    """The judge's ruling; without a consensus or a judge, the person says whether findings are fixed."""
    ruling = verdict.move.verdict.findings if verdict.move else None
    if verdict.consensus and ruling is not None:
        return FindingsRuling(rule_findings_by_judge(found, ruling), "agreed", verdict)
    gate = context.address.question_gate(DISPUTE)
    seat_findings = pluralize(len(found), "finding")
    them = "this finding" if len(found) == 1 else "these findings"
    question = f"{context.stage.title}: {seat_findings}. {verdict.verdict_clause}. What should be done about {them}?"
    details = {
        REPAIR_OPTION: "fix what the seats call critical or high",
        LEAVE_OPTION: "fix nothing; list all findings",
    }
    answer = await context.table.gate(Gate(gate, question, tuple(details), LEAVE_OPTION, details, kind=DISPUTE))
    how = "failed" if context.table.answered_by_default(gate) else "chosen"
    ruled = rule_findings_by_severity(found) if answer == REPAIR_OPTION else None
    return FindingsRuling(ruled, how, verdict)


async def hold_review_stage(context: StageContext) -> StageEnd:
    """Hold a review stage."""
    cut = SplitForReview(context.draft, context.settings.chunk, context.stage.tokens, context.stage.seats)
    parts = await perform_required_meeting_step(context.table, context.address.step("cut"), cut, ProjectSplit)
    if not parts.chunks:
        return context.end(how="failed", notices=(NothingToReview(),))
    rounds = await _review_chunks(context, parts.chunks)
    notices = (*_missing_review_notices(parts, rounds),)
    if not any(_readable_moves(round) for round in rounds):
        return context.end(how="failed", notices=notices)
    findings = weigh_findings_by_proof(
        decide_pooled_findings(*rounds), await _run_proofs(context, rounds, context.draft, "proofs")
    )
    if not findings:
        text = "No seat found a fault."
        return context.end(how="agreed", text=text, notices=notices)
    weighing = await _weigh_findings(context, len(parts.chunks), rounds, findings)
    ruled = weighing.ruling or rule_findings_by_severity(findings)
    critical = (
        [weighed_finding.finding for weighed_finding in ruled.weighing(FindingWeight.CRITICAL, findings)]
        if weighing.ruling
        else []
    )
    mending = await ask_stage_repair_of_findings(context, parts.chunks, critical)
    repairs = mending.repairs | await _verify_fixes(context, rounds, findings, mending)
    return context.end(
        how=weighing.how,
        text=render_ruled_findings(ruled, findings, repairs),
        draft=mending.draft,
        judge=weighing.verdict.judge,
        took=mending.took,
        notices=(
            *notices,
            *weighing.verdict.notices,
            *filter(None, (decide_unfixed_findings(ruled, findings, repairs),)),
            *mending.notices,
        ),
        own_words=weighing.verdict.judged_own_words,
    )


async def _review_chunks(context: StageContext, chunks: Sequence[ReviewChunk]) -> list[Round]:
    """Let all seats review each part alone, as far as the limits allow."""
    prompt = context.prompt("chunk")
    expect, turns = Expect("findings", tokens=context.stage.tokens), context.turns(blind=True)
    rounds: list[Round] = []
    for number, chunk in enumerate(chunks, 1):
        name = context.address.step(f"{number}-chunk")
        if not await context.table.may_open(name):
            break
        part = "all of the project" if len(chunks) == 1 else f"part {number} of {len(chunks)} of the project"
        files = (*chunk.files, chunk.map) if chunk.map else chunk.files
        about = msgspec.structs.replace(prompt, values={**prompt.values, "part": part}, files=files)
        rounds.append(await context.table.ask(name, about, expect=expect, seats=context.seats, turns=turns))
    return rounds


async def _run_proofs(
    context: StageContext, rounds: Sequence[Round], draft: Digest, step: str
) -> tuple[ClaimsProven, ...]:
    """Run the seats' programs, once every part was reviewed."""
    claimed = tuple(round.name for round in rounds if any(move.verdict.claims for move in _readable_moves(round)))
    result = await context.table.do(context.address.step(step), ProveClaims(claimed, draft=draft)) if claimed else None
    return (result,) if isinstance(result, ClaimsProven) else ()


async def _verify_fixes(
    context: StageContext, rounds: Sequence[Round], findings: Sequence[WeighedFinding], repairs: RepairResult
) -> dict[str, FindingRepair]:
    """Run the programs of fixed findings again; a seat's word is not enough."""
    claimed = [
        finding for finding in findings if finding.standing is FindingStatus.REPRODUCED and _is_fixed(repairs, finding)
    ]
    again = await _run_proofs(context, rounds, repairs.draft, "proofs-after") if claimed else ()
    proven = {
        FindingStatus.REPRODUCED: FindingRepair(fixed=False, cause=RepairCause.STILL_SHOWN),
        FindingStatus.REFUTED: FindingRepair(fixed=True, cause=RepairCause.NO_LONGER_SHOWN),
    }
    after = weigh_findings_by_proof([keep_deciding_proofs_of_finding(finding) for finding in claimed], again)
    return {finding.finding.id: proven[finding.standing] for finding in after if finding.standing in proven}


def _is_fixed(mending: RepairResult, finding: WeighedFinding) -> bool:
    repair = mending.repairs.get(finding.finding.id)
    return repair is not None and repair.fixed


def _readable_moves(round: Round) -> list[Move]:
    """The readable answers; an unreadable one says nothing, least of all that nothing is wrong."""
    return [move for move in round.moves if move.verdict.counts]


def _missing_review_notices(parts: ProjectSplit, rounds: Sequence[Round]) -> Iterator[Reason]:
    """Notices on files that were refused, on seats that did not review a part, and on parts nobody reviewed."""
    if parts.refused:
        yield FilesUnusable("reviewed", dict(parts.refused))
    total = len(parts.chunks)
    missing: dict[str, list[int]] = {}
    for number, held in enumerate(rounds, 1):
        heard = {move.seat for move in _readable_moves(held)}
        for seat in (seat for seat in held.electorate if seat not in heard):
            missing.setdefault(seat, []).append(number)
    yield from (PartsUnreviewedBySeat(seat, tuple(numbers), total) for seat, numbers in missing.items())
    if len(rounds) < total:
        yield PartsUnreviewed(total - len(rounds), total)


def render_stage_prompt_finding(weighed: WeighedFinding, seats: int) -> str:
    """A finding for the seats: how many of them found it and what a program showed, without their names."""
    share = f"{len(weighed.finding.seats)} of {seats} found it."
    proof = {
        FindingStatus.REPRODUCED: " A program shows it.",
        FindingStatus.REFUTED: " A program looked and did not find it.",
    }
    return f"{weighed.finding.id}: {weighed.finding.words} ({share}{proof.get(weighed.standing, '')})"
