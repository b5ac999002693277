"""A program of 200 files with bugs between distant files: only with the map, both ends are in one prompt."""

from __future__ import annotations

from functools import cache

import pytest

from roundtable.core.text.chunks import CHUNK_TOKENS, Chunk, split_into_chunks
from roundtable.workshop.symbols.project_map import (
    ProjectMap,
    build_project_symbol_map,
    measure_source_symbols,
    render_relevant_symbol_map,
)
from roundtable.workshop.symbols.syntax_trees import find_first_syntax_error
from tests.planted import End, Planted, planted

MAP_TOKENS = 4_000


@cache
def load_program() -> tuple[Planted, ProjectMap]:
    made = planted()
    return made, build_project_symbol_map(made.files)


def cut_into_chunks(limit: int = CHUNK_TOKENS) -> tuple[Chunk, ...]:
    made, known = load_program()
    return split_into_chunks(
        [measure_source_symbols(path, text) for path, text in made.files.items()], limit, known.imports
    )


def chunk_text(chunk: Chunk) -> str:
    made, _ = load_program()
    return "\n".join(piece.read_from(made.files[piece.path]).decode() for piece in chunk.pieces)


def contains_line(prompt: str, end: End) -> bool:
    return end.text.rstrip("{: ").removeprefix("export ").strip() in prompt


def test_the_planted_program_is_as_described() -> None:
    made, _ = load_program()
    assert len(made.files) == 200
    assert 950_000 < sum(map(len, made.files.values())) < 1_100_000
    assert len(made.faults) == 28
    assert [error for path, text in made.files.items() if (error := find_first_syntax_error(path, text))] == []
    for end in (end for fault in made.faults for end in (fault.defined, fault.used)):
        assert made.files[end.path].decode().split("\n")[end.line - 1].strip() == end.text
    assert planted() == made


@pytest.mark.feature("S0.38", "S0.32", "S0.33")
@pytest.mark.parametrize("limit", [CHUNK_TOKENS, 12_000])
def test_only_the_map_puts_both_ends_of_each_bug_into_one_prompt(limit: int) -> None:
    made, known = load_program()
    parts = [
        (chunk_text(chunk), render_relevant_symbol_map(known, chunk.paths, MAP_TOKENS))
        for chunk in cut_into_chunks(limit)
    ]
    for fault in made.faults:
        ends = (fault.defined, fault.used)
        without = [all(contains_line(files, end) for end in ends) for files, _ in parts]
        within = [all(contains_line(files + shown, end) for end in ends) for files, shown in parts]
        assert not any(without), fault
        assert any(within), fault
        where_defined = next(shown for files, shown in parts if contains_line(files, fault.defined))
        assert any(f"{fault.used.place} in " in line and fault.used.text in line for line in where_defined.split("\n"))
        where_used = next(shown for files, shown in parts if contains_line(files, fault.used))
        assert contains_line(where_used, fault.defined)
        assert f"{fault.defined.place} " in where_used


def test_every_file_is_in_one_chunk_and_map_and_files_keep_to_their_budgets() -> None:
    made, known = load_program()
    parts = cut_into_chunks()
    places = [piece.location for part in parts for piece in part.pieces]
    assert sorted(places) == sorted(made.files)
    files = sum(map(len, made.files.values())) / 4
    assert max(part.tokens for part in parts) <= CHUNK_TOKENS
    assert len(parts) <= files / CHUNK_TOKENS + 2
    maps = [len(render_relevant_symbol_map(known, part.paths, MAP_TOKENS).encode()) / 4 for part in parts]
    assert max(maps) <= MAP_TOKENS
    assert sum(part.tokens for part in parts) + sum(maps) <= 1.1 * (files + MAP_TOKENS * len(parts))
