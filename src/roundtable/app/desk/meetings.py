"""The meetings part of the desk: which there are, what one would cost, opening one and running it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from roundtable.app.opening.agenda import Agenda
from roundtable.app.opening.meeting_catalog import CatalogMeeting, find_charter_rules
from roundtable.app.opening.opener import list_paid_voices
from roundtable.app.opening.stage_lists import StageOptions
from roundtable.app.settings.configured_seats import list_configured_seats
from roundtable.app.wiring import Wiring
from roundtable.core.session import Session
from roundtable.core.stages import Stage
from roundtable.core.values import Charter, Decision, Limits, Seat
from roundtable.engine.run import FindMeeting

if TYPE_CHECKING:
    from roundtable.app.cost.quote import MeetingQuote
    from roundtable.app.opening.judge_question import ChatExchange


class Meetings:
    """What can be held here, and holding it."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._parts = wiring.parts
        self._opener = wiring.opener

    # --- looking up ------------------------------------------------------------------------------

    def list(self) -> Sequence[CatalogMeeting]:
        """Every meeting one can ask for here: shipped, presets, the person's own and a trusted workspace's."""
        return self._opener.catalog.listed()

    def find(self, name: str = "") -> CatalogMeeting:
        """A meeting by its name, or the configured one."""
        return self._opener.find_meeting(name)

    def find_stages(self, name: str, options: StageOptions | None = None) -> tuple[Stage, ...]:
        """The stages of a list (a shipped one, the person's or the workspace's by its name, or a file) with options."""
        from roundtable.app.opening.stage_lists import apply_stage_options

        stages = self._opener.stage_lists.find(name)
        return apply_stage_options(stages, options) if options else stages

    def default_seats(self, meeting: str = "") -> tuple[Seat, ...]:
        """The seats of a meeting for which the person names none."""
        return self._opener.default_seats(meeting)

    def default_limits(self, meeting: str = "") -> Limits:
        """The limits of a meeting for which the person states none."""
        return self._opener.default_limits(meeting)

    def configured_seats(self) -> tuple[Seat, ...]:
        """The seats that the config names."""
        return list_configured_seats(self._parts.settings)

    # --- before a meeting ------------------------------------------------------------------------

    def paid_voices(self, seats: Sequence[Seat], *, judging: bool = False) -> Sequence[str]:
        """The voices of these seats that are paid by the token; with those of their judges where some are judging."""
        return list_paid_voices(self._parts.tariffs, seats, judging=judging)

    def check_seats(self, seats: Sequence[Seat]) -> dict[str, str]:
        """The seats that have no usable voice, each with the reason."""
        return self._opener.check_seats(seats)

    def check_quorum(self, agenda: Agenda) -> dict[str, str]:
        """The seats that cannot speak, each with the reason; a meeting without its quorum is refused."""
        return self._opener.check_quorum(agenda)

    async def draft(self, agenda: Agenda) -> tuple[Charter, Sequence[bytes]]:
        """The charter of an agenda, and the texts it refers to; nothing is on the record yet."""
        return await self._opener.draft_charter(agenda)

    async def quote(self, agenda: Agenda) -> MeetingQuote:
        """What a meeting may cost; nothing is asked, spent or put on the record."""
        from roundtable.app.cost.quote import estimate_meeting_cost

        return await estimate_meeting_cost(self._parts, self._opener, agenda)

    # --- opening and running ---------------------------------------------------------------------

    async def open(self, agenda: Agenda, by: str = "") -> str:
        """Put the charter of an agenda on the record and return the session's id; no seat is asked yet."""
        session, opened = await self._opener.open_session(agenda, by)
        await self._wiring.hooks.tell(session, opened)
        return session

    async def ask_judge(self, about: Session, question: str, before: Sequence[ChatExchange] = ()) -> str:
        """Open a session in which the judge of another session answers one question about it."""
        from roundtable.app.opening.judge_question import open_judge_question_session

        return await open_judge_question_session(self._parts, about, question, before)

    async def find_session_to_apply(self, address: str = "") -> Session:
        """The session at this address, or the newest here whose decision nobody has applied yet."""
        from roundtable.app.records.session_to_apply import find_session_to_apply

        return await find_session_to_apply(self._parts, address)

    def plan_apply(self, decided: Session, agenda: Agenda) -> Agenda:
        """An agenda for applying what a session decided; what it leaves out comes from that session."""
        from roundtable.app.opening.apply_source import APPLY_MEETING, build_apply_meeting_agenda

        limits = agenda.limits or self.default_limits(APPLY_MEETING)
        return build_apply_meeting_agenda(decided, msgspec.structs.replace(agenda, limits=limits))

    async def open_apply(self, session: str, agenda: Agenda, by: str = "") -> str:
        """Open the session that applies what another one decided."""
        return await self.open(self.plan_apply(await self._parts.read_session(session), agenda), by)

    async def run(self, session: str, find_rules: FindMeeting = find_charter_rules) -> Decision:
        """Run a session to its end in this process, from where its record stops."""
        return await self._wiring.run(session, find_rules)

    async def run_in_background(self, session: str, gate_wait: float | None = None) -> None:
        """Run a session in a process of its own, unless one runs it already.

        At a gate the process waits so many seconds for an answer, ten minutes if not said otherwise, and then ends.
        """
        from roundtable.app.runs.background import GATE_WAIT_SECONDS, run_in_background

        await run_in_background(self._parts, session, GATE_WAIT_SECONDS if gate_wait is None else gate_wait)

    def background_failure(self, session: str) -> str:
        """Why the last background run of a session failed; empty if it did not."""
        from roundtable.app.runs.background import read_background_failure

        return read_background_failure(self._parts.places, session)

    async def hook_problems(self) -> Sequence[str]:
        """A sentence for each hook that failed since this was asked last."""
        return await self._wiring.hooks.troubles()
