"""What a person may tell a meeting, declared once for every command that holds one.

A command takes `@meeting_options` with the gates of its meeting, adds the few options of its own, and hands everything
to `opening.hold`:

    @click.command(cls=HeadedCommand)
    @question_argument()
    @option("The meeting", "--follow-up-once", "follow_up", is_flag=True, help="…")
    @meeting_options("decree")
    def ask(question: str, follow_up: bool, **given: Any) -> int:
        return hold(Given(question, meeting="second-opinion", settings={"follow_up": follow_up}, **given))
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

from roundtable.core.faults import UsageError
from roundtable.doors.cli import complete_words
from roundtable.doors.cli.displays import OutputMode
from roundtable.doors.cli.options import limit_option, output_mode_options, section_option, strict_option
from roundtable.doors.cli.output import print_note

F = TypeVar("F", bound=Callable[..., Any])

OptionDecorator = Callable[[Any], Any]
"""An option, as a decorator."""

MEETING_HEADING = "The meeting"


class MeetingRequest(msgspec.Struct, frozen=True):
    """What was typed; what a command does not offer is left out and comes from the config."""

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
    def manner(self) -> OutputMode:
        """How to show it."""
        return OutputMode(self.as_json, self.plain)

    @property
    def alone(self) -> bool:
        """Whether gates must take their default."""
        return not self.manner.asks(self.headless)


def question_argument(called: str = "question") -> Callable[[F], F]:
    """The question, or what this meeting calls it: an argument, `--topic`, or standard input."""
    shown = called.upper()
    topic = section_option(
        MEETING_HEADING,
        "--topic",
        metavar="TEXT",
        help=f"{shown}, as an option.",
        is_eager=True,
        expose_value=False,
        callback=_keep_topic,
    )
    argument = click.argument("question", default="", metavar=f"[{shown}]", callback=_question)
    return lambda command: argument(topic(command))


def _keep_topic(ctx: click.Context, _: click.Parameter, topic: str | None) -> None:
    ctx.meta["topic"] = topic or ""


def _question(ctx: click.Context, _: click.Parameter, typed: str) -> str:
    topic = ctx.meta.get("topic", "")
    if ctx.resilient_parsing:
        return typed
    if typed and topic:
        raise UsageError("Both an argument and --topic say what is asked.", "Leave out one of them.")
    typed = typed or topic
    if typed == "-" or (not typed and not sys.stdin.isatty()):
        return sys.stdin.buffer.read().decode(errors="replace").strip()
    return typed.strip()


def meeting_options(*gates: str) -> Callable[[F], F]:
    """What every meeting may be told: what it looks at, who takes part, its bounds, its gates, how it is shown."""
    return _all_of(*_LOOKED_AT, _SEATS, *_NAMED, *_BOUNDS, *_MANY_SEATS, _QUOTE, *_gate_options(*gates), *_SHOWN)


def apply_options(*gates: str) -> Callable[[F], F]:
    """What a meeting may be told that carries out what another one decided: who, its bounds, its gates, its looks."""
    return _all_of(_SEATS, *_BOUNDS, *_gate_options(*gates), *_SHOWN)


def write_options(command: F) -> F:
    """What a command may be told that ends in the workspace."""
    return _all_of(*_WRITING)(command)


def _all_of(*declared: OptionDecorator) -> Callable[[F], F]:
    """Options in the order in which help shows them."""

    def add(command: F) -> F:
        for it in reversed(declared):
            command = it(command)
        return command

    return add


def _gate_options(*gates: str) -> tuple[OptionDecorator, ...]:
    """How gates are answered; without names it is any meeting, and an unknown gate brings the list."""
    which = f": {', '.join(gates)}" if gates else "; an unknown one brings the list"
    return (
        section_option(
            "Gates", "--headless", is_flag=True, help="Ask nobody: gates take their default, as without a terminal."
        ),
        section_option(
            "Gates", "--answer", "answers", multiple=True, metavar="GATE=OPTION", help=f"Answer a gate ahead{which}."
        ),
    )


def add_approve_all_answer(answers: tuple[str, ...], everything: bool, dry_run: bool) -> tuple[str, ...]:
    """The answers given ahead; `--all` is one of them."""
    if everything and any(it.startswith("approve=") and it != "approve=all" for it in answers):
        raise UsageError("--all and another answer to `approve` contradict each other.", "Leave one of them out.")
    if everything and not dry_run:
        print_note("With --all everything is written without asking file by file; `roundtable undo` takes it back.")
    return (*answers, "approve=all") if everything else answers


meeting_name_option = section_option(
    MEETING_HEADING,
    "--meeting",
    default="",
    metavar="NAME",
    help="Which rules; council if the config says nothing else.",
    shell_complete=complete_words.complete_meeting_names,
)
"""For a command that holds any meeting."""

rounds_option = limit_option("rounds", "--rounds", click.IntRange, metavar="N", help="The most rounds.")
"""For a meeting that goes on until the seats agree."""

answer_choices_option = section_option(
    MEETING_HEADING, "--option", "options", multiple=True, metavar="TEXT", help="One of the answers to choose from."
)
"""For a meeting that can be given the answers to choose from."""


def round_settings(rounds: int | None) -> dict[str, Any]:
    """What `--rounds` sets for the meeting."""
    return {} if rounds is None else {"rounds": rounds}


WRITING_HEADING = "What is written"
_WRITING: tuple[OptionDecorator, ...] = (
    section_option(
        WRITING_HEADING, "--all", "everything", is_flag=True, help="Write everything without asking file by file."
    ),
    section_option(WRITING_HEADING, "--dry-run", is_flag=True, help="Show the plan and write nothing."),
    section_option(
        WRITING_HEADING, "--branch", default="", metavar="NAME", help="Commit to this new branch; your files stay."
    ),
)
_SEATS = section_option(
    MEETING_HEADING,
    "--seat",
    "seats",
    multiple=True,
    metavar="NAME=VOICE[,VOICE…]",
    help="Who takes part, with fallbacks; or a configured NAME.",
    shell_complete=complete_words.complete_seat_names,
)
_BOUNDS: tuple[OptionDecorator, ...] = (
    limit_option("seat_timeout", "--timeout", click.FloatRange, metavar="S", help="Seconds per turn."),
    limit_option("round_deadline", "--deadline", click.FloatRange, metavar="S", help="Seconds per round."),
    limit_option(
        "budget_usd", "--budget-usd", click.FloatRange, metavar="USD", help="No new round once this much is spent."
    ),
    limit_option(
        "budget_tokens", "--budget-tokens", click.IntRange, metavar="N", help="No new round once this many are used."
    ),
)
_MANY_SEATS: tuple[OptionDecorator, ...] = (
    limit_option("quorum", "--quorum", click.IntRange, metavar="N", help="How many seats must answer for a decision."),
    section_option("Limits", "--sequential", is_flag=True, help="Ask one seat at a time, as free tiers want it."),
)
_QUOTE = section_option("Limits", "--quote", is_flag=True, help="Say what it may cost, and spend nothing.")
_SHOWN: tuple[OptionDecorator, ...] = (output_mode_options, strict_option)
_LOOKED_AT: tuple[OptionDecorator, ...] = (
    section_option(
        MEETING_HEADING,
        "-f",
        "--file",
        "files",
        multiple=True,
        metavar="PATH[:A-B]",
        help="Show a file, or lines A to B.",
    ),
    section_option(
        MEETING_HEADING, "--context", "folders", multiple=True, metavar="DIR", help="Show what matters of a folder."
    ),
)
_NAMED: tuple[OptionDecorator, ...] = (
    section_option(
        MEETING_HEADING,
        "--session",
        "name",
        default="",
        metavar="NAME",
        help="Go on with the unfinished session of that name, or give it to a new one.",
        shell_complete=complete_words.complete_session_names,
    ),
    section_option(
        MEETING_HEADING,
        "--fresh",
        is_flag=True,
        help="Tell the seats nothing of earlier meetings; no decree stops them.",
    ),
)
