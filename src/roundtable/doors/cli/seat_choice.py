"""Choose the seats of a meeting: from the command line, the config, or the voices found here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from roundtable.core.faults import UsageError
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Seat
from roundtable.doors.cli.gate_prompt import read_terminal_line
from roundtable.doors.cli.meeting_options import MeetingRequest
from roundtable.doors.cli.output import print_note

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable

SEAT_SYNTAX = "NAME=VOICE, such as claude=openrouter:anthropic/claude-sonnet-4"
SEAT_NAME_PATTERN = re.compile(r"[\w.-]+")
NO_SEATS_HELP = (
    "Pass --seat NAME=VOICE; `roundtable voices` lists voices, `roundtable models` lists models to download."
)


def parse_cli_name_value_option(text: str, option: str, form: str) -> tuple[str, str]:
    """Split the NAME=VALUE of an option."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        raise UsageError(f"Invalid value for {option}: {sanitize_line(text, 60)}.", f"Write {option} {form}.")
    return name, value


async def resolve_cli_seat_options(desk: Roundtable, request: MeetingRequest) -> tuple[Seat, ...]:
    """The seats of the request, of the config or preset, of the last choice, or of a choice made now."""
    if request.seats:
        return tuple(_parse_seat(desk, text) for text in request.seats)
    if default_seats := desk.meetings.default_seats(request.meeting):
        return default_seats
    return desk.setup.remembered_seats() or await _choose_found_seats(desk, request)


def _parse_seat(desk: Roundtable, text: str) -> Seat:
    if "=" not in text:
        return _configured_seat(desk, text)
    name, chain = parse_cli_name_value_option(text, "--seat", SEAT_SYNTAX)
    voices = tuple(voice.strip() for voice in chain.split(",") if voice.strip())
    invalid = [voice for voice in voices if ":" not in voice]
    if invalid or not voices:
        raise UsageError(
            f"Invalid voice: {sanitize_line(invalid[0] if invalid else chain, 60)}.",
            "Use a voice such as openai:gpt-4o, embedded:smollm2-135m or script:path.toml; see `roundtable voices`.",
        )
    if not SEAT_NAME_PATTERN.fullmatch(name):
        raise UsageError(
            f"Invalid seat name: {sanitize_line(name, 60)}.", "Use letters, digits, dots, dashes and underscores."
        )
    return Seat(name, voices)


def _configured_seat(desk: Roundtable, name: str) -> Seat:
    seats = {seat.name: seat for seat in desk.meetings.configured_seats()}
    if name not in seats:
        configured = f" Configured seats: {', '.join(seats)}." if seats else ""
        raise UsageError(
            f"Seat {sanitize_line(name, 60)} is not configured.{configured}",
            f"To add a new seat, pass --seat {SEAT_SYNTAX}.",
        )
    return seats[name]


async def _choose_found_seats(desk: Roundtable, request: MeetingRequest) -> tuple[Seat, ...]:
    """Ask which of the voices found here get a seat, and remember the answer."""
    offered = desk.setup.propose_seats(await desk.setup.discover())
    if not offered:
        raise UsageError("No seats are configured, and no usable voice was found.", NO_SEATS_HELP)
    if request.unattended:
        example = f"--seat {offered[0].name}={offered[0].voices[0]}"
        raise UsageError(
            "No seats are given or configured, and there is no terminal to ask you for seats.",
            f"Pass seats, such as {example}, or run the command once at a terminal to choose them. "
            "`roundtable voices` lists the voices.",
        )
    print_note("No seats are configured. These voices were found:")
    for number, seat in enumerate(offered, 1):
        print_note(f"  {number}. {sanitize_line(seat.name)} ({sanitize_line(seat.voices[0])})")
    if desk.meetings.paid_voices(offered):
        print_note("Seats that use an API key may cost money.")
    print_note("Later meetings use the same seats, unless the config has a [seats] section.")
    seats = await prompt_seats_in_terminal(offered)
    if not seats:
        raise UsageError("No seats were chosen.", NO_SEATS_HELP)
    desk.setup.remember_seats(seats)
    return seats


async def prompt_seats_in_terminal(offered: tuple[Seat, ...], others: tuple[Seat, ...] = ()) -> tuple[Seat, ...]:
    """Ask for numbers or names of the listed seats; Enter takes those offered, q none."""
    default = "all" if not others else f"the first {len(offered)}" if offered else "none"
    by_word = {word: seat for n, seat in enumerate((*offered, *others), 1) for word in (str(n), seat.name)}
    while True:
        line = await read_terminal_line(f"Which seats? [numbers or names, Enter for {default}, q to quit]: ")
        if line is None or line.lower() == "q":
            return ()
        words = line.replace(",", " ").split()
        if not words:
            return offered
        unknown = [word for word in words if word not in by_word]
        if not unknown:
            return tuple({by_word[word].name: by_word[word] for word in words}.values())
        print_note(f"{unknown[0]} is not a number or a name in the list.")
