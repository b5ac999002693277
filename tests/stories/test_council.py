"""What a person sees of a council: agreement, disagreement, conformity, dissent and its limits."""

from __future__ import annotations

import re
from typing import Any

from roundtable.core.values import Limits, Outcome
from roundtable.core.verdict import ParseStatus
from roundtable.report.reasons import decision_sentence, notice_sentences
from roundtable.report.transcript import render_transcript
from tests.stories.house import DISPUTE, House, again, answer, ratings, seat_script


def table(**seats: dict[str, Any]) -> House:
    return House({"seats": seats})


async def rounds_of(house: House) -> list[str]:
    return list((await house.session()).rounds)


async def test_a_unanimous_council_skips_the_ballot_and_the_debate() -> None:
    house = table(
        claude=seat_script(answer("Use REST", 6)),
        gpt=seat_script(answer("use  rest.", 9, text="Plain HTTP is enough.")),
        gemini=seat_script(answer("USE REST", 7)),
    )
    await house.open()
    decision = await house.run()
    assert decision.outcome is Outcome.REACHED
    assert await rounds_of(house) == ["council/1-blind"]
    assert decision.counted == ("claude", "gpt", "gemini")
    assert decision.text == "Plain HTTP is enough.", "the surest seat's own words, word for word"
    assert decision.author == "gpt"
    assert not decision.degraded
    assert len(house.voices.calls) == 3


async def test_a_ballot_merges_differently_worded_positions_with_equal_meaning() -> None:
    house = table(
        claude=seat_script(answer("Use REST"), ratings(A="same", B="same", C="same")),
        gpt=seat_script(answer("Plain HTTP with JSON"), ratings(A="same", B="same", C="same")),
        gemini=seat_script(answer("REST over HTTP"), ratings(A="same", B="same", C="same")),
    )
    await house.open()
    decision = await house.run()
    assert decision.outcome is Outcome.REACHED
    assert await rounds_of(house) == ["council/1-blind", "council/2-ballot"]
    assert decision.blind_vote == {"A": 3}
    assert [proposal.authors for proposal in decision.proposals] == [("gpt", "claude", "gemini")]


async def test_a_one_sided_rating_of_same_counts_as_disagreement() -> None:
    house = table(
        claude=seat_script(answer("X"), ratings(A="opposed", B="same", C="same"), again("B")),
        gpt=seat_script(answer("Y"), ratings(A="same", B="opposed", C="opposed"), again("A")),
        gemini=seat_script(answer("Z"), ratings(A="opposed", B="opposed", C="same"), again("C")),
    )
    await house.open()
    decision = await house.run()
    assert decision.outcome is Outcome.TIE
    assert len(decision.proposals) == 3


async def test_a_leading_position_acceptable_to_all_needs_no_debate() -> None:
    house = table(
        claude=seat_script(answer("X"), ratings(A="opposed", B="same", C="acceptable")),
        gpt=seat_script(answer("X"), ratings(A="same", B="same", C="opposed")),
        gemini=seat_script(answer("Z"), ratings(A="acceptable", B="acceptable", C="same")),
    )
    await house.open()
    decision = await house.run()
    assert decision.outcome is Outcome.REACHED
    assert "live with it" in decision_sentence(decision)
    assert [dissent.seat for dissent in decision.dissent] == ["gemini"]
    assert await rounds_of(house) == ["council/1-blind", "council/2-ballot"]


async def test_a_disputed_question_is_debated_and_the_blind_vote_is_shown_with_the_result() -> None:
    house = House(DISPUTE)
    await house.open()
    decision = await house.run()
    assert decision.outcome is Outcome.REACHED
    assert decision.blind_vote == {"A": 1, "B": 1, "C": 1}
    assert decision.tally == {"B": 3}
    assert decision.position == "Use REST"
    assert decision.conformity == ()
    assert decision.basis == ("council/1-blind", "council/4-reconsider")
    assert "Position: **B (Use REST)**" in render_transcript(await house.session())


async def test_a_debate_ends_when_no_seat_changes_its_position() -> None:
    house = table(
        claude=seat_script(answer("X"), ratings(A="opposed", B="same", C="opposed"), again("B")),
        gpt=seat_script(answer("Y"), ratings(A="same", B="opposed", C="opposed"), again("A")),
        gemini=seat_script(answer("X"), ratings(A="opposed", B="same", C="same"), again("B")),
    )
    await house.open()
    decision = await house.run()
    assert "council/4-reconsider" not in await rounds_of(house)
    assert decision.outcome is Outcome.REACHED
    assert decision_sentence(decision) == "2 of 3 counted seats agree, after reading each other."
    assert [(dissent.seat, dissent.position, dissent.text) for dissent in decision.dissent] == [
        ("gpt", "Y", "Because.")
    ]
    assert decision.text == "Because.", "who held is quoted with its argument, not with the word that it holds"


async def test_a_seat_that_switches_without_a_reason_is_counted_at_its_blind_position() -> None:
    house = table(
        claude=seat_script(answer("X"), ratings(A="opposed", B="same", C="opposed"), again("B")),
        gpt=seat_script(answer("Y", text="Y is right."), ratings(A="same", B="opposed", C="opposed"), again("B")),
        gemini=seat_script(answer("X"), ratings(A="opposed", B="same", C="same"), again("B")),
    )
    await house.open()
    decision = await house.run()
    assert decision.conformity == ("gpt",)
    assert decision.tally == {"B": 2, "A": 1}
    assert [(dissent.seat, dissent.text) for dissent in decision.dissent] == [("gpt", "Y is right.")]
    assert any("without a named reason" in notice for notice in notice_sentences(decision))


async def test_given_options_are_counted_exactly_without_a_ballot() -> None:
    house = table(
        claude=seat_script(answer("REST"), reconsider=again("A")),
        gpt=seat_script(answer("graphql"), reconsider=again("A", error="the client is a browser")),
        gemini=seat_script(answer("REST"), reconsider=again("A")),
    )
    await house.open(options=("REST", "GraphQL"))
    decision = await house.run()
    assert await rounds_of(house) == ["council/1-blind", "council/3-reconsider"]
    assert decision.position == "REST"
    assert decision.blind_vote == {"A": 2, "B": 1}


async def test_an_answer_outside_the_given_options_is_not_counted() -> None:
    house = table(
        claude=seat_script(answer("REST")),
        gpt=seat_script(answer("Something else")),
        gemini=seat_script(answer("REST")),
    )
    await house.open(options=("REST", "GraphQL"))
    decision = await house.run()
    assert decision.counted == ("claude", "gemini")
    assert [absence.seat for absence in decision.missing] == ["gpt"]
    assert decision.degraded
    assert (await house.session()).turn("council/1-blind", "gpt").move is not None, "its words are kept all the same"


async def test_the_person_breaks_a_tie() -> None:
    house = table(
        claude=seat_script(answer("X"), ratings(A="opposed", B="same"), again("B")),
        gpt=seat_script(answer("Y"), ratings(A="same", B="opposed"), again("A")),
    )
    await house.open(seats=("claude", "gpt"), answers={"choose": "A"})
    decision = await house.run()
    assert decision.outcome is Outcome.REACHED
    assert decision.position == "Y"
    assert decision_sentence(decision).startswith("The person chose A")


async def test_a_tie_that_nobody_breaks_remains_a_tie() -> None:
    house = table(
        claude=seat_script(answer("X"), ratings(A="opposed", B="same"), again("B")),
        gpt=seat_script(answer("Y"), ratings(A="same", B="opposed"), again("A")),
    )
    await house.open(seats=("claude", "gpt"))
    decision = await house.run()
    assert decision.outcome is Outcome.TIE
    assert not decision.winner
    answers = (await house.session()).answers
    assert answers["choose"].by == "headless default"


async def test_a_decision_by_one_seat_is_labelled_a_single_opinion() -> None:
    house = table(claude=seat_script(answer("X")))
    await house.open(seats=("claude",))
    decision = await house.run()
    assert decision.outcome is Outcome.REACHED
    assert notice_sentences(decision) == ("This is a single opinion, not an agreement.",)


async def test_an_unreadable_reply_never_counts_as_agreement() -> None:
    house = table(
        claude=seat_script(answer("X")),
        gpt=seat_script("I agree with everybody!"),
        gemini=seat_script("DISAGREE: everything is wrong."),
    )
    await house.open()
    decision = await house.run()
    assert decision.outcome is Outcome.INSUFFICIENT
    session = await house.session()
    for seat in ("gpt", "gemini"):
        move = session.turn("council/1-blind", seat).move
        assert move is not None
        assert move.verdict.parse is ParseStatus.FAILED


async def test_a_seat_that_fails_in_the_last_round_is_not_counted_with_its_earlier_vote() -> None:
    broken = seat_script(answer("X"), ratings(A="opposed", B="same", C="same"))
    broken["turns"].append({"round": "*reconsider", "fault": "server"})
    house = table(
        claude=seat_script(answer("X"), ratings(A="opposed", B="same", C="opposed"), again("B")),
        gpt=seat_script(answer("Y"), ratings(A="same", B="opposed", C="opposed"), again("A")),
        gemini=broken,
    )
    await house.open()
    decision = await house.run()
    assert decision.outcome is Outcome.TIE, "two seats are left, one on each side"
    assert decision.counted == ("claude", "gpt")
    assert [(absence.seat, absence.fault.kind.value) for absence in decision.missing] == [("gemini", "server")]


async def test_a_round_without_a_quorum_leaves_the_decision_to_the_previous_round() -> None:
    failing: list[dict[str, Any]] = [{"round": "*reconsider", "fault": "server"}]
    claude = seat_script(answer("X"), ratings(A="opposed", B="same", C="same"))
    gemini = seat_script(answer("X"), ratings(A="opposed", B="same", C="same"))
    house = table(
        claude={"turns": claude["turns"] + failing},
        gpt=seat_script(answer("Y"), ratings(A="same", B="opposed", C="opposed"), again("A")),
        gemini={"turns": gemini["turns"] + failing},
    )
    await house.open()
    decision = await house.run()
    assert decision.outcome is Outcome.REACHED
    assert decision.position == "X"
    assert decision.basis == ("council/1-blind",)
    assert decision.degraded
    assert notice_sentences(decision)[0] == (
        "1 of 3 seats gave a valid answer in council/3-reconsider, which is less than the quorum, "
        "so council/1-blind decides."
    )


async def test_a_budget_stops_a_meeting_between_rounds_with_a_valid_result() -> None:
    house = House(DISPUTE)
    await house.open(limits=Limits(retries=0, budget_tokens=1))
    decision = await house.run()
    session = await house.session()
    assert decision.outcome is Outcome.TIE
    assert list(session.limit_stops) == ["council/2-ballot", "council/3-reconsider"]
    (notice,) = notice_sentences(decision)
    assert re.fullmatch(r"Stopped: \d+ tokens are used, and the budget is 1\.", notice)
    assert session.rounds["council/1-blind"].closed is not None
