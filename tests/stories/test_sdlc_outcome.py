"""The outcome of an sdlc session: its messages, what is remembered, and its authors."""

from __future__ import annotations

import msgspec
import pytest

from roundtable.app.desk import Agenda, Roundtable
from roundtable.core.change_history import newest_session_change
from roundtable.core.events import SessionAmended
from roundtable.core.ledger import EntryKind
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.values import Limits, Outcome
from roundtable.doors.cli.output import EXIT_DEGRADED, EXIT_OK, decision_exit_code
from roundtable.live.event_lines import live_decision_lines, live_lines_as_text
from roundtable.report.reasons import decision_sentence, notice_sentences
from roundtable.report.stage_words import stage_notice_sentences
from tests.repository import git
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.slug_project import JOINED_SLUG, files_reply
from tests.stories.test_sdlc_execution import EXECUTION, SUM
from tests.stories.test_sdlc_files import ACCOUNTS, DEVELOPMENT, QA, YES, files_after_stage, writer_turns
from tests.stories.test_sdlc_results import IDEA, seats
from tests.stories.test_sdlc_stages import REQUIREMENTS, stage_settings

PRODUCED = ["Produced-By: claude", "Produced-By: gpt", "Produced-By: gemini"]


async def extend_project(bench: Roundtable, **answers: str) -> DeskMeeting:
    """Run three stages on an existing project."""
    meeting = DeskMeeting(bench, **seats(slug=JOINED_SLUG))
    settings = {**stage_settings(REQUIREMENTS, DEVELOPMENT, QA), "existing": True}
    await meeting.hold("sdlc", IDEA, settings=settings, answers={**YES, **answers}, seed=7)
    return meeting


# --- how it ends ----------------------------------------------------------------------------------


async def test_a_budget_that_ends_between_stages_still_delivers_the_finished_files(bench: Roundtable) -> None:
    meeting = DeskMeeting(bench, claude=writer_turns({"accounts.py": ACCOUNTS["claude"]}))
    settings = stage_settings(DEVELOPMENT, QA, msgspec.structs.replace(REQUIREMENTS, name="closing"))
    await meeting.open("sdlc", IDEA, settings=settings, answers={**YES, "deliver": "folder"})
    await bench.sessions.amend(meeting.session, SessionAmended(limits=Limits(budget_tokens=1, rounds=50)))
    decision = await meeting.hold("sdlc")
    assert (decision.outcome, decision.next_step) == (Outcome.REACHED, "delivered"), decision_sentence(decision)
    ends = session_stage_ends(await bench.sessions.get(meeting.session))
    assert [end.how for end in ends] == ["alone", "failed", "failed"]
    assert "qa: No seat was asked: the limits of the session were reached." in notice_sentences(decision)
    assert "closing: No seat was asked: the limits of the session were reached." in notice_sentences(decision)
    assert decision_sentence(decision).startswith("1 stage was held: development.")
    assert "D1 development" in decision.text
    again = [call.call.partition("/")[0] for call in meeting.voices.calls]
    assert again == ["development"]


async def test_an_agreement_on_an_existing_project_is_decided_even_if_nobody_approves_writing_it(
    bench: Roundtable,
) -> None:
    session = await bench.sessions.get((await extend_project(bench)).session)
    assert session.decision is not None
    assert (session.decision.outcome, session.decision.next_step) == (Outcome.REACHED, "later")
    text = live_lines_as_text(live_decision_lines(session, "here"))
    assert "Decision reached" in text
    assert "Write the change with: roundtable apply here" in text
    assert decision_exit_code(session.decision) == EXIT_OK


@pytest.mark.feature("S0.60")
async def test_a_program_whose_last_run_failed_is_a_degraded_result_with_a_warning_before_delivery(
    bench: Roundtable,
) -> None:
    meeting = DeskMeeting(bench, claude=[{"round": "*", "text": files_reply(SUM)}])
    settings = stage_settings(DEVELOPMENT, EXECUTION)
    decision = await meeting.hold("sdlc", IDEA, settings=settings, answers=YES, seed=7)
    gate = (await bench.sessions.get(meeting.session)).gates["deliver"]
    assert gate.question == "The project is finished, but its last run failed. In which form should it be delivered?"
    assert notice_sentences(decision)[0] == "The project is finished, but its last run failed."
    assert (decision_exit_code(decision), decision_exit_code(decision, strict=True)) == (EXIT_OK, EXIT_DEGRADED)


# --- whose it is ----------------------------------------------------------------------------------


async def test_the_commit_of_an_extended_project_names_the_request_its_history_and_its_authors(
    bench: Roundtable,
) -> None:
    meeting = await extend_project(bench, approve="all")
    session = await bench.sessions.get(meeting.session)
    assert session.gates["approve"].question.startswith("claude, gpt and gemini want to change ")
    message = git(bench.workspace, "log", "-1", "--format=%B")
    assert message.splitlines()[0] == IDEA.rstrip(".")
    assert "\n\nD1 R1 A user can log in. R2 What was done can be undone.\nrequirements was agreed on" in message
    assert "- accounts.py: login from gpt\n- accounts.py: rollback from gemini" in message
    assert [line for line in message.splitlines() if line.startswith("Produced-By: ")] == PRODUCED
    change = newest_session_change(session)
    assert change is not None
    wrote_by = {hunk.hunk.path: hunk.wrote for hunk in change.hunks}
    assert wrote_by == {
        "accounts.py": ("claude", "gpt", "gemini"),
        "slug.py": ("claude",),
        "test_accounts.py": ("claude",),
    }


async def test_a_change_applied_later_keeps_its_authors(bench: Roundtable) -> None:
    meeting = await extend_project(bench)
    later = await bench.meetings.open_apply(meeting.session, Agenda("", headless=True, answers={"approve": "all"}))
    decision = await bench.meetings.run(later)
    assert (decision.outcome, decision.next_step) == (Outcome.REACHED, "applied"), decision_sentence(decision)
    message = git(bench.workspace, "log", "-1", "--format=%B")
    assert message.splitlines()[0] == IDEA.rstrip(".")
    assert "\n\nD1 R1 A user can log in." in message
    assert [line for line in message.splitlines() if line.startswith("Produced-By: ")] == PRODUCED


# --- what is kept ---------------------------------------------------------------------------------


@pytest.mark.feature("S0.149")
async def test_a_later_meeting_sees_the_agreements_of_the_stages(bench: Roundtable) -> None:
    await extend_project(bench)
    remembered = [entry.text for entry in await bench.memory.entries((EntryKind.DECISION,))]
    assert remembered == ["requirements: R1 A user can log in. R2 What was done can be undone."]
    (recalled,), _ = await bench.memory.recall(IDEA)
    assert recalled.text == f"{IDEA} Decided: {remembered[0]}"


async def test_an_sdlc_session_without_text_stages_remembers_the_written_files(bench: Roundtable) -> None:
    meeting = DeskMeeting(bench, claude=writer_turns({"accounts.py": ACCOUNTS["claude"]}))
    await meeting.hold("sdlc", IDEA, settings=stage_settings(DEVELOPMENT), answers=YES)
    remembered = [entry.text for entry in await bench.memory.entries((EntryKind.DECISION,))]
    assert remembered == ["development: Files written: accounts.py."]


async def test_a_new_project_leaves_out_files_with_forbidden_names_and_keeps_the_others(
    bench: Roundtable,
) -> None:
    main = {"main.py": "print('hello')\n", "Dockerfile": "FROM scratch\n", ".env.example": "KEY=\n"}
    stray = {".env": "KEY=1\n", "/etc/motd": "hello\n", "../outside.py": "1\n", ".git/config": "[core]\n"}
    meeting = DeskMeeting(bench, claude=writer_turns({**main, **stray}))
    decision = await meeting.hold("sdlc", IDEA, settings=stage_settings(DEVELOPMENT), answers=YES)
    (end,) = session_stage_ends(await bench.sessions.get(meeting.session))
    assert await files_after_stage(bench, end) == main
    assert len(meeting.voices.calls) == 1, "nobody has to write it again"
    (notice,) = stage_notice_sentences(end)
    assert notice.startswith("Files that claude wrote were left out. ")
    assert ".env is named like a file that contains secrets." in notice
    assert notice.endswith("1 more file of claude cannot be used.")
    assert decision.degraded
