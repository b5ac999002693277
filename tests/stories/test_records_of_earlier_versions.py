"""Sessions recorded by an earlier version can be listed, shown, exported, recounted and resumed.

The sessions are in tests/fixtures/records; its README describes their content and origin. They are loaded into a
database with the schema of that version, so that opening it also migrates the schema.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sqlite3
import subprocess
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from roundtable.app.desk import Places, Roundtable
from roundtable.doors.cli.main import cli
from tests.repository import own_python, sandbox, write

RECORDS = Path(__file__).parents[1] / "fixtures" / "records"
PLACE = "/srv/table"
"""The folder below which the sessions were recorded; it stands in them wherever a path does."""

Data = dict[str, Any]
SESSIONS: list[Data] = json.loads((RECORDS / "sessions.json").read_text())
BY_LABEL: dict[str, Data] = {session["label"]: session for session in SESSIONS}
LABELS = list(BY_LABEL)
UNFINISHED = [label for label, entry in BY_LABEL.items() if entry.get("interrupted")]
API = "REST or GraphQL for the public API?"
RUNS_PROGRAMS = ("build", "apply", "review", "sdlc")
"""The meetings that need a sandbox to go on."""
STABLE = ("outcome", "winner", "counted", "dissent", "tally", "blind_vote")
"""The fields of a decision that every version reads as they were; of `missing`, the seats."""


# --- the record at another place ------------------------------------------------------------------


class Person:
    """The owner of a record that the earlier version wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self._made: set[str] = set()
        self._write_database()
        for name in {session["workspace"] for session in SESSIONS}:
            (folder / name).mkdir()
        (self.home / "config.toml").write_text('[sandbox]\nuse = "bubblewrap"\n')

    def run(self, *args: str, code: int = 0) -> str:
        """Return the output of a command and check its exit code."""
        ended, printed = self.result(*args)
        assert ended == code, f"{args}: exit code {ended}"
        return printed

    def result(self, *args: str) -> tuple[int, str]:
        """Return the exit code and the output of a command."""
        env = {"ROUNDTABLE_HOME": str(self.home), "COLUMNS": "120"}
        output = CliRunner().invoke(cli, args, env=env, standalone_mode=False, catch_exceptions=False)
        code: object = output.return_value  # what `main` leaves with, since click does not leave by itself here
        return code if isinstance(code, int) else output.exit_code, output.stdout

    def facts(self, label: str) -> list[Data]:
        """Return the events of a session as JSON for programs."""
        lines = self.run("show", BY_LABEL[label]["session"], "--format", "jsonl").splitlines()
        return [json.loads(line) for line in lines]

    def moved(self, text: str) -> str:
        """Return a text of the record with the paths of this test."""
        return text.replace(PLACE, str(self.folder))

    def make_workspace(self, label: str) -> Path:
        """Create the files of an unfinished session and the scripts of its seats."""
        name, kind = BY_LABEL[label]["workspace"], BY_LABEL[label]["kind"]
        if not self._made:
            write(self.folder / "scripts", {path.name: path.read_text() for path in (RECORDS / "scripts").iterdir()})
        if name not in self._made:
            self._made.add(name)
            _make_workspace(self.folder / name, kind)
        return self.folder / name

    def _write_database(self) -> None:
        self.home.mkdir()
        db = sqlite3.connect(self.home / "roundtable.db")
        with db:
            db.executescript((RECORDS / "schema.sql").read_text())
            db.executemany(_insertion("blobs", ("digest", "data")), map(_blob, _lines("blobs")))
            facts = [self._fact(line) for label in LABELS for line in _lines(label)]
            facts.sort(key=lambda fact: (fact["at"], fact["seq"]))
            db.executemany(_insertion("events", facts[0]), (tuple(fact.values()) for fact in facts))
            for line in _lines("tables"):
                table: Data = json.loads(self.moved(line))
                db.executemany(_insertion(table["table"], table["columns"]), table["rows"])
        db.close()

    def _fact(self, line: str) -> Data:
        """Return a line of the fixture as a database row."""
        body = json.loads(self.moved(line))
        row = {name: body.pop(name) for name in ("session", "seq", "at", "v")}
        packed = body.pop("packed", 0)
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return {**row, "kind": body["kind"], "body": text, "packed": packed}


def _lines(name: str) -> list[str]:
    """Return the lines of a file, split only at line feeds."""
    return (RECORDS / f"{name}.jsonl").read_text().removesuffix("\n").split("\n")


def _blob(line: str) -> tuple[str, bytes]:
    kept: dict[str, str] = json.loads(line)
    return kept["digest"], base64.b64decode(kept["base64"]) if "base64" in kept else kept["text"].encode()


def _insertion(table: str, columns: Collection[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def _make_workspace(folder: Path, kind: str) -> None:
    """Create a workspace of this kind with a commit whose id is the one in the record."""
    made: Data = json.loads((RECORDS / "workspaces.json").read_text())[kind]
    if made["marker"]:
        (folder / ".git").mkdir()
    if not made["committed"]:
        return
    write(folder, made["committed"])
    who = {"NAME": "Anna", "EMAIL": "anna@localhost", "DATE": "2026-01-01T00:00:00Z"}
    files = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TZ": "UTC", **files}
    for args in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "Anna"),
        ("config", "user.email", "anna@localhost"),
        ("add", "-A"),
        ("commit", "-qm", "The beginning"),
    ):
        subprocess.run(["git", *args], cwd=folder, env=env, capture_output=True, check=True)
    write(folder, made["changed"])
    own_python(folder)


# --- what is expected -----------------------------------------------------------------------------


def expected(label: str) -> Data:
    """Return what the earlier version displayed for a session."""
    golden: Data = json.loads((RECORDS / "expected" / f"{label}.json").read_text())
    return golden


def recorded(label: str) -> list[Data]:
    """Return the recorded events of a session."""
    return [json.loads(line) for line in _lines(label)]


def sentences(facts: Iterable[Data]) -> Iterator[str]:
    """Return the prose in recorded events: reasons, notices and questions to the person."""
    for fact in facts:
        if fact["kind"] == "decision.made":
            yield fact["decision"]["how"]
            yield from fact["decision"].get("notices", ())
        elif fact["kind"] == "gate.opened":
            yield fact["gate"]["question"]


def stable(decision: Data | None) -> Data | None:
    """Return the stable fields of a decision as `show --format json` prints it."""
    if decision is None:
        return None
    return {
        **{name: decision[name] for name in STABLE},
        "missing": [absence["seat"] for absence in decision["missing"]],
    }


def in_a_line(text: str) -> str:
    """Return a text without line breaks and Markdown escapes."""
    return " ".join(text.replace("\\", "").split())


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """Create the record for tests that only read it."""
    reader = Person(tmp_path_factory.mktemp("read"))
    (reader.folder / "elsewhere").mkdir()
    return reader


@pytest.fixture
def person(reading: Person, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Return the owner of the record, in a folder without sessions."""
    monkeypatch.chdir(reading.folder / "elsewhere")
    return reading


@pytest.fixture(scope="module")
def resuming(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """Create the record for tests that resume sessions."""
    return Person(tmp_path_factory.mktemp("resumed"))


# --- reading --------------------------------------------------------------------------------------


def test_sessions_of_earlier_versions_are_listed_except_chats_children_and_deleted_ones(
    person: Person,
) -> None:
    listed: list[Data] = json.loads(person.run("list", "--all", "--json", "-n", "1000"))["sessions"]
    outcomes = {line["id"]: line["outcome"] for line in listed}
    aside = {label for label in LABELS if label.startswith(("notebook-", "chat-", "open-chat")) or "child" in label}
    for label in set(LABELS) - aside - {"council-forgotten"}:
        decision = expected(label)["decision"] or {"outcome": ""}
        assert outcomes[BY_LABEL[label]["session"]] == decision["outcome"], label
    assert len(outcomes) == len(set(LABELS) - aside) - 1
    assert API in person.run("list", "--all")


@pytest.mark.parametrize("label", LABELS)
def test_a_session_of_an_earlier_version_is_shown_with_its_decision_and_text(
    person: Person, capfd: pytest.CaptureFixture[str], label: str
) -> None:
    session, golden = BY_LABEL[label]["session"], expected(label)
    summary = json.loads(person.run("show", session, "--format", "json"))
    assert stable(summary["decision"]) == golden["decision"]
    assert summary["usage"]["total"] == golden["cost"]
    assert summary["status"] == golden["status"]
    text = in_a_line(person.run("show", session))
    code, _ = person.result("watch", session, "--no-follow", "--plain")
    told = in_a_line(capfd.readouterr().out)
    assert code == golden["exit_code"]
    for sentence in sentences(recorded(label)):
        assert in_a_line(person.moved(sentence)) in text
        assert in_a_line(person.moved(sentence)) in told


@pytest.mark.parametrize("label", LABELS)
def test_a_session_of_an_earlier_version_is_exported_in_every_format(
    person: Person, tmp_path: Path, label: str
) -> None:
    for form in ("markdown", "html", "json", "jsonl"):
        person.run("export", BY_LABEL[label]["session"], "--format", form, "-o", str(tmp_path / form))
    assert "<html" in (tmp_path / "html").read_text()
    assert json.loads((tmp_path / "json").read_text())["id"] == BY_LABEL[label]["session"]
    facts = [json.loads(line) for line in (tmp_path / "jsonl").read_text().splitlines()]
    names = ("seq", "at", "session", "kind")
    assert [[fact[name] for name in names] for fact in facts] == [
        [entry[name] for name in names] for entry in recorded(label)
    ]


@pytest.mark.parametrize("label", [label for label in LABELS if "recount" in expected(label)])
def test_a_recount_of_a_session_of_an_earlier_version_gives_an_equal_result(person: Person, label: str) -> None:
    seats: list[Data] = json.loads(person.run("recount", BY_LABEL[label]["session"], "--json"))["seats"]
    counted = {seat["seat"]: [seat["without"][name] for name in ("changed", "outcome", "winner")] for seat in seats}
    assert counted == expected(label)["recount"]


@pytest.mark.parametrize(
    ("label", "command", "known"),
    [
        ("council-agreed", "chronicle", "Use REST"),
        ("council-dissent", "predictions", "Three endpoints will be merged before June."),
        ("decree-upheld", "decrees", "Nobody here can run it."),
        ("decree-failed", "decrees", "The resolvers were too slow."),
        ("code-red-tie", "errors", "login crashes on submit"),
    ],
)
def test_the_ledger_of_an_earlier_version_is_still_readable(
    person: Person, monkeypatch: pytest.MonkeyPatch, label: str, command: str, known: str
) -> None:
    monkeypatch.chdir(person.folder / BY_LABEL[label]["workspace"])
    assert known in person.run(command)


@pytest.mark.parametrize("label", ["sdlc-whole", "sdlc-git", "sdlc-review", "sdlc-disputed", "sdlc-run-stopped"])
def test_an_sdlc_session_of_an_earlier_version_has_its_report(person: Person, tmp_path: Path, label: str) -> None:
    for form in ("report-md", "report-html"):
        person.run("export", BY_LABEL[label]["session"], "--format", form, "-o", str(tmp_path / form))
        assert (tmp_path / form).stat().st_size > 1000


# --- going on -------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", UNFINISHED)
async def test_a_session_of_an_earlier_version_resumes_and_its_record_only_grows(
    resuming: Person, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    session, golden = BY_LABEL[label]["session"], expected(label)
    if golden["meeting"] in RUNS_PROGRAMS:
        await sandbox()
    workspace = resuming.make_workspace(label)
    monkeypatch.chdir(workspace)
    before = await asyncio.to_thread(resuming.facts, label)
    async with await Roundtable.open(workspace, Places(resuming.home, resuming.home)) as desk:
        if (await desk.sessions.get(session)).paused:
            await desk.sessions.resume(session)
        answering = asyncio.create_task(answers(desk, session, BY_LABEL[label].get("answers", {})))
        async with asyncio.timeout(60):
            await desk.meetings.run(session)
        answering.cancel()
    after = await asyncio.to_thread(resuming.facts, label)
    assert after[: len(before)] == before
    summary = json.loads(await asyncio.to_thread(resuming.run, "show", session, "--format", "json"))
    assert stable(summary["decision"]) == golden["resumed"]


async def answers(desk: Roundtable, session: str, answers: dict[str, tuple[str, str]]) -> None:
    """Answer these gates once they are open."""
    for gate, (option, text) in answers.items():
        while gate not in (state := await desk.sessions.get(session)).gates:
            await desk.sessions.wait_for_facts(session, state.seq, 1)
        await desk.gates.answer(session, gate, option, text)


def test_a_draft_of_an_earlier_version_can_be_applied(resuming: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(sandbox())
    workspace = resuming.make_workspace("build-later")
    monkeypatch.chdir(workspace)
    resuming.run("apply", BY_LABEL["build-later"]["session"], "--all", "--plain")
    assert "return text.strip().lower()" in (workspace / "slug.py").read_text()


def test_a_session_of_an_earlier_version_can_be_branched_from_a_round(
    resuming: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = resuming.make_workspace("council-branched")
    monkeypatch.chdir(workspace)
    resuming.run("branch", BY_LABEL["council-branched"]["session"], "--at", "council/3-reconsider")
    resuming.run("resume", "last", "--headless", "--plain")
    (newest, *_) = json.loads(resuming.run("list", "--json"))["sessions"]
    assert newest["outcome"] == expected("council-branched")["decision"]["outcome"]
