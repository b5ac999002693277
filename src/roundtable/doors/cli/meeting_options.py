"""Options of meetings, declared once for every command that holds one.

A command takes `@cli_meeting_options` with the gates of its meeting, adds the few options of its own, and hands
everything to `cli_run_meeting`:

    @click.command(cls=SectionCommand)
    @cli_question_argument()
    @cli_section_option(MEETING_HEADING, "--follow-up-once", "follow_up", is_flag=True)
    @cli_meeting_options("decree")
    def ask_command(question: str, follow_up: bool, **options: Any) -> int:
        settings = {"follow_up": follow_up}
        return cli_run_meeting(MeetingRequest(question, meeting="second-opinion", settings=settings, **options))
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

from roundtable.core.faults import UsageError
from roundtable.doors.cli.completion import (
    shell_complete_meeting_names,
    shell_complete_seat_names,
    shell_complete_session_names,
)
from roundtable.doors.cli.displays import OutputMode
from roundtable.doors.cli.options import (
    cli_limit_option,
    cli_output_mode_options,
    cli_section_option,
    cli_strict_option,
)
from roundtable.doors.cli.output import print_note

F = TypeVar("F", bound=Callable[..., Any])

OptionDecorator = Callable[[Any], Any]
"""Declares an option of a command."""

MEETING_HEADING = "The meeting"


class MeetingRequest(msgspec.Struct, frozen=True):
    """The arguments and options of a command that opens a meeting; fields it does not offer come from the config."""

    question: str
    called: str = "question"
    meeting: str = ""
    settings: dict[str, Any] = {}
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    texts: dict[str, str] = {}
    options: tuple[str, ...] = ()
    seats: tuple[str, ...] = ()
    name: str = ""
    fresh: bool = False
    seat_timeout: float | None = None
    round_deadline: float | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    max_tokens: int | None = None
    quorum: int | None = None
    sequential: bool = False
    quote: bool = False
    headless: bool = False
    answers: tuple[str, ...] = ()
    as_json: bool = False
    plain: bool = False
    strict: bool = False

    @property
    def output_mode(self) -> OutputMode:
        """How to display the meeting."""
        return OutputMode(self.as_json, self.plain)

    @property
    def unattended(self) -> bool:
        """Whether gates must take their default because nobody can be asked."""
        return not self.output_mode.can_ask(self.headless)


def cli_question_argument(called: str = "question") -> Callable[[F], F]:
    """Add the question, under the name this meeting gives it: an argument, `--topic` or standard input."""
    metavar = called.upper()
    topic = cli_section_option(
        MEETING_HEADING,
        "--topic",
        metavar="TEXT",
        help=f"Same as the argument {metavar}.",
        is_eager=True,
        expose_value=False,
        callback=_remember_topic,
    )
    argument = click.argument("question", default="", metavar=f"[{metavar}]", callback=_resolve_question)
    return lambda command: argument(topic(command))


def _remember_topic(ctx: click.Context, _: click.Parameter, topic: str | None) -> None:
    ctx.meta["topic"] = topic or ""


def _resolve_question(ctx: click.Context, _: click.Parameter, typed: str) -> str:
    topic = ctx.meta.get("topic", "")
    if ctx.resilient_parsing:
        return typed
    if typed and topic:
        raise UsageError(
            "The question is given twice: as an argument and with --topic.", "Use either the argument or --topic."
        )
    typed = typed or topic
    if typed == "-" or (not typed and not sys.stdin.isatty()):
        return sys.stdin.buffer.read().decode(errors="replace").strip()
    return typed.strip()


def cli_meeting_options(*gates: str) -> Callable[[F], F]:
    """Add the options of every meeting: context, seats, limits, gates and output."""
    return _add_in_order(*_CONTEXT, _SEATS, *_SESSION, *_LIMITS, *_MANY_SEATS, _QUOTE, *_gate_options(*gates), *_OUTPUT)


def cli_apply_options(*gates: str) -> Callable[[F], F]:
    """Add the options of a meeting that applies an earlier decision: seats, limits, gates and output."""
    return _add_in_order(_SEATS, *_LIMITS, *_gate_options(*gates), *_OUTPUT)


def cli_write_options(command: F) -> F:
    """Add the options of a command that writes to the workspace."""
    return _add_in_order(*_WRITING)(command)


def _add_in_order(*declared: OptionDecorator) -> Callable[[F], F]:
    """Add options so that the help lists them in this order."""

    def add(command: F) -> F:
        for option in reversed(declared):
            command = option(command)
        return command

    return add


def _gate_options(*gates: str) -> tuple[OptionDecorator, ...]:
    """Options that answer gates; without names, for a command that holds any meeting."""
    valid = f"; the gates are: {', '.join(gates)}" if gates else ". The error for an invalid gate lists the valid gates"
    return (
        cli_section_option(
            "Gates", "--headless", is_flag=True, help="Never prompt: every gate takes its default option."
        ),
        cli_section_option(
            "Gates",
            "--answer",
            "answers",
            multiple=True,
            metavar="GATE=OPTION",
            help=f"Answer a gate in advance{valid}.",
        ),
    )


def expand_cli_all_option(answers: tuple[str, ...], everything: bool, dry_run: bool) -> tuple[str, ...]:
    """The answers given in advance, including the one that `--all` sets."""
    if everything and any(answer.startswith("approve=") and answer != "approve=all" for answer in answers):
        raise UsageError(
            "--all contradicts another answer to `approve`.", "Use either --all or --answer approve=OPTION."
        )
    if everything and not dry_run:
        print_note("--all writes every file without asking; `roundtable undo` reverts the change.")
    return (*answers, "approve=all") if everything else answers


meeting_name_option = cli_section_option(
    MEETING_HEADING,
    "--meeting",
    default="",
    metavar="NAME",
    help="Kind of meeting, such as debate. Default: the setting `table.meeting` (council unless you change it).",
    shell_complete=shell_complete_meeting_names,
)
"""For commands that hold any meeting."""

rounds_option = cli_limit_option("rounds", "--rounds", click.IntRange, metavar="N", help="Maximum number of rounds.")
"""For meetings with several rounds."""

answer_choices_option = cli_section_option(
    MEETING_HEADING,
    "--option",
    "options",
    multiple=True,
    metavar="TEXT",
    help="An answer that the seats can choose; repeatable.",
)
"""For meetings that can choose among given answers."""


def expand_cli_rounds_option(rounds: int | None) -> dict[str, Any]:
    """The meeting setting that `--rounds` sets."""
    return {} if rounds is None else {"rounds": rounds}


WRITING_HEADING = "Writing"
_WRITING: tuple[OptionDecorator, ...] = (
    cli_section_option(
        WRITING_HEADING, "--all", "everything", is_flag=True, help="Write all changes without asking for approval."
    ),
    cli_section_option(WRITING_HEADING, "--dry-run", is_flag=True, help="Show the plan without writing anything."),
    cli_section_option(
        WRITING_HEADING,
        "--branch",
        default="",
        metavar="NAME",
        help="Commit to this new branch and leave your files unchanged.",
    ),
)
_SEATS = cli_section_option(
    MEETING_HEADING,
    "--seat",
    "seats",
    multiple=True,
    metavar="NAME=VOICE[,VOICE…]",
    help="Seat of this meeting: its name, voice and fallbacks, or the name of a configured seat; repeatable.",
    shell_complete=shell_complete_seat_names,
)
_LIMITS: tuple[OptionDecorator, ...] = (
    cli_limit_option("seat_timeout", "--timeout", click.FloatRange, metavar="S", help="Maximum seconds per turn."),
    cli_limit_option("round_deadline", "--deadline", click.FloatRange, metavar="S", help="Maximum seconds per round."),
    cli_limit_option(
        "budget_usd",
        "--budget-usd",
        click.FloatRange,
        metavar="USD",
        help="Start no new round after spending this much.",
    ),
    cli_limit_option(
        "budget_tokens",
        "--budget-tokens",
        click.IntRange,
        metavar="N",
        help="Start no new round after using this many tokens.",
    ),
)
_MANY_SEATS: tuple[OptionDecorator, ...] = (
    cli_limit_option(
        "quorum", "--quorum", click.IntRange, metavar="N", help="Minimum number of seats that must answer."
    ),
    cli_section_option("Limits", "--sequential", is_flag=True, help="Ask one seat at a time (for rate-limited plans)."),
)
_QUOTE = cli_section_option("Limits", "--quote", is_flag=True, help="Estimate the cost without asking any model.")
_OUTPUT: tuple[OptionDecorator, ...] = (cli_output_mode_options, cli_strict_option)
_CONTEXT: tuple[OptionDecorator, ...] = (
    cli_section_option(
        MEETING_HEADING,
        "-f",
        "--file",
        "files",
        multiple=True,
        metavar="PATH[:A-B]",
        help="Give the seats a file, or only its lines A to B; repeatable.",
    ),
    cli_section_option(
        MEETING_HEADING,
        "--context",
        "folders",
        multiple=True,
        metavar="DIR",
        help="Give the seats the relevant files of DIR; repeatable.",
    ),
)
_SESSION: tuple[OptionDecorator, ...] = (
    cli_section_option(
        MEETING_HEADING,
        "--session",
        "name",
        default="",
        metavar="NAME",
        help="Continue the session NAME if it is unfinished; otherwise start a new session with this name.",
        shell_complete=shell_complete_session_names,
    ),
    cli_section_option(
        MEETING_HEADING,
        "--fresh",
        is_flag=True,
        help="Ignore earlier decisions and decrees.",
    ),
)
