"""Reports about a change: which checks ran, what failed, who wrote it and who asked for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roundtable.app.desk import Places, Roundtable
from roundtable.core.change_history import newest_session_change
from roundtable.core.effects import ChangePlanned
from roundtable.core.session import Session
from roundtable.core.values import Outcome
from roundtable.report.change_words import render_candidate_table_rows, render_diffstat
from roundtable.report.reasons import decision_sentence, notice_sentences
from tests.repository import commit, git, own_python, repository, sandbox, write
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.slug_project import SLUG, SLUG_TEST, STUB, TASK, Turns, files_reply, slug_writer
from tests.stories.test_apply import POSITION, apply_decision
from tests.stories.test_build import YES, hold_with_person, last_trial
from tests.stories.test_sdlc_outcome import extend_project

README = "Slugs, and nothing else.\n"
OWN = '    return "-".join(text.lower().split())\n'


def two_file_turns() -> Turns:
    return [{"text": files_reply({"slug.py": SLUG, "README.md": README})}]


def unrequested_hunks(session: Session) -> tuple[str, ...]:
    plan = next(result for result in session.results.values() if isinstance(result, ChangePlanned))
    assert {hunk.id for hunk in plan.hunks if not hunk.asked_by} == set(plan.unasked)
    return plan.unasked


@pytest.mark.parametrize("listed", [True, False])
async def test_the_decision_says_that_uncommitted_tests_were_not_run_on_the_commit(
    tmp_path: Path, bench_places: Places, listed: bool
) -> None:
    await sandbox()
    code = repository(tmp_path / "code", {"slug.py": STUB})
    own_python(code)
    write(code, {"test_slug.py": SLUG_TEST})
    if listed:
        bench_places.user_config.parent.mkdir()
        bench_places.user_config.write_text('[checks]\ntests = [".venv/bin/python", "-m", "unittest", "-q"]\n')
    async with await Roundtable.open(code, bench_places) as desk:
        decision = await DeskMeeting(desk, claude=slug_writer(SLUG)).hold("build", TASK, answers=YES)
    assert decision.next_step == "applied"
    text = "These tests were not run on the committed files, because the tests are not committed: test_slug.py."
    assert text in notice_sentences(decision)
    assert ("The check tests passed without running a single test." in notice_sentences(decision)) is listed
    assert "tests=" not in git(code, "log", "-1", "--format=%B")
    assert "on the merged tree" not in decision_sentence(decision)
    assert "There are no checks" not in decision_sentence(decision)


async def test_accepting_only_hunks_that_leave_checks_failing_asks_the_person_again(
    bench: Roundtable, code: Path
) -> None:
    part = ("some", json.dumps({"rejected": ["slug.py#1"]}))
    meeting = DeskMeeting(bench, claude=two_file_turns())
    decision = await hold_with_person(meeting, bench, approve=part, approve_2=part)
    question = (await bench.sessions.get(meeting.session)).gates["approve-2"].question
    assert (
        "tests fails with the hunks you selected, as before the change, and passes with the whole change." in question
    )
    assert ((code / "slug.py").read_text(), (code / "README.md").read_text()) == (STUB, README)
    assert decision.position == f"{TASK}: claude changes README.md"
    how = decision_sentence(decision)
    assert "after 1 check on the merged tree, of which tests failed, as before: README.md." in how
    assert "The person left out slug.py#1." in decision_sentence(decision)
    assert "passed" not in decision_sentence(decision)
    assert "Checks: tests=failed" in git(code, "log", "-1", "--format=%B")


async def test_a_person_who_is_asked_again_can_accept_all_hunks(bench: Roundtable, code: Path) -> None:
    part = json.dumps({"rejected": ["slug.py#1"]})
    decision = await hold_with_person(
        DeskMeeting(bench, claude=two_file_turns()), bench, approve=("some", part), approve_2=("all", "")
    )
    assert (code / "slug.py").read_text() == SLUG
    assert "after 1 check on the merged tree: " in decision_sentence(decision)


async def test_a_hunk_rewritten_by_a_person_is_credited_to_the_person(bench: Roundtable, code: Path) -> None:
    text = json.dumps({"rejected": ["README.md#1"], "edited": {"slug.py#1": OWN}})
    await hold_with_person(DeskMeeting(bench, claude=two_file_turns()), bench, approve=("some", text))
    assert "Produced-By: anna" in git(code, "log", "-1", "--format=%B")
    assert "claude" not in git(code, "log", "-1", "--format=%B")


async def test_a_rejected_rename_is_not_reported_as_written(bench: Roundtable, code: Path) -> None:
    write(code, {"old.txt": "one\ntwo\nthree\n"})
    commit(code, "Old")
    renamed = (
        "\nRENAME old.txt -> new.txt\n```text path=new.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n```\n"
    )
    meeting = DeskMeeting(bench, claude=[{"text": files_reply({"slug.py": SLUG}) + renamed}])
    decision = await hold_with_person(meeting, bench, approve=("some", json.dumps({"rejected": ["new.txt#rename"]})))
    assert (code / "old.txt").read_text() == "one\n2\nthree\n"
    change = newest_session_change(await bench.sessions.get(meeting.session))
    assert change is not None
    assert list(render_diffstat(change.approved_hunks())) == ["old.txt: 1 hunk, +1 -1", "slug.py: 1 hunk, +1 -1"]
    assert decision.position == f"{TASK}: claude changes old.txt and slug.py"


async def test_candidates_that_were_not_run_are_not_reported_as_equal(tmp_path: Path, bench_places: Places) -> None:
    await sandbox()
    (tmp_path / "new").mkdir()
    one, other = ([{"text": files_reply({"Slug.java": f"class Slug {{ int x = {number}; }}\n"})}] for number in (1, 2))
    async with await Roundtable.open(tmp_path / "new", bench_places) as desk:
        meeting = DeskMeeting(desk, claude=one, gpt=other)
        decision = await meeting.hold("build", "Write Slug.java", settings={"judge": False})
        session = await desk.sessions.get(meeting.session)
    assert "No check or test could distinguish the 2 candidates." in decision_sentence(decision)
    assert "There was no check or test to run on it." in decision_sentence(decision), "and so it was run nowhere"
    assert [row[3] for row in render_candidate_table_rows(last_trial(session))] == ["–", "–"]


async def test_naming_a_function_in_the_task_asks_for_changes_in_its_file(bench: Roundtable, code: Path) -> None:
    meeting = DeskMeeting(bench, claude=two_file_turns())
    assert (await meeting.hold("build", "Make slugify() join the words with dashes.")).outcome is Outcome.DEADLOCK
    assert unrequested_hunks(await bench.sessions.get(meeting.session)) == ("README.md#1",)


@pytest.mark.parametrize("named", ["in the position", "in its words"])
async def test_files_named_in_a_decision_count_as_asked_for(bench: Roundtable, code: Path, named: str) -> None:
    position = POSITION.replace("dashes", "dashes in slug.py") if named == "in the position" else POSITION
    words = "Dashes." if named == "in the position" else "Change slug.py, and say so in README.md."
    decides = {"round": "council/*", "text": f"{words}\n```json\n{position}\n```"}
    plan = {"round": "apply/1-plan", "text": "1. Join them."}
    council = DeskMeeting(bench, claude=[decides, plan, {"round": "apply/2-write", **two_file_turns()[0]}])
    await council.hold("council", "How should the words be joined?")
    later, decision = await apply_decision(bench, council)
    assert decision.outcome is Outcome.REACHED, decision_sentence(decision)
    assert unrequested_hunks(await bench.sessions.get(later.session)) == (
        () if named == "in its words" else ("README.md#1",)
    )


async def test_files_agreed_on_in_stages_count_as_asked_for(bench: Roundtable) -> None:
    session = await bench.sessions.get((await extend_project(bench)).session)
    assert unrequested_hunks(session) == ()
