"""The scripted voice: answers and fails as a file says, so that a meeting can be tried at no cost.

A script is TOML or JSON. Everything is optional except that a turn needs something to do:

    vendor = "acme"                # counted by quorums; "script" if not given
    structured = true              # whether the voice claims to hold a JSON schema

    [defaults]                     # defaults of turns: latency, rate, usage
    latency = 0.2                  # seconds before the first word
    rate = 40                      # words per second; 0 sends everything at once

    [[turns]]                      # for every seat that uses this file
    round = "*blind"               # glob on the round's name
    seat = "claude"                # glob on the seat's name
    contains = "REST"              # text that the last message contains
    text = "GraphQL, because …"    # or: json = { stance = "support" }
    latency = 1.5
    rate = 10
    usage = { input_tokens = 900, output_tokens = 40, cached_tokens = 0, cost_usd = 0.002 }
    truncated = true               # the reply ends at the token limit
                                   # a fault can have `usage` too

    [[turns]]
    fault = "rate_limited"         # any fault kind
    message = "Slow down."
    retry_after = 2.0
    text = "I was about to"        # the words before the failure …
    after = 3                      # … and how many of them
    times = 2                      # for the first two attempts; then the next turn that fits

    [[turns]]
    hang = true                    # never ends; with `text` and `after`, stops in mid-sentence

    [seats.gemini]                 # one file, several seats: own turns, own defaults
    defaults = { rate = 5 }
    turns = [{ text = "First round." }, { text = "Second round." }]

The call alone (`round/seat#attempt`) decides which turn answers, not earlier calls, so a resumed meeting
in a new process gets the same words. Matching turns are tried in this order: those of the seat's own
section, then those for every seat; within each, first the turns that name a `round` or `contains`, in the
file's order, then the ordered ones. Ordered turns (neither `round` nor `contains`) belong to the rounds by
number: the first to `council/1-…`, the second to `council/2-…`; a round without a number takes the first.
A turn with `times` answers that many attempts, then the next matching turn answers; a turn without it
answers all further attempts. When no turn is left, the call ends with the fault `missing`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from roundtable.core.faults import ConfigError, Fault, FaultKind
from roundtable.core.text.strict_toml import convert_toml_table_to_struct, parse_toml_text
from roundtable.core.usage import correct_reported_usage, estimate_usage, is_plausible_usage
from roundtable.core.values import Reply, Request, Usage

_WORD = re.compile(r"\s*\S+|\s+")
_ROUND_NUMBER = re.compile(r"(?:^|/)(\d+)(?:-|$)")


class TurnDefaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Defaults for what turns leave out."""

    latency: float = 0.0
    rate: float = 0.0
    usage: Usage | None = None


class ScriptedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing the voice does: answer, fail, or hang."""

    text: str = ""
    json: Any = None
    round: str = ""
    seat: str = ""
    contains: str = ""
    latency: float | None = None
    rate: float | None = None
    fault: FaultKind | None = None
    after: int | None = None
    message: str = ""
    retry_after: float = 0.0
    times: int = 0
    hang: bool = False
    truncated: bool = False
    usage: Usage | None = None

    @property
    def is_ordered(self) -> bool:
        """Whether the turn belongs to a round by its number."""
        return not (self.round or self.contains)

    def matches(self, round: str, request: Request) -> bool:
        """Return whether this turn may answer that call."""
        last = request.messages[-1].text if request.messages else ""
        return (
            (not self.round or fnmatchcase(round, self.round))
            and (not self.seat or fnmatchcase(request.seat, self.seat))
            and (not self.contains or self.contains in last)
        )


class SeatScript(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The section of one seat."""

    turns: tuple[ScriptedTurn, ...] = ()
    defaults: TurnDefaults | None = None


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole script file."""

    turns: tuple[ScriptedTurn, ...] = ()
    seats: dict[str, SeatScript] = {}
    defaults: TurnDefaults = TurnDefaults()
    vendor: str = "script"
    structured: bool = False


def parse_voice_script(data: dict[str, Any], where: str = "The script") -> Script:
    """Parse a script from plain data; an unknown key is an error that names the nearest known one."""
    script = convert_toml_table_to_struct(Script, data, where)
    for turn in (*script.turns, *(turn for part in script.seats.values() for turn in part.turns)):
        _check_turn(turn, where)
    return script


def load_voice_script(path: Path) -> Script:
    """Load a script from a TOML or JSON file."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    return parse_voice_script(parse_toml_text(raw, str(path), json=path.suffix.lower() == ".json"), str(path))


def _check_turn(turn: ScriptedTurn, where: str) -> None:
    numbers = (turn.latency or 0, turn.rate or 0, turn.after or 0, turn.times, turn.retry_after)
    if min(numbers) < 0:
        raise ConfigError(f"{where}: a number in a turn is negative.", "Use 0 or more.")
    if turn.text and turn.json is not None:
        raise ConfigError(f"{where}: a turn has both `text` and `json`.", "Keep one of them.")
    if turn.fault and turn.hang:
        raise ConfigError(f"{where}: a turn has both `fault` and `hang`.", "Keep one of them.")


def _parse_call_id(request: Request) -> tuple[str, int]:
    """Return round and attempt of a call id: `council/1-blind/claude#2` is the second attempt."""
    path, _, attempt = request.call.partition("#")
    return path.removesuffix(f"/{request.seat}"), int(attempt) if attempt.isdigit() else 1


def _choose_scripted_turn(script: Script, request: Request) -> ScriptedTurn | None:
    """Return the turn that answers this call; depends on the call only."""
    round, attempt = _parse_call_id(request)
    part = script.seats.get(request.seat, SeatScript())
    for turn in (*_order_turns(part.turns, round, request), *_order_turns(script.turns, round, request)):
        if not turn.times or attempt <= turn.times:
            return turn
        attempt -= turn.times
    return None


def _order_turns(turns: Iterable[ScriptedTurn], round: str, request: Request) -> list[ScriptedTurn]:
    fitting = [turn for turn in turns if turn.matches(round, request)]
    numbers = _ROUND_NUMBER.findall(round)
    place = int(numbers[-1]) if numbers else 1
    return [turn for turn in fitting if not turn.is_ordered] + _find_nth_turns(
        [turn for turn in fitting if turn.is_ordered], place
    )


def _find_nth_turns(turns: list[ScriptedTurn], place: int) -> list[ScriptedTurn]:
    """Return the ordered turns for a round number: limited turns count together with the next unlimited one."""
    current = 1
    chosen: list[ScriptedTurn] = []
    for turn in turns:
        if current == place:
            chosen.append(turn)
        if not turn.times:
            current += 1
    return chosen


class ScriptedVoice:
    """A voice that follows a script."""

    def __init__(self, name: str, script: Script) -> None:
        self.name = name
        self.vendor = script.vendor
        self.structured = script.structured
        self.plain_when_long = False
        self.edits = False
        self._script = script

    async def speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault, None]:
        """Give the scripted answer for this call."""
        turn = _choose_scripted_turn(self._script, request)
        if turn is None:
            yield self._create_exhausted_fault(request)
            return
        pace = self._find_defaults(request.seat)
        text = turn.text if turn.json is None else msgspec.json.encode(turn.json).decode()
        words = _WORD.findall(text)
        spoken_words = words[: turn.after] if turn.after is not None else [] if turn.fault or turn.hang else words
        await asyncio.sleep(pace.latency if turn.latency is None else turn.latency)
        rate = pace.rate if turn.rate is None else turn.rate
        start = asyncio.get_running_loop().time()
        for index, piece in enumerate(spoken_words if rate else filter(None, ["".join(spoken_words)])):
            await _sleep_until(start + index / rate if rate else start)
            yield piece
        if turn.hang:
            await asyncio.Event().wait()
        usage = turn.usage or (Usage() if turn.fault else pace.usage or _estimate_usage(request, text))
        if not is_plausible_usage(usage):
            usage = correct_reported_usage(usage, _estimate_usage(request, text))
        yield _build_ending(turn, "".join(spoken_words), usage)

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _find_defaults(self, seat: str) -> TurnDefaults:
        part = self._script.seats.get(seat)
        return (part and part.defaults) or self._script.defaults

    def _create_exhausted_fault(self, request: Request) -> Fault:
        return Fault.of(
            FaultKind.MISSING,
            f"The script of {self.name} has no turn for {request.call}.",
            help=f"Add a turn for round `{_parse_call_id(request)[0]}` and seat `{request.seat}` to the script.",
        )


def _build_ending(turn: ScriptedTurn, text: str, usage: Usage) -> Reply | Fault:
    if turn.fault is not None:
        message = turn.message or f"The script says: {turn.fault.value}."
        fault = Fault.of(turn.fault, message, retry_after=turn.retry_after)
    elif not text.strip():
        fault = Fault.of(FaultKind.EMPTY, turn.message or "The script gives an empty answer for this turn.")
    else:
        return Reply(text, usage, "script", truncated=turn.truncated)
    return msgspec.structs.replace(fault, usage=usage)


def _estimate_usage(request: Request, text: str) -> Usage:
    prompt_bytes = sum(len(message.text.encode(errors="replace")) for message in request.messages)
    return msgspec.structs.replace(estimate_usage(prompt_bytes, text), cost_usd=0.0)


async def _sleep_until(moment: float) -> None:
    """Sleep until a moment on the clock, so that a slow reader does not slow the voice down."""
    wait = moment - asyncio.get_running_loop().time()
    if wait > 0:
        await asyncio.sleep(wait)
