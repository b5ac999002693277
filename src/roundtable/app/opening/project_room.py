"""How much of a project can be put before its readers: files, and a map of what there is no room for."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.app.opening.context_window import Room, RoomOf
from roundtable.core.chunks import Sized, limit_for
from roundtable.core.session import Session
from roundtable.core.stages import decisions
from roundtable.core.values import Charter
from roundtable.core.voice_statistics import BYTES_PER_TOKEN
from roundtable.report.stage_words import stage_ends

MAP = "map of the program"

MOST_MAP = 4_000
"""Tokens of map beside one part; in a small window, a sixth of what there is room for."""
LEAST = 500
"""Tokens of files below which cutting makes no sense."""
SHOWN_UNKNOWN = 60_000
"""Bytes of files that are shown where a window is not known."""
_OURS = 2_000
"""Tokens of a prompt that are neither files nor what the record says: the rules, the task, the form of an answer."""
_TAG = 48
"""Bytes around each file that is shown, its name aside."""


def readers_room(room_of: RoomOf, charter: Charter, seats: Sequence[str], answer: int) -> Room:
    """What there is room for before these seats, or all, besides answers of so many tokens."""
    reading = tuple(it for it in charter.seats if it.name in seats) or charter.seats
    limits = msgspec.structs.replace(charter.limits, max_tokens=answer)
    return room_of(msgspec.structs.replace(charter, seats=reading, limits=limits))


def left_for(session: Session, named: int) -> int:
    """Tokens for files and map in such a window. Code has more of them than its bytes say, by a third."""
    charter = session.charter
    said = (charter.question, *decisions(stage_ends(session)), *(it.text + it.why for it in charter.recalled))
    told = sum(len(it.encode()) for it in said) + sum(it.size for it in charter.context)
    return left_beside(named, told)


def left_beside(named: int, told: int) -> int:
    """The same beside so many bytes of what is told."""
    return (named * 3 // 4 - told) // BYTES_PER_TOKEN - _OURS


def shares(files: Sequence[Sized], room: int | None, most: int, *, at_once: bool) -> tuple[int, int]:
    """Tokens of map beside a part, and of the files in it."""
    for_map = MOST_MAP if room is None else min(MOST_MAP, room // 6)
    for_files = most if room is None else room - for_map
    return for_map, limit_for(files, for_files, most) if at_once else min(most, for_files)


def around(path: str) -> int:
    """Bytes that stand around a file in a prompt."""
    return _TAG + len(path.encode())
