"""Meetings that outlive whoever asked for them: each is run by a process of its own, which answers to nobody but
the record. A gate waits there for an answer from elsewhere, as long as it takes; a headless session asks nobody.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from pathlib import Path

from roundtable.app.desk import Roundtable
from roundtable.app.places import Places
from roundtable.app.private_files import write_private
from roundtable.core.faults import RoundtableError, SessionHeld
from roundtable.core.redaction import Redactor
from roundtable.core.views import clean

_PROGRAM = "import sys; sys.path.append(sys.argv[1]); from roundtable.app.background import main; main()"
_OUR_ROOT = Path(__file__).parents[2]
_LOOK_SECONDS = 0.1
_PATIENCE = 30.0
"""Seconds in which a process must have taken the session up; one that still starts then is left to it."""
_LONGEST_WHY = 4000


async def run_in_background(desk: Roundtable, session: str) -> None:
    """Have a session run by a process of its own, unless one runs it already; what keeps it from running is raised."""
    if (await desk.session(session)).ended or await desk.holder(session):
        return
    _log(desk.places, session).unlink(missing_ok=True)
    process = _start(desk, session)
    give_up = asyncio.get_running_loop().time() + _PATIENCE
    while process.poll() is None and asyncio.get_running_loop().time() < give_up:
        if await desk.holder(session):
            return
        await asyncio.sleep(_LOOK_SECONDS)
    if process.poll() and not await desk.holder(session) and not (await desk.session(session)).ended:
        why = why_stopped(desk.places, session) or f"The process that was to run it ended with {process.returncode}."
        raise RoundtableError(f"The meeting is on the record and could not be run. {why}", "Mend that, and resume it.")


def why_stopped(places: Places, session: str) -> str:
    """What the last background run of a session said when it failed; empty if it did not."""
    try:
        return _log(places, session).read_text(encoding="utf-8")
    except OSError:
        return ""


def _start(desk: Roundtable, session: str) -> subprocess.Popen[bytes]:
    """Everything that happens from here on is on the record, so nothing of it is printed."""
    places = desk.places
    told = (_OUR_ROOT, places.data, places.config, desk.workspace, session)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM, *map(str, told)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    threading.Thread(target=process.wait, daemon=True).start()  # a process nobody waits for stays as a zombie
    return process


def main() -> None:
    """The process itself: `… ROOT DATA CONFIG WORKSPACE SESSION`."""
    _, data, config, workspace, session = sys.argv[1:]
    places = Places(Path(data), Path(config))
    try:
        asyncio.run(_run(places, Path(workspace), session))
    except asyncio.CancelledError:
        sys.exit(128 + signal.SIGTERM)
    except SessionHeld as held:
        sys.exit(held.exit_code)
    except RoundtableError as error:
        _say_why(places, session, f"{error.message} {error.help}")
        sys.exit(error.exit_code)
    except Exception as error:
        _say_why(places, session, f"{type(error).__name__}: {error}")
        sys.exit(1)


async def _run(places: Places, workspace: Path, session: str) -> None:
    async with await Roundtable.open(workspace, places) as desk:
        run = asyncio.create_task(desk.run(session))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, run.cancel)
        await run


def _say_why(places: Places, session: str, why: str) -> None:
    text = clean(Redactor().redact(why)).strip()[:_LONGEST_WHY]
    write_private(_log(places, session), text.encode(errors="replace"))


def _log(places: Places, session: str) -> Path:
    return places.data / "runs" / f"{session}.txt"


__all__ = ["main", "run_in_background", "why_stopped"]
