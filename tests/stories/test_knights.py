"""The knights: turns and scores, consensus or none, and the person's choice at the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from roundtable.core.effects import ReadFiles
from roundtable.core.events import GateAnswered, SessionAmended
from roundtable.core.values import Limits, Outcome, Seat
from roundtable.live.event_lines import live_decision_lines, live_lines_as_text
from roundtable.report.html import render_session_page
from roundtable.report.reasons import decision_sentence
from roundtable.report.transcript import render_transcript
from tests.stories.kill_and_resume import kill_meeting_after_every_fact, last_message, run_with_answers, wait_until
from tests.stories.session_harness import SESSION, SessionHarness


def knight_reply(score: float, *issues: str | dict[str, Any], text: str = "Because.", **options: Any) -> str:
    """Return a knight's reply in the format `score-json`."""
    block = {"consensus_score": score, "agrees_with": [], "pending_issues": list(issues), **options}
    return f"{text}\n\n```json\n{json.dumps(block)}\n```"


def blocking(text: str) -> dict[str, Any]:
    return {"text": text, "blocking": True}


def create_harness(**seats: Sequence[str | dict[str, Any]]) -> SessionHarness:
    """Return a harness for these seats' turns in the order of the rounds; the last turn repeats."""
    script = {
        name: {"turns": [{"text": turn} if isinstance(turn, str) else turn for turn in [*turns, *[turns[-1]] * 9]]}
        for name, turns in seats.items()
    }
    return SessionHarness({"seats": script}, meeting="knights")


async def round_names(harness: SessionHarness) -> list[str]:
    return list((await harness.session()).rounds)


async def speaking_order(harness: SessionHarness, round: str) -> tuple[str, ...]:
    return (await harness.session()).rounds[round].opened.order


AGREED = {"claude": [knight_reply(9)], "gpt": [knight_reply(10, text="Move it to Redis.")], "gemini": [knight_reply(9)]}
DIVIDED = {
    "claude": [knight_reply(9)],
    "gpt": [knight_reply(4, text="It will not scale.")],
    "gemini": [knight_reply(9)],
}


@pytest.mark.feature("S3.2", "S3.17", "S3.54", "S3.79")
async def test_knights_reach_consensus_if_every_score_of_a_round_is_at_least_nine() -> None:
    harness = create_harness(**AGREED)
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert await round_names(harness) == ["knights/1-speak"]
    assert decision.counted == ("claude", "gpt", "gemini")
    assert "claude 9, gpt 10, gemini 9" in decision_sentence(decision)
    assert not decision.degraded


@pytest.mark.feature("S3.53", "S3.52")
@pytest.mark.parametrize("score", [8, 6, 5, 0])
async def test_one_score_below_the_threshold_prevents_consensus(score: int) -> None:
    harness = create_harness(claude=[knight_reply(9)], gpt=[knight_reply(score)], gemini=[knight_reply(10)])
    await harness.open(settings={"rounds": 2})
    decision = await harness.run()
    assert decision.outcome is Outcome.DEADLOCK
    assert decision_sentence(decision).startswith("gpt gave a score below 9.")


@pytest.mark.feature("S3.55")
async def test_a_score_of_nine_with_a_blocking_issue_prevents_consensus() -> None:
    harness = create_harness(
        claude=[knight_reply(9)],
        gpt=[knight_reply(9, blocking("will lose all data"), text="No backup.")],
        gemini=[knight_reply(9)],
    )
    await harness.open(settings={"rounds": 2})
    decision = await harness.run()
    assert decision.outcome is Outcome.DEADLOCK
    assert "gpt still sees an open issue that blocks the decision." in decision_sentence(decision)
    assert ("gpt", "No backup.") in [(dissent.seat, dissent.text) for dissent in decision.dissent]


@pytest.mark.feature("S3.55")
@pytest.mark.parametrize(("pending_blocks", "outcome"), [("marked", "reached"), ("any", "deadlock")])
async def test_a_setting_says_whether_an_unmarked_issue_blocks_consensus(pending_blocks: str, outcome: str) -> None:
    harness = create_harness(
        claude=[knight_reply(9)], gpt=[knight_reply(9, "naming is open")], gemini=[knight_reply(9)]
    )
    await harness.open(settings={"rounds": 1, "pending_blocks": pending_blocks})
    assert (await harness.run()).outcome == outcome


@pytest.mark.feature("S3.55", "S3.48")
async def test_the_earlier_score_of_a_crashed_knight_never_counts() -> None:
    harness = create_harness(
        claude=[knight_reply(8), knight_reply(9)], gpt=[knight_reply(10), {"fault": "server"}], gemini=[knight_reply(9)]
    )
    await harness.open(settings={"rounds": 2})
    decision = await harness.run()
    assert decision.outcome is Outcome.DEADLOCK
    assert decision_sentence(decision).startswith("gpt gave no valid score.")
    assert [absence.seat for absence in decision.missing] == ["gpt"]
    assert decision.counted == ("claude", "gemini")


async def test_consensus_does_not_wait_for_a_knight_that_was_switched_off() -> None:
    harness = create_harness(claude=[knight_reply(8), knight_reply(9)], gpt=[knight_reply(2)], gemini=[knight_reply(9)])
    await harness.open(settings={"rounds": 2, "warn_after": 1}, headless=False)
    running = asyncio.create_task(harness.run())
    await wait_until(harness, lambda session: "warning" in session.gates)
    await harness.store.append(SESSION, SessionAmended(seats_off=("gpt",)))
    for gate in ("warning", "decide"):
        await wait_until(harness, lambda session, gate=gate: gate in session.gates)
        await harness.store.append(SESSION, GateAnswered(gate, "continue" if gate == "warning" else "later"))
    assert (await running).outcome is Outcome.REACHED


@pytest.mark.feature("S3.48", "S3.47", "S3.46")
async def test_knights_check_for_consensus_after_every_round() -> None:
    harness = create_harness(
        claude=[knight_reply(7), knight_reply(8), knight_reply(9)], gpt=[knight_reply(9)], gemini=[knight_reply(9)]
    )
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert await round_names(harness) == ["knights/1-speak", "knights/2-respond", "knights/3-respond"]
    first = (await harness.session()).rounds["knights/1-speak"]
    assert all(turn.move and turn.move.verdict.score for turn in first.turns.values())


@pytest.mark.feature("S3.16", "S3.76")
async def test_knights_speak_by_priority_first_and_in_random_order_in_later_rounds() -> None:
    harness = create_harness(**DIVIDED)
    chairs = {"claude": 3, "gpt": 1, "gemini": 2}
    await harness.open(seats=[Seat(name, ("script:test",), priority=place) for name, place in chairs.items()])
    await harness.run()
    assert await speaking_order(harness, "knights/1-speak") == ("gpt", "gemini", "claude")
    later = {await speaking_order(harness, f"knights/{number}-respond") for number in (2, 3, 4, 5)}
    assert len(later) > 1, "the same order every time is no lot"
    spoke = [call.call.split("/")[2].split("#")[0] for call in harness.voices.calls[:3]]
    assert spoke == ["gpt", "gemini", "claude"]


@pytest.mark.feature("S3.16", "S3.47")
async def test_each_knight_reads_the_earlier_speakers_under_their_names() -> None:
    harness = create_harness(
        claude=[knight_reply(9, text="Cut it in two.")],
        gpt=[knight_reply(4, text="Leave it.")],
        gemini=[knight_reply(9)],
    )
    await harness.open(settings={"rounds": 2})
    await harness.run()
    assert "Cut it in two." not in last_message(harness, "knights/1-speak", "claude")
    assert '<answer from="claude">\nCut it in two.\n</answer>' in last_message(harness, "knights/1-speak", "gpt")
    heard = last_message(harness, "knights/2-respond", "claude")
    assert '<answer from="gpt">\nLeave it.\n</answer>' in heard
    assert heard.count('<answer from="gemini">') >= 1


@pytest.mark.feature("S3.1", "S3.5")
async def test_no_seat_presides_over_the_knights() -> None:
    harness = create_harness(**AGREED)
    await harness.open()
    await harness.run()
    system = harness.voices.calls[0].messages[0].text
    assert "no seat is king" in system
    assert "A program presides" in system
    assert {call.seat for call in harness.voices.calls} == {"claude", "gpt", "gemini"}
    assert len(harness.voices.calls) == 3, "nobody was asked to chair, sum up or judge"


@pytest.mark.feature("S3.44")
async def test_the_knights_prompts_forbid_copying_and_never_ask_for_a_higher_score() -> None:
    harness = create_harness(**DIVIDED)
    await harness.open(settings={"rounds": 2})
    await harness.run()
    system, told = harness.voices.calls[0].messages[0].text, last_message(harness, "knights/2-respond", "gpt")
    assert "Do not copy." in system
    assert "nobody will ask you to raise yours" in system
    assert "not because others disagree" in told


@pytest.mark.feature("S3.72")
async def test_knights_discuss_in_the_configured_language() -> None:
    harness = create_harness(**AGREED)
    await harness.open(language="nl")
    await harness.run()
    assert all("in this language: nl" in call.messages[0].text for call in harness.voices.calls)


@pytest.mark.feature("S3.51", "S3.52", "S3.53", "S3.54")
async def test_each_knight_is_asked_for_a_score_points_and_issues() -> None:
    harness = create_harness(**AGREED)
    await harness.open()
    await harness.run()
    prompt = last_message(harness, "knights/1-speak", "claude")
    assert all(f'"{key}"' in prompt for key in ("consensus_score", "agrees_with", "pending_issues"))
    assert "0-5 fundamental objections, 6-8 open points, 9-10 full agreement" in prompt


@pytest.mark.feature("S3.51")
async def test_a_reply_without_a_score_is_requested_once_more_and_then_counts_as_no_agreement() -> None:
    harness = create_harness(claude=[knight_reply(9)], gpt=["I fully agree, 10/10."], gemini=[knight_reply(9)])
    await harness.open(settings={"rounds": 1})
    decision = await harness.run()
    assert decision.outcome is Outcome.DEADLOCK
    assert [absence.seat for absence in decision.missing] == ["gpt"]


async def test_points_that_all_knights_support_are_shown_at_the_start_of_the_next_turn() -> None:
    harness = create_harness(
        claude=[knight_reply(7, agrees_with=["Keep JWT", "Rotate keys"])],
        gpt=[knight_reply(7, agrees_with=["keep  jwt."]), knight_reply(7, agrees_with=["P2"])],
        gemini=[knight_reply(7, agrees_with=["Keep JWT"]), knight_reply(7, agrees_with=["P2", "Log out everywhere"])],
    )
    await harness.open(settings={"rounds": 3})
    await harness.run()
    second, third = (last_message(harness, f"knights/{number}-respond", "gpt") for number in (2, 3))
    head = 'Already agreed; do not argue these again:\n<answer from="agreed points">\n'
    assert second.startswith(f"{head}- P1: Keep JWT\n</answer>\n\n")
    assert '<answer from="points">\nP2: Rotate keys\n</answer>' in second
    assert third.startswith(f"{head}- P1: Keep JWT\n- P2: Rotate keys\n</answer>\n\n")
    assert '<answer from="points">\nP3: Log out everywhere\n</answer>' in third


@pytest.mark.feature("S3.78", "S3.49", "S3.19")
async def test_the_person_decides_after_five_rounds_without_consensus() -> None:
    harness = create_harness(**DIVIDED)
    await harness.open()
    decision = await harness.run()
    assert len(await round_names(harness)) == 5
    assert decision.outcome is Outcome.DEADLOCK
    assert decision.winner == decision.text == ""
    assert decision.next_step == "later"
    assert {(dissent.seat, dissent.text) for dissent in decision.dissent} >= {("gpt", "It will not scale.")}
    gate = (await harness.session()).gates["decide"]
    assert gate.options == ("later", "back", "choose"), "there is nothing to apply, and nothing to reject"


@pytest.mark.feature("S3.81")
async def test_the_person_is_warned_before_the_last_rounds_and_may_stop() -> None:
    harness = create_harness(**DIVIDED)
    await harness.open(headless=False)
    decision = await run_with_answers(harness, warning="stop", decide="later")
    assert len(await round_names(harness)) == 3
    assert decision.outcome is Outcome.DEADLOCK
    warning = (await harness.session()).gates["warning"]
    assert "No consensus after 3 rounds" in warning.question
    assert "Scores: claude 9, gpt 4, gemini 9." in warning.question
    assert warning.default == "continue", "alone, the table goes on"


@pytest.mark.feature("S3.81")
async def test_no_warning_is_shown_if_the_knights_agree_or_no_rounds_are_left() -> None:
    for script, rounds in ((AGREED, 5), (DIVIDED, 3)):
        harness = create_harness(**script)
        await harness.open(settings={"rounds": rounds})
        await harness.run()
        assert "warning" not in (await harness.session()).gates


async def test_the_person_is_asked_about_the_named_proposal_and_its_blocking_issues() -> None:
    harness = create_harness(
        claude=[knight_reply(9, proposal="Use Redis")], gpt=[knight_reply(9)], gemini=[knight_reply(9)]
    )
    await harness.open()
    await harness.run()
    question = (await harness.session()).gates["decide"].question
    assert question.endswith(
        "claude speaks for the table: among the highest scores, it comes first in priority. "
        "It proposes: Use Redis. What next?"
    )

    harness = create_harness(
        claude=[knight_reply(9)], gpt=[knight_reply(9, blocking("will lose all data"))], gemini=[knight_reply(9)]
    )
    await harness.open(headless=False)
    await run_with_answers(harness, warning="stop", decide="later")
    gates = (await harness.session()).gates
    assert all("Open and blocking: gpt: will lose all data." in gates[id].question for id in ("warning", "decide"))
    assert gates["warning"].details["continue"] == "up to 2 more rounds"


@pytest.mark.parametrize("proposal", ["Use Redis", ""])
async def test_a_knight_that_only_agrees_does_not_word_the_decision(proposal: str) -> None:
    ada = knight_reply(9, text="Use Redis", **({"proposal": proposal} if proposal else {}))
    harness = create_harness(ada=[ada], bob=[knight_reply(10, text="Agreed, with a cache.")])
    await harness.open(seats=("ada", "bob"))
    decision = await harness.run()
    assert (decision.position, decision.author) == ("Use Redis", "ada")


async def test_a_knight_that_agrees_at_the_end_is_quoted_with_its_own_proposal() -> None:
    assents = knight_reply(10, text="I agree.")
    harness = create_harness(
        ada=[knight_reply(7, text="Redis is shared.", proposal="Use Redis"), assents], bob=[knight_reply(8), assents]
    )
    await harness.open(seats=("ada", "bob"))
    decision = await harness.run()
    assert (decision.position, decision.text) == ("Use Redis", "Redis is shared.")
    assert decision.dissent == ()


@pytest.mark.feature("S3.50", "S3.82")
@pytest.mark.parametrize("choice", ["apply", "myself", "later"])
async def test_after_consensus_nothing_is_done_until_the_person_chooses(choice: str) -> None:
    harness = create_harness(**AGREED)
    await harness.open(answers={"decide": choice})
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert decision.next_step == choice
    assert not harness.performer.performed
    gate = (await harness.session()).gates["decide"]
    assert gate.options == ("apply", "myself", "later", "back", "choose", "reject")
    assert gate.default == "later", "left alone, nothing is applied"


@pytest.mark.feature("S3.50")
async def test_knights_that_are_sent_back_see_the_reason_and_speak_again() -> None:
    harness = create_harness(
        claude=[knight_reply(9)], gpt=[knight_reply(9), knight_reply(10, text="With a test.")], gemini=[knight_reply(9)]
    )
    await harness.open(headless=False)
    decision = await run_with_answers(harness, decide=("back", "Where is the test?"), decide_2="apply")
    assert await round_names(harness) == ["knights/1-speak", "knights/2-respond"]
    assert '<note from="the person">\nWhere is the test?\n</note>' in last_message(harness, "knights/2-respond", "gpt")
    assert (decision.text, decision.next_step) == ("With a test.", "apply")


@pytest.mark.feature("S3.50")
async def test_knights_can_be_sent_back_at_most_twice() -> None:
    harness = create_harness(**DIVIDED)
    await harness.open(headless=False, settings={"rounds": 1})
    back = ("back", "Again.")
    await run_with_answers(harness, decide=back, decide_2=back, decide_3="later")
    session = await harness.session()
    assert "back" not in session.gates["decide-3"].options
    assert len(session.rounds) == 5


@pytest.mark.feature("S3.50")
async def test_the_person_may_choose_a_proposal_against_the_other_knights() -> None:
    harness = create_harness(
        claude=[knight_reply(9, text="Redis.", proposal="Use Redis")],
        gpt=[knight_reply(4, text="Postgres can do it.", proposal="Use Postgres")],
        gemini=[knight_reply(9)],
    )
    await harness.open(settings={"rounds": 1}, answers={"decide": "choose", "choose": "gpt"})
    decision = await harness.run()
    assert decision.outcome is Outcome.REACHED
    assert (decision.winner, decision.position, decision.text) == ("gpt", "Use Postgres", "Postgres can do it.")
    assert decision_sentence(decision).startswith("The person chose the proposal of gpt.")
    assert [dissent.seat for dissent in decision.dissent] == ["claude", "gemini"]
    session = await harness.session()
    assert session.gates["choose"].details["claude"] == "Use Redis"
    assert "Next step" not in live_lines_as_text(live_decision_lines(session, "here")), "it was chosen"


async def test_a_proposal_shared_by_several_seats_is_offered_once() -> None:
    harness = create_harness(
        claude=[knight_reply(7, proposal="Use Redis")],
        gpt=[knight_reply(4)],
        gemini=[knight_reply(9, proposal="use redis.")],
    )
    await harness.open(settings={"rounds": 1}, answers={"decide": "choose", "choose": "claude"})
    decision = await harness.run()
    assert [proposal.authors for proposal in decision.proposals] == [("claude", "gemini"), ("gpt",)]
    assert (decision.winner, decision.position) == ("claude", "Use Redis")


async def test_the_knights_document_shows_every_score_and_open_issue() -> None:
    issues = (blocking("no backup"), "names")
    harness = create_harness(
        claude=[knight_reply(9, *issues, agrees_with=["Keep JWT"])], gpt=[knight_reply(4)], gemini=[knight_reply(9)]
    )
    await harness.open(settings={"rounds": 1})
    await harness.run()
    text = render_transcript(await harness.session())
    assert "Scores 9 of 10; agrees on: Keep JWT; blocked by: no backup; open: names" in text
    assert "Scores 4 of 10" in text


async def test_knights_see_the_given_options_and_propose_one_of_them() -> None:
    harness = create_harness(
        claude=[knight_reply(9, proposal="rest")],
        gpt=[knight_reply(9, proposal="something")],
        gemini=[knight_reply(10)],
    )
    await harness.open(options=("REST", "GraphQL"))
    decision = await harness.run()
    assert "Propose exactly one of these:\n- REST\n- GraphQL" in last_message(harness, "knights/1-speak", "claude")
    assert decision.proposals[0].text == "REST"
    assert "something" not in [proposal.text for proposal in decision.proposals]


@pytest.mark.feature("S3.45")
async def test_rejecting_a_unanimous_proposal_creates_a_decree_with_the_reason() -> None:
    harness = create_harness(**AGREED)
    await harness.open(headless=False)
    decision = await run_with_answers(harness, decide=("reject", "We run no Redis."))
    assert decision.outcome is Outcome.REJECTED
    assert (decision.position, decision.next_step) == ("Move it to Redis.", "reject")
    assert (await harness.session()).answers["decide"].text == "We run no Redis."


@pytest.mark.feature("S3.17")
async def test_scores_of_at_most_three_reject_a_proposal_after_the_first_round() -> None:
    harness = create_harness(claude=[knight_reply(3)], gpt=[knight_reply(1)], gemini=[knight_reply(2)])
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.REJECTED
    assert await round_names(harness) == ["knights/1-speak", "knights/2-respond"]
    assert (decision.author, decision.winner, decision.position, decision.text) == ("", "", "", "")
    assert not decision.dissent, "what nobody wants has no minority"
    assert "speaks for the table" not in decision_sentence(decision)


REST = knight_reply(9, text="REST is enough.", proposal="Use REST")
GRAPHQL = knight_reply(9, text="Over-fetching hurts.", proposal="Use GraphQL, never REST")


async def test_high_scores_for_different_proposals_reach_no_consensus_in_the_first_round() -> None:
    harness = create_harness(claude=[REST], gpt=[GRAPHQL, REST], gemini=[knight_reply(9)])
    await harness.open()
    decision = await harness.run()
    assert await round_names(harness) == ["knights/1-speak", "knights/2-respond"]
    assert decision.tally == {"claude": 3}
    assert not decision.dissent


async def test_a_knight_with_another_proposal_dissents_however_high_it_scores() -> None:
    harness = create_harness(claude=[REST], gpt=[GRAPHQL], gemini=[knight_reply(9)])
    await harness.open()
    decision = await harness.run()
    assert (decision.outcome, decision.position) == (Outcome.REACHED, "Use REST")
    assert decision.tally == {"claude": 2, "gpt": 1}
    assert [(dissent.seat, dissent.position) for dissent in decision.dissent] == [("gpt", "Use GraphQL, never REST")]


async def test_choosing_none_of_the_proposals_leaves_the_decision_open() -> None:
    harness = create_harness(**AGREED)
    await harness.open(answers={"decide": "choose", "choose": "none"})
    assert (await harness.run()).next_step == "later"


async def test_a_meeting_without_a_blind_vote_shows_none() -> None:
    harness = create_harness(**AGREED)
    await harness.open()
    await harness.run()
    session = await harness.session()
    text = live_lines_as_text(live_decision_lines(session, "last"))
    assert "Votes:\n" in text
    assert "→" not in text
    assert "|  | Proposal | First from | Final |" in render_transcript(session)
    assert "Blind vote" not in render_session_page(session)


@pytest.mark.feature("S3.18")
@pytest.mark.parametrize(
    ("scores", "capabilities", "lead", "reason"),
    [
        ((9, 10, 9), (), "gpt", "its score is the highest"),
        ((10, 10, 10), ("error-handling",), "gemini", "its capabilities fit the question best"),
        ((9, 9, 9), ("debugging",), "claude", "it comes first in priority"),
    ],
)
async def test_the_lead_knight_is_chosen_by_score_then_capability_then_priority(
    scores: tuple[int, ...], capabilities: tuple[str, ...], lead: str, reason: str
) -> None:
    names = ("claude", "gpt", "gemini")
    harness = create_harness(
        **{name: [knight_reply(score, text=f"{name} says.")] for name, score in zip(names, scores, strict=True)}
    )
    seats = [Seat(name, ("script:test",), priority=place) for place, name in enumerate(names, 1)]
    seats[2] = msgspec.structs.replace(seats[2], capabilities=capabilities)
    await harness.open(seats=seats, question="Which error handling?")
    decision = await harness.run()
    assert (decision.author, decision.text) == (lead, f"{lead} says.")
    assert reason in decision_sentence(decision)


async def test_files_that_a_knight_requests_are_shown_to_all_in_the_next_round() -> None:
    harness = create_harness(
        claude=[knight_reply(9)],
        gpt=[knight_reply(6, file_requests=["a.py"]), knight_reply(9)],
        gemini=[knight_reply(9)],
    )
    await harness.open()
    await harness.run()
    assert (await harness.session()).effects == {"knights/1-speak/files": ReadFiles(("a.py",))}
    assert '<context from="a.py">\nprint(1)\n</context>' in last_message(harness, "knights/2-respond", "claude")


async def test_knights_without_a_quorum_decide_nothing_and_ask_the_person_nothing() -> None:
    harness = create_harness(claude=[knight_reply(9)], gpt=[{"fault": "server"}], gemini=[{"fault": "server"}])
    await harness.open()
    decision = await harness.run()
    assert decision.outcome is Outcome.INSUFFICIENT
    assert not (await harness.session()).gates


@pytest.mark.feature("S3.80")
async def test_a_knights_turn_ends_at_its_timeout() -> None:
    assert Limits().seat_timeout == 120
    harness = create_harness(claude=[knight_reply(9)], gpt=[{"hang": True}], gemini=[knight_reply(9)])
    await harness.open(settings={"rounds": 1}, limits=Limits(retries=0, seat_timeout=2))
    decision = await harness.run()
    assert [(absence.seat, absence.fault.kind) for absence in decision.missing] == [("gpt", "timeout")]


async def test_knights_killed_after_any_fact_resume_to_the_expected_decision() -> None:
    harness = create_harness(
        claude=[knight_reply(7, agrees_with=["Keep JWT"], file_requests=["a.py"]), knight_reply(9)],
        gpt=[knight_reply(8, agrees_with=["P1"]), knight_reply(9)],
        gemini=[knight_reply(4), knight_reply(8), knight_reply(9)],
    )
    answers = {"decide": "back", "warning": "stop"}
    decision = await kill_meeting_after_every_fact(
        harness.script, "knights", settings={"warn_after": 1}, answers=answers
    )
    assert decision.outcome is Outcome.REACHED
