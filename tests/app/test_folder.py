"""The workspace's `.roundtable/`: only after a yes, whole or not at all, the same to the byte, never through a link."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.desk import Agenda, Roundtable
from roundtable.app.folder import Folder
from roundtable.core.faults import UsageError
from roundtable.core.values import Limits, Seat
from roundtable.core.views.folder import MARK
from tests.stories.house import answer

QUICK: dict[str, Any] = {"turns": [{"round": "*", "text": answer("REST", text="Plain HTTP is enough.")}] * 2}
KNIGHT = '{"consensus_score": 9, "agrees_with": [], "pending_issues": []}'


def knights(workspace: Path, *names: str) -> tuple[Seat, ...]:
    (workspace / "s.json").write_text(json.dumps({"turns": [{"text": f"Because.\n\n```json\n{KNIGHT}\n```"}]}))
    return tuple(Seat(name, ("script:s.json",)) for name in names)


def seats(workspace: Path, script: dict[str, Any] = QUICK) -> tuple[Seat, ...]:
    (workspace / "s.json").write_text(json.dumps(script))
    return tuple(Seat(name, ("script:s.json",)) for name in ("claude", "gpt"))


async def hold(desk: Roundtable, **agenda: Any) -> str:
    table = agenda.pop("seats", ()) or seats(desk.workspace)
    session = await desk.convene(Agenda(agenda.pop("question", "REST or GraphQL?"), table, headless=True, **agenda))
    await desk.run(session)
    return session


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def folder(workspace: Path) -> Path:
    (workspace / ".roundtable").mkdir()
    return workspace / ".roundtable"


async def test_nothing_is_written_to_a_workspace_that_has_not_said_yes(desk: Roundtable, workspace: Path) -> None:
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
async def test_the_chronicle_and_the_error_log_stand_beside_the_sessions(desk: Roundtable, folder: Path) -> None:
    await hold(desk)
    chronicle = (folder / "chronicle.md").read_text()
    assert "REST or GraphQL?" in chronicle
    assert "-rest-or-graphql/discussion.md)" in chronicle
    assert "No error was diagnosed yet." in (folder / "error-log.md").read_text()


@pytest.mark.feature("S3.13", "S3.40")
async def test_the_status_names_who_speaks_while_the_meeting_runs(
    desk: Roundtable, workspace: Path, folder: Path
) -> None:
    (workspace / "slow.json").write_text(json.dumps({"turns": [{"hang": True, "text": "I was about", "after": 4}]}))
    table = (*seats(workspace)[:1], Seat("gpt", ("script:slow.json",)))
    session = await desk.convene(
        Agenda("REST or GraphQL?", table, meeting="knights", headless=True, limits=Limits(seat_timeout=60))
    )
    running = asyncio.create_task(desk.run(session))
    seen: list[str | None] = []
    async with asyncio.timeout(30):
        while seen != ["gpt"]:
            await asyncio.sleep(0.01)
            seen = [json.loads(text)["current_seat"] for name, text in contents(folder).items() if "status" in name]
    running.cancel()
    await asyncio.wait({running})


@pytest.mark.feature("S3.15", "S3.40")
async def test_sync_makes_every_file_anew_to_the_byte_and_touches_nothing_of_the_persons(
    desk: Roundtable, folder: Path
) -> None:
    await hold(desk)
    await hold(desk, question="Tabs or spaces?")
    (folder / "config.toml").write_text("# mine\n")
    (folder / "sessions" / "notes.md").write_text("my own notes\n")
    before = contents(folder)
    made = [path for path, data in before.items() if MARK.encode() in data]
    assert len(made) == 10
    for path in made:
        (folder / path).unlink()
    written = await desk.sync()
    assert sorted(written.changed) == sorted(made)
    assert contents(folder) == before
    assert (await desk.sync()).changed == []


async def test_the_folder_can_be_committed(desk: Roundtable, workspace: Path, folder: Path) -> None:
    script = seats(workspace)[0].voices[0].replace("s.json", str(workspace / "s.json"))
    await hold(desk, seats=(Seat("claude", (script,)), Seat("gpt", (script,))))
    for path, data in contents(folder).items():
        text = data.decode()
        assert str(workspace) not in text, path
        assert text.endswith("\n"), path
        assert not text.endswith("\n\n"), path
        assert MARK in text[:200], path


async def test_a_file_that_is_the_persons_own_is_left_alone(desk: Roundtable, folder: Path) -> None:
    (folder / "chronicle.md").write_text("# What we really decided\n")
    await hold(desk)
    assert (folder / "chronicle.md").read_text() == "# What we really decided\n"
    assert (await desk.sync()).kept == ["chronicle.md"]


async def test_no_link_leads_out_of_the_workspace(desk: Roundtable, tmp_path: Path, folder: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim.md").write_text(MARK)
    (folder / "sessions").symlink_to(outside)
    (folder / "error-log.md").symlink_to(outside / "victim.md")
    os.mkfifo(folder / "chronicle.md")
    await hold(desk)
    assert [path.name for path in outside.iterdir()] == ["victim.md"]
    assert (outside / "victim.md").read_text() == MARK
    assert desk.folder.trouble.startswith(".roundtable/ cannot be written: ")
    assert "roundtable sync" in desk.folder.trouble


async def test_a_folder_that_is_itself_a_link_is_no_yes(desk: Roundtable, tmp_path: Path, workspace: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (workspace / ".roundtable").symlink_to(tmp_path / "elsewhere")
    await hold(desk)
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_a_folder_that_cannot_be_written_stops_no_meeting(desk: Roundtable, folder: Path) -> None:
    (folder / "sessions").write_text("a file where a folder should be")
    session = await hold(desk)
    assert (await desk.session(session)).ended
    with pytest.raises(UsageError, match="cannot be written"):
        await desk.sync()


async def test_another_workspaces_session_has_no_place_here(
    desk: Roundtable, workspace: Path, tmp_path: Path, folder: Path
) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    async with await Roundtable.open(other, desk.places) as elsewhere:
        session = await elsewhere.convene(Agenda("Tabs?", seats(other), headless=True))
    seats(workspace)
    await desk.run(session)
    assert not (folder / "sessions").exists()


async def test_a_process_that_died_leaves_a_folder_that_sync_brings_up_to_date(
    desk: Roundtable, workspace: Path, folder: Path
) -> None:
    session = await desk.convene(Agenda("REST or GraphQL?", seats(workspace), headless=True))
    (stale,) = Folder(workspace).write({"sessions/x/topic.md": f"<!-- {MARK} -->\nhalf"}).changed
    assert stale == "sessions/x/topic.md"
    await desk.sync()
    assert _phases(folder) == ["open"]
    await desk.run(session)
    assert _phases(folder) == ["reached"]


def _phases(folder: Path) -> list[str]:
    return [json.loads(data)["phase"] for name, data in contents(folder).items() if name.endswith("status.json")]
