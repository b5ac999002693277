"""What a person brings to the table."""

from __future__ import annotations

from typing import Any

import msgspec

from roundtable.core.values import Limits, Seat


class Agenda(msgspec.Struct, frozen=True):
    """What a person brings to the table; everything left out comes from the config.

    `files` are `path` or `path:10-50`, `folders` are chosen from, `texts` are what a door brings, such as a diff.
    `told` is shown besides all that.
    `fresh` keeps earlier meetings from the seats, and no decree stops them.
    """

    question: str
    seats: tuple[Seat, ...] = ()
    meeting: str = ""
    options: tuple[str, ...] = ()
    settings: dict[str, Any] = {}
    limits: Limits | None = None
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    texts: dict[str, str] = {}
    told: dict[str, str] = {}
    name: str = ""
    fresh: bool = False
    headless: bool = False
    answers: dict[str, str] = {}
    seed: int | None = None
