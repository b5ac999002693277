"""The record: a closed union of facts. Nothing else is stored; everything else is folded from these facts.

Facts of the engine carry its lease. Facts of a person (`PERSON_EVENTS`) are always accepted. Deltas are shown and never
stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from roundtable.core.effects import Effect, EffectResult
from roundtable.core.faults import Fault, RecordTooNew
from roundtable.core.ledger import Entry
from roundtable.core.text.sanitize import escape_hidden_characters_in_json
from roundtable.core.upcast import upcast_event
from roundtable.core.values import (
    Charter,
    ContextItem,
    Decision,
    Digest,
    Expect,
    Gate,
    Limits,
    MoveStatus,
    Prompt,
    Timing,
    Turns,
    Usage,
)
from roundtable.core.verdict import Verdict

SCHEMA_VERSION = 3
"""Version 2 has codes for reasons, checks, gates and rounds; version 1 had sentences and names.

`core.upcast` reads records of version 1.
"""


class Fact(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """Base of every event: immutable, tagged by `kind`, which is dotted and in the past tense."""


# --- the session ---------------------------------------------------------------------------------


class SessionOpened(Fact, frozen=True, tag="session.opened"):
    """A session was opened with this charter. Always the first fact of a session."""

    charter: Charter


class RunStarted(Fact, frozen=True, tag="run.started"):
    """A process took the session's lease and runs it, for the first time or again."""

    holder: str
    resumed: bool = False


class RunStopped(Fact, frozen=True, tag="run.stopped"):
    """The process stopped before the end; the session can be resumed."""

    reason: str


class SessionEnded(Fact, frozen=True, tag="session.ended"):
    """The meeting is over."""

    outcome: str


# --- a person's facts ----------------------------------------------------------------------------


class NoteSaid(Fact, frozen=True, tag="note.said"):
    """A person wrote a note; the seats see it at their next turn."""

    text: str
    by: str = ""
    to: tuple[str, ...] = ()


class PauseAsked(Fact, frozen=True, tag="pause.asked"):
    """A person paused the session: no new turn starts."""

    by: str = ""


class ContinueAsked(Fact, frozen=True, tag="continue.asked"):
    """A person let a paused session continue."""

    by: str = ""


class CancelAsked(Fact, frozen=True, tag="cancel.asked"):
    """A person cancelled the session; its record is kept."""

    by: str = ""
    reason: str = ""


class StopAsked(Fact, frozen=True, tag="stop.asked"):
    """A person stopped the running program; the session continues."""

    by: str = ""


BY_HEADLESS_DEFAULT, BY_DEADLINE_DEFAULT, BY_ADVANCE_ANSWER = (
    "headless default",
    "deadline default",
    "answered in advance",
)
"""The values of `by` for answers that were not given at the gate itself; programs use `source`."""


class AnswerSource(StrEnum):
    """Where the answer to a gate comes from."""

    PERSON = "person"
    ADVANCE = "advance"
    HEADLESS = "headless"
    DEADLINE = "deadline"


class GateAnswered(Fact, frozen=True, tag="gate.answered"):
    """A gate was answered, by a person or by a policy stated in advance."""

    gate: str
    option: str
    text: str = ""
    by: str = ""
    source: AnswerSource = AnswerSource.PERSON

    @property
    def by_default(self) -> bool:
        """Whether the default applies because no person answered, or not in time."""
        return self.source in (AnswerSource.HEADLESS, AnswerSource.DEADLINE)


class SessionAmended(Fact, frozen=True, tag="session.amended"):
    """The charter was amended; the amendment takes effect with the next round."""

    by: str = ""
    name: str | None = None
    seats_on: tuple[str, ...] = ()
    seats_off: tuple[str, ...] = ()
    context_added: tuple[ContextItem, ...] = ()
    context_removed: tuple[str, ...] = ()
    limits: Limits | None = None


class EntryWritten(Fact, frozen=True, tag="entry.written"):
    """A person added an entry to the ledger, or changed the one with the same id."""

    entry: Entry
    by: str = ""


class SessionForgotten(Fact, frozen=True, tag="session.forgotten"):
    """A person removed the session from the list: its name is free again, and its id still finds it."""

    by: str = ""


class ChangeUndone(Fact, frozen=True, tag="change.undone"):
    """A person undid a change that this session had written; `change` is its id in the journal, `how` describes it in
    words."""

    change: str
    files: tuple[str, ...] = ()
    how: str = ""
    by: str = ""


# --- rounds and turns ----------------------------------------------------------------------------


class RoundOpened(Fact, frozen=True, tag="round.opened"):
    """The seats, quorum and limits of a round are fixed, and the parts of its prompts are stored by digest."""

    round: str
    electorate: tuple[str, ...]
    order: tuple[str, ...]
    turns: Turns
    expect: Expect
    prompt: Prompt
    template: Digest
    text_format: Digest = ""
    json_format: Digest = ""
    limits: Limits = Limits()


class TurnAsked(Fact, frozen=True, tag="turn.asked"):
    """A seat was asked. `heard` is the last fact in its prompt; with the parts of the round it defines the prompt."""

    round: str
    seat: str
    call: str
    voice: str
    heard: int
    structured: bool = False
    prompt_bytes: int = 0
    purpose: Literal["answer", "retry", "repair", "fallback", "again"] = "answer"


class TurnDelayed(Fact, frozen=True, tag="turn.delayed"):
    """A call waits in a queue for about `seconds`; this time does not count for the seat."""

    round: str
    seat: str
    call: str
    voice: str
    seconds: float
    why: str

    @property
    def words(self) -> str:
        """The wait in words, to follow the name of a seat."""
        return f"is queued for about {max(1, round(self.seconds))} s: {self.why}"


class CallFailed(Fact, frozen=True, tag="call.failed"):
    """One call failed; after `delay` seconds another follows, or none if `delay` is missing."""

    round: str
    seat: str
    call: str
    voice: str
    fault: Fault
    delay: float | None = None
    partial: str = ""
    usage: Usage = Usage()


class TurnInterrupted(Fact, frozen=True, tag="turn.interrupted"):
    """The process was stopped in the middle of a turn: the text so far is kept, and a resumed session asks again."""

    round: str
    seat: str
    call: str
    partial: str = ""


class MoveMade(Fact, frozen=True, tag="move.made"):
    """A seat answered. `text` is its answer for people; `raw` is the whole reply if that is longer."""

    round: str
    seat: str
    call: str
    text: str
    voice: str
    verdict: Verdict = Verdict()
    raw: str = ""
    vendor: str = ""
    model: str = ""
    usage: Usage = Usage()
    timing: Timing = Timing()
    status: MoveStatus = MoveStatus.MADE
    truncated: bool = False


class SeatMissed(Fact, frozen=True, tag="seat.missed"):
    """A seat did not answer, with the cause; it is not asked again in this round."""

    round: str
    seat: str
    fault: Fault
    partial: str = ""


class RoundClosed(Fact, frozen=True, tag="round.closed"):
    """A round is closed; later answers do not count."""

    round: str
    how: Literal["all", "deadline", "quorum", "cancelled"]
    counted: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    quorate: bool = True


class LimitReached(Fact, frozen=True, tag="limit.reached"):
    """A limit of the charter prevents this round."""

    round: str
    limit: str
    spent: float
    allowed: float


# --- gates, effects, the end ---------------------------------------------------------------------


class GateOpened(Fact, frozen=True, tag="gate.opened"):
    """The meeting waits for an answer that only a person, or a policy stated in advance, can give."""

    gate: Gate


class EffectStarted(Fact, frozen=True, tag="effect.started"):
    """A step other than talking is about to be performed."""

    step: str
    effect: Effect


class EffectDone(Fact, frozen=True, tag="effect.done"):
    """A step was performed, with this result; it is never performed again."""

    step: str
    result: EffectResult


class EffectFailed(Fact, frozen=True, tag="effect.failed"):
    """A step failed."""

    step: str
    fault: Fault


class DecisionMade(Fact, frozen=True, tag="decision.made"):
    """The meeting decided, or could not decide and says why."""

    decision: Decision


class UnknownEvent(Fact, frozen=True, tag="unknown"):
    """A fact of a kind this version does not know: kept and passed on, never dropped."""

    kind_name: str
    fields: dict[str, Any]


DAMAGED_KIND = "damaged"
"""The `kind_name` of the unknown event that stands for a fact that cannot be read."""

Event: TypeAlias = (
    SessionOpened
    | RunStarted
    | RunStopped
    | SessionEnded
    | NoteSaid
    | PauseAsked
    | ContinueAsked
    | CancelAsked
    | StopAsked
    | GateAnswered
    | SessionAmended
    | EntryWritten
    | SessionForgotten
    | ChangeUndone
    | RoundOpened
    | TurnAsked
    | TurnDelayed
    | CallFailed
    | TurnInterrupted
    | MoveMade
    | SeatMissed
    | RoundClosed
    | LimitReached
    | GateOpened
    | EffectStarted
    | EffectDone
    | EffectFailed
    | DecisionMade
    | UnknownEvent
)

PERSON_EVENTS: tuple[type[Fact], ...] = (
    *(NoteSaid, PauseAsked, ContinueAsked, CancelAsked, StopAsked),
    *(GateAnswered, SessionAmended, EntryWritten, SessionForgotten, ChangeUndone),
)
"""Facts that a person may state from any process, whichever process holds the lease."""

EVENT_KINDS: dict[str, type[Fact]] = {event.__struct_config__.tag: event for event in get_args(Event)}


class Recorded(msgspec.Struct, frozen=True):
    """An event with its position in the record."""

    seq: int
    at: str
    session: str
    event: Event


class Delta(msgspec.Struct, frozen=True, tag_field="kind", tag="delta"):
    """Text that is being written right now. `offset` is its position in the turn, so that a late reader does not repeat
    it."""

    session: str
    round: str
    seat: str
    call: str
    offset: int
    text: str


_encode = msgspec.json.Encoder().encode
_decode_known = msgspec.json.Decoder(Event).decode
_decode_any = msgspec.json.Decoder(dict[str, Any]).decode


def event_kind(event: Event) -> str:
    """The dotted kind of an event."""
    return event.kind_name if isinstance(event, UnknownEvent) else str(event.__struct_config__.tag)


def encode_event(event: Event) -> bytes:
    """An event's own fields and its kind, as one JSON object."""
    if isinstance(event, UnknownEvent):
        return _encode({"kind": event.kind_name, **event.fields})
    return _encode(event)


def decode_event(data: bytes | str, version: int = SCHEMA_VERSION) -> Event:
    """Decode one event; an unknown kind becomes `UnknownEvent`, a newer schema version is refused."""
    if version > SCHEMA_VERSION:
        raise RecordTooNew(
            f"This record has schema version {version}; this version of Roundtable reads schema versions up to "
            f"{SCHEMA_VERSION}.",
            "Upgrade Roundtable to open it.",
        )
    if version < SCHEMA_VERSION:
        data = upcast_event(data, version)
    try:
        event = _decode_known(data)
    except msgspec.ValidationError:
        fields = _decode_any(data)
        kind = fields.pop("kind", "")
        if kind in EVENT_KINDS and kind != "unknown":
            raise
        return UnknownEvent(kind, fields)
    if isinstance(event, UnknownEvent):
        return UnknownEvent("unknown", {"kind_name": event.kind_name, "fields": event.fields})
    return event


def event_to_json(item: Recorded | Delta) -> bytes:
    """The JSON object that `--json`, an SSE data field and a JSONL line all carry."""
    if isinstance(item, Delta):
        return escape_hidden_characters_in_json(_encode(item))
    head = f'{{"v":{SCHEMA_VERSION},"seq":{item.seq},"at":"{item.at}","session":"{item.session}",'
    return head.encode() + escape_hidden_characters_in_json(encode_event(item.event))[1:]


class _Envelope(msgspec.Struct):
    seq: int
    at: str
    session: str
    v: int = SCHEMA_VERSION


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_delta = msgspec.json.Decoder(Delta).decode
_ENVELOPE = ("v", "seq", "at", "session")


def events_to_jsonl(records: Iterable[Recorded]) -> str:
    """Events with their envelopes, one JSON object per line."""
    return "".join(f"{event_to_json(record).decode()}\n" for record in records)


def event_from_json(line: bytes | str) -> Recorded | Delta:
    """The inverse of `event_to_json`."""
    try:
        envelope = _decode_envelope(line)
    except msgspec.ValidationError:
        return _decode_delta(line)
    event = decode_event(line, envelope.v)
    if isinstance(event, UnknownEvent):
        event = UnknownEvent(event.kind_name, {k: v for k, v in event.fields.items() if k not in _ENVELOPE})
    return Recorded(envelope.seq, envelope.at, envelope.session, event)


def build_event_schemas() -> dict[str, Any]:
    """JSON Schemas of every event and of a delta, for readers in other languages."""
    (_, _), components = msgspec.json.schema_components((Event, Delta), ref_template="#/$defs/{name}")
    refs: dict[str, Any] = {
        kind: {"$ref": f"#/$defs/{event.__name__}"}
        for kind, event in sorted(EVENT_KINDS.items())
        if event is not UnknownEvent
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Roundtable events",
        "schema_version": SCHEMA_VERSION,
        "kinds": {**refs, "delta": {"$ref": "#/$defs/Delta"}},
        "$defs": components,
    }
