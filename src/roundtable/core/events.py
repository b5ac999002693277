"""The record: one closed union of facts. Nothing else is ever stored; everything else is folded from it.

Facts of the engine carry its lease. Facts of a person (`PERSON_EVENTS`) are always taken.
Deltas are shown and never stored.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import msgspec

from roundtable.core.effects import Effect, EffectResult
from roundtable.core.faults import Fault, RecordTooNew
from roundtable.core.ledger import Entry
from roundtable.core.usage import format_money
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

SCHEMA_VERSION = 1


class Fact(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """Base of every event: immutable, tagged by `kind`, dotted and in the past tense."""


# --- the session ---------------------------------------------------------------------------------


class SessionOpened(Fact, frozen=True, tag="session.opened"):
    """A charter was agreed on. Always the first fact of a session."""

    charter: Charter


class RunStarted(Fact, frozen=True, tag="run.started"):
    """A process took the session's lease and runs it, for the first time or again."""

    holder: str
    resumed: bool = False


class RunStopped(Fact, frozen=True, tag="run.stopped"):
    """The process let go before the end; the session can be resumed."""

    reason: str


class SessionEnded(Fact, frozen=True, tag="session.ended"):
    """The meeting is over."""

    outcome: str


# --- a person's facts ----------------------------------------------------------------------------


class NoteSaid(Fact, frozen=True, tag="note.said"):
    """A person put something to the table; seats hear it at their next turn."""

    text: str
    by: str = ""
    to: tuple[str, ...] = ()


class PauseAsked(Fact, frozen=True, tag="pause.asked"):
    """A person wants no new turn to start for now."""

    by: str = ""


class ContinueAsked(Fact, frozen=True, tag="continue.asked"):
    """A person lets a paused session go on."""

    by: str = ""


class CancelAsked(Fact, frozen=True, tag="cancel.asked"):
    """A person wants the session to end now; what was said so far is kept."""

    by: str = ""
    reason: str = ""


class StopAsked(Fact, frozen=True, tag="stop.asked"):
    """A person wants the program that is being run to end now; the session goes on."""

    by: str = ""


BY_HEADLESS_DEFAULT, BY_DEADLINE_DEFAULT, BY_ADVANCE_ANSWER = "headless default", "deadline default", "answered ahead"
"""Who answered a gate at which nobody was asked."""


class GateAnswered(Fact, frozen=True, tag="gate.answered"):
    """A gate got its answer, from a person or from the policy stated beforehand."""

    gate: str
    option: str
    text: str = ""
    by: str = ""

    @property
    def by_default(self) -> bool:
        """Whether nobody gave it: the gate's default stands because nobody was there, or not in time."""
        return self.by.startswith((BY_HEADLESS_DEFAULT, BY_DEADLINE_DEFAULT))


class SessionAmended(Fact, frozen=True, tag="session.amended"):
    """The charter was changed in the open; it takes effect with the next round."""

    by: str = ""
    name: str | None = None
    seats_on: tuple[str, ...] = ()
    seats_off: tuple[str, ...] = ()
    context_added: tuple[ContextItem, ...] = ()
    context_removed: tuple[str, ...] = ()
    limits: Limits | None = None


class EntryWritten(Fact, frozen=True, tag="entry.written"):
    """A person wrote something into the ledger, or changed what stands there under the same id."""

    entry: Entry
    by: str = ""


class SessionForgotten(Fact, frozen=True, tag="session.forgotten"):
    """A person took the session off the list: its name is free again, and its id still leads to what was said."""

    by: str = ""


class ChangeUndone(Fact, frozen=True, tag="change.undone"):
    """A person took back what this session had written; `change` is the id of the journal, `how` says it in words."""

    change: str
    files: tuple[str, ...] = ()
    how: str = ""
    by: str = ""


# --- rounds and turns ----------------------------------------------------------------------------


class RoundOpened(Fact, frozen=True, tag="round.opened"):
    """Seats, quorum and limits of this round are fixed, and the parts of its prompts are kept by digest."""

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
    """A seat was asked. `heard` is the last fact it could know of; with the round's parts it makes the prompt."""

    round: str
    seat: str
    call: str
    voice: str
    heard: int
    structured: bool = False
    prompt_bytes: int = 0
    purpose: Literal["answer", "retry", "repair", "fallback", "again"] = "answer"


class TurnDelayed(Fact, frozen=True, tag="turn.delayed"):
    """A call waits for its turn, for about so many seconds; the seat's own time stands still meanwhile."""

    round: str
    seat: str
    call: str
    voice: str
    seconds: float
    why: str

    @property
    def words(self) -> str:
        """The same for people."""
        return f"waits about {max(1, round(self.seconds))} s for its turn: {self.why}"


class CallFailed(Fact, frozen=True, tag="call.failed"):
    """One call went wrong; `delay` seconds later another follows, unless the turn is given up."""

    round: str
    seat: str
    call: str
    voice: str
    fault: Fault
    delay: float | None = None
    partial: str = ""
    usage: Usage = Usage()


class TurnInterrupted(Fact, frozen=True, tag="turn.interrupted"):
    """Our process was told to stop in mid-turn: the words so far are kept, the turn is asked again on resume."""

    round: str
    seat: str
    call: str
    partial: str = ""


class MoveMade(Fact, frozen=True, tag="move.made"):
    """A seat answered. `text` is what it says to people; `raw` is the reply itself where it was more than that."""

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
    """A seat's turn is given up, with the cause; it is never asked again in this round."""

    round: str
    seat: str
    fault: Fault
    partial: str = ""


class RoundClosed(Fact, frozen=True, tag="round.closed"):
    """No later answer counts in this round."""

    round: str
    how: Literal["all", "deadline", "quorum", "cancelled"]
    counted: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    quorate: bool = True


class LimitReached(Fact, frozen=True, tag="limit.reached"):
    """A bound of the charter keeps this round from being opened."""

    round: str
    limit: str
    spent: float
    allowed: float

    @property
    def words(self) -> str:
        """What was reached, for people."""
        match self.limit:
            case "budget_usd":
                return f"{format_money(self.spent)} is spent, and the budget is {format_money(self.allowed)}"
            case "budget_tokens":
                return f"{self.spent:,.0f} tokens are used, and the budget is {self.allowed:,.0f}"
            case _:
                return f"{self.spent:g} {self.limit} were held, and the limit is {self.allowed:g}"

    @property
    def sentence(self) -> str:
        """The same as a notice above a decision."""
        return f"Stopped: {self.words}."


# --- gates, effects, the end ---------------------------------------------------------------------


class GateOpened(Fact, frozen=True, tag="gate.opened"):
    """Only a person, or a policy stated beforehand, can take the meeting further."""

    gate: Gate


class EffectStarted(Fact, frozen=True, tag="effect.started"):
    """Something besides talking is about to be done."""

    step: str
    effect: Effect


class EffectDone(Fact, frozen=True, tag="effect.done"):
    """It was done, with this result; it is never done again."""

    step: str
    result: EffectResult


class EffectFailed(Fact, frozen=True, tag="effect.failed"):
    """It could not be done."""

    step: str
    fault: Fault


class DecisionMade(Fact, frozen=True, tag="decision.made"):
    """The meeting decided, or says why it did not."""

    decision: Decision


class UnknownEvent(Fact, frozen=True, tag="unknown"):
    """A fact of a kind this version does not know: kept and passed on, never dropped."""

    kind_name: str
    fields: dict[str, Any]


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
"""Facts a person states from any process: taken whoever holds the lease."""

EVENT_KINDS: dict[str, type[Fact]] = {event.__struct_config__.tag: event for event in get_args(Event)}


class Recorded(msgspec.Struct, frozen=True):
    """An event with its place in the record."""

    seq: int
    at: str
    session: str
    event: Event


class Delta(msgspec.Struct, frozen=True, tag_field="kind", tag="delta"):
    """Words being said right now. `offset` is where they stand in the turn, so a late reader cannot double them."""

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
    """The dotted name of an event."""
    return event.kind_name if isinstance(event, UnknownEvent) else str(event.__struct_config__.tag)


def encode_event(event: Event) -> bytes:
    """An event's own fields and its tag, as one JSON object."""
    if isinstance(event, UnknownEvent):
        return _encode({"kind": event.kind_name, **event.fields})
    return _encode(event)


def decode_event(data: bytes | str, version: int = SCHEMA_VERSION) -> Event:
    """Read one event; a kind we do not know becomes `UnknownEvent`, a higher version is refused."""
    if version > SCHEMA_VERSION:
        raise RecordTooNew(
            f"This record has version {version}, and this Roundtable reads up to {SCHEMA_VERSION}.",
            "Upgrade Roundtable to open it.",
        )
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


def encode_event_line(item: Recorded | Delta) -> bytes:
    """The one object that `--json`, an SSE data field and a JSONL line all carry."""
    if isinstance(item, Delta):
        return _encode(item)
    head = f'{{"v":{SCHEMA_VERSION},"seq":{item.seq},"at":"{item.at}","session":"{item.session}",'
    return head.encode() + encode_event(item.event)[1:]


class _Envelope(msgspec.Struct):
    seq: int
    at: str
    session: str
    v: int = SCHEMA_VERSION


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_delta = msgspec.json.Decoder(Delta).decode
_ENVELOPE = ("v", "seq", "at", "session")


def decode_event_line(line: bytes | str) -> Recorded | Delta:
    """The inverse of `encode_event_line`."""
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
