"""The costs of hand-written records: an unknown price is never free, and a subscription is not money."""

from __future__ import annotations

from typing import Any

import pytest

from roundtable.app.cost.voice_statistics import measure_voice_costs_for_quote
from roundtable.core.events import CallFailed, MoveMade, SeatMissed, TurnAsked, TurnInterrupted
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.session import Session
from roundtable.core.values import Timing, Usage
from roundtable.report.costs import build_cost_report, render_money, render_price
from roundtable.report.html import render_session_page
from roundtable.report.summary import report_session_as_data, report_usage_as_data
from roundtable.report.transcript import render_cost_table, render_transcript
from tests.report.test_session_views import (
    AGAIN,
    BALLOT,
    BLIND,
    SLOW,
    full_session,
    move_made,
    round_opened,
    session_of,
    session_opened,
)

ON_A_PLAN = Usage(9000, 500, 6000, 0.0, plan_tokens=9500, plan_usd=0.31)


def asked(seat: str, number: int = 1, round: str = BLIND, **more: Any) -> TurnAsked:
    return TurnAsked(round, seat, f"{round}/{seat}#{number}", f"lab:{seat}", 2, **more)


def prices(session: Session) -> dict[str, str]:
    costs = build_cost_report(session)
    return {line.name: line.price for line in (*costs.seats, costs.total)}


@pytest.mark.parametrize(
    ("used", "words"),
    [
        (Usage(10, 5, cost_usd=0.0021), "$0.0021"),
        (Usage(10, 5, cost_usd=0.0), "free"),
        (Usage(10, 5), "unknown"),
        (Usage(10, 5, plan_tokens=15), "plan"),
        (ON_A_PLAN, "plan"),
        (Usage(20, 5, cost_usd=1234.5, plan_tokens=10), "$1,234.50 and plan"),
    ],
)
def test_the_price_of_one_call(used: Usage, words: str) -> None:
    assert render_price(used) == words


def test_small_amounts_of_money_have_four_decimal_places() -> None:
    assert [render_money(0), render_money(0.0021), render_money(1234.5)] == ["$0.00", "$0.0021", "$1,234.50"]
    assert render_money(0.00001) == "less than $0.0001"


def test_an_unknown_price_is_never_zero() -> None:
    lines = build_cost_report(full_session())
    by_round = {line.name: line.price for line in lines.rounds}
    assert by_round == {BLIND: "$0.0200", BALLOT: "unknown", AGAIN: "$0.0200"}
    assert lines.total.price == "$0.0400 or more"
    assert (lines.total.calls, lines.total.tokens, lines.total.used.cached_tokens) == (5, 4415, 800)
    assert {line.name: line.calls for line in lines.seats} == {"claude": 3, "gpt": 2, "gemini": 0}


def test_a_free_call_and_an_unknown_price_have_an_unknown_total() -> None:
    free, unpriced = Usage(10, 5, cost_usd=0.0), Usage(10, 5)
    session = session_of(
        session_opened(),
        round_opened(BLIND),
        move_made(BLIND, "claude", "x", usage=free),
        move_made(BLIND, "gpt", "y", usage=unpriced),
    )
    assert prices(session) == {"claude": "free", "gpt": "unknown", "gemini": "–", "total": "unknown"}


def failed(seat: str, kind: FaultKind, number: int = 1, **more: Any) -> CallFailed:
    return CallFailed(BLIND, seat, f"{BLIND}/{seat}#{number}", f"lab:{seat}", Fault.of(kind, "It failed."), **more)


@pytest.mark.parametrize(
    ("kind", "more", "expected"),
    [
        (FaultKind.EMPTY, {}, (1, 1, "unknown")),
        (FaultKind.TRUNCATED, {"partial": "half an answer"}, (1, 1, "unknown")),
        (FaultKind.EMPTY, {"usage": Usage(50, 0, 0, 0.5)}, (1, 1, "$0.5000")),
        (FaultKind.EMPTY, {"usage": Usage(50)}, (1, 1, "unknown")),
        (FaultKind.RATE_LIMITED, {}, (1, 1, "–")),
        (FaultKind.OVERLOADED, {"partial": "half an answer"}, (1, 1, "unknown")),
        (FaultKind.UNREACHABLE, {}, (0, 0, "–")),
        (FaultKind.UNREACHABLE, {"usage": Usage(50, 9, cost_usd=0.1)}, (1, 1, "$0.1000")),
    ],
)
def test_a_sent_request_is_a_call_with_its_reported_cost(
    kind: FaultKind, more: dict[str, Any], expected: tuple[int, int, str]
) -> None:
    session = session_of(session_opened(), round_opened(BLIND), asked("claude"), failed("claude", kind, **more))
    line = build_cost_report(session).seats[0]
    assert (line.calls, line.failed, line.price) == expected


def test_a_missing_voice_counts_no_call() -> None:
    session = session_of(session_opened(), round_opened(BLIND), failed("claude", FaultKind.MISSING))
    assert (build_cost_report(session).total.calls, build_cost_report(session).total.failed) == (0, 0)
    assert render_cost_table(session) == "No seat was asked yet.\n"


def test_failed_calls_are_among_the_calls() -> None:
    session = session_of(
        session_opened(),
        round_opened(BLIND),
        asked("claude"),
        failed("claude", FaultKind.RATE_LIMITED, delay=0.1),
        asked("claude", 2, purpose="retry"),
        failed("claude", FaultKind.EMPTY, 2, delay=0.1, usage=Usage(40, 0, cost_usd=0.01)),
        asked("claude", 3, purpose="retry"),
        MoveMade(BLIND, "claude", f"{BLIND}/claude#3", "x", "lab:claude", usage=Usage(40, 9, cost_usd=0.02)),
    )
    line = build_cost_report(session).seats[0]
    assert (line.calls, line.failed, line.price, line.tokens) == (3, 2, "$0.0300", 89)
    assert session.spent.tokens == line.tokens


def test_a_price_that_is_not_known_is_null_for_programs() -> None:
    session = session_of(
        session_opened(),
        round_opened(BLIND),
        move_made(BLIND, "claude", "x", usage=Usage(10, 5)),
        move_made(BLIND, "gpt", "y", usage=Usage(10, 5, cost_usd=0.0)),
        move_made(BLIND, "gemini", "z", usage=Usage(10, 5, cost_usd=0.5)),
    )
    told = report_usage_as_data(session)
    assert [told["seats"][seat]["cost_usd"] for seat in ("claude", "gpt", "gemini")] == [None, 0.0, 0.5]
    assert (told["total"]["cost_usd"], told["total"]["price"]) == (0.5, "$0.5000 or more")
    free_and_untold = session_of(
        session_opened(),
        round_opened(BLIND),
        move_made(BLIND, "claude", "x", usage=Usage(10, 5)),
        move_made(BLIND, "gpt", "y", usage=Usage(10, 5, cost_usd=0.0)),
    )
    assert report_usage_as_data(free_and_untold)["total"]["cost_usd"] is None


def test_a_call_that_timed_out_has_a_cost() -> None:
    session = session_of(
        session_opened(),
        round_opened(BLIND),
        asked("claude"),
        asked("gpt"),
        move_made(BLIND, "gpt", "Use REST."),
        SeatMissed(BLIND, "claude", SLOW, "I was ab"),
    )
    assert prices(session) == {"claude": "unknown", "gpt": "$0.0100", "gemini": "–", "total": "$0.0100 or more"}
    assert build_cost_report(session).total.failed == 1


def test_a_free_voice_costs_nothing_when_it_fails() -> None:
    session = session_of(
        session_opened(),
        round_opened(BLIND),
        asked("claude"),
        TurnInterrupted(BLIND, "claude", f"{BLIND}/claude#1", "I was"),
        asked("claude", 2, purpose="again"),
        MoveMade(BLIND, "claude", f"{BLIND}/claude#2", "x", "lab:claude", usage=Usage(10, 5, cost_usd=0.0)),
    )
    line = build_cost_report(session).total
    assert (line.price, line.calls, line.failed) == ("free", 2, 1)


@pytest.mark.parametrize(("voice", "shown"), [("lab:claude", "unknown"), ("embedded:qwen", "–")])
def test_an_interrupted_call_was_sent(voice: str, shown: str) -> None:
    call = f"{BLIND}/claude#1"
    asked = TurnAsked(BLIND, "claude", call, voice, 2)
    session = session_of(session_opened(), round_opened(BLIND), asked, TurnInterrupted(BLIND, "claude", call))
    line = build_cost_report(session).total
    assert (line.calls, line.failed, line.price) == (1, 1, shown)
    assert session.seat_states["claude"] == "interrupted"


def test_a_turn_that_was_asked_again_is_no_longer_interrupted() -> None:
    cut = TurnInterrupted(BLIND, "claude", f"{BLIND}/claude#1", "Half a")
    session = session_of(
        session_opened(), round_opened(BLIND), asked("claude"), cut, asked("claude", 2, purpose="again")
    )
    assert session.seat_states["claude"] == "asked"
    assert build_cost_report(session).total.calls == 1


def test_a_running_turn_is_not_billed_yet() -> None:
    assert build_cost_report(session_of(session_opened(), round_opened(BLIND), asked("claude"))).total.calls == 0


def test_a_repaired_answer_took_two_calls() -> None:
    session = session_of(
        session_opened(),
        round_opened(BLIND),
        asked("claude"),
        asked("claude", 2, purpose="repair"),
        move_made(BLIND, "claude", "x", usage=Usage(30, 12, cost_usd=0.02)),
    )
    line = build_cost_report(session).seats[0]
    assert (line.calls, line.failed, line.price, line.tokens) == (2, 0, "$0.0200", 42)


def on_a_plan() -> Session:
    return session_of(
        session_opened(),
        round_opened(BLIND),
        move_made(BLIND, "claude", "x", usage=ON_A_PLAN),
        move_made(BLIND, "gpt", "y"),
        move_made(BLIND, "gemini", "z", usage=Usage(500, 50, plan_tokens=550)),
    )


def test_usage_of_a_subscription_costs_no_money() -> None:
    session = on_a_plan()
    assert prices(session) == {
        "claude": "plan ($0.3100 at list price)",
        "gpt": "$0.0100",
        "gemini": "plan",
        "total": "$0.0100 and plan ($0.3100 at list price)",
    }
    assert session.spent.cost_usd == 0.01


def test_every_rendering_shows_the_cost() -> None:
    session = on_a_plan()
    table = render_cost_table(session)
    assert "| claude | 1 | 0 | 9,000 | 67% | 500 | plan ($0.3100 at list price) |" in table
    assert table in render_transcript(session)
    assert "<td class=n>67%</td>" in render_session_page(session)
    told = report_session_as_data(session)["usage"]["seats"]["claude"]
    assert (told["plan_tokens"], told["plan_usd"], told["cost_usd"], told["price"]) == (
        9500,
        0.31,
        0.0,
        "plan ($0.3100 at list price)",
    )
    assert told["cached_share"] == pytest.approx(2 / 3)


def test_a_session_without_calls_has_no_costs() -> None:
    assert render_cost_table(session_of(session_opened())) == "No seat was asked yet.\n"


def test_voice_statistics_are_computed_from_answers() -> None:
    said = [(1200, 80, 2.0), (1300, 100, 4.0), (9000, 900, 90.0)]
    events: list[Any] = [session_opened()]
    for number, (tokens, words, took) in enumerate(said, 1):
        name = f"council/{number}-blind"
        events += [round_opened(name), asked("claude", round=name, prompt_bytes=400)]
        call = f"{name}/claude#1"
        usage, timing = Usage(tokens, words), Timing(0.1, took)
        events.append(MoveMade(name, "claude", call, "x", "lab:claude", usage=usage, timing=timing))
    events += [round_opened(AGAIN), asked("claude", round=AGAIN), asked("claude", 2, AGAIN, purpose="repair")]
    events.append(move_made(AGAIN, "claude", "repaired", usage=Usage(50_000, 5000)))
    found = measure_voice_costs_for_quote([session_of(*events)])
    assert list(found) == ["lab:claude"]
    assert (found["lab:claude"].overhead, found["lab:claude"].answer, found["lab:claude"].seconds) == (1200, 100, 4.0)
