"""The last steps of every change: approval, and a rehearsal of exactly what will be committed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core.effects import ChangePlanned, ChangeRehearsed
from roundtable.core.events import AnswerSource
from roundtable.core.faults import UsageError
from roundtable.core.ledger import EntryKind
from roundtable.core.values import Outcome
from roundtable.doors.mcp.session_view import build_mcp_meeting_status, render_mcp_meeting_text
from roundtable.report.change_words import describe_hunk_request_origin
from roundtable.report.reasons import decision_sentence, notice_sentences
from tests.core.test_redaction import token
from tests.repository import git, sandbox, write
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.slug_project import (
    BROKEN_SLUG,
    JOINED_SLUG,
    SLUG,
    SLUG_TEST,
    STUB,
    TABS_TEST,
    TASK,
    files_reply,
    slug_writer,
)
from tests.stories.test_apply import apply_decision, deciding_writer, hold_council
from tests.stories.test_build import answer_gates, hold_with_person, wait_for_gate

YES = {"approve": "all"}
HELPER = "def small(text):\n    return text.strip().lower()\n"
USING = 'from helper import small\n\n\ndef slugify(text):\n    return "-".join(small(text).split())\n'


@pytest.mark.parametrize("source", [AnswerSource.HEADLESS, AnswerSource.DEADLINE])
async def test_a_gate_that_took_its_default_does_not_reject_the_draft(
    bench: Roundtable, code: Path, source: AnswerSource
) -> None:
    meeting = DeskMeeting(bench, claude=slug_writer(SLUG))
    await meeting.open("build", TASK, headless=False)
    running = asyncio.create_task(meeting.hold("build"))
    await wait_for_gate(meeting, bench, "approve")
    await bench.gates.answer(meeting.session, "approve", "none", source=source)
    decision = await running
    assert (decision.outcome, decision.next_step) == (Outcome.DEADLOCK, "later")
    assert "nobody approved it" in decision_sentence(decision)
    session = await bench.sessions.get(meeting.session)
    text = render_mcp_meeting_text(build_mcp_meeting_status(session, (), None), session)
    assert "Next step: decide later." in text
    assert "The person chose" not in text, "nobody did"
    later = await bench.meetings.run(
        await bench.meetings.open_apply(meeting.session, Agenda("", headless=True, answers=YES))
    )
    assert later.outcome is Outcome.REACHED
    assert (code / "slug.py").read_text() == SLUG


async def test_a_person_can_reject_the_whole_change(bench: Roundtable, code: Path) -> None:
    decision = await hold_with_person(DeskMeeting(bench, claude=slug_writer(SLUG)), bench, approve=("none", ""))
    assert decision.outcome is Outcome.REJECTED
    assert "The person said no" in decision_sentence(decision)


@pytest.mark.parametrize(
    ("mistake", "reason"),
    [
        ("", "does not say which hunks"),
        ("the first one", "does not say which hunks are approved"),
        ('{"rejected": ["slug.py#7"]}', "The plan has no hunk slug.py#7."),
        ('{"edited": {"slug.py#1": "    return ("}}', "slug.py would not parse"),
    ],
)
async def test_an_invalid_answer_to_the_approval_gate_opens_it_again_with_the_reason(
    bench: Roundtable, code: Path, mistake: str, reason: str
) -> None:
    meeting = DeskMeeting(bench, claude=slug_writer(SLUG))
    decision = await hold_with_person(meeting, bench, approve=("some", mistake), approve_2=("all", ""))
    assert reason in (await bench.sessions.get(meeting.session)).gates["approve-2"].question
    assert decision.next_step == "applied"
    assert (code / "slug.py").read_text() == SLUG


async def test_a_hunk_rewritten_at_the_gate_may_not_contain_a_secret_even_if_escaped(
    code: Path, bench_places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox()
    key = token(33, seed=7)
    monkeypatch.setenv("LAB_TOKEN", key)
    rewritten = json.dumps({"edited": {"slug.py#1": f"    return '{key}'"}})
    spelt = rewritten.replace(key, f"\\u{ord(key[0]):04x}{key[1:]}")
    async with await Roundtable.open(code, bench_places) as desk:
        meeting = DeskMeeting(desk, claude=slug_writer(SLUG))
        await hold_with_person(meeting, desk, approve=("some", spelt), approve_2=("all", ""))
        question = (await desk.sessions.get(meeting.session)).gates["approve-2"].question
    assert "slug.py would contain what looks like a secret" in question
    assert (code / "slug.py").read_text() == SLUG


async def test_without_checks_the_tests_of_a_change_are_rehearsed_with_the_persons_edits(
    tmp_path: Path, bench_places: Places
) -> None:
    await sandbox()
    folder = tmp_path / "new"
    folder.mkdir()
    reply = {"text": files_reply({"slug.py": SLUG, "test_slug.py": SLUG_TEST})}
    broken, right = (json.dumps({"edited": {"slug.py#1": text}}) for text in (BROKEN_SLUG, JOINED_SLUG))
    async with await Roundtable.open(folder, bench_places) as desk:
        meeting = DeskMeeting(desk, claude=[reply])
        await meeting.open("build", TASK, headless=False, settings={"repairs": 0})
        decision, _ = await asyncio.gather(
            meeting.hold("build"), answer_gates(meeting, desk, approve=("some", broken), approve_2=("some", right))
        )
        session = await desk.sessions.get(meeting.session)
    assert "The tests that the change adds fail." in session.gates["approve-2"].question
    assert (folder / "slug.py").read_text() == JOINED_SLUG
    assert "The person rewrote slug.py#1." in decision_sentence(decision)
    assert "claude's candidate passed" not in decision_sentence(decision)


async def test_a_build_without_any_checks_says_so_in_the_decision(tmp_path: Path, bench_places: Places) -> None:
    await sandbox()
    folder = tmp_path / "new"
    folder.mkdir()
    async with await Roundtable.open(folder, bench_places) as desk:
        words = [{"text": files_reply({"NOTES.md": "Slugs.\n"})}]
        decision = await DeskMeeting(desk, claude=words).hold("build", "Say in NOTES.md what this is.", answers=YES)
    assert "There are no checks here to run." in decision_sentence(decision)


@pytest.mark.parametrize("answer", ["approve=maybe", "approve-2=maybe", "approve=some", "destroy=all"])
async def test_an_invalid_advance_answer_is_rejected_before_any_seat_is_asked(bench: Roundtable, answer: str) -> None:
    gate, _, option = answer.partition("=")
    with pytest.raises(UsageError, match=f"Gate {gate} does not accept the advance answer {option}"):
        await DeskMeeting(bench, claude=slug_writer(SLUG)).open("build", TASK, answers={gate: option})


async def test_uncommitted_work_is_reported_at_the_start_and_the_draft_applies_once_it_is_committed(
    bench: Roundtable, code: Path
) -> None:
    write(code, {"slug.py": STUB + "\n# mine\n"})
    meeting = DeskMeeting(bench, claude=slug_writer(SLUG))
    await meeting.open("build", TASK, answers=YES, files=("slug.py",))
    notices = (await bench.sessions.get(meeting.session)).charter.notices
    assert any("commit or stash them before a change can be written: slug.py." in notice for notice in notices)
    decision = await meeting.hold("build")
    assert decision.outcome is Outcome.DEADLOCK
    said, _, way_on = decision_sentence(decision).partition(", then run: roundtable apply ")
    assert said.endswith("The change was drafted with these uncommitted edits. Commit them")
    git(code, "commit", "-qam", "Mine")
    unwritten = await bench.meetings.find_session_to_apply(way_on.split()[0])
    later = await bench.meetings.run(
        await bench.meetings.open_apply(unwritten.id, Agenda("", headless=True, answers=YES))
    )
    assert later.next_step == "applied"
    assert (code / "slug.py").read_text() == SLUG


async def test_edits_made_while_the_gate_was_open_must_be_stashed_before_the_draft_applies(
    bench: Roundtable, code: Path
) -> None:
    meeting = DeskMeeting(bench, claude=slug_writer(SLUG))
    await meeting.open("build", TASK, headless=False)
    running = asyncio.create_task(meeting.hold("build"))
    await wait_for_gate(meeting, bench, "approve")
    write(code, {"slug.py": STUB + "\n# mine\n"})
    await bench.gates.answer(meeting.session, "approve", "all", by="anna")
    said, _, way_on = decision_sentence(await running).partition(", then run: roundtable apply ")
    assert said.endswith("The change was drafted without these uncommitted edits. Stash them")
    git(code, "stash")
    unwritten = await bench.meetings.find_session_to_apply(way_on.split()[0])
    later = await bench.meetings.run(
        await bench.meetings.open_apply(unwritten.id, Agenda("", headless=True, answers=YES))
    )
    assert later.next_step == "applied"
    assert (code / "slug.py").read_text() == SLUG


async def test_a_build_is_remembered_only_if_its_change_was_written(bench: Roundtable, code: Path) -> None:
    await DeskMeeting(bench, claude=slug_writer(SLUG)).hold("build", TASK, settings={"dry_run": True})
    await DeskMeeting(bench, claude=slug_writer(SLUG)).hold("build", TASK)
    await DeskMeeting(bench, claude=slug_writer(BROKEN_SLUG, BROKEN_SLUG)).hold("build", TASK)
    assert await bench.memory.entries(limit=None) == []
    await DeskMeeting(bench, claude=slug_writer(SLUG)).hold("build", TASK, answers=YES)
    assert [entry.kind for entry in await bench.memory.entries(limit=None)] == [EntryKind.DECISION]


async def test_a_decision_that_was_applied_cannot_be_applied_twice(bench: Roundtable, code: Path) -> None:
    council = await hold_council(bench, claude=deciding_writer())
    later, decision = await apply_decision(bench, council)
    assert notice_sentences(decision) == (), "one seat is what it takes"
    assert git(code, "log", "-1", "--format=%s") == "Join the words with dashes\n"
    for address in ("", council.session, later.session):
        with pytest.raises(UsageError, match="already applied, as change"):
            await bench.meetings.find_session_to_apply(address)


async def test_a_decision_applied_in_an_older_record_by_id_cannot_be_applied_twice(
    bench: Roundtable, code: Path
) -> None:
    council = await hold_council(bench, claude=deciding_writer())
    by_id = {"of": council.session, "position": "Join the words with dashes", "by": "claude"}
    await DeskMeeting(bench, claude=deciding_writer()).hold("apply", TASK, settings=by_id, answers=YES)
    for address in ("", council.session):
        with pytest.raises(UsageError, match="already applied, as change"):
            await bench.meetings.find_session_to_apply(address)


async def test_an_undone_change_can_be_applied_again_by_naming_its_session(bench: Roundtable, code: Path) -> None:
    council = await hold_council(bench, claude=deciding_writer())
    later, _ = await apply_decision(bench, council)
    await bench.changes.undo()
    with pytest.raises(UsageError, match="was applied and then undone") as told:
        await bench.meetings.find_session_to_apply("")
    named = (told.value.help or "").rpartition(" ")[2]
    session = await bench.meetings.find_session_to_apply(named)
    assert session.id == later.session
    again = await bench.meetings.run(
        await bench.meetings.open_apply(session.id, Agenda("", headless=True, answers=YES))
    )
    assert again.next_step == "applied"
    assert git(code, "log", "-1", "--format=%s") == "Join the words with dashes\n"
    for address in ("", council.session, later.session):
        with pytest.raises(UsageError, match="already applied, as change"):
            await bench.meetings.find_session_to_apply(address)


async def test_applying_again_after_an_undo_keeps_the_persons_choices_and_edits(bench: Roundtable, code: Path) -> None:
    """Rejected hunks remain rejected, and hunks that the person edited keep the edits."""
    meeting = DeskMeeting(
        bench, claude=[{"text": files_reply({"slug.py": SLUG, "notes.txt": "one\n", "more.txt": "two\n"})}]
    )
    choice = json.dumps({"rejected": ["more.txt#1"], "edited": {"notes.txt#1": "mine\n"}})
    await hold_with_person(meeting, bench, approve=("some", choice))
    await bench.changes.undo()
    again = await bench.meetings.run(
        await bench.meetings.open_apply(meeting.session, Agenda("", headless=True, answers=YES))
    )
    assert again.next_step == "applied"
    assert (code / "notes.txt").read_text() == "mine\n"
    assert not (code / "more.txt").exists()


async def test_a_question_about_a_hunk_does_not_show_its_secrets_to_the_seats(bench: Roundtable, code: Path) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    write(code, {"old.py": f'TOKEN = "{secret}"\n'})
    git(code, "add", "-A")
    git(code, "commit", "-qm", "Old")
    about = {"round": "*-about", "text": "Nobody uses it."}
    meeting = DeskMeeting(bench, claude=[about, {"text": files_reply({"slug.py": SLUG}) + "\nDELETE old.py\n"}])
    await hold_with_person(meeting, bench, approve=("ask", "old.py#1: why?"), approve_2=("none", ""))
    prompt = meeting.prompt("build/3-about", "claude")
    assert "-TOKEN" in prompt
    assert secret not in prompt


async def test_advance_approval_covers_the_repair_of_a_change_that_relies_on_uncommitted_files(
    bench: Roundtable, code: Path
) -> None:
    """In the working tree the checks pass only because of an uncommitted helper."""
    write(code, {"slug.py": SLUG})
    git(code, "commit", "-qam", "It works")
    write(code, {"helper.py": HELPER})
    mended = {"round": "*-repair", "text": files_reply({"slug.py": JOINED_SLUG})}
    meeting = DeskMeeting(bench, claude=[mended, {"text": files_reply({"slug.py": USING, "test_tabs.py": TABS_TEST})}])
    decision = await meeting.hold("build", "Split slugify().", answers=YES)
    session = await bench.sessions.get(meeting.session)
    broken, sound = (result for result in session.results.values() if isinstance(result, ChangeRehearsed))
    assert (broken.broken_checks, broken.leans) == (("tests", "its own tests"), ("helper.py",))
    assert "passes with this uncommitted file: helper.py" in meeting.prompt("build/3-repair", "claude")
    assert (sound.broken_checks, sound.leans) == ((), ())
    assert {id: answer.option for id, answer in session.answers.items()} == {"approve": "all", "approve-2": "all"}
    assert decision.next_step == "applied"
    assert git(code, "show", "HEAD:slug.py") == JOINED_SLUG
    assert (code / "helper.py").read_text() == HELPER, "the person's own file is as it was"
    assert git(code, "status", "--porcelain") == "?? helper.py\n"


async def test_advance_approval_never_confirms_an_irreversible_deletion(bench: Roundtable, code: Path) -> None:
    write(code, {"notes.txt": "not in git\n"})
    reply = {"text": files_reply({"slug.py": SLUG}) + "\nDELETE notes.txt\n"}
    decision = await DeskMeeting(bench, claude=[reply]).hold("build", TASK, answers={**YES, "destroy": "confirm"})
    assert decision.outcome is Outcome.DEADLOCK
    assert "were not confirmed with the exact phrase" in decision_sentence(decision)
    assert (code / "notes.txt").exists()
    assert (code / "slug.py").read_text() == STUB


async def test_the_phrase_for_a_destructive_script_does_not_mention_overwriting(bench: Roundtable, code: Path) -> None:
    reply = files_reply({"slug.py": SLUG, "Makefile": "clean:\n\trm -rf /\n"})
    meeting = DeskMeeting(bench, claude=[{"text": reply}])
    await meeting.hold("build", TASK, settings={"dry_run": True})
    plan = next(
        result
        for result in (await bench.sessions.get(meeting.session)).results.values()
        if isinstance(result, ChangePlanned)
    )
    assert plan.destroys == ("Makefile deletes whole folders when it runs: rm -rf /.",)
    assert plan.phrase == "write 2 files anyway"
    assert not (code / "Makefile").exists()


@pytest.mark.parametrize(
    ("choice", "phrase"),
    [
        ({"rejected": ["3.txt#1"]}, "delete 6 files"),
        (
            {"rejected": [f"{number}.txt#1" for number in range(7)], "edited": {"run.sh#1": "rm -rf ~\n"}},
            "write 1 file anyway",
        ),
    ],
    ids=["what is left of the plan", "what the person wrote"],
)
async def test_the_confirmation_phrase_covers_only_the_accepted_hunks(
    bench: Roundtable, code: Path, choice: dict[str, object], phrase: str
) -> None:
    write(code, {"slug.py": SLUG, **{f"{number}.txt": "old\n" for number in range(7)}})
    git(code, "add", "-A")
    git(code, "commit", "-qm", "Old")
    gone = "".join(f"DELETE {number}.txt\n" for number in range(7))
    meeting = DeskMeeting(bench, claude=[{"text": files_reply({"run.sh": "echo run\n"}) + f"\n{gone}"}])
    decision = await hold_with_person(
        meeting, bench, "Tidy up.", approve=("some", json.dumps(choice)), destroy=("confirm", phrase)
    )
    assert f"confirm with the words: {phrase}" in (await bench.sessions.get(meeting.session)).gates["destroy"].question
    assert decision.next_step == "applied", decision_sentence(decision)


async def test_the_decision_names_an_uncommitted_file_that_the_tests_need(bench: Roundtable, code: Path) -> None:
    test = (code / "test_slug.py").read_text()
    write(code, {"test_slug.py": f"from samples import SAMPLE\n{test}".replace('" Hello World "', "SAMPLE")})
    git(code, "commit", "-qam", "A sample")
    write(code, {"samples.py": 'SAMPLE = " Hello World "\n'})
    meeting = DeskMeeting(bench, claude=slug_writer(SLUG))
    decision = await meeting.hold("build", TASK, answers=YES)
    assert decision.next_step == "applied"
    needed = "A check fails on the committed files but passes with this uncommitted file: samples.py."
    assert needed in decision_sentence(decision)
    assert "Checks: tests=failed" in git(code, "log", "-1", "--format=%B"), "the commit says what is true of it"


@pytest.mark.feature("S3.84")
async def test_a_hunk_in_a_file_that_nobody_asked_for_is_flagged(bench: Roundtable, code: Path) -> None:
    changed = {"slug.py": SLUG, "README.md": "Slugs, and nothing else.\n", "test_slug.py": "# More.\n"}
    changed["test_slug.py"] += (code / "test_slug.py").read_text()
    changed["test_more.py"] = "from slug import slugify\n"
    meeting = DeskMeeting(bench, claude=[{"text": files_reply(changed)}])
    await meeting.hold("build", TASK)
    session = await bench.sessions.get(meeting.session)
    plan = next(result for result in session.results.values() if isinstance(result, ChangePlanned))
    assert plan.unasked == ("README.md#1",), "a test goes with what it tests"
    later = await bench.meetings.open_apply(meeting.session, Agenda("", headless=True))
    await bench.meetings.run(later)
    carried = await bench.sessions.get(later)
    plan = next(result for result in carried.results.values() if isinstance(result, ChangePlanned))
    assert plan.unasked == ("README.md#1",), "nor did a decision that only says which files somebody changed"
    assert describe_hunk_request_origin(carried, plan.hunks[-1].asked_by).startswith(f"the task “{TASK[:20]}")


@pytest.mark.feature("S3.14", "S4.102", "S4.103")
@pytest.mark.parametrize("kind", ["build", "apply"])
async def test_seats_that_write_see_earlier_decisions_and_a_decree_is_asked_about_before_the_change(
    bench: Roundtable, code: Path, kind: str
) -> None:
    council = await hold_council(bench, claude=deciding_writer())
    known = next(entry.id for entry in await bench.memory.entries() if entry.kind is EntryKind.DECISION)
    decree = await bench.memory.reject(TASK if kind == "build" else "Join the words with dashes", "Nobody reads it.")
    if kind == "build":
        meeting = DeskMeeting(bench, claude=slug_writer(SLUG))
        decision = await meeting.hold("build", TASK, answers=YES)
        first = meeting.prompt("build/1-propose", "claude")
    else:
        meeting, decision = await apply_decision(bench, council)
        first = meeting.prompt("apply/1-plan", "claude")
    assert known in first
    assert decree.id in first
    session = await bench.sessions.get(meeting.session)
    assert [gate for gate in session.gates if gate != "plan"] == ["decree"], (
        "nobody is asked to approve what was forbidden"
    )
    assert (decision.outcome, decree.id in decision_sentence(decision)) == (Outcome.DEADLOCK, True)
    assert (code / "slug.py").read_text() == STUB
