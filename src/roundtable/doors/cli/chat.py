"""`chat`: ask the judge about a session without changing it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from roundtable.core.events import Delta, MoveMade, Recorded, SeatMissed
from roundtable.core.faults import UsageError
from roundtable.core.session import Session
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.doors.cli.displays import Display, JsonLines
from roundtable.doors.cli.gate_prompt import GatePrompt, read_terminal_line
from roundtable.doors.cli.options import SectionCommand, cli_section_option, cli_session_argument
from roundtable.doors.cli.output import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    print_note,
    run_cli_command_at_session_desk,
    session_exit_code,
)
from roundtable.doors.cli.output_queue import OutputQueue
from roundtable.doors.cli.run_session import SessionRun
from roundtable.live.event_lines import LiveLine, live_fault_line, live_lines_as_text
from roundtable.report.costs import build_cost_report

if TYPE_CHECKING:
    from roundtable.app.desk import ChatExchange, Roundtable


@click.command(cls=SectionCommand)
@cli_session_argument
@click.argument("question", default="")
@cli_section_option(
    "Output", "--json", "as_json", is_flag=True, help="Print one JSON object per event and per piece of streamed text."
)
def chat_command(session: str, question: str, as_json: bool) -> int:
    """Ask the judge questions about a session; the session does not change.

    The seat that judged last reads the decisions, findings, files and open points, and answers with
    its judge model. Without QUESTION, you can ask several questions at a terminal; earlier answers of
    this chat are remembered.

    \b
    Examples:
      roundtable chat last "Why was the cache dropped?"
      roundtable chat 2026-11-15-a-to-do-api
    """
    if not question.strip() and (as_json or not sys.stdin.isatty()):
        raise UsageError(
            "The question is missing.", 'Write the question in quotes: roundtable chat last "What is open?"'
        )
    return run_cli_command_at_session_desk(
        lambda desk: desk.sessions.find(session),
        lambda desk, about: _chat(desk, about, question.strip(), as_json=as_json),
    )


async def _chat(desk: Roundtable, about: Session, question: str, *, as_json: bool) -> int:
    exchanges: list[ChatExchange] = []
    if question:
        return await _ask_judge(desk, about, question, exchanges, as_json=as_json)
    print_note(f"Session: {sanitize_line(about.charter.question, 80)}")
    print_note("Type a question about this session. An empty line ends the chat.")
    while question_line := await read_terminal_line("You: "):
        about = await desk.sessions.get(about.id)
        if (code := await _ask_judge(desk, about, question_line, exchanges, as_json=False)) == EXIT_INTERRUPTED:
            return code
    return EXIT_OK


async def _ask_judge(
    desk: Roundtable, about: Session, question: str, exchanges: list[ChatExchange], *, as_json: bool
) -> int:
    state = await desk.sessions.get(await desk.meetings.ask_judge(about, question, exchanges))
    display: Display = JsonLines(OutputQueue()) if as_json else ChatDisplay(OutputQueue())
    gate_prompt = GatePrompt(desk, state, display, asks=False, colors=False)
    if await SessionRun(desk, state.id, state.charter.slug, display, gate_prompt).wait_for_end() is not None:
        print_note("Stopped.")
        return EXIT_INTERRUPTED
    ended = await desk.sessions.get(state.id)
    if ended.decision is not None and ended.decision.text:
        exchanges.append((question, ended.decision.text))
        price = build_cost_report(ended).total.price
        print_note(f"({sanitize_line(ended.decision.author)}, {price}; the session is unchanged.)")
    return session_exit_code(ended)


class ChatDisplay:
    """Displays the reply of one seat while it is being written."""

    def __init__(self, outlet: OutputQueue) -> None:
        self.outlet = outlet
        self._call: str = ""
        self._length: int = 0

    def show(self, item: Recorded | Delta) -> None:
        """Write new text; a retried call begins on a new line."""
        if isinstance(item, Delta):
            self._write_delta(item)
        elif isinstance(item.event, MoveMade):
            self.outlet.write("\n" if self._length else f"{sanitize_text(item.event.text.strip())}\n")
        elif isinstance(item.event, SeatMissed):
            self.print_lines([LiveLine(live_fault_line(item.event.fault), "fault", item.event.seat)])

    def _write_delta(self, delta: Delta) -> None:
        if delta.call != self._call:
            self.outlet.write("\n" if self._length else "")
            self._call, self._length = delta.call, 0
        new = delta.text[max(0, self._length - delta.offset) :]
        self._length += len(new)
        self.outlet.write(sanitize_text(new))

    def print_lines(self, lines: Iterable[LiveLine]) -> None:
        """Print lines that are not part of the reply."""
        self.outlet.write(live_lines_as_text(lines))

    def suspend(self) -> None:
        """Do nothing: text does not block the prompt."""

    def resume(self) -> None:
        """Do nothing: there is no drawing."""

    def close(self) -> None:
        """Do nothing: the terminal was not changed."""
