"""The seats in the config."""

from __future__ import annotations

import msgspec

from roundtable.app.settings.config import Settings
from roundtable.core.faults import NotFound, NotTrusted
from roundtable.core.values import Seat


def list_configured_seats(loaded: Settings) -> tuple[Seat, ...]:
    """Return the configured seats in their order."""
    config = loaded.config
    names = config.table.seats or tuple(name for name, seat in config.seats.items() if seat.enabled)
    if loaded.withheld and not names:
        raise _not_trusted_error(loaded)
    return tuple(_configured_seat(loaded, name) for name in names)


def _not_trusted_error(loaded: Settings) -> NotTrusted:
    return NotTrusted(
        f"This workspace's config sets {', '.join(loaded.withheld)}, and you have not trusted it.",
        "Read .roundtable/config.toml, then run `roundtable trust`.",
    )


def _configured_seat(loaded: Settings, name: str) -> Seat:
    seat = loaded.config.seats.get(name)
    if seat is None or not seat.voices:
        if loaded.withheld:
            raise _not_trusted_error(loaded)
        raise NotFound(
            f"Seat {name} has no voices in the config.", f'Add [seats.{name}] with voices = ["endpoint:model"].'
        )
    fields = {key: value for key, value in msgspec.structs.asdict(seat).items() if key != "enabled"}
    return Seat(name=name, **fields)
