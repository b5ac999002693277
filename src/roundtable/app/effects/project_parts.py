"""What of a project is shown to seats who are to work on it, where their windows have no room for all of it.

Cuts a project into the parts that are reviewed at once, each with a map of what in it hangs on the others.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from roundtable.app.effects.project_files import ProjectFiles
from roundtable.app.opening.context_files import store_context_data
from roundtable.app.opening.context_window import (
    FILE_BYTES_IN_UNKNOWN_WINDOW,
    LEAST_FILE_TOKENS,
    MAP_TITLE,
    MOST_MAP_TOKENS,
    FindContextRoom,
    compute_readers_room,
    compute_tokens_for_files,
    estimate_file_overhead,
    split_map_and_files,
)
from roundtable.core.chunks import Chunk, SizedFile, file_priority, split_into_chunks
from roundtable.core.effects import ListProject, ProjectListed, ProjectSplit, ReviewChunk, SplitForReview
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Store
from roundtable.core.session import Session
from roundtable.core.stages import quote_stage_decisions
from roundtable.core.text.relevance import RankedFile, extract_question_words, score_file_relevance
from roundtable.core.voice_statistics import BYTES_PER_TOKEN
from roundtable.report.stage_words import list_stage_ends
from roundtable.workshop.project.map import (
    ProjectMap,
    build_project_map,
    measure_source_file,
    render_relevant_project_map,
)


class _Cut(msgspec.Struct, frozen=True):
    """A part with the bytes of what is shown."""

    part: Chunk
    shown: tuple[tuple[str, bytes], ...]
    map: bytes


class ProjectSplitter:
    """Cuts the projects of one desk, by the windows of who is to read them."""

    def __init__(self, store: Store, room_of: FindContextRoom) -> None:
        self._store = store
        self._room_of = room_of

    async def split(self, session: Session, effect: SplitForReview, project: ProjectFiles) -> ProjectSplit | Fault:
        """Every file once, in parts that fit the smallest window; all of it in one where that is large enough."""
        room = compute_readers_room(self._room_of, session.charter, effect.seats, effect.answer)
        left = None if room.named is None else compute_tokens_for_files(session, room.named)
        if left is not None and left < LEAST_FILE_TOKENS:
            return Fault.of(
                FaultKind.CONTEXT_OVERFLOW,
                f"{room.voice} has no room for code besides what was agreed on.",
                help="Name seats with larger windows for this stage.",
            )
        made = await asyncio.to_thread(_made, project.files, left, effect.tokens, at_once=room.all_known)
        return ProjectSplit(tuple([await self._store_chunk(it) for it in made]), project.refused)

    async def _store_chunk(self, cut: _Cut) -> ReviewChunk:
        files = [await store_context_data(self._store, name, data) for name, data in cut.shown]
        return ReviewChunk(tuple(files), await store_context_data(self._store, MAP_TITLE, cut.map) if cut.map else None)


def _made(files: Mapping[str, bytes], room: int | None, most: int, *, at_once: bool) -> list[_Cut]:
    """The parts; where a window is not known, none is longer than was asked for, however few there are."""
    known = build_project_map(files)
    measured = [_shown(measure_source_file(path, data)) for path, data in files.items()]
    for_map, limit = split_map_and_files(measured, room, most, at_once=at_once)
    return [_with_map(it, files, known, for_map) for it in split_into_chunks(measured, limit, known.imports)]


def _shown(file: SizedFile) -> SizedFile:
    """A file as long as it is in a prompt."""
    tag = estimate_file_overhead(file.path) // BYTES_PER_TOKEN
    return msgspec.structs.replace(file, tokens=file.tokens + tag)


def _with_map(part: Chunk, files: Mapping[str, bytes], known: ProjectMap, for_map: int) -> _Cut:
    """A part that is the whole program needs no map of it."""
    shown = tuple((it.location, it.read_from(files[it.path])) for it in part.pieces)
    alone = set(part.paths) == set(files)
    return _Cut(part, shown, b"" if alone else render_relevant_project_map(known, part.paths, for_map).encode())


_NAME = re.compile(r"[\w.-]*\w")


class _Choice(NamedTuple):
    """The paths of the files that are shown, and the map where these are not all."""

    shown: Collection[str]
    map: bytes = b""


class ProjectExcerpts:
    """Shows the projects of one desk, as far as those who work on them have room for them."""

    def __init__(self, store: Store, room_of: FindContextRoom) -> None:
        self._store = store
        self._room_of = room_of

    async def select(self, session: Session, effect: ListProject, project: ProjectFiles) -> ProjectListed:
        """The files that are shown, each kept as it is now; of a larger project its map, and the names of the rest."""
        about = "\n".join((effect.about, session.charter.question, *quote_stage_decisions(list_stage_ends(session))))
        chosen = await asyncio.to_thread(_chosen, project.files, about, self._room(session, effect))
        items = [
            await store_context_data(self._store, path, data)
            for path, data in project.files.items()
            if path in chosen.shown
        ]
        left = tuple(path for path in project.files if path not in chosen.shown)
        drawn = await store_context_data(self._store, MAP_TITLE, chosen.map) if chosen.map else None
        return ProjectListed(tuple(items), project.refused, left, drawn)

    def _room(self, session: Session, effect: ListProject) -> int:
        """Bytes for files and map, before those who read them."""
        room = compute_readers_room(self._room_of, session.charter, effect.seats, effect.answers)
        known = max(0, compute_tokens_for_files(session, room.windows)) * BYTES_PER_TOKEN
        return known if room.all_known else min(FILE_BYTES_IN_UNKNOWN_WINDOW, known)


def _chosen(files: Mapping[str, bytes], about: str, room: int) -> _Choice:
    """All files, or those that bear most on what it is about, with a map of what they have to do with the rest."""
    sizes = {path: len(data) + estimate_file_overhead(path) for path, data in files.items()}
    if sum(sizes.values()) <= room:
        return _Choice(files)
    for_map = min(MOST_MAP_TOKENS, room // BYTES_PER_TOKEN // 6)
    room -= for_map * BYTES_PER_TOKEN
    taken: set[str] = set()
    for path in _by_relevance(files, about):
        if sizes[path] <= room:
            taken.add(path)
            room -= sizes[path]
    return _Choice(taken, render_relevant_project_map(build_project_map(files), taken, for_map).encode())


def _by_relevance(files: Mapping[str, bytes], about: str) -> list[str]:
    """First what is named, then by its words; where these say the same, the program before its tests."""
    named, words = set(_NAME.findall(about)), extract_question_words(about)

    def place(path: str) -> tuple[bool, float, int, str]:
        bears = score_file_relevance(words, RankedFile(path, text=files[path].decode(errors="replace")))
        return path.rpartition("/")[2] not in named, -bears, file_priority(path), path

    return sorted(files, key=place)
