"""Existing tests judge a candidate unchanged, even if the candidate edits them."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.app.desk import Agenda, Roundtable
from roundtable.core.effects import ChangePlanned
from roundtable.core.values import Outcome
from roundtable.report.reasons import decision_sentence
from tests.repository import git, write
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.slug_project import JOINED_SLUG, SLUG, SLUG_TEST, STUB, TASK, Turns, files_reply
from tests.stories.test_apply import DECIDES, apply_decision, hold_council
from tests.stories.test_build import YES, hold_with_person, last_trial

SHOUT = 'def slugify(text):\n    return "-".join(text.upper().split())\n'
SHOUT_TEST = SLUG_TEST.replace("hello-world", "HELLO-WORLD")
WEAK_TEST = SLUG_TEST.replace('self.assertEqual(slugify(" Hello World "), "hello-world")', "self.assertTrue(slugify)")
EARLY_TEST = SLUG_TEST.replace("        self.assert", "        return\n        self.assert")
UNTESTED = "Put a docstring into slugify() in slug.py."


def writer_turns(**files: str) -> Turns:
    """Return the turns of a seat that always writes these modules."""
    return [{"text": files_reply({f"{name}.py": text for name, text in files.items()})}]


@pytest.mark.parametrize("test", [SHOUT_TEST, WEAK_TEST, EARLY_TEST], ids=["another value", "nothing", "early"])
async def test_a_candidate_that_rewrites_a_failing_test_loses_to_one_that_passes_it(
    bench: Roundtable, code: Path, test: str
) -> None:
    meeting = DeskMeeting(bench, claude=writer_turns(slug=SHOUT, test_slug=test), gpt=writer_turns(slug=SLUG))
    decision = await meeting.hold("build", TASK, answers=YES)
    assert decision.author == "gpt"
    assert (code / "test_slug.py").read_text() == SLUG_TEST
    found = {
        candidate.seat: candidate for candidate in last_trial(await bench.sessions.get(meeting.session)).candidates
    }
    (failed,) = [check for check in found["claude"].checks if not check.passed]
    assert (failed.name, failed.original_tests) == ("tests", True)


@pytest.mark.parametrize("green", [False, True], ids=["a test that failed", "a test that passed"])
async def test_a_change_to_existing_tests_is_reported_and_not_written_on_advance_approval(
    bench: Roundtable, code: Path, green: bool
) -> None:
    if green:
        write(code, {"slug.py": JOINED_SLUG})
        git(code, "commit", "-qam", "It works")
    before = (code / "slug.py").read_text()
    meeting = DeskMeeting(bench, claude=writer_turns(slug=SHOUT, test_slug=SHOUT_TEST))
    decision = await meeting.hold("build", UNTESTED if green else TASK, answers=YES)
    assert (decision.outcome, decision.next_step) == (Outcome.DEADLOCK, "later")
    assert decision_sentence(decision).startswith("No candidate passed the original tests.")
    assert "SlugTest.test_words_are_joined of test_slug.py" in decision_sentence(decision)
    assert ((code / "slug.py").read_text(), (code / "test_slug.py").read_text()) == (before, SLUG_TEST)
    mend = meeting.prompt("build/2-mend", "claude")
    assert "The check tests (with the original tests) failed" in mend
    assert "They stay unchanged, because the task does not ask to change them." in mend
    session = await bench.sessions.get(meeting.session)
    assert list(session.gates) == ["approve-tests"]
    later = await bench.meetings.run(
        await bench.meetings.open_apply(meeting.session, Agenda("", headless=True, answers=YES))
    )
    assert later.outcome is Outcome.DEADLOCK, "nor does one that is given later without naming it"
    named = Agenda("", headless=True, answers={"approve-tests": "all"})
    assert (await bench.meetings.run(await bench.meetings.open_apply(meeting.session, named))).next_step == "applied"
    assert (code / "test_slug.py").read_text() == SHOUT_TEST


async def test_a_person_sees_which_existing_tests_would_change_and_may_approve(bench: Roundtable, code: Path) -> None:
    meeting = DeskMeeting(bench, claude=writer_turns(slug=SHOUT, test_slug=SHOUT_TEST))
    decision = await hold_with_person(meeting, bench, approve_tests=("all", ""))
    question = (await bench.sessions.get(meeting.session)).gates["approve-tests"].question
    assert "It changes existing tests: SlugTest.test_words_are_joined of test_slug.py." in question
    only_changed = "claude's candidate changed existing tests and passes only the changed versions."
    assert f"No candidate passed the original tests. {only_changed}" in question
    assert decision.next_step == "applied"
    assert (code / "test_slug.py").read_text() == SHOUT_TEST


@pytest.mark.parametrize(
    "words",
    ["and update its test", "and change the expected value: adapt tests/test_slug.py", "Rewrite test_slug.py too"],
)
async def test_a_task_that_asks_for_changed_tests_gets_them(bench: Roundtable, code: Path, words: str) -> None:
    meeting = DeskMeeting(bench, claude=writer_turns(slug=SHOUT, test_slug=SHOUT_TEST))
    decision = await meeting.hold("build", f"Make slugify() in slug.py shout. {words}", answers=YES)
    assert decision.next_step == "applied"
    assert (code / "test_slug.py").read_text() == SHOUT_TEST


async def test_a_task_that_only_mentions_tests_does_not_permit_changing_them(bench: Roundtable, code: Path) -> None:
    meeting = DeskMeeting(bench, claude=writer_turns(slug=SHOUT, test_slug=SHOUT_TEST))
    decision = await meeting.hold("build", "Change slugify() so that the tests in test_slug.py pass.", answers=YES)
    assert decision.outcome is Outcome.DEADLOCK
    assert (code / "slug.py").read_text() == STUB


MORE = "\n    def test_nothing_is_nothing(self):\n        self.assertEqual(slugify(''), '')\n"
MOVED = {"tests/test_slug.py": SLUG_TEST}


@pytest.mark.parametrize(
    "reply",
    [
        files_reply({"slug.py": SLUG, "test_slug.py": SLUG_TEST.replace('world")\n', f'world")\n{MORE}', 1)}),
        files_reply({"slug.py": SLUG}) + "\nRENAME test_slug.py -> test_slugs.py\n",
        files_reply({"slug.py": SLUG, "test_slugs.py": SLUG_TEST}) + "\nDELETE test_slug.py\n",
    ],
    ids=["more of them", "another name", "another file"],
)
async def test_moved_tests_and_added_tests_do_not_count_as_changed_tests(
    bench: Roundtable, code: Path, reply: str
) -> None:
    meeting = DeskMeeting(bench, claude=[{"text": reply}])
    decision = await meeting.hold("build", TASK, answers=YES)
    assert decision.next_step == "applied", decision_sentence(decision)
    session = await bench.sessions.get(meeting.session)
    assert [result.tests for result in session.results.values() if isinstance(result, ChangePlanned)] == [()]


async def test_an_unnecessary_change_to_an_existing_test_is_left_out(bench: Roundtable, code: Path) -> None:
    meeting = DeskMeeting(bench, claude=writer_turns(slug=SLUG, test_slug=WEAK_TEST))
    decision = await meeting.hold("build", TASK, answers=YES)
    assert decision.next_step == "applied"
    assert ((code / "slug.py").read_text(), (code / "test_slug.py").read_text()) == (SLUG, SLUG_TEST)
    assert "Existing tests that were kept unchanged: test_slug.py." in decision_sentence(decision)


async def test_a_change_to_existing_tests_only_needs_the_persons_approval(bench: Roundtable, code: Path) -> None:
    write(code, {"slug.py": SLUG})
    git(code, "commit", "-qam", "It works")
    stricter = SLUG_TEST.replace("Hello World", "Hello  World").replace("hello-world", "hello--world")
    meeting = DeskMeeting(bench, claude=writer_turns(test_slug=stricter))
    decision = await meeting.hold("build", "Have slugify() tested with two spaces.", answers=YES)
    assert decision.outcome is Outcome.DEADLOCK
    assert list((await bench.sessions.get(meeting.session)).gates) == ["approve-tests"]


async def test_apply_does_not_let_a_seat_change_existing_tests_without_approval(bench: Roundtable, code: Path) -> None:
    cheat = {"round": "apply/*", "text": files_reply({"slug.py": SHOUT, "test_slug.py": SHOUT_TEST})}
    plan = {"round": "apply/1-plan", "text": "1. Change slug.py. 2. Update its test."}
    council = await hold_council(bench, claude=[DECIDES, plan, cheat])
    _, decision = await apply_decision(bench, council)
    assert decision.outcome is Outcome.DEADLOCK
    assert "nobody approved a change that alters existing tests" in decision_sentence(decision)
    assert (code / "slug.py").read_text() == STUB
