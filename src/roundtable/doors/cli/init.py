"""`init`: find voices, show the config they need, and write it after a yes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roundtable.core.faults import UsageError
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.doors.cli.demo import SMALLEST_MODEL
from roundtable.doors.cli.gate_prompt import read_terminal_line
from roundtable.doors.cli.meeting_options import MeetingRequest
from roundtable.doors.cli.open_meeting import cli_run_meeting
from roundtable.doors.cli.output import print_note, run_cli_command_at_desk
from roundtable.doors.cli.seat_choice import prompt_seats_in_terminal

if TYPE_CHECKING:
    from roundtable.app.desk import ConfigDraft, Roundtable


@click.command()
@click.option("--user", "for_person", is_flag=True, help="Write to your user config, which applies to all workspaces.")
@click.option("--import", "source", metavar="FILE", help="Import the config.json or config.yaml of another tool.")
@click.option("--yes", is_flag=True, help="Write the config without asking, with the seats that were found.")
def init_command(for_person: bool, source: str | None, yes: bool) -> int:
    """Set up a table here: find models and write the config.

    Looks for agents, keys and local model servers, asks which of them to seat, and shows the config
    before writing it. Existing settings are kept.

    --import reads the config.json of TheRoundtAIble, or the config.yaml of the terminal document.
    Keys and permissions are never imported.

    \b
    Examples:
      roundtable init
      roundtable init --yes
      roundtable init --import ../old/.roundtable/config.json
    """
    if not yes and not sys.stdin.isatty():
        raise UsageError(
            "`roundtable init` asks for confirmation, but there is no terminal.", "Add --yes to write without asking."
        )
    question = run_cli_command_at_desk(lambda desk: _set_up(desk, for_person=for_person, source=source, yes=yes))
    return cli_run_meeting(MeetingRequest(question)) if question else 0


async def _set_up(desk: Roundtable, *, for_person: bool, source: str | None, yes: bool) -> str:
    """Write the config; returns a first question if the person typed one."""
    path = desk.setup.config_path(for_person=for_person)
    if not source and not for_person and not path.exists():
        source = await _offer_import(desk, yes=yes)
    settings = _import_settings(desk, source) if source else await _choose_found_seats(desk, yes=yes)
    if settings is None:
        print_note("Nothing was written.")
        return ""
    plan = desk.setup.draft_config(settings, for_person=for_person)
    _print_draft(plan)
    if not plan.added:
        return ""
    if not yes and not await _confirm("Write the config? [Y/n]: "):
        print_note("Nothing was written.")
        return ""
    trusted = desk.setup.write_config(plan, for_person=for_person)
    print_note(f"Written: {path}")
    if "table" in plan.kept and settings.get("seats"):
        print_note("The setting table.seats decides which seats take part: roundtable config set table.seats NAME,NAME")
    if not trusted:
        print_note(
            "The config contains settings that you have not trusted yet. Read the config, then run `roundtable trust`."
        )
    if yes or not settings.get("seats"):
        print_note(
            'Ask the table something: roundtable discuss "…"'
            if settings.get("seats")
            else "Run `roundtable init` again when a voice is available."
        )
        return ""
    return await read_terminal_line("Type a first question for the table [Enter to skip]: ") or ""


async def _confirm(question: str) -> bool:
    return (await read_terminal_line(question) or "y").casefold() in ("y", "yes")


async def _offer_import(desk: Roundtable, *, yes: bool) -> str | None:
    """The config of TheRoundtAIble, if there is one and the person wants to import it."""
    path = desk.setup.find_foreign_config()
    if path is None:
        return None
    print_note(f"Found the config of TheRoundtAIble: {path}")
    if yes:
        print_note(f"The config was not imported; import it with `roundtable init --import {path}`.")
    return str(path) if not yes and await _confirm("Import this config? [Y/n]: ") else None


def _import_settings(desk: Roundtable, source: str) -> dict[str, Any]:
    imported = desk.setup.import_config(Path(source).expanduser())
    for line in imported.notes:
        print_note(f"Note: {line}")
    return imported.settings


async def _choose_found_seats(desk: Roundtable, *, yes: bool) -> dict[str, Any] | None:
    """Settings for the voices that were found and chosen; None if the person chose none."""
    seated_voices = {voice for seat in desk.setup.settings.config.seats.values() for voice in seat.voices}
    discovered = [
        voice
        for voice in await desk.setup.discover()
        if voice.kind != "configured" and voice.voice not in seated_voices
    ]
    usable = [voice for voice in discovered if voice.usable]
    if seated_voices:
        offered = tuple(voice.to_seat() for voice in usable if voice.kind != "embedded")
    else:
        offered = desk.setup.propose_seats(discovered)
    voices = {seat.voices[0] for seat in offered}
    others = () if yes else tuple(voice.to_seat() for voice in usable if voice.voice not in voices)
    if seated_voices and not (offered or others):
        print_note("No new voices were found; every voice here already has a seat.")
        print_note(f"Your seats: {', '.join(map(sanitize_line, desk.setup.settings.config.seats))}.")
        print_note('Ask your seats something: roundtable discuss "…"')
        return None
    if not offered:
        print_note("No voice was found: there is no agent, no key, no local server and no embedded model.")
        print_note(
            "`roundtable keys set openai` stores a key; "
            f"`roundtable models get {SMALLEST_MODEL}` downloads a small model."
        )
        print_note("`roundtable demo` downloads this model and runs a meeting.")
        return desk.setup.config_for(())
    notes = {voice.voice: voice.note for voice in discovered}
    print_note("Found here:")
    for number, seat in enumerate((*offered, *others), 1):
        name, voice = sanitize_line(seat.name), sanitize_line(seat.voices[0])
        print_note(f"  {number}. {name} ({voice}): {sanitize_line(notes[seat.voices[0]])}")
    if len(offered) > len(voices):
        print_note(f"{sanitize_line(offered[0].voices[0])} can fill {len(offered)} seats, each with its own persona.")
    seats = offered if yes else await prompt_seats_in_terminal(offered, others)
    return desk.setup.config_for(seats) if seats else None


def _print_draft(plan: ConfigDraft) -> None:
    for name in plan.kept:
        print_note(f"Kept unchanged: {sanitize_line(name)}")
    if not plan.added:
        print_note(f"There is nothing to add to {plan.path}.")
        return
    print_note(f"{'Will be added to' if plan.before else 'Will be written to'} {plan.path}:")
    for line in plan.added.strip("\n").splitlines():
        print_note(f"  | {sanitize_text(line)}".rstrip())
