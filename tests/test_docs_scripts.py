"""The page on scripts: its example runs as it stands, and it names every key, every meeting and every round."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from roundtable.core.decide import second_opinion
from roundtable.core.replies import CODECS, parse_seat_reply
from roundtable.core.replies.file_changes import parse_reply_file_changes
from roundtable.core.values import Expect
from roundtable.core.verdict import ParseStatus
from roundtable.meetings import MEETINGS
from roundtable.voices.scripted import ScriptedTurn

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "scripts.md").read_text()


def test_the_script_example_in_the_docs_runs(tmp_path: Path) -> None:
    (script,) = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    (tmp_path / "table.toml").write_text(script)
    (command,) = re.findall(r"^    roundtable (discuss (?:.*\\\n)*.*)$", PAGE, re.M)
    process = subprocess.run(
        [sys.executable, "-m", "roundtable", *shlex.split(command.replace("\\\n", " "))],
        cwd=tmp_path,
        env={**os.environ, "ROUNDTABLE_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "[alan] overloaded: " in process.stdout
    assert "[ada] I read the others and stay.\n" in process.stdout
    decision = "Decision reached: Spaces\n2 of 3 counted seats agree after reading each other's answers.\n"
    assert decision in process.stdout
    assert "DEGRADED" not in process.stdout


REFERENCE = (ROOT / "docs" / "reference.md").read_text()


@pytest.mark.parametrize("form", CODECS)
def test_the_example_of_every_reply_format_can_be_read(form: str) -> None:
    section = REFERENCE.partition(f"\n## {form}\n")[2].partition("\n## ")[0]
    reply = textwrap.dedent(section.partition("A reply:\n\n")[2])
    choices = () if form.startswith("changes") else ("A", "B", "C")
    reading = parse_seat_reply(Expect(form, choices), reply, structured=False)
    assert reply
    assert reading.verdict.parse is ParseStatus.EXACT
    assert not form.startswith("changes") or parse_reply_file_changes(reply).operations


def test_the_reference_says_how_the_rounds_of_every_meeting_are_answered() -> None:
    for name, rules in MEETINGS.items():
        section = REFERENCE.partition(f"\n- `{name}` (")[2].partition("\n- `")[0]
        assert "rounds: " in section
        assert set(re.findall(r"`([\w-]+)`", section.partition("rounds: ")[2].partition("\n")[0])) <= set(CODECS)
        assert all(f"`{gate}`" in section for gate in rules.gates)


def test_every_key_of_a_scripted_turn_is_documented() -> None:
    assert [name for name in ScriptedTurn.__struct_fields__ if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("page", ["meetings.md", "scripts.md"])
def test_every_shipped_meeting_is_in_the_tables_of_the_docs(page: str) -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "docs" / page).read_text(), re.M)
    assert set(MEETINGS) <= set(rows)


PROTOCOLS_FOLDER = ROOT / "src" / "roundtable" / "meetings"


def test_documented_rounds_have_the_names_of_the_meetings() -> None:
    rules = (
        "".join(path.read_text() for path in PROTOCOLS_FOLDER.glob("*.py")) + f"'{second_opinion.OPINIONS_ROUND_NAME}'"
    )
    documented = [match for match in re.findall(r"`([a-z-]+)/[0-9N]-([a-z-]+)`", PAGE) if match[0] in MEETINGS]
    assert documented
    assert [purpose for _, purpose in documented if not re.search(rf"[-\"']{purpose}[\"']", rules)] == []


@pytest.mark.parametrize("name", sorted(set(MEETINGS) - {"sdlc"}))
def test_every_round_of_a_meeting_is_documented(name: str) -> None:
    row = re.search(rf"^\| `{name}` \| (.*)$", PAGE, re.M)
    assert row
    planned = {planned_round.template for planned_round in MEETINGS[name].planned_rounds({}, ())}
    assert [template for template in planned if not re.search(rf"`{name}/[0-9N]-{template}", row[1])] == []


def test_documented_rounds_of_stages_have_the_names_of_the_stages() -> None:
    rules = "".join(path.read_text() for path in (PROTOCOLS_FOLDER / "stages").glob("*.py"))
    rules += (PROTOCOLS_FOLDER / "write_change.py").read_text()
    documented = set(re.findall(r"`(?:STAGE|execution/1|deliver)/[0-9N]-([a-z]+)", PAGE))
    assert len(documented) == 11
    pattern = r"-{0}[\"-]|\"{0}\""
    assert [purpose for purpose in documented if not re.search(pattern.format(purpose), rules)] == []
