"""What `roundtable doctor` reports."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import msgspec
import pytest

from roundtable.app.desk import Agenda, Roundtable, Setup
from roundtable.app.machine.discovery import propose_machine_seats
from roundtable.app.machine.doctor import DoctorReport
from roundtable.app.machine.seat_check import VoiceCheck
from roundtable.app.settings.places import Places
from roundtable.app.settings.secrets import store_key
from roundtable.core.values import Seat
from roundtable.store.database import MIGRATIONS
from roundtable.voices.fault_server import FaultServer

SCRIPT = '[[turns]]\ntext = "ready"'


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Remove all keys, and all programs except those in this folder."""
    for name in list(os.environ):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def install(programs: Path, name: str, script: str) -> None:
    (programs / name).write_text(f"#!/bin/sh\n{script}\n")
    (programs / name).chmod(0o755)


def configure(places: Places, text: str) -> None:
    places.user_config.parent.mkdir(parents=True, exist_ok=True)
    places.user_config.write_text(text)


def unheard(_seat: str, _check: VoiceCheck) -> None:
    """Ignore the progress of a check."""


def two_seats(places: Places, workspace: Path) -> None:
    (workspace / "s.toml").write_text(SCRIPT)
    configure(places, '[seats.a]\nvoices = ["script:s.toml"]\n[seats.b]\nvoices = ["cli:nowhere", "script:s.toml"]')


async def test_doctor_reports_no_problem_on_a_working_machine(places: Places, workspace: Path) -> None:
    two_seats(places, workspace)
    report = await Setup(places, workspace).examine()
    assert (report.ok, report.exit_code, report.session_state) == (True, 0, "skipped")
    assert {name: participant.status for name, participant in report.participants.items()} == {"a": "ok", "b": "ok"}
    assert report.participants["b"].voice == "script:s.toml"
    assert report.store.integrity == "absent"
    again = await Setup(places, workspace).examine()
    assert (again.store.schema, again.store.sessions, again.store.integrity) == (len(MIGRATIONS), 0, "ok")


async def test_the_json_report_of_doctor_has_stable_keys(places: Places, workspace: Path) -> None:
    two_seats(places, workspace)
    data = json.loads(msgspec.json.encode(await Setup(places, workspace).examine()))
    wanted = {"ok", "roundtable_home", "config", "store", "participants", "session_state", "models", "python", "extras"}
    assert wanted | {"platform", "agents", "sandboxes", "services", "keys"} <= set(data)
    assert data["roundtable_home"] == {"path": str(places.data), "readable": True, "writable": True}
    voice = {"status": "ok", "voice": "script:s.toml", "note": "script read (not tested)"}
    assert data["participants"]["a"] == {**voice, "voices": [voice], "judge": None}
    assert (data["seats_from"], data["deep"]) == ("config", False)
    assert set(data["store"]) == {"path", "schema", "sessions", "integrity"}
    assert data["models"]["smollm2-135m"] == "can be fetched"


@pytest.mark.parametrize(
    ("voice", "status", "note"),
    [
        ("script:none.toml", "missing", "There is no script"),
        ("openai:gpt-4o", "no_key", "Set the variable OPENAI_API_KEY, or store it: `roundtable keys set openai`."),
        ("nobody:x", "missing", "no endpoint called"),
        ("cli:nowhere", "missing", "no agent called `nowhere`"),
        ("gone:x", "unreachable", "No server answers at http://127.0.0.1:9/v1"),
        ("other:x", "missing", "needs the variable OTHER_URL"),
    ],
)
async def test_doctor_reports_an_unusable_seat_with_the_reason(
    places: Places, workspace: Path, voice: str, status: str, note: str
) -> None:
    endpoints = '[endpoints.gone]\nbase_url = "http://127.0.0.1:9/v1"\nlocal = true\n'
    endpoints += '[endpoints.other]\nbase_url = "${OTHER_URL}/v1"\n'
    configure(places, f'{endpoints}[seats.a]\nvoices = ["{voice}"]')
    report = await Setup(places, workspace).examine()
    seat = report.participants["a"]
    assert (seat.status, seat.voice) == (status, voice)
    assert note in seat.note
    assert (report.ok, report.exit_code) == (False, 2)


async def test_doctor_asks_a_model_only_on_request(places: Places, workspace: Path) -> None:
    async with FaultServer() as server:
        configure(places, f'[endpoints.lab]\nbase_url = "{server.url}"\n[seats.a]\nvoices = ["lab:alpha"]')
        assert (await Setup(places, workspace).examine()).ok
        assert server.seen == []
        asked = await Setup(places, workspace).examine(on_check=unheard)
    assert [seen.path for seen in server.seen] == ["/v1/chat/completions"]
    assert asked.deep
    assert asked.participants["a"].note.startswith("answered in")
    assert server.seen[0].body["max_tokens"] == 16


async def test_doctor_reports_a_seat_that_fails_when_asked(places: Places, workspace: Path) -> None:
    (workspace / "s.toml").write_text('[[turns]]\nfault = "quota"\nmessage = "No credit."')
    configure(places, '[seats.a]\nvoices = ["script:s.toml"]')
    report = await Setup(places, workspace).examine(on_check=unheard)
    assert (report.ok, report.participants["a"].status) == (False, "unusable")
    assert report.participants["a"].note.startswith("No credit.")


async def test_doctor_reports_every_voice_of_a_fallback_chain(places: Places, workspace: Path) -> None:
    (workspace / "s.toml").write_text(SCRIPT)
    configure(places, '[seats.a]\nvoices = ["cli:nowhere", "script:s.toml", "nosuch:x"]')
    report = await Setup(places, workspace).examine()
    seat = report.participants["a"]
    assert (report.ok, seat.voice) == (True, "script:s.toml")
    assert [(check.voice, check.status) for check in seat.voices] == [
        ("cli:nowhere", "missing"),
        ("script:s.toml", "ok"),
        ("nosuch:x", "missing"),
    ]


async def test_doctor_asks_a_fallback_chain_until_one_voice_answers(places: Places, workspace: Path) -> None:
    (workspace / "s.toml").write_text(SCRIPT)
    told: list[tuple[str, str, str]] = []
    async with FaultServer(key="right") as server:
        places.config.mkdir()
        store_key(places, workspace, "LAB_KEY", "the-wrong-one")
        lab = f'[endpoints.lab]\nbase_url = "{server.url}"\nkey = "secret:LAB_KEY"\n'
        configure(places, lab + '[seats.a]\nvoices = ["lab:x", "nosuch:x", "script:s.toml", "script:s.toml"]')
        seen = await Setup(places, workspace).examine()
        report = await Setup(places, workspace).examine(
            on_check=lambda seat, check: told.append((seat, check.voice, check.status))
        )
    assert seen.participants["a"].note == "key found (not tested)"
    assert told == [
        ("a", "lab:x", "key_rejected"),
        ("a", "nosuch:x", "missing"),
        ("a", "script:s.toml", "ok"),
    ]
    seat = report.participants["a"]
    assert report.ok
    assert seat.note.endswith("in place of lab:x")
    assert seat.voices[0].note.endswith("The provider rejected your stored LAB_KEY. Check the key.")
    assert seat.voices[-1].note == "script read (not tested)"
    assert all("roundtable doctor" not in check.note for check in seat.voices)


async def test_doctor_reports_a_missing_model_in_whole_sentences(places: Places, workspace: Path) -> None:
    (workspace / "s.toml").write_text('[[turns]]\nfault = "missing"\nmessage = "The model does not exist"')
    configure(places, '[seats.a]\nvoices = ["script:s.toml"]')
    report = await Setup(places, workspace).examine(on_check=unheard)
    assert report.participants["a"].note == "The model does not exist."


async def test_doctor_lists_programs_with_their_versions(places: Places, workspace: Path, programs: Path) -> None:
    two_seats(places, workspace)
    install(programs, "claude", 'echo "2.9.9 (Claude Code) $1 ${SOME_API_KEY:-no key}"; echo more')
    install(programs, "codex", "/bin/cat; exit 3")
    install(programs, "bwrap", "echo bubblewrap 0.8.0")
    report = await Setup(places, workspace).examine()
    claude = report.agents["claude"]
    assert (claude.path, claude.version) == (str(programs / "claude"), "2.9.9 (Claude Code) --version no key")
    assert claude.tried
    assert report.agents["codex"].version == ""
    assert {name: program.version for name, program in report.sandboxes.items()} == {"bwrap": "bubblewrap 0.8.0"}
    assert report.ok


async def test_doctor_lists_model_servers_and_the_key_store(places: Places, workspace: Path) -> None:
    two_seats(places, workspace)
    async with FaultServer() as server:
        with places.user_config.open("a") as file:
            file.write(f'\n[endpoints.lab]\nbase_url = "{server.url}"\nlocal = true\n')
        report = await Setup(places, workspace).examine()
    assert (report.services["lab"].answers, report.services["lab"].models) == (True, ("alpha",))
    assert (report.keys.stored, report.keys.note) == (0, "")


async def test_doctor_reports_unreadable_stored_keys(places: Places, workspace: Path) -> None:
    two_seats(places, workspace)
    places.secrets.write_text("{")
    places.secrets.chmod(0o600)
    report = await Setup(places, workspace).examine()
    assert "damaged" in report.keys.note
    assert (report.ok, report.exit_code) == (False, 2)


async def test_doctor_reports_a_broken_config(places: Places, workspace: Path) -> None:
    configure(places, "langage = 'en'")
    report = await Setup(places, workspace).examine()
    assert (report.ok, report.config.ok, report.exit_code) == (False, False, 2)
    assert "Did you mean" in report.config.note


async def test_doctor_reports_a_damaged_record(places: Places, workspace: Path) -> None:
    two_seats(places, workspace)
    places.database.write_bytes(b"this is no database" * 100)
    report = await Setup(places, workspace).examine(session="last")
    assert (report.ok, report.store.ok, report.exit_code) == (False, False, 1)
    assert "not a database" in report.store.integrity
    assert report.session_state == "error"


async def test_doctor_reports_a_record_of_a_newer_version(places: Places, workspace: Path) -> None:
    two_seats(places, workspace)
    await Setup(places, workspace).examine()
    with sqlite3.connect(places.database) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    report = await Setup(places, workspace).examine()
    assert not report.ok
    assert "version 999" in report.store.integrity


async def test_doctor_reports_whether_a_session_exists(places: Places, workspace: Path) -> None:
    two_seats(places, workspace)
    async with await Roundtable.open(workspace, places) as desk:
        await desk.meetings.open(Agenda("REST or GraphQL?", name="api"))
    assert (await Setup(places, workspace).examine("api")).session_state == "ok"
    missing = await Setup(places, workspace).examine("nothing-like-it")
    assert (missing.session_state, missing.ok, missing.exit_code) == ("missing", False, 2)


async def test_doctor_checks_the_remembered_seats(desk: Roundtable, places: Places, workspace: Path) -> None:
    desk.setup.remember_seats([Seat("kept", ("openai:gpt-4o",))])
    report = await Setup(places, workspace).examine()
    assert report.participants["kept"].status == "no_key"


async def test_doctor_checks_the_offered_seats_if_none_are_configured(places: Places, workspace: Path) -> None:
    async with FaultServer() as server:
        configure(places, f'[endpoints.lab]\nbase_url = "{server.url}"\nlocal = true')
        async with await Roundtable.open(workspace, places) as desk:
            offered = propose_machine_seats(await desk.setup.discover())
        report = await Setup(places, workspace).examine()
    assert [seat.voices for seat in offered] == [("lab:alpha",)] * 3
    assert list(report.participants) == [seat.name for seat in offered]
    assert (report.ok, report.seats_from) == (True, "found")
    assert any("in a script, add `--seat`" in advice for advice in report.advice)


async def test_doctor_reports_an_invalid_seat_and_still_checks_the_others(
    places: Places, workspace: Path, programs: Path
) -> None:
    install(programs, "claude", "exit 0")
    configure(places, '[table]\nseats = ["a", "b"]\n[seats.a]\nvoices = ["cli:claude"]')
    report = await Setup(places, workspace).examine()
    assert {name: participant.status for name, participant in report.participants.items()} == {
        "a": "ok",
        "b": "unusable",
    }
    assert report.participants["b"].note == "[seats.b] has no voices"


async def test_doctor_reports_a_home_that_cannot_be_written(tmp_path: Path, workspace: Path) -> None:
    (tmp_path / "file").write_text("")
    home = Places(tmp_path / "file" / "home", tmp_path / "file" / "home")
    report: DoctorReport = await Setup(home, workspace).examine()
    assert (report.roundtable_home.writable, report.ok, report.exit_code) == (False, False, 2)
    assert any("ROUNDTABLE_HOME" in advice for advice in report.advice)
