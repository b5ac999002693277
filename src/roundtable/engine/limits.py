"""What was rejected or has failed does not win by being proposed again: whoever repeats it must answer it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from roundtable.core.decide import decrees
from roundtable.core.session import Session
from roundtable.core.values import Decision, Gate, Move, Outcome, Recalled


class Heeding:
    """Asks the person once about each no that stands against a decision, however often the decision is put to it."""

    def __init__(self, session: Session, ask: Callable[[Gate], Awaitable[str]]) -> None:
        self._session = session
        self._ask = ask
        self._said: dict[str, str] = {}

    async def heeded(self, decision: Decision, moves: Iterable[Move]) -> Decision:
        """The decision as it stands after that."""
        heard = list(moves)
        for entry in decrees.against(self._session.charter, decision):
            if entry.id not in self._said:
                if not self._asked_before(entry) and decrees.answered(entry, decision, heard):
                    continue
                self._said[entry.id] = await self._ask(decrees.gate(entry, decision, len(self._said) + 1))
            decision = decrees.ruled(entry, decision, self._said[entry.id])
            if decision.outcome is not Outcome.REACHED:
                break
        return decision

    def _asked_before(self, entry: Recalled) -> bool:
        """An answer that came after the question does not take the question back: a resumed meeting asks it again."""
        asked = (gate for id, gate in self._session.gates.items() if id.partition("-")[0] == decrees.GATE)
        return any(decrees.names(entry, gate.question) for gate in asked)
