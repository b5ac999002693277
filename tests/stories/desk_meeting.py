"""Holds a meeting through the desk with scripted voices that record their requests."""

from __future__ import annotations

import json
from typing import Any

from roundtable.app.desk import Agenda, Roundtable
from roundtable.core.effects import ChecksRun, FilesRead
from roundtable.core.values import Decision, Limits, Seat
from tests.stories.session_harness import ScriptedVoices

Turns = list[dict[str, str]]


class DeskMeeting:
    """A meeting at a desk whose seats reply with the given turns."""

    def __init__(self, desk: Roundtable, **seats: Turns) -> None:
        self._desk = desk
        self._script = {"seats": {name: {"turns": turns} for name, turns in seats.items()}}
        self.voices = ScriptedVoices(self._script)
        self.session = ""
        self._table: Roundtable | None = None

    async def open(self, meeting: str, question: str = "Why does login fail?", **agenda: Any) -> None:
        """Open the session without asking any seat."""
        desk = self._desk
        script = desk.setup.places.data / "script.json"
        script.write_text(json.dumps(self._script))
        seats = tuple(Seat(name, (f"script:{script}",)) for name in self._script["seats"])
        limits = Limits(retries=0, seat_timeout=20, round_deadline=20)
        headless = agenda.pop("headless", True)
        full_agenda = Agenda(question, seats, meeting=meeting, limits=limits, headless=headless, **agenda)
        self.session = await desk.meetings.open(full_agenda)
        await self.table()

    async def hold(self, meeting: str, question: str = "Why does login fail?", **agenda: Any) -> Decision:
        """Run the session until it ends; open it first if needed."""
        if not self.session:
            await self.open(meeting, question, **agenda)
        return await (await self.table()).meetings.run(self.session)

    async def table(self) -> Roundtable:
        """Return a desk on the record of the given one, with the scripted voices and its own feed."""
        if self._table is None:
            desk, setup = self._desk, self._desk.setup
            self._table = await Roundtable.open(
                desk.workspace, setup.places, setup.settings, store=desk.wiring.record, voices=self.voices
            )
        return self._table

    def prompt(self, round: str, seat: str) -> str:
        """Return all messages of the prompt that a seat got in a round."""
        call = next(call for call in self.voices.calls if call.call.startswith(f"{round}/{seat}#"))
        return "\n".join(message.text for message in call.messages)

    async def served(self) -> list[FilesRead | ChecksRun]:
        """Return the results of the seats' requests for files and checks."""
        served = (await self._desk.sessions.get(self.session)).shared_results
        return [result for _, _, result in served if isinstance(result, FilesRead | ChecksRun)]


def knight_turn(score: int, **wants: Any) -> dict[str, str]:
    """Return a knight's turn with its score and requests."""
    block: dict[str, Any] = {"consensus_score": score, "agrees_with": [], "pending_issues": [], **wants}
    return {"text": f"Hm.\n```json\n{json.dumps(block)}\n```"}


def doctor_turn(confidence: int, *files: str) -> dict[str, str]:
    """Return a doctor's turn with its diagnosis and requested files."""
    block: dict[str, Any] = {
        "suspects": ["the token"],
        "confidence_score": confidence,
        "root_cause_key": "stale-token",
        "evidence": [],
        "file_requests": files,
    }
    return {"text": f"I see.\n```json\n{json.dumps(block)}\n```"}
