"""Building: every seat writes the change, running the candidates decides, and a person approves the writing."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core.candidate_reasons import ToolsReplaced
from roundtable.core.effects import CandidatesTried, ChangePlanned, ChangeRehearsed, DraftsSynthesised
from roundtable.core.events import Delta
from roundtable.core.session import Session
from roundtable.core.values import Decision, Outcome
from roundtable.report.reasons import decision_sentence, notice_sentences
from roundtable.workshop.trial.interpreter import isolated_trial_test_command
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
    merge_verdict,
    slug_writer,
)

YES = {"approve": "all"}
BLIND = {"gpt": "candidate-A", "claude": "candidate-B"}
"""How they are read out with seed 7."""


def last_trial(session: Session) -> CandidatesTried:
    return [result for result in session.results.values() if isinstance(result, CandidatesTried)][-1]


async def wait_for_gate(meeting: DeskMeeting, desk: Roundtable, gate: str) -> Session:
    """Return the session once the gate is open, by watching the store as another process does."""
    async with asyncio.timeout(120):
        while gate not in (session := await desk.sessions.get(meeting.session)).gates:
            await desk.sessions.wait_for_facts(meeting.session, session.seq, 1)
    return session


async def answer_gates(meeting: DeskMeeting, desk: Roundtable, **answers: tuple[str, str]) -> None:
    """Answer each gate once it is open."""
    for gate, (option, text) in answers.items():
        name = gate.replace("_", "-")
        await wait_for_gate(meeting, desk, name)
        await desk.gates.answer(meeting.session, name, option, text, by="anna")


async def hold_with_person(
    meeting: DeskMeeting, desk: Roundtable, task: str = TASK, **answers: tuple[str, str]
) -> Decision:
    """Run a build while a person answers the gates."""
    await meeting.open("build", task, headless=False)
    decision, _ = await asyncio.gather(meeting.hold("build"), answer_gates(meeting, desk, **answers))
    return decision


@pytest.mark.feature("S3.43")
@pytest.mark.usefixtures("by_pytest")
async def test_the_passing_candidate_wins_and_is_committed_once_a_person_approves(
    bench: Roundtable, code: Path
) -> None:
    meeting = DeskMeeting(bench, claude=slug_writer(BROKEN_SLUG, BROKEN_SLUG), gpt=slug_writer(SLUG))
    decision = await meeting.hold("build", TASK, answers=YES)
    assert (decision.outcome, decision.author, decision.next_step) == (Outcome.REACHED, "gpt", "applied")
    assert (code / "slug.py").read_text() == SLUG
    last = last_trial(await bench.sessions.get(meeting.session))
    assert {candidate.seat: candidate.passed for candidate in last.candidates} == {"claude": False, "gpt": True}
    runs = {check.argv[1:3] for candidate in last.candidates for check in candidate.checks if check.name == "tests"}
    assert runs == {isolated_trial_test_command("python", "pytest")[1:3]}
    message = git(code, "log", "-1", "--format=%B")
    assert "Produced-By: gpt" in message
    assert f"Roundtable-Session: {meeting.session}" in message
    assert git(code, "log", "-1", "--format=%h").strip()[:7] in decision_sentence(decision)
    assert git(code, "status", "--porcelain") == ""


@pytest.mark.feature("S4.27")
async def test_a_seat_whose_candidate_fails_sees_the_failure_and_may_fix_it(bench: Roundtable, code: Path) -> None:
    meeting = DeskMeeting(
        bench, claude=slug_writer(BROKEN_SLUG, JOINED_SLUG), gpt=slug_writer(BROKEN_SLUG, BROKEN_SLUG)
    )
    decision = await meeting.hold("build", TASK, answers=YES)
    assert decision.author == "claude"
    assert (code / "slug.py").read_text() == JOINED_SLUG
    prompt = meeting.prompt("build/2-mend", "claude")
    assert "The check tests failed" in prompt
    assert "hello-world" in prompt, "what the check said"
    assert BROKEN_SLUG in prompt, "its own words"


async def test_a_seat_that_resubmits_an_identical_fix_rewrites_it_without_seeing_its_old_reply(
    bench: Roundtable, code: Path
) -> None:
    again = [{"round": "*-anew", "text": files_reply({"slug.py": JOINED_SLUG})}]
    meeting = DeskMeeting(
        bench, claude=[*slug_writer(BROKEN_SLUG, BROKEN_SLUG), *again], gpt=slug_writer(BROKEN_SLUG, STUB)
    )
    decision = await meeting.hold("build", TASK, answers=YES)
    assert decision.author == "claude"
    assert (code / "slug.py").read_text() == JOINED_SLUG
    assert [call.seat for call in meeting.voices.calls if "anew" in call.call] == ["claude"], "gpt tried something else"
    prompt = meeting.prompt("build/2-anew", "claude")
    assert "The check tests failed" in prompt
    assert TASK in prompt
    assert BROKEN_SLUG not in prompt


@pytest.mark.usefixtures("by_pytest")
async def test_a_candidate_that_brings_its_own_test_runner_fails_and_is_told_why(bench: Roundtable, code: Path) -> None:
    forged = {"slug.py": BROKEN_SLUG, "pytest.py": "print('2 passed in 0.01s')\n"}
    forger = [{"round": name, "text": files_reply(forged)} for name in ("*-propose", "*-mend")]
    alone = DeskMeeting(bench, claude=forger)
    assert (await alone.hold("build", TASK, answers=YES)).outcome is Outcome.DEADLOCK
    assert "pytest.py" in alone.prompt("build/2-mend", "claude")
    meeting = DeskMeeting(bench, claude=forger, gpt=slug_writer(SLUG))
    decision = await meeting.hold("build", TASK, answers=YES)
    assert decision.author == "gpt"
    assert not (code / "pytest.py").exists()
    tried = last_trial(await bench.sessions.get(meeting.session)).candidates
    findings = {candidate.seat: [check.finding for check in candidate.checks] for candidate in tried}
    assert ToolsReplaced(("pytest.py",)) in findings["claude"]
    assert ToolsReplaced(("pytest.py",)) not in findings["gpt"]


async def test_a_build_without_a_passing_candidate_says_so_and_writes_nothing(bench: Roundtable, code: Path) -> None:
    meeting = DeskMeeting(
        bench, claude=slug_writer(BROKEN_SLUG, BROKEN_SLUG), gpt=slug_writer("def slugify(:\n", "def slugify(:\n")
    )
    decision = await meeting.hold("build", TASK, answers=YES)
    assert decision.outcome is Outcome.DEADLOCK
    assert decision_sentence(decision).startswith("No candidate passed.")
    assert "claude: The check tests failed with exit code 1: AssertionError: " in decision_sentence(decision), (
        "with what it said"
    )
    assert "gpt: slug.py: slug.py would not parse" in decision_sentence(decision)
    assert (code / "slug.py").read_text() == STUB
    assert not (await bench.sessions.get(meeting.session)).gates


async def test_a_single_seat_can_build_and_the_decision_says_that_it_was_alone(bench: Roundtable, code: Path) -> None:
    decision = await DeskMeeting(bench, claude=slug_writer(SLUG)).hold("build", TASK, answers=YES)
    assert (code / "slug.py").read_text() == SLUG
    assert notice_sentences(decision) == ("Only one seat wrote this change.",)


async def test_a_headless_build_writes_nothing_and_its_draft_can_be_applied_later_without_model_calls(
    bench: Roundtable, code: Path
) -> None:
    meeting = DeskMeeting(bench, claude=slug_writer(SLUG))
    decision = await meeting.hold("build", TASK)
    assert decision.outcome is Outcome.DEADLOCK
    assert "nobody approved it" in decision_sentence(decision)
    assert (code / "slug.py").read_text() == STUB
    later = DeskMeeting(bench, claude=[])
    later.session = await bench.meetings.open_apply(meeting.session, Agenda("", headless=True, answers=YES))
    applied = await later.hold("apply")
    assert applied.outcome is Outcome.REACHED
    assert later.voices.calls == []
    assert (code / "slug.py").read_text() == SLUG


@pytest.mark.feature("S0.18", "S0.20")
async def test_candidates_with_equal_results_are_judged_blind_and_merged_by_structure(
    bench: Roundtable, code: Path
) -> None:
    extra = '\n\ndef unslug(text):\n    return text.replace("-", " ")\n'
    ruling = merge_verdict(BLIND["claude"], f"add {BLIND['gpt']}'s unslug in slug.py.")
    meeting = DeskMeeting(
        bench,
        claude=slug_writer(SLUG),
        gpt=slug_writer(JOINED_SLUG + extra),
        gemini=slug_writer(BROKEN_SLUG, STUB, judge=ruling),
    )
    decision = await meeting.hold("build", TASK, answers=YES, seed=7)
    assert decision.author == "claude"
    text = (code / "slug.py").read_text()
    assert text.startswith(SLUG)
    assert "def unslug(text):" in text
    session = await bench.sessions.get(meeting.session)
    merged = next(result for result in session.results.values() if isinstance(result, DraftsSynthesised))
    assert [(part.symbol, part.seat) for part in merged.took] == [("unslug", "gpt")]
    assert "unslug from gpt" in decision_sentence(decision)
    ab, ba = (meeting.prompt(f"build/3-judge-{order}", "gemini") for order in ("ab", "ba"))
    assert ab.index(SLUG) < ab.index(JOINED_SLUG) or ba.index(SLUG) < ba.index(JOINED_SLUG)
    assert (ab.index(SLUG) < ab.index(JOINED_SLUG)) != (ba.index(SLUG) < ba.index(JOINED_SLUG))
    fences = [re.findall(r'<answer from="candidates: (candidate-\w)">', order) for order in (ab, ba)]
    assert fences[0] == fences[1], "who was A is B in the second reading"
    assert set(fences[0]) == {BLIND["claude"], BLIND["gpt"]}, "each stands in a fence of its own"
    assert "claude" not in ab
    assert "Here it is." not in ab, "what an author says of its work is not shown"
    assert not any("judge" in call.call and call.seat != "gemini" for call in meeting.voices.calls)


@pytest.mark.parametrize("always", ["candidate-A", "candidate-B"])
async def test_a_verdict_that_depends_on_order_or_name_is_discarded(bench: Roundtable, code: Path, always: str) -> None:
    same = {"round": "*-judge-*", "text": merge_verdict(always)}
    meeting = DeskMeeting(
        bench, claude=slug_writer(SLUG), gpt=slug_writer(JOINED_SLUG), gemini=[same, *slug_writer(STUB, STUB)]
    )
    decision = await meeting.hold("build", TASK, seed=7)
    assert (
        "Votes not counted, because the judge reversed its vote when the order was swapped: gemini."
        in decision_sentence(decision)
    )


async def test_if_no_judge_answers_the_decision_says_which_candidate_was_taken_and_why(
    bench: Roundtable, code: Path
) -> None:
    silent = {"round": "*-judge*", "fault": "overloaded"}
    meeting = DeskMeeting(bench, claude=[silent, *slug_writer(SLUG)], gpt=[silent, *slug_writer(JOINED_SLUG)])
    decision = await meeting.hold("build", TASK, seed=7)
    taken = (
        f"No judge answered, so {decision.author}'s candidate was chosen, because it is the first of the equally good "
        "candidates."
    )
    assert taken in decision_sentence(decision)


async def test_a_person_can_accept_some_hunks_and_reject_others(bench: Roundtable, code: Path) -> None:
    changed = {"slug.py": SLUG, "README.md": "Slugs, and nothing else.\n"}
    meeting = DeskMeeting(bench, claude=[{"text": files_reply(changed)}])
    hunks = {"rejected": ["README.md#1"]}
    decision = await hold_with_person(meeting, bench, approve=("some", json.dumps(hunks)))
    assert decision.outcome is Outcome.REACHED
    assert (code / "slug.py").read_text() == SLUG
    assert (code / "README.md").read_text() == "Slugs.\n"
    assert "Approved-By: anna" in git(code, "log", "-1", "--format=%B")


@pytest.mark.feature("S4.26")
async def test_a_person_can_ask_the_table_about_a_hunk_and_then_reject_the_change(
    bench: Roundtable, code: Path
) -> None:
    about = {"round": "*-about", "text": "It trims the ends, since titles come with spaces."}
    meeting = DeskMeeting(bench, claude=[*slug_writer(SLUG), about], gpt=[*slug_writer(SLUG), about])
    decision = await hold_with_person(meeting, bench, approve=("ask", "slug.py#1: why strip?"), approve_2=("none", ""))
    assert decision.outcome is Outcome.REJECTED
    assert (code / "slug.py").read_text() == STUB
    prompt = meeting.prompt("build/3-about", "gpt")
    assert "why strip?" in prompt
    assert "+    return text.strip()" in prompt


async def test_an_irreversible_deletion_requires_the_confirmation_phrase(bench: Roundtable, code: Path) -> None:
    write(code, {"notes.txt": "not in git\n"})
    reply = {"text": files_reply({"slug.py": SLUG}) + "\nDELETE notes.txt\n"}
    for answer, is_kept in (("yes", True), ("", True), ("the phrase", False)):
        meeting = DeskMeeting(bench, claude=[reply])

        async def confirmed(meeting: DeskMeeting = meeting, answer: str = answer) -> None:
            await answer_gates(meeting, bench, approve=("all", ""))
            session = await wait_for_gate(meeting, bench, "destroy")
            phrase = next(result.phrase for result in session.results.values() if isinstance(result, ChangePlanned))
            assert phrase
            assert phrase in session.gates["destroy"].question
            await bench.gates.answer(
                meeting.session, "destroy", "confirm", phrase if answer == "the phrase" else answer
            )

        await meeting.open("build", TASK, headless=False)
        decision, _ = await asyncio.gather(meeting.hold("build"), confirmed())
        assert (code / "notes.txt").exists() is is_kept
        assert ((code / "slug.py").read_text() == STUB) is is_kept
        assert (decision.outcome is Outcome.REACHED) is not is_kept


async def test_a_change_that_fails_its_rehearsal_returns_to_its_author_and_needs_a_new_approval(
    bench: Roundtable, code: Path
) -> None:
    """The person rejects a hunk that the change needs; the author's repair is a new draft."""
    helper = "def small(text):\n    return text.strip().lower()\n"
    using = 'from helper import small\n\n\ndef slugify(text):\n    return "-".join(small(text).split())\n'
    write(code, {"slug.py": SLUG})
    git(code, "commit", "-qam", "It works")
    mended = {"round": "*-repair", "text": files_reply({"slug.py": JOINED_SLUG})}
    meeting = DeskMeeting(
        bench,
        claude=[mended, {"text": files_reply({"helper.py": helper, "slug.py": using, "test_tabs.py": TABS_TEST})}],
    )
    rest = json.dumps({"rejected": ["helper.py#1"]})
    decision = await hold_with_person(meeting, bench, "Split slugify().", approve=("some", rest), approve_2=("all", ""))
    assert decision.outcome is Outcome.REACHED
    assert (code / "slug.py").read_text() == JOINED_SLUG
    assert not (code / "helper.py").exists()
    broken = next(
        result
        for result in (await bench.sessions.get(meeting.session)).results.values()
        if isinstance(result, ChangeRehearsed)
    )
    assert broken.broken_checks == ("tests", "its own tests")
    assert "No module named 'helper'" in meeting.prompt("build/3-repair", "claude")


async def test_in_an_empty_folder_without_git_candidates_are_checked_by_their_own_tests(
    tmp_path: Path, bench_places: Places
) -> None:
    await sandbox()
    folder = tmp_path / "new"
    folder.mkdir()
    broken = {"slug.py": BROKEN_SLUG, "test_slug.py": SLUG_TEST}
    right = {"slug.py": SLUG, "test_slug.py": SLUG_TEST}
    async with await Roundtable.open(folder, bench_places) as desk:
        meeting = DeskMeeting(desk, claude=[{"text": files_reply(broken)}], gpt=[{"text": files_reply(right)}])
        decision = await meeting.hold("build", TASK, answers=YES, settings={"mends": 0})
    assert decision.author == "gpt"
    assert (folder / "slug.py").read_text() == SLUG
    assert (folder / "test_slug.py").read_text() == SLUG_TEST


def converter_files(factor: str, **depends_on: str) -> dict[str, str]:
    """Return a JavaScript module with a test and a package.json."""
    package = {"type": "module", "scripts": {"test": "node --test"}, "dependencies": depends_on}
    imports = "import assert from 'node:assert'\nimport test from 'node:test'\nimport { toF } from './convert.js'\n"
    return {
        "package.json": json.dumps(package) + "\n",
        "convert.js": f"export const toF = (c) => {factor}\n",
        "convert.test.js": imports
        + "".join(f"import '{name}'\n" for name in depends_on)
        + "test('ice melts', () => assert.equal(toF(0), 32))\n",
    }


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not here")
async def test_in_an_empty_folder_a_candidate_that_fails_its_own_test_script_is_fixed_or_not_written(
    tmp_path: Path, bench_places: Places
) -> None:
    await sandbox()
    folder = tmp_path / "new"
    folder.mkdir()
    broken, right = ([{"text": files_reply(converter_files(line))}] for line in ("c * 1.8", "c * 1.8 + 32"))
    mended = [{**right[0], "round": "*-mend"}, *broken]
    async with await Roundtable.open(folder, bench_places) as desk:
        decision = await DeskMeeting(desk, claude=broken).hold("build", "Write convert.js", answers=YES)
        assert decision_sentence(decision).startswith(
            "No candidate passed. claude: The check npm test failed with exit code 1"
        )
        assert list(folder.iterdir()) == []
        meeting = DeskMeeting(desk, claude=mended)
        decision = await meeting.hold("build", "Write convert.js", answers=YES)
        assert "not ok 1 - ice melts" in meeting.prompt("build/2-mend", "claude")
    assert decision_sentence(decision).startswith(
        "Written after 1 check on the merged tree: convert.js, convert.test.js and package"
    )
    assert "claude's candidate passed 1 check" in decision_sentence(decision)
    assert notice_sentences(decision) == ("Only one seat wrote this change.",)


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not here")
async def test_a_new_project_is_not_rejected_for_tests_that_need_missing_packages(
    tmp_path: Path, bench_places: Places
) -> None:
    await sandbox()
    folder = tmp_path / "new"
    folder.mkdir()
    async with await Roundtable.open(folder, bench_places) as desk:
        meeting = DeskMeeting(desk, claude=[{"text": files_reply(converter_files("c * 1.8 + 32", express="^5"))}])
        decision = await meeting.hold("build", "Write convert.js", answers=YES)
    assert (folder / "convert.js").exists()
    assert "claude's candidate was neither run nor judged." in notice_sentences(decision)


@pytest.mark.parametrize("turned", [False, True], ids=["a verdict stands", "no verdict stands"])
async def test_a_notice_says_that_a_candidate_was_neither_run_nor_judged(
    tmp_path: Path, bench_places: Places, *, turned: bool
) -> None:
    await sandbox()
    (tmp_path / "new").mkdir()
    judging = [
        {"round": "*-judge-ab", "text": merge_verdict("candidate-A")},
        {"round": "*-judge-ba", "text": merge_verdict("candidate-A" if turned else "candidate-B")},
    ]
    one, other = ([{"text": files_reply({"Slug.java": f"class Slug {{ int x = {number}; }}\n"})}] for number in (1, 2))
    async with await Roundtable.open(tmp_path / "new", bench_places) as desk:
        meeting = DeskMeeting(desk, claude=[*judging, *one], gpt=[*judging, *other])
        decision = await meeting.hold("build", "Write Slug.java", answers=YES, seed=7)
    untried = (f"{decision.author}'s candidate was neither run nor judged.",)
    assert notice_sentences(decision) == (untried if turned else ())
    assert decision.degraded is turned


async def test_progress_of_running_checks_is_shown_live_and_not_stored(bench: Roundtable) -> None:
    meeting = DeskMeeting(bench, claude=slug_writer(BROKEN_SLUG, BROKEN_SLUG))
    heard: list[Delta] = []

    async def listen() -> None:
        async for items in feed.subscribe(meeting.session).batches():
            heard.extend(item for item in items if isinstance(item, Delta))

    await meeting.open("build", TASK)
    feed = (await meeting.table()).parts.feed
    listening = asyncio.create_task(listen())
    await asyncio.sleep(0)
    await meeting.hold("build")
    await asyncio.wait_for(listening, 10)
    text = "".join(call.text for call in heard if call.round == "build/try")
    lines = text.splitlines()
    assert lines.index("tests with claude: FAILED (failures=1)") < lines.index("tests failed with claude")
    assert all(line.startswith(("tests before: ", "tests with claude: ", "tests failed ")) for line in lines)
    assert feed.snapshot(meeting.session) == []


async def test_a_dry_run_shows_the_plan_and_opens_no_gate(bench: Roundtable, code: Path) -> None:
    meeting = DeskMeeting(bench, claude=slug_writer(SLUG))
    decision = await meeting.hold("build", TASK, settings={"dry_run": True}, answers=YES)
    assert decision.outcome is Outcome.REACHED
    assert "dry run" in decision_sentence(decision)
    assert not (await bench.sessions.get(meeting.session)).gates
    assert (code / "slug.py").read_text() == STUB
