"""Applying a decision: one seat carries it out, a person approves, and a crash leaves all of it or nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.desk import Agenda, Config, Places, Roundtable
from roundtable.core.effects import ChangeApplied
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.ledger import EntryKind
from roundtable.core.values import Decision, Outcome, Right, Seat
from roundtable.report.reasons import decision_sentence
from tests.repository import git, sandbox, write
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.session_harness import CrashingStore, ProcessKilled, SessionHarness
from tests.stories.slug_project import (
    BROKEN_SLUG,
    JOINED_SLUG,
    SLUG,
    SLUG_TEST,
    STUB,
    TASK,
    create_slug_repository,
    files_reply,
    slug_writer,
)

YES = {"approve": "all"}
CHECKS = {"joins": ("grep", "-q", "join", "slug.py")}
"""A check that takes no time, for the story that is lived many times."""
POSITION = '{"position": "Join the words with dashes", "confidence": 8}'
DECIDES = {"round": "council/*", "text": f"Dashes.\n```json\n{POSITION}\n```"}


def deciding_writer(text: str = SLUG, **options: str) -> list[dict[str, str]]:
    """Return the turns of a seat that takes part in the decision and can write it."""
    rounds = [{"round": f"apply/*-{purpose}", "text": words} for purpose, words in options.items()]
    plan = {"round": "apply/1-plan", "text": "1. Change slug.py."}
    return [DECIDES, *rounds, plan, {"round": "apply/2-write", "text": files_reply({"slug.py": text})}]


async def hold_council(desk: Roundtable, **seats: list[dict[str, str]]) -> DeskMeeting:
    meeting = DeskMeeting(desk, **seats)
    decision = await meeting.hold("council", TASK)
    assert decision.outcome is Outcome.REACHED
    return meeting


async def apply_decision(
    desk: Roundtable, of: DeskMeeting, seats: Sequence[Seat] = (), **settings: Any
) -> tuple[DeskMeeting, Decision]:
    """Open an apply meeting on a decision with its seats and run it."""
    answers = settings.pop("answers", YES)
    later = DeskMeeting(desk)
    later.voices = of.voices
    later.session = await desk.meetings.open_apply(
        of.session, Agenda("", tuple(seats), settings=settings, headless=True, answers=answers)
    )
    return later, await later.hold("apply")


@pytest.mark.feature("S3.3", "S3.29", "S4.25", "S4.77")
async def test_the_lead_seat_drafts_a_plan_and_then_writes_the_decided_change(bench: Roundtable, code: Path) -> None:
    council = await hold_council(bench, claude=deciding_writer(), gpt=deciding_writer())
    later, decision = await apply_decision(bench, council, by="gpt")
    assert (decision.outcome, decision.author, decision.next_step) == (Outcome.REACHED, "gpt", "applied")
    assert (code / "slug.py").read_text() == SLUG
    calls = [call.call.partition("#")[0] for call in later.voices.calls if call.call.startswith("apply/")]
    assert calls == ["apply/1-plan/gpt", "apply/2-write/gpt"], "only the executor is asked to write"
    prompt = later.prompt("apply/2-write", "gpt")
    assert "Join the words with dashes" in prompt, "it reads the decision"
    assert STUB in prompt, "and the code"
    assert "1. Change slug.py." in prompt, "and its own plan"
    message = git(code, "log", "-1", "--format=%B")
    assert f"Roundtable-Decision: {(await bench.sessions.get(council.session)).charter.slug}\n" in message
    assert "Produced-By: gpt" in message


async def test_a_seat_that_resubmits_an_identical_fix_is_asked_again_with_its_plan(
    bench: Roundtable, code: Path
) -> None:
    broken = files_reply({"slug.py": BROKEN_SLUG})
    council = await hold_council(
        bench, claude=deciding_writer(BROKEN_SLUG, mend=broken, anew=files_reply({"slug.py": SLUG}))
    )
    later, decision = await apply_decision(bench, council)
    assert decision.outcome is Outcome.REACHED
    assert (code / "slug.py").read_text() == SLUG
    prompt = later.prompt("apply/3-anew", "claude")
    assert "1. Change slug.py." in prompt, "the person said yes to that"
    assert "The check tests failed" in prompt
    assert BROKEN_SLUG not in prompt


async def test_a_change_without_a_test_is_followed_by_a_request_for_a_test_with_the_plan(
    bench: Roundtable, code: Path
) -> None:
    (code / "slug.py").write_text(SLUG)
    git(code, "commit", "-qam", "A slug, so that its test shows nothing")
    test = SLUG_TEST.replace(" Hello World ", "Hello\\tWorld")
    council = await hold_council(
        bench, claude=deciding_writer(JOINED_SLUG, evidence=files_reply({"test_tabs.py": test}))
    )
    later, decision = await apply_decision(bench, council)
    assert decision.outcome is Outcome.REACHED, decision_sentence(decision)
    assert (code / "slug.py").read_text() == JOINED_SLUG
    assert (code / "test_tabs.py").read_text() == test
    prompt = later.prompt("apply/3-evidence", "claude")
    assert "1. Change slug.py." in prompt
    assert JOINED_SLUG not in prompt


@pytest.mark.feature("S4.26")
async def test_stopping_after_the_plan_writes_nothing(bench: Roundtable, code: Path) -> None:
    council = await hold_council(bench, claude=deciding_writer(), gpt=deciding_writer())
    later, decision = await apply_decision(bench, council, answers={**YES, "plan": "stop"})
    assert decision.outcome is Outcome.REJECTED
    assert not any("2-write" in call.call for call in later.voices.calls)
    assert (code / "slug.py").read_text() == STUB


@pytest.mark.feature("S4.6", "S3.18")
async def test_only_a_seat_with_the_execute_right_is_asked_to_write(bench: Roundtable) -> None:
    council = await hold_council(bench, claude=deciding_writer(), gpt=deciding_writer())
    script = (await bench.sessions.get(council.session)).charter.seats[0].voices
    seats = [Seat("claude", ("missing:model",)), Seat("gpt", script, rights=(Right.SPEAK, Right.EXECUTE))]
    later, decision = await apply_decision(bench, council, seats)
    assert decision.author == "gpt", "the other one cannot even speak, and need not"
    assert "it is the only seat with the right to execute" in later.prompt("apply/1-plan", "gpt")
    with pytest.raises(UsageError, match="Seat claude does not have the right to execute"):
        await bench.meetings.open_apply(council.session, Agenda("", tuple(seats), settings={"by": "claude"}))
    with pytest.raises(NotFound, match="no seat grok"):
        await bench.meetings.open_apply(council.session, Agenda("", settings={"by": "grok"}))


@pytest.mark.feature("S3.75", "S3.76", "S3.77")
async def test_without_an_execute_right_capabilities_and_priority_choose_the_writer(
    bench: Roundtable, code: Path
) -> None:
    council = await hold_council(bench, claude=deciding_writer(), gpt=deciding_writer(), gemini=deciding_writer())
    script = (await bench.sessions.get(council.session)).charter.seats[0].voices[0]
    seats = [
        Seat("claude", (script,), priority=1),
        Seat("gpt", ("missing:model", script), capabilities=("dashes",), priority=2),
        Seat("gemini", (script,), priority=3),
    ]
    session = await bench.meetings.open_apply(council.session, Agenda("", tuple(seats), headless=True, answers=YES))
    decision = await bench.meetings.run(session)
    assert decision.author == "claude", "who wrote what was decided comes first"
    git(code, "reset", "-q", "--hard", "HEAD~1")
    session = await bench.meetings.open_apply(
        council.session, Agenda("", tuple(seats), settings={"by": "gpt"}, headless=True, answers=YES)
    )
    decision = await bench.meetings.run(session)
    assert decision.substitutions[0].voice == script
    assert (code / "slug.py").read_text() == SLUG


async def test_a_session_without_a_decision_cannot_be_applied(bench: Roundtable) -> None:
    meeting = DeskMeeting(bench, claude=slug_writer(BROKEN_SLUG, BROKEN_SLUG))
    await meeting.hold("build", TASK)
    with pytest.raises(UsageError, match="ended without a decision that can be applied"):
        await bench.meetings.open_apply(meeting.session, Agenda(""))
    done = DeskMeeting(bench, claude=slug_writer(SLUG))
    await done.hold("build", TASK, answers=YES)
    with pytest.raises(UsageError, match="already applied"):
        await bench.meetings.open_apply(done.session, Agenda(""))


async def test_a_change_on_a_branch_does_not_touch_the_working_tree(bench: Roundtable, code: Path) -> None:
    council = await hold_council(bench, claude=deciding_writer())
    _, decision = await apply_decision(bench, council, branch="slugs")
    assert (code / "slug.py").read_text() == STUB
    assert git(code, "show", "slugs:slug.py") == SLUG
    assert "on the branch slugs" in decision_sentence(decision)


async def test_an_approved_change_that_could_not_be_written_is_reported_as_an_error(
    bench: Roundtable, code: Path
) -> None:
    council = await hold_council(bench, claude=deciding_writer())
    later = DeskMeeting(bench)
    later.voices = council.voices
    agenda = Agenda("", settings={"branch": "slugs"}, headless=True, answers=YES)
    later.session = await bench.meetings.open_apply(council.session, agenda)
    git(code, "branch", "slugs")
    decision = await later.hold("apply")
    assert decision.outcome is Outcome.DEADLOCK
    assert "Branch slugs already exists." in decision_sentence(decision)
    entries = await bench.memory.entries(limit=None)
    errors = [entry for entry in entries if entry.kind is EntryKind.ERROR and entry.session == later.session]
    assert [error.why for error in errors] == ["Branch slugs already exists."]
    assert errors[0].text.startswith("Could not be applied: ")


async def test_apply_never_touches_uncommitted_work(bench: Roundtable, code: Path) -> None:
    council = await hold_council(bench, claude=deciding_writer())
    mine = STUB + "\n# mine\n"
    write(code, {"slug.py": mine})
    _, decision = await apply_decision(bench, council)
    assert decision.outcome is Outcome.DEADLOCK
    assert "slug.py has uncommitted changes" in decision_sentence(decision)
    assert (code / "slug.py").read_text() == mine


async def test_the_execution_complete_hook_runs_when_a_change_is_written(code: Path, bench_places: Places) -> None:
    await sandbox()
    told = bench_places.config / "told.json"
    bench_places.config.mkdir(parents=True, exist_ok=True)
    bench_places.user_config.write_text(f'[hooks]\nexecution_complete = ["tee", "{told}"]\n')
    async with await Roundtable.open(code, bench_places) as desk:
        meeting = DeskMeeting(desk, claude=slug_writer(SLUG))
        await meeting.open("build", TASK, answers=YES)
        await desk.meetings.run(meeting.session)
        assert await desk.meetings.hook_problems() == []
    said = json.loads(told.read_text())
    assert (said["hook"], said["session"]) == ("execution_complete", meeting.session)


CHECKED = Config(checks=CHECKS)


async def test_an_apply_meeting_killed_after_any_fact_ends_alike_and_writes_once(tmp_path: Path) -> None:
    await sandbox()
    script = {"seats": {"claude": {"turns": slug_writer(JOINED_SLUG)}}}

    def life(store: CrashingStore, number: int) -> SessionHarness:
        return SessionHarness(script, store, meeting="build", workspace=tmp_path / str(number) / "code", config=CHECKED)

    async def lived(number: int, lifetime: int) -> int:
        code = create_slug_repository(tmp_path / str(number) / "code")
        store = CrashingStore(lifetime)
        harness = life(store, number)
        await harness.open(seats=("claude",), question=TASK, answers=YES)
        try:
            decision = await harness.run()
        except ProcessKilled:
            assert (code / "slug.py").read_text() in (STUB, JOINED_SLUG)
            store.events_left = 10_000
            harness = life(store, number)
            decision = await harness.run()
        assert decision.next_step == "applied"
        assert (code / "slug.py").read_text() == JOINED_SLUG
        assert git(code, "rev-list", "--count", "HEAD").strip() == "2", "committed once"
        results = (await harness.session()).results.values()
        assert [result.commit for result in results if isinstance(result, ChangeApplied)] == [
            git(code, "rev-parse", "HEAD").strip()
        ]
        return len(await harness.records()) - 1

    facts = await lived(10_000, 10_000)
    for lifetime in range(facts):
        await lived(lifetime, lifetime)
