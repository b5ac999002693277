"""How cost grows: a long record is opened, and rounds are held with more and more seats."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from bench.contestants.agenda import QUESTION
from bench.contestants.ours import READING, convene, hold, open_desk
from bench.server import ANSWER_PIECES
from roundtable.app.desk import Roundtable
from roundtable.core.events import Event, MoveMade, RoundClosed, RoundOpened, SessionOpened, TurnAsked, decode_event
from roundtable.core.ports import Table
from roundtable.core.reasons import Said
from roundtable.core.values import Charter, Decision, Expect, Outcome, Prompt, Seat, Timing, Turns, Usage
from roundtable.store.leases import lease_holder_of_this_process

SIZES = (3, 6, 12, 24, 48)
ROUNDS = ("bench/1-blind", "bench/2-again")
MOVES = 2000
SEATS_OF_LONG = 10
ANSWER = "".join(ANSWER_PIECES)

_ROWS = "SELECT seq, at, session, v, body FROM events WHERE session = ? AND seq > 0 ORDER BY seq"
_STORED = "SELECT coalesce(sum(length(CAST(body AS BLOB))), 0) FROM events WHERE session = ? AND seq BETWEEN ? AND ?"


async def opening(home: str, repeats: int) -> dict[str, Any]:
    """Seconds to open a session of 2,000 moves, and to read and decode its rows alone, in turns."""
    rows = 0
    opened: list[float] = []
    read: list[float] = []
    async with await open_desk("http://127.0.0.1:9/v1", home) as desk:
        session = await _write_long(desk)
        for number in range(repeats + 1):
            began = time.perf_counter()
            rows = _read_rows(desk.setup.places.database, session)
            middle = time.perf_counter()
            state = await desk.sessions.get(session)
            ended = time.perf_counter()
            assert state.seq == rows
            if number:
                read.append(middle - began)
                opened.append(ended - middle)
    return {"opened": opened, "read": read, "rows": rows}


def _read_rows(path: Path, session: str) -> int:
    db = sqlite3.connect(path)
    try:
        return len([decode_event(row[4], row[3]) for row in db.execute(_ROWS, (session,)).fetchall()])
    finally:
        db.close()


async def _write_long(desk: Roundtable) -> str:
    session = str(uuid4())
    names = tuple(f"seat{number}" for number in range(SEATS_OF_LONG))
    seats = tuple(Seat(name, ("bench:session",)) for name in names)
    events: list[Event] = [SessionOpened(Charter(QUESTION, seats, "bench", 1, headless=True))]
    for number in range(1, MOVES // SEATS_OF_LONG + 1):
        events += _round(f"bench/{number}-talk", names)
    lease, _ = await desk.parts.leases.acquire(session, lease_holder_of_this_process())
    await desk.parts.record.append_many(session, events, lease)
    await desk.parts.leases.release(lease)
    return session


def _round(name: str, seats: tuple[str, ...]) -> list[Event]:
    events: list[Event] = [RoundOpened(name, seats, seats, Turns(), Expect(), Prompt("blind"), "sha256:0")]
    for seat in seats:
        call = f"{name}/{seat}#1"
        usage, timing = Usage(900, 100, 600, 0.002), Timing(0.4, 2.1)
        events.append(TurnAsked(name, seat, call, "bench:session", 12, prompt_bytes=3600))
        events.append(MoveMade(name, seat, call, ANSWER, "bench:session", usage=usage, timing=timing))
    return [*events, RoundClosed(name, "all", seats)]


async def rounds(home: str, repeats: int) -> dict[str, Any]:
    """Processor seconds, stored and prompt bytes of a blind and of a cross-reading round, by number of seats."""
    curves: dict[int, list[dict[str, Any]]] = {size: [] for size in SIZES}
    script = Path(home) / "script.toml"
    async with await open_desk("http://127.0.0.1:9/v1", home) as desk:
        script.write_text(f'[[turns]]\nround = "*"\ntext = "{ANSWER}"\n')
        for number in range(repeats + 1):
            for size in SIZES:
                measured = await _two_rounds(desk, f"script:{script}", size)
                if number:
                    curves[size].append(measured)
    return {"curves": curves}


async def _two_rounds(desk: Roundtable, voice: str, size: int) -> dict[str, Any]:
    cpu: list[float] = []

    async def meeting(table: Table) -> Decision:
        for round, turns in zip(ROUNDS, (Turns(), READING), strict=True):
            began = time.process_time()
            await table.ask(round, Prompt("blind"), turns=turns)
            cpu.append(time.process_time() - began)
        return Decision(Outcome.REACHED, (Said("said"),))

    session = await convene(desk, tuple(Seat(f"seat{number}", (voice,)) for number in range(size)))
    await hold(desk, meeting, (), session)
    return await _sizes(desk, session, cpu)


async def _sizes(desk: Roundtable, session: str, cpu: list[float]) -> dict[str, Any]:
    records = await desk.sessions.records(session)
    sizes: dict[str, Any] = {}
    db = sqlite3.connect(desk.setup.places.database)
    for name, round, seconds in zip(("blind", "reading"), ROUNDS, cpu, strict=True):
        round_facts = [fact for fact in records if getattr(fact.event, "round", "") == round]
        (stored,) = db.execute(_STORED, (session, round_facts[0].seq, round_facts[-1].seq)).fetchone()
        prompts = sum(fact.event.prompt_bytes for fact in round_facts if isinstance(fact.event, TurnAsked))
        sizes[name] = {"cpu": seconds, "stored": stored, "prompt": prompts}
    db.close()
    return sizes
