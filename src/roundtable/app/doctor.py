"""Looks the set-up over and says what to mend. It asks no model anything unless told to."""

from __future__ import annotations

import asyncio
import os
import platform
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec

from roundtable.app.config import is_trusted
from roundtable.app.desk import Roundtable
from roundtable.app.discovery import ask_local, discover, remembered
from roundtable.app.models import list_models
from roundtable.app.places import Places, workspace_of
from roundtable.app.surroundings import KeyPlace, Program, Service, Surroundings, look_around
from roundtable.core.faults import ConfigError, Fault, FaultKind, NotFound, RecordError, RoundtableError
from roundtable.core.values import Message, Reply, Request, Seat
from roundtable.voices.asking import ask_once

Status = Literal["ok", "missing", "unusable", "no_key", "unreachable"]
SessionState = Literal["ok", "missing", "skipped", "error"]

PROBE_SECONDS = 60.0
PROBE_TOKENS = 16
"""For an answer of one word; some APIs take no smaller limit."""

EXTRAS = {
    "keychain": "keyring",
    "local": "xllamacpp",
    "tui": "textual",
    "web": "litestar",
    "mcp": "mcp",
    "scale": "psycopg",
}

_STATUS: dict[FaultKind, Status] = {
    FaultKind.MISSING: "missing",
    FaultKind.UNAUTHORIZED: "no_key",
    FaultKind.UNREACHABLE: "unreachable",
    FaultKind.TIMEOUT: "unreachable",
}


class Home(msgspec.Struct, frozen=True):
    """The person's data folder."""

    path: str
    readable: bool
    writable: bool


class ConfigCheck(msgspec.Struct, frozen=True):
    """The config files, and the mistake in them if there is one."""

    ok: bool
    user: str
    workspace: str
    trusted: bool
    withheld: tuple[str, ...] = ()
    note: str = ""


class StoreCheck(msgspec.Struct, frozen=True):
    """The record. `integrity` is `ok`, `absent` before the first session, or what is wrong."""

    path: str
    schema: int = 0
    sessions: int = 0
    integrity: str = "absent"

    @property
    def ok(self) -> bool:
        """Whether it can be used, or made."""
        return self.integrity in ("ok", "absent")


class Participant(msgspec.Struct, frozen=True):
    """One seat: can it be reached as far as one sees without asking?"""

    status: Status
    voice: str
    note: str = ""


class Report(msgspec.Struct, frozen=True):
    """Everything the doctor saw."""

    ok: bool
    roundtable_home: Home
    config: ConfigCheck
    store: StoreCheck
    participants: dict[str, Participant]
    session_state: SessionState
    session_note: str
    models: dict[str, str]
    python: str
    platform: str
    extras: dict[str, bool]
    agents: dict[str, Program]
    sandboxes: dict[str, Program]
    services: dict[str, Service]
    keys: KeyPlace
    advice: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 when all is well, 1 when the record itself is hurt, else 2: there is something to set right."""
        if self.ok:
            return 0
        hurt = self.roundtable_home.writable and not self.store.ok
        return 1 if hurt or self.session_state == "error" else 2


async def examine(
    workspace: Path | None = None, places: Places | None = None, session: str = "", *, deep: bool = False
) -> Report:
    """Look at everything, however broken some of it is; with `deep`, every seat gets one tiny question."""
    places = places or Places.of_this_person()
    workspace = workspace_of(workspace or Path.cwd())
    home = _home(places)
    store = await asyncio.to_thread(_store, places.database)
    config = ConfigCheck(
        True, str(places.user_config), str(workspace / ".roundtable" / "config.toml"), is_trusted(places, workspace)
    )
    participants: dict[str, Participant] = {}
    around: Surroundings | None = None
    state: tuple[SessionState, str] = ("skipped", "")
    try:
        async with await Roundtable.open(workspace, places) as desk:
            config = msgspec.structs.replace(config, withheld=desk.settings.withheld)
            participants, around = await asyncio.gather(_participants(desk, deep), look_around(places, desk))
            state = await _session(desk, session) if session else state
    except ConfigError as error:
        config = msgspec.structs.replace(config, ok=False, note=f"{error.message} {error.help}".strip())
    except RecordError as error:
        store = msgspec.structs.replace(store, integrity=error.message)
        state = ("error", error.message) if session else state
    around = around or await look_around(places, None)
    return _report(places, home, config, store, participants, state, around)


def _report(
    places: Places,
    home: Home,
    config: ConfigCheck,
    store: StoreCheck,
    participants: dict[str, Participant],
    state: tuple[SessionState, str],
    around: Surroundings,
) -> Report:
    speaking = [name for name, it in participants.items() if it.status == "ok"]
    ok = (
        home.readable
        and home.writable
        and config.ok
        and store.ok
        and bool(speaking)
        and len(speaking) == len(participants)
        and state[0] in ("ok", "skipped")
        and not around.keys.note
    )
    return Report(
        ok=ok,
        roundtable_home=home,
        config=config,
        store=store,
        participants=participants,
        session_state=state[0],
        session_note=state[1],
        models={it.name: _model_words(it.installed, it.default) for it in list_models(places)},
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        extras={name: find_spec(module) is not None for name, module in EXTRAS.items()},
        agents=around.agents,
        sandboxes=around.sandboxes,
        services=around.services,
        keys=around.keys,
        advice=tuple(_advice(home, config, bool(speaking), bool(participants))),
    )


def _model_words(installed: bool, default: bool) -> str:
    return "default" if default else "installed" if installed else "available"


def _advice(home: Home, config: ConfigCheck, speaking: bool, named: bool) -> Iterable[str]:
    if not home.writable:
        yield f"Make {home.path} writable, or set ROUNDTABLE_HOME to another folder."
    if config.withheld:
        yield f"This workspace's config also sets {', '.join(config.withheld)}: read it, then `roundtable trust`."
    if config.ok and not speaking and not named:
        yield "Nobody can speak yet."
        yield "Set a key such as OPENAI_API_KEY, start a local server, or fetch a model: `roundtable models`."


def _home(places: Places) -> Home:
    """The folder itself, or the nearest one above it where it would be made."""
    folder = places.data
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    usable = folder.is_dir()
    return Home(
        str(places.data),
        usable and os.access(folder, os.R_OK | os.X_OK),
        usable and os.access(folder, os.W_OK | os.X_OK),
    )


def _store(path: Path) -> StoreCheck:
    """Look at the record without making or changing it."""
    if not path.exists():
        return StoreCheck(str(path))
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as db:
            (schema,) = db.execute("PRAGMA user_version").fetchone()
            (integrity,) = db.execute("PRAGMA quick_check(1)").fetchone()
            (sessions,) = db.execute("SELECT count(*) FROM sessions").fetchone() if schema else (0,)
    except sqlite3.Error as error:
        return StoreCheck(str(path), integrity=f"{error}")
    return StoreCheck(str(path), schema, sessions, integrity)


# --- seats ----------------------------------------------------------------------------------------


async def _participants(desk: Roundtable, deep: bool) -> dict[str, Participant]:
    """The seats that would sit down now: configured, else picked before, else whoever is found."""
    seats = _seats(desk)
    if seats:
        looked = dict(zip((seat.name for seat in seats), [await _look(desk, seat) for seat in seats], strict=True))
    else:
        looked = {
            it.name: Participant("ok" if it.usable else "unusable", it.voice, it.note)
            for it in await discover(desk)
            if it.usable or it.kind == "configured"
        }
    if deep:
        speaking = [name for name, it in looked.items() if it.status == "ok"]
        answers = await asyncio.gather(*(_probe(desk, name, looked[name]) for name in speaking))
        looked |= dict(zip(speaking, answers, strict=True))
    return looked


def _seats(desk: Roundtable) -> tuple[Seat, ...]:
    try:
        return desk.configured_seats() or remembered(desk)
    except RoundtableError:
        return ()


async def _look(desk: Roundtable, seat: Seat) -> Participant:
    """The first voice of the chain that is well, else the first with its trouble."""
    looked = [await _look_at(desk, voice) for voice in seat.voices]
    return next((it for it in looked if it.status == "ok"), looked[0])


async def _look_at(desk: Roundtable, voice: str) -> Participant:
    found = desk.voices.find(voice)
    kind, _, _ = voice.partition(":")
    if isinstance(found, Fault):
        return Participant(_STATUS.get(found.kind, "unusable"), voice, f"{found.message} {found.help}")
    endpoint = desk.endpoints.get(kind)
    if endpoint is not None and endpoint.local and await ask_local(desk, endpoint) is None:
        return Participant("unreachable", voice, f"Nothing answers at {endpoint.base_url}. Is the server running?")
    return Participant("ok", voice)


async def _probe(desk: Roundtable, seat: str, seen: Participant) -> Participant:
    """One tiny question; an answer of any kind will do."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    end = await _reply(desk, seat, seen.voice)
    if isinstance(end, Reply):
        return Participant("ok", seen.voice, f"answered in {loop.time() - began:.1f} s")
    note = desk.redactor.redact(f"{end.message} {end.help}")
    return Participant(_STATUS.get(end.kind, "unusable"), seen.voice, note)


async def _reply(desk: Roundtable, seat: str, name: str) -> Reply | Fault:
    voice = desk.voices.find(name)
    if isinstance(voice, Fault):
        return voice
    question = Message("user", "Reply with the single word: ready")
    call = f"doctor/{seat}#1"
    return await ask_once(voice, Request(call, seat, (question,), max_tokens=PROBE_TOKENS, timeout=PROBE_SECONDS))


async def _session(desk: Roundtable, address: str) -> tuple[SessionState, str]:
    try:
        session = await desk.session(await desk.find(address))
    except NotFound as error:
        return "missing", error.message
    except RoundtableError as error:
        return "error", error.message
    return "ok", f"{session.charter.slug}: {session.status}, {session.seq} facts"
