"""The context of a stage: the table, the stage itself, and the results of earlier stages."""

from __future__ import annotations

import msgspec

from roundtable.core.decide.stage_outcome import decision_reasons_for_unshown_files
from roundtable.core.effects import ListProject, ProjectListed
from roundtable.core.ports import Table
from roundtable.core.reasons import Reasons, StageNotHeld
from roundtable.core.stage_address import StageAddress
from roundtable.core.stages import Contribution, SdlcSettings, Stage, StageEnd, StageEnding
from roundtable.core.values import Digest, Expect, Prompt, Turns
from roundtable.meetings.try_candidates import meeting_changes_reply_format, perform_required_meeting_step

EMPTY_LISTING = ProjectListed()
UNSHOWN_FILES_INTRO = (
    "There is no room for all files of the project. The following files are not shown; the map of the program "
    "describes them. Use them as the map describes, and do not change them:"
)
_MAX_LISTED = 100


class StageContext(msgspec.Struct, frozen=True):
    """One attempt at one stage, or one lap of an execution stage.

    `index` counts all stages of the meeting, so that seats judge in turn. `instructions` are the person's, from
    the opening and from every gate at which they repeated the stage.
    """

    table: Table
    stage: Stage
    index: int
    attempt: int
    before: tuple[StageEnd, ...]
    instructions: str = ""
    lap: int = 0

    @property
    def address(self) -> StageAddress:
        """The address of its rounds, steps and gates."""
        return StageAddress(self.stage.name, self.attempt, self.lap)

    @property
    def name(self) -> str:
        """The prefix of its rounds and steps."""
        return self.address.name

    @property
    def settings(self) -> SdlcSettings:
        """The settings of all stages."""
        return SdlcSettings.of(self.table.charter)

    @property
    def id(self) -> str:
        """The id by which later stages refer to its result."""
        return f"D{self.index + 1}"

    @property
    def draft(self) -> Digest:
        """The project as the earlier stages left it."""
        return StageEnd.latest_draft(self.before)

    @property
    def seats(self) -> tuple[str, ...]:
        """The seats of this stage: those it names, otherwise all."""
        present = [seat.name for seat in self.table.charter.seats]
        return tuple(seat for seat in self.stage.seats if seat in present) or tuple(present)

    def turns(self, *, blind: bool) -> Turns:
        """Turns within this stage: blind, or one after the other in an order drawn by lot."""
        if blind:
            return Turns(visibility="none", stage=self.name)
        return Turns("sequential", "same_round", order="shuffle", stage=self.name)

    def prompt(
        self, template: str, quotes: dict[str, str] | None = None, shown: ProjectListed = EMPTY_LISTING
    ) -> Prompt:
        """A prompt of this stage: role, task, earlier decisions and the files shown."""
        values = {"role": self.stage.role, "title": self.stage.title, "task": self.stage.task}
        instructions = f"Instructions of the person: {self.instructions}" if self.instructions else ""
        values |= {"instructions": instructions, "rest": UNSHOWN_FILES_INTRO if shown.left else ""}
        decisions = StageEnd.quote_all(self.before) or "Nothing yet: this is the first stage."
        quoted = {"decisions": decisions, "unshown": _list_unshown_files(shown), **(quotes or {})}
        return Prompt(template, values, quotes=quoted, files=(*shown.items, *((shown.map,) if shown.map else ())))

    async def list_project_files(self) -> ProjectListed:
        """The project's files as far as they fit into the context windows; of a larger one, its map and what is left
        out."""
        return await self.list_files("files", self.draft) if self.draft or self.settings.existing else EMPTY_LISTING

    async def list_files(self, step: str, draft: Digest, about: str = "") -> ProjectListed:
        """The files of the project with this draft, those that it is `about` first."""
        answers = len(self.seats) if self.stage.speaking == "sequential" else 1
        about = "\n".join(filter(None, (about, self.instructions)))
        effect = ListProject(draft, self.stage.tokens * answers, self.stage.seats, about)
        return await perform_required_meeting_step(self.table, self.address.step(step), effect, ProjectListed)

    def expect_changes(self, shown: ProjectListed) -> Expect:
        """The reply format for files, for seats that see these files."""
        return msgspec.structs.replace(meeting_changes_reply_format(self.table, shown.items), tokens=self.stage.tokens)

    async def add_unshown_notice(self, end: StageEnd) -> StageEnd:
        """The end of a stage, with a notice on files that were not shown."""
        notices = (*end.notices, *decision_reasons_for_unshown_files(await self.list_project_files()))
        return msgspec.structs.replace(end, notices=notices)

    def end_not_held(self) -> StageEnd:
        """The end of a stage that the limits did not allow to begin."""
        return msgspec.structs.replace(self.end(how="failed", notices=(StageNotHeld(),)), held=False)

    def end(
        self,
        *,
        how: StageEnding,
        text: str = "",
        draft: Digest = "",
        judge: str = "",
        base: str = "",
        took: tuple[Contribution, ...] = (),
        notices: Reasons = (),
        own_words: bool = False,
    ) -> StageEnd:
        """The end of this stage; without a draft, the files are unchanged."""
        draft = draft or self.draft
        return StageEnd(self.id, self.stage.name, self.attempt, how, text, draft, judge, base, took, notices, own_words)


def _list_unshown_files(listed: ProjectListed) -> str:
    """The names of files that do not fit into the prompt."""
    more = len(listed.left) - _MAX_LISTED
    return "\n".join((*listed.left[:_MAX_LISTED], *((f"and {more} more",) if more > 0 else ())))
