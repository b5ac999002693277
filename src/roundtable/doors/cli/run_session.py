"""Run a session in this process: display it, ask at its gates, and stop it cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from typing import TYPE_CHECKING

from roundtable.core.events import Delta, Recorded
from roundtable.core.faults import UsageError
from roundtable.core.session import Session
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Gate
from roundtable.doors.cli.displays import Display, OutputMode, create_terminal_display
from roundtable.doors.cli.gate_prompt import GatePrompt
from roundtable.doors.cli.output import (
    EXIT_INTERRUPTED,
    EXIT_NO_DECISION,
    discard_closed_stdout,
    print_note,
    session_exit_code,
    shortest_cli_session_argument,
)
from roundtable.doors.cli.rollback import cli_continue_rolled_back_session
from roundtable.live.board import SessionView
from roundtable.live.event_lines import live_decision_lines

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable

DISPLAY_GRACE_SECONDS = 2.0
"""Seconds to display the last events of a run that was stopped."""

FAILED_RUN_GRACE_SECONDS = 0.3
"""Seconds to display the last events of a run that failed, perhaps before its first event."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def cli_run_and_show_session(
    desk: Roundtable, state: Session, output_mode: OutputMode, *, headless: bool = False, strict: bool
) -> int:
    """Run or continue a session, display it and print its decision; returns the exit code."""
    address = await shortest_cli_session_argument(desk, state.id, state.charter.slug)
    last_seq = state.seq if state.runs else 0
    display = create_terminal_display(
        output_mode, SessionView(state.charter, address, brief_until=last_seq, live_from=last_seq)
    )
    gate_prompt = GatePrompt(
        desk, state, display, asks=output_mode.can_ask(headless), colors=output_mode.has_live_panels
    )
    stop_reason = await SessionRun(desk, state.id, address, display, gate_prompt).wait_for_end()
    if desk.sessions.folder.problem:
        print_note(desk.sessions.folder.problem)
    if stop_reason is not None:
        code = _print_stop_reason(stop_reason, address)
        _print_open_gate((await desk.sessions.get(state.id)).open_gates, address)
        return code
    code = await print_decision(desk, state.id, display, address, strict=strict)
    for trouble in await desk.meetings.hook_problems():
        print_note(trouble)
    rolled_back = await cli_continue_rolled_back_session(desk, await desk.sessions.get(state.id))
    return (
        code
        if rolled_back is None
        else await cli_run_and_show_session(desk, rolled_back, output_mode, headless=headless, strict=strict)
    )


async def print_decision(desk: Roundtable, session: str, display: Display, address: str, *, strict: bool) -> int:
    """Print the decision of a session; returns the exit code."""
    ended = await desk.sessions.get(session)
    try:
        display.print_lines(live_decision_lines(ended, address))
        await display.outlet.wait_until_drained()
    except BrokenPipeError:
        discard_closed_stdout()
    return session_exit_code(ended, strict=strict)


def _print_stop_reason(reason: str, address: str) -> int:
    words = {
        "interrupted": f"Stopped. Resume with: roundtable resume {address}",
        "unanswered": f"The gate was not answered. Continue with: roundtable resume {address}",
        "unread": f"Stopped because the output was closed. Resume with: roundtable resume {address}",
    }
    with contextlib.suppress(OSError):  # the terminal itself may be gone
        print_note(words[reason])
    return EXIT_NO_DECISION if reason == "unanswered" else EXIT_INTERRUPTED


def _print_open_gate(gates: Sequence[Gate], address: str) -> None:
    """Print how to answer a gate that was left open."""
    for gate in gates:
        with contextlib.suppress(OSError):
            options = ", ".join(gate.options)
            print_note(f"Gate {gate.id} stays open. Its options are: {sanitize_line(options)}.")
            print_note("Answer the gate from any terminal:")
            print_note(f"  roundtable answer {address} {gate.id}=OPTION")


class SessionRun:
    """A run of a session and its display; when one of them ends, the other is ended too."""

    def __init__(self, desk: Roundtable, session: str, address: str, display: Display, gate_prompt: GatePrompt) -> None:
        self._address = address
        self._run = asyncio.create_task(desk.meetings.run(session))
        self._follow = asyncio.create_task(
            display_session_in_terminal(desk.sessions.watch(session, here=True), display, gate_prompt)
        )
        self._display = display
        self._stop_reason: str | None = None
        gate_prompt.give_up = lambda: self._stop("unanswered")

    async def wait_for_end(self) -> str | None:
        """Wait for the end; returns a reason if the run was stopped before the meeting ended."""
        with handle_terminal_signals(lambda: self._stop("interrupted"), self._abandon):
            await asyncio.wait({self._run, self._follow}, return_when=asyncio.FIRST_COMPLETED)
            if self._follow.done() and self._follow.exception() is not None:
                self._stop("unread")
            await asyncio.wait({self._run})
            await asyncio.wait({self._follow}, timeout=self._grace_seconds())
            self._follow.cancel()
            await asyncio.wait({self._follow})
        return self._result()

    def _stop(self, reason: str) -> None:
        self._stop_reason = self._stop_reason or reason
        (self._follow if self._run.done() else self._run).cancel()

    def _abandon(self) -> None:
        self._display.close()
        _print_stop_reason("interrupted", self._address)

    def _grace_seconds(self) -> float | None:
        if self._run.cancelled():
            return DISPLAY_GRACE_SECONDS
        return None if self._run.exception() is None else FAILED_RUN_GRACE_SECONDS

    def _result(self) -> str | None:
        """Raise the error of the run or the display, except for a closed output; returns the stop reason."""
        if not self._run.cancelled():
            self._run.result()
        if not self._follow.cancelled() and (error := self._follow.exception()) is not None:
            if not isinstance(error, OSError):
                raise error
            discard_closed_stdout()
            if not isinstance(error, BrokenPipeError):
                problem = f"The output cannot be written: {error.strerror or error}."
                raise UsageError(problem, f"Continue the session with `roundtable resume {self._address}`.") from None
        return self._stop_reason


async def display_session_in_terminal(
    items: AsyncGenerator[Recorded | Delta], display: Display, gate_prompt: GatePrompt | None = None
) -> None:
    """Display events and text as they arrive; a slow reader delays only this display."""
    outlet = display.outlet
    try:
        async with contextlib.aclosing(items):
            async for item in items:
                if gate_prompt is not None and isinstance(item, Recorded):
                    await gate_prompt.close_answered(item.event)
                display.show(item)
                if gate_prompt is not None and isinstance(item, Recorded):
                    await gate_prompt.handle_event(item)
                if outlet.is_behind:
                    await outlet.wait_until_drained()
    finally:
        try:
            if gate_prompt is not None:
                await gate_prompt.close()
        finally:
            display.close()
    await outlet.wait_until_drained()


@contextlib.contextmanager
def handle_terminal_signals(stop: Callable[[], object], abandon: Callable[[], None]) -> Generator[None]:
    """Stop at the first signal, and exit at once at the second."""
    loop = asyncio.get_running_loop()
    stopping = False

    def on_signal() -> None:
        nonlocal stopping
        if stopping:
            with contextlib.suppress(Exception):
                abandon()
            os._exit(EXIT_INTERRUPTED)
        stopping = True
        stop()

    handled = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # nohup stays nohup
    for number in handled:
        loop.add_signal_handler(number, on_signal)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
