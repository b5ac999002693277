"""The seats in the config, and the seats that the person chose last time."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.app.settings.config import Settings
from roundtable.app.settings.places import Places
from roundtable.app.settings.private_files import PrivateFile
from roundtable.app.settings.trust import name_withheld_settings
from roundtable.core.faults import NotFound, NotTrusted
from roundtable.core.values import Seat


def list_configured_seats(loaded: Settings) -> tuple[Seat, ...]:
    """Return the configured seats in their order."""
    config = loaded.config
    names = config.table.seats or tuple(name for name, seat in config.seats.items() if seat.enabled)
    if not names and (withheld := _withheld_seat_settings(loaded)):
        raise _not_trusted_error(withheld)
    return tuple(_configured_seat(loaded, name) for name in names)


def _withheld_seat_settings(loaded: Settings) -> tuple[str, ...]:
    """Return the withheld settings that could give this table a seat with a voice."""
    return tuple(name for name in loaded.withheld if name.startswith(_SEAT_SECTIONS))


_SEAT_SECTIONS = ("seats.", "table.seats", "endpoints.", "agents.")


def _not_trusted_error(withheld: tuple[str, ...]) -> NotTrusted:
    return NotTrusted(
        f"This workspace's config sets {name_withheld_settings(withheld)}, and you have not trusted it.",
        "Read .roundtable/config.toml, then run `roundtable trust`.",
    )


def _configured_seat(loaded: Settings, name: str) -> Seat:
    seat = loaded.config.seats.get(name)
    if seat is None or not seat.voices:
        if withheld := _withheld_seat_settings(loaded):
            raise _not_trusted_error(withheld)
        raise NotFound(
            f"Seat {name} has no voices in the config.", f'Add [seats.{name}] with voices = ["endpoint:model"].'
        )
    fields = {key: value for key, value in msgspec.structs.asdict(seat).items() if key != "enabled"}
    return Seat(name=name, **fields)


class _ChosenSeatsFile(msgspec.Struct):
    v: int
    seats: tuple[Seat, ...]


class ChosenSeats:
    """The seats that the person chose when asked, stored for the next time."""

    def __init__(self, places: Places) -> None:
        self._path = places.chosen

    def save(self, seats: Sequence[Seat]) -> None:
        """Store seats in a file that only this person can read."""
        data = msgspec.json.encode(_ChosenSeatsFile(1, tuple(seats)))
        PrivateFile(self._path).write(msgspec.json.format(data, indent=1))

    def load(self) -> tuple[Seat, ...]:
        """Return the stored seats; empty if there are none or the file is invalid."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_ChosenSeatsFile).seats
        except (OSError, msgspec.DecodeError):
            return ()
