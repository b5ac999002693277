"""Reviews of real changes in a real repository, with findings that are run in a real sandbox."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from roundtable.app.desk import Places, Roundtable
from roundtable.core.effects import ClaimsProven
from roundtable.core.values import Decision, Outcome
from roundtable.report.reasons import notice_sentences
from roundtable.report.transcript import render_transcript
from tests.repository import commit, git, repository, sandbox, write
from tests.stories.desk_meeting import DeskMeeting, Turns
from tests.stories.kill_and_resume import full_prompt, kill_after_every_fact
from tests.stories.session_harness import SessionHarness

if TYPE_CHECKING:
    from roundtable.app.desk import CodeChanges

BEFORE = """\
def average(prices):
    if not prices:
        return 0
    return sum(prices) / len(prices)


def cheapest(prices):
    return sorted(prices)[0]
"""
AFTER = """\
def average(prices):
    return sum(prices) / len(prices)


def cheapest(prices):
    return sorted(prices)[0]
"""
CRASH = """
import sys, shop
try:
    shop.average([])
except ZeroDivisionError:
    sys.exit(0)
sys.exit(1)
"""
OLD = """
import sys, shop
try:
    shop.cheapest([])
except IndexError:
    sys.exit(0)
sys.exit(1)
"""
WRONG = "import sys, shop\nsys.exit(0 if shop.average([1, 3]) != 2 else 1)"


def finding_block(fault: str, place: str = "shop.py:2", severity: str = "high", proof: str = "") -> dict[str, str]:
    return {"place": place, "severity": severity, "wrong": fault, "proof": proof, "language": "python"}


def reviewer_turns(*findings: dict[str, str], **proofs: str) -> Turns:
    """Return the turns of a seat with these findings, and with these proofs in the second round."""
    examined = [{"finding": id, "proof": proof, "language": "python"} for id, proof in proofs.items()]
    return [
        {"round": "*1-blind", "text": f"Hm.\n```json\n{json.dumps({'findings': findings})}\n```"},
        {"round": "*2-examine", "text": f"So.\n```json\n{json.dumps({'proofs': examined})}\n```"},
    ]


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Roundtable]:
    work, home = repository(tmp_path / "work", {"shop.py": BEFORE, "README.md": "A shop.\n"}), tmp_path / "home"
    monkeypatch.setenv("ROUNDTABLE_HOME", str(home))
    async with await Roundtable.open(work, Places(home, home)) as opened:
        yield opened


async def hold_review(
    desk: Roundtable, found: CodeChanges, patch: bool = False, **seats: Turns
) -> tuple[DeskMeeting, Decision]:
    """Hold the review of these changes as the command does."""
    await sandbox()
    meeting = DeskMeeting(desk, **seats)
    where: dict[str, Any] = {"base": found.base, "tip": found.tip, "patch": patch}
    return meeting, await meeting.hold("review", "What is wrong?", texts=found.texts, settings=where, seed=7)


async def blind_round_proofs(desk: Roundtable, meeting: DeskMeeting) -> ClaimsProven:
    """Return the results of the proofs in the blind round."""
    result = (await desk.sessions.get(meeting.session)).results["review/1-blind/proofs"]
    assert isinstance(result, ClaimsProven)
    return result


@pytest.mark.skipif(not shutil.which("node"), reason="Node is not here")
async def test_a_proof_may_use_packages_installed_in_the_repository(desk: Roundtable) -> None:
    module = "node_modules/close-to/index.js"
    write(desk.workspace, {".gitignore": "node_modules/\n", "sum.js": "exports.sum = (a, b) => a + b\n"})
    commit(desk.workspace, "A sum")
    write(desk.workspace, {module: "module.exports = (a, b) => Math.abs(a - b) < 0.01\n"})
    write(desk.workspace, {"sum.js": "exports.sum = (a, b) => a + b + 1\n"})
    proof = "process.exit(require('close-to')(require('./sum.js').sum(1, 2), 3) ? 1 : 0)"
    findings = finding_block("sum() adds one", "sum.js:1", proof=proof) | {"language": "javascript"}
    meeting, decision = await hold_review(
        desk, desk.changes.read_uncommitted(), claude=reviewer_turns(findings), gpt=reviewer_turns()
    )
    assert decision.position == "Changes needed: 1 fault was reproduced."
    (proven,) = (await blind_round_proofs(desk, meeting)).proofs
    assert (proven.held, proven.held_before) == (True, False)


async def test_findings_are_reproduced_or_refuted_or_marked_as_older_than_the_change(desk: Roundtable) -> None:
    write(desk.workspace, {"shop.py": AFTER})
    meeting, decision = await hold_review(
        desk,
        desk.changes.read_uncommitted(),
        claude=reviewer_turns(
            finding_block("average() divides by zero for no prices", severity="critical", proof=CRASH),
            finding_block("cheapest() raises for no prices", "shop.py:6", proof=OLD),
        ),
        gpt=reviewer_turns(
            finding_block("average() crashes when there are no prices", severity="medium"),
            finding_block("average() returns a wrong mean", "shop.py:2", "low", proof=WRONG),
        ),
    )
    assert decision.outcome is Outcome.REJECTED
    assert decision.position == "Changes needed: 1 fault was reproduced."
    assert [proposal.authors for proposal in decision.proposals] == [("claude", "gpt"), ("claude",), ("gpt",)]
    reproduced, old, refuted = re.split(r"\n\n(?=[A-Z])", decision.text)
    assert "average() divides by zero for no prices" in reproduced
    assert "Found by claude and gpt. A program of claude reproduces the fault." in reproduced
    assert old.startswith("Older than the change:")
    assert "cheapest() raises for no prices" in old
    assert refuted.startswith("Refuted:")
    assert "average() returns a wrong mean" in refuted
    assert notice_sentences(decision) == ()
    assert (await blind_round_proofs(desk, meeting)).sandbox
    assert (desk.workspace / "shop.py").read_text() == AFTER


async def test_an_unproven_finding_is_shown_to_all_and_another_seat_may_prove_it(desk: Roundtable) -> None:
    write(desk.workspace, {"shop.py": AFTER})
    broken = finding_block("average() divides by zero for no prices", proof="import no_such_module")
    vague = finding_block("The style is poor", "README.md:1", "low")
    meeting, decision = await hold_review(
        desk,
        desk.changes.read_uncommitted(),
        claude=reviewer_turns(broken, vague),
        gpt=reviewer_turns(F1=CRASH),
    )
    session = await desk.sessions.get(meeting.session)
    assert session.rounds["review/2-examine"].opened.expect.choices == ("F1", "F2")
    prompt = meeting.prompt("review/2-examine", "gpt")
    assert '<answer from="findings: F1">\n[high, shop.py:2] average() divides by zero for no prices\n' in prompt
    assert "ModuleNotFoundError" in prompt
    assert "claude" not in prompt
    assert decision.outcome is Outcome.REJECTED
    assert "Found by claude. A program of gpt reproduces the fault." in decision.text
    assert notice_sentences(decision) == ("No program confirmed or refuted these findings: F2.",)
    text = render_transcript(session)
    assert "The style is poor" in text


async def test_a_finding_refuted_for_one_seat_is_still_examined_in_another_seats_wording(desk: Roundtable) -> None:
    write(desk.workspace, {"shop.py": AFTER})
    mean = "average() crashes for no prices of a shop"
    crash = "average() divides by zero for no prices of a shop"
    meeting, decision = await hold_review(
        desk,
        desk.changes.read_uncommitted(),
        claude=reviewer_turns(
            finding_block(mean, proof=WRONG), finding_block("average() is wrong for 2 prices", proof=WRONG)
        ),
        gpt=reviewer_turns(finding_block(crash), finding_block("average() is wrong for 3 prices"), F1=CRASH),
    )
    prompt = meeting.prompt("review/2-examine", "gpt")
    assert f"[high, shop.py:2] {crash}\n{mean}\n" in prompt
    assert "[high, shop.py:2] average() is wrong for 3 prices" in prompt
    assert decision.outcome is Outcome.REJECTED
    assert [proposal.text for proposal in decision.proposals] == [
        f"[high, shop.py:2] {crash}",
        "[high, shop.py:2] average() is wrong for 2 prices",
        "[high, shop.py:2] average() is wrong for 3 prices",
    ]
    assert notice_sentences(decision) == ("No program confirmed or refuted these findings: F3.",)


async def test_a_finding_with_an_unknown_location_is_marked_as_such(desk: Roundtable) -> None:
    write(desk.workspace, {"shop.py": AFTER})
    _, decision = await hold_review(
        desk,
        desk.changes.read_uncommitted(),
        claude=reviewer_turns(
            finding_block("Wrong rounding", "shop.py:99"), finding_block("Wrong tax", "../home/config.toml:1")
        ),
        gpt=reviewer_turns(finding_block("Missing docs", "docs/shop.md:3"), finding_block("Fine place", "shop.py:2")),
    )
    assert "Its place does not exist: shop.py has only 8 lines." in decision.text
    assert "Its place does not exist: There is no file ../home/config.toml here." in decision.text
    assert "Its place does not exist: There is no file docs/shop.md here." in decision.text
    assert decision.text.count("Its place does not exist") == 3


async def test_a_review_runs_the_branch_regardless_of_the_checkout(desk: Roundtable) -> None:
    git(desk.workspace, "checkout", "-qb", "faster")
    write(desk.workspace, {"shop.py": AFTER})
    commit(desk.workspace, "Faster")
    git(desk.workspace, "checkout", "-q", "main")
    write(desk.workspace, {"shop.py": "not even Python("})
    crash = finding_block("average() divides by zero for no prices", proof=CRASH)
    meeting, decision = await hold_review(
        desk, desk.changes.read_branch("faster"), claude=reviewer_turns(crash), gpt=reviewer_turns()
    )
    assert decision.outcome is Outcome.REJECTED
    assert [(proof.held, proof.held_before) for proof in (await blind_round_proofs(desk, meeting)).proofs] == [
        (True, False)
    ]
    assert git(desk.workspace, "worktree", "list").count("\n") <= 1
    assert git(desk.workspace, "status", "--porcelain").strip() == "M shop.py"


async def test_a_patch_is_applied_to_a_copy_of_the_workspace(desk: Roundtable) -> None:
    write(desk.workspace, {"shop.py": AFTER})
    patch = git(desk.workspace, "diff")
    write(desk.workspace, {"shop.py": BEFORE})
    crash = finding_block("average() divides by zero for no prices", proof=CRASH)
    raw = f"{patch}\n".encode()
    meeting, decision = await hold_review(
        desk, desk.changes.read_patch(raw), patch=True, claude=reviewer_turns(crash), gpt=reviewer_turns()
    )
    assert decision.outcome is Outcome.REJECTED
    assert [(proof.held, proof.held_before) for proof in (await blind_round_proofs(desk, meeting)).proofs] == [
        (True, False)
    ]
    assert (desk.workspace / "shop.py").read_text() == BEFORE


async def test_a_patch_that_does_not_apply_is_reviewed_without_running_it(desk: Roundtable) -> None:
    write(desk.workspace, {"shop.py": AFTER})
    patch = git(desk.workspace, "diff")
    write(desk.workspace, {"shop.py": "something = 'else entirely'\n"})
    crash = finding_block("average() divides by zero for no prices", proof=CRASH)
    _, decision = await hold_review(
        desk,
        desk.changes.read_patch(f"{patch}\n".encode()),
        patch=True,
        claude=reviewer_turns(crash),
        gpt=reviewer_turns(),
    )
    assert decision.outcome is Outcome.REACHED
    assert "No program could be run" in notice_sentences(decision)[0]
    assert "The patch does not apply here" in notice_sentences(decision)[0]


async def test_without_a_sandbox_a_review_runs_nothing_and_says_so(
    desk: Roundtable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(desk.workspace, {"shop.py": AFTER})
    found = desk.changes.read_uncommitted()
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "git").symlink_to("/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    meeting = DeskMeeting(desk, claude=reviewer_turns(finding_block("It crashes", proof=CRASH)), gpt=reviewer_turns())
    decision = await meeting.hold("review", texts=found.texts, settings={"base": found.base}, seed=7)
    assert decision.outcome is Outcome.REACHED
    assert "No program could be run, so no finding is confirmed or refuted" in notice_sentences(decision)[0]
    assert "review/2-examine" not in (await desk.sessions.get(meeting.session)).rounds


HOSTILE: dict[str, Callable[[Path], str]] = {
    "writes": lambda work: f"import pathlib, sys\npathlib.Path({str(work / 'shop.py')!r}).write_text('x')\nsys.exit(2)",
    "writes beside": lambda work: f"import pathlib, sys\npathlib.Path({str(work.parent / 'x')!r}).touch()\nsys.exit(2)",
    "reads a secret": lambda work: "import sys\nprint(open('.env').read())\nsys.exit(0)",
    "calls out": lambda work: "import socket, sys\nsocket.create_connection(('192.0.2.1', 80), 2)\nsys.exit(0)",
}


@pytest.mark.parametrize("how", HOSTILE)
async def test_a_hostile_proof_reaches_no_network_and_no_files_outside(desk: Roundtable, how: str) -> None:
    write(desk.workspace, {"shop.py": AFTER, ".env": "PASSWORD=tulip"})
    program = HOSTILE[how](desk.workspace)
    meeting, decision = await hold_review(
        desk,
        desk.changes.read_uncommitted(),
        claude=reviewer_turns(finding_block("It crashes", proof=program)),
        gpt=reviewer_turns(),
    )
    assert [proof.held for proof in (await blind_round_proofs(desk, meeting)).proofs] == [None]
    assert decision.outcome is Outcome.REACHED
    assert (desk.workspace / "shop.py").read_text() == AFTER
    assert not (desk.workspace.parent / "x").exists()
    assert "tulip" not in str(await desk.sessions.records(meeting.session))


async def test_a_review_runs_at_most_the_allowed_number_of_programs_each_once(desk: Roundtable) -> None:
    write(desk.workspace, {"shop.py": AFTER})
    many = [
        finding_block(f"Fault {chr(97 + number) * 9}", f"shop.py:{number}", proof=f"exit(1)  # {number}")
        for number in range(1, 19)
    ]
    meeting, _ = await hold_review(
        desk, desk.changes.read_uncommitted(), claude=reviewer_turns(*many), gpt=reviewer_turns(*many[:1])
    )
    proofs = (await blind_round_proofs(desk, meeting)).proofs
    assert sum(result.held is False for result in proofs) == 17
    assert {result.why for result in proofs if result.held is None} == {
        "This program was not run: one step runs at most 16 programs."
    }
    assert {result.seat for result in proofs[:2]} == {"claude", "gpt"}


async def test_a_review_killed_after_any_fact_runs_and_asks_nothing_twice(desk: Roundtable) -> None:
    await sandbox()
    write(desk.workspace, {"shop.py": AFTER})
    script = {
        "seats": {
            "claude": {"turns": reviewer_turns(finding_block("It crashes", proof=CRASH))},
            "gpt": {"turns": reviewer_turns(finding_block("It is wrong", "shop.py:5"), F1=WRONG, F2=WRONG)},
        }
    }
    settings = {"base": desk.changes.read_uncommitted().base}
    decision = await kill_after_every_fact(
        lambda store: SessionHarness(script, store, meeting="review", workspace=desk.workspace),
        seats=("claude", "gpt"),
        settings=settings,
    )
    assert decision.outcome is Outcome.REJECTED
    assert "A program of gpt tested for the fault and did not find it." in decision.text


async def test_a_review_is_not_recalled_by_the_next_review(desk: Roundtable) -> None:
    write(desk.workspace, {"shop.py": AFTER})
    crash = finding_block("average() divides by zero for no prices", proof=CRASH)
    await hold_review(desk, desk.changes.read_uncommitted(), claude=reviewer_turns(crash), gpt=reviewer_turns())
    assert await desk.memory.entries(limit=None) == []


async def test_no_reviewer_sees_the_findings_of_others_in_the_first_round(desk: Roundtable) -> None:
    script = {
        "seats": {name: {"turns": reviewer_turns(finding_block(f"Seen by {name}"))} for name in ("claude", "gpt")}
    }
    harness = SessionHarness(script, meeting="review", workspace=desk.workspace)
    await harness.open(seats=("claude", "gpt"))
    await harness.run()
    for seat in ("claude", "gpt"):
        assert "Seen by" not in full_prompt(harness, "review/1-blind", seat)
        assert "Seen by claude" in full_prompt(harness, "review/2-examine", seat)
