"""What comes next on a half-typed command line."""

from __future__ import annotations

import click


def complete_session_names(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Sessions of this workspace."""
    from roundtable.app.machine import suggestions

    return [it for it in suggestions.sessions() if it.startswith(begun)]


def complete_meeting_names(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Meetings, presets and data files."""
    from roundtable.app.machine import suggestions

    return [it for it in suggestions.meetings() if it.startswith(begun)]


def complete_seat_names(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Seats of the config."""
    from roundtable.app.machine import suggestions

    return [it for it in suggestions.seats() if it.startswith(begun)]
