"""A program of 200 files with bugs between distant files: only with the map, both ends are in one prompt."""

from __future__ import annotations

from functools import cache

import pytest

from roundtable.core.text.chunks import CHUNK_TOKENS, Chunk, split_file_texts_into_chunks
from roundtable.workshop.symbols.project_map import (
    ProjectMap,
    build_symbol_map_of_project,
    measure_source_file_with_symbols,
    render_symbol_map_of_files,
)
from roundtable.workshop.symbols.syntax_trees import find_first_syntax_error
from tests.planted import End, Planted, planted

MAP_TOKENS = 4_000


@cache
def load_program() -> tuple[Planted, ProjectMap]:
    example = planted()
    return example, build_symbol_map_of_project(example.files)


def cut_into_chunks(limit: int = CHUNK_TOKENS) -> tuple[Chunk, ...]:
    example, project_map = load_program()
    return split_file_texts_into_chunks(
        [measure_source_file_with_symbols(path, text) for path, text in example.files.items()],
        limit,
        project_map.imports,
    )


def chunk_text(chunk: Chunk) -> str:
    example, _ = load_program()
    return "\n".join(piece.read_from(example.files[piece.path]).decode() for piece in chunk.pieces)


def contains_line(prompt: str, end: End) -> bool:
    return end.text.rstrip("{: ").removeprefix("export ").strip() in prompt


def test_the_planted_program_is_as_described() -> None:
    example, _ = load_program()
    assert len(example.files) == 200
    assert 950_000 < sum(map(len, example.files.values())) < 1_100_000
    assert len(example.faults) == 28
    assert [error for path, text in example.files.items() if (error := find_first_syntax_error(path, text))] == []
    for end in (end for fault in example.faults for end in (fault.defined, fault.used)):
        assert example.files[end.path].decode().split("\n")[end.line - 1].strip() == end.text
    assert planted() == example


@pytest.mark.feature("S0.38", "S0.32", "S0.33")
@pytest.mark.parametrize("limit", [CHUNK_TOKENS, 12_000])
def test_only_the_map_puts_both_ends_of_each_bug_into_one_prompt(limit: int) -> None:
    example, project_map = load_program()
    parts = [
        (chunk_text(chunk), render_symbol_map_of_files(project_map, chunk.paths, MAP_TOKENS))
        for chunk in cut_into_chunks(limit)
    ]
    for fault in example.faults:
        ends = (fault.defined, fault.used)
        without = [all(contains_line(files, end) for end in ends) for files, _ in parts]
        within = [all(contains_line(files + map_text, end) for end in ends) for files, map_text in parts]
        assert not any(without), fault
        assert any(within), fault
        where_defined = next(map_text for files, map_text in parts if contains_line(files, fault.defined))
        assert any(f"{fault.used.place} in " in line and fault.used.text in line for line in where_defined.split("\n"))
        where_used = next(map_text for files, map_text in parts if contains_line(files, fault.used))
        assert contains_line(where_used, fault.defined)
        assert f"{fault.defined.place} " in where_used


def test_every_file_is_in_one_chunk_and_map_and_files_keep_to_their_budgets() -> None:
    example, project_map = load_program()
    parts = cut_into_chunks()
    places = [piece.location for part in parts for piece in part.pieces]
    assert sorted(places) == sorted(example.files)
    files = sum(map(len, example.files.values())) / 4
    assert max(part.tokens for part in parts) <= CHUNK_TOKENS
    assert len(parts) <= files / CHUNK_TOKENS + 2
    maps = [len(render_symbol_map_of_files(project_map, part.paths, MAP_TOKENS).encode()) / 4 for part in parts]
    assert max(maps) <= MAP_TOKENS
    assert sum(part.tokens for part in parts) + sum(maps) <= 1.1 * (files + MAP_TOKENS * len(parts))
