"""Another line from some point of a session on: it shares the record up to there, and the old one stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from roundtable.app.opening.meeting_catalog import find_charter_meeting
from roundtable.app.opening.session_ids import new_session_id
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
from roundtable.core.stage_history import list_stage_ends
from roundtable.core.stages import Stage, encode_stages
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Charter, NextStep
from roundtable.store.leases import current_lease_holder

_ENDING = ("stop", "complete")


async def branch_stored_session_before_round(parts: Parts, session: str, round: str) -> tuple[str, SessionOpened]:
    """A line that leaves the old one before a round was opened: its id, and how it was opened."""
    records = await parts.record.read(session)
    cut = next(
        (fact.seq for fact in records if isinstance(fact.event, RoundOpened) and fact.event.round == round), None
    )
    if cut is None:
        raise NotFound(f"This session has no round {round}.", "`roundtable show` lists its rounds.")
    return await _branched(parts, session, records, cut)


async def branch_stored_session_before_stage(
    parts: Parts, session: str, stage: str, instructions: str
) -> tuple[str, SessionOpened]:
    """A line on which a stage and all after it are held anew; what is to be different is added to its instructions."""
    records = await parts.record.read(session)
    opened = next((fact.event for fact in records if isinstance(fact.event, SessionOpened)), None)
    stages = Stage.list_of(opened.charter) if opened else ()
    cuts = {stage.name: cut for stage in stages if (cut := _beginning(records, stage.name)) is not None}
    ended = _ended_before(records, [stage.name for stage in stages if stage.enabled and stage.name not in cuts])
    _check_held(stage, [*cuts, *ended])
    added = tuple(
        msgspec.structs.replace(each, instructions="\n".join(filter(None, (each.instructions, instructions))))
        if each.name == stage
        else each
        for each in stages
    )

    def told(charter: Charter) -> Charter:
        return msgspec.structs.replace(charter, settings={**charter.settings, "stages": encode_stages(added)})

    if answer := ended.get(stage):
        # Who goes on with the stage that would have come next says yes to the one before.
        yes = GateAnswered(answer.event.gate, "continue", by=answer.event.by, source=answer.event.source)
        return await _branched(parts, session, records, answer.seq, told, yes)
    return await _branched(parts, session, records, cuts[stage], told)


def _beginning(records: Sequence[Recorded], stage: str) -> int | None:
    """The first fact of a stage; where it was skipped, the person's answer that did so, for them to give anew."""
    answered = 0
    for fact in records:
        if isinstance(fact.event, GateAnswered):
            answered = fact.seq
        if _belongs(fact.event, stage):
            return answered if _skipped(fact.event) else fact.seq
    return None


class _Answered(NamedTuple):
    seq: int
    event: GateAnswered


def _ended_before(records: Sequence[Recorded], waiting: Sequence[str]) -> dict[str, _Answered]:
    """The stage that would have come next, with the answer that ended the session before it."""
    between = {
        fact.event.gate.id for fact in records if isinstance(fact.event, GateOpened) and fact.event.gate.is_after_stage
    }
    answers = [_Answered(fact.seq, fact.event) for fact in records if isinstance(fact.event, GateAnswered)]
    last = next((answer for answer in reversed(answers) if answer.event.gate in between), None)
    return {waiting[0]: last} if waiting and last and last.event.option in _ENDING else {}


def _skipped(event: Event) -> bool:
    return isinstance(event, EffectStarted) and isinstance(event.effect, EndStage) and event.effect.end.how == "skipped"


def _belongs(event: Event, stage: str) -> bool:
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


async def _branched(
    parts: Parts,
    session: str,
    records: Sequence[Recorded],
    cut: int,
    changed: Callable[[Charter], Charter] = lambda charter: charter,
    *more: Event,
) -> tuple[str, SessionOpened]:
    # Every fact is copied, so that the sequence numbers which turns refer to stay what they were.
    opened, *kept = (fact.event for fact in records if fact.seq < cut)
    assert isinstance(opened, SessionOpened)
    if find_charter_meeting(opened.charter).version != opened.charter.version:
        raise UsageError("The rules have changed since this was held, so it cannot go on from there.", "Open it anew.")
    charter = msgspec.structs.replace(changed(opened.charter), parent=session, branched_at=cut - 1, name="")
    child = new_session_id()
    lease, _ = await parts.leases.acquire(child, current_lease_holder())
    try:
        await parts.record.append_many(child, [SessionOpened(charter), *kept, *more], lease)
    finally:
        await parts.leases.release(lease)
    return child, SessionOpened(charter)


def _parse_rollback_words(words: str) -> tuple[str, str]:
    """The stage and what is to be different, as a person writes them with `back`: `architecture: use Flask`."""
    stage, _, instructions = words.partition(":")
    if not stage.strip():
        raise UsageError("It is not said which stage to go back to.", "Write it as STAGE: WHAT IS TO BE DIFFERENT.")
    return stage.strip(), instructions.strip()


def find_stored_session_rollback(session: Session) -> tuple[str, str] | None:
    """Where a session that ended with `back` goes on, and what is to be different there."""
    if session.decision is None or session.decision.next_step != NextStep.BACK or not session.charter.has_stages:
        return None
    said = [
        answer.text for answer in session.answers.values() if session.gates[answer.gate].is_back_answer(answer.option)
    ]
    return _parse_rollback_words(said[-1]) if said else None


def check_stored_session_rollback(session: Session, words: str) -> None:
    """Refuse to go back to where nothing was held."""
    _check_held(_parse_rollback_words(words)[0], [end.stage for end in list_stage_ends(session)])


def _check_held(stage: str, held: Sequence[str]) -> None:
    if stage not in held:
        raise NotFound(
            f"The stage {sanitize_line(stage, 60)} was not held in this session.",
            f"Go back to one of: {', '.join(held)}." if held else "It is no meeting in stages, or has not begun.",
        )
