"""One of three seats fails over real HTTP: the decision is labelled, within time and retry limits."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core.faults import FaultKind
from roundtable.core.values import Decision, Limits, Outcome, Seat
from roundtable.voices.fault_server import FaultServer

LIMITS = Limits(seat_timeout=20, retry_delay=0.01)
SHORT = Limits(seat_timeout=1)
A_HANG = 30.0
FAULTS = {
    "429": (FaultKind.RATE_LIMITED, LIMITS, 1 + LIMITS.retries),
    "500": (FaultKind.SERVER, LIMITS, 1 + LIMITS.retries),
    "html": (FaultKind.MALFORMED, LIMITS, 1 + LIMITS.retries),
    "empty": (FaultKind.EMPTY, LIMITS, 1 + LIMITS.retries),
    "hang": (FaultKind.TIMEOUT, SHORT, 1),
}
"""What each is told as, under which limits, and the most requests that one turn may take."""


def completion_reply(position: str) -> FaultServer:
    return FaultServer(text=f'Because.\n\n{{"position": "{position}", "confidence": 7}}')


@pytest.fixture
async def rest() -> AsyncIterator[FaultServer]:
    async with completion_reply("REST") as server:
        yield server


@pytest.fixture
async def graphql() -> AsyncIterator[FaultServer]:
    async with completion_reply("GraphQL") as server:
        yield server


@pytest.fixture
async def desk(tmp_path: Path, rest: FaultServer, graphql: FaultServer) -> AsyncIterator[Roundtable]:
    servers = {"rest": rest, "graphql": graphql}
    config = [f'[endpoints.{name}]\nbase_url = "{server.url}"\nlocal = true\n' for name, server in servers.items()]
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("\n".join(config))
    async with await Roundtable.open(tmp_path, Places(tmp_path / "home", tmp_path / "home")) as desk:
        yield desk


async def decided(desk: Roundtable, limits: Limits, **voices: str) -> Decision:
    seats = tuple(Seat(name, (voice,)) for name, voice in voices.items())
    session = await desk.meetings.open(Agenda("REST or GraphQL?", seats, limits=limits, headless=True))
    return await asyncio.wait_for(desk.meetings.run(session), A_HANG)


def requests_by_turn(server: FaultServer, model: str) -> list[int]:
    """Count the requests with each prompt; a retry repeats the prompt."""
    return list(Counter(json.dumps(seen.body["messages"]) for seen in server.seen if seen.model == model).values())


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_failing_seat_is_named_and_the_others_decide(desk: Roundtable, rest: FaultServer, fault: str) -> None:
    kind, limits, most = FAULTS[fault]
    decision = await decided(desk, limits, claude="rest:good", gpt=f"rest:{fault}", gemini="rest:good")
    assert decision.outcome is Outcome.REACHED
    assert decision.degraded
    assert decision.counted == ("claude", "gemini")
    assert [(absence.seat, absence.fault.kind) for absence in decision.missing] == [("gpt", kind)]
    assert decision.missing[0].fault.message
    (requests,) = requests_by_turn(rest, fault)
    assert requests <= most
    assert await rest.is_left_alone()


@pytest.mark.parametrize("fault", ["500", "hang"])
async def test_a_fault_in_every_round_of_a_debate_uses_the_retry_budget_once_per_turn(
    desk: Roundtable, rest: FaultServer, fault: str
) -> None:
    kind, limits, most = FAULTS[fault]
    decision = await decided(desk, limits, claude="rest:good", gpt=f"rest:{fault}", gemini="graphql:good")
    assert {(absence.seat, absence.fault.kind) for absence in decision.missing} == {("gpt", kind)}
    assert "gpt" not in decision.counted
    turns = requests_by_turn(rest, fault)
    assert len(turns) > 1
    assert max(turns) <= most
