"""The three moments of a debate that other programs wait for, as a projection of its facts."""

from __future__ import annotations

from typing import Literal

from roundtable.core.events import DecisionMade, EffectDone, Event, SessionOpened
from roundtable.core.values import Decision, Outcome

EXECUTE_STEP = "execute"
"""What the step that carries a decision out is called, after the name of its meeting."""

HookName = Literal["", "debate_started", "consensus_reached", "execution_complete"]


def hook_name_for_event(event: Event) -> HookName:
    """The hook a fact calls, if it calls one. A choice the person had to make is no consensus of the seats."""
    match event:
        case SessionOpened():
            return "debate_started"
        case DecisionMade() if _agreed(event.decision):
            return "consensus_reached"
        case EffectDone() if event.step.rpartition("/")[2] == EXECUTE_STEP:
            return "execution_complete"
        case _:
            return ""


def _agreed(decision: Decision) -> bool:
    backing = decision.tally.get(decision.winner, 0)
    return decision.outcome is Outcome.REACHED and backing * 2 > len(decision.counted)
