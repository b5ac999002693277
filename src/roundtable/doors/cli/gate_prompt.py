"""Ask the person at the terminal; another terminal can answer first, and Ctrl-C ends the question."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, cast

from roundtable.core.change_history import (
    is_session_approval_gate,
    is_session_confirmation_gate,
    newest_session_candidates,
    newest_session_change_plan,
    session_confirmation_phrase,
)
from roundtable.core.events import (
    BY_HEADLESS_DEFAULT,
    AnswerSource,
    Event,
    GateAnswered,
    GateOpened,
    Recorded,
    RunStarted,
)
from roundtable.core.faults import RoundtableError
from roundtable.core.session import Session
from roundtable.core.values import Gate
from roundtable.doors.cli.rollback import prompt_rollback_stage_in_terminal
from roundtable.live.event_lines import LiveLine, live_gate_lines
from roundtable.live.gate_options import OPTION_REASON_QUESTIONS, live_gate_option_on_enter, match_live_gate_answer
from roundtable.report.step_words import render_step_result_lines

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable
    from roundtable.doors.cli.approval_prompt import HunkPrompt
    from roundtable.doors.cli.displays import Display
    from roundtable.live.hunk_approval import ApprovalAnswer


async def read_terminal_line(prompt: str, fd: int = 0) -> str | None:
    """Read a line from the terminal without blocking the event loop; None at its end."""
    os.write(2, prompt.encode(errors="replace"))
    loop = asyncio.get_running_loop()
    line_read: asyncio.Future[bytes] = loop.create_future()

    def ready() -> None:
        if line_read.done():
            return
        try:
            line_read.set_result(os.read(fd, 65536))
        except OSError:  # the terminal is gone
            line_read.set_result(b"")

    loop.add_reader(fd, ready)
    try:
        data = await line_read
    except asyncio.CancelledError:
        os.write(2, b"\n")  # ends the line of the prompt
        raise
    finally:
        loop.remove_reader(fd)
    return data.decode(errors="replace").strip() if data else None


class GatePrompt:
    """Answers every gate of a session that runs here: with the person's choice, or with its default."""

    def __init__(self, desk: Roundtable, state: Session, display: Display, *, asks: bool, colors: bool) -> None:
        self._desk = desk
        self._session = state.id
        self._charter = state.charter
        self._settled = set(state.answers)
        self._known = state.seq
        self._left_open: Gate | None = None
        self._display = display
        self._can_ask = asks
        self._colors = colors
        self._hunk_prompt: HunkPrompt | None = None
        self._asking: tuple[str, asyncio.Task[None]] | None = None
        self.give_up: Callable[[], None] = lambda: None

    async def handle_event(self, recorded: Recorded) -> None:
        """Handle one recorded event."""
        event = recorded.event
        if isinstance(event, GateOpened) and self._is_answered_here(event.gate):
            if not self._can_ask:
                await self._answer(event.gate.id, event.gate.default, by_default=True)
            elif recorded.seq > self._known:
                self._start_asking(event.gate)
            else:
                self._left_open = event.gate
        elif isinstance(event, RunStarted) and recorded.seq > self._known and self._left_open is not None:
            self._display.print_lines([*await self._gate_subject(self._left_open), *live_gate_lines(self._left_open)])
            self._start_asking(self._left_open)

    async def _gate_subject(self, gate: Gate) -> list[LiveLine]:
        """The candidates and the plan of a gate that was left open in an earlier run."""
        state = await self._desk.sessions.get(self._session)
        draft_and_plan = newest_session_change_plan(state) if is_session_approval_gate(gate) else None
        results = (
            [part for part in (newest_session_candidates(state), draft_and_plan[1]) if part] if draft_and_plan else []
        )
        return [LiveLine(line, "dim") for part in results for line in render_step_result_lines(part)]

    async def close_answered(self, event: Event) -> None:
        """Stop asking at a gate that has been answered, before the answer is displayed."""
        if isinstance(event, GateAnswered):
            self._settled.add(event.gate)
            if self._asking is not None and self._asking[0] == event.gate:
                await self.close()
                self._display.resume()

    def _start_asking(self, gate: Gate) -> None:
        self._display.suspend()
        asking = asyncio.create_task(self._ask(gate))
        asking.add_done_callback(self._stop_if_failed)
        self._asking = gate.id, asking

    def _stop_if_failed(self, asking: asyncio.Task[None]) -> None:
        """Give up on a gate whose question failed, instead of waiting for an answer."""
        if not asking.cancelled() and asking.exception() is not None:
            self.give_up()

    def _is_answered_here(self, gate: Gate) -> bool:
        """Whether a gate is answered here; the engine answers headless sessions and answers given in advance."""
        ahead = gate.advance_answer(self._charter.answers) in gate.options
        return not (ahead or self._charter.headless or gate.id in self._settled)

    async def _ask(self, gate: Gate) -> None:
        if not (is_session_approval_gate(gate) or is_session_confirmation_gate(gate)):
            return await self._ask_for_option(gate)
        answer = await self._ask_for_approval(gate)
        if answer is None:
            return self.give_up()
        await self._answer(gate.id, *answer)

    async def _ask_for_approval(self, gate: Gate) -> ApprovalAnswer | None:
        """Have a plan approved hunk by hunk, or an irreversible deletion confirmed with its phrase."""
        hunk_prompt = self._hunk_prompt = self._hunk_prompt or self._create_hunk_prompt()
        state = await self._desk.sessions.get(self._session)
        if is_session_approval_gate(gate):
            return await hunk_prompt.approve(state, gate)
        return await hunk_prompt.confirm(session_confirmation_phrase(state))

    def _create_hunk_prompt(self) -> HunkPrompt:
        from rich.console import Console

        from roundtable.doors.cli.approval_prompt import HunkPrompt

        console = Console(
            file=cast("IO[str]", self._display.outlet),
            force_terminal=True,
            color_system="auto" if self._colors else None,
            highlight=False,
            markup=False,
            emoji=False,
        )
        return HunkPrompt(console, self._read_line, self._desk.gates.check_choice)

    async def _read_line(self, prompt: str) -> str | None:
        """Read a line after everything displayed so far has been written."""
        await self._display.outlet.wait_until_drained()
        return await read_terminal_line(prompt)

    async def _ask_for_option(self, gate: Gate) -> None:
        default = live_gate_option_on_enter(gate)
        prompt = f"Your choice [1-{len(gate.options)}{f', Enter for {default}' if default else ''}]: "
        while True:
            line = await self._read_line(prompt)
            if line is None:
                return self.give_up()
            option, reason = match_live_gate_answer(gate, line)
            if option is not None:
                break
            problem = f"Invalid option: {line}." if line else "Choose an option; Ctrl-C leaves the gate open."
            notes = [] if line == "?" else [LiveLine(problem, "fault")]
            self._display.print_lines([*notes, *live_gate_lines(gate)[1:]])
        text = await self._read_option_text(gate, option, reason)
        if text is None:
            return self.give_up()
        await self._answer(gate.id, option, text)

    async def _read_option_text(self, gate: Gate, option: str, text: str) -> str | None:
        """The text that some options need in addition; None if the person left."""
        if gate.is_back_answer(option):
            return await prompt_rollback_stage_in_terminal(
                await self._desk.sessions.get(self._session), text, self._read_line
            )
        if text or option not in OPTION_REASON_QUESTIONS:
            return text
        if not gate.is_own_words_answer(option):
            return await self._read_line(f"{OPTION_REASON_QUESTIONS[option]} [Enter to skip]: ")
        line: str | None = ""
        while line == "":
            line = await self._read_line(f"{OPTION_REASON_QUESTIONS[option]} ")
        return line

    async def _answer(self, gate: str, option: str, reason: str = "", *, by_default: bool = False) -> None:
        by, source = (BY_HEADLESS_DEFAULT, AnswerSource.HEADLESS) if by_default else ("", AnswerSource.PERSON)
        try:
            await self._desk.gates.answer(self._session, gate, option, reason, by, source=source)
        except RoundtableError as error:  # another terminal answered first
            self._display.print_lines([LiveLine(error.message, "dim")])

    async def close(self) -> None:
        """Stop asking; raises the error of a question that failed."""
        asking, self._asking = self._asking, None
        if asking is not None:
            asking[1].cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asking[1]
