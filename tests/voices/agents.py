"""Agents for tests: the shipped data files, with a scripted program in the place of the real one."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from roundtable.core.values import Message, Request
from roundtable.voices.agents.agent_voice import AgentVoice
from roundtable.voices.agents.catalog import Agent, load_shipped_agent_clis
from roundtable.voices.agents.roster import AgentVoices

PROGRAM = Path(__file__).parent.parent / "servers" / "scripted_agent.py"
RECORDINGS = Path(__file__).parent / "recordings"
ENVIRON = {"PATH": os.environ["PATH"], "HOME": "nowhere"}


def scripted(name: str, recording: str = "", *, environ: dict[str, str] | None = None, **script: Any) -> AgentVoice:
    """A voice, by `name` or `name:model`, whose program replays a recording; `script` holds its other options."""
    changes = {key: script.pop(key) for key in ("idle", "concurrency") if key in script}
    agent = scripted_agent(name.partition(":")[0], recording, changes, script)
    voice = AgentVoices({agent.name: agent}, environ or ENVIRON).find_voice(name)
    assert isinstance(voice, AgentVoice), voice
    return voice


def scripted_agent(name: str, recording: str, changes: dict[str, Any], script: dict[str, Any]) -> Agent:
    """The agent's own data, with another program and whatever else is changed."""
    agent = load_shipped_agent_clis()[name]
    options = [word for key, value in script.items() for word in (f"--{key}", str(value))]
    if recording:
        options += ["--says", str(RECORDINGS / name / f"{recording}.jsonl")]
    argv = (str(PROGRAM), *options, "--", *agent.argv)
    return msgspec.structs.replace(agent, command=sys.executable, argv=argv, **changes)


def make_conversation(*texts: str, session: str = "talk", **more: Any) -> Request:
    """A seat's conversation: what it was told, its answers in between."""
    roles = ("user", "assistant")
    turns = (Message(roles[index % 2], text) for index, text in enumerate(texts))
    return Request("c/1-round/one#1", "one", (Message("system", "Be brief."), *turns), session=session, **more)


def read_agent_starts(notes: Path) -> list[dict[str, Any]]:
    """Return the input of the program for each start."""
    return [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []


async def wait_until_gone(*pids: int, within: float = 2.0) -> bool:
    """Whether none of these processes is left, or soon is."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    while any(_runs(pid) for pid in pids) and loop.time() < deadline:  # noqa: ASYNC110 (other processes)
        await asyncio.sleep(0.02)
    return not any(_runs(pid) for pid in pids)


def is_watcher(pid: int) -> bool:
    """Whether this process is the one between us and an agent."""
    return b"watcher.py" in Path(f"/proc/{pid}/cmdline").read_bytes()


def path_exists(folder: str) -> bool:
    """Whether a folder is there."""
    return Path(folder).exists()


def find_processes(marker: str) -> list[int]:
    """The processes with these words in their command line, except ourselves."""
    return _processes("cmdline", marker)


def find_processes_by_variable(variable: str, value: str) -> list[int]:
    """The processes that were started with this variable."""
    return _processes("environ", f"{variable}={value}\0")


def _processes(file: str, marker: str) -> list[int]:
    pids: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if marker.encode() in (entry / file).read_bytes():
                    pids.append(int(entry.name))
    return pids


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
