"""The council: agreement, disagreement, conformity, dissent and limits."""

from __future__ import annotations

import re
from typing import Any

from roundtable.core.values import Limits, Outcome
from roundtable.core.verdict import ParseStatus
from roundtable.report.reasons import decision_sentence, notice_sentences
from roundtable.report.transcript import render_transcript
from tests.stories.session_harness import (
    DISPUTE,
    SessionHarness,
    council_turns,
    position_reply,
    ratings_reply,
    reconsider_reply,
)


def create_harness(**seats: dict[str, Any]) -> SessionHarness:
    return SessionHarness({"seats": seats})


async def round_names(harness: SessionHarness) -> list[str]:
    return list((await harness.session()).rounds)


async def test_a_unanimous_council_skips_the_ballot_and_the_debate() -> None:
    harness = create_harness(
        claude=council_turns(position_reply("Use REST", 6)),
        gpt=council_turns(position_reply("use  rest.", 9, text="Plain HTTP is enough.")),
        gemini=council_turns(position_reply("USE REST", 7)),
    )
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert await round_names(harness) == ["council/1-blind"]
    assert decision.counted == ("claude", "gpt", "gemini")
    assert decision.text == "Plain HTTP is enough.", "the surest seat's own words, word for word"
    assert decision.author == "gpt"
    assert not decision.degraded
    assert len(harness.voices.calls) == 3


async def test_a_ballot_merges_differently_worded_positions_with_equal_meaning() -> None:
    harness = create_harness(
        claude=council_turns(position_reply("Use REST"), ratings_reply(A="same", B="same", C="same")),
        gpt=council_turns(position_reply("Plain HTTP with JSON"), ratings_reply(A="same", B="same", C="same")),
        gemini=council_turns(position_reply("REST over HTTP"), ratings_reply(A="same", B="same", C="same")),
    )
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert await round_names(harness) == ["council/1-blind", "council/2-ballot"]
    assert decision.blind_vote == {"A": 3}
    assert [proposal.authors for proposal in decision.proposals] == [("gpt", "claude", "gemini")]


async def test_a_one_sided_rating_of_same_counts_as_disagreement() -> None:
    harness = create_harness(
        claude=council_turns(
            position_reply("X"), ratings_reply(A="opposed", B="same", C="same"), reconsider_reply("B")
        ),
        gpt=council_turns(
            position_reply("Y"), ratings_reply(A="same", B="opposed", C="opposed"), reconsider_reply("A")
        ),
        gemini=council_turns(
            position_reply("Z"), ratings_reply(A="opposed", B="opposed", C="same"), reconsider_reply("C")
        ),
    )
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.TIE
    assert len(decision.proposals) == 3


async def test_a_leading_position_acceptable_to_all_needs_no_debate() -> None:
    harness = create_harness(
        claude=council_turns(position_reply("X"), ratings_reply(A="opposed", B="same", C="acceptable")),
        gpt=council_turns(position_reply("X"), ratings_reply(A="same", B="same", C="opposed")),
        gemini=council_turns(position_reply("Z"), ratings_reply(A="acceptable", B="acceptable", C="same")),
    )
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert "2 of 3 counted seats agree in the blind round; the others find it acceptable." in decision_sentence(
        decision
    )
    assert [dissent.seat for dissent in decision.dissent] == ["gemini"]
    assert await round_names(harness) == ["council/1-blind", "council/2-ballot"]


async def test_a_disputed_question_is_debated_and_the_blind_vote_is_shown_with_the_result() -> None:
    harness = SessionHarness(DISPUTE)
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert decision.blind_vote == {"A": 1, "B": 1, "C": 1}
    assert decision.tally == {"B": 3}
    assert decision.position == "Use REST"
    assert decision.conformity == ()
    assert decision.basis == ("council/1-blind", "council/4-reconsider")
    assert "Position: **B (Use REST)**" in render_transcript(await harness.session())


async def test_a_debate_ends_when_no_seat_changes_its_position() -> None:
    harness = create_harness(
        claude=council_turns(
            position_reply("X"), ratings_reply(A="opposed", B="same", C="opposed"), reconsider_reply("B")
        ),
        gpt=council_turns(
            position_reply("Y"), ratings_reply(A="same", B="opposed", C="opposed"), reconsider_reply("A")
        ),
        gemini=council_turns(
            position_reply("X"), ratings_reply(A="opposed", B="same", C="same"), reconsider_reply("B")
        ),
    )
    await harness.open()
    decision = await harness.run()
    assert "council/4-reconsider" not in await round_names(harness)
    assert decision.outcome is Outcome.REACHED
    assert decision_sentence(decision) == "2 of 3 counted seats agree after reading each other's answers."
    assert [(dissent.seat, dissent.position, dissent.text) for dissent in decision.dissent] == [
        ("gpt", "Y", "Because.")
    ]
    assert decision.text == "Because.", "who held is quoted with its argument, not with the word that it holds"


async def test_a_seat_that_switches_without_a_reason_is_counted_at_its_blind_position() -> None:
    harness = create_harness(
        claude=council_turns(
            position_reply("X"), ratings_reply(A="opposed", B="same", C="opposed"), reconsider_reply("B")
        ),
        gpt=council_turns(
            position_reply("Y", text="Y is right."),
            ratings_reply(A="same", B="opposed", C="opposed"),
            reconsider_reply("B"),
        ),
        gemini=council_turns(
            position_reply("X"), ratings_reply(A="opposed", B="same", C="same"), reconsider_reply("B")
        ),
    )
    await harness.open()
    decision = await harness.run()
    assert decision.conformity == ("gpt",)
    assert decision.tally == {"B": 2, "A": 1}
    assert [(dissent.seat, dissent.text) for dissent in decision.dissent] == [("gpt", "Y is right.")]
    changed = "These seats changed their position without a reason, so their blind position was counted: gpt."
    assert changed in notice_sentences(decision)


async def test_given_options_are_counted_exactly_without_a_ballot() -> None:
    harness = create_harness(
        claude=council_turns(position_reply("REST"), reconsider=reconsider_reply("A")),
        gpt=council_turns(position_reply("graphql"), reconsider=reconsider_reply("A", error="the client is a browser")),
        gemini=council_turns(position_reply("REST"), reconsider=reconsider_reply("A")),
    )
    await harness.open(options=("REST", "GraphQL"))
    decision = await harness.run()
    assert await round_names(harness) == ["council/1-blind", "council/3-reconsider"]
    assert decision.position == "REST"
    assert decision.blind_vote == {"A": 2, "B": 1}


async def test_an_answer_outside_the_given_options_is_not_counted() -> None:
    harness = create_harness(
        claude=council_turns(position_reply("REST")),
        gpt=council_turns(position_reply("Something else")),
        gemini=council_turns(position_reply("REST")),
    )
    await harness.open(options=("REST", "GraphQL"))
    decision = await harness.run()
    assert decision.counted == ("claude", "gemini")
    assert [absence.seat for absence in decision.missing] == ["gpt"]
    assert decision.degraded
    assert (await harness.session()).turn("council/1-blind", "gpt").move is not None, "its words are kept all the same"


async def test_the_person_breaks_a_tie() -> None:
    harness = create_harness(
        claude=council_turns(position_reply("X"), ratings_reply(A="opposed", B="same"), reconsider_reply("B")),
        gpt=council_turns(position_reply("Y"), ratings_reply(A="same", B="opposed"), reconsider_reply("A")),
    )
    await harness.open(seats=("claude", "gpt"), answers={"choose": "A"})
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert decision.position == "Y"
    assert decision_sentence(decision).startswith("The person chose A")


async def test_a_tie_that_nobody_breaks_remains_a_tie() -> None:
    harness = create_harness(
        claude=council_turns(position_reply("X"), ratings_reply(A="opposed", B="same"), reconsider_reply("B")),
        gpt=council_turns(position_reply("Y"), ratings_reply(A="same", B="opposed"), reconsider_reply("A")),
    )
    await harness.open(seats=("claude", "gpt"))
    decision = await harness.run()
    assert decision.outcome is Outcome.TIE
    assert not decision.winner
    answers = (await harness.session()).answers
    assert answers["choose"].by == "headless default"


async def test_a_decision_by_one_seat_is_labelled_a_single_opinion() -> None:
    harness = create_harness(claude=council_turns(position_reply("X")))
    await harness.open(seats=("claude",))
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert notice_sentences(decision) == ("This is a single opinion, not an agreement.",)


async def test_an_unreadable_reply_never_counts_as_agreement() -> None:
    harness = create_harness(
        claude=council_turns(position_reply("X")),
        gpt=council_turns("I agree with everybody!"),
        gemini=council_turns("DISAGREE: everything is wrong."),
    )
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.INSUFFICIENT
    session = await harness.session()
    for seat in ("gpt", "gemini"):
        move = session.turn("council/1-blind", seat).move
        assert move is not None
        assert move.verdict.parse is ParseStatus.FAILED


async def test_a_seat_that_fails_in_the_last_round_is_not_counted_with_its_earlier_vote() -> None:
    broken = council_turns(position_reply("X"), ratings_reply(A="opposed", B="same", C="same"))
    broken["turns"].append({"round": "*reconsider", "fault": "server"})
    harness = create_harness(
        claude=council_turns(
            position_reply("X"), ratings_reply(A="opposed", B="same", C="opposed"), reconsider_reply("B")
        ),
        gpt=council_turns(
            position_reply("Y"), ratings_reply(A="same", B="opposed", C="opposed"), reconsider_reply("A")
        ),
        gemini=broken,
    )
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.TIE, "two seats are left, one on each side"
    assert decision.counted == ("claude", "gpt")
    assert [(absence.seat, absence.fault.kind.value) for absence in decision.missing] == [("gemini", "server")]


async def test_a_round_without_a_quorum_leaves_the_decision_to_the_previous_round() -> None:
    failing: list[dict[str, Any]] = [{"round": "*reconsider", "fault": "server"}]
    claude = council_turns(position_reply("X"), ratings_reply(A="opposed", B="same", C="same"))
    gemini = council_turns(position_reply("X"), ratings_reply(A="opposed", B="same", C="same"))
    harness = create_harness(
        claude={"turns": claude["turns"] + failing},
        gpt=council_turns(
            position_reply("Y"), ratings_reply(A="same", B="opposed", C="opposed"), reconsider_reply("A")
        ),
        gemini={"turns": gemini["turns"] + failing},
    )
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert decision.position == "X"
    assert decision.basis == ("council/1-blind",)
    assert decision.degraded
    assert notice_sentences(decision)[0] == (
        "1 of 3 seats gave a valid answer in council/3-reconsider, which is fewer than the quorum, "
        "so the answers of council/1-blind decide."
    )


async def test_a_budget_stops_a_meeting_between_rounds_with_a_valid_result() -> None:
    harness = SessionHarness(DISPUTE)
    await harness.open(limits=Limits(retries=0, budget_tokens=1))
    decision = await harness.run()
    session = await harness.session()
    assert decision.outcome is Outcome.TIE
    assert list(session.limit_stops) == ["council/2-ballot", "council/3-reconsider"]
    (notice,) = notice_sentences(decision)
    assert re.fullmatch(r"Stopped: \d+ tokens are used, and the budget is 1\.", notice)
    assert session.rounds["council/1-blind"].closed is not None
