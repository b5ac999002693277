"""The workspace folder `.roundtable/`: written with consent only, atomically, reproducibly, never through a link."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.desk import Agenda, Roundtable
from roundtable.app.records.workspace_files import WorkspaceFolder
from roundtable.core.events import NoteSaid, Recorded, SessionOpened
from roundtable.core.ledger import EntryKind
from roundtable.core.session import Session
from roundtable.core.values import Charter, Limits, Seat
from roundtable.report.workspace_folder import GENERATED_FILE_MARK, render_session_document_files
from tests.stories.session_harness import position_reply

QUICK: dict[str, Any] = {"turns": [{"round": "*", "text": position_reply("REST", text="Plain HTTP is enough.")}] * 2}
WRITES_TOO_MUCH = """
import pathlib, resource, signal, sys
from roundtable.app.records.workspace_files import RootedFolder
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
with RootedFolder.open(pathlib.Path(sys.argv[1])) as tree:
    tree.write("chronicle.md", b"x" * 10_000)
"""
"""The kernel ends it at the hundredth byte."""

KNIGHT = '{"consensus_score": 9, "agrees_with": [], "pending_issues": []}'


def knights(workspace: Path, *names: str) -> tuple[Seat, ...]:
    (workspace / "s.json").write_text(json.dumps({"turns": [{"text": f"Because.\n\n```json\n{KNIGHT}\n```"}]}))
    return tuple(Seat(name, ("script:s.json",)) for name in names)


def seats(workspace: Path, script: dict[str, Any] = QUICK) -> tuple[Seat, ...]:
    (workspace / "s.json").write_text(json.dumps(script))
    return tuple(Seat(name, ("script:s.json",)) for name in ("claude", "gpt"))


async def hold(desk: Roundtable, **agenda: Any) -> str:
    table = agenda.pop("seats", ()) or seats(desk.workspace)
    session = await desk.meetings.open(
        Agenda(agenda.pop("question", "REST or GraphQL?"), table, headless=True, **agenda)
    )
    await desk.meetings.run(session)
    return session


def killed_while_writing(folder: Path) -> int:
    """Let another process die while it writes the chronicle; return its exit code."""
    return subprocess.run([sys.executable, "-c", WRITES_TOO_MUCH, str(folder)], check=False).returncode


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def folder(workspace: Path) -> Path:
    (workspace / ".roundtable").mkdir()
    return workspace / ".roundtable"


async def test_nothing_is_written_to_a_workspace_without_consent(desk: Roundtable, workspace: Path) -> None:
    await hold(desk)
    assert not (workspace / ".roundtable").exists()


@pytest.mark.feature("S3.6", "S3.10", "S3.11", "S3.12", "S3.13", "S3.15")
async def test_a_session_leaves_its_topic_discussion_decision_and_status_in_the_folder(
    desk: Roundtable, workspace: Path, folder: Path
) -> None:
    await hold(desk, meeting="knights", seats=knights(workspace, "claude", "gpt"))
    (place,) = (folder / "sessions").iterdir()
    assert place.name.endswith("-rest-or-graphql")
    assert sorted(path.name for path in place.iterdir()) == ["decisions.md", "discussion.md", "status.json", "topic.md"]
    assert "# REST or GraphQL?\n" in (place / "topic.md").read_text()
    assert "### knights/1-speak" in (place / "discussion.md").read_text()
    assert "**reached**" in (place / "decisions.md").read_text()
    status = json.loads((place / "status.json").read_text())
    assert (status["phase"], status["current_seat"], status["consensus"]) == ("reached", None, True)
    assert status["scores"] == {"claude": 9.0, "gpt": 9.0}


@pytest.mark.feature("S3.8", "S3.9")
async def test_the_chronicle_and_the_error_log_are_written_next_to_the_sessions(desk: Roundtable, folder: Path) -> None:
    await hold(desk)
    chronicle = (folder / "chronicle.md").read_text()
    assert "REST or GraphQL?" in chronicle
    assert "-rest-or-graphql/discussion.md)" in chronicle
    assert "No errors so far." in (folder / "error-log.md").read_text()


async def test_a_persons_ledger_entry_is_written_to_the_folder_at_once(
    desk: Roundtable, workspace: Path, folder: Path
) -> None:
    await hold(desk)
    (decision,) = await desk.memory.entries((EntryKind.DECISION,))
    await desk.memory.fail(decision.id, "The routes were too slow.")
    assert "The routes were too slow." in (folder / "chronicle.md").read_text()
    decree = await desk.memory.reject("Use SOAP", "Nobody wants it.")
    assert decree.id in (folder / "chronicle.md").read_text()
    (folder / "chronicle.md").unlink()
    (folder / "chronicle.md").mkdir()
    assert (await desk.memory.lift(decree.id)).state == "lifted", "a folder that cannot be written stops nobody"


@pytest.mark.feature("S3.13", "S3.40")
async def test_the_status_file_names_the_speaking_seat_during_a_meeting(
    desk: Roundtable, workspace: Path, folder: Path
) -> None:
    (workspace / "slow.json").write_text(json.dumps({"turns": [{"hang": True, "text": "I was about", "after": 4}]}))
    table = (*seats(workspace)[:1], Seat("gpt", ("script:slow.json",)))
    session = await desk.meetings.open(
        Agenda("REST or GraphQL?", table, meeting="knights", headless=True, limits=Limits(seat_timeout=60))
    )
    running = asyncio.create_task(desk.meetings.run(session))
    seen: list[str | None] = []
    async with asyncio.timeout(30):
        while seen != ["gpt"]:
            await asyncio.sleep(0.01)
            seen = [json.loads(text)["current_seat"] for name, text in contents(folder).items() if "status" in name]
    running.cancel()
    await asyncio.wait({running})


@pytest.mark.feature("S3.15", "S3.40")
async def test_sync_rebuilds_every_file_byte_for_byte_and_leaves_the_persons_files_alone(
    desk: Roundtable, folder: Path
) -> None:
    await hold(desk)
    await hold(desk, question="Tabs or spaces?")
    (folder / "config.toml").write_text("# mine\n")
    (folder / "sessions" / "notes.md").write_text("my own notes\n")
    before = contents(folder)
    made = [path for path, data in before.items() if GENERATED_FILE_MARK.encode() in data]
    assert len(made) == 10
    for path in made:
        (folder / path).unlink()
    written = await desk.sessions.sync_folder()
    assert sorted(written.changed) == sorted(made)
    assert contents(folder) == before
    assert (await desk.sessions.sync_folder()).changed == []


async def test_the_workspace_folder_can_be_committed(desk: Roundtable, workspace: Path, folder: Path) -> None:
    script = seats(workspace)[0].voices[0].replace("s.json", str(workspace / "s.json"))
    await hold(desk, seats=(Seat("claude", (script,)), Seat("gpt", (script,))))
    for path, data in contents(folder).items():
        text = data.decode()
        assert str(workspace) not in text, path
        assert text.endswith("\n"), path
        assert not text.endswith("\n\n"), path
        assert GENERATED_FILE_MARK in text[:200], path


def test_only_paths_of_the_workspace_are_made_portable() -> None:
    said = "See https://github.com/acme/src/main.py, ../src/a.py and /src/b.py, or `/src/c_d_.py`; not /usr/src/e.py."
    charter = Charter("Where?", (Seat("claude", ("script:/src/s.json",)),), "council", 1, workspace="/src")
    session = Session.fold("s1", [Recorded(1, "2026-11-16T00:00:00.000000Z", "s1", SessionOpened(charter))])
    session.apply(Recorded(2, "2026-11-16T00:00:01.000000Z", "s1", NoteSaid(said)))
    (discussion,) = (
        text for path, text in render_session_document_files(session).items() if path.endswith("discussion.md")
    )
    kept = "See https://github.com/acme/src/main.py, ../src/a.py and b.py, or `c_d_.py`; not /usr/src/e.py."
    assert f"> {kept}" in discussion


async def test_a_file_written_by_the_person_is_left_alone(desk: Roundtable, folder: Path) -> None:
    (folder / "chronicle.md").write_text("# What we really decided\n")
    await hold(desk)
    assert (folder / "chronicle.md").read_text() == "# What we really decided\n"
    assert (await desk.sessions.sync_folder()).kept == ["chronicle.md"]


async def test_no_file_is_written_through_a_link_out_of_the_workspace(
    desk: Roundtable, tmp_path: Path, folder: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim.md").write_text(GENERATED_FILE_MARK)
    (folder / "sessions").symlink_to(outside)
    (folder / "error-log.md").symlink_to(outside / "victim.md")
    os.mkfifo(folder / "chronicle.md")
    await hold(desk)
    assert [path.name for path in outside.iterdir()] == ["victim.md"]
    assert (outside / "victim.md").read_text() == GENERATED_FILE_MARK
    assert desk.sessions.folder.problem.startswith(".roundtable/sessions/")
    assert "cannot be written (and 3 more): " in desk.sessions.folder.problem
    assert "roundtable sync" in desk.sessions.folder.problem


async def test_a_linked_workspace_folder_is_not_consent(desk: Roundtable, tmp_path: Path, workspace: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (workspace / ".roundtable").symlink_to(tmp_path / "elsewhere")
    await hold(desk)
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_a_workspace_folder_that_cannot_be_written_stops_no_meeting(desk: Roundtable, folder: Path) -> None:
    (folder / "sessions").write_text("a file where a folder should be")
    session = await hold(desk)
    assert (await desk.sessions.get(session)).ended
    written = await desk.sessions.sync_folder()
    assert {path.rpartition("/")[2] for path in written.failed} == {
        "topic.md",
        "discussion.md",
        "decisions.md",
        "status.json",
    }


async def test_one_unwritable_session_folder_does_not_prevent_the_others(
    desk: Roundtable, tmp_path: Path, folder: Path
) -> None:
    await hold(desk)
    await hold(desk, question="Tabs or spaces?")
    before = contents(folder)
    (bad,) = (place for place in (folder / "sessions").iterdir() if "rest" in place.name)
    for path in before:
        (folder / path).unlink()
    bad.rmdir()
    bad.symlink_to(tmp_path)
    written = await desk.sessions.sync_folder()
    assert all(path.startswith(f"sessions/{bad.name}/") for path in written.failed)
    assert len(written.failed) == 4
    assert sorted([*written.changed, *written.failed]) == sorted(before)
    assert written.problem.startswith(f".roundtable/sessions/{bad.name}/topic.md cannot be written (and 3 more): ")


async def test_a_temporary_file_of_a_killed_process_is_replaced_without_touching_other_files(
    desk: Roundtable, tmp_path: Path, folder: Path
) -> None:
    mine = tmp_path / "mine.md"
    mine.write_text("my own\n")
    os.link(mine, folder / ".error-log.md.new")
    assert killed_while_writing(folder) == -signal.SIGXFSZ
    assert (folder / ".chronicle.md.new").read_text() == "x" * 100
    await hold(desk)
    assert not [path for path in contents(folder) if path.endswith(".new")]
    assert "REST or GraphQL?" in (folder / "chronicle.md").read_text()
    assert mine.read_text() == "my own\n"


async def test_files_written_concurrently_are_complete(folder: Path) -> None:
    texts = [f"<!-- {GENERATED_FILE_MARK} -->\n{letter * 200_000}\n" for letter in "abcdefgh"]
    writers = (asyncio.to_thread(WorkspaceFolder(folder.parent).write, {"chronicle.md": text}) for text in texts)
    done = await asyncio.gather(*writers)
    assert all(not write.failed for write in done)
    assert (folder / "chronicle.md").read_text() in texts
    assert list(contents(folder)) == ["chronicle.md"]


async def test_a_session_of_another_workspace_is_not_written_here(
    desk: Roundtable, workspace: Path, tmp_path: Path, folder: Path
) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    async with await Roundtable.open(other, desk.setup.places) as elsewhere:
        session = await elsewhere.meetings.open(Agenda("Tabs?", seats(other), headless=True))
    seats(workspace)
    await desk.meetings.run(session)
    assert not (folder / "sessions").exists()


async def test_sync_writes_a_session_that_was_only_opened_and_its_run_updates_it(
    desk: Roundtable, workspace: Path, folder: Path
) -> None:
    session = await desk.meetings.open(Agenda("REST or GraphQL?", seats(workspace), headless=True))
    await desk.sessions.sync_folder()
    assert _phases(folder) == ["open"]
    await desk.meetings.run(session)
    assert _phases(folder) == ["reached"]


def _phases(folder: Path) -> list[str]:
    return [json.loads(data)["phase"] for name, data in contents(folder).items() if name.endswith("status.json")]
