"""Stages: agreed in words, judged by a seat that goes round, and the person says yes between them."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from roundtable.app.desk import Roundtable
from roundtable.core.events import SessionAmended
from roundtable.core.stages import Stage, StageEnd
from roundtable.core.values import Decision, Outcome
from roundtable.core.views.stages import stage_ends
from tests.stories.at_desk import Held, Turns

REQUIREMENTS = Stage(
    "requirements", "Requirements", "Principal Product Engineer", "discussion", "Say what is to be built.", 2048
)
ARCHITECTURE = Stage("architecture", "Architecture", "Architect", "discussion", "Say how it is built.", 4096)
YES = {"stages": "continue"}
IDEA = "A place for notes."
AGREED = "CONSENSUS: R1 It stores notes.\nR2 It lists them."
OPEN = "DISCUSS:\n- Store them in a file\n- Store them in SQLite"


def seat(name: str, *turns: tuple[str, str]) -> Turns:
    """What a seat says in rounds by their pattern; anything else is a word of its own."""
    given = [{"round": round, "text": text} for round, text in turns]
    return [*given, {"round": "*", "text": f"{name} wants it small."}]


def settings(*stages: Stage) -> dict[str, str]:
    return {"stages": msgspec.json.encode(stages).decode()}


async def held(bench: Roundtable, seats: dict[str, Turns], *stages: Stage, given: bool = True) -> tuple[Held, Decision]:
    meeting = Held(bench, **seats)
    return meeting, await meeting.hold("sdlc", IDEA, settings=settings(*stages), answers=YES if given else {})


async def person(bench: Roundtable, meeting: Held, given: dict[str, tuple[str, str]]) -> None:
    """Somebody who answers these gates once they are open."""
    for gate, (option, text) in given.items():
        async with asyncio.timeout(60):
            while gate not in (session := await bench.session(meeting.session)).gates:
                await bench.store.changed(meeting.session, session.seq, 1)
        await bench.answer(meeting.session, gate, option, text)


async def ends(bench: Roundtable, meeting: Held) -> tuple[StageEnd, ...]:
    return stage_ends(await bench.session(meeting.session))


@pytest.mark.feature("S0.12", "S0.13", "S0.16", "S0.17", "S0.149")
async def test_the_judges_seat_goes_round_and_the_next_stage_is_given_what_was_agreed_word_for_word(
    bench: Roundtable,
) -> None:
    seats = {
        "claude": seat("claude", ("requirements/1-judge", AGREED)),
        "gpt": seat("gpt", ("architecture/1-judge", "CONSENSUS: One file, notes.py.")),
        "gemini": seat("gemini"),
    }
    meeting, decision = await held(bench, seats, REQUIREMENTS, ARCHITECTURE)
    assert decision.outcome is Outcome.REACHED
    first, second = await ends(bench, meeting)
    assert (first.id, first.how, first.judge) == ("D1", "agreed", "claude")
    assert first.text == "R1 It stores notes.\nR2 It lists them."
    assert (second.id, second.judge, second.text) == ("D2", "gpt", "One file, notes.py.")
    prompt = meeting.prompt("architecture/1-draft", "gemini")
    assert "[D1 requirements]\nR1 It stores notes.\nR2 It lists them." in prompt
    assert "In it you are the Architect." in prompt
    assert "wants it small" not in prompt, "what was said in an earlier stage is not read out again"
    assert [it.max_tokens for it in meeting.voices.calls if it.call.startswith("architecture/1-draft")] == [4096] * 3


@pytest.mark.feature("S0.7", "S0.14", "S0.15", "S0.4")
async def test_seats_may_speak_in_turn_in_an_order_drawn_by_lot_and_hear_who_spoke_before(bench: Roundtable) -> None:
    seats = {name: seat(name, ("*-judge", AGREED)) for name in ("claude", "gpt", "gemini")}
    meeting, _ = await held(bench, seats, msgspec.structs.replace(REQUIREMENTS, speaking="sequential"))
    spoken = [it.seat for it in meeting.voices.calls if it.call.startswith("requirements/1-draft")]
    assert sorted(spoken) == ["claude", "gemini", "gpt"]
    heard = [sum("wants it small" in meeting.prompt("requirements/1-draft", it) for _ in "x") for it in spoken]
    assert heard == [0, 1, 1]
    last = meeting.prompt("requirements/1-draft", spoken[2])
    assert all(f"{it} wants it small." in last for it in spoken[:2])


async def test_a_judge_that_reads_answers_is_not_told_whose_they_are_and_says_that_its_own_is_among_them(
    bench: Roundtable,
) -> None:
    seats = {name: seat("somebody", ("*-judge", AGREED)) for name in ("claude", "gpt")}
    meeting, decision = await held(bench, seats, REQUIREMENTS)
    read = meeting.prompt("requirements/1-judge", "claude")
    assert "claude:" not in read
    assert "gpt:" not in read
    assert decision.notices == (
        "requirements: claude judged its own words among the others', unsigned, since everybody had spoken.",
    )


async def test_who_did_not_speak_judges_before_who_did(bench: Roundtable) -> None:
    seats = {name: seat(name, ("*-judge", AGREED)) for name in ("claude", "gpt", "gemini")}
    stage = msgspec.structs.replace(REQUIREMENTS, seats=("claude", "gpt"))
    meeting, decision = await held(bench, seats, stage)
    (end,) = await ends(bench, meeting)
    assert end.judge == "gemini"
    assert decision.notices == ()


async def test_a_judge_that_fails_is_replaced_by_the_next_and_that_is_said(bench: Roundtable) -> None:
    fails = [{"round": "*-judge*", "fault": "overloaded"}, {"round": "*", "text": "small"}]
    seats = {"claude": fails, "gpt": seat("gpt", ("*-judge-2", AGREED)), "gemini": seat("gemini")}
    meeting, decision = await held(bench, seats, REQUIREMENTS)
    (end,) = await ends(bench, meeting)
    assert (end.how, end.judge) == ("agreed", "gpt")
    assert "requirements: claude could not be heard as judge." in decision.notices


@pytest.mark.feature("S0.8", "S0.42", "S0.145")
async def test_what_stays_open_after_the_last_round_is_the_persons_to_decide(bench: Roundtable) -> None:
    stage = msgspec.structs.replace(REQUIREMENTS, rounds=2)
    seats = {name: seat(name, ("*-judge", OPEN)) for name in ("claude", "gpt")}
    meeting = Held(bench, **seats)
    await meeting.open("sdlc", IDEA, settings=settings(stage), headless=False)
    given = {"requirements-dispute": ("option-2", ""), "after-requirements": ("complete", "")}
    decision, _ = await asyncio.gather(meeting.hold("sdlc"), person(bench, meeting, given))
    (end,) = await ends(bench, meeting)
    assert (end.how, end.text) == ("chosen", "Store them in SQLite")
    assert decision.outcome is Outcome.REACHED
    session = await bench.session(meeting.session)
    assert list(session.rounds) == [f"requirements/{it}" for it in ("1-draft", "1-judge", "2-discuss", "2-judge")]
    assert "Store them in SQLite" in meeting.prompt("requirements/2-discuss", "gpt")
    assert session.gates["requirements-dispute"].details["option-1"] == "Store them in a file"


@pytest.mark.feature("S0.41", "S0.43")
async def test_a_stage_is_held_again_with_what_the_person_wants_different(bench: Roundtable) -> None:
    meeting = Held(bench, claude=seat("claude", ("*-judge", AGREED)), gpt=seat("gpt", ("*-judge", AGREED)))
    await meeting.open("sdlc", IDEA, settings=settings(REQUIREMENTS), headless=False)

    given = {"after-requirements": ("retry", "Leave lists out."), "after-requirements-2": ("complete", "")}
    decision, _ = await asyncio.gather(meeting.hold("sdlc"), person(bench, meeting, given))
    assert decision.outcome is Outcome.REACHED
    assert "Leave lists out." not in meeting.prompt("requirements/1-draft", "gpt")
    assert "Leave lists out." in meeting.prompt("requirements-2/1-draft", "gpt")
    (end,) = await ends(bench, meeting)
    assert end.attempt == 2


async def test_with_nobody_there_to_say_yes_it_ends_after_the_first_stage_and_says_so(bench: Roundtable) -> None:
    seats = {name: seat(name, ("*-judge", AGREED)) for name in ("claude", "gpt")}
    meeting, decision = await held(bench, seats, REQUIREMENTS, ARCHITECTURE, given=False)
    assert decision.outcome is Outcome.CANCELLED
    assert decision.how == "It was stopped after requirements: nobody said to go on."
    assert [it.stage for it in await ends(bench, meeting)] == ["requirements"]


async def test_a_seat_that_is_switched_off_later_does_not_keep_a_session_from_being_taken_up(bench: Roundtable) -> None:
    meeting = Held(bench, claude=seat("claude", ("*-judge*", AGREED)), gpt=seat("gpt", ("*-judge*", AGREED)))
    await meeting.open("sdlc", IDEA, settings=settings(REQUIREMENTS, ARCHITECTURE), headless=False)
    running = asyncio.create_task(meeting.hold("sdlc"))
    async with asyncio.timeout(60):
        while "after-requirements" not in (session := await bench.session(meeting.session)).gates:
            await bench.store.changed(meeting.session, session.seq, 1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await bench.amend(meeting.session, SessionAmended(by="anna", seats_off=("claude",)))
    given = {"after-requirements": ("continue", ""), "after-architecture": ("complete", "")}
    decision, _ = await asyncio.gather(meeting.hold("sdlc"), person(bench, meeting, given))
    assert decision.outcome is Outcome.REACHED
    assert {it.seat for it in meeting.voices.calls if it.call.startswith("architecture/")} == {"gpt"}
