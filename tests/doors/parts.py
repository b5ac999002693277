"""Seats for whole meetings at the command line: what models write in each kind of meeting."""

from __future__ import annotations

import json
from typing import Any

from tests.doors.terminal import answer

Seat = dict[str, Any]


def fenced(text: str, **block: Any) -> str:
    """Words and the block that closes them."""
    return f"{text}\n\n```json\n{json.dumps(block)}\n```"


def knight(*scores: int, text: str = "Move it to Redis.", **pace: float) -> Seat:
    """A knight with its scores, round by round; the last one stays."""
    said = [fenced(text, consensus_score=it, agrees_with=[], pending_issues=[]) for it in scores]
    rounds = [{"round": f"knights/{number}-*", "text": it} for number, it in enumerate(said[:-1], 1)]
    return {"turns": [*rounds, {"round": "*", "text": said[-1]}], "defaults": pace}


def doctor(key: str, sure: int = 9) -> Seat:
    """A doctor who is sure of one cause."""
    found = fenced("The token.", confidence_score=sure, root_cause_key=key, evidence=["it expires"], rules_out=[])
    sorted_ = fenced("Looks like the session.", suspects=["the session"], file_requests=[], checks=[])
    return {"turns": [{"round": "*triage", "text": sorted_}, {"round": "*", "text": found}]}


def debater(position: str, then: str, **pace: float) -> Seat:
    """A seat of a debate: its proposal, what it says to all, and a plan if it is asked for one."""
    turns = [{"round": "*seed", "text": answer(position)}, {"round": "*plan", "text": "1. Write the routes."}]
    return {"turns": [*turns, {"round": "*", "text": then}], "defaults": pace}


def opinion(recommendation: str, stance: str) -> Seat:
    """An outside opinion."""
    first = fenced("Because.", recommendation=recommendation, stance=stance, risks=[])
    again = fenced("Still.", stand="", position=recommendation, error="", evidence=[], confidence=8)
    return {"turns": [{"round": "*opinions", "text": first}, {"round": "*follow-up", "text": again}]}


def voter(pitch: str, *ranking: str) -> Seat:
    """A seat of a vote."""
    ballot = fenced("My reasons.", agent_id="", ranked_choices=list(ranking))
    turns = [{"round": "*pitch", "text": answer(pitch)}, {"round": "*discuss", "text": "I have thought about it."}]
    return {"turns": [*turns, {"round": "*ballot", "text": ballot}]}
