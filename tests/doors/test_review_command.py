"""`review`: changes reviewed from the real command line, on a real repository, with real runs of what was found."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.doors.parts import Seat, fenced
from tests.doors.terminal import Cli
from tests.repository import commit, git, repository, sandbox, write

BEFORE = "def half(number):\n    return number // 2 if number else 0\n"
AFTER = "def half(number):\n    return 2 // number\n"
CRASH = "import sys, maths\ntry:\n    maths.half(0)\nexcept ZeroDivisionError:\n    sys.exit(0)\nsys.exit(1)\n"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    asyncio.run(sandbox())
    found = Cli(tmp_path)
    repository(found.work, {"maths.py": BEFORE})
    return found


def reviewer(*findings: dict[str, str]) -> Seat:
    """A seat with these findings and no further proof."""
    turns = [{"round": "*blind", "text": fenced("Hm.", findings=findings)}]
    return {"turns": [*turns, {"round": "*examine", "text": fenced("No.", proofs=[])}]}


def finding(wrong: str, proof: str = "", severity: str = "critical") -> dict[str, str]:
    return {"place": "maths.py:2", "severity": severity, "wrong": wrong, "proof": proof, "language": "python"}


def seats(cli: Cli, **given: Seat) -> list[str]:
    """Seats whose script lies outside the repository."""
    args = cli.script(**given)
    script = cli.work.parent / "s.json"
    os.rename(cli.work / "s.json", script)
    return [part.replace("script:s.json", f"script:{script}") for part in args]


def told(stdout: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stdout.splitlines()]


def test_a_review_lists_what_was_reproduced_first_and_writes_nothing(cli: Cli) -> None:
    write(cli.work, {"maths.py": AFTER})
    crash = finding("half(0) divides by zero", CRASH)
    style = finding("The name says too little", severity="low")
    done = cli.run("review", *seats(cli, claude=reviewer(style, crash), gpt=reviewer()), "--plain")
    assert "Not as it is: one fault was reproduced." in done.stdout
    text = done.stdout[done.stdout.index("Not as it is") :]
    assert text.index("half(0) divides by zero") < text.index("The name says too little")
    assert "A program of claude shows it." in text
    assert git(cli.work, "status", "--porcelain").strip() == "M maths.py"
    assert "half(0) divides by zero" in cli.run("show", "last").stdout


def test_in_json_the_decision_names_every_finding_and_every_run_is_a_fact(cli: Cli) -> None:
    write(cli.work, {"maths.py": AFTER})
    crash = finding("half(0) divides by zero", CRASH)
    done = cli.run("review", *seats(cli, claude=reviewer(crash), gpt=reviewer(crash)), "--json")
    facts = told(done.stdout)
    (decision,) = [it["decision"] for it in facts if it["kind"] == "decision.made"]
    assert decision["outcome"] == "rejected"
    (only,) = decision["proposals"]
    assert only["text"] == "[critical, maths.py:2] half(0) divides by zero"
    assert only["authors"] == ["claude", "gpt"]
    (result,) = [it["result"] for it in facts if it["kind"] == "effect.done"]
    assert [(it["seat"], it["held"], it["held_before"]) for it in result["proofs"]] == [
        ("claude", True, False),
        ("gpt", True, False),
    ]
    assert result["sandbox"]


def test_unproven_findings_leave_with_4_only_under_strict(cli: Cli) -> None:
    write(cli.work, {"maths.py": AFTER})
    args = seats(cli, claude=reviewer(finding("It is unclear")), gpt=reviewer())
    assert "Neither shown nor refuted" in cli.run("review", *args, "--strict", "--plain", code=4).stdout
    cli.run("review", *args)


def test_a_branch_and_a_patch_are_reviewed_like_the_working_tree(cli: Cli) -> None:
    git(cli.work, "checkout", "-qb", "faster")
    write(cli.work, {"maths.py": AFTER})
    (cli.work.parent / "p.diff").write_text(git(cli.work, "diff") + "\n")
    commit(cli.work, "Faster")
    git(cli.work, "checkout", "-q", "main")
    args = seats(cli, claude=reviewer(finding("half(0) divides by zero", CRASH)), gpt=reviewer())
    for source in (("--branch", "faster"), ("--patch", "../p.diff")):
        done = cli.run("review", *source, *args, "--plain")
        assert "Not as it is: one fault was reproduced." in done.stdout, source
    assert (cli.work / "maths.py").read_text() == BEFORE


def test_where_nothing_was_changed_nobody_is_asked(cli: Cli) -> None:
    done = cli.run("review", *seats(cli, claude=reviewer(), gpt=reviewer()), code=2)
    assert done.stderr.startswith("Error: There is nothing to discuss: no file was changed.")
    assert "either" in cli.run("review", "--patch", "-", "--branch", "x", code=2).stderr
