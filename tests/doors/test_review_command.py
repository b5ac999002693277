"""`review`: changes reviewed from the real command line, on a real repository, with real runs of what was found."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.doors.command_line import Cli
from tests.doors.scripted_seats import Seat, with_json_block
from tests.repository import commit, git, repository, sandbox, write

BEFORE = "def half(number):\n    return number // 2 if number else 0\n"
AFTER = "def half(number):\n    return 2 // number\n"
CRASH = "import sys, maths\ntry:\n    maths.half(0)\nexcept ZeroDivisionError:\n    sys.exit(0)\nsys.exit(1)\n"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    asyncio.run(sandbox())
    person = Cli(tmp_path)
    repository(person.work, {"maths.py": BEFORE})
    return person


def reviewer(*findings: dict[str, Any]) -> Seat:
    """A seat with these findings and no further proof."""
    turns = [{"round": "*blind", "text": with_json_block("Hm.", findings=findings)}]
    return {"turns": [*turns, {"round": "*examine", "text": with_json_block("No.", proofs=[])}]}


def finding(fault: str, proof: str = "", severity: str = "critical") -> dict[str, Any]:
    return {"place": "maths.py:2", "severity": severity, "wrong": fault, "proof": proof, "language": "python"}


def seats(cli: Cli, **turns: Seat) -> list[str]:
    """Seats whose script lies outside the repository."""
    args = cli.script(**turns)
    script = cli.work.parent / "s.json"
    os.rename(cli.work / "s.json", script)
    return [part.replace("script:s.json", f"script:{script}") for part in args]


def told(stdout: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stdout.splitlines()]


def test_a_review_lists_reproduced_findings_first_and_writes_nothing(cli: Cli) -> None:
    write(cli.work, {"maths.py": AFTER})
    crash = finding("half(0) divides by zero", CRASH)
    style = finding("The name says too little", severity="low")
    result = cli.run("review", *seats(cli, claude=reviewer(style, crash), gpt=reviewer()), "--plain")
    assert "Changes needed: 1 fault was reproduced." in result.stdout
    text = result.stdout[result.stdout.index("Changes needed:") :]
    assert text.index("half(0) divides by zero") < text.index("The name says too little")
    assert "Found by claude. A program of claude reproduces the fault." in text
    assert git(cli.work, "status", "--porcelain").strip() == "M maths.py"
    assert "half(0) divides by zero" in cli.run("show", "last").stdout


def test_in_json_the_decision_lists_every_finding_and_every_run_is_an_event(cli: Cli) -> None:
    write(cli.work, {"maths.py": AFTER})
    crash = finding("half(0) divides by zero", CRASH)
    finished = cli.run("review", *seats(cli, claude=reviewer(crash), gpt=reviewer(crash)), "--json")
    facts = told(finished.stdout)
    (decision,) = [fact["decision"] for fact in facts if fact["kind"] == "decision.made"]
    assert decision["outcome"] == "rejected"
    (only,) = decision["proposals"]
    assert only["text"] == "[critical, maths.py:2] half(0) divides by zero"
    assert only["authors"] == ["claude", "gpt"]
    (result,) = [fact["result"] for fact in facts if fact["kind"] == "effect.done"]
    assert [(proof["seat"], proof["held"], proof["held_before"]) for proof in result["proofs"]] == [
        ("claude", True, False),
        ("gpt", True, False),
    ]
    assert result["sandbox"]


def test_unproven_findings_exit_with_4_only_with_strict(cli: Cli) -> None:
    write(cli.work, {"maths.py": AFTER})
    args = seats(cli, claude=reviewer(finding("It is unclear")), gpt=reviewer())
    assert "No program confirmed or refuted" in cli.run("review", *args, "--strict", "--plain", code=4).stdout
    cli.run("review", *args)


def test_a_branch_and_a_patch_are_reviewed_like_the_working_tree(cli: Cli) -> None:
    git(cli.work, "checkout", "-qb", "faster")
    write(cli.work, {"maths.py": AFTER})
    (cli.work.parent / "p.diff").write_text(git(cli.work, "diff") + "\n")
    commit(cli.work, "Faster")
    git(cli.work, "checkout", "-q", "main")
    args = seats(cli, claude=reviewer(finding("half(0) divides by zero", CRASH)), gpt=reviewer())
    for source in (("--branch", "faster"), ("--patch", "../p.diff")):
        result = cli.run("review", *source, *args, "--plain")
        assert "Changes needed: 1 fault was reproduced." in result.stdout, source
    assert (cli.work / "maths.py").read_text() == BEFORE


def test_without_changes_no_seat_is_asked(cli: Cli) -> None:
    result = cli.run("review", *seats(cli, claude=reviewer(), gpt=reviewer()), code=2)
    assert result.stderr.startswith("Error: There is nothing to discuss: no file was changed.")
    assert "either" in cli.run("review", "--patch", "-", "--branch", "x", code=2).stderr


def test_a_review_shows_findings_locations_programs_and_missing_seats(cli: Cli) -> None:
    write(cli.work, {"maths.py": AFTER})
    crash, style = finding("half(0) divides by zero", CRASH), finding("The name says too little", severity="low")
    silent = reviewer(style)
    silent["turns"][1] = {"round": "*examine", "fault": "refused"}
    output = cli.run("review", *seats(cli, claude=reviewer(crash), gpt=silent), "--plain").stdout
    assert "[claude] Finds: half(0) divides by zero (critical, maths.py:2)\n" in output
    assert "[gpt] Finds: The name says too little (low, maths.py:2)\n" in output
    assert "The proof by claude confirmed this claim: “half(0) divides by zero”.\n" in output
    assert "\n  F2: [low, maths.py:2] The name says too little\n" in output
    assert "DEGRADED: counted 2 of 2; read the notices." in output
    assert "This seat did not answer in review/2-examine, the round that decides on unproven findings: gpt (" in output
    assert "\n  Reproduced:\n" in output
    assert "\n  Unproven:\n" in output
    assert "**" not in output


def test_an_unreadable_review_is_not_reported_as_clean(cli: Cli) -> None:
    write(cli.work, {"maths.py": AFTER})
    odd = {
        "turns": [{"text": with_json_block("Hm.", findings=[{"file": "maths.py", "line": 2, "oddity": "It crashes"}])}]
    }
    args = seats(cli, claude=reviewer(), gemini=reviewer(), gpt=odd)
    output = cli.run("review", *args, "--plain", "--strict", code=4).stdout
    assert "[gpt] Its reply could not be read; asking again.\n" in output
    assert "This reply does not count because no finding could be read from it: A finding has no description" in output
    assert "Decision reached: claude and gemini found no fault; gpt did not answer.\n" in output
    assert "No seat found a fault" not in output


def test_findings_under_another_field_name_are_read(cli: Cli) -> None:
    write(cli.work, {"maths.py": AFTER})
    output = {"file": "maths.py", "line": 2, "severity": "high", "finding": "half(0) divides by zero", "proof": CRASH}
    text = cli.run("review", *seats(cli, claude=reviewer(output), gpt=reviewer()), "--plain").stdout
    assert "Decision rejected: Changes needed: 1 fault was reproduced.\n" in text
    assert "F1 [high, maths.py:2] half(0) divides by zero" in text


def test_an_unreadable_review_is_sent_back_once_with_the_reason(cli: Cli) -> None:
    write(cli.work, {"maths.py": AFTER})
    odd = {"round": "*blind", "text": with_json_block("Hm.", findings=[{"oddity": "half(0) crashes"}])}
    mended = reviewer(finding("half(0) divides by zero", CRASH))
    sent_back = {**mended["turns"][0], "contains": "Describe the problem in its field `wrong`"}
    args = seats(cli, claude={"turns": [sent_back, odd, mended["turns"][1]]}, gpt=reviewer())
    output = cli.run("review", *args, "--plain").stdout
    assert "Decision rejected: Changes needed: 1 fault was reproduced.\n" in output
    assert "DEGRADED" not in output
