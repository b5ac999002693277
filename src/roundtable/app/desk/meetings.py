"""The `meetings` part of the desk: finds, quotes, opens and runs meetings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from roundtable.app.opening.agenda import Agenda
from roundtable.app.opening.meeting_catalog import CatalogMeeting, MeetingCatalog
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
    """The meetings that can be held in this workspace."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._parts = wiring.parts
        self._opener = wiring.opener

    # --- the catalog -----------------------------------------------------------------------------

    def list(self) -> Sequence[CatalogMeeting]:
        """Return every available meeting: shipped, presets, the person's own and those of a trusted workspace."""
        return self._opener.catalog.list_all()

    def find(self, name: str = "") -> CatalogMeeting:
        """Return a meeting by its name, or the configured one."""
        return self._opener.find_meeting(name)

    def find_stages(self, name: str, options: StageOptions | None = None) -> tuple[Stage, ...]:
        """Return the stages of a list, with options. `name` is a shipped list, an own one, or the path of a file."""
        stages = self._opener.stage_lists.find(name)
        return options.apply_to(stages) if options else stages

    def default_seats(self, meeting: str = "") -> tuple[Seat, ...]:
        """Return the seats of a meeting for which the person names none."""
        return self._opener.default_seats(meeting)

    def default_limits(self, meeting: str = "") -> Limits:
        """Return the limits of a meeting for which the person sets none."""
        return self._opener.default_limits(meeting)

    def configured_seats(self) -> tuple[Seat, ...]:
        """Return the seats in the config."""
        return list_configured_seats(self._parts.settings)

    # --- before a meeting ------------------------------------------------------------------------

    def paid_voices(self, seats: Sequence[Seat], *, judging: bool = False) -> Sequence[str]:
        """Return the voices of these seats that are paid by the token; with `judging`, also their judge voices."""
        return self._parts.tariffs.list_paid_voices(seats, judging=judging)

    def check_seats(self, seats: Sequence[Seat]) -> dict[str, str]:
        """Return the seats without a usable voice, each with the reason."""
        return self._opener.check_seats(seats)

    def check_quorum(self, agenda: Agenda) -> dict[str, str]:
        """Return the seats that cannot speak, each with the reason; raise UsageError if the quorum cannot be met."""
        return self._opener.check_quorum(agenda)

    async def draft(self, agenda: Agenda) -> tuple[Charter, Sequence[bytes]]:
        """Return the charter of an agenda and the texts it refers to; nothing is recorded."""
        return await self._opener.draft_charter(agenda)

    async def quote(self, agenda: Agenda) -> MeetingQuote:
        """Return what a meeting may cost; nothing is asked, spent or recorded."""
        from roundtable.app.cost.quote import estimate_meeting_cost

        return await estimate_meeting_cost(self._parts, self._opener, agenda)

    # --- opening and running ---------------------------------------------------------------------

    async def open(self, agenda: Agenda, by: str = "") -> str:
        """Record the charter of an agenda and return the session's id; no seat is asked yet."""
        session, opened = await self._opener.open_session(agenda, by)
        await self._wiring.hooks.run_for(session, opened)
        return session

    async def ask_judge(self, about: Session, question: str, before: Sequence[ChatExchange] = ()) -> str:
        """Open a session in which the judge of another session answers one question about it."""
        from roundtable.app.opening.judge_question import open_judge_question_session

        return await open_judge_question_session(self._parts, about, question, before)

    async def find_session_to_apply(self, address: str = "") -> Session:
        """Return the session at this address, or the newest one here whose decision nobody has applied yet."""
        from roundtable.app.opening.apply_source import find_opening_apply_source

        return await find_opening_apply_source(self._parts, address)

    def plan_apply(self, decided: Session, agenda: Agenda) -> Agenda:
        """Return the agenda for applying a decision; what `agenda` leaves out comes from the session that decided."""
        from roundtable.app.opening.apply_source import APPLY_MEETING, build_opening_apply_agenda

        limits = agenda.limits or self.default_limits(APPLY_MEETING)
        return build_opening_apply_agenda(decided, msgspec.structs.replace(agenda, limits=limits))

    async def open_apply(self, session: str, agenda: Agenda, by: str = "") -> str:
        """Open the session that applies the decision of another session."""
        return await self.open(self.plan_apply(await self._parts.read_session(session), agenda), by)

    async def run(self, session: str, find_rules: FindMeeting = MeetingCatalog.find_charter_rules) -> Decision:
        """Run a session to its end in this process, from where its record stops."""
        return await self._wiring.run(session, find_rules)

    async def hold(self, agenda: Agenda) -> tuple[str, Decision]:
        """Open a session and run it to its end."""
        session = await self.open(agenda)
        return session, await self.run(session)

    async def run_in_background(self, session: str, gate_wait: float | None = None) -> None:
        """Run a session in a separate process, unless a process runs it already.

        At a gate, the process waits `gate_wait` seconds for an answer (ten minutes by default) and then ends.
        """
        from roundtable.app.runs.background import GATE_WAIT_SECONDS, run_session_in_background

        await run_session_in_background(self._parts, session, GATE_WAIT_SECONDS if gate_wait is None else gate_wait)

    def background_failure(self, session: str) -> str:
        """Return why the last background run of a session failed; empty if it did not fail."""
        from roundtable.app.runs.background import read_background_run_failure

        return read_background_run_failure(self._parts.places, session)

    async def hook_problems(self) -> Sequence[str]:
        """Return a sentence for each hook that has failed since the last call."""
        return await self._wiring.hooks.take_problems()
