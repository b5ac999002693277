"""The limits of a session, and the check of a decision against what was rejected or has failed before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from roundtable.core.decide import decrees
from roundtable.core.events import LimitReached
from roundtable.core.session import Session
from roundtable.core.values import Decision, Gate, Move, Outcome, RecalledEntry


def find_exceeded_round_limit(session: Session, round: str) -> LimitReached | None:
    """The limit that prevents this round, if there is one."""
    limits = session.limits
    rounds = sum(1 for record in session.rounds.values() if not record.opened.turns.secret)
    cost = session.spent.cost_usd or 0.0
    bounds: list[tuple[str, float, float | None]] = [
        ("rounds", rounds, limits.rounds),
        ("budget_tokens", session.spent.tokens, limits.budget_tokens),
        # A budget of 0 still allows voices that cost nothing.
        ("budget_usd", cost, limits.budget_usd if cost else None),
    ]
    for name, spent, allowed in bounds:
        if allowed is not None and spent >= allowed:
            return LimitReached(round, name, spent, allowed)
    return None


class DecreeReview:
    """Asks the person about each earlier rejection or failure that a decision repeats, once for each."""

    def __init__(self, session: Session, ask: Callable[[Gate], Awaitable[str]]) -> None:
        self._session = session
        self._ask = ask
        self._answers: dict[str, str] = {}

    async def review(self, decision: Decision, moves: Iterable[Move]) -> Decision:
        """The decision after the person was asked about what it repeats."""
        answers = list(moves)
        for entry in decrees.decrees_against_decision(self._session.charter, decision):
            if entry.id not in self._answers:
                if not self._asked_before(entry) and decrees.is_decree_answered_by_decision(entry, decision, answers):
                    continue
                self._answers[entry.id] = await self._ask(
                    decrees.decision_gate_for_repeated_decree(entry, decision, len(self._answers) + 1)
                )
            decision = decrees.decision_after_decree_answer(entry, decision, self._answers[entry.id])
            if decision.outcome is not Outcome.REACHED:
                break
        return decision

    def _asked_before(self, entry: RecalledEntry) -> bool:
        """Whether the gate for this entry was opened in an earlier run: a resumed meeting must open it again."""
        decree_gates = (gate for gate in self._session.gates.values() if gate.kind == decrees.DECREE_GATE)
        return any(decrees.is_decree_named(entry, gate.question) for gate in decree_gates)
