"""The `gates` part of the desk: open gates and the answers of people."""

from __future__ import annotations

import os

from roundtable.app.runs.open_gates import OpenGate, list_open_gates_of_runs
from roundtable.app.wiring import Wiring
from roundtable.core.changeset import HunkChoice
from roundtable.core.events import AnswerSource, GateAnswered, Recorded
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.values import Digest
from roundtable.voices.agents.workdirs import SEAT_VARIABLE
from roundtable.workshop.identity import os_user_name


class Gates:
    """The gates: questions that only a person may answer."""

    def __init__(self, wiring: Wiring) -> None:
        self._parts = wiring.parts

    async def list_open(self, *, everywhere: bool = False, owner: str | None = None) -> list[OpenGate]:
        """Return the open gates of this workspace, or of all workspaces; the newest session first."""
        return await list_open_gates_of_runs(self._parts, everywhere=everywhere, owner=owner)

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
        """Answer a gate. A gate that allows files to be written accepts no answer from a program."""
        state = await self._parts.read_session(session)
        asked = state.gates.get(gate)
        if asked is None:
            raise NotFound(
                f"This session has no gate called {gate}.", "`roundtable show` lists the gates of a session."
            )
        if asked.writes and (by_program or SEAT_VARIABLE in os.environ):
            raise UsageError(
                f"Only a person may answer gate {gate}, because the answer can allow files to be written.",
                f"Ask a person to run this in a terminal: roundtable answer {state.charter.slug} {gate}=OPTION",
            )
        if option not in asked.options:
            raise UsageError(f"Gate {gate} has no option {option}.", f"Choose one of: {', '.join(asked.options)}.")
        if asked.is_own_words_answer(option) and not text.strip():
            raise UsageError(f"The answer `{option}` requires a text.", "Add the text with `--text`.")
        if gate in state.answers:
            raise UsageError(f"Gate {gate} was already answered with {state.answers[gate].option}.")
        self._parts.keys.learn_keychain_keys()
        answer = GateAnswered(gate, option, text, by or os_user_name(), source)
        return await self._parts.record.append(session, answer)

    async def check_choice(self, draft: Digest, choice: HunkChoice) -> tuple[str, ...]:
        """Return a sentence for each reason why the chosen hunks cannot be written, such as a syntax error."""
        from roundtable.app.effects.apply_change import ChangeApplier

        return await ChangeApplier.check_choice(self._parts.record, draft, choice)
