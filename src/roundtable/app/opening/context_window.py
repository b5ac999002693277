"""Computes how much context fits: every seat sees the same, so the smallest context window counts.

Also splits the space for a project between its files and a map of those that do not fit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from roundtable.core.session import Session
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.stages import StageEnd
from roundtable.core.text.chunks import SizedFile, compute_text_chunk_limit
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.core.values import Charter, Limits, Seat
from roundtable.voices.tariffs import Tariff, Tariffs

UNKNOWN_WINDOW_TOKENS = 32_000
"""The assumed context window of a model whose window is not known."""


class ContextRoom(NamedTuple):
    """Limits of context in bytes: for selected files, for all requests of seats, and for files that the person names.

    `voice` has the smallest known window. If no window is known, `named` is None: there is no limit. `all_known` says
    whether every window is known. `windows` is the limit without token limits per minute: a voice that cannot take
    that much is skipped, not shown less.
    """

    gathered: int
    requested: int
    named: int | None = None
    voice: str = ""
    all_known: bool = False
    windows: int = BYTES_PER_TOKEN * UNKNOWN_WINDOW_TOKENS


FindContextRoom = Callable[[Charter], ContextRoom]
"""Returns how much context fits for the seats of a charter."""


def compute_opening_context_room_for_seats(
    tariffs: Tariffs, seats: Sequence[Seat], limits: Limits, max_tokens: int, *, judging: bool = False
) -> ContextRoom:
    """Return the context room of seats: after the answer, half of the smallest window is for selected files.

    A quarter is for requests, and neither is larger than `max_tokens`. With `judging`, judge voices count too.
    """
    voices = {voice: tariffs.find_tariff(voice) for seat in seats for voice in seat.voice_chain(judging=judging)}
    reserved = {voice: tariff.overhead + tariff.thinking + limits.max_tokens for voice, tariff in voices.items()}
    capacities = {voice: _call_tokens(tariff) or UNKNOWN_WINDOW_TOKENS for voice, tariff in voices.items()}
    left = {voice: max(0, capacity - reserved[voice]) for voice, capacity in capacities.items()}
    windows = [max(0, (tariff.window or UNKNOWN_WINDOW_TOKENS) - reserved[voice]) for voice, tariff in voices.items()]
    known = {voice: left[voice] for voice, tariff in voices.items() if _call_tokens(tariff)}
    smallest = min(known, key=lambda voice: known[voice], default="")
    least = min(left.values(), default=UNKNOWN_WINDOW_TOKENS)
    return ContextRoom(
        BYTES_PER_TOKEN * min(max_tokens, least // 2),
        BYTES_PER_TOKEN * min(max_tokens, least // 4),
        BYTES_PER_TOKEN * known[smallest] if smallest else None,
        smallest,
        len(known) == len(voices),
        BYTES_PER_TOKEN * min(windows, default=UNKNOWN_WINDOW_TOKENS),
    )


def compute_charter_answer_limit(tariffs: Tariffs, seats: Sequence[Seat], limits: Limits) -> int:
    """Return the maximum tokens of one answer: a third of the smallest known window, or a limit that was set."""
    windows = [window // 3 for seat in seats for voice in seat.voices if (window := tariffs.find_tariff(voice).window)]
    configured = [limits.max_tokens] if limits.max_tokens != Limits().max_tokens else []
    return min((*windows, *configured), default=sys.maxsize)


def _call_tokens(tariff: Tariff) -> int:
    """Return the tokens of one call: the window, or the limit per minute if that is smaller; 0 if unknown."""
    window = tariff.window or UNKNOWN_WINDOW_TOKENS
    return tariff.per_minute if 0 < tariff.per_minute < window else tariff.window


MAP_TITLE = "map of the program"

MAX_MAP_TOKENS = 4_000
"""Tokens of the map next to one part; in a small window, a sixth of the room."""
MIN_FILE_TOKENS = 500
"""With less room than this, files are not split into parts."""
FILE_BYTES_IN_UNKNOWN_WINDOW = 60_000
"""Bytes of files that are shown if a window is not known."""
_PROMPT_TOKENS = 2_000
"""Tokens of the rest of a prompt: the rules, the task, and the reply format."""
_TAG_BYTES = 48
"""Bytes around each file that is shown, in addition to its name."""


def compute_context_room_of_readers(
    find_room: FindContextRoom, charter: Charter, seats: Sequence[str], answer: int
) -> ContextRoom:
    """Return the context room of these seats, or of all seats, for answers of this many tokens."""
    reading = tuple(seat for seat in charter.seats if seat.name in seats) or charter.seats
    limits = msgspec.structs.replace(charter.limits, max_tokens=answer)
    return find_room(msgspec.structs.replace(charter, seats=reading, limits=limits))


def compute_context_file_tokens(session: Session, named: int) -> int:
    """Return the tokens left for files and map in a room of this many bytes."""
    charter = session.charter
    texts = (
        charter.question,
        *StageEnd.quote_all(session_stage_ends(session)),
        *(entry.text + entry.why for entry in charter.recalled),
    )
    used = sum(len(text.encode()) for text in texts) + sum(item.size for item in charter.context)
    return compute_opening_context_tokens_left(named, used)


def compute_opening_context_tokens_left(named: int, used: int) -> int:
    """Return the tokens left in a room of bytes of which some are used; code has a third more tokens than text."""
    return (named * 3 // 4 - used) // BYTES_PER_TOKEN - _PROMPT_TOKENS


def split_context_room_between_map_and_files(
    files: Sequence[SizedFile], room: int | None, max_tokens: int, *, at_once: bool
) -> tuple[int, int]:
    """Return the tokens for the map and those for the files of one part."""
    for_map = MAX_MAP_TOKENS if room is None else min(MAX_MAP_TOKENS, room // 6)
    for_files = max_tokens if room is None else room - for_map
    return for_map, compute_text_chunk_limit(files, for_files, max_tokens) if at_once else min(max_tokens, for_files)


def estimate_context_file_overhead(path: str) -> int:
    """Return the bytes that a prompt adds around a file."""
    return _TAG_BYTES + len(path.encode())
