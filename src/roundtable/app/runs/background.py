"""Runs sessions in background processes, which continue after the process that started them has ended.

At a gate, the process waits some minutes for an answer from another process and then releases the session; the next
answer starts another process. A headless session never waits.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

from roundtable.app.parts import Parts
from roundtable.app.settings.places import Places
from roundtable.app.settings.private_files import PrivateFile
from roundtable.core.faults import RoundtableError
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.sanitize import sanitize_text

_PROGRAM = "import sys; sys.path.append(sys.argv[1]); from roundtable.app.background_process import main; main()"
_SOURCE_ROOT = Path(__file__).parents[3]
_POLL_SECONDS = 0.1
_START_TIMEOUT = 30.0
"""Seconds to wait until the new process holds the session; after that it is left to start by itself."""
GATE_WAIT_SECONDS = 600.0
"""Seconds that a process waits at a gate without any new fact."""
_MAX_FAILURE_LENGTH = 4000


async def run_session_in_background(parts: Parts, session: str, gate_wait: float = GATE_WAIT_SECONDS) -> None:
    """Run a session in a new process, unless one runs it already; raise an error if the process fails to start."""
    state = await parts.read_session(session)
    if state.ended or await parts.leases.holder(session):
        return
    _failure_file(parts.places, session).unlink(missing_ok=True)
    process = _start(parts.places, parts.find_session_workspace(state), session, gate_wait)
    deadline = asyncio.get_running_loop().time() + _START_TIMEOUT
    while process.poll() is None and asyncio.get_running_loop().time() < deadline:
        if await parts.leases.holder(session):
            return
        await asyncio.sleep(_POLL_SECONDS)
    if process.poll() and not await parts.leases.holder(session) and not (await parts.read_session(session)).ended:
        reason = (
            read_background_run_failure(parts.places, session)
            or f"The background process ended with exit code {process.returncode}."
        )
        raise RoundtableError(
            f"The session was opened but could not be run. {reason}", "Fix the problem, then run `roundtable resume`."
        )


def read_background_run_failure(places: Places, session: str) -> str:
    """Return the error message of the last background run of a session; empty if it did not fail."""
    try:
        return _failure_file(places, session).read_text(encoding="utf-8")
    except OSError:
        return ""


def _start(places: Places, workspace: Path, session: str, gate_wait: float) -> subprocess.Popen[bytes]:
    """Start the process without any output: everything that happens is on the record."""
    arguments = (_SOURCE_ROOT, places.data, places.config, workspace, session, gate_wait)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    threading.Thread(target=process.wait, daemon=True).start()  # otherwise the ended process would stay as a zombie
    return process


def write_background_run_failure(places: Places, session: str, message: str) -> None:
    """Store the error message of a background run."""
    text = sanitize_text(Redactor().redact(message)).strip()[:_MAX_FAILURE_LENGTH]
    PrivateFile(_failure_file(places, session)).write(text.encode(errors="replace"))


def _failure_file(places: Places, session: str) -> Path:
    return places.data / "runs" / f"{session}.txt"
