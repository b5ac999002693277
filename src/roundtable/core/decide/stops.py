"""Why a second opinion ended, in the words its document has for it."""

from __future__ import annotations

from typing import Literal

from roundtable.core.session import RoundRecord, Session
from roundtable.core.values import Outcome

OPINIONS = "second-opinion/1-opinions"
FOLLOW_UP = "second-opinion/3-follow-up"

StopReason = Literal[
    "",
    "round_one_complete",
    "follow_up_not_needed",
    "follow_up_complete",
    "follow_up_failed",
    "all_participants_failed",
]


def stop_reason(session: Session) -> StopReason:
    """Why it ended; empty while it goes on, where a person cancelled it, and for any other meeting."""
    decision = session.decision
    if decision is None or decision.outcome is Outcome.CANCELLED or session.charter.meeting != "second-opinion":
        return ""
    first = session.rounds.get(OPINIONS)
    if first is None or not any(move.verdict.counts for move in first.moves()):
        return "all_participants_failed"
    if not follow_up_enabled(session) or not _quorate(first):
        return "round_one_complete"
    if FOLLOW_UP in session.limit_stops:
        return "follow_up_failed"
    if FOLLOW_UP not in session.rounds:
        return "follow_up_not_needed"
    return "follow_up_complete" if _quorate(session.rounds[FOLLOW_UP]) else "follow_up_failed"


def follow_up_enabled(session: Session) -> bool:
    """Whether a follow-up was asked for at the opening."""
    return bool(session.charter.settings.get("follow_up", False))


def follow_up_reason(session: Session) -> str:
    """What the first round showed that was worth a second one; empty where none was held."""
    asked_again = session.rounds.get(FOLLOW_UP)
    return asked_again.opened.prompt.values.get("reason", "") if asked_again else ""


def prompt_role(round: str) -> str:
    """What a round asked for, by its name: `initial`, `follow_up`, or the purpose it is named after."""
    if round == OPINIONS:
        return "initial"
    return round.rpartition("/")[2].partition("-")[2].replace("-", "_")


def _quorate(record: RoundRecord) -> bool:
    """Whether a round counts: enough of those who were asked have answered."""
    return record.closed is not None and record.closed.quorate
