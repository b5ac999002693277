"""A whole meeting at the real desk, with scripted voices that remember what they were asked."""

from __future__ import annotations

import json
from typing import Any

from roundtable.app.desk import Agenda, Roundtable
from roundtable.core.effects import ChecksRun, FilesRead
from roundtable.core.values import Decision, Limits, Seat
from tests.stories.house import ScriptedVoices

Turns = list[dict[str, str]]


class Held:
    """One meeting of the seats that are given with their turns."""

    def __init__(self, desk: Roundtable, **seats: Turns) -> None:
        self._desk = desk
        self._script = {"seats": {name: {"turns": turns} for name, turns in seats.items()}}
        self.voices = ScriptedVoices(self._script)
        self.session = ""
        self._table: Roundtable | None = None

    async def open(self, meeting: str, question: str = "Why does login fail?", **agenda: Any) -> None:
        """Convene it; nothing is asked yet."""
        desk = self._desk
        script = desk.setup.places.data / "script.json"
        script.write_text(json.dumps(self._script))
        seats = tuple(Seat(name, (f"script:{script}",)) for name in self._script["seats"])
        limits = Limits(retries=0, seat_timeout=20, round_deadline=20)
        headless = agenda.pop("headless", True)
        told = Agenda(question, seats, meeting=meeting, limits=limits, headless=headless, **agenda)
        self.session = await desk.meetings.open(told)

    async def hold(self, meeting: str, question: str = "Why does login fail?", **agenda: Any) -> Decision:
        """Convene it, or take it up where it stands."""
        if not self.session:
            await self.open(meeting, question, **agenda)
        return await (await self.table()).meetings.run(self.session)

    async def table(self) -> Roundtable:
        """The same desk with the scripted voices; what it says is heard at its own feed."""
        if self._table is None:
            desk, setup = self._desk, self._desk.setup
            self._table = await Roundtable.open(
                desk.workspace, setup.places, setup.settings, store=desk.wiring.record, voices=self.voices
            )
        return self._table

    def prompt(self, round: str, seat: str) -> str:
        """Everything that a seat was shown in a round."""
        call = next(call for call in self.voices.calls if call.call.startswith(f"{round}/{seat}#"))
        return "\n".join(message.text for message in call.messages)

    async def served(self) -> list[FilesRead | ChecksRun]:
        """What came of the seats' requests."""
        served = (await self._desk.sessions.get(self.session)).shared_results
        return [result for _, _, result in served if isinstance(result, FilesRead | ChecksRun)]


def knight(score: int, **wants: Any) -> dict[str, str]:
    """A knight's turn, with what it asks for."""
    block: dict[str, Any] = {"consensus_score": score, "agrees_with": [], "pending_issues": [], **wants}
    return {"text": f"Hm.\n```json\n{json.dumps(block)}\n```"}


def doctor(confidence: int, *files: str) -> dict[str, str]:
    """A doctor's turn in whatever round, with the files it asks for."""
    block: dict[str, Any] = {
        "suspects": ["the token"],
        "confidence_score": confidence,
        "root_cause_key": "stale-token",
        "evidence": [],
        "file_requests": files,
    }
    return {"text": f"I see.\n```json\n{json.dumps(block)}\n```"}
