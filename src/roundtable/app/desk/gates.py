"""The gates part of the desk: what waits for a person, and their answers."""

from __future__ import annotations

import os

from roundtable.app.runs.open_gates import OpenGate, list_open_gates
from roundtable.app.wiring import Wiring
from roundtable.core.changeset import HunkChoice
from roundtable.core.events import AnswerSource, GateAnswered, Recorded
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.values import Digest
from roundtable.voices.agents.workdirs import SEAT_VARIABLE
from roundtable.workshop.identity import current_user_name


class Gates:
    """The questions that only a person may answer."""

    def __init__(self, wiring: Wiring) -> None:
        self._parts = wiring.parts

    async def list_open(self, *, everywhere: bool = False, owner: str | None = None) -> list[OpenGate]:
        """Every gate that waits in this workspace, or in all of them; the newest session first."""
        return await list_open_gates(self._parts, everywhere=everywhere, owner=owner)

    async def answer(
        self,
        session: str,
        gate: str,
        option: str,
        text: str = "",
        by: str = "",
        *,
        by_program: bool = False,
        source: AnswerSource = AnswerSource.PERSON,
    ) -> Recorded:
        """Answer a gate. A gate that lets something be written takes no answer from a program."""
        state = await self._parts.read_session(session)
        known = state.gates.get(gate)
        if known is None:
            raise NotFound(f"This session has no gate called {gate}.", "`roundtable show` lists its gates.")
        if known.writes and (by_program or SEAT_VARIABLE in os.environ):
            raise UsageError(
                f"Gate {gate} lets something be written, and only the person may answer it.",
                f"Ask them to answer it at their terminal: roundtable answer {state.charter.slug} {gate}=OPTION",
            )
        if option not in known.options:
            raise UsageError(f"{option} is not an answer to {gate}.", f"Choose one of: {', '.join(known.options)}.")
        if known.is_own_words_answer(option) and not text.strip():
            raise UsageError(f"`{option}` says nothing without your words.", "Add them as the answer's text (--text).")
        if gate in state.answers:
            raise UsageError(f"Gate {gate} was already answered with {state.answers[gate].option}.")
        self._parts.keys.learn_keychain_keys()
        answer = GateAnswered(gate, option, text, by or current_user_name(), source)
        return await self._parts.record.append(session, answer)

    async def check_choice(self, draft: Digest, choice: HunkChoice) -> tuple[str, ...]:
        """Why the chosen part of a draft cannot be written, such as that it would not parse; a sentence each."""
        from roundtable.app.effects.apply_change import validate_chosen_hunks

        return await validate_chosen_hunks(self._parts.record, draft, choice)
