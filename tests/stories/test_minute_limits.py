"""Token limits per minute: waiting seats lose no time, and a seat whose limit is too small is left out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core.events import TurnAsked, TurnDelayed
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Voice
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.stages import Stage
from roundtable.core.values import Limits, Outcome, Seat
from roundtable.live.event_lines import EventNarrator
from roundtable.voices.endpoints import Endpoint
from roundtable.voices.fault_server import FaultServer
from roundtable.voices.http_client import open_provider_http_client
from roundtable.voices.http_voice import HttpVoice
from roundtable.voices.rate_limits import CallPacer
from tests.repository import repository
from tests.stories.session_harness import SessionHarness
from tests.stories.test_vote import ranking_reply

QA = Stage("qa", "Quality assurance", "QA Lead", "discussion", "Say what is to be tested.", 512)


class OneAccount:
    """Voices of one endpoint that share one account."""

    def __init__(self, endpoint: Endpoint, client: httpx2.AsyncClient) -> None:
        self._voice = HttpVoice(endpoint, "alpha", client, pace=CallPacer(8))

    def find(self, voice: str) -> Voice | Fault:
        return self._voice


@pytest.mark.feature("S0.30")
async def test_seats_share_a_limit_per_minute_and_waiting_does_not_use_their_timeout() -> None:
    """One call fits at a time; the last answer arrives after the timeouts of seat and round."""
    limits = Limits(retries=0, seat_timeout=2.8, round_deadline=2.9, max_tokens=4000)
    async with FaultServer(text=ranking_reply("A", "B"), latency=1.0) as server:
        lab = Endpoint("lab", server.base("openai-chat"), tokens_per_minute={"*": 7900})
        async with open_provider_http_client(lab) as client:
            harness = SessionHarness({}, other_voices=OneAccount(lab, client), meeting="vote")
            options: dict[str, Any] = {"options": ("REST", "GraphQL"), "settings": {"rounds": 0}}
            await harness.open(limits=limits, chain=("lab:alpha",), **options)
            decision = await harness.run()
        assert server.most_at_once == 1
    assert decision.outcome is Outcome.REACHED
    assert len(decision.counted) == 3
    facts = [record.event for record in await harness.records()]
    delayed = [fact for fact in facts if isinstance(fact, TurnDelayed)]
    assert len(delayed) == 2
    assert {fact.call for fact in delayed} < {fact.call for fact in facts if isinstance(fact, TurnAsked)}
    (moves,) = [round.moves() for round in (await harness.session()).rounds.values()]
    assert all(move.timing.total < 2.8 for move in moves), "a seat is not called slow for what it waited"


def test_observers_see_that_a_seat_waits_for_its_limit() -> None:
    wait = TurnDelayed("qa/1-draft", "gpt", "c", "openai:gpt-4o", 41.6, "openai:gpt-4o allows 30,000 tokens a minute")
    assert wait.words == "is queued for about 42 s: openai:gpt-4o allows 30,000 tokens a minute"
    assert [line.plain() for line in EventNarrator().lines(wait)] == [f"[gpt] {wait.words}"]


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer(text="CONSENSUS: T1 Test the login.") as server:
        yield server


@pytest.mark.feature("S0.29")
async def test_a_stage_continues_without_a_seat_whose_limit_is_too_small_for_the_code(
    tmp_path: Path, server: FaultServer
) -> None:
    """The code has about 5,000 tokens; one account may use 4,000 per minute."""
    code = repository(tmp_path / "code", {"app.py": "login = 'a line of code that is long enough'\n" * 450})
    places = Places(tmp_path / "home", tmp_path / "home")
    places.user_config.parent.mkdir(parents=True)
    places.user_config.write_text(
        f'[endpoints.wide]\nbase_url = "{server.url}"\n'
        f'[endpoints.narrow]\nbase_url = "{server.url}"\ntokens_per_minute = {{ "*" = 4000 }}\n'
    )
    seats = (Seat("gpt", ("narrow:gpt",)), Seat("claude", ("wide:claude",)), Seat("gemini", ("wide:gemini",)))
    settings = {"stages": msgspec.json.encode((QA,)).decode(), "existing": True}
    limits = Limits(retries=1, seat_timeout=20, round_deadline=20, max_tokens=512)
    agenda = Agenda("Mend the login.", seats, "sdlc", settings=settings, limits=limits, headless=True)
    async with await Roundtable.open(code, places) as desk:
        id, _ = await desk.meetings.hold(msgspec.structs.replace(agenda, answers={"stages": "continue"}))
        session = await desk.sessions.get(id)
    draft = session.rounds["qa/1-draft"]
    assert [move.seat for move in draft.moves()] == ["claude", "gemini"]
    missed = draft.turns["gpt"].missed
    assert missed is not None
    assert missed.fault.kind is FaultKind.RATE_LIMITED
    assert "narrow:gpt allows 4,000 per minute." in missed.fault.message
    assert "[endpoints.narrow.tokens_per_minute]" in missed.fault.help
    assert len(draft.turns["gpt"].asked) == 1, "nothing is tried again that can never fit"
    assert (session_stage_ends(session)[0].how, session_stage_ends(session)[0].judge) == ("agreed", "gpt")
    assert [request.model for request in server.seen].count("gpt") == 1, "as the judge, who is not shown the code"
