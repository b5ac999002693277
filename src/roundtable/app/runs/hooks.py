"""Runs the programs of `[hooks]` at certain moments of a debate, without a shell and without waiting for them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from roundtable.core.effects import ChangeApplied
from roundtable.core.events import DecisionMade, EffectDone, Event, Recorded, SessionOpened
from roundtable.core.faults import RoundtableError
from roundtable.core.ports import Store
from roundtable.core.session import Session
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Decision, Outcome
from roundtable.engine.feed import Feed, Subscription
from roundtable.voices.agents.workdirs import filter_agent_cli_environment

HOOK_EXIT_SECONDS = 1.0
"""Seconds to wait for a hook after a meeting; a failure after that is not reported."""

_DISPLAY_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY")


HookName = Literal["", "debate_started", "consensus_reached", "execution_complete"]


class HookRunner:
    """Runs the hooks of a workspace. A hook reads one line of JSON; whether it fails does not affect the meeting."""

    def __init__(self, commands: Mapping[str, Sequence[str]], workspace: Path, store: Store) -> None:
        self._commands = commands
        self._workspace = workspace
        self._store = store
        self._started: list[tuple[str, subprocess.Popen[bytes]]] = []
        self._problems: list[str] = []

    async def run_for(self, session: str, event: Event) -> None:
        """Start the hook for this fact, if there is one; child sessions run no hooks."""
        name = find_run_hook_for_event(event)
        if name not in self._commands:
            return
        try:
            state = Session.fold(session, await self._store.read(session))
            if not state.charter.parent or state.charter.branched_at:
                self._start(name, _encode_hook_input(name, state))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            self._note(name, f"{sanitize_line(self._commands[name][0])} cannot be started ({why})")
        except RoundtableError as error:
            self._note(name, error.message.rstrip("."))

    @contextlib.asynccontextmanager
    async def follow(self, session: str, feed: Feed) -> AsyncGenerator[None]:
        """Run hooks for the facts of a session that runs in this process."""
        subscription = feed.subscribe(session)
        task = asyncio.create_task(self._follow(session, subscription))
        try:
            yield
        finally:
            subscription.end()
            feed.unsubscribe(session, subscription)
            await task

    async def take_problems(self) -> list[str]:
        """Return a sentence for each hook that failed since the last call; running hooks get a moment to end."""
        started, self._started = self._started, []
        codes = await asyncio.gather(*(asyncio.to_thread(_wait_for_exit_code, process) for _, process in started))
        for (name, _), code in zip(started, codes, strict=True):
            if code:
                self._note(name, f"{sanitize_line(self._commands[name][0])} ended with exit code {code}")
        problems, self._problems = self._problems, []
        return problems

    async def _follow(self, session: str, subscription: Subscription) -> None:
        async for items in subscription.batches():
            for item in items:
                if isinstance(item, Recorded):
                    await self.run_for(session, item.event)

    def _start(self, name: str, line: bytes) -> None:
        """Start a hook. Its input is a file, so that a hook that never reads does not block."""
        with tempfile.TemporaryFile() as file:
            file.write(line)
            file.seek(0)
            process = subprocess.Popen(
                self._commands[name],
                stdin=file,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self._workspace,
                env=filter_agent_cli_environment(os.environ, _DISPLAY_VARIABLES),
                start_new_session=True,
            )
        threading.Thread(target=process.wait, daemon=True).start()  # otherwise the ended process would stay as a zombie
        self._started.append((name, process))

    def _note(self, name: str, reason: str) -> None:
        self._problems.append(f"The hook {name} failed: {reason}. This does not affect the meeting.")


def _wait_for_exit_code(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a hook; 0 if it is still running."""
    try:
        return process.wait(HOOK_EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        return 0


def _encode_hook_input(name: str, session: Session) -> bytes:
    decision = session.decision
    values = {
        "hook": name,
        "session": session.id,
        "question": session.charter.question,
        "outcome": str(decision.outcome) if decision else "",
        "position": decision.position if decision else "",
    }
    return msgspec.json.encode(values) + b"\n"


def find_run_hook_for_event(event: Event) -> HookName:
    """Return the hook that an event triggers, or an empty name; a person's choice is not a consensus of the seats."""
    match event:
        case SessionOpened():
            return "debate_started"
        case DecisionMade() if _is_consensus(event.decision):
            return "consensus_reached"
        case EffectDone(result=ChangeApplied()):
            return "execution_complete"
        case _:
            return ""


def _is_consensus(decision: Decision) -> bool:
    backing = decision.tally.get(decision.winner, 0)
    return decision.outcome is Outcome.REACHED and backing * 2 > len(decision.counted)
