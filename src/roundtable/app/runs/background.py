"""Meetings that outlive whoever asked for them: each is run by a process of its own, which answers to nobody but
the record. At a gate it waits some minutes for an answer from elsewhere, then lets go of the session, and whoever
answers has it run again. A headless session asks nobody.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from pathlib import Path

from roundtable.app.desk import Roundtable
from roundtable.app.settings.places import Places, home_of
from roundtable.app.settings.private_files import write_private
from roundtable.core.faults import RoundtableError, SessionHeld
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.sanitize import sanitize_text

_PROGRAM = "import sys; sys.path.append(sys.argv[1]); from roundtable.app.runs.background import main; main()"
_OUR_ROOT = Path(__file__).parents[3]
_LOOK_SECONDS = 0.1
_PATIENCE = 30.0
"""Seconds in which a process must have taken the session up; one that still starts then is left to it."""
GATE_WAIT_SECONDS = 600.0
"""Seconds for which a process waits at a gate where nothing happens."""
_LONGEST_WHY = 4000


async def run_in_background(desk: Roundtable, session: str, at_a_gate: float = GATE_WAIT_SECONDS) -> None:
    """Have a session run by a process of its own, unless one runs it already; what keeps it from running is raised."""
    state = await desk.session(session)
    if state.ended or await desk.holder(session):
        return
    _log(desk.places, session).unlink(missing_ok=True)
    process = _start(desk.places, home_of(state.charter.workspace, desk.workspace), session, at_a_gate)
    give_up = asyncio.get_running_loop().time() + _PATIENCE
    while process.poll() is None and asyncio.get_running_loop().time() < give_up:
        if await desk.holder(session):
            return
        await asyncio.sleep(_LOOK_SECONDS)
    if process.poll() and not await desk.holder(session) and not (await desk.session(session)).ended:
        why = (
            read_background_failure(desk.places, session)
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


def main() -> None:
    """The process itself: `… ROOT DATA CONFIG WORKSPACE SESSION SECONDS`."""
    _, data, config, workspace, session, at_a_gate = sys.argv[1:]
    places = Places(Path(data), Path(config))
    try:
        asyncio.run(_run(places, Path(workspace), session, float(at_a_gate)))
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


async def _run(places: Places, workspace: Path, session: str, at_a_gate: float) -> None:
    async with await Roundtable.open(workspace, places) as desk:
        while await _left_at_a_gate(desk, session, at_a_gate):
            if (await desk.session(session)).open_gates:
                return
            # Who answered while we were leaving still saw us as the one who goes on.


async def _left_at_a_gate(desk: Roundtable, session: str, seconds: float) -> bool:
    """Run a session to its end, or until it has waited long enough at a gate."""
    run = asyncio.create_task(desk.run(session))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, run.cancel)
    waiting = asyncio.create_task(_unanswered(desk, session, seconds))
    await asyncio.wait({run, waiting}, return_when=asyncio.FIRST_COMPLETED)
    left = not run.done() and run.cancel()
    waiting.cancel()
    await asyncio.wait({run, waiting})
    if run.cancelled() and left:
        waiting.result()
        return True
    await run
    return False


async def _unanswered(desk: Roundtable, session: str, seconds: float) -> None:
    """Wait until a gate of the session is open and for so long nothing happened."""
    while True:
        state = await desk.session(session)
        if not await desk.store.changed(session, state.seq, seconds) and state.open_gates:
            return


def _say_why(places: Places, session: str, why: str) -> None:
    text = sanitize_text(Redactor().redact(why)).strip()[:_LONGEST_WHY]
    write_private(_log(places, session), text.encode(errors="replace"))


def _log(places: Places, session: str) -> Path:
    return places.data / "runs" / f"{session}.txt"


__all__ = ["main", "read_background_failure", "run_in_background"]
