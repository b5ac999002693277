"""Commands that show things: show, list, status, doctor, voices, models, trust."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from roundtable.app.desk import Agenda, Places, Roundtable, Setup
from roundtable.core.events import GateOpened, Recorded, event_from_json
from roundtable.core.ports import Lease
from roundtable.core.values import Gate, Limits, Seat
from roundtable.doors.cli.main import cli
from roundtable.doors.cli.models import print_download_tenths
from roundtable.store.leases import lease_holder_of_this_process
from tests.stories.session_harness import position_reply

SLUG = "rest-or-graphql"
TALK: dict[str, Any] = {
    "seats": {
        "gpt": {"turns": [{"text": position_reply("Use REST", text="\x1b[31m# Mine\n<b>bold</b>")}]},
        "gemini": {"turns": [{"fault": "quota", "message": "No credit."}]},
    },
    "turns": [{"text": position_reply("Use REST")}],
}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A person with a home, a workspace, no keys and a bare PATH."""
    for name in list(os.environ):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    (tmp_path / "work" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("ROUNDTABLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "home"


def run(*args: str, input: str | None = None) -> Result:
    return CliRunner().invoke(cli, args, input=input)


def said(*args: str) -> Any:
    result = run(*args)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def seats() -> tuple[Seat, ...]:
    Path("talk.json").write_bytes(msgspec.json.encode(TALK))
    return tuple(Seat(name, ("script:talk.json",)) for name in ("claude", "gpt", "gemini"))


def hold(*, name: str = "", started: bool = True) -> str:
    """A session on the record, held to its end if `started`."""

    async def work() -> str:
        async with await Roundtable.open() as desk:
            limits = Limits(retries=0, budget_tokens=9000)
            session = await desk.meetings.open(
                Agenda("REST or GraphQL?", seats(), name=name, headless=True, limits=limits)
            )
            if started:
                await desk.meetings.run(session)
            return session

    return asyncio.run(work())


# --- show -----------------------------------------------------------------------------------------


def test_show_prints_markdown_into_a_pipe() -> None:
    hold()
    text = run("show").stdout
    assert text.startswith("# REST or GraphQL?\n")
    assert "**DEGRADED: counted 2 of 3.**" in text
    assert "> # Mine\n> \\<b>bold\\</b>" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("address", ["last", "api", "slug", "id"])
def test_show_accepts_every_kind_of_address(address: str) -> None:
    session = hold(name="api")
    row = said("list", "--json")["sessions"][0]
    argument = {"slug": row["slug"], "id": session[:13]}.get(address, address)
    assert said("show", argument, "--format", "json")["id"] == session


def test_show_in_every_format() -> None:
    session = hold()
    lines = run("show", session, "--format", "jsonl").stdout.splitlines()
    records = [event_from_json(line) for line in lines]
    assert [record.seq for record in records if isinstance(record, Recorded)] == list(range(1, len(lines) + 1))
    assert run("show", "--format", "html").stdout.startswith("<!doctype html>")
    data = said("show", "--format", "json")
    assert data["rounds"][0]["turns"][1]["text"] == "# Mine\n<b>bold</b>"
    assert data["decision"]["outcome"] == "reached"


def test_show_one_round() -> None:
    hold()
    assert run("show", "--round", "1").stdout.startswith("### council/1-blind\n")
    assert said("show", "--round", "1-blind", "--format", "json")["name"] == "council/1-blind"
    kinds = [json.loads(line)["kind"] for line in run("show", "--round", "1", "--format", "jsonl").stdout.splitlines()]
    assert (kinds[0], kinds[-1]) == ("round.opened", "round.closed")
    missing = run("show", "--round", "7")
    assert missing.exit_code == 2
    assert "council/1-blind" in missing.stderr


def test_show_without_any_session_names_the_list_command() -> None:
    result = run("show")
    assert result.exit_code == 2
    assert "roundtable list" in result.stderr


def on_terminal(*args: str) -> str:
    """What a command prints on a terminal of 80 columns."""
    own_end, program_end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    child = subprocess.Popen(
        [sys.executable, "-m", "roundtable", *args], stdout=program_end, stderr=program_end, env=environment
    )
    os.close(program_end)
    output = b""
    try:
        while piece := os.read(own_end, 65536):
            output += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(own_end)
    assert child.wait() == 0, output
    return output.decode()


def test_a_terminal_gets_rendered_text_and_a_table() -> None:
    hold()
    text = on_terminal("show")
    assert "\x1b[" in text
    assert "**DEGRADED" not in text
    assert "DEGRADED: counted 2 of 3." in text
    assert "\x1b[31m# Mine" not in text
    listed = on_terminal("list")
    assert SLUG in listed
    assert "\t" not in listed


# --- list and status ------------------------------------------------------------------------------


@pytest.mark.feature("S3.33")
def test_a_long_reply_is_shown_whole_on_a_terminal_in_seconds_of_the_processor() -> None:
    text = "```python\n" + "x = 1\n" * 160_000 + "```\nThe last words."
    Path("talk.json").write_bytes(msgspec.json.encode({"turns": [{"text": position_reply("Use REST", text=text)}]}))

    async def work() -> None:
        seats = tuple(Seat(name, ("script:talk.json",)) for name in ("claude", "gpt", "gemini"))
        async with await Roundtable.open() as desk:
            agenda = Agenda("REST or GraphQL?", seats, headless=True, limits=Limits(retries=0))
            await desk.meetings.run(await desk.meetings.open(agenda))

    asyncio.run(work())
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    shown = on_terminal("show")
    assert shown.count("The last words.") >= 3
    assert len(shown) > 3_000_000
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 10


def test_list_prints_complete_rows_in_a_pipe() -> None:
    empty = run("list")
    assert (empty.exit_code, empty.stdout) == (0, "")
    assert "no sessions" in empty.stderr
    hold()
    head, row = (line.split("\t") for line in run("list").stdout.splitlines())
    assert head == ["session", "status", "outcome", "seats", "age", "question"]
    assert row[0].endswith(SLUG)
    assert row[1:] == ["done", "reached (degraded)", "3", "now", "REST or GraphQL?"]


def test_list_can_include_all_workspaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold()
    (tmp_path / "other" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "other")
    assert said("list", "--json") == {"v": 1, "sessions": []}
    (row,) = said("list", "--all", "--json")["sessions"]
    assert row["workspace"] == str(tmp_path / "work")
    assert str(tmp_path / "work") in run("list", "--all").stdout


@pytest.mark.feature("S2.27")
def test_status_prints_the_persisted_session_as_json_by_workspace_and_session(tmp_path: Path) -> None:
    session = hold(name="api")
    data = said("status", "--workspace", str(tmp_path / "work"), "--session", "api", "--json")
    assert (data["id"], data["name"], data["question"]) == (session, "api", "REST or GraphQL?")
    assert data["decision"]["outcome"] == "reached"


@pytest.mark.feature("S3.32")
def test_status_for_people_and_programs() -> None:
    session = hold(name="api")
    text = run("status").stdout
    for part in ("REST or GraphQL?", "(api)", "reached: ended", "council/1-blind", " of 9,000", "✗ gemini  missing"):
        assert part in text
    data = said("status", session, "--json")
    assert (data["v"], data["running"], data["pid"], data["degraded"]) == (1, False, None, True)
    assert "text" not in data["rounds"][0]["turns"][0]


def test_a_running_session_names_its_process() -> None:
    session = hold(started=False)

    async def take() -> Lease:
        async with await Roundtable.open() as desk:
            lease, _ = await desk.parts.leases.acquire(session, lease_holder_of_this_process())
            await desk.parts.record.append(session, GateOpened(Gate("choose", "Which?", ("A", "none"), "none")), lease)
            return lease

    lease = asyncio.run(take())
    (listed,) = said("list", "--json")["sessions"]
    assert (listed["status"], listed["pid"]) == ("waiting", os.getpid())
    text = run("status").stdout
    assert f"running in process {os.getpid()}" in text
    assert f"{SLUG} choose=none" in text
    assert "roundtable resume" not in text

    async def let_go() -> None:
        async with await Roundtable.open() as desk:
            await desk.parts.leases.release(lease)

    asyncio.run(let_go())
    assert said("list", "--json")["sessions"][0]["pid"] is None
    text = run("status").stdout
    assert "no process runs it" in text
    assert re.search(rf"continue with: roundtable resume [\d-]+{SLUG}\n", text)


# --- doctor and voices ----------------------------------------------------------------------------


def test_doctor_checks_a_session() -> None:
    hold()
    assert "✓ session:" in run("doctor", "--session", "last").stdout
    result = run("doctor", "--session", "nothing-like-it", "--json")
    assert json.loads(result.stdout)["session_state"] == "missing"


def test_voices_never_prints_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "claude").chmod(0o755)
    result = run("voices")
    rows = {row[0]: row[1:] for row in (line.split("\t") for line in result.stdout.splitlines())}
    assert rows["openai:gpt-4o"] == ["yes", "OpenAI, key from OPENAI_API_KEY; judges as openai:gpt-4o-mini"]
    assert rows["xai:grok-4.7"] == ["no", "xAI: set XAI_API_KEY, or `roundtable keys set xai`"]
    assert rows["cli:claude"][0] == "yes"
    assert "--seat NAME=VOICE" in result.stderr
    data = run("voices", "--json").stdout
    assert {load["name"] for load in json.loads(data)["endpoints"]} > {"openai", "ollama"}
    assert "sk-secret" not in result.output + data


# --- models ---------------------------------------------------------------------------------------


def test_models_are_listed_chosen_and_downloaded_once(tmp_path: Path, home: Path) -> None:
    before = {model["name"]: model for model in said("models", "list", "--json")["models"]}
    assert "not installed" in run("models").stdout
    name, model = next(iter(before.items()))
    assert (model["installed"], model["licence"] != "") == (False, True)

    model_file = tmp_path / "own.gguf"
    model_file.write_bytes(b"GGUF" + bytes(60))
    assert run("models", "use", str(model_file)).exit_code == 0
    assert [model["path"] for model in said("models", "list", "--json")["models"] if model["default"]] == [
        str(model_file)
    ]

    installed = next(model for model in Setup(Places(home, home), home).list_models() if model.name == name)
    (target,) = (home / "models" / path for path in _files(home, name))
    target.touch()
    os.truncate(target, installed.size)
    fetched = run("models", "get", name)
    assert (fetched.exit_code, fetched.stdout) == (0, f"{target}\n")


def _files(home: Path, name: str) -> list[str]:
    from roundtable.voices.models import load_embedded_model_catalog

    return [load_embedded_model_catalog()[name].file]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("get", "smolm2-135m"), "Did you mean `smollm2-135m`?"),
        (("get", "smollm2-135m", "--from", "nowhere"), "has no source called `nowhere`"),
        (("use", "nothing"), "There is no model called `nothing`"),
        (("use", "/nowhere/x.gguf"), "cannot be read"),
    ],
)
def test_models_reports_errors(args: tuple[str, ...], words: str) -> None:
    result = run("models", *args)
    assert result.exit_code == 2
    assert words in result.stderr


def test_progress_in_a_pipe_is_one_line_per_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    tell = print_download_tenths("small")
    for received in range(0, 101, 5):
        tell(received * 1_000_000, 100_000_000)
    lines = capsys.readouterr().err.splitlines()
    assert (len(lines), lines[0], lines[-1]) == (11, "small: 0%", "small: 100%")


# --- trust ----------------------------------------------------------------------------------------


def test_trust_shows_the_settings_and_asks() -> None:
    assert "Nothing to trust" in run("trust").stderr
    Path(".roundtable").mkdir()
    file = Path(".roundtable/config.toml")
    file.write_text(
        '[seats.spy]\nvoices = ["openai:gpt-4o\\u001b[2J"]\n[endpoints.evil]\nbase_url = "http://evil/v1"\n'
    )
    refused = run("trust", input="n\n")
    assert refused.exit_code == 3
    assert "http://evil/v1" in refused.stderr
    assert "\x1b" not in refused.stderr
    assert run("trust", input="y\n").exit_code == 0
    assert "already trusted" in run("trust").stderr
    file.write_text(file.read_text() + "\n# changed")
    assert run("trust", "--yes").stderr.endswith("Trusted.\n")
    assert "no longer trusted" in run("trust", "--revoke").stderr
    assert "was not trusted" in run("trust", "--revoke").stderr
