"""How much can be shown so that every seat sees the same: the smallest window at the table, less what else goes in.

How much of a project can be put before its readers: files, and a map of what there is no room for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from roundtable.core.session import Session
from roundtable.core.stage_history import list_stage_ends
from roundtable.core.stages import StageEnd
from roundtable.core.text.chunks import SizedFile, choose_text_chunk_limit
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.core.values import Charter, Limits, Seat
from roundtable.voices.tariffs import Tariff, Tariffs

UNKNOWN_WINDOW_TOKENS = 32_000
"""Tokens that a model is taken to have room for where nobody says how many it has."""


class ContextRoom(NamedTuple):
    """Bytes of context: what is gathered, what seats may ask for in all, and what the person may name.

    `voice` has the smallest window. Where no window is known, there is no bound to what may be named; `all_known`
    says whether that of every voice is. `windows` is what they leave where a minute's limit is not counted: who cannot
    take that is left out rather than shown less.
    """

    gathered: int
    asked_for: int
    named: int | None = None
    voice: str = ""
    all_known: bool = False
    windows: int = BYTES_PER_TOKEN * UNKNOWN_WINDOW_TOKENS


FindContextRoom = Callable[[Charter], ContextRoom]
"""What there is room for before the seats of a meeting."""


def compute_context_room(
    tariffs: Tariffs, seats: Sequence[Seat], limits: Limits, most: int, *, judging: bool = False
) -> ContextRoom:
    """Of what the smallest window leaves besides an answer, half is for what is gathered, a quarter for requests.

    Who is `judging` has the window of its judge as well.
    """
    voices = {voice: tariffs.find_tariff(voice) for seat in seats for voice in seat.voice_chain(judging=judging)}
    around = {voice: tariff.overhead + tariff.thinking + limits.max_tokens for voice, tariff in voices.items()}
    left = {
        voice: max(0, (_takes(tariff) or UNKNOWN_WINDOW_TOKENS) - around[voice]) for voice, tariff in voices.items()
    }
    windows = [max(0, (tariff.window or UNKNOWN_WINDOW_TOKENS) - around[voice]) for voice, tariff in voices.items()]
    known = {voice: left[voice] for voice, tariff in voices.items() if _takes(tariff)}
    smallest = min(known, key=lambda voice: known[voice], default="")
    least = min(left.values(), default=UNKNOWN_WINDOW_TOKENS)
    return ContextRoom(
        BYTES_PER_TOKEN * min(most, least // 2),
        BYTES_PER_TOKEN * min(most, least // 4),
        BYTES_PER_TOKEN * known[smallest] if smallest else None,
        smallest,
        len(known) == len(voices),
        BYTES_PER_TOKEN * min(windows, default=UNKNOWN_WINDOW_TOKENS),
    )


def compute_charter_answer_limit(tariffs: Tariffs, seats: Sequence[Seat], limits: Limits) -> int:
    """How long one answer may be at most: a third of the smallest window that is known, and a limit somebody set."""
    windows = [window // 3 for seat in seats for voice in seat.voices if (window := tariffs.find_tariff(voice).window)]
    own = [limits.max_tokens] if limits.max_tokens != Limits().max_tokens else []
    return min((*windows, *own), default=sys.maxsize)


def _takes(tariff: Tariff) -> int:
    """The tokens of one call, 0 where nobody knows: those of a window, or of a minute where these are fewer."""
    window = tariff.window or UNKNOWN_WINDOW_TOKENS
    return tariff.per_minute if 0 < tariff.per_minute < window else tariff.window


MAP_TITLE = "map of the program"

MOST_MAP_TOKENS = 4_000
"""Tokens of map beside one part; in a small window, a sixth of what there is room for."""
LEAST_FILE_TOKENS = 500
"""Tokens of files below which cutting makes no sense."""
FILE_BYTES_IN_UNKNOWN_WINDOW = 60_000
"""Bytes of files that are shown where a window is not known."""
_OURS = 2_000
"""Tokens of a prompt that are neither files nor what the record says: the rules, the task, the form of an answer."""
_TAG = 48
"""Bytes around each file that is shown, its name aside."""


def compute_context_room_of_readers(
    room_of: FindContextRoom, charter: Charter, seats: Sequence[str], answer: int
) -> ContextRoom:
    """What there is room for before these seats, or all, besides answers of so many tokens."""
    reading = tuple(seat for seat in charter.seats if seat.name in seats) or charter.seats
    limits = msgspec.structs.replace(charter.limits, max_tokens=answer)
    return room_of(msgspec.structs.replace(charter, seats=reading, limits=limits))


def compute_context_file_tokens(session: Session, named: int) -> int:
    """Tokens for files and map in such a window. Code has more of them than its bytes say, by a third."""
    charter = session.charter
    said = (
        charter.question,
        *StageEnd.quote_all(list_stage_ends(session)),
        *(entry.text + entry.why for entry in charter.recalled),
    )
    told = sum(len(text.encode()) for text in said) + sum(item.size for item in charter.context)
    return compute_context_tokens_left(named, told)


def compute_context_tokens_left(named: int, told: int) -> int:
    """The same beside so many bytes of what is told."""
    return (named * 3 // 4 - told) // BYTES_PER_TOKEN - _OURS


def split_context_between_map_and_files(
    files: Sequence[SizedFile], room: int | None, most: int, *, at_once: bool
) -> tuple[int, int]:
    """Tokens of map beside a part, and of the files in it."""
    for_map = MOST_MAP_TOKENS if room is None else min(MOST_MAP_TOKENS, room // 6)
    for_files = most if room is None else room - for_map
    return for_map, choose_text_chunk_limit(files, for_files, most) if at_once else min(most, for_files)


def estimate_context_file_overhead(path: str) -> int:
    """Bytes that stand around a file in a prompt."""
    return _TAG + len(path.encode())
