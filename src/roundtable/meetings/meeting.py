"""The declaration of a meeting: its settings, rounds, gates and function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec

from roundtable.core.ports import Table
from roundtable.core.values import Decision, Quorum, Turns

RetryCount = Annotated[int, msgspec.Meta(ge=0, le=3)]
"""How often something that failed may be retried."""


ShownContent = Literal["files", "part", "found", "answers", "printed"]
"""The content that a prompt shows in addition to its template.

These are the files of the project as far as they fit, one part of them, the findings of all parts, all answers of the
previous round, or the output of programs.
"""


class PlannedRound(msgspec.Struct, frozen=True):
    """One round that a meeting may hold: the template of its prompt, the codec of its answers, and its turns.

    Meetings ask with these three; the other fields are for the quote. A round that is not `likely` is held only in the
    worst case. `tokens` is the maximum length of an answer; 0 means the session's limit. `words` is the size in bytes
    of the texts filled into the template. A round that `shows` a part is held once for every part. With `writes`, the
    answer of one seat or of each seat becomes part of the project.
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
    """One kind of meeting: its name, its rules, its settings, and the rounds it may hold.

    `shows_project` shows the seats files, branch and recent commits of the project, unless the person names other
    context. `advance_answers` are the answers that can be given in advance, by gate, where they are known.
    `writes_files` says that the result is written to files once a person approved it. `filled_settings` are set when
    the meeting is opened, from an option or from another session; no file may set them. `quorum` applies unless the
    person sets one.
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
        """The rounds the meeting may hold with these settings."""
        return self.plan_rounds(msgspec.convert(settings, self.settings), options)

    def settable(self) -> dict[str, Any]:
        """The settings that a file may set, with their defaults."""
        settings = msgspec.structs.asdict(self.settings())
        return {name: default for name, default in settings.items() if name not in self.filled_settings}
