"""What a person may tell a meeting, declared once for every command that holds one.

A command takes `@meeting_options`, adds the few options of its own, and hands everything to `opening.hold`:

    @click.command(cls=HeadedCommand)
    @question_argument
    @option("The meeting", "--follow-up-once", "follow_up", is_flag=True, help="…")
    @meeting_options
    def ask(question: str, follow_up: bool, **given: Any) -> int:
        return hold(Given(question, meeting="second-opinion", settings={"follow_up": follow_up}, **given))
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

from roundtable.cli import completing
from roundtable.cli.displays import Manner
from roundtable.cli.options import limit, manner_options, option, strict_option
from roundtable.cli.output import note
from roundtable.core.faults import UsageError

F = TypeVar("F", bound=Callable[..., Any])

MEETING = "The meeting"


class Given(msgspec.Struct, frozen=True):
    """What was typed; what a command does not offer is left out and comes from the config."""

    question: str
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
    def manner(self) -> Manner:
        """How to show it."""
        return Manner(self.as_json, self.plain)

    @property
    def alone(self) -> bool:
        """Whether gates must take their default."""
        return not self.manner.asks(self.headless)


def question_argument(command: F) -> F:
    """The question: an argument, `--topic`, or standard input."""
    command = click.option("--topic", hidden=True, is_eager=True, expose_value=False, callback=_keep_topic)(command)
    return click.argument("question", default="", callback=_question)(command)


def _keep_topic(ctx: click.Context, _: click.Parameter, topic: str | None) -> None:
    ctx.meta["topic"] = topic or ""


def _question(ctx: click.Context, _: click.Parameter, typed: str) -> str:
    topic = ctx.meta.get("topic", "")
    if ctx.resilient_parsing:
        return typed
    if typed and topic:
        raise UsageError("The question is given twice.", "Leave out --topic, or the argument.")
    typed = typed or topic
    if typed == "-" or (not typed and not sys.stdin.isatty()):
        return sys.stdin.buffer.read().decode(errors="replace").strip()
    return typed.strip()


def meeting_options(command: F) -> F:
    """What every meeting may be told: what it looks at, who takes part, its bounds, its gates, how it is shown."""
    for declared in reversed(_EVERY_MEETING):
        command = declared(command)
    return command


def carrying_out_options(command: F) -> F:
    """What a meeting may be told that carries out what another one decided: who, its bounds, its gates, its looks."""
    for declared in reversed(_CARRYING_OUT):
        command = declared(command)
    return command


def writing_options(command: F) -> F:
    """What a command may be told that ends in the workspace."""
    for declared in reversed(_WRITING):
        command = declared(command)
    return command


def answers_with(answers: tuple[str, ...], everything: bool, dry_run: bool) -> tuple[str, ...]:
    """The answers given ahead; `--all` is one of them."""
    if everything and not dry_run:
        note("With --all everything is written without asking file by file; `roundtable undo` takes it back.")
    return (*answers, "approve=all") if everything else answers


which_option = option(
    MEETING,
    "--meeting",
    default="",
    metavar="NAME",
    help="Which rules; council if the config says nothing else.",
    shell_complete=completing.meetings,
)
"""For a command that holds any meeting."""

rounds_option = limit("rounds", "--rounds", click.IntRange, metavar="N", help="The most rounds.")
"""For a meeting that goes on until the seats agree."""

choices_option = option(
    MEETING, "--option", "options", multiple=True, metavar="TEXT", help="One of the answers to choose from."
)
"""For a meeting that can be given the answers to choose from."""


def round_settings(rounds: int | None) -> dict[str, Any]:
    """What `--rounds` sets for the meeting."""
    return {} if rounds is None else {"rounds": rounds}


WRITING = "What is written"
_WRITING: tuple[Callable[[Any], Any], ...] = (
    option(WRITING, "--all", "everything", is_flag=True, help="Write everything without asking file by file."),
    option(WRITING, "--dry-run", is_flag=True, help="Show the plan and write nothing."),
    option(WRITING, "--branch", default="", metavar="NAME", help="Commit to this new branch; your files stay."),
)
_SEATS = option(
    MEETING,
    "--seat",
    "seats",
    multiple=True,
    metavar="NAME=VOICE[,VOICE…]",
    help="Who takes part, with fallbacks; or a configured NAME.",
    shell_complete=completing.seats,
)
_BOUNDS: tuple[Callable[[Any], Any], ...] = (
    limit("seat_timeout", "--timeout", click.FloatRange, metavar="S", help="Seconds per turn."),
    limit("budget_usd", "--budget-usd", click.FloatRange, metavar="USD", help="No new round once this much is spent."),
)
_QUOTE = option("Limits", "--quote", is_flag=True, help="Say what it may cost, and spend nothing.")
_MANNERS: tuple[Callable[[Any], Any], ...] = (
    option("Gates", "--headless", is_flag=True, help="Ask nobody: gates take their default, as without a terminal."),
    option("Gates", "--answer", "answers", multiple=True, metavar="GATE=OPTION", help="Answer a gate ahead."),
    manner_options,
    strict_option,
)
_EVERY_MEETING: tuple[Callable[[Any], Any], ...] = (
    option(MEETING, "-f", "--file", "files", multiple=True, metavar="PATH[:A-B]", help="Show a file, or lines A to B."),
    option(MEETING, "--context", "folders", multiple=True, metavar="DIR", help="Show what matters of a folder."),
    _SEATS,
    option(
        MEETING,
        "--session",
        "name",
        default="",
        metavar="NAME",
        help="Go on with the unfinished session of that name, or give it to a new one.",
        shell_complete=completing.sessions,
    ),
    option(MEETING, "--fresh", is_flag=True, help="Tell the seats nothing of earlier meetings; no decree stops them."),
    *_BOUNDS,
    _QUOTE,
    *_MANNERS,
)
_CARRYING_OUT: tuple[Callable[[Any], Any], ...] = (_SEATS, *_BOUNDS, *_MANNERS)
