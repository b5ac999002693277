"""What was rejected or has failed does not win by being proposed again: whoever repeats it must answer it.

The bounds of a session, as pure questions to its fold.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from roundtable.core.decide import decrees
from roundtable.core.events import LimitReached
from roundtable.core.session import Session
from roundtable.core.values import Decision, Gate, Limits, Move, Outcome, RecalledEntry


def find_exceeded_limit(session: Session, round: str) -> LimitReached | None:
    """The bound that keeps this round from being opened, if one does."""
    limits = session.limits
    rounds = sum(1 for record in session.rounds.values() if not record.opened.turns.secret)
    cost = session.spent.cost_usd or 0.0
    bounds: list[tuple[str, float, float | None]] = [
        ("rounds", rounds, limits.rounds),
        ("budget_tokens", session.spent.tokens, limits.budget_tokens),
        ("budget_usd", cost, limits.budget_usd if cost else None),  # a budget of nothing still lets the free speak
    ]
    for name, spent, allowed in bounds:
        if allowed is not None and spent >= allowed:
            return LimitReached(round, name, spent, allowed)
    return None


def has_quorum(moves: Sequence[Move], electorate: Sequence[str], limits: Limits) -> bool:
    """Whether enough readable answers came in; the bar was set before the first one was heard."""
    valid = [move for move in moves if move.verdict.counts]
    quorum = limits.quorum
    return (
        len(valid) >= max(1, min(quorum.seats, len(electorate)))
        and len({move.vendor for move in valid}) >= min(quorum.vendors, len(electorate))
        and {move.seat for move in valid} >= set(quorum.essential)
    )


class DecreeReview:
    """Asks the person once about each no that stands against a decision, however often the decision is put to it."""

    def __init__(self, session: Session, ask: Callable[[Gate], Awaitable[str]]) -> None:
        self._session = session
        self._ask = ask
        self._said: dict[str, str] = {}

    async def review(self, decision: Decision, moves: Iterable[Move]) -> Decision:
        """The decision as it stands after that."""
        heard = list(moves)
        for entry in decrees.decrees_against_decision(self._session.charter, decision):
            if entry.id not in self._said:
                if not self._asked_before(entry) and decrees.is_decree_answered_by_decision(entry, decision, heard):
                    continue
                self._said[entry.id] = await self._ask(decrees.decree_gate(entry, decision, len(self._said) + 1))
            decision = decrees.decide_after_decree_gate(entry, decision, self._said[entry.id])
            if decision.outcome is not Outcome.REACHED:
                break
        return decision

    def _asked_before(self, entry: RecalledEntry) -> bool:
        """An answer that came after the question does not take the question back: a resumed meeting asks it again."""
        asked = (gate for id, gate in self._session.gates.items() if id.partition("-")[0] == decrees.DECREE_GATE)
        return any(decrees.is_decree_named(entry, gate.question) for gate in asked)
