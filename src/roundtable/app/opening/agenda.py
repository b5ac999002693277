"""The agenda of a new meeting."""

from __future__ import annotations

from typing import Any

import msgspec

from roundtable.core.values import Limits, Seat


class Agenda(msgspec.Struct, frozen=True):
    """The request for a new meeting; fields that are left out come from the config.

    `files` are `path` or `path:10-50`, relevant files are selected from `folders`, and `texts` are given by a door,
    such as a diff. `extra_context` is shown as well. A `fresh` meeting neither recalls earlier meetings nor checks
    their decrees.
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
    extra_context: dict[str, str] = {}
    name: str = ""
    fresh: bool = False
    headless: bool = False
    answers: dict[str, str] = {}
    seed: int | None = None
