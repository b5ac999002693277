"""What every meeting says of itself before it is held."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from roundtable.core.ports import Table
from roundtable.core.values import Decision, Turns


class PlannedRound(msgspec.Struct, frozen=True):
    """One round it may come to: the template of its prompt, the form of its answers, who reads whom.

    Not `likely`: only at worst. For a quote, never for the meeting itself.
    """

    template: str
    codec: str
    turns: Turns
    likely: bool = True


class Protocol(msgspec.Struct, frozen=True):
    """One kind of meeting: what it is called, who holds it, what it may be told, what it may come to.

    `gathers` says that, unless the person names other context, the seats are shown the project: its files,
    branch and recent commits.
    """

    name: str
    version: int
    hold: Callable[[Table], Awaitable[Decision]]
    settings: type[msgspec.Struct]
    plan: Callable[[Any, Sequence[str]], tuple[PlannedRound, ...]]
    templates: tuple[str, ...]
    summary: str
    gates: tuple[str, ...] = ()
    minimum: int = 1
    gathers: bool = False
