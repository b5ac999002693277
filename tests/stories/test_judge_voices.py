"""The voice through which a seat judges: a cheaper model, a configured voice, or its own as fallback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core.faults import FaultKind, UsageError
from roundtable.core.session import Session
from roundtable.core.stages import Stage
from roundtable.core.values import Limits, Outcome, Seat
from roundtable.report import phrases
from roundtable.voices.fault_server import FaultServer
from tests.stories.session_harness import position_reply

STAGES = tuple(
    Stage(name, name.capitalize(), "Engineer", "discussion", "Say what is to be built.", 512)
    for name in ("requirements", "architecture")
)
AGREED = "CONSENSUS: R1 It stores notes."
LIMITS = Limits(retries=0, seat_timeout=20, round_deadline=20)
SEATS = (Seat("claude", ("near:large",)), Seat("gpt", ("far:large",)))


class TwoServers:
    """Two servers, and a desk that has both as endpoints."""

    def __init__(self, near: FaultServer, far: FaultServer, places: Places, workspace: Path) -> None:
        self.near, self.far = near, far
        self._places, self._workspace = places, workspace

    async def desk(self, near: str = "", far: str = "", extra: str = "") -> Roundtable:
        """Open a desk with these lines in the sections of its endpoints."""
        self._places.user_config.parent.mkdir(parents=True, exist_ok=True)
        self._places.user_config.write_text(
            f'[endpoints.near]\nbase_url = "{self.near.url}"\n{near}\n'
            f'[endpoints.far]\nbase_url = "{self.far.url}"\n{far}\n{extra}\n'
        )
        return await Roundtable.open(self._workspace, self._places)


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[TwoServers]:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    async with FaultServer(text=AGREED) as near, FaultServer(text=AGREED) as far:
        yield TwoServers(near, far, Places(tmp_path / "home", tmp_path / "home"), work)


def agenda(*seats: Seat, meeting: str = "sdlc", **options: object) -> Agenda:
    settings = {"stages": msgspec.json.encode(STAGES).decode()} if meeting == "sdlc" else {}
    agenda = Agenda("A place for notes.", seats, meeting, settings=settings, limits=LIMITS, headless=True)
    return msgspec.structs.replace(agenda, answers={"stages": "continue"} if meeting == "sdlc" else {}, **options)


def judged_by(session: Session) -> dict[str, str]:
    """Return the voice that answered in each judging round."""
    rounds = [round for round in session.rounds.values() if round.opened.turns.judging]
    return {round.name: move.voice for round in rounds for move in round.moves()}


@pytest.mark.feature("S0.128")
async def test_a_seat_given_on_the_command_line_judges_through_its_endpoints_cheaper_model(town: TwoServers) -> None:
    async with await town.desk('judge_model = "small"', 'judge_model = "tiny"') as desk:
        id, decision = await desk.meetings.hold(agenda(*SEATS))
        session = await desk.sessions.get(id)
    assert decision.outcome is Outcome.REACHED
    assert judged_by(session) == {"requirements/1-judge": "near:small", "architecture/1-judge": "far:tiny"}
    assert [request.model for request in town.near.seen] == ["large", "small", "large"]
    assert [request.model for request in town.far.seen] == ["large", "large", "tiny"]
    assert decision.substitutions == ()


@pytest.mark.feature("S0.146")
async def test_the_judge_voice_of_a_seat_is_configurable(town: TwoServers) -> None:
    chosen = '[seats.claude]\nvoices = ["near:large"]\njudge = "far:exact"\n[seats.gpt]\nvoices = ["far:large"]'
    async with await town.desk('judge_model = "small"', extra=chosen) as desk:
        id, _ = await desk.meetings.hold(agenda())
        session = await desk.sessions.get(id)
    assert judged_by(session) == {"requirements/1-judge": "far:exact", "architecture/1-judge": "far:large"}
    assert "small" not in {request.model for request in town.near.seen}


async def test_a_failing_judge_voice_is_replaced_by_the_seats_own_with_a_notice(town: TwoServers) -> None:
    async with await town.desk('judge_model = "503"') as desk:
        id, decision = await desk.meetings.hold(agenda(*SEATS))
        session = await desk.sessions.get(id)
    assert decision.outcome is Outcome.REACHED
    assert judged_by(session) == {"requirements/1-judge": "near:large", "architecture/1-judge": "far:large"}
    (substitution,) = decision.substitutions
    assert (substitution.seat, substitution.voice, substitution.instead_of, substitution.rounds) == (
        *("claude", "near:large", "near:503"),
        ("requirements/1-judge",),
    )
    assert substitution.fault.kind is FaultKind.OVERLOADED
    assert "near:503" in phrases.describe_voice_substitutions(session)[0]


async def test_a_meeting_without_a_judge_has_no_judge_voices(town: TwoServers) -> None:
    town.near.text = town.far.text = position_reply("Use REST")
    async with await town.desk('judge_model = "small"') as desk:
        id, _ = await desk.meetings.hold(agenda(*SEATS, meeting="council"))
        assert [seat.judge for seat in (await desk.sessions.get(id)).charter.seats] == ["", ""]
    assert {request.model for request in (*town.near.seen, *town.far.seen)} == {"large"}


async def test_a_budget_of_zero_excludes_a_paid_judge_voice(town: TwoServers) -> None:
    free = [Seat("claude", ("near:large",), judge="far:exact"), Seat("gpt", ("near:large",))]
    broke = msgspec.structs.replace(LIMITS, budget_usd=0.0)
    async with await town.desk("local = true") as desk:
        with pytest.raises(UsageError, match="far:exact may charge per token"):
            await desk.meetings.open(agenda(*free, limits=broke))
        assert await desk.meetings.open(agenda(*free, meeting="council", limits=broke))


async def test_a_quote_prices_judging_by_the_judge_voice(town: TwoServers) -> None:
    lines = 'dialect = "anthropic"\nprices = "anthropic"'
    async with await town.desk(lines) as desk:

        async def quoted(judge: str) -> tuple[float, float]:
            seats = [Seat(name, ("near:claude-sonnet-4-6",), judge=judge) for name in ("claude", "gpt")]
            quote = await desk.meetings.quote(agenda(*seats))
            assert quote.calls.likely == len(STAGES) * 3, "both draft in each stage, and one of them judges"
            return quote.usd.likely or 0.0, quote.usd.most or 0.0

        dear, cheap = await quoted("near:claude-sonnet-4-6"), await quoted("near:claude-haiku-4-5")
        assert 0 < cheap[0] < dear[0]
        assert cheap[1] == dear[1], "at most, the judge's voice fails and the seat's own judges"
        made = await desk.meetings.quote(
            agenda(*(Seat(name, ("near:claude-sonnet-4-6",), judge="far:odd") for name in ("a", "b")))
        )
        assert made.unpriced == ("far:odd",)
        assert {seat.judge for seat in made.seats} == {"far:odd"}


async def test_the_doctor_command_checks_the_judge_voice_and_tolerates_a_missing_one(town: TwoServers) -> None:
    seats = '[seats.claude]\nvoices = ["near:large"]\n[seats.gpt]\nvoices = ["far:large"]\njudge = "nowhere:x"'
    async with await town.desk('judge_model = "small"', extra=seats) as desk:
        found = (await desk.setup.examine(on_check=lambda seat, check: None)).participants
    claude, gpt = found["claude"], found["gpt"]
    assert claude.judge is not None
    assert (claude.judge.voice, claude.judge.status) == ("near:small", "ok")
    assert gpt.judge is not None
    assert (gpt.status, gpt.judge.status) == ("ok", "missing")
