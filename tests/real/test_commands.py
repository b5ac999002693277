"""Each document's flow from its own command, on a real model of a useful size."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.desk import Places
from tests.doors.command_line import ROUNDTABLE, Cli
from tests.repository import repository, write

pytestmark = pytest.mark.real

MODEL = "qwen2.5-coder-1.5b"
SEATS = ("--seat", f"ada=embedded:{MODEL}", "--seat", f"grace=embedded:{MODEL}")
ALONE = ("--headless", "--json")
CONFIG = """
limits = { seat_timeout = 600, round_deadline = 1800, max_tokens = 300 }
meetings = { debate.rounds = 1, code-red.rounds = 1, vote.rounds = 1, knights.rounds = 2 }
"""

SHOP = {
    "shop/cart.py": (
        "def total(prices, discount):\n"
        '    """The sum of the prices, less a discount in percent."""\n'
        "    return sum(prices) - sum(prices) * discount\n"
    ),
    "shop/__init__.py": "",
    "README.md": "# Shop\n\nA discount of 10 means ten percent.\n",
}

COMMANDS: dict[str, tuple[str, ...]] = {
    "second-opinion": ("ask", "Should a team of two split its one repository into five?", "--follow-up-once"),
    "debate": ("debate", "REST or GraphQL for an API with three phone clients?"),
    "code-red": ("code-red", "Carts with a discount of 10 have a negative total."),
    "vote": ("vote", "Which test should the shop get first?"),
    "knights": ("discuss", "Should total() take a fraction or a percentage?", "--meeting", "knights"),
    "council": ("summon",),
}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    runner = Cli(tmp_path)
    runner.home.mkdir()
    (runner.home / "config.toml").write_text(CONFIG)
    (runner.home / "models").symlink_to(Places.of_this_person().models)
    repository(runner.work, SHOP)
    write(runner.work, {"shop/cart.py": SHOP["shop/cart.py"].replace("* discount", "* discount / 100")})
    return runner


@pytest.mark.parametrize("meeting", COMMANDS)
def test_the_flow_of_each_document_ends_in_a_valid_outcome(cli: Cli, meeting: str) -> None:
    command = [*ROUNDTABLE, *COMMANDS[meeting], *SEATS, *ALONE]
    completed = subprocess.run(
        command, cwd=cli.work, env=cli.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert completed.returncode in (0, 3), completed.stderr
    facts: list[dict[str, Any]] = [json.loads(line) for line in completed.stdout.splitlines()]
    assert facts[0]["charter"]["meeting"] == meeting
    (decision,) = [fact["decision"] for fact in facts if fact["kind"] == "decision.made"]
    assert decision["how"]
    moves = [fact for fact in facts if fact["kind"] == "move.made"]
    readable = [move for move in moves if move.get("verdict", {}).get("parse", "exact") in ("exact", "repaired")]
    assert len(readable) * 2 > len(moves), "a model of this size can keep to the forms it is asked for"
    transcript = cli.run("show", "last").stdout
    assert "Traceback" not in completed.stderr + transcript
    cli.run("recount", "last")
