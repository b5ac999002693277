"""`discuss`: put a question to the table and follow the discussion to its decision."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from roundtable.cli.asking import read_line
from roundtable.cli.conduct import conduct
from roundtable.cli.displays import Manner
from roundtable.cli.follow import held
from roundtable.cli.options import HeadedCommand, limit, manner_options, option, strict_option
from roundtable.cli.output import TAKEN, address_of, at_desk, note
from roundtable.cli.steer import workspace_path
from roundtable.core.faults import UsageError
from roundtable.core.session import Session
from roundtable.core.values import Limits, Seat
from roundtable.core.views import one_line

if TYPE_CHECKING:
    from roundtable.app.desk import Agenda, Roundtable

HELP_SEAT = "Who takes part, with fallback voices; or a configured NAME. May be given again, as the next two."
HELP_SESSION = "Go on with the unfinished session of that name, or give it to a new one."
SEAT_FORM = "NAME=VOICE, such as claude=openrouter:anthropic/claude-sonnet-4"
SEAT_NAME = re.compile(r"[\w.-]+")
NO_SEATS = "Pass --seat NAME=VOICE; `roundtable voices` shows which there are, `roundtable models get` fetches one."


class Given(msgspec.Struct, frozen=True):
    """What was typed."""

    question: str
    files: tuple[str, ...]
    options: tuple[str, ...]
    seats: tuple[str, ...]
    meeting: str
    name: str
    rounds: int | None
    seat_timeout: float | None
    round_deadline: float | None
    budget_usd: float | None
    budget_tokens: int | None
    max_tokens: int | None
    quorum: int | None
    sequential: bool
    headless: bool
    answers: tuple[str, ...]
    as_json: bool
    plain: bool
    strict: bool
    quote: bool

    @property
    def manner(self) -> Manner:
        """How to show it."""
        return Manner(self.as_json, self.plain)

    @property
    def alone(self) -> bool:
        """Whether gates must take their default."""
        return not self.manner.asks(self.headless)


@click.command(cls=HeadedCommand)
@click.argument("question", default="")
@option(
    "The meeting", "-f", "--file", "files", multiple=True, metavar="PATH[:A-B]", help="Show a file, or lines A to B."
)
@option("The meeting", "--option", "options", multiple=True, metavar="TEXT", help="One of the answers to choose from.")
@option(
    "The meeting",
    "--seat",
    "seats",
    multiple=True,
    metavar="NAME=VOICE[,VOICE…]",
    help="Who takes part, with fallbacks; or a configured NAME.",
)
@option(
    "The meeting", "--meeting", default="", metavar="NAME", help="Which rules; council if the config says nothing else."
)
@option(
    "The meeting",
    "--session",
    "name",
    default="",
    metavar="NAME",
    help="Go on with the unfinished session of that name, or give it to a new one.",
)
@limit("rounds", "--rounds", click.IntRange, metavar="N", help="The most rounds of reading each other.")
@limit("seat_timeout", "--timeout", click.FloatRange, metavar="S", help="Seconds per turn.")
@limit("round_deadline", "--deadline", click.FloatRange, metavar="S", help="Seconds per round.")
@limit("budget_usd", "--budget-usd", click.FloatRange, metavar="USD", help="No new round once this much is spent.")
@limit("budget_tokens", "--budget-tokens", click.IntRange, metavar="N", help="No new round once this many are used.")
@limit("max_tokens", "--max-tokens", click.IntRange, metavar="N", help="The longest single answer.")
@limit("quorum", "--quorum", click.IntRange, metavar="N", help="How many seats must answer for a decision.")
@option("Limits", "--sequential", is_flag=True, help="Ask one seat at a time, as free tiers want it.")
@option("Limits", "--quote", is_flag=True, help="Say what it may cost, and spend nothing.")
@option("Gates", "--headless", is_flag=True, help="Ask nobody: gates take their default. So it is without a terminal.")
@option("Gates", "--answer", "answers", multiple=True, metavar="GATE=OPTION", help="Answer a gate ahead.")
@manner_options
@strict_option
def discuss(question: str, **given: Any) -> int:
    """Put a question to the table and follow the discussion.

    Without QUESTION, or with `-`, it is read from standard input. Ctrl-C stops the meeting and says
    how to resume it. Voices are endpoint:model, cli:agent, acp:agent, embedded:model or
    script:path.toml.

    \b
    Examples:
      roundtable discuss "REST or GraphQL for our public API?"
      roundtable discuss "Which one?" --option REST --option GraphQL -f docs/api.md
      roundtable discuss "Is this safe?" --seat a=openai:gpt-4o --seat b=ollama:llama3
      git log -5 | roundtable discuss - --json

    \b
    Exit codes: 0 decided, 1 our own fault or a record that cannot be used, 2 usage or config,
    3 no decision, 4 degraded under --strict, 5 held by another process,
    6 too few seats answered, 130 interrupted.
    """
    asked = Given(question=_question(question), **given)
    asked.manner.check()
    return at_desk(lambda desk: _discuss(desk, asked))


def _question(typed: str) -> str:
    if typed == "-" or (not typed and not sys.stdin.isatty()):
        return sys.stdin.buffer.read().decode(errors="replace").strip()
    return typed.strip()


async def _discuss(desk: Roundtable, given: Given) -> int:
    if given.quote:
        return await _quote(desk, given)
    state = await _unfinished(desk, given) if given.name else None
    if state is None:
        agenda = await _agenda(desk, given)
        for name, why in desk.absent_from(agenda).items():
            note(f"Seat {name} cannot speak: {why}")
        await _say_cost(desk, agenda, given.manner)
        state = await desk.session(await desk.convene(agenda))
    return await conduct(desk, state, given.manner, headless=given.headless, strict=given.strict)


async def _quote(desk: Roundtable, given: Given) -> int:
    from roundtable.app.quote import quote
    from roundtable.cli.quoting import show_quote

    show_quote(await quote(desk, await _agenda(desk, given)), as_json=given.as_json)
    return TAKEN


async def _say_cost(desk: Roundtable, agenda: Agenda, manner: Manner) -> None:
    """Before money is spent, say in a line how much it may be; and what a stated budget will not hold."""
    limits, paid = agenda.limits or Limits(), bool(desk.paid_voices(agenda.seats))
    watched = paid and sys.stdout.isatty() and not manner.json
    if not (watched or (paid and limits.budget_usd is not None) or limits.budget_tokens is not None):
        return
    from roundtable.app.quote import quote
    from roundtable.cli.quoting import quote_line

    quoted = await quote(desk, agenda)
    for line in ([quote_line(quoted)] if watched else []) + list(quoted.notices):
        note(line)


async def _unfinished(desk: Roundtable, given: Given) -> Session | None:
    """The newest session of that name that still waits for its end."""
    rows = [row for row in await desk.sessions(limit=10_000) if row.name == given.name and not row.outcome]
    if not rows:
        return None
    state = await desk.session(rows[0].id)
    address = await address_of(desk, state.id, state.charter.slug)
    if given.question and given.question != state.charter.question.strip():
        raise UsageError(
            f"The session {given.name} is not finished, and it asks: {one_line(state.charter.question, 80)}",
            f"Go on with `roundtable resume {address}`, or take another name for the new question.",
        )
    if holder := await desk.holder(state.id):
        raise held(holder, address)
    note(f"Going on with {address}.")
    if state.paused:
        await desk.unpause(state.id)
        state = await desk.session(state.id)
    return state


async def _agenda(desk: Roundtable, given: Given) -> Agenda:
    from roundtable.app.desk import Agenda

    if not given.question:
        raise UsageError("There is no question.", 'Say what to discuss: roundtable discuss "REST or GraphQL?"')
    return Agenda(
        question=given.question,
        seats=await _seats(desk, given),
        meeting=given.meeting,
        options=given.options,
        settings={} if given.rounds is None else {"rounds": given.rounds},
        limits=_limits(desk.settings.config.limits.as_limits(), given),
        files=tuple(workspace_path(path, desk.workspace) for path in given.files),
        name=given.name,
        headless=given.alone,
        answers=dict(_pair(answer, "--answer", "GATE=OPTION") for answer in given.answers),
    )


def _limits(limits: Limits, given: Given) -> Limits:
    names = ("seat_timeout", "round_deadline", "budget_usd", "budget_tokens", "max_tokens")
    changes: dict[str, Any] = {name: value for name in names if (value := getattr(given, name)) is not None}
    if given.quorum is not None:
        changes["quorum"] = msgspec.structs.replace(limits.quorum, seats=given.quorum)
    return msgspec.structs.replace(limits, sequential=given.sequential or limits.sequential, **changes)


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        raise UsageError(f"{option} {one_line(text, 60)} cannot be read.", f"Write it as {option} {form}.")
    return name, value


# --- who takes part ------------------------------------------------------------------------------


async def _seats(desk: Roundtable, given: Given) -> tuple[Seat, ...]:
    """The seats named here, those of the config, those picked before, or those found and picked now."""
    if given.seats:
        return tuple(_seat(desk, text) for text in given.seats)
    if configured := desk.configured_seats():
        return configured
    from roundtable.app import discovery

    return discovery.remembered(desk) or await _picked(desk, given)


def _seat(desk: Roundtable, text: str) -> Seat:
    if "=" not in text:
        return _configured_seat(desk, text)
    name, chain = _pair(text, "--seat", SEAT_FORM)
    voices = tuple(voice.strip() for voice in chain.split(",") if voice.strip())
    wrong = [voice for voice in voices if ":" not in voice]
    if wrong or not voices:
        raise UsageError(
            f"{one_line(wrong[0] if wrong else chain, 60)} is not a voice.",
            "Voices look like openai:gpt-4o, embedded:smollm2-135m or script:path.toml; see `roundtable voices`.",
        )
    if not SEAT_NAME.fullmatch(name):
        raise UsageError(f"{one_line(name, 60)} is not a name for a seat.", "Use letters, digits, dots and dashes.")
    return Seat(name, voices)


def _configured_seat(desk: Roundtable, name: str) -> Seat:
    seats = {seat.name: seat for seat in desk.configured_seats()}
    if name not in seats:
        known = f"; there are {', '.join(seats)}" if seats else ""
        raise UsageError(
            f"No seat {one_line(name, 60)} is configured{known}.", f"Write a new one as --seat {SEAT_FORM}."
        )
    return seats[name]


async def _picked(desk: Roundtable, given: Given) -> tuple[Seat, ...]:
    """Ask once which of those found here shall sit at the table, and remember it."""
    from roundtable.app import discovery

    offered = discovery.proposed(await discovery.discover(desk))
    if not offered:
        raise UsageError("There are no seats: none is configured and nothing usable was found here.", NO_SEATS)
    if given.alone:
        example = f"--seat {offered[0].name}={offered[0].voices[0]}"
        raise UsageError(
            "There are no seats: none is given, none configured, and nobody is here to choose some.",
            f"Choose once at a terminal, or name them, such as {example}; `roundtable voices` shows all.",
        )
    note("No seats are configured. These were found here:")
    for number, seat in enumerate(offered, 1):
        note(f"  {number}. {one_line(seat.name)} ({one_line(seat.voices[0])})")
    if desk.paid_voices(offered):
        note("Seats with a key may cost money.")
    note("Your choice is remembered; [seats] in the config overrules it.")
    seats = await _pick(offered)
    discovery.remember(desk, seats)
    return seats


async def _pick(offered: tuple[Seat, ...]) -> tuple[Seat, ...]:
    while True:
        typed = await read_line("Which ones? [numbers or names, Enter for all, q to leave]: ")
        if typed is None or typed.lower() == "q":
            raise UsageError("No seats were chosen.", NO_SEATS)
        by_word = {word: seat for n, seat in enumerate(offered, 1) for word in (str(n), seat.name)}
        words = typed.replace(",", " ").split()
        if not words:
            return offered
        unknown = [word for word in words if word not in by_word]
        if not unknown:
            return tuple({by_word[word].name: by_word[word] for word in words}.values())
        note(f"There is no {unknown[0]} in this list.")
