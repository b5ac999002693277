"""Programs that a person wants told of a debate's three moments: started without a shell, and left to themselves."""

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
from roundtable.voices.agents.workdirs import filter_agent_environment

HOOK_PATIENCE_SECONDS = 1.0
"""Seconds after a meeting in which a program may still fail and be told of; one that runs longer is left alone."""

_SCREEN = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY")


HookName = Literal["", "debate_started", "consensus_reached", "execution_complete"]


class HookRunner:
    """What `[hooks]` lists. A program reads one line of JSON; what becomes of it changes no meeting."""

    def __init__(self, commands: Mapping[str, Sequence[str]], workspace: Path, store: Store) -> None:
        self._commands = commands
        self._workspace = workspace
        self._store = store
        self._started: list[tuple[str, subprocess.Popen[bytes]]] = []
        self._troubles: list[str] = []

    async def tell(self, session: str, event: Event) -> None:
        """Start the program that waits for this fact, if one does; the meetings within a meeting tell nobody."""
        name = run_hook_for_event(event)
        if name not in self._commands:
            return
        try:
            state = Session.fold(session, await self._store.read(session))
            if not state.charter.parent or state.charter.branched_at:
                self._start(name, _line(name, state))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            self._note(name, f"{sanitize_line(self._commands[name][0])} cannot be started ({why})")
        except RoundtableError as error:
            self._note(name, error.message.rstrip("."))

    @contextlib.asynccontextmanager
    async def following(self, session: str, feed: Feed) -> AsyncGenerator[None]:
        """Tell of what a session that runs here puts on the record."""
        news = feed.subscribe(session)
        following = asyncio.create_task(self._follow(session, news))
        try:
            yield
        finally:
            news.end()
            feed.unsubscribe(session, news)
            await following

    async def troubles(self) -> list[str]:
        """What has gone wrong, a sentence for each program, after those that are still at it had a moment."""
        started, self._started = self._started, []
        codes = await asyncio.gather(*(asyncio.to_thread(_code, process) for _, process in started))
        for (name, _), code in zip(started, codes, strict=True):
            if code:
                self._note(name, f"{sanitize_line(self._commands[name][0])} ended with {code}")
        told, self._troubles = self._troubles, []
        return told

    async def _follow(self, session: str, news: Subscription) -> None:
        async for items in news.batches():
            for item in items:
                if isinstance(item, Recorded):
                    await self.tell(session, item.event)

    def _start(self, name: str, line: bytes) -> None:
        """It reads from a file that is ready, so that one which never reads holds nobody up."""
        with tempfile.TemporaryFile() as told:
            told.write(line)
            told.seek(0)
            process = subprocess.Popen(
                self._commands[name],
                stdin=told,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self._workspace,
                env=filter_agent_environment(os.environ, _SCREEN),
                start_new_session=True,
            )
        threading.Thread(target=process.wait, daemon=True).start()  # a process nobody waits for stays as a zombie
        self._started.append((name, process))

    def _note(self, name: str, why: str) -> None:
        self._troubles.append(f"The hook {name} failed: {why}. The meeting is not touched by it.")


def _code(process: subprocess.Popen[bytes]) -> int:
    """How it ended; nothing is wrong with one that goes on."""
    try:
        return process.wait(HOOK_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return 0


def _line(name: str, session: Session) -> bytes:
    decision = session.decision
    told = {
        "hook": name,
        "session": session.id,
        "question": session.charter.question,
        "outcome": str(decision.outcome) if decision else "",
        "position": decision.position if decision else "",
    }
    return msgspec.json.encode(told) + b"\n"


def run_hook_for_event(event: Event) -> HookName:
    """The hook that an event triggers, or an empty name. A person's choice is not a consensus of the seats."""
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
