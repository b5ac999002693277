"""Cuts a project into the parts that are reviewed at once, each with a map of what in it hangs on the others."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from roundtable.app.effects.project_files import Found
from roundtable.app.opening.context_files import kept
from roundtable.app.opening.context_window import RoomOf
from roundtable.app.opening.project_room import LEAST, MAP, around, left_for, readers_room, shares
from roundtable.core.chunks import Chunk, Sized, chunks
from roundtable.core.effects import CutForReview, CutUp, ReviewPart
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Store
from roundtable.core.session import Session
from roundtable.core.voice_statistics import BYTES_PER_TOKEN
from roundtable.workshop.project.map import ProgramMap, program_map, relevant, sized


class _Cut(msgspec.Struct, frozen=True):
    """A part with the bytes of what is shown."""

    part: Chunk
    shown: tuple[tuple[str, bytes], ...]
    map: bytes


class Cutting:
    """Cuts the projects of one desk, by the windows of who is to read them."""

    def __init__(self, store: Store, room_of: RoomOf) -> None:
        self._store = store
        self._room_of = room_of

    async def cut(self, session: Session, effect: CutForReview, project: Found) -> CutUp | Fault:
        """Every file once, in parts that fit the smallest window; all of it in one where that is large enough."""
        room = readers_room(self._room_of, session.charter, effect.seats, effect.answer)
        left = None if room.named is None else left_for(session, room.named)
        if left is not None and left < LEAST:
            return Fault.of(
                FaultKind.CONTEXT_OVERFLOW,
                f"{room.voice} has no room for code besides what was agreed on.",
                help="Name seats with larger windows for this stage.",
            )
        made = await asyncio.to_thread(_made, project.files, left, effect.tokens, at_once=room.all_known)
        return CutUp(tuple([await self._kept(it) for it in made]), project.refused)

    async def _kept(self, cut: _Cut) -> ReviewPart:
        files = [await kept(self._store, name, data) for name, data in cut.shown]
        return ReviewPart(tuple(files), await kept(self._store, MAP, cut.map) if cut.map else None)


def _made(files: Mapping[str, bytes], room: int | None, most: int, *, at_once: bool) -> list[_Cut]:
    """The parts; where a window is not known, none is longer than was asked for, however few there are."""
    known = program_map(files)
    measured = [_shown(sized(path, data)) for path, data in files.items()]
    for_map, limit = shares(measured, room, most, at_once=at_once)
    return [_with_map(it, files, known, for_map) for it in chunks(measured, limit, known.imports)]


def _shown(file: Sized) -> Sized:
    """A file as long as it is in a prompt."""
    tag = around(file.path) // BYTES_PER_TOKEN
    return msgspec.structs.replace(file, tokens=file.tokens + tag)


def _with_map(part: Chunk, files: Mapping[str, bytes], known: ProgramMap, for_map: int) -> _Cut:
    """A part that is the whole program needs no map of it."""
    shown = tuple((it.place, it.of(files[it.path])) for it in part.pieces)
    alone = set(part.paths) == set(files)
    return _Cut(part, shown, b"" if alone else relevant(known, part.paths, for_map).encode())
