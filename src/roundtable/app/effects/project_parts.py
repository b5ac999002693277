"""What of a project is shown to seats who are to work on it, where their windows have no room for all of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from roundtable.app.effects.project_files import Found
from roundtable.app.opening.context_files import kept
from roundtable.app.opening.context_window import RoomOf
from roundtable.app.opening.project_room import MAP, MOST_MAP, SHOWN_UNKNOWN, around, left_for, readers_room
from roundtable.core.chunks import priority
from roundtable.core.effects import ListProject, ProjectListed
from roundtable.core.ports import Store
from roundtable.core.session import Session
from roundtable.core.stages import decisions
from roundtable.core.text.relevance import Candidate, weight, words_of
from roundtable.core.voice_statistics import BYTES_PER_TOKEN
from roundtable.report.stage_words import stage_ends
from roundtable.workshop.project.map import program_map, relevant

_NAME = re.compile(r"[\w.-]*\w")


class _Choice(NamedTuple):
    """The paths of the files that are shown, and the map where these are not all."""

    shown: Collection[str]
    map: bytes = b""


class Showing:
    """Shows the projects of one desk, as far as those who work on them have room for them."""

    def __init__(self, store: Store, room_of: RoomOf) -> None:
        self._store = store
        self._room_of = room_of

    async def shown(self, session: Session, effect: ListProject, project: Found) -> ProjectListed:
        """The files that are shown, each kept as it is now; of a larger project its map, and the names of the rest."""
        about = "\n".join((effect.about, session.charter.question, *decisions(stage_ends(session))))
        chosen = await asyncio.to_thread(_chosen, project.files, about, self._room(session, effect))
        items = [await kept(self._store, path, data) for path, data in project.files.items() if path in chosen.shown]
        left = tuple(path for path in project.files if path not in chosen.shown)
        drawn = await kept(self._store, MAP, chosen.map) if chosen.map else None
        return ProjectListed(tuple(items), project.refused, left, drawn)

    def _room(self, session: Session, effect: ListProject) -> int:
        """Bytes for files and map, before those who read them."""
        room = readers_room(self._room_of, session.charter, effect.seats, effect.answers)
        known = max(0, left_for(session, room.windows)) * BYTES_PER_TOKEN
        return known if room.all_known else min(SHOWN_UNKNOWN, known)


def _chosen(files: Mapping[str, bytes], about: str, room: int) -> _Choice:
    """All files, or those that bear most on what it is about, with a map of what they have to do with the rest."""
    sizes = {path: len(data) + around(path) for path, data in files.items()}
    if sum(sizes.values()) <= room:
        return _Choice(files)
    for_map = min(MOST_MAP, room // BYTES_PER_TOKEN // 6)
    room -= for_map * BYTES_PER_TOKEN
    taken: set[str] = set()
    for path in _by_relevance(files, about):
        if sizes[path] <= room:
            taken.add(path)
            room -= sizes[path]
    return _Choice(taken, relevant(program_map(files), taken, for_map).encode())


def _by_relevance(files: Mapping[str, bytes], about: str) -> list[str]:
    """First what is named, then by its words; where these say the same, the program before its tests."""
    named, words = set(_NAME.findall(about)), words_of(about)

    def place(path: str) -> tuple[bool, float, int, str]:
        bears = weight(words, Candidate(path, text=files[path].decode(errors="replace")))
        return path.rpartition("/")[2] not in named, -bears, priority(path), path

    return sorted(files, key=place)
