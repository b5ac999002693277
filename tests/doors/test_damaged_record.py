"""A record with damaged facts: one session is lost in part, everything else works, and every command says so."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.doors.command_line import Cli
from tests.doors.scripted_seats import council_seat

QUESTIONS = ("Tabs or spaces?", "Red or blue?", "Tea or milk?")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Three finished sessions; the opening of the second is overwritten."""
    person = Cli(tmp_path)
    for question in QUESTIONS:
        person.run("discuss", question, *person.script(a=council_seat("REST"), b=council_seat("REST")))
    with sqlite3.connect(person.home / "roundtable.db") as db:
        (hurt,) = db.execute("SELECT id FROM sessions WHERE question = ?", (QUESTIONS[1],)).fetchone()
        db.execute("UPDATE events SET body = '{garbage' WHERE session = ? AND seq IN (1, 3)", (hurt,))
    db.close()
    return person


def document(cli: Cli, *args: str, code: int = 0) -> Any:
    """The JSON document that a command prints."""
    return json.loads(cli.run(*args, "--json", code=code).stdout)


def slugs(cli: Cli) -> dict[str, str]:
    return {row["question"]: row["slug"] for row in document(cli, "list")["sessions"]}


def test_a_damaged_session_is_listed_as_damaged_beside_the_others(cli: Cli) -> None:
    assert {row["question"]: row["status"] for row in document(cli, "list")["sessions"]} == {
        "Tabs or spaces?": "done",
        "Red or blue?": "damaged",
        "Tea or milk?": "done",
    }
    assert "damaged" in cli.run("list", "--all").stdout


def test_the_other_sessions_and_the_memory_still_work(cli: Cli) -> None:
    address = slugs(cli)
    for question in (QUESTIONS[0], QUESTIONS[2]):
        assert question in cli.run("show", address[question]).stdout
        cli.run("recount", address[question])
    cli.run("gates")
    cli.run("gc", "--max-age-days", "1")
    assert "Red or blue?" in cli.run("chronicle").stdout
    cli.run("discuss", "Cats or dogs?", *cli.script(a=council_seat("REST"), b=council_seat("REST")))


def test_the_workspace_folder_is_written_without_the_damaged_session(cli: Cli) -> None:
    (cli.work / ".roundtable").mkdir()
    assert "is damaged" in cli.run("sync", code=2).stderr
    assert len(list((cli.work / ".roundtable").rglob("decisions.md"))) == 2


def test_show_names_the_damage_and_recovers_what_can_be_read(cli: Cli) -> None:
    address = slugs(cli)[QUESTIONS[1]]
    refused = cli.run("show", address, code=1)
    assert "is damaged" in refused.stderr
    assert "--recover" in refused.stderr
    recovered = cli.run("show", address, "--recover").stdout
    assert "2 of " in recovered.splitlines()[0]
    assert "(numbers: 1, 3)" in recovered
    assert "decision.made" in recovered
    lines = [
        json.loads(line) for line in cli.run("show", address, "--recover", "--format", "jsonl").stdout.splitlines()
    ]
    assert [line["kind"] for line in lines if line["seq"] in (1, 3)] == ["damaged", "damaged"]


def test_verify_and_the_doctor_find_the_damage(cli: Cli) -> None:
    assert [fact["seq"] for fact in document(cli, "verify", code=1)["damaged"]] == [1, 3]
    assert "damaged events 1, 3" in cli.run("verify", code=1).stdout
    assert "roundtable verify" in document(cli, "doctor", code=1)["store"]["integrity"]


def test_verify_finds_nothing_in_a_sound_record(tmp_path: Path) -> None:
    assert "can be read" in Cli(tmp_path).run("verify").stdout
