"""The ledger from the command line; and forgetting sessions, which never forgets what they decided."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from roundtable.app.desk import Agenda, Roundtable
from roundtable.core.values import Limits, Seat
from roundtable.doors.cli.main import cli as front_door
from tests.doors.command_line import Cli
from tests.doors.scripted_seats import HANGING_SEAT, council_seat
from tests.stories.session_harness import position_reply
from tests.stories.test_code_red import diagnosis_reply, doctor_turns

QUESTION = "REST or GraphQL for the public API?"
OPTIONS = ("--option", "REST", "--option", "GraphQL")
FORETOLD = '{"stand": "B", "prediction": "By May three clients ask for batching.", "confidence": 6}'
SPLIT: dict[str, Any] = {
    "claude": council_seat("REST", "A"),
    "gpt": {
        "turns": [{"round": "*1-blind", "text": position_reply("GraphQL")}, {"round": "*reconsider", "text": FORETOLD}]
    },
    "gemini": council_seat("REST", "A"),
}
"""A table that outvotes gpt, which says what will come of it."""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A person who may type here as well as in another process."""
    cli = Cli(tmp_path)
    for name in list(os.environ):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(cli.work)
    monkeypatch.setenv("ROUNDTABLE_HOME", str(cli.home))
    return cli


def run(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(front_door, args)
    assert result.exit_code == code, result.output
    return result


def said(*args: str) -> Any:
    return json.loads(run(*args, "--json").stdout)


def talk(script: dict[str, Any], seats: tuple[str, ...] = ("claude", "gpt", "gemini")) -> list[str]:
    name = f"talk-{len(list(Path().glob('talk-*')))}.json"
    Path(name).write_text(json.dumps(script))
    return [part for seat in seats for part in ("--seat", f"{seat}=script:{name}")]


def decide(question: str, position: str, *options: str) -> str:
    """A council on which all agree; the id of its decision."""
    seats = talk({"turns": [{"text": position_reply(position)}]})
    run("discuss", question, *seats, "--headless", "--json", *options)
    return f"D-{newest()[-6:]}"


def newest() -> str:
    """The session with the newest fact."""
    return said("list")["sessions"][0]["id"]


# --- chronicle -----------------------------------------------------------------------------------


@pytest.mark.feature("S3.34", "S3.38")
@pytest.mark.usefixtures("cli")
def test_the_chronicle_lists_the_newest_first_and_searches_words_of_any_script() -> None:
    assert "No decisions have been made" in run("chronicle").stderr
    rest = decide(QUESTION, "Use REST")
    chinese = decide("数据库用什么？", "选择PostgreSQL数据库")
    head, *rows = [line.split("\t") for line in run("chronicle").stdout.splitlines()]
    assert head == ["decision", "state", "date", "decided", "question"]
    assert [row[0] for row in rows] == [chinese, rest]
    assert rows[1][1::2] == ["reached", "Use REST"]
    assert [entry["id"] for entry in said("chronicle", "which", "api?")["entries"]] == [rest]
    assert [entry["id"] for entry in said("chronicle", "数据库")["entries"]] == [chinese]
    assert [entry["id"] for entry in said("chronicle", "-n", "1")["entries"]] == [chinese]
    assert run("chronicle", '"NEAR(').stdout == ""
    assert "No decision matches" in run("chronicle", "kubernetes").stderr


@pytest.mark.feature("S3.34")
@pytest.mark.usefixtures("cli")
def test_an_entry_is_shown_with_the_other_entries_of_its_session() -> None:
    decision = decide(QUESTION, "Use REST")
    run("chronicle", "fail", decision, "It was too slow.")
    output = run("chronicle", "show", decision.lower()).stdout
    assert output.startswith(f"{decision}  decision, failed, ")
    assert f"question   {QUESTION}" in output
    assert f"{decision.replace('D-', 'F-')}  standing: Use REST" in output
    assert "roundtable show 20" in output
    entry = said("chronicle", "show", decision)
    assert (entry["entry"]["text"], len(entry["related"])) == ("Use REST", 1)
    assert "There is no entry D-000000" in run("chronicle", "show", "D-000000", code=2).stderr


@pytest.mark.feature("S3.8")
@pytest.mark.usefixtures("cli")
def test_the_workspaces_chronicle_file_is_a_living_summary_of_all_decisions() -> None:
    Path(".roundtable").mkdir()
    first = decide(QUESTION, "Use REST")
    text = Path(".roundtable/chronicle.md").read_text()
    assert first in text
    assert "Use REST" in text
    second = decide("Tabs or spaces?", "Spaces")
    run("chronicle", "fail", first, "It was too slow.")
    run("sync")
    text = Path(".roundtable/chronicle.md").read_text()
    assert all(words in text for words in (first, second, "Spaces", "It was too slow."))


def test_a_meeting_lists_the_memory_and_context_of_its_seats_live_and_in_every_view(cli: Cli) -> None:
    rest = decide(QUESTION, "Use REST")
    Path("api.md").write_text("Ten clients.")
    seats = talk({"turns": [{"text": position_reply("Use REST")}]})
    text, output = f"From earlier meetings (1): {rest} (decision)", "Files and texts (1): api.md"
    live = cli.run("discuss", QUESTION, *seats, "--headless", "--file", "api.md")
    assert {text, output} <= set(live.stdout.splitlines())
    assert {text, output} <= set(run("show", "last").stdout.splitlines())
    page = run("show", "last", "--format", "html").stdout
    assert all(f'<p class="soft">{line}</p>' in page for line in (text, output))
    data = said("show", "last")
    assert [datum["id"] for datum in data["recalled"]] == [rest]
    assert [datum["name"] for datum in data["context"]] == ["api.md"]
    assert "Ignore earlier decisions and decrees." in " ".join(run("discuss", "--help").stdout.split())
    run("discuss", QUESTION, *seats, "--headless", "--fresh")
    assert "Told of" not in run("show", "last").stdout


# --- decrees -------------------------------------------------------------------------------------


@pytest.mark.feature("S4.103")
@pytest.mark.usefixtures("cli")
def test_a_decree_blocks_a_decision_until_it_is_lifted_or_allowed() -> None:
    assert "There are no decrees" in run("decrees").stderr
    added = run("decrees", "add", "Use GraphQL", "--why", "Nobody here can run it.").stdout
    decree = added.split()[1]
    assert added == f"Decree {decree} is added; a meeting that proposes this again stops at a gate\n"
    assert run("decrees").stdout.splitlines()[1].split("\t") == [
        *(decree, "rejected", "standing"),
        *("Use GraphQL", "Nobody here can run it."),
    ]
    decide(QUESTION, "GraphQL for the public API")
    decide(QUESTION, "GraphQL for the public API", "--answer", "decree=allow")
    assert [(session["outcome"], session["degraded"]) for session in said("list")["sessions"]] == [
        ("reached", True),
        ("deadlock", False),
    ]
    assert "is lifted" in run("decrees", "lift", decree).stdout
    assert said("decrees")["entries"] == []
    assert [entry["state"] for entry in said("decrees", "--all")["entries"]] == ["lifted"]
    decide("Another question on the API?", "Use GraphQL")
    assert said("list")["sessions"][0]["outcome"] == "reached"
    assert "There is no decree or failure" in run("decrees", "lift", "R-0", code=2).stderr
    assert "The decree is empty." in run("decrees", "add", "", code=2).stderr
    run("decrees", "add", "Use SOAP")
    assert run("decrees").stdout.splitlines()[1].split("\t")[-2:] == ["Use SOAP", "no reason given"]


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.feature("S3.9", "S3.42")
@pytest.mark.usefixtures("cli")
def test_every_code_red_gets_a_permanent_number_in_the_error_log() -> None:
    assert "No errors have been diagnosed" in run("errors").stderr
    sure = doctor_turns(diagnosis_reply("stale-auth-token", 9, "The token is never refreshed."))
    seats = talk({"seats": {"ann": sure, "bob": sure}}, ("ann", "bob"))
    for symptom, choice in (("login crashes", "log"), ("logout crashes", "fix")):
        run("code-red", symptom, *seats, "--headless", "--answer", f"outcome={choice}", "--json")
    rows = [line.split("\t") for line in run("errors").stdout.splitlines()[1:]]
    assert [(row[0], row[1], row[4]) for row in rows] == [
        ("CR-002", "fixing", "logout crashes"),
        ("CR-001", "logged", "login crashes"),
    ]
    assert rows[0][3] == "Stale auth token"
    assert "is not closed" in run("errors", "reopen", "CR-001", code=2).stderr
    run("errors", "close", "cr-001", "done")
    assert "already closed" in run("errors", "close", "CR-001", "x", code=2).stderr
    assert [entry["state"] for entry in said("errors")["entries"]] == ["fixing", "closed"]
    run("errors", "reopen", "CR-001", "Seen again on Monday.")
    one = said("errors")["entries"][1]
    assert (one["state"], one["why"]) == (
        "logged",
        "The token is never refreshed. Closed: done. Reopened: Seen again on Monday.",
    )
    assert "There is no error CR-009" in run("errors", "close", "CR-009", "x", code=2).stderr
    Path(".roundtable").mkdir()
    run("sync")
    assert "CR-001" in Path(".roundtable/error-log.md").read_text()


# --- predictions ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("cli")
def test_due_predictions_come_first_and_every_seat_has_a_track_record() -> None:
    assert "No predictions have been made" in run("predictions").stderr
    for question in ("Which API?", "Which API, again?"):
        run("discuss", question, *talk({"seats": SPLIT}), *OPTIONS, "--headless", "--json")
    newer, older = said("chronicle")["entries"]
    due, later = (entry["id"].replace("D-", "P-") for entry in (newer, older))
    assert {entry["state"] for entry in said("predictions")["entries"]} == {"open"}
    run("predictions", "settle", later, "right", "Three clients asked for it.")
    listed = [line.split("\t")[:4] for line in run("predictions").stdout.splitlines()[1:]]
    assert [(row[0], row[1], row[3]) for row in listed] == [(due, "open", "gpt"), (later, "right", "gpt")]
    assert run("predictions", "record").stdout.splitlines()[1].split("\t") == ["gpt", "1 of 1", "1"]
    assert said("predictions", "record")["seats"] == [{"seat": "gpt", "right": 1, "settled": 1, "open": 1}]
    run("predictions", "settle", due, "maybe", "x", code=2)


def test_a_prediction_past_its_date_is_due(cli: Cli) -> None:
    cli.home.mkdir()
    (cli.home / "config.toml").write_text("[memory]\nprediction_days = 1\n")
    run("discuss", "Which API?", *talk({"seats": SPLIT}), *OPTIONS, "--headless", "--json")
    assert run("predictions").stdout.splitlines()[1].split("\t")[1] == "open"
    run("discuss", "Which API?", *talk({"seats": SPLIT}), *OPTIONS, "--headless", "--json")
    make_old(newest())
    rows = [line.split("\t") for line in run("predictions").stdout.splitlines()[1:]]
    assert [row[1] for row in rows] == ["due", "open"]


# --- forget and gc -------------------------------------------------------------------------------


@pytest.mark.feature("S2.29")
@pytest.mark.usefixtures("cli")
def test_forget_frees_the_name_and_keeps_exports_and_decisions() -> None:
    decision = decide(QUESTION, "Use REST", "--session", "api")
    (row,) = said("list")["sessions"]
    run("export", "api", "--layout", "runs", "-o", "out")
    exported = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    assert exported
    show = f"`roundtable show {row['slug']}`"
    forgotten = f"Session {row['slug']} is forgotten; until `roundtable gc` deletes it, {show} prints it\n"
    assert run("forget", "--session", "api").stdout == forgotten
    assert said("list")["sessions"] == []
    assert "There is no session api." in run("forget", "api", code=2).stderr
    assert "There are no sessions in this workspace yet." in run("forget", "last", code=2).stderr
    assert [entry["id"] for entry in said("chronicle")["entries"]] == [decision]
    for address in ("id", "slug"):
        assert "Use REST" in run("show", row[address]).stdout, "it is still there under its address"
    assert {path: path.read_bytes() for path in exported} == exported
    assert "already forgotten" in run("forget", row["id"], code=2).stderr
    assert "Give exactly one session" in run("forget", code=2).stderr
    decide("Another question?", "Yes, REST", "--session", "api")
    assert [session["name"] for session in said("list")["sessions"]] == ["api"]


@pytest.mark.feature("S2.7", "S2.44", "S2.29")
def test_a_running_session_cannot_be_run_twice_or_forgotten(cli: Cli) -> None:
    options = (*cli.script(a=council_seat("REST"), b=HANGING_SEAT), *OPTIONS, "--session", "api", "--json")
    with cli.started("discuss", "Which?", *options) as running:
        running.until("move.made")
        refused = run("discuss", "Which?", *options, code=5).stderr
        assert f"process {running.process.pid}" in refused
        assert "roundtable watch" in refused, "what to do instead"
        assert f"process {running.process.pid}" in run("forget", "api", code=5).stderr
        running.signal(signal.SIGINT)
        running.rest(code=130)
    cli.script(a=council_seat("REST"), b=council_seat("REST"))
    run("discuss", "Which?", *options)
    assert [session["outcome"] for session in said("list")["sessions"]] == ["reached"], "free again once it was let go"


@pytest.mark.feature("S2.24")
def test_a_session_name_belongs_to_its_workspace(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    unfinished = (*cli.script(a=council_seat("REST"), b=HANGING_SEAT), *OPTIONS, "--session", "api", "--json")
    with cli.started("discuss", "Which?", *unfinished) as running:
        running.until("move.made")
        running.signal(signal.SIGINT)
        running.rest(code=130)
    first = running.lines[0]["session"]
    other = cli.work.parent / "other"
    (other / ".git").mkdir(parents=True)
    monkeypatch.chdir(other)
    (other / "s.json").write_text(json.dumps({"seats": {"a": council_seat("REST"), "b": council_seat("REST")}}))
    run("discuss", "Which?", *unfinished)
    assert newest() != first
    monkeypatch.chdir(cli.work)
    (cli.work / "s.json").write_text(json.dumps({"seats": {"a": council_seat("REST"), "b": council_seat("REST")}}))
    run("discuss", "Which?", *unfinished)
    assert [(session["id"], session["outcome"]) for session in said("list")["sessions"]] == [(first, "reached")], (
        "the same goes on"
    )


def make_old(session: str) -> None:
    """As if nobody had touched it for a year or two."""
    with sqlite3.connect(os.environ["ROUNDTABLE_HOME"] + "/roundtable.db") as db:
        db.execute("UPDATE events SET at = '2024' || substr(at, 5) WHERE session = ?", (session,))
    db.close()


@pytest.mark.feature("S2.30")
def test_gc_deletes_old_idle_sessions_and_keeps_their_decisions(cli: Cli) -> None:
    decision, old = decide(QUESTION, "Use REST"), newest()
    decide("Tabs or spaces?", "Spaces")
    young = newest()
    Path("tie.json").write_text(
        json.dumps({"seats": {"a": council_seat("REST", "A"), "b": council_seat("GraphQL", "B")}})
    )
    waiting = asyncio.run(_left_at_a_gate())
    with cli.started(
        "discuss", "Which?", *cli.script(a=council_seat("REST"), b=HANGING_SEAT), *OPTIONS, "--json"
    ) as running:
        running.until("move.made")
        meeting = running.lines[0]["session"]
        for session in (old, waiting, meeting):
            make_old(session)
        assert said("gc", "--max-age-days", "30", "--dry-run")["sessions"][0]["id"] == old
        slugs = {session["id"]: session["slug"] for session in said("list")["sessions"]}
        assert len(slugs) == 4
        result = run("gc", "--max-age-days", "30", "--dry-run")
        assert result.stdout == f"{slugs[old]}\n"
        assert f"{slugs[meeting]} is kept: it is running." in result.stderr
        removed = said("gc", "--max-age-days", "30")
        assert [session["id"] for session in removed["sessions"]] == [old]
        assert removed["kept"] == {waiting: "it waits for your answer at the gate choose", meeting: "it is running"}
        assert removed["freed_bytes"] > 1000
    assert {session["id"] for session in said("list")["sessions"]} == {young, waiting, meeting}
    run("show", old, code=2)
    assert "Spaces" in run("show", young).stdout, "what it shares with others is still there"
    assert decision in run("chronicle", "graphql").stdout
    result = run("chronicle", "show", decision).stdout
    assert "its transcript was deleted" in result


async def _left_at_a_gate() -> str:
    """A council that ended in a tie and waits for the person, whose process has gone."""
    async with await Roundtable.open() as desk:
        seats = tuple(Seat(name, ("script:tie.json",)) for name in ("a", "b"))
        agenda = Agenda("Which?", seats, options=("REST", "GraphQL"), limits=Limits(retries=0))
        session = await desk.meetings.open(agenda)
        running = asyncio.create_task(desk.meetings.run(session))
        while (await desk.sessions.get(session)).open_gates == ():
            await desk.sessions.wait_for_facts(session, (await desk.sessions.get(session)).seq, 1)
        running.cancel()
        await asyncio.wait({running})
        return session


@pytest.mark.parametrize("command", ["chronicle", "decrees", "errors", "predictions"])
@pytest.mark.usefixtures("cli")
def test_every_command_of_the_ledger_explains_itself_with_an_example(command: str) -> None:
    group = front_door.get_command(front_door.make_context("roundtable", ["list"]), command)
    assert group is not None
    names = [line.split()[0] for line in run(command, "--help").stdout.partition("Commands:")[2].splitlines() if line]
    for words in ((command,), *((command, name) for name in names)):
        assert f"roundtable {command}" in run(*words, "--help").stdout.partition("Example")[2]
