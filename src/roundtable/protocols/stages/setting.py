"""What every kind of stage has before it: the table, the stage itself, and what the earlier ones came to."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.effects import ListProject, ProjectListed
from roundtable.core.ports import Table
from roundtable.core.stages import Stage, StageEnd, decisions, draft_after
from roundtable.core.values import ContextItem, Digest, Prompt, Turns
from roundtable.protocols.trying import done

WHOLE = 60_000
"""Bytes of files that are shown whole; of a larger project, seats are shown its map and ask for the rest."""


class Setting(msgspec.Struct, frozen=True):
    """One attempt at one stage. `index` counts all stages of the meeting, so that the judge's seat goes round.

    `instructions` are the person's, from the opening and from every gate at which they sent the stage back.
    """

    table: Table
    stage: Stage
    index: int
    attempt: int
    before: tuple[StageEnd, ...]
    instructions: str = ""

    @property
    def name(self) -> str:
        """What its rounds and steps begin with."""
        return self.stage.name if self.attempt == 1 else f"{self.stage.name}-{self.attempt}"

    @property
    def id(self) -> str:
        """The name by which later stages are told of what it came to."""
        return f"D{self.index + 1}"

    @property
    def draft(self) -> Digest:
        """The project as the earlier stages left it."""
        return draft_after(self.before)

    @property
    def seats(self) -> tuple[str, ...]:
        """Who takes part: those the stage names, else all; who is switched off is not asked."""
        present = [seat.name for seat in self.table.charter.seats]
        return tuple(it for it in self.stage.seats if it in present) or tuple(present)

    def turns(self, *, blind: bool) -> Turns:
        """Who hears whom: nobody, or each those who spoke before, in an order drawn by lot; only of this stage."""
        if blind:
            return Turns(visibility="none", stage=self.name)
        return Turns("sequential", "same_round", order="shuffle", stage=self.name)

    async def prompt(self, template: str, quotes: dict[str, str] | None = None, *, files: bool = True) -> Prompt:
        """A prompt of this stage: who the seats are in it, what it is to do, what is decided and what is there."""
        values = {"role": self.stage.role, "title": self.stage.title, "task": self.stage.task, "instructions": ""}
        if self.instructions:
            values["instructions"] = f"The person asks for this in particular: {self.instructions}"
        told = decisions(self.before) or "Nothing yet: this is the first stage."
        shown = await self.files() if files else ()
        return Prompt(template, values, quotes={"decisions": told, **(quotes or {})}, files=shown)

    async def files(self) -> tuple[ContextItem, ...]:
        """The project's files, as far as they are few enough to be shown whole; the first ones where they are not."""
        if not self.draft and not self.table.charter.settings.get("existing"):
            return ()
        listed = await done(self.table, f"{self.name}/files", ListProject(self.draft), ProjectListed)
        return _fitting(listed.items)

    def end(self, **more: object) -> StageEnd:
        """The end of this stage, with what it came to."""
        return msgspec.convert({"id": self.id, "stage": self.stage.name, "attempt": self.attempt, **more}, StageEnd)


def _fitting(items: Sequence[ContextItem]) -> tuple[ContextItem, ...]:
    shown: list[ContextItem] = []
    room = WHOLE
    for item in items:
        if item.size <= room:
            shown.append(item)
            room -= item.size
    return tuple(shown)
