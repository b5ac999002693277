"""A person with a small repository whose tests fail, and seats that write code for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.doors.command_line import Cli
from tests.doors.scripted_seats import blind_answer
from tests.repository import git, own_python, repository

CALC = "def double(x):\n    return x + x + 1\n\n\ndef half(x):\n    return x / 2\n"
TEST = (
    "import unittest\n\nfrom calc import double\n\n\nclass Doubles(unittest.TestCase):\n"
    "    def test_double(self):\n        self.assertEqual(double(2), 4)\n"
)
RIGHT = "return 2 * x"
WRONG = "return 3 * x"


def coder(line: str, extra: str = "") -> dict[str, Any]:
    """A seat that rewrites double(), and answers what it is asked about a hunk; `more` are further blocks."""
    code = CALC.replace("return x + x + 1", line)
    change = f"Here it is.\n\n```python calc.py\n{code}```\n{extra}"
    turns = [
        {"round": "*1-blind", "text": blind_answer("Fix double()")},
        {"round": "*about", "text": "It was asked for."},
        {"round": "*1-plan", "text": "1. Rewrite double()."},
        {"round": "*", "text": change},
    ]
    return {"turns": turns}


NOTES = "\n```markdown NOTES.md\n# Notes\n```\n"
"""A file that nobody asked for."""


def open_coding_workspace(folder: Path, **files: str) -> Cli:
    """The person, and the repository with one commit."""
    cli = Cli(folder)
    (cli.work / ".git").rmdir()
    repository(cli.work, {"calc.py": CALC, "test_calc.py": TEST, ".gitignore": "s.json\n", **files})
    own_python(cli.work)
    git(cli.work, "config", "user.name", "Anna")
    git(cli.work, "config", "user.email", "anna@localhost")
    return cli


def read_record(cli: Cli, session: str = "last") -> list[dict[str, Any]]:
    """The record of a session."""
    return [json.loads(line) for line in cli.run("show", session, "--format", "jsonl").stdout.splitlines()]
