"""`init`: from nothing to a table of one's own, with a look at everything before it is written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roundtable.cli.asking import read_line
from roundtable.cli.meeting_options import Given
from roundtable.cli.opening import hold
from roundtable.cli.output import at_desk, note
from roundtable.cli.seating import pick
from roundtable.core.faults import UsageError
from roundtable.core.views import clean, one_line

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable
    from roundtable.app.setting_up import Draft
    from roundtable.core.values import Seat


@click.command()
@click.option("--user", "for_person", is_flag=True, help="Write your own config, for every workspace.")
@click.option("--import", "source", metavar="FILE", help="Take over a config.json or config.yaml of another tool.")
@click.option("--yes", is_flag=True, help="Ask nothing: take the seats that were found, and write.")
def init(for_person: bool, source: str | None, yes: bool) -> int:
    """Set up a table here: finds models, writes the config.

    Looks for agents, keys and local model servers, asks which of them shall sit at the table, and
    shows the file before it is written. What a config says already is kept.

    --import reads the config.json of TheRoundtAIble, or the config.yaml of the terminal document.
    Keys and permissions are never imported.

    \b
    Examples:
      roundtable init
      roundtable init --yes
      roundtable init --import ../old/.roundtable/config.json
    """
    if not yes and not sys.stdin.isatty():
        raise UsageError("init asks before it writes, and nobody is here to answer.", "Add --yes.")
    question = at_desk(lambda desk: _set_up(desk, for_person=for_person, source=source, yes=yes))
    return hold(Given(question)) if question else 0


async def _set_up(desk: Roundtable, *, for_person: bool, source: str | None, yes: bool) -> str:
    """Write the config; a first question is returned if the person has one."""
    from roundtable.app.config import workspace_config
    from roundtable.app.setting_up import draft, write

    path = desk.places.user_config if for_person else workspace_config(desk.workspace)
    settings = _imported(source) if source else await _found(desk, yes=yes)
    plan = draft(path, settings, "for you, in every workspace" if for_person else "in this workspace")
    _show(plan)
    if not plan.added:
        return ""
    if not yes and (await read_line("Write it? [Y/n]: ") or "y").casefold() not in ("y", "yes"):
        note("Nothing was written.")
        return ""
    trusted = write(plan, desk.places, None if for_person else desk.workspace)
    note(f"Written: {path}")
    if "table" in plan.kept and settings.get("seats"):
        note("Who sits down is said by table.seats: roundtable config set table.seats NAME,NAME")
    if not trusted:
        note("It says things you have not trusted yet: read it, then run `roundtable trust`.")
    if yes or not settings.get("seats"):
        note('Ask something: roundtable discuss "…"' if settings.get("seats") else "Then: roundtable init again.")
        return ""
    return await read_line("A first question for the table? [Enter for none]: ") or ""


def _imported(source: str) -> dict[str, Any]:
    from roundtable.app.importing import import_file

    imported = import_file(Path(source).expanduser())
    for line in imported.notes:
        note(f"Note: {line}")
    return imported.settings


async def _found(desk: Roundtable, *, yes: bool) -> dict[str, Any]:
    from roundtable.app.discovery import discover, proposed
    from roundtable.app.setting_up import settings_for

    known = {voice for seat in desk.settings.config.seats.values() for voice in seat.voices}
    found = [it for it in await discover(desk) if it.kind != "configured" and it.voice not in known]
    offered = tuple(it.as_seat() for it in found if it.usable) if known else proposed(found)
    if known and not offered:
        note("Nobody was found who has no seat in the config yet.")
        return {}
    if not offered:
        note("Nothing was found that could sit at the table: no agent, no key, no local server, no embedded model.")
        note("`roundtable keys set openai` stores a key, `roundtable models get` fetches a model that needs none.")
        return settings_for(desk, ())
    notes = {it.voice: it.note for it in found}
    note("Found here:")
    for number, seat in enumerate(offered, 1):
        note(f"  {number}. {one_line(seat.name)} ({one_line(seat.voices[0])}): {one_line(notes[seat.voices[0]])}")
    return settings_for(desk, await _chosen(offered, yes=yes))


async def _chosen(offered: tuple[Seat, ...], *, yes: bool) -> tuple[Seat, ...]:
    return offered if yes else await pick(offered)


def _show(plan: Draft) -> None:
    for name in plan.kept:
        note(f"Kept as it is: {one_line(name)}")
    if not plan.added:
        note(f"Nothing is to be added to {plan.path}.")
        return
    note(f"{'To be added to' if plan.before else 'To be written as'} {plan.path}:")
    for line in plan.added.strip("\n").splitlines():
        note(f"  | {clean(line)}".rstrip())
