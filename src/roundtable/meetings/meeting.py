"""What every meeting says of itself before it is held."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec

from roundtable.core.ports import Table
from roundtable.core.values import Decision, Quorum, Turns

RetryCount = Annotated[int, msgspec.Meta(ge=0, le=3)]
"""How often what fails may be tried again before the failure is said."""


ShownContent = Literal["files", "part", "found", "answers", "printed"]
"""What a prompt shows besides: the project's files as far as there is room for them, or one part of them; what was
found in all parts, what all answered in the round before, what programs printed."""


class PlannedRound(msgspec.Struct, frozen=True):
    """One round it may come to: the template of its prompt, the form of its answers, who reads whom.

    A meeting may ask by these three; the rest is for its quote alone. Not `likely`: only at worst. `tokens` is the
    longest answer; without it, the limit of the session holds. `words` are the bytes that are filled into the template.
    One that `shows` a part is held once for every part there is. Where it `writes`, the answer of one seat or of each
    of them becomes part of the project.
    """

    template: str
    codec: str
    turns: Turns
    likely: bool = True
    tokens: int = 0
    words: int = 0
    shows: tuple[ShownContent, ...] = ()
    writes: Literal["", "one", "each"] = ""


class Meeting(msgspec.Struct, frozen=True):
    """One kind of meeting: what it is called, who holds it, what it may be told, what it may come to.

    `gathers` says that, unless the person names other context, the seats are shown the project: its files,
    branch and recent commits. `answers` are what can be answered ahead to those gates of which that is known. `writes`
    says that its result is written to the workspace once a person has said yes. `filled` are the settings that are
    filled in when it is opened, from an option or from the session it is about; no file may set them. `quorum` holds
    where the person says nothing.
    """

    name: str
    version: int
    hold: Callable[[Table], Awaitable[Decision]]
    settings: type[msgspec.Struct]
    plan_rounds: Callable[[Any, Sequence[str]], tuple[PlannedRound, ...]]
    templates: tuple[str, ...]
    summary: str
    gates: tuple[str, ...] = ()
    advance_answers: dict[str, tuple[str, ...]] = {}
    minimum_seats: int = 1
    shows_project: bool = False
    writes_files: bool = False
    filled_settings: tuple[str, ...] = ()
    quorum: Quorum = Quorum()

    def planned_rounds(self, settings: dict[str, Any], options: Sequence[str]) -> tuple[PlannedRound, ...]:
        """The rounds it may come to with these settings."""
        return self.plan_rounds(msgspec.convert(settings, self.settings), options)

    def settable(self) -> dict[str, Any]:
        """The settings that a file may hold, with their defaults."""
        known = msgspec.structs.asdict(self.settings())
        return {name: default for name, default in known.items() if name not in self.filled_settings}
