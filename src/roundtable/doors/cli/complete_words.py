"""What comes next on a half-typed command line."""

from __future__ import annotations

import click


def sessions(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Sessions of this workspace."""
    from roundtable.app.machine import suggestions

    return [it for it in suggestions.sessions() if it.startswith(begun)]


def meetings(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Meetings, presets and data files."""
    from roundtable.app.machine import suggestions

    return [it for it in suggestions.meetings() if it.startswith(begun)]


def seats(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Seats of the config."""
    from roundtable.app.machine import suggestions

    return [it for it in suggestions.seats() if it.startswith(begun)]
