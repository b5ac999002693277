"""Recounts: a decision computed again without a seat or by other rules, in every meeting and without model calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roundtable.app.desk.sessions import Sessions
from roundtable.core.events import CancelAsked, Recorded, SessionOpened
from roundtable.core.faults import UsageError
from roundtable.core.session import Session
from roundtable.core.values import Outcome
from roundtable.report.recount import (
    Recount,
    RuleRecount,
    SeatRecount,
    describe_seat_absence,
    render_rule_recount_rows,
    render_seat_recount_rows,
)
from tests.stories.session_harness import (
    DISPUTE,
    SEATS,
    SESSION,
    SessionHarness,
    council_turns,
    position_reply,
    ratings_reply,
    reconsider_reply,
)
from tests.stories.test_recipes import RecipeHarness, recipe_text


async def hold_and_recount(harness: SessionHarness, **charter: Any) -> Recount:
    """Hold the meeting, then recount it and check that no seat is asked."""
    await harness.open(**charter)
    await harness.run()
    calls_before = len(harness.voices.calls)
    result = await Sessions.recount(await harness.session())
    assert len(harness.voices.calls) == calls_before
    return result


def recounted_seats(result: Recount) -> dict[str, SeatRecount]:
    return {seat.seat: seat for seat in result.seats}


def recounted_rule(result: Recount, name: str) -> RuleRecount:
    return next(rule for rule in result.rules if rule.rule == name)


def block(text: str, **fields: Any) -> str:
    return f"{text}\n\n```json\n{json.dumps(fields)}\n```"


def sequential_script(*turns: str) -> dict[str, Any]:
    return {"turns": [{"text": turn} for turn in (*turns, *[turns[-1]] * 9)]}


# --- council --------------------------------------------------------------------------------------


@pytest.mark.feature("S1.34")
async def test_a_recount_without_a_seat_whose_vote_was_not_needed_changes_nothing() -> None:
    result = await hold_and_recount(SessionHarness(DISPUTE))
    gpt = recounted_seats(result)["gpt"]
    assert gpt.without.changed is False
    assert (gpt.first, gpt.last, gpt.moved, gpt.reasoned) == ("A", "B", True, True)


async def test_a_recount_names_the_seat_without_which_no_position_would_have_changed() -> None:
    result = await hold_and_recount(SessionHarness(DISPUTE))
    gemini = recounted_seats(result)["gemini"]
    assert (gemini.without.changed, gemini.without.outcome) == (True, "tie")
    assert describe_seat_absence(result, gemini.without) == "tie instead of reached"


async def test_a_recount_says_what_the_record_cannot_answer() -> None:
    result = await hold_and_recount(SessionHarness(DISPUTE))
    claude = recounted_seats(result)["claude"]
    assert claude.without.changed is None
    assert claude.without.why == "gemini supported the proposal B, which no remaining seat had made."
    assert describe_seat_absence(result, claude.without).startswith("unknown: ")


async def test_a_recount_ends_at_a_round_that_was_never_held() -> None:
    content = SessionHarness(
        {
            "seats": {
                "claude": council_turns(position_reply("X"), ratings_reply(A="opposed", B="same", C="acceptable")),
                "gpt": council_turns(position_reply("X"), ratings_reply(A="same", B="same", C="opposed")),
                "gemini": council_turns(position_reply("Z"), ratings_reply(A="acceptable", B="acceptable", C="same")),
            }
        }
    )
    result = await hold_and_recount(content)
    assert result.outcome == "reached"
    assert (
        recounted_seats(result)["claude"].without.why
        == "The meeting would have needed the round council/3-reconsider, which was not held."
    )


async def test_in_a_recount_a_proposal_keeps_its_id_without_its_first_author() -> None:
    same = ratings_reply(A="same", B="same", C="opposed")
    harness = SessionHarness(
        {
            "seats": {
                "gpt": council_turns(position_reply("Use REST"), same, reconsider_reply("A")),
                "claude": council_turns(position_reply("REST it is"), same, reconsider_reply("A")),
                "gemini": council_turns(
                    position_reply("Use tRPC"),
                    ratings_reply(A="opposed", B="opposed", C="same"),
                    reconsider_reply("A", error="tRPC needs TypeScript on both sides"),
                ),
            }
        }
    )
    result = await hold_and_recount(harness)
    without = recounted_seats(result)["gpt"].without
    assert (without.changed, without.winner, without.position) == (False, "B", "REST it is")


async def test_a_recount_names_seats_that_followed_the_others_without_evidence() -> None:
    harness = SessionHarness(
        {
            "seats": {
                "claude": council_turns(position_reply("REST"), reconsider=reconsider_reply("A")),
                "gpt": council_turns(position_reply("GraphQL"), reconsider=reconsider_reply("A")),
                "gemini": council_turns(position_reply("REST"), reconsider=reconsider_reply("A")),
            }
        }
    )
    result = await hold_and_recount(harness, options=("REST", "GraphQL"))
    moved = {row[0]: row[1:3] for row in render_seat_recount_rows(result)}
    assert moved == {"claude": ("A", "no"), "gpt": ("B → A", "yes, without evidence"), "gemini": ("A", "no")}
    assert recounted_rule(result, "blind vote").winner == "A"
    assert recounted_rule(result, "majority of last positions").why == "3 of 3 seats have this position."
    assert not recounted_rule(result, "every score at least 9").applies
    assert not recounted_rule(result, "ranked: elimination only").applies
    assert {row[0] for row in render_rule_recount_rows(result)} == {"blind vote", "majority of last positions"}


async def test_a_recount_counts_a_missing_seat_and_its_cost() -> None:
    harness = SessionHarness(
        {
            "seats": {
                "claude": council_turns(position_reply("REST")),
                "gpt": {"turns": [{"fault": "quota", "message": "No credit."}]},
                "gemini": council_turns(position_reply("REST")),
            }
        }
    )
    result = await hold_and_recount(harness, options=("REST", "GraphQL"))
    rows = {row[0]: row for row in render_seat_recount_rows(result)}
    assert rows["gpt"][1:3] == ("–", "no answer")
    assert (recounted_seats(result)["claude"].calls, rows["claude"][4]) == (1, "free")
    assert recounted_seats(result)["gpt"].without.changed is False


async def test_a_recount_says_why_no_seat_changes_a_decision_made_by_the_person() -> None:
    apart = {
        name: council_turns(position_reply(name), ratings_reply(), reconsider_reply(label))
        for name, label in zip(SEATS, "ABC", strict=True)
    }
    result = await hold_and_recount(SessionHarness({"seats": apart}), options=SEATS, answers={"choose": "B"})
    assert (result.outcome, result.winner, result.by_person) == ("reached", "B", True)
    assert "no change: the person chose" in [describe_seat_absence(result, seat.without) for seat in result.seats]


# --- the other meetings ---------------------------------------------------------------------------


def knights(**scores: tuple[float, ...]) -> SessionHarness:
    form: dict[str, Any] = {"agrees_with": [], "pending_issues": []}
    turns = {
        seat: sequential_script(*(block("Because.", consensus_score=entry, **form) for entry in given))
        for seat, given in scores.items()
    }
    return SessionHarness({"seats": turns}, meeting="knights")


async def test_a_recount_shows_that_one_knight_turned_consensus_into_deadlock() -> None:
    result = await hold_and_recount(knights(claude=(9,), gpt=(4,), gemini=(9,)))
    assert result.outcome == "deadlock"
    assert (recounted_seats(result)["gpt"].without.changed, recounted_seats(result)["gpt"].without.outcome) == (
        True,
        "reached",
    )
    strict = recounted_rule(result, "every score at least 9")
    assert (strict.outcome, strict.same, strict.turns_on) == ("deadlock", True, ("gpt",))
    assert recounted_rule(result, "no objection, a majority for it").turns_on == ("gpt",)
    assert recounted_rule(result, "majority of last positions").outcome == "reached"
    assert recounted_rule(result, "first positions").outcome == "reached", (
        "a knight hears those before it: no blind vote"
    )
    assert "blind vote" not in [rule.rule for rule in result.rules]


async def test_a_recount_shows_that_a_lower_threshold_would_have_been_met() -> None:
    result = await hold_and_recount(knights(claude=(8,), gpt=(8,), gemini=(9,)))
    assert recounted_rule(result, "every score at least 9").outcome == "deadlock"
    assert recounted_rule(result, "every score at least 8").outcome == "reached"


CHESS = {"claude": ("A", "B", "C"), "gpt": ("A", "C", "B"), "gemini": ("C", "A", "B")}


async def test_a_recount_counts_a_vote_by_every_counting_method() -> None:
    parts = {
        seat: {
            "turns": [
                {"round": "*-pitch", "text": position_reply(f"{seat}'s app")},
                {"round": "*-discuss", "text": "Words."},
                {"round": "*-ballot", "text": block("Reasons.", ranked_choices=[*ballot, "no-change"])},
            ]
        }
        for seat, ballot in CHESS.items()
    }
    result = await hold_and_recount(SessionHarness({"seats": parts}, meeting="vote"))
    ways = [rule for rule in result.rules if rule.rule.startswith(("ranked", "first"))]
    assert [(way.applies, way.winner, way.same) for way in ways] == [(True, "A", True)] * 4
    assert recounted_seats(result)["gemini"].last == "C"
    assert recounted_rule(result, "first choices only").turns_on == ("claude", "gpt")
    changed = {seat: result_seat.without.changed for seat, result_seat in recounted_seats(result).items()}
    assert changed["gemini"] is False


async def test_a_recount_of_a_debate_without_its_only_objector_agrees_without_a_plan() -> None:
    def said(position: str, *, then: str) -> dict[str, Any]:
        return {
            "turns": [
                {"round": "*-seed", "text": position_reply(position)},
                {"round": "*-objections", "text": then},
                {"round": "*-consensus", "text": then},
            ]
        }

    harness = SessionHarness(
        {
            "seats": {
                "claude": said("REST", then="Yes.\n\nAGREE: claude"),
                "gpt": said("GraphQL", then="No.\n\nOBJECT: it will not scale"),
                "gemini": said("tRPC", then="Yes.\n\nAGREE: claude"),
            }
        },
        meeting="debate",
    )
    result = await hold_and_recount(harness)
    assert result.outcome == "deadlock"
    gpt = recounted_seats(result)["gpt"]
    assert (gpt.without.changed, gpt.without.outcome, gpt.without.winner) == (True, "reached", "claude")
    assert (
        recounted_seats(result)["claude"].without.why
        == "gemini supported the proposal claude, which no remaining seat had made."
    )
    assert recounted_rule(result, "no objection, a majority for it").outcome == "deadlock"
    assert (recounted_seats(result)["gemini"].first, recounted_seats(result)["gemini"].last) == ("gemini", "claude")


async def test_a_recount_of_two_different_opinions_without_one_seat_is_a_single_opinion() -> None:
    def opinion(label: str, stance: str) -> dict[str, Any]:
        return sequential_script(block("Because.", recommendation=label, stance=stance, risks=[]))

    harness = SessionHarness(
        {
            "seats": {
                "claude": opinion("Definitely split it", "yes"),
                "gpt": opinion("Never split it", "no"),
                "gemini": opinion("Never split it", "no"),
            }
        },
        meeting="second-opinion",
    )
    result = await hold_and_recount(harness)
    assert result.outcome == "deadlock"
    assert recounted_seats(result)["claude"].without.outcome == "reached"
    assert recounted_rule(result, "majority of last positions").outcome == "reached"
    assert recounted_rule(result, "majority of last positions").turns_on == ("gpt", "gemini")


async def test_a_recount_shows_that_a_diagnosis_depends_on_its_confident_doctors() -> None:
    def doctor(key: str, sure: int) -> dict[str, Any]:
        form: dict[str, Any] = {
            "confidence_score": sure,
            "root_cause_key": key,
            "evidence": [],
            "file_requests": [],
            "next_test": "",
        }
        return sequential_script(block("Because.", **form))

    harness = SessionHarness(
        {
            "seats": {
                "claude": doctor("stale-cache-key", 9),
                "gpt": doctor("stale-cache-key", 9),
                "gemini": doctor("clock-skew", 4),
            }
        },
        meeting="code-red",
    )
    result = await hold_and_recount(harness)
    assert (result.outcome, result.winner) == ("reached", "stale-cache-key")
    assert recounted_seats(result)["gemini"].without.changed is False
    assert recounted_seats(result)["gpt"].without.changed is None
    assert recounted_rule(result, "two sure seats name the same cause").turns_on == ("claude", "gpt")


async def test_a_second_opinion_of_two_seats_cannot_be_recounted_without_one() -> None:
    form: dict[str, Any] = {"stance": "yes", "risks": []}
    opinion = sequential_script(block("Because.", recommendation="Split it", **form))
    harness = SessionHarness({"seats": {"claude": opinion, "gpt": opinion}}, meeting="second-opinion")
    result = await hold_and_recount(harness, seats=("claude", "gpt"))
    assert {seat.without.why for seat in result.seats} == {"The meeting second-opinion needs at least 2 seats."}


async def test_in_a_recount_a_proposal_of_two_seats_remains_without_one_of_them() -> None:
    def part(position: str) -> dict[str, Any]:
        agree = "Yes.\n\nAGREE: claude"
        rounds = {
            "*-seed": position_reply(position),
            "*-objections": agree,
            "*-consensus": agree,
            "*-plan": "1. Do it.",
        }
        return {"turns": [{"round": round, "text": text} for round, text in rounds.items()]}

    harness = SessionHarness(
        {"seats": {"claude": part("REST"), "gpt": part("rest"), "gemini": part("tRPC")}}, meeting="debate"
    )
    result = await hold_and_recount(harness)
    without = recounted_seats(result)["claude"].without
    assert (result.winner, without.changed, without.winner) == ("claude", False, "gpt")


async def test_a_custom_meeting_is_recounted_by_the_rules_it_was_opened_with(
    tmp_path: Path,
) -> None:
    form: dict[str, Any] = {"pending_issues": []}
    scores = {"claude": 9, "gpt": 4, "gemini": 9}
    script = {
        seat: sequential_script(block("Because.", consensus_score=score, **form)) for seat, score in scores.items()
    }
    recipe = recipe_text(("review", "score-json"), rule='name = "score_threshold"')
    harness = RecipeHarness(tmp_path, recipe, {"seats": script})
    await harness.open()
    await harness.run()
    (tmp_path / "meetings" / "board.toml").unlink()
    result = await Sessions.recount(await harness.session())
    assert (result.outcome, recounted_seats(result)["gpt"].without.outcome) == ("deadlock", "reached")


# --- what cannot be recounted ---------------------------------------------------------------------


async def test_a_session_without_a_decision_cannot_be_recounted() -> None:
    harness = SessionHarness(DISPUTE)
    await harness.open()
    with pytest.raises(UsageError, match="no decision yet"):
        await Sessions.recount(await harness.session())


async def test_a_page_is_still_rendered_if_its_recount_fails() -> None:
    harness = SessionHarness(DISPUTE)
    await harness.open()
    await harness.run()
    records = await harness.records()
    opened = records[0].event
    assert isinstance(opened, SessionOpened)
    charter = msgspec.structs.replace(opened.charter, settings={"rounds": "many"})
    odd = Session.fold(SESSION, [msgspec.structs.replace(records[0], event=SessionOpened(charter)), *records[1:]])
    with pytest.raises(msgspec.ValidationError):
        await Sessions.recount(odd)
    html = await Sessions.render(odd, records, "html")
    assert "Which seats agree" in html
    assert "Recount" not in html


async def test_a_recount_says_that_a_cancelled_session_was_not_decided_by_its_rules() -> None:
    harness = SessionHarness(DISPUTE)
    await harness.open()
    await harness.store.append(SESSION, CancelAsked(by="me"))
    decision = await harness.run()
    assert decision.outcome is Outcome.CANCELLED
    result = await Sessions.recount(await harness.session())
    assert all(seat.without.changed is None and seat.without.why for seat in result.seats)


@pytest.mark.parametrize(
    ("meeting", "version", "reason"),
    [
        ("council", 99, "The rules of council have changed since version 99, which this session used."),
        ("seance", 1, "There is no meeting called seance."),
    ],
)
async def test_a_record_with_unsupported_rules_still_shows_its_answers_in_a_recount(
    meeting: str, version: int, reason: str
) -> None:
    harness = SessionHarness(DISPUTE)
    await harness.open()
    await harness.run()
    first, *rest = await harness.records()
    assert isinstance(first.event, SessionOpened)
    charter = msgspec.structs.replace(first.event.charter, meeting=meeting, version=version)
    old = Recorded(first.seq, first.at, first.session, SessionOpened(charter))
    result = await Sessions.recount(Session.fold(SESSION, [old, *rest]))
    assert {seat.without.why for seat in result.seats} == {reason}
    assert recounted_rule(result, "majority of last positions").winner == "B"
