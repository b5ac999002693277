"""The process that runs one session in the background: started by `runs.background`, it prints nothing.

At a gate it waits some minutes for an answer from another process and then releases the session; the next answer
starts another process.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from roundtable.app.desk import Roundtable
from roundtable.app.runs.background import write_background_run_failure
from roundtable.app.settings.places import Places
from roundtable.core.faults import RoundtableError, SessionHeld


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
        write_background_run_failure(places, session, f"{error.message} {error.help}")
        sys.exit(error.exit_code)
    except Exception as error:
        write_background_run_failure(places, session, f"{type(error).__name__}: {error}")
        sys.exit(1)


async def _run(places: Places, workspace: Path, session: str, at_a_gate: float) -> None:
    async with await Roundtable.open(workspace, places) as desk:
        while await _left_at_a_gate(desk, session, at_a_gate):
            if (await desk.sessions.get(session)).open_gates:
                return
            # An answer that arrived while this process was leaving counts on it to continue.


async def _left_at_a_gate(desk: Roundtable, session: str, seconds: float) -> bool:
    """Run a session to its end, or until it has waited long enough at a gate."""
    run = asyncio.create_task(desk.meetings.run(session))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, run.cancel)
    waiting = asyncio.create_task(_unanswered(desk, session, seconds))
    await asyncio.wait({run, waiting}, return_when=asyncio.FIRST_COMPLETED)
    was_cancelled = not run.done() and run.cancel()
    waiting.cancel()
    await asyncio.wait({run, waiting})
    if run.cancelled() and was_cancelled:
        waiting.result()
        return True
    await run
    return False


async def _unanswered(desk: Roundtable, session: str, seconds: float) -> None:
    """Wait until a gate of the session is open and for so long nothing happened."""
    while True:
        state = await desk.sessions.get(session)
        if not await desk.sessions.wait_for_facts(session, state.seq, seconds) and state.open_gates:
            return
