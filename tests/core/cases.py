"""Short ways to write down a move and a reading, for tables of examples."""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.core.replies import ReadReply, read_reply
from roundtable.core.values import Expect, Move, MoveStatus
from roundtable.core.verdict import Stance, Verdict

ROUND = "test/1"


def heard(codec: str, reply: str, choices: Sequence[str] = (), *, structured: bool = False) -> ReadReply:
    """Read a reply in a codec by name."""
    return read_reply(Expect(codec, tuple(choices)), reply, structured)


def verdict(codec: str, reply: str, choices: Sequence[str] = ()) -> Verdict:
    """Only the verdict of a free reply."""
    return heard(codec, reply, choices).verdict


def move(seat: str, said: Verdict, round: str = ROUND, status: MoveStatus = MoveStatus.MADE) -> Move:
    """A move whose words do not matter."""
    return Move(round, seat, "words", said, status=status)


def stances(**by_seat: Stance) -> list[Move]:
    """One move per seat with nothing but a stance."""
    return [move(seat, Verdict(stance)) for seat, stance in by_seat.items()]
