"""Seats for whole meetings at the command line: what models write in each kind of meeting."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec

from roundtable.app.desk import Agenda, Places, Roundtable
from roundtable.core import values
from tests.doors.command_line import Cli

Seat = dict[str, Any]


def hold_meeting(cli: Cli, agenda: Agenda, **seats: Seat) -> str:
    """Hold a meeting at the desk, for tests of what comes after it: no Python is started. Its slug is returned."""
    cli.script(**seats)
    table = tuple(values.Seat(name, (f"script:{cli.work / 's.json'}",)) for name in seats)

    async def slug() -> str:
        async with await Roundtable.open(cli.work, Places(cli.home, cli.home)) as desk:
            session, _ = await desk.meetings.hold(msgspec.structs.replace(agenda, seats=table, headless=True))
            return (await desk.sessions.get(session)).charter.slug

    return asyncio.run(slug())


def blind_answer(position: str, text: str = "Because.") -> str:
    """A blind answer as a model writes it."""
    return f"{text}\n\n```json\n{json.dumps({'position': position, 'confidence': 8})}\n```"


def second_answer(stand: str, text: str = "Still.") -> str:
    """An answer of the round in which seats reconsider, as a model writes it."""
    block: dict[str, Any] = {"stand": stand, "position": "", "error": "", "evidence": [], "confidence": 8}
    return f"{text}\n\n```json\n{json.dumps(block)}\n```"


def council_seat(position: str, stand: str = "", text: str = "Because.", **pace: float) -> Seat:
    """A seat of a council that keeps its position."""
    turns = [
        {"round": "*1-blind", "text": blind_answer(position, text)},
        {"round": "*reconsider", "text": second_answer(stand)},
    ]
    return {"turns": turns, "defaults": pace}


HANGING_SEAT: Seat = {"turns": [{"hang": True, "text": "I was about to say", "after": 4}]}


def with_json_block(text: str, **block: Any) -> str:
    """A reply: its text and the JSON block that ends it."""
    return f"{text}\n\n```json\n{json.dumps(block)}\n```"


def knight(*scores: int, text: str = "Move it to Redis.", **pace: float) -> Seat:
    """A knight with its scores, round by round; the last one stays."""
    replies = [with_json_block(text, consensus_score=score, agrees_with=[], pending_issues=[]) for score in scores]
    rounds = [{"round": f"knights/{number}-*", "text": reply} for number, reply in enumerate(replies[:-1], 1)]
    return {"turns": [*rounds, {"round": "*", "text": replies[-1]}], "defaults": pace}


def doctor(key: str, sure: int = 9) -> Seat:
    """A doctor who is sure of one cause."""
    diagnosis = with_json_block(
        "The token.", confidence_score=sure, root_cause_key=key, evidence=["it expires"], rules_out=[]
    )
    sorted_ = with_json_block("Looks like the session.", suspects=["the session"], file_requests=[], checks=[])
    return {"turns": [{"round": "*triage", "text": sorted_}, {"round": "*", "text": diagnosis}]}


def debater(position: str, reply: str, **pace: float) -> Seat:
    """A seat of a debate: its proposal at its pace, what it says to all, and a plan if it is asked for one."""
    seed = {"round": "*seed", "text": blind_answer(position), **pace}
    return {"turns": [seed, {"round": "*plan", "text": "1. Write the routes."}, {"round": "*", "text": reply}]}


def opinion(recommendation: str, stance: str) -> Seat:
    """An outside opinion."""
    first = with_json_block("Because.", recommendation=recommendation, stance=stance, risks=[])
    again = with_json_block("Still.", stand="", position=recommendation, error="", evidence=[], confidence=8)
    return {"turns": [{"round": "*opinions", "text": first}, {"round": "*follow-up", "text": again}]}


def voter(pitch: str, *ranking: str) -> Seat:
    """A seat of a vote."""
    ballot = with_json_block("My reasons.", agent_id="", ranked_choices=list(ranking))
    turns = [
        {"round": "*pitch", "text": blind_answer(pitch)},
        {"round": "*discuss", "text": "I have thought about it."},
    ]
    return {"turns": [*turns, {"round": "*ballot", "text": ballot}]}
