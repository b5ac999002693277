"""No command and no tool changes a file of the workspace unless the record holds a person's yes to just that."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core.events import GateOpened
from roundtable.core.values import Seat
from roundtable.doors.cli.main import COMMANDS
from roundtable.store.leases import lease_holder_of_this_process
from tests.doors.coding_seats import read_record
from tests.doors.command_line import Cli
from tests.doors.recorded_change import APPROVE
from tests.doors.scripted_seats import blind_answer, second_answer, with_json_block
from tests.doors.test_mcp import over_stdio, words
from tests.repository import repository, write

OURS = ".roundtable"
CHANGE = "Here it is.\n\n```python app.py\nprint('changed')\n```\n"
SAID = {
    "knights/*": with_json_block("Yes.", consensus_score=9, agrees_with=[], pending_issues=[]),
    "code-red/1-*": with_json_block("The disk.", suspects=["the disk"], file_requests=["app.py"], checks=[]),
    "code-red/*": with_json_block(
        "The disk.", confidence_score=9, root_cause_key="disk", evidence=["full"], rules_out=[]
    ),
    "debate/1-*": blind_answer("Change app.py"),
    "debate/*": "AGREE: ada\n\nYes.",
    "second-opinion/*": with_json_block("Because.", recommendation="Change app.py", stance="support", risks=[]),
    "vote/1-*": blind_answer("Change app.py"),
    "vote/*-ballot": with_json_block("Mine.", agent_id="", ranked_choices=["A", "B"]),
    "vote/*": "I have thought about it.",
    "review/*": with_json_block("Nothing.", findings=[]),
    "council/1-*": blind_answer("Change app.py"),
    "council/*": second_answer(""),
    "*": CHANGE,
}
SEAT: dict[str, Any] = {"turns": [{"round": round, "text": text} for round, text in SAID.items()]}
SEATS = ("--seat", "ada=script:s.json", "--seat", "bob=script:s.json")
ALONE = ("--headless", *SEATS)

RUNS: dict[str, dict[str, int]] = {
    "discuss": {"'Change app.py?'": 0, "'Change app.py?' --meeting knights": 0},
    "ask": {"'Change app.py?'": 0},
    "debate": {"'Change app.py?'": 0},
    "code-red": {"'app.py fails'": 0},
    "vote": {"'What next?'": 0},
    "summon": {"": 0},
    "review": {"": 0},
    "build": {"'Change app.py'": 3, "'Change app.py' --dry-run": 0, "'Change app.py' --answer approve=ask": 3},
    "sdlc": {"'Change app.py' --stages spec": 3, "'Change app.py' --yes": 0, "'Change app.py' --from . --yes": 0},
    "apply": {"decided": 3, "decided --dry-run": 0, "decided --answer approve=some": 2, "": 3},
    "project": {"": 2, "decided --list": 2},
    "stop": {"waiting": 2},
    "undo": {"": 2, "--list": 0},
    "worktrees": {"": 0, "clean": 0},
    "watch": {"decided": 0},
    "resume": {"unheld --headless": 3},
    "pause": {"waiting": 2},
    "cancel": {"spare": 0},
    "say": {"waiting 'Mind the cache.'": 0},
    "gates": {"": 0},
    "answer": {"waiting approve=all": 0},
    "amend": {"waiting --add-file app.py": 0},
    "branch": {"decided --at 1-blind": 0},
    "rollback": {"decided requirements": 2},
    "chat": {"decided 'What is open?'": 0},
    "diff-sessions": {"decided unheld": 0},
    "show": {"decided": 0, "decided --format html": 0},
    "list": {"": 0},
    "status": {"decided": 0},
    "recount": {"decided": 0},
    "export": {"decided -o ../elsewhere": 0},
    "sync": {"": 2, "--yes": 0},
    "forget": {"forgettable": 0},
    "gc": {"--max-age-days 30": 0},
    "chronicle": {"list": 0},
    "decrees": {"list": 0, "add 'Use REST' --why 'It is old.'": 0},
    "errors": {"list": 0},
    "predictions": {"list": 0, "record": 0},
    "init": {"": 2, "--yes": 0},
    "config": {"": 0, "set language en": 0},
    "demo": {"": 1},
    "doctor": {"": 0},
    "verify": {"": 0},
    "voices": {"": 0},
    "keys": {"list": 0},
    "models": {"list": 0},
    "trust": {"--yes": 0},
    "completion": {"bash": 0},
    "mcp": {"": 0},
    "skill": {"show": 0},
}
"""Every command as it is typed with nobody there, and how it ends; meetings are held by seats that want to write.

`export` writes where it is told, and is told another place; `demo` cannot fetch its model."""

TOOLS: dict[str, dict[str, Any]] = {
    "ask_second_opinion": {"question": "Change app.py?", "seats": ["ada", "bob"], "wait_seconds": 50},
    "start_meeting": {"question": "Change app.py", "meeting": "build", "seats": ["ada", "bob"], "headless": True},
    "watch_meeting": {"session": "decided", "wait_seconds": 0},
    "answer_gate": {"session": "waiting", "gate": "approve", "option": "all"},
    "say": {"session": "waiting", "text": "Mind the cache."},
    "resume_meeting": {"session": "unheld"},
    "read_decision": {"session": "decided"},
    "list_meetings": {},
    "search_decisions": {"words": "which"},
}


def tree(folder: Path) -> Mapping[str, tuple[int, bytes]]:
    """Everything below a folder but what is ours: modes, contents and where links lead; git's own files too."""
    files = {path.relative_to(folder): path for path in folder.rglob("*") if OURS not in path.relative_to(folder).parts}
    return {
        str(name): (file.lstat().st_mode, bytes(file.readlink()) if file.is_symlink() else file.read_bytes())
        for name, file in files.items()
        if file.is_symlink() or file.is_file()
    }


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A person with a repository, work of their own in it, and sessions in every state."""
    cli = Cli(tmp_path_factory.mktemp("person"))
    (cli.work / ".git").rmdir()
    repository(cli.work, {"app.py": "print('here')\n", "docs/notes.md": "Notes.\n", ".gitignore": "*.log\n"})
    write(cli.work, {"docs/notes.md": "Notes, changed.\n", "mine.txt": "Untracked.\n", "old.log": "Ignored.\n"})
    cli.script(ada=SEAT, bob=SEAT)
    cli.home.mkdir()
    seats = "".join(f"[seats.{name}]\nvoices = ['script:s.json']\n" for name in ("ada", "bob"))
    (cli.home / "config.toml").write_text(seats)
    cli.env |= {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
    asyncio.run(_sessions(cli))
    cli.run("discuss", "REST?", "--session", "decided", "--headless", *SEATS)
    return cli


async def _sessions(cli: Cli) -> None:
    seats = tuple(Seat(name, ("script:s.json",)) for name in ("ada", "bob"))
    async with await Roundtable.open(cli.work, Places(cli.home, cli.home)) as desk:
        for name in ("unheld", "spare", "forgettable", "waiting"):
            session = await desk.meetings.open(Agenda("Change app.py", seats, meeting="build", name=name))
            if name == "waiting":
                lease, _ = await desk.parts.leases.acquire(session, lease_holder_of_this_process())
                await desk.parts.record.append(session, GateOpened(APPROVE), lease)
                await desk.parts.leases.release(lease)


def test_every_command_is_covered_by_this_test() -> None:
    assert set(RUNS) == {name for section in COMMANDS.values() for name in section}


@pytest.mark.feature("S3.84", "S3.85")
@pytest.mark.parametrize(("command", "typed"), [(command, typed) for command, lines in RUNS.items() for typed in lines])
def test_a_command_without_approval_leaves_the_workspace_unchanged(cli: Cli, command: str, typed: str) -> None:
    before = tree(cli.work)
    headless = ALONE if command in (*COMMANDS["Meetings"], "build", "sdlc", "apply") else ()
    cli.run(command, *shlex.split(typed), *headless, code=RUNS[command][typed])
    assert tree(cli.work) == before


@pytest.mark.parametrize("command", ["build 'Change app.py'", "apply decided"])
def test_with_approval_exactly_the_recorded_change_is_written(cli: Cli, command: str) -> None:
    before = own(cli.work)
    cli.run(*shlex.split(command), "--all", *SEATS)
    after = own(cli.work)
    facts = read_record(cli)
    (place, applied), *others = [(at, it["result"]) for at, it in enumerate(facts) if _result(it) == "applied"]
    assert not others
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert changed == set(applied["files"]) == {"app.py"}
    assert [
        fact["option"] for fact in facts[:place] if fact["kind"] == "gate.answered" and fact["gate"] == "approve"
    ] == ["all"]
    cli.run("undo")
    assert own(cli.work) == before


def own(folder: Path) -> Mapping[str, tuple[int, bytes]]:
    """The person's own files; git's change with every commit."""
    return {path: content for path, content in tree(folder).items() if not path.startswith(".git/")}


def _result(fact: dict[str, Any]) -> str:
    return fact["result"]["result"] if fact["kind"] == "effect.done" else ""


async def test_mcp_tools_never_write_and_cannot_answer_a_gate_that_writes(cli: Cli) -> None:
    before = tree(cli.work)
    async with over_stdio(cli) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == set(TOOLS)
        for name, arguments in TOOLS.items():
            result = await client.call_tool(name, arguments)
            if name == "answer_gate":
                assert result.is_error
                assert "Only a person may answer" in words(result)
    assert tree(cli.work) == before
