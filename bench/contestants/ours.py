"""Roundtable: the real desk with its SQLite record, the engine, and voices of the OpenAI chat dialect."""

from __future__ import annotations

import asyncio
import getpass
import os
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from bench.contestants.agenda import AGAIN, BLIND, JUDGE, KEY, QUESTION, SEATS, SYSTEM, sink
from bench.contestants.results import contestant_result, return_exceptions
from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core.events import Delta, SessionOpened
from roundtable.core.ports import Table
from roundtable.core.reasons import Said
from roundtable.core.values import Charter, Decision, Limits, Outcome, Prompt, Seat, Turns
from roundtable.doors.cli.displays import JsonLines
from roundtable.doors.cli.output_queue import OutputQueue
from roundtable.engine.run import MeetingRules
from roundtable.store.leases import lease_holder_of_this_process
from roundtable.store.stored_events import compute_digest

# The desk finds these by itself when a seat first needs them; a session always does.
from roundtable.voices import http_client, http_voice  # noqa: F401  # pyright: ignore[reportUnusedImport]
from roundtable.voices.dialects import openai_chat  # noqa: F401  # pyright: ignore[reportUnusedImport]

TEMPLATES = {"system": SYSTEM, "blind": BLIND, "again": AGAIN, "judge": JUDGE}
Rules = Callable[[Table], Awaitable[Decision]]
READING = Turns(visibility="previous_rounds")


async def seven_calls(table: Table) -> Decision:
    """Three seats answer alone, then having read each other; then one of them judges."""
    await table.ask("bench/1-blind", Prompt("blind"))
    await table.ask("bench/2-again", Prompt("again"), turns=READING)
    judged = await table.ask("bench/3-judge", Prompt("judge"), seats=(table.seats[0].name,), turns=READING)
    return Decision(Outcome.REACHED, (Said("judged"),), text=judged.moves[0].text)


async def one_round(table: Table) -> Decision:
    """Everyone speaks once."""
    answers = await table.ask("bench/1-blind", Prompt("blind"))
    return Decision(Outcome.REACHED, (Said("said"),), counted=tuple(move.seat for move in answers.moves))


async def session(base_url: str, home: str) -> None:
    """Seven calls, from opening the desk to closing it."""
    async with await open_desk(base_url, home) as desk:
        await hold(desk, seven_calls, _seats("session"))


async def session_decided(base_url: str, home: str) -> dict[str, float]:
    """The same, until the decision is in hand; closing the desk comes after that."""
    async with await open_desk(base_url, home) as desk:
        await hold(desk, seven_calls, _seats("session"))
        return {"end": time.monotonic()}


async def session_warm(base_url: str, home: str) -> dict[str, float]:
    """Seven calls at a desk that is already open, with clients that have not been used yet."""
    async with await open_desk(base_url, home) as desk:
        start = time.monotonic()
        await hold(desk, seven_calls, _seats("session"))
        return {"start": start, "end": time.monotonic()}


async def session_json(base_url: str, home: str) -> None:
    """Seven calls, with everything written out as `--json` does."""
    async with await open_desk(base_url, home) as desk:
        await _shown(desk, seven_calls, _seats("session"))


async def stream(base_url: str, home: str, streams: int, tokens: int) -> dict[str, int]:
    """One round of so many seats, written out as `--json` does."""
    async with await open_desk(base_url, home) as desk:
        names = tuple(f"seat{number}" for number in range(streams))
        return {"lines": await _shown(desk, one_round, _seats(f"paced-{tokens}", names))}


@return_exceptions
async def faulty(base_url: str, home: str, models: dict[str, str], timeout: float | None) -> dict[str, Any]:
    """A council as it comes, with a model of its own for every seat, one of them out of order."""
    seats = tuple(Seat(name, (f"bench:{model}",)) for name, model in models.items())
    limits = None if timeout is None else Limits(seat_timeout=timeout)
    async with await open_desk(base_url, home) as desk:
        session = await desk.meetings.open(Agenda(QUESTION, seats, limits=limits, headless=True))
        decision = await desk.meetings.run(session)
    return contestant_result(
        "degraded" if decision.degraded else "whole",
        voices=dict.fromkeys(decision.counted, decision.text),
        failed={absence.seat: f"{absence.fault.kind}: {absence.fault.message}" for absence in decision.missing},
    )


async def open_desk(base_url: str, home: str) -> Roundtable:
    """The desk of a person whose config names the bench's server."""
    folder = Path(home)
    config = folder / "config.toml"
    if not config.exists():
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        lines = f'base_url = "{base_url}"\nkey = "env:BENCH_KEY"\nconcurrency = 32\nlocal = true\n'
        config.write_text(f"[endpoints.bench]\n{lines}")
    os.environ["BENCH_KEY"] = KEY
    return await Roundtable.open(folder, Places(folder, folder))


async def hold(desk: Roundtable, rules: Rules, seats: tuple[Seat, ...], session: str = "") -> Decision:
    """What `convene` and `run` do, for a meeting that is not shipped."""
    session = session or await convene(desk, seats)
    meeting = MeetingRules("bench", 1, rules)
    return await desk.wiring.engine.run(session, lambda _: meeting, lease_holder_of_this_process())


async def convene(desk: Roundtable, seats: tuple[Seat, ...]) -> str:
    """Put a charter on the record."""
    session = str(uuid4())
    charter = Charter(
        QUESTION,
        seats,
        "bench",
        1,
        templates={name: compute_digest(text.encode()) for name, text in TEMPLATES.items()},
        workspace=str(desk.workspace),
        owner=getpass.getuser(),
        headless=True,
        seed=7,
    )
    keeping = (desk.parts.record.keep(text.encode()) for text in TEMPLATES.values())
    await asyncio.gather(*keeping, desk.parts.record.append(session, SessionOpened(charter)))
    return session


async def _shown(desk: Roundtable, rules: Rules, seats: tuple[Seat, ...]) -> int:
    session = await convene(desk, seats)
    with sink() as fd:
        showing = asyncio.create_task(_show(desk, session, fd))
        await hold(desk, rules, seats, session)
        return await showing


async def _show(desk: Roundtable, session: str, fd: int) -> int:
    display = JsonLines(OutputQueue(fd))
    deltas = 0
    async for item in desk.sessions.watch(session, here=True):
        display.show(item)
        deltas += isinstance(item, Delta)
        if display.outlet.is_behind:
            await display.outlet.wait_until_drained()
    return deltas


def _seats(model: str, names: tuple[str, ...] = SEATS) -> tuple[Seat, ...]:
    return tuple(map(partial(Seat, voices=(f"bench:{model}",)), names))
