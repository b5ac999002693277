"""Branches stored sessions: a branch copies the record up to some point and continues from there on its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from roundtable.app.opening.meeting_catalog import MeetingCatalog
from roundtable.app.parts import Parts
from roundtable.core.effects import EndStage
from roundtable.core.events import (
    EffectStarted,
    Event,
    GateAnswered,
    GateOpened,
    LimitReached,
    Recorded,
    RoundOpened,
    SessionOpened,
)
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.session import Session
from roundtable.core.stage_address import StageAddress
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.stages import Stage, encode_session_stages
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Charter, NextStep
from roundtable.store.leases import lease_holder_of_this_process
from roundtable.store.session_ids import generate_stored_session_id

_ENDING_OPTIONS = ("stop", "complete")


async def branch_session_before_round(parts: Parts, session: str, round: str) -> tuple[str, SessionOpened]:
    """Open a branch that starts before a round; return its id and its opening."""
    records = await parts.record.read(session)
    cut = next(
        (fact.seq for fact in records if isinstance(fact.event, RoundOpened) and fact.event.round == round), None
    )
    if cut is None:
        raise NotFound(f"This session has no round {round}.", "`roundtable show` lists its rounds.")
    return await _open_branch(parts, session, records, cut)


async def branch_session_before_stage(
    parts: Parts, session: str, stage: str, instructions: str
) -> tuple[str, SessionOpened]:
    """Open a branch that repeats a stage and all later ones; `instructions` are added to those of the stage."""
    records = await parts.record.read(session)
    opened = next((fact.event for fact in records if isinstance(fact.event, SessionOpened)), None)
    stages = Stage.list_of(opened.charter) if opened else ()
    starts = {stage.name: seq for stage in stages if (seq := _find_stage_start(records, stage.name)) is not None}
    not_started = [stage.name for stage in stages if stage.enabled and stage.name not in starts]
    endings = _find_ending_answer(records, not_started)
    _check_stage_was_held(stage, [*starts, *endings])
    changed = tuple(
        msgspec.structs.replace(other, instructions="\n".join(filter(None, (other.instructions, instructions))))
        if other.name == stage
        else other
        for other in stages
    )

    def change_stages(charter: Charter) -> Charter:
        return msgspec.structs.replace(charter, settings={**charter.settings, "stages": encode_session_stages(changed)})

    if ending := endings.get(stage):
        # To continue with the next stage is to approve the stage before it.
        approval = GateAnswered(ending.event.gate, "continue", by=ending.event.by, source=ending.event.source)
        return await _open_branch(parts, session, records, ending.seq, change_stages, approval)
    return await _open_branch(parts, session, records, starts[stage], change_stages)


def _find_stage_start(records: Sequence[Recorded], stage: str) -> int | None:
    """Return the sequence number of the first fact of a stage; for a skipped stage, of the answer that skipped it."""
    last_answer = 0
    for fact in records:
        if isinstance(fact.event, GateAnswered):
            last_answer = fact.seq
        if _is_fact_of_stage(fact.event, stage):
            return last_answer if _is_skipped_stage_end(fact.event) else fact.seq
    return None


class _Ending(NamedTuple):
    seq: int
    event: GateAnswered


def _find_ending_answer(records: Sequence[Recorded], not_started: Sequence[str]) -> dict[str, _Ending]:
    """Return the answer that ended the session after a stage, by the stage that would have been next."""
    gates = {
        fact.event.gate.id for fact in records if isinstance(fact.event, GateOpened) and fact.event.gate.is_after_stage
    }
    answers = [_Ending(fact.seq, fact.event) for fact in records if isinstance(fact.event, GateAnswered)]
    last = next((answer for answer in reversed(answers) if answer.event.gate in gates), None)
    return {not_started[0]: last} if not_started and last and last.event.option in _ENDING_OPTIONS else {}


def _is_skipped_stage_end(event: Event) -> bool:
    return isinstance(event, EffectStarted) and isinstance(event.effect, EndStage) and event.effect.end.how == "skipped"


def _is_fact_of_stage(event: Event, stage: str) -> bool:
    address = StageAddress(stage)
    match event:
        case RoundOpened() | LimitReached():
            return address.includes(event.round)
        case EffectStarted():
            return address.includes(event.step)
        case GateOpened():
            return event.gate.id == address.gate_after
        case _:
            return False


async def _open_branch(
    parts: Parts,
    session: str,
    records: Sequence[Recorded],
    cut: int,
    change_charter: Callable[[Charter], Charter] = lambda charter: charter,
    *more: Event,
) -> tuple[str, SessionOpened]:
    # Every fact is copied, so that the sequence numbers that turns refer to stay the same.
    opened, *copied = (fact.event for fact in records if fact.seq < cut)
    assert isinstance(opened, SessionOpened)
    if MeetingCatalog.find_charter_meeting(opened.charter).version != opened.charter.version:
        raise UsageError(
            f"The rules of the meeting {opened.charter.meeting} have changed since this session began, so it "
            "cannot be continued.",
            "Open a new session.",
        )
    charter = msgspec.structs.replace(change_charter(opened.charter), parent=session, branched_at=cut - 1, name="")
    branch = generate_stored_session_id()
    lease, _ = await parts.leases.acquire(branch, lease_holder_of_this_process())
    try:
        await parts.record.append_many(branch, [SessionOpened(charter), *copied, *more], lease)
    finally:
        await parts.leases.release(lease)
    return branch, SessionOpened(charter)


def _parse_rollback_text(text: str) -> tuple[str, str]:
    """Parse the answer to `back`, such as `architecture: use Flask`: a stage and instructions."""
    stage, _, instructions = text.partition(":")
    if not stage.strip():
        raise UsageError("The answer does not name a stage to go back to.", "Write it as STAGE: INSTRUCTIONS.")
    return stage.strip(), instructions.strip()


def find_rollback_request_on_record(session: Session) -> tuple[str, str] | None:
    """Return the stage and instructions of a session that ended with `back`; None if it ended otherwise."""
    if session.decision is None or session.decision.next_step != NextStep.BACK or not session.charter.has_stages:
        return None
    texts = [
        answer.text for answer in session.answers.values() if session.gates[answer.gate].is_back_answer(answer.option)
    ]
    return _parse_rollback_text(texts[-1]) if texts else None


def check_rollback_request_on_record(session: Session, text: str) -> None:
    """Raise NotFound if the stage that an answer goes back to was not held."""
    _check_stage_was_held(_parse_rollback_text(text)[0], [end.stage for end in session_stage_ends(session)])


def _check_stage_was_held(stage: str, held: Sequence[str]) -> None:
    if stage not in held:
        raise NotFound(
            f"The stage {sanitize_line(stage, 60)} was not held in this session.",
            f"Go back to one of: {', '.join(held)}."
            if held
            else "The session has no stages, or its first stage has not started.",
        )
