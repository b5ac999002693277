"""The bounds of a session, as pure questions to its fold."""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.core.events import LimitReached
from roundtable.core.session import Session
from roundtable.core.values import Limits, Move


def over_limit(session: Session, round: str) -> LimitReached | None:
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


def quorate(moves: Sequence[Move], electorate: Sequence[str], limits: Limits) -> bool:
    """Whether enough readable answers came in; the bar was set before the first one was heard."""
    valid = [move for move in moves if move.verdict.counts]
    quorum = limits.quorum
    return (
        len(valid) >= max(1, min(quorum.seats, len(electorate)))
        and len({move.vendor for move in valid}) >= min(quorum.vendors, len(electorate))
        and {move.seat for move in valid} >= set(quorum.essential)
    )
