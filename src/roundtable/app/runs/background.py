"""Meetings that outlive whoever asked for them: each is run by a process of its own, which answers to nobody but
the record. At a gate it waits some minutes for an answer from elsewhere, then lets go of the session, and whoever
answers has it run again. A headless session asks nobody.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

from roundtable.app.parts import Parts
from roundtable.app.settings.places import Places, find_session_workspace
from roundtable.app.settings.private_files import write_private_file
from roundtable.core.faults import RoundtableError
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.sanitize import sanitize_text

_PROGRAM = "import sys; sys.path.append(sys.argv[1]); from roundtable.app.background_process import main; main()"
_OUR_ROOT = Path(__file__).parents[3]
_LOOK_SECONDS = 0.1
_PATIENCE = 30.0
"""Seconds in which a process must have taken the session up; one that still starts then is left to it."""
GATE_WAIT_SECONDS = 600.0
"""Seconds for which a process waits at a gate where nothing happens."""
_LONGEST_WHY = 4000


async def run_in_background(parts: Parts, session: str, at_a_gate: float = GATE_WAIT_SECONDS) -> None:
    """Have a session run by a process of its own, unless one runs it already; what keeps it from running is raised."""
    state = await parts.read_session(session)
    if state.ended or await parts.leases.holder(session):
        return
    _log(parts.places, session).unlink(missing_ok=True)
    process = _start(parts.places, find_session_workspace(state.charter.workspace, parts.workspace), session, at_a_gate)
    give_up = asyncio.get_running_loop().time() + _PATIENCE
    while process.poll() is None and asyncio.get_running_loop().time() < give_up:
        if await parts.leases.holder(session):
            return
        await asyncio.sleep(_LOOK_SECONDS)
    if process.poll() and not await parts.leases.holder(session) and not (await parts.read_session(session)).ended:
        why = (
            read_background_failure(parts.places, session)
            or f"The process that was to run it ended with {process.returncode}."
        )
        raise RoundtableError(f"The meeting is on the record and could not be run. {why}", "Mend that, and resume it.")


def read_background_failure(places: Places, session: str) -> str:
    """What the last background run of a session said when it failed; empty if it did not."""
    try:
        return _log(places, session).read_text(encoding="utf-8")
    except OSError:
        return ""


def _start(places: Places, workspace: Path, session: str, at_a_gate: float) -> subprocess.Popen[bytes]:
    """Everything that happens from here on is on the record, so nothing of it is printed."""
    told = (_OUR_ROOT, places.data, places.config, workspace, session, at_a_gate)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM, *map(str, told)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    threading.Thread(target=process.wait, daemon=True).start()  # a process nobody waits for stays as a zombie
    return process


def write_background_failure(places: Places, session: str, why: str) -> None:
    """Keep why a background run failed, for whoever asks for it."""
    text = sanitize_text(Redactor().redact(why)).strip()[:_LONGEST_WHY]
    write_private_file(_log(places, session), text.encode(errors="replace"))


def _log(places: Places, session: str) -> Path:
    return places.data / "runs" / f"{session}.txt"
