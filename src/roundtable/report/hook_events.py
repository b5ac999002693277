"""The three moments of a debate for which other programs can register a hook."""

from __future__ import annotations

from typing import Literal

from roundtable.core.events import DecisionMade, EffectDone, Event, SessionOpened
from roundtable.core.values import Decision, Outcome

EXECUTE_STEP = "execute"
"""Last part of the name of the step that carries out a decision."""

HookName = Literal["", "debate_started", "consensus_reached", "execution_complete"]


def hook_name_for_event(event: Event) -> HookName:
    """The hook that an event triggers, or an empty name. A person's choice is not a consensus of the seats."""
    match event:
        case SessionOpened():
            return "debate_started"
        case DecisionMade() if _is_consensus(event.decision):
            return "consensus_reached"
        case EffectDone() if event.step.rpartition("/")[2] == EXECUTE_STEP:
            return "execution_complete"
        case _:
            return ""


def _is_consensus(decision: Decision) -> bool:
    backing = decision.tally.get(decision.winner, 0)
    return decision.outcome is Outcome.REACHED and backing * 2 > len(decision.counted)
