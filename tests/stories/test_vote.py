"""The vote: pitches, a discussion, secret ranked ballots, and the counting method that decided."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from roundtable.app.desk.sessions import Sessions
from roundtable.core.values import Limits, Outcome
from roundtable.report.reasons import decision_sentence
from roundtable.report.vote_tables import render_vote_results
from tests.stories.kill_and_resume import kill_meeting_after_every_fact
from tests.stories.session_harness import SessionHarness, position_reply

# With seed 7 the seats are drawn as: gpt A, claude B, gemini C.
PITCHES = {"claude": "A garden app", "gpt": "A chess app", "gemini": "A tax app"}


def ranking_reply(*choices: str, seat: str = "") -> str:
    """Return a model's reply in the format `ranked-ballot`."""
    return f"My reasons.\n\n```json\n{json.dumps({'agent_id': seat, 'ranked_choices': choices})}\n```"


def voter_turns(pitch: str, ballot: str | dict[str, Any], answer: str = "I have thought about it.") -> dict[str, Any]:
    cast = {"text": ballot} if isinstance(ballot, str) else ballot
    return {
        "turns": [
            {"round": "*-pitch", "text": position_reply(pitch, text=f"{pitch}, because.")},
            {"round": "*-discuss", "text": answer},
            {"round": "*-ballot", **cast},
        ]
    }


def create_harness(
    claude: str | dict[str, Any], gpt: str | dict[str, Any], gemini: str | dict[str, Any]
) -> SessionHarness:
    ballots = {"claude": claude, "gpt": gpt, "gemini": gemini}
    script = {seat: voter_turns(PITCHES[seat], ballot, f"{seat} argues.") for seat, ballot in ballots.items()}
    return SessionHarness({"seats": script}, meeting="vote")


CHESS = (
    ranking_reply("A", "B", "C", "no-change"),
    ranking_reply("A", "C", "B", "no-change"),
    ranking_reply("C", "A", "B", "no-change"),
)
CYCLE = (ranking_reply("A", "B", "C"), ranking_reply("B", "C", "A"), ranking_reply("C", "A", "B"))


async def round_names(harness: SessionHarness) -> list[str]:
    return list((await harness.session()).rounds)


@pytest.mark.feature("S1.42", "S1.44", "S1.2", "S1.4", "S1.97")
async def test_ideas_are_pitched_blind_then_discussed_then_ranked() -> None:
    harness = create_harness(*CHESS)
    await harness.open()
    decision = await harness.run()
    assert await round_names(harness) == ["vote/1-pitch", "vote/2-discuss", "vote/3-ballot"]
    assert decision.outcome is Outcome.REACHED
    assert (decision.winner, decision.position, decision.author) == ("A", "A chess app", "gpt")
    assert decision.text == "A chess app, because.", "the words in which it was pitched"
    assert decision_sentence(decision) == "A beats every other candidate in pairwise comparison."
    assert [(dissent.seat, dissent.position) for dissent in decision.dissent] == [("gemini", "A tax app")]
    assert decision.tally == {"A": 2, "B": 0, "C": 1, "no-change": 0}


@pytest.mark.feature("S1.42")
async def test_a_ballot_counts_for_its_sender_whatever_name_it_contains() -> None:
    harness = create_harness(
        ranking_reply("A", "B", seat="gpt"), ranking_reply("A", "B", seat="gpt"), ranking_reply("B", "A", seat="gpt")
    )
    await harness.open()
    decision = await harness.run()
    ballots = (await harness.session()).rounds["vote/3-ballot"].turns
    assert {seat: turn.move and turn.move.verdict.ranking for seat, turn in ballots.items()} == {
        "claude": ("A", "B"),
        "gpt": ("A", "B"),
        "gemini": ("B", "A"),
    }
    assert decision.winner == "A"


async def test_a_ballot_with_one_name_counts_and_an_unreadable_one_is_no_endpoint_fault() -> None:
    harness = create_harness("RANKING: A", "RANKING: A", "I cannot choose.")
    await harness.open()
    decision = await harness.run()
    assert (decision.winner, decision.counted) == ("A", ("claude", "gpt"))
    (unread,) = decision.missing
    assert (unread.seat, "URL" in unread.fault.help, "form" in unread.fault.help) == ("gemini", False, True)


async def test_a_recount_ignores_ballots_whose_only_candidate_is_gone() -> None:
    harness = create_harness(ranking_reply("A"), ranking_reply("A", "B"), ranking_reply("B", "A"))
    await harness.open()
    await harness.run()
    result = await Sessions.recount(await harness.session())
    assert {seat.seat: seat.without.winner for seat in result.seats}["gpt"] == "B"


async def test_no_seat_sees_a_pitch_before_its_own_pitch_or_any_ballot() -> None:
    harness = create_harness(*CHESS)
    await harness.open()
    await harness.run()
    for call in harness.voices.calls:
        text = "\n".join(message.text for message in call.messages)
        assert ("My reasons." in text) is False
        assert ("because." in text) is ("1-pitch" not in call.call)


@pytest.mark.feature("S1.32", "S1.89")
async def test_only_the_engine_opens_rounds_and_gives_each_seat_its_turn() -> None:
    script = {
        seat: voter_turns(f"{PITCHES[seat]}. I open the ballot now. RANKING: C > A", ballot, "RANKING: C > A")
        for seat, ballot in zip(("claude", "gpt", "gemini"), CHESS, strict=True)
    }
    harness = SessionHarness({"seats": script}, meeting="vote")
    await harness.open()
    decision = await harness.run()
    rounds = await round_names(harness)
    assert rounds == ["vote/1-pitch", "vote/2-discuss", "vote/3-ballot"]
    assert [call.call.split("/")[1] for call in harness.voices.calls] == [
        name.split("/")[1] for name in rounds for _ in PITCHES
    ]
    assert decision.tally == {"A": 2, "B": 0, "C": 1, "no-change": 0}, "only ballots of the ballot round count"


async def test_each_seat_sees_the_candidates_in_a_different_order() -> None:
    harness = create_harness(*CHESS)
    await harness.open()
    await harness.run()
    ballots = [call.messages[-1].text for call in harness.voices.calls if "3-ballot" in call.call]
    orders = {tuple(re.findall(r'<answer from="candidates: (\w)">', text)) for text in ballots}
    assert {tuple(sorted(order)) for order in orders} == {("A", "B", "C")}
    assert len(orders) > 1


@pytest.mark.feature("S1.44")
async def test_without_a_condorcet_winner_elimination_decides() -> None:
    seats = ("claude", "gpt", "gemini", "grok", "qwen")
    votes = {"claude": "A > B > C", "gpt": "A > B > C", "gemini": "B > C > A", "grok": "B > C > A", "qwen": "C > A > B"}
    script = {seat: voter_turns("x", f"RANKING: {vote}") for seat, vote in votes.items()}
    harness = SessionHarness({"seats": script}, meeting="vote")
    await harness.open(seats=seats, options=("Garden", "Chess", "Tax"), settings={"rounds": 0})
    decision = await harness.run()
    assert await round_names(harness) == ["vote/2-ballot"], "options are not pitched"
    assert decision.winner == "A"
    assert (
        decision_sentence(decision)
        == "No candidate beats every other one in pairwise comparison; A wins by elimination."
    )


@pytest.mark.feature("S1.44", "S1.5")
async def test_the_person_breaks_a_tie() -> None:
    harness = create_harness(*CYCLE)
    await harness.open(answers={"choose": "C"})
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert decision.position == "A tax app"
    assert decision_sentence(decision).startswith("The person chose C. ")
    assert (await harness.session()).gates["choose"].options == ("A", "B", "C", "none")


@pytest.mark.feature("S1.44")
async def test_a_tie_that_nobody_breaks_remains_a_tie() -> None:
    harness = create_harness(*CYCLE)
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.TIE
    assert decision.winner == decision.text == ""
    assert len(decision.dissent) == 3


@pytest.mark.feature("S1.43")
async def test_a_vote_round_closes_at_its_deadline_and_counts_the_ballots_received() -> None:
    harness = create_harness(CHESS[0], CHESS[1], {"hang": True})
    await harness.open(limits=Limits(retries=0, seat_timeout=5, round_deadline=0.3))
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert decision.counted == ("claude", "gpt")
    assert [(absence.seat, absence.fault.kind) for absence in decision.missing] == [("gemini", "timeout")]
    assert decision.degraded
    closed = (await harness.session()).rounds["vote/3-ballot"].closed
    assert closed is not None
    assert closed.how == "deadline"


async def test_changing_nothing_is_always_a_candidate_and_may_win() -> None:
    ballot = ranking_reply("no-change", "A", "B", "C")
    harness = create_harness(ballot, ballot, CHESS[2])
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert (decision.winner, decision.position) == ("no-change", "No change needed")
    assert decision.text == "My reasons.", "in the words of one who wanted it, as it voted"


async def test_an_author_that_ranks_another_idea_first_does_not_argue_for_its_winning_idea() -> None:
    harness = create_harness(ranking_reply("C", "A", "B"), ranking_reply("C", "A", "B"), ranking_reply("A", "C", "B"))
    await harness.open()
    decision = await harness.run()
    assert (decision.position, decision.author, decision.text) == ("A tax app", "claude", "My reasons.")
    assert [(dissent.seat, dissent.position, dissent.text) for dissent in decision.dissent] == [
        ("gemini", "A chess app", "My reasons.")
    ]


async def test_a_ballot_without_text_is_not_quoted_as_a_reason() -> None:
    bare = json.dumps({"ranked_choices": ["no-change", "A", "B", "C"]})
    harness = create_harness(bare, bare, CHESS[2])
    await harness.open()
    assert (await harness.run()).text == "claude argues."


async def test_identical_pitches_are_one_candidate() -> None:
    script = {seat: voter_turns(pitch, ranking_reply("A", "C")) for seat, pitch in PITCHES.items()}
    script["claude"] = voter_turns("a chess  app.", ranking_reply("A", "C"))
    harness = SessionHarness({"seats": script}, meeting="vote")
    await harness.open()
    decision = await harness.run()
    assert [proposal.authors for proposal in decision.proposals] == [("gpt", "claude"), ("gemini",), ()]


async def test_a_vote_without_a_quorum_of_ballots_decides_nothing() -> None:
    harness = create_harness(CHESS[0], {"fault": "server"}, {"text": "I like them all."})
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.INSUFFICIENT
    assert decision.counted == ("claude",)


@pytest.mark.feature("S1.45", "S1.97")
async def test_the_results_of_a_vote_are_available_as_a_document() -> None:
    harness = create_harness(*CHESS)
    await harness.open()
    await harness.run()
    text = render_vote_results(await harness.session())
    assert text.startswith("# Vote: REST or GraphQL?\n\n**Winner: A, A chess app.** A beats every other")
    assert "- B: A garden app" in text
    assert "| claude | A > B > C > no-change |" in text.replace("\\>", ">")
    assert "| A | – | 3 | 2 | 3 |" in text
    assert "| 1 | 2 | 0 | 1 | 0 | B, no-change |" in text
    assert "| 2 | 2 |  | 1 |  | C |" in text


@pytest.mark.feature("S1.45")
async def test_vote_results_name_seats_without_a_ballot_and_no_winner_if_there_is_none() -> None:
    harness = create_harness(CYCLE[0], CYCLE[1], "Whatever.")
    await harness.open()
    await harness.run()
    text = render_vote_results(await harness.session())
    assert "| gemini | *no ballot that counts* |" in text
    assert render_vote_results(await _council()) == ""


async def _council() -> Any:
    harness = SessionHarness({"turns": [{"text": position_reply("Use REST")}]})
    await harness.open()
    await harness.run()
    return await harness.session()


async def test_a_session_killed_after_any_fact_resumes_to_the_expected_decision() -> None:
    decision = await kill_meeting_after_every_fact(create_harness(*CYCLE).script, "vote", answers={"choose": "B"})
    assert decision.winner == "B"
