"""Selects the files of a project that fit the context windows of the seats that work on it.

Also splits a project into the chunks of a review, each with a map of its dependencies on the others.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from roundtable.app.effects.project_files import ProjectFiles
from roundtable.app.opening.context_files import add_opening_context_data
from roundtable.app.opening.context_window import (
    FILE_BYTES_IN_UNKNOWN_WINDOW,
    MAP_TITLE,
    MAX_MAP_TOKENS,
    MIN_FILE_TOKENS,
    FindContextRoom,
    compute_context_file_tokens,
    compute_context_room_of_readers,
    estimate_context_file_overhead,
    split_context_room_between_map_and_files,
)
from roundtable.app.opening.relevance import RankedFile, extract_context_search_terms, score_context_file
from roundtable.core.effects import ListProject, ProjectListed, ProjectSplit, ReviewChunk, SplitForReview
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Store
from roundtable.core.session import Session
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.stages import StageEnd
from roundtable.core.text.chunks import Chunk, FilePriority, SizedFile, split_file_texts_into_chunks
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.workshop.symbols.project_map import (
    ProjectMap,
    build_symbol_map_of_project,
    measure_source_file_with_symbols,
    render_symbol_map_of_files,
)


class _ChunkContent(msgspec.Struct, frozen=True):
    """A chunk with the bytes that are shown and its map."""

    part: Chunk
    shown: tuple[tuple[str, bytes], ...]
    map: bytes


class ProjectSplitter:
    """Splits the projects of one desk into chunks that fit the context windows of the seats."""

    def __init__(self, store: Store, find_room: FindContextRoom) -> None:
        self._store = store
        self._find_room = find_room

    async def split(self, session: Session, effect: SplitForReview, project: ProjectFiles) -> ProjectSplit | Fault:
        """Return chunks that fit the smallest window and contain every file once; a single chunk if everything fits."""
        room = compute_context_room_of_readers(self._find_room, session.charter, effect.seats, effect.answer)
        left = None if room.named is None else compute_context_file_tokens(session, room.named)
        if left is not None and left < MIN_FILE_TOKENS:
            return Fault.of(
                FaultKind.CONTEXT_OVERFLOW,
                f"The context window of {room.voice} is too small for the earlier decisions and the code.",
                help="Choose seats with larger context windows for this stage.",
            )
        chunks = await asyncio.to_thread(_split, project.files, left, effect.tokens, at_once=room.all_known)
        return ProjectSplit(tuple([await self._store_chunk(cut) for cut in chunks]), project.refused)

    async def _store_chunk(self, cut: _ChunkContent) -> ReviewChunk:
        files = [await add_opening_context_data(self._store, name, data) for name, data in cut.shown]
        return ReviewChunk(
            tuple(files), await add_opening_context_data(self._store, MAP_TITLE, cut.map) if cut.map else None
        )


def _split(files: Mapping[str, bytes], room: int | None, max_tokens: int, *, at_once: bool) -> list[_ChunkContent]:
    """Return the chunks; if a context window is unknown, no chunk is longer than `max_tokens`."""
    project_map = build_symbol_map_of_project(files)
    measured = [_measured_in_prompt(measure_source_file_with_symbols(path, data)) for path, data in files.items()]
    map_tokens, limit = split_context_room_between_map_and_files(measured, room, max_tokens, at_once=at_once)
    return [
        _add_map(chunk, files, project_map, map_tokens)
        for chunk in split_file_texts_into_chunks(measured, limit, project_map.imports)
    ]


def _measured_in_prompt(file: SizedFile) -> SizedFile:
    """Return a file with its size in a prompt, including the tag around it."""
    tag = estimate_context_file_overhead(file.path) // BYTES_PER_TOKEN
    return msgspec.structs.replace(file, tokens=file.tokens + tag)


def _add_map(part: Chunk, files: Mapping[str, bytes], project_map: ProjectMap, map_tokens: int) -> _ChunkContent:
    """Return a chunk with its contents and map; a chunk that is the whole project needs no map."""
    shown = tuple((piece.location, piece.read_from(files[piece.path])) for piece in part.pieces)
    is_whole_project = set(part.paths) == set(files)
    return _ChunkContent(
        part,
        shown,
        b"" if is_whole_project else render_symbol_map_of_files(project_map, part.paths, map_tokens).encode(),
    )


_NAME = re.compile(r"[\w.-]*\w")


class _Selection(NamedTuple):
    """The paths of the files that are shown, and a map of the project if some are not."""

    shown: Collection[str]
    map: bytes = b""


class ProjectExcerpts:
    """Selects the files of the projects of one desk that fit the context windows of the seats."""

    def __init__(self, store: Store, find_room: FindContextRoom) -> None:
        self._store = store
        self._find_room = find_room

    async def select(self, session: Session, effect: ListProject, project: ProjectFiles) -> ProjectListed:
        """Store and return the files that are shown; for a larger project also its map and the other names."""
        about = "\n".join((effect.about, session.charter.question, *StageEnd.quote_all(session_stage_ends(session))))
        chosen = await asyncio.to_thread(_select, project.files, about, self._room(session, effect))
        items = [
            await add_opening_context_data(self._store, path, data)
            for path, data in project.files.items()
            if path in chosen.shown
        ]
        left = tuple(path for path in project.files if path not in chosen.shown)
        map_item = await add_opening_context_data(self._store, MAP_TITLE, chosen.map) if chosen.map else None
        return ProjectListed(tuple(items), project.refused, left, map_item)

    def _room(self, session: Session, effect: ListProject) -> int:
        """Return the number of bytes for files and map that fit the windows of the seats."""
        room = compute_context_room_of_readers(self._find_room, session.charter, effect.seats, effect.answers)
        window_bytes = max(0, compute_context_file_tokens(session, room.windows)) * BYTES_PER_TOKEN
        return window_bytes if room.all_known else min(FILE_BYTES_IN_UNKNOWN_WINDOW, window_bytes)


def _select(files: Mapping[str, bytes], about: str, room: int) -> _Selection:
    """Return all files, or the most relevant ones that fit, with a map of their links to the rest."""
    sizes = {path: len(data) + estimate_context_file_overhead(path) for path, data in files.items()}
    if sum(sizes.values()) <= room:
        return _Selection(files)
    map_tokens = min(MAX_MAP_TOKENS, room // BYTES_PER_TOKEN // 6)
    room -= map_tokens * BYTES_PER_TOKEN
    selected: set[str] = set()
    for path in _sort_by_relevance(files, about):
        if sizes[path] <= room:
            selected.add(path)
            room -= sizes[path]
    return _Selection(
        selected, render_symbol_map_of_files(build_symbol_map_of_project(files), selected, map_tokens).encode()
    )


def _sort_by_relevance(files: Mapping[str, bytes], about: str) -> list[str]:
    """Return the paths: files that the text names, then by relevance, then the program before its tests."""
    named, words = set(_NAME.findall(about)), extract_context_search_terms(about)

    def place(path: str) -> tuple[bool, float, int, str]:
        relevance = score_context_file(words, RankedFile(path, text=files[path].decode(errors="replace")))
        return path.rpartition("/")[2] not in named, -relevance, FilePriority.of(path), path

    return sorted(files, key=place)
