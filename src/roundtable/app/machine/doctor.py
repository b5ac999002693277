"""Checks the installation and says what to fix. Models are asked only on request."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec

from roundtable.app.machine.embedded_models import list_machine_models
from roundtable.app.machine.isolation import Isolation
from roundtable.app.machine.seat_check import (
    Participant,
    Seating,
    SeatSource,
    VoiceCheckCallback,
    run_machine_seat_check,
)
from roundtable.app.machine.surroundings import KeyStorage, LocalService, MachineState, Program, inspect_machine
from roundtable.app.parts import Parts
from roundtable.app.settings.config import is_workspace_trusted
from roundtable.app.settings.places import Places
from roundtable.core.faults import ConfigError, NotFound, RecordError, RoundtableError, UsageError
from roundtable.report.reasons import reason_sentence
from roundtable.store.record_file import RecordFile
from roundtable.workshop.trial.repository_checks import find_trial_check_commands_of_workspace

SessionState = Literal["ok", "missing", "skipped", "error"]

OPTIONAL_EXTRAS = {
    "keychain": "keyring",
    "local": "xllamacpp",
    "tui": "textual",
    "web": "litestar",
    "mcp": "mcp",
    "scale": "psycopg",
}


class HomeCheck(msgspec.Struct, frozen=True):
    """The person's data folder."""

    path: str
    readable: bool
    writable: bool


class ConfigCheck(msgspec.Struct, frozen=True):
    """The config files, and the first error in them."""

    ok: bool
    user: str
    workspace: str
    trusted: bool
    withheld: tuple[str, ...] = ()
    note: str = ""


class DoctorReport(msgspec.Struct, frozen=True):
    """The result of all checks; `deep` if the seats were asked too."""

    ok: bool
    deep: bool
    roundtable_home: HomeCheck
    config: ConfigCheck
    store: RecordFile
    seats_from: SeatSource
    participants: dict[str, Participant]
    session_state: SessionState
    session_note: str
    models: dict[str, str]
    python: str
    platform: str
    extras: dict[str, bool]
    agents: dict[str, Program]
    sandboxes: dict[str, Program]
    services: dict[str, LocalService]
    keys: KeyStorage
    isolation: Isolation = Isolation()
    advice: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 if everything is fine, 1 if the record is damaged, else 2."""
        if self.ok:
            return 0
        hurt = self.roundtable_home.writable and not self.store.ok
        return 1 if hurt or self.session_state == "error" else 2


OpenParts = Callable[[], AbstractAsyncContextManager[Parts]]
"""Opens the record and reads the config; raises an error if one of them is broken."""


async def run_machine_doctor(
    places: Places,
    workspace: Path,
    open_parts: OpenParts,
    session: str = "",
    *,
    on_check: VoiceCheckCallback | None = None,
) -> DoctorReport:
    """Check everything, even if parts of it are broken; with `on_check`, every seat is asked one short question."""
    home = _check_home(places)
    store = await asyncio.to_thread(RecordFile.check, places.database)
    config = ConfigCheck(
        True,
        str(places.user_config),
        str(workspace / ".roundtable" / "config.toml"),
        is_workspace_trusted(places, workspace),
    )
    seating = Seating("config", {})
    around: MachineState | None = None
    state: tuple[SessionState, str] = ("skipped", "")
    unrun: tuple[str, ...] = ()
    try:
        async with open_parts() as parts:
            config = msgspec.structs.replace(config, withheld=parts.settings.withheld)
            looking = inspect_machine(places, parts, deep=on_check is not None)
            seating, around = await asyncio.gather(run_machine_seat_check(parts, on_check), looking)
            state = await _check_session(parts, session) if session else state
            with suppress(UsageError):  # what is too large to be tried says so where it is tried
                checks = await asyncio.to_thread(
                    find_trial_check_commands_of_workspace, parts.settings.config.checks, workspace
                )
                unrun = tuple(map(reason_sentence, checks.unrun_reasons))
    except ConfigError as error:
        config = msgspec.structs.replace(config, ok=False, note=f"{error.message} {error.help}".strip())
    except RecordError as error:
        store = msgspec.structs.replace(store, integrity=error.message)
        state = ("error", error.message) if session else state
    around = around or await inspect_machine(places, None)
    report = _build_report(places, home, config, store, seating, state, around)
    return msgspec.structs.replace(report, advice=(*report.advice, *unrun))


def _build_report(
    places: Places,
    home: HomeCheck,
    config: ConfigCheck,
    store: RecordFile,
    seating: Seating,
    state: tuple[SessionState, str],
    around: MachineState,
) -> DoctorReport:
    speaking = [name for name, participant in seating.participants.items() if participant.status == "ok"]
    ok = (
        home.readable
        and home.writable
        and config.ok
        and store.ok
        and bool(speaking)
        and len(speaking) == len(seating.participants)
        and state[0] in ("ok", "skipped")
        and not around.keys.note
        and around.isolation.ok
    )
    return DoctorReport(
        ok=ok,
        deep=seating.asked,
        roundtable_home=home,
        config=config,
        store=store,
        seats_from=seating.source,
        participants=seating.participants,
        session_state=state[0],
        session_note=state[1],
        models={
            model.name: _describe_model_state(model.installed, model.default) for model in list_machine_models(places)
        },
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        extras={name: find_spec(module) is not None for name, module in OPTIONAL_EXTRAS.items()},
        agents=around.agents,
        sandboxes=around.sandboxes,
        services=around.services,
        keys=around.keys,
        isolation=around.isolation,
        advice=tuple(_find_advice(home, config, seating, looked=config.ok and store.ok)),
    )


def _describe_model_state(installed: bool, default: bool) -> str:
    return "in use" if default else "installed" if installed else "can be fetched"


def _find_advice(home: HomeCheck, config: ConfigCheck, seating: Seating, *, looked: bool) -> Iterable[str]:
    if not home.writable:
        yield f"Make {home.path} writable, or set ROUNDTABLE_HOME to another folder."
    if config.withheld:
        yield (
            f"These settings of this workspace are ignored until you trust it: {', '.join(config.withheld)}. "
            "Read .roundtable/config.toml, then run `roundtable trust`."
        )
    if seating.source == "found" and seating.participants:
        yield (
            "No seats are configured. In a terminal, `roundtable discuss` offers the seats found on this machine; "
            "in a script, add `--seat`."
        )
    if looked and not seating.participants:
        yield "No seat can speak yet."
        yield (
            "Set an API key such as OPENAI_API_KEY, start a local model server, or download a model with "
            "`roundtable models get NAME`."
        )


def _check_home(places: Places) -> HomeCheck:
    """Check the data folder, or the nearest parent folder if it does not exist yet."""
    folder = places.data
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    usable = folder.is_dir()
    return HomeCheck(
        str(places.data),
        usable and os.access(folder, os.R_OK | os.X_OK),
        usable and os.access(folder, os.W_OK | os.X_OK),
    )


async def _check_session(parts: Parts, address: str) -> tuple[SessionState, str]:
    try:
        session = await parts.read_session(await parts.find_session(address))
    except NotFound as error:
        return "missing", error.message
    except RoundtableError as error:
        return "error", error.message
    return "ok", f"{session.charter.slug}: {session.status}, {session.seq} facts"
