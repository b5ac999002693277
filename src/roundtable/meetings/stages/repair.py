"""Repair of critical review findings: the main author of each part fixes it; a fix that breaks a check is discarded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeGuard

import msgspec

from roundtable.core.decide.findings import CodePlace, Finding
from roundtable.core.decide.lead import decide_executor_seat
from roundtable.core.effects import ChangeRehearsed, CheckOutcome, DraftMove, MoveDrafted, RehearseChange, ReviewChunk
from roundtable.core.faults import Fault
from roundtable.core.reasons import FindingRepair, FixesNotRun, Reasons, RepairCause
from roundtable.core.refusals import Refusal
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.stages import Contribution
from roundtable.core.values import Digest, Expect
from roundtable.meetings.stages.context import StageContext
from roundtable.meetings.try_candidates import (
    FILE_PARTS_CODEC,
    meeting_changes_reply_format,
    perform_required_meeting_step,
)
from roundtable.report.refusals import refusal_sentence


class RepairResult(msgspec.Struct, frozen=True):
    """The project after repairs: its failing checks, and by a finding's id what happened with it."""

    draft: Digest
    repairs: dict[str, FindingRepair] = {}
    took: tuple[Contribution, ...] = ()
    notices: Reasons = ()
    failing: frozenset[str] | None = None


async def ask_stage_repair_of_findings(
    context: StageContext, chunks: Sequence[ReviewChunk], critical: Sequence[Finding]
) -> RepairResult:
    """Ask the authors of the affected files to fix these findings; a finding without a file of the project is left."""
    locations = {finding.id: _find_chunk(finding.place, chunks) for finding in critical}
    nowhere = {
        id: FindingRepair(fixed=False, cause=RepairCause.PLACE_UNKNOWN)
        for id, home in locations.items()
        if home is None
    }
    state = RepairResult(context.draft, nowhere)
    for number, chunk in enumerate(chunks, 1):
        chunk_findings = [finding for finding in critical if locations[finding.id] == number]
        if not chunk_findings:
            continue
        name = context.address.step(f"{number}-fix")
        if await context.table.may_open(name):
            state = await _fix_chunk(context, name, chunk, chunk_findings, state)
        else:
            state = _leave_findings(state, chunk_findings, RepairCause.LIMIT_REACHED)
    return state


def _find_chunk(place: CodePlace, chunks: Sequence[ReviewChunk]) -> int | None:
    """The number of the part that contains a place; of a long file in several parts, the one with the line."""
    having = [
        (number, part)
        for number, chunk in enumerate(chunks, 1)
        for file in chunk.files
        if (part := CodePlace.parse(file.name)).path == place.path
    ]
    exact = [number for number, part in having if not part.first or part.first <= place.first <= part.last]
    return next(iter((*exact, *(number for number, _ in having))), None)


async def _fix_chunk(
    context: StageContext, name: str, chunk: ReviewChunk, chunk_findings: Sequence[Finding], state: RepairResult
) -> RepairResult:
    """Ask one seat, once, to fix its part; keep the fix if it breaks nothing."""
    paths = tuple(dict.fromkeys(CodePlace.parse(file.name).path for file in chunk.files))
    seat = _choose_author(context, paths)
    prompt = context.prompt("fix", {"findings": "\n".join(finding.line for finding in chunk_findings)})
    prompt = msgspec.structs.replace(prompt, files=chunk.files)
    cut = any(CodePlace.parse(file.name).first for file in chunk.files)
    form = FILE_PARTS_CODEC if cut else meeting_changes_reply_format(context.table, chunk.files).codec
    expect = Expect(form, paths, context.stage.tokens)
    answers = await context.table.ask(name, prompt, expect=expect, seats=(seat,), turns=context.turns(blind=True))
    move = answers.move_of(seat)
    if move is None:
        return _leave_findings(state, chunk_findings, RepairCause.SEAT_MISSING)
    drafted = await perform_required_meeting_step(
        context.table, f"{name}/draft", DraftMove(name, seat, state.draft, paths), MoveDrafted
    )
    if drafted.refused:
        return _leave_findings(state, chunk_findings, RepairCause.REFUSED, refusal=drafted.refused[0])
    if drafted.draft in ("", state.draft):
        return _leave_findings(state, chunk_findings, RepairCause.NOTHING_CHANGED)
    state, broken = await _rehearse_fix(context, name, drafted.draft, state)
    if broken:
        return _leave_findings(state, chunk_findings, RepairCause.BROKE_CHECKS, checks=broken)
    contributions = [
        Contribution(operation.path, "", seat) for operation in parse_reply_file_changes(move.text).operations
    ]
    repairs = state.repairs | {finding.id: FindingRepair(fixed=True) for finding in chunk_findings}
    return msgspec.structs.replace(state, repairs=repairs, took=(*state.took, *dict.fromkeys(contributions)))


def _choose_author(context: StageContext, paths: Sequence[str]) -> str:
    """The seat that wrote most of these files; if none did, the seat that carries things out."""
    seats = [seat for seat in context.table.charter.seats if seat.name in context.seats]
    names = {seat.name for seat in seats}
    wrote = Counter(
        contribution.seat
        for end in context.before
        for contribution in end.took
        if contribution.path in paths and contribution.seat in names
    )
    lead = decide_executor_seat({}, seats, context.table.charter.question)
    return wrote.most_common(1)[0][0] if wrote else lead.seat if lead else context.seats[0]


async def _rehearse_fix(
    context: StageContext, name: str, draft: Digest, state: RepairResult
) -> tuple[RepairResult, tuple[str, ...]]:
    """The project with a fix, if nothing that passed before fails with it; otherwise unchanged, with what fails."""
    if state.failing is None and state.draft:
        before = await context.table.do(context.address.step("before"), RehearseChange(state.draft))
        state = msgspec.structs.replace(
            state, failing=_failing_checks(before.checks) if _is_rehearsal(before) else None
        )
    after = await context.table.do(f"{name}/rehearsal", RehearseChange(draft))
    if not _is_rehearsal(after):
        assert isinstance(after, ChangeRehearsed | Fault)
        message = refusal_sentence(after.refused[0]) if isinstance(after, ChangeRehearsed) else after.message
        return msgspec.structs.replace(state, draft=draft, notices=(FixesNotRun(message),)), ()
    failing = _failing_checks(after.checks)
    failing_before = state.failing if state.failing is not None else _failing_checks(after.before)
    if broken_checks := tuple(sorted(failing - failing_before)):
        return state, broken_checks
    return msgspec.structs.replace(state, draft=draft, failing=failing), ()


def _is_rehearsal(result: object) -> TypeGuard[ChangeRehearsed]:
    return isinstance(result, ChangeRehearsed) and not result.refused


def _failing_checks(checks: Sequence[CheckOutcome]) -> frozenset[str]:
    return frozenset(check.name for check in checks if not check.passed)


def _leave_findings(
    state: RepairResult,
    chunk_findings: Sequence[Finding],
    cause: RepairCause,
    checks: tuple[str, ...] = (),
    refusal: Refusal | None = None,
) -> RepairResult:
    """The project unchanged, with the cause for these findings."""
    repair = FindingRepair(fixed=False, cause=cause, checks=checks, refusal=refusal)
    left = {finding.id: repair for finding in chunk_findings}
    return msgspec.structs.replace(state, repairs=state.repairs | left)
