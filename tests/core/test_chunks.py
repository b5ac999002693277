"""A program in chunks: every byte once, within the limit, important files first, related files together."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.text.chunks import (
    CHUNK_TOKENS,
    Chunk,
    FilePriority,
    SizedFile,
    compute_text_chunk_limit,
    split_file_texts_into_chunks,
)

BYTES_PER_TOKEN = 4


def sized(path: str, source: bytes, *bounds: int) -> SizedFile:
    lines = tuple(len(line) for line in source.split(b"\n")[:-1])
    rest = source.rpartition(b"\n")[2]
    ends = (*(length + 1 for length in lines), *((len(rest),) if rest else ()))
    return SizedFile(path, -(-len(source) // BYTES_PER_TOKEN), ends, bounds)


def of(tokens: int, path: str) -> SizedFile:
    """Return a file of that many tokens in lines of ten."""
    return sized(path, (b"x" * 39 + b"\n") * (tokens // 10))


def joined(chunks: tuple[Chunk, ...], sources: dict[str, bytes]) -> dict[str, bytes]:
    """Return each file, joined from its parts in all chunks."""
    contents: dict[str, bytes] = dict.fromkeys(sources, b"")
    pieces = [piece for chunk in chunks for piece in chunk.pieces]
    for piece in sorted(pieces, key=lambda file_piece: file_piece.start):
        contents[piece.path] += piece.read_from(sources[piece.path])
    return contents


@pytest.mark.feature("S0.34")
def test_chunks_order_app_code_then_settings_then_tests_then_lock_files() -> None:
    kinds = {
        FilePriority.APP: "src/shop/cart.py main.go web/App.tsx lib/latest.rb README.md src/contest.py app/Attest.java",
        FilePriority.CONFIG: "pyproject.toml Dockerfile docker/api.Dockerfile compose.yaml .github/workflows/ci.yml"
        " Makefile package.json settings.ini go.mod vite.config.ts .env.example CMakeLists.txt requirements-dev.txt",
        FilePriority.TEST: "tests/conftest.py src/test_cart.py cart_test.go web/App.spec.tsx web/a.test.js"
        " CartTest.java spec/cart_spec.rb tests/data/settings.yaml src/__tests__/a.ts app/tests.py"
        " Tests/Helper.cs e2e/a.ts",
        FilePriority.GENERATED: "package-lock.json uv.lock Cargo.lock go.sum web/app.min.js tests/a.snap",
    }
    assert {path: FilePriority.of(path) for paths in kinds.values() for path in paths.split()} == {
        path: kind for kind, paths in kinds.items() for path in paths.split()
    }
    files = [of(9_000, path) for path in ("uv.lock", "tests/test_a.py", "pyproject.toml", "a.py", "z.py")]
    chunks = split_file_texts_into_chunks(files, 10_000)
    assert [chunk.paths for chunk in chunks] == [
        ("a.py",),
        ("z.py",),
        ("pyproject.toml",),
        ("tests/test_a.py",),
        ("uv.lock",),
    ]


@pytest.mark.feature("S0.32")
def test_a_large_program_is_cut_into_chunks_of_at_most_twenty_thousand_tokens() -> None:
    files = [of(1_500, f"src/{index:03}.py") for index in range(100)]
    chunks = split_file_texts_into_chunks(files)
    assert CHUNK_TOKENS == 20_000
    assert max(chunk.tokens for chunk in chunks) <= 20_000
    assert len(chunks) == 8
    assert sorted(path for chunk in chunks for path in chunk.paths) == [file.path for file in files]


@pytest.mark.feature("S0.33")
def test_another_limit_makes_other_chunks() -> None:
    files = [of(1_500, f"src/{index:03}.py") for index in range(100)]
    chunks = split_file_texts_into_chunks(files, 12_000)
    assert max(chunk.tokens for chunk in chunks) == 12_000
    assert len(chunks) == 13


@pytest.mark.feature("S0.147")
def test_a_program_that_fits_the_context_windows_is_not_cut() -> None:
    files = [of(30_000, "a.py"), of(30_000, "b.py"), of(30_000, "tests/test_a.py")]
    all_at_once = split_file_texts_into_chunks(files, compute_text_chunk_limit(files, room=90_000))
    assert [[piece.location for piece in chunk.pieces] for chunk in all_at_once] == [
        ["a.py", "b.py", "tests/test_a.py"]
    ]
    assert compute_text_chunk_limit(files, room=89_999) == CHUNK_TOKENS
    assert compute_text_chunk_limit(files, room=89_999, limit=12_000) == 12_000
    assert compute_text_chunk_limit(files, room=6_000) == 6_000
    assert compute_text_chunk_limit(files, room=None) == CHUNK_TOKENS


def test_files_that_import_each_other_share_a_chunk_if_they_fit() -> None:
    files = [of(4_000, f"{name}{index}.py") for index in range(5) for name in "ab"]
    imports = {f"{name}{index}.py": [f"{name}{index + 1}.py"] for name in "ab" for index in range(4)}
    chunks = split_file_texts_into_chunks(files, 20_000, imports)
    assert [chunk.paths for chunk in chunks] == [tuple(f"{name}{index}.py" for index in range(5)) for name in "ab"]
    mixed = split_file_texts_into_chunks(files, 20_000, {"a0.py": ["b4.py"], "b4.py": ["b3.py"], "b3.py": ["a4.py"]})
    assert {"a0.py", "b4.py", "b3.py", "a4.py"} <= set(mixed[0].paths)


def test_imports_do_not_move_a_test_ahead_of_the_program() -> None:
    files = [of(6_000, path) for path in ("a.py", "b.py", "tests/test_a.py")]
    chunks = split_file_texts_into_chunks(files, 12_000, {"tests/test_a.py": ["a.py"]})
    assert [chunk.paths for chunk in chunks] == [("a.py", "b.py"), ("tests/test_a.py",)]


def test_a_file_that_is_too_long_is_cut_between_its_symbols() -> None:
    function = b"def f():\n" + b"    x = 1\n" * 9
    source = function * 40
    chunks = split_file_texts_into_chunks([sized("a.py", source, *range(1, 401, 10))], limit=310)
    places = [piece.location for chunk in chunks for piece in chunk.pieces]
    assert places == ["a.py:1-120", "a.py:121-240", "a.py:241-360", "a.py:361-400"]
    assert all(piece.read_from(source).startswith(b"def f():\n") for chunk in chunks for piece in chunk.pieces)
    assert joined(chunks, {"a.py": source}) == {"a.py": source}


def test_a_line_that_is_too_long_is_cut_between_characters() -> None:
    source = "äß€🙂".encode() * 500 + b"\nend\n"
    chunks = split_file_texts_into_chunks([sized("min.js", source)], limit=50)
    for chunk in chunks:
        for piece in chunk.pieces:
            assert len(piece.read_from(source)) <= 50 * BYTES_PER_TOKEN
            piece.read_from(source).decode()
    assert joined(chunks, {"min.js": source}) == {"min.js": source}
    assert {piece.location for chunk in chunks for piece in chunk.pieces} == {"min.js:1-1", "min.js:1-2"}


names = st.sampled_from(["a", "b", "src/c", "src/d", "tests/e", "lib/f", "g", "h"]).flatmap(
    lambda stem: st.sampled_from([".py", ".go", ".toml", "_test.go", ".lock"]).map(lambda end: stem + end)
)
programs = st.dictionaries(names, st.binary(max_size=400) | st.text(max_size=200).map(str.encode), max_size=12)


@given(programs, st.integers(1, 120), st.data())
def test_every_byte_is_in_exactly_one_chunk_and_no_chunk_is_over_the_limit(
    sources: dict[str, bytes], limit: int, data: st.DataObject
) -> None:
    paths = sorted(sources)
    pairs = st.lists(st.tuples(st.sampled_from(paths), st.sampled_from(paths)), max_size=20) if paths else st.just([])
    imports: dict[str, list[str]] = {}
    for one, other in data.draw(pairs):
        imports.setdefault(one, []).append(other)
    files = [sized(path, source, *range(1, source.count(b"\n"), 3)) for path, source in sources.items()]
    chunks = split_file_texts_into_chunks(files, limit, imports)
    assert joined(chunks, sources) == sources
    assert {path for chunk in chunks for path in chunk.paths} == set(sources)
    assert all(0 <= chunk.tokens <= limit for chunk in chunks)
    whole_files = {file.path for file in files if file.tokens <= limit}
    places = [piece.location for chunk in chunks for piece in chunk.pieces]
    assert whole_files <= set(places)
    assert all(one.tokens + other.tokens > limit for at, one in enumerate(chunks) for other in chunks[:at])


@given(programs, st.integers(1, 120), st.randoms(use_true_random=False))
def test_the_chunks_do_not_depend_on_the_order_of_the_files(
    sources: dict[str, bytes], limit: int, shuffler: random.Random
) -> None:
    files = [sized(path, source) for path, source in sources.items()]
    imports = {path: sorted(sources)[:3] for path in sources}
    mixed = list(files)
    shuffler.shuffle(mixed)
    links = list(imports.items())
    shuffler.shuffle(links)
    assert split_file_texts_into_chunks(mixed, limit, dict(links)) == split_file_texts_into_chunks(
        files, limit, imports
    )
