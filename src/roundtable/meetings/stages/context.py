"""What every kind of stage has before it: the table, the stage itself, and what the earlier ones came to."""

from __future__ import annotations

import msgspec

from roundtable.core.decide import stage_outcome as rule
from roundtable.core.effects import ListProject, ProjectListed
from roundtable.core.ports import Table
from roundtable.core.stages import (
    Contribution,
    SdlcSettings,
    Stage,
    StageEnd,
    StageEnding,
    latest_stage_draft,
    quote_stage_decisions,
    sdlc_settings,
    stage_attempt_name,
)
from roundtable.core.values import Digest, Expect, Prompt, Turns
from roundtable.meetings.try_candidates import expect_changes, require_effect

EMPTY_LISTING = ProjectListed()


class StageContext(msgspec.Struct, frozen=True):
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
        return stage_attempt_name(self.stage.name, self.attempt)

    @property
    def settings(self) -> SdlcSettings:
        """What holds for all stages."""
        return sdlc_settings(self.table.charter)

    @property
    def id(self) -> str:
        """The name by which later stages are told of what it came to."""
        return f"D{self.index + 1}"

    @property
    def draft(self) -> Digest:
        """The project as the earlier stages left it."""
        return latest_stage_draft(self.before)

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

    def prompt(
        self, template: str, quotes: dict[str, str] | None = None, shown: ProjectListed = EMPTY_LISTING
    ) -> Prompt:
        """A prompt of this stage: who the seats are in it, what it is to do, what is decided and what is shown."""
        values = {"role": self.stage.role, "title": self.stage.title, "task": self.stage.task}
        asked = f"The person asks for this in particular: {self.instructions}" if self.instructions else ""
        values |= {"instructions": asked, "rest": rule.UNSHOWN_FILES_INTRO if shown.left else ""}
        told = quote_stage_decisions(self.before) or "Nothing yet: this is the first stage."
        beside = (shown.map,) if shown.map else ()
        quoted = {"decisions": told, "unshown": rule.list_unshown_files(shown), **(quotes or {})}
        return Prompt(template, values, quotes=quoted, files=(*shown.items, *beside))

    async def project(self) -> ProjectListed:
        """The project's files as far as the seats have room for them; of a larger one, its map and what is left out."""
        return await self.listed("files", self.draft) if self.draft or self.settings.existing else EMPTY_LISTING

    async def listed(self, step: str, draft: Digest, about: str = "") -> ProjectListed:
        """The same of the project with another draft, and first of all what it is about."""
        answers = len(self.seats) if self.stage.speaking == "sequential" else 1
        about = "\n".join(filter(None, (about, self.instructions)))
        effect = ListProject(draft, self.stage.tokens * answers, self.stage.seats, about)
        return await require_effect(self.table, f"{self.name}/{step}", effect, ProjectListed)

    def changes(self, shown: ProjectListed) -> Expect:
        """How files are to be written by seats who are shown these, and how much of them at once."""
        return msgspec.structs.replace(expect_changes(self.table, shown.items), tokens=self.stage.tokens)

    async def with_unshown(self, end: StageEnd) -> StageEnd:
        """The end of a stage that showed the project, with a word on what of it was not shown."""
        notices = (*end.notices, *rule.describe_unshown_files(await self.project()))
        return msgspec.structs.replace(end, notices=notices)

    def not_held(self) -> StageEnd:
        """The end of a stage for whose first round the limits leave no room."""
        return msgspec.structs.replace(self.end(how="failed", notices=(rule.STAGE_NOT_HELD,)), held=False)

    def end(
        self,
        *,
        how: StageEnding,
        text: str = "",
        draft: Digest = "",
        judge: str = "",
        base: str = "",
        took: tuple[Contribution, ...] = (),
        notices: tuple[str, ...] = (),
        own_words: bool = False,
    ) -> StageEnd:
        """The end of this stage, with what it came to; where it says nothing of files, they are as they were."""
        draft = draft or self.draft
        return StageEnd(self.id, self.stage.name, self.attempt, how, text, draft, judge, base, took, notices, own_words)
