"""What is critical is mended part by part, by who wrote most of the part; a fix that breaks something is dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeGuard

import msgspec

from roundtable.core.decide.findings import FINDING_FIXED, FINDING_NOT_FIXED, CodePlace, Finding, parse_code_place
from roundtable.core.decide.lead import choose_executor_seat
from roundtable.core.effects import ChangeRehearsed, CheckOutcome, DraftMove, MoveDrafted, RehearseChange, ReviewChunk
from roundtable.core.faults import Fault
from roundtable.core.replies.file_changes import parse_file_changes
from roundtable.core.stages import Contribution
from roundtable.core.text.wording import join_names
from roundtable.core.values import Digest, Expect
from roundtable.meetings.stages.context import StageContext
from roundtable.meetings.try_candidates import FILE_PARTS_CODEC, expect_changes, require_effect


class RepairResult(msgspec.Struct, frozen=True):
    """The project after it, which checks fail on it, and by a finding's id what became of that."""

    draft: Digest
    became: dict[str, str] = {}
    took: tuple[Contribution, ...] = ()
    notices: tuple[str, ...] = ()
    failing: frozenset[str] | None = None


async def repair_findings(
    setting: StageContext, chunks: Sequence[ReviewChunk], critical: Sequence[Finding]
) -> RepairResult:
    """Mend these findings, as far as they have a place in the project."""
    homes = {it.id: _home(it.place, chunks) for it in critical}
    nowhere = {id: f"{FINDING_NOT_FIXED}it names no file of the project." for id, home in homes.items() if home is None}
    state = RepairResult(setting.draft, nowhere)
    for number, chunk in enumerate(chunks, 1):
        wrong = [it for it in critical if homes[it.id] == number]
        if not wrong:
            continue
        name = f"{setting.name}/{number}-fix"
        if await setting.table.may_open(name):
            state = await _fixed(setting, name, chunk, wrong, state)
        else:
            state = _left(state, wrong, "the limits of the session were reached.")
    return state


def _home(place: CodePlace, chunks: Sequence[ReviewChunk]) -> int | None:
    """The number of the part that a place lies in, of several parts of a long file the one with the line."""
    having = [
        (number, part)
        for number, chunk in enumerate(chunks, 1)
        for it in chunk.files
        if (part := parse_code_place(it.name)).path == place.path
    ]
    exact = [number for number, part in having if not part.first or part.first <= place.first <= part.last]
    return next(iter((*exact, *(number for number, _ in having))), None)


async def _fixed(
    setting: StageContext, name: str, chunk: ReviewChunk, wrong: Sequence[Finding], state: RepairResult
) -> RepairResult:
    """Ask one seat, once, for the part it knows; take over what it writes if nothing breaks by it."""
    paths = tuple(dict.fromkeys(parse_code_place(it.name).path for it in chunk.files))
    seat = _writer(setting, paths)
    prompt = setting.prompt("fix", {"findings": "\n".join(it.line for it in wrong)})
    prompt = msgspec.structs.replace(prompt, files=chunk.files)
    cut = any(parse_code_place(it.name).first for it in chunk.files)
    form = FILE_PARTS_CODEC if cut else expect_changes(setting.table, chunk.files).codec
    expect = Expect(form, paths, setting.stage.tokens)
    held = await setting.table.ask(name, prompt, expect=expect, seats=(seat,), turns=setting.turns(blind=True))
    move = held.move_of(seat)
    if move is None:
        return _left(state, wrong, "who was asked to did not answer.")
    drafted = await require_effect(
        setting.table, f"{name}/draft", DraftMove(name, seat, state.draft, paths), MoveDrafted
    )
    if drafted.refused:
        return _left(state, wrong, drafted.refused[0].sentence)
    if drafted.draft in ("", state.draft):
        return _left(state, wrong, "who was asked to changed nothing.")
    state, broken = await _rehearsed(setting, name, drafted.draft, state)
    if broken:
        return _left(state, wrong, f"the fix was dropped, since {join_names(broken)} passed before it and not with it.")
    took = [Contribution(it.path, "", seat) for it in parse_file_changes(move.text).operations]
    became = state.became | {it.id: FINDING_FIXED for it in wrong}
    return msgspec.structs.replace(state, became=became, took=(*state.took, *dict.fromkeys(took)))


def _writer(setting: StageContext, paths: Sequence[str]) -> str:
    """Who wrote most of these files; where nobody here did, the seat that carries things out."""
    seats = [it for it in setting.table.charter.seats if it.name in setting.seats]
    names = {it.name for it in seats}
    wrote = Counter(it.seat for end in setting.before for it in end.took if it.path in paths and it.seat in names)
    lead = choose_executor_seat({}, seats, setting.table.charter.question)
    return wrote.most_common(1)[0][0] if wrote else lead.seat if lead else setting.seats[0]


async def _rehearsed(
    setting: StageContext, name: str, draft: Digest, state: RepairResult
) -> tuple[RepairResult, tuple[str, ...]]:
    """The project with a fix, if nothing that passed before fails with it; else as it was, and what fails."""
    if state.failing is None and state.draft:
        before = await setting.table.do(f"{setting.name}/before", RehearseChange(state.draft))
        state = msgspec.structs.replace(state, failing=_failing(before.checks) if _ran(before) else None)
    after = await setting.table.do(f"{name}/rehearsal", RehearseChange(draft))
    if not _ran(after):
        assert isinstance(after, ChangeRehearsed | Fault)
        why = after.refused[0].sentence if isinstance(after, ChangeRehearsed) else after.message
        return msgspec.structs.replace(state, draft=draft, notices=(f"Fixes could not be run: {why}",)), ()
    failing = _failing(after.checks)
    known = state.failing if state.failing is not None else _failing(after.before)
    if broken := tuple(sorted(failing - known)):
        return state, broken
    return msgspec.structs.replace(state, draft=draft, failing=failing), ()


def _ran(result: object) -> TypeGuard[ChangeRehearsed]:
    return isinstance(result, ChangeRehearsed) and not result.refused


def _failing(checks: Sequence[CheckOutcome]) -> frozenset[str]:
    return frozenset(it.name for it in checks if not it.passed)


def _left(state: RepairResult, wrong: Sequence[Finding], why: str) -> RepairResult:
    """The project as it is, with what these findings came to."""
    return msgspec.structs.replace(state, became=state.became | {it.id: f"{FINDING_NOT_FIXED}{why}" for it in wrong})
