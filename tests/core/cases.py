"""Helpers that build moves and read replies, for tables of examples."""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.core.replies import ReadReply, parse_seat_reply
from roundtable.core.values import Expect, Move, MoveStatus
from roundtable.core.verdict import Stance, Verdict

ROUND = "test/1"


def heard(codec: str, reply: str, choices: Sequence[str] = (), *, structured: bool = False) -> ReadReply:
    """Read a reply in a codec by name."""
    return parse_seat_reply(Expect(codec, tuple(choices)), reply, structured)


def verdict(codec: str, reply: str, choices: Sequence[str] = ()) -> Verdict:
    """Return only the verdict of a reply."""
    return heard(codec, reply, choices).verdict


def move(seat: str, said: Verdict, round: str = ROUND, status: MoveStatus = MoveStatus.MADE) -> Move:
    """Return a move with arbitrary words."""
    return Move(round, seat, "words", said, status=status)


def stances(**by_seat: Stance) -> list[Move]:
    """Return one move per seat that has only a stance."""
    return [move(seat, Verdict(stance)) for seat, stance in by_seat.items()]
