"""The cost estimate of a meeting, compared with the sessions that follow it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.cost.quote import MeetingQuote, MoneyRange
from roundtable.app.desk import Agenda, Roundtable
from roundtable.app.settings.places import Places
from roundtable.core.events import TurnAsked
from roundtable.core.faults import UsageError
from roundtable.core.values import Limits, Outcome, Seat
from roundtable.doors.cli.open_meeting import render_quote_for_terminal
from roundtable.report.costs import build_cost_report
from roundtable.report.reasons import notice_sentences
from roundtable.voices.fault_server import FaultServer
from tests.app.test_desk import AGREE, agenda, write_script
from tests.stories.session_harness import DISPUTE, council_turns, position_reply, ratings_reply, reconsider_reply

NAMES = ("claude", "gpt", "gemini")
PAID = "lab:claude-haiku-4-5"


def paid(*chain: str, **more: Any) -> Agenda:
    """Return an agenda with three seats that share this chain of voices."""
    more.setdefault("limits", Limits(retries=0))
    return Agenda("REST or GraphQL?", tuple(Seat(name, chain) for name in NAMES), headless=True, **more)


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer(text=position_reply("Use REST")) as server:
        yield server


@pytest.fixture
async def lab(server: FaultServer, places: Places, workspace: Path) -> AsyncIterator[Roundtable]:
    """A desk with a paid endpoint and an endpoint without known prices."""
    places.user_config.parent.mkdir(parents=True)
    places.user_config.write_text(
        f'[endpoints.lab]\nbase_url = "{server.root}"\ndialect = "anthropic"\nprices = "anthropic"\n'
        f'[endpoints.dim]\nbase_url = "{server.root}"\ndialect = "anthropic"\n'
    )
    async with await Roundtable.open(workspace, places) as desk:
        yield desk


async def held(desk: Roundtable, agenda: Agenda) -> tuple[MeetingQuote, str]:
    """Quote an agenda and run it; return the quote and the session."""
    before = await desk.meetings.quote(agenda)
    session = await desk.meetings.open(agenda)
    await desk.meetings.run(session)
    return before, session


async def test_a_quote_spends_nothing_and_leaves_no_trace(lab: Roundtable, server: FaultServer) -> None:
    quoted = await lab.meetings.quote(paid(PAID))
    assert (quoted.calls.likely, quoted.calls.most) == (9, 24)
    assert 0 < (quoted.usd.likely or 0) < (quoted.usd.most or 0)
    assert server.seen == []
    assert await lab.sessions.list(everywhere=True) == []


async def test_a_paid_session_stays_within_its_quote(lab: Roundtable) -> None:
    quoted, session = await held(lab, paid(PAID))
    total = build_cost_report(await lab.sessions.get(session)).total
    assert total.calls <= quoted.calls.most
    assert 0 < (total.used.cost_usd or 0) < (quoted.usd.most or 0)
    assert (quoted.unpriced, quoted.plans, quoted.notices) == ((), (), ())


async def test_a_session_with_a_full_debate_stays_within_its_quote(desk: Roundtable, workspace: Path) -> None:
    write_script(workspace, DISPUTE)
    quoted, session = await held(desk, agenda(seed=7))
    total = build_cost_report(await desk.sessions.get(session)).total
    assert total.calls == 12
    assert quoted.calls.likely <= total.calls <= quoted.calls.most
    assert total.tokens <= quoted.tokens.most
    assert (quoted.usd.most, quoted.unpriced) == (0, ())


async def test_the_quoted_prompts_grow_as_they_do_in_the_meeting(desk: Roundtable, workspace: Path) -> None:
    essay = "An answer is usually longer than a few words, and everybody reads it again in the next round. " * 12
    opposed = ratings_reply(A="opposed", B="opposed", C="opposed")
    talk = {
        name: council_turns(
            position_reply(f"Use {name}", text=essay), opposed, reconsider_reply("new", position=name, text=essay)
        )
        for name in NAMES
    }
    write_script(workspace, {"seats": talk})
    (workspace / "api.md").write_text("One endpoint. " * 300)
    agenda_now = agenda(files=("api.md",), settings={"rounds": 1})
    _, session = await held(desk, agenda_now)
    measured = await desk.meetings.quote(agenda_now)
    records = await desk.sessions.records(session)
    sent = sum(fact.event.prompt_bytes for fact in records if isinstance(fact.event, TurnAsked)) / 4
    assert all(seat.measured for seat in measured.seats)
    assert sum(seat.input_tokens.likely for seat in measured.seats) == pytest.approx(sent, rel=0.15)


async def test_the_quote_uses_overhead_and_answer_lengths_measured_on_this_machine(lab: Roundtable) -> None:
    before = (await lab.meetings.quote(paid(PAID))).seats[0]
    await held(lab, paid(PAID))
    after = (await lab.meetings.quote(paid(PAID))).seats[0]
    assert (before.measured, before.overhead, before.seconds) == (False, 250, None)
    assert after.measured
    assert after.overhead < before.overhead
    assert after.output_tokens.likely < before.output_tokens.likely
    assert after.seconds is not None


async def test_options_and_limits_reduce_the_quoted_calls(lab: Roundtable) -> None:
    assert (await lab.meetings.quote(paid(PAID, options=("REST", "GraphQL")))).calls.likely == 6
    assert (await lab.meetings.quote(paid(PAID, settings={"rounds": 0}))).calls.most == 12
    assert (await lab.meetings.quote(paid(PAID, limits=Limits(rounds=1)))).calls.most == 6


async def test_the_quoted_maximum_is_the_most_expensive_voice_of_a_chain(lab: Roundtable) -> None:
    alone = await lab.meetings.quote(paid(PAID))
    chained = await lab.meetings.quote(paid("script:table.json", PAID))
    assert chained.usd.likely == 0
    assert chained.usd.most == alone.usd.most
    assert chained.seats[0].paid == "free"


async def test_seats_on_a_subscription_are_marked_in_the_quote(
    lab: Roundtable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    seats = (Seat("claude", ("cli:claude",)), Seat("gpt", (PAID,)))
    quoted = await lab.meetings.quote(Agenda("REST or GraphQL?", seats))
    assert quoted.plans == ("claude",)
    claude, gpt = quoted.seats
    assert (claude.paid, claude.usd, claude.keeps_session) == ("plan", MoneyRange(), True)
    assert quoted.usd == gpt.usd
    assert render_quote_for_terminal(quoted).endswith("for 6 to 16 calls; claude uses your plan.")
    alone = await lab.meetings.quote(Agenda("REST or GraphQL?", seats[:1]))
    assert render_quote_for_terminal(alone) == "No cost per token, for 3 to 8 calls; claude uses your plan."
    charter, _ = await lab.meetings.draft(Agenda("REST or GraphQL?", seats[:1], limits=Limits(budget_usd=0)))
    assert charter.limits.budget_usd == 0


async def test_the_quote_warns_about_a_budget_that_is_too_small_or_misses_unknown_prices(lab: Roundtable) -> None:
    quoted = await lab.meetings.quote(paid(PAID, "dim:alpha", limits=Limits(budget_usd=0.0001, budget_tokens=10)))
    assert quoted.unpriced == ("dim:alpha",)
    money, tokens, unseen = quoted.notices
    assert money.startswith("The meeting is likely to cost more than the budget of $0.0001. When the budget is spent")
    assert tokens.startswith("The meeting is likely to use more than the budget of 10 tokens. When the budget is spent")
    assert unseen == "The budget does not limit voices with an unknown price: dim:alpha."


async def test_the_quote_says_that_a_budget_below_its_maximum_may_suffice(lab: Roundtable) -> None:
    quoted = await lab.meetings.quote(paid(PAID))
    money, tokens = (quoted.usd.likely or 0) * 1.1, round(quoted.tokens.likely * 1.1)
    notices = (await lab.meetings.quote(paid(PAID, limits=Limits(budget_usd=money, budget_tokens=tokens)))).notices
    assert [notice.partition(" more than")[0] for notice in notices] == ["The meeting may cost", "The meeting may use"]


async def test_an_unknown_price_is_not_quoted_as_zero(lab: Roundtable, workspace: Path) -> None:
    write_script(workspace, AGREE)
    unknown = await lab.meetings.quote(paid("dim:alpha"))
    assert (unknown.usd, unknown.seats[0].usd) == (MoneyRange(None, None), MoneyRange(None, None))
    free_first = await lab.meetings.quote(paid("script:table.json", "dim:alpha"))
    assert free_first.usd == MoneyRange(0.0, None)
    seats = (Seat("claude", (PAID,)), Seat("gpt", ("dim:alpha",)))
    both = await lab.meetings.quote(Agenda("REST or GraphQL?", seats))
    assert both.usd == both.seats[0].usd
    assert both.unpriced == ("dim:alpha",)
    dear_at_last = await lab.meetings.quote(paid("dim:alpha", PAID))
    assert dear_at_last.usd.likely is None
    assert render_quote_for_terminal(dear_at_last).startswith("At most $")


async def test_a_quote_names_seats_that_cannot_speak(lab: Roundtable) -> None:
    seats = (Seat("claude", (PAID,)), Seat("gpt", ("nosuch:foo",)), Seat("gemini", ("nosuch:foo", PAID)))
    claude, gpt, gemini = (await lab.meetings.quote(Agenda("REST or GraphQL?", seats))).seats
    assert gpt.cannot_speak.startswith("There is no endpoint called `nosuch`.")
    assert (claude.cannot_speak, gemini.cannot_speak) == ("", "")


async def test_the_quote_includes_thinking_tokens(lab: Roundtable, server: FaultServer, places: Places) -> None:
    with places.user_config.open("a") as config:
        config.write(
            f'[endpoints.deep]\nbase_url = "{server.root}"\ndialect = "anthropic"\nprices = "anthropic"\n'
            'reasoning = ["*"]\nthinking_tokens = 8000\n'
        )
    async with await Roundtable.open(lab.workspace, places) as desk:
        plain = (await desk.meetings.quote(paid(PAID))).seats[0]
        deep = (await desk.meetings.quote(paid("deep:claude-haiku-4-5"))).seats[0]
    assert deep.output_tokens.likely == plain.output_tokens.likely + 3 * 2000
    assert deep.input_tokens.likely == plain.input_tokens.likely


async def test_a_money_budget_stops_a_meeting_after_the_round_that_exceeded_it(
    lab: Roundtable, workspace: Path
) -> None:
    write_script(workspace, {"turns": [{"text": position_reply("Use GraphQL")}]})
    seats = (Seat("claude", (PAID,)), Seat("gpt", ("script:table.json",)))
    limits = Limits(retries=0, budget_usd=0.000001)
    session = await lab.meetings.open(Agenda("REST or GraphQL?", seats, limits=limits, headless=True))
    decision = await lab.meetings.run(session)
    state = await lab.sessions.get(session)
    assert decision.outcome is Outcome.TIE
    assert notice_sentences(decision)[0].startswith("Stopped: $0.000")
    assert list(state.rounds) == ["council/1-blind"]
    assert state.spent.cost_usd == build_cost_report(state).seats[0].used.cost_usd


async def test_a_budget_of_zero_allows_only_free_seats(lab: Roundtable, workspace: Path) -> None:
    write_script(workspace, AGREE)
    session = await lab.meetings.open(agenda(limits=Limits(retries=0, budget_usd=0)))
    assert (await lab.meetings.run(session)).outcome is Outcome.REACHED
    with pytest.raises(UsageError, match=r"A budget of \$0 allows only free .* dim:alpha may charge") as refused:
        await lab.meetings.open(paid("script:table.json", "dim:alpha", limits=Limits(budget_usd=0)))
    assert "`local = true`" in refused.value.help
