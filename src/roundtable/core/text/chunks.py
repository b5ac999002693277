"""A program split into chunks that a seat can read at once; every byte is in exactly one chunk.

Priority follows from a file's name alone. Tests are the files that `core/text/file_names.py` calls tests, and files in
folders called `specs`, `e2e`, `testdata` or `fixtures`. Configuration is what builds and runs the program: Dockerfile,
Makefile, compose files, `.github/`, and files in a format for settings. Lock files and other generated files come last,
all other files first.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import accumulate

import msgspec

from roundtable.core.stages import CHUNK_TOKENS
from roundtable.core.text.file_names import is_generated_file_name, is_test_file_name

_MAX_CHARACTER_BYTES = 4
_TEST_FOLDER = re.compile(r"(?:^|/)(?:specs|e2e|testdata|fixtures)/", re.I)
_CONFIG_FILE = re.compile(
    r"(?:^|/)\.(?:github|circleci|devcontainer)/|(?:^|/)(?:deploy|infra|terraform|k8s|helm)/"
    r"|(?:^|/)(?:[^/]*dockerfile[^/]*|[^/]*makefile|jenkinsfile|procfile|vagrantfile|gemfile|rakefile|cmakelists\.txt"
    r"|go\.mod|requirements[^/]*\.txt|setup\.py|\.[^/]+|[^/]*\.(?:config|conf)\.\w+"
    r"|[^/]*\.(?:toml|ya?ml|ini|cfg|conf|json5?|jsonc|properties|xml|gradle|tf|tfvars|env|mk|cmake|csproj|sln))$",
    re.I,
)


class FilePriority(IntEnum):
    """The order in which kinds of files are reviewed."""

    APP = 0
    CONFIG = 1
    TEST = 2
    GENERATED = 3

    @classmethod
    def of(cls, path: str) -> FilePriority:
        """The priority of a file, by its name."""
        if is_generated_file_name(path):
            return cls.GENERATED
        if is_test_file_name(path) or _TEST_FOLDER.search(path):
            return cls.TEST
        return cls.CONFIG if _CONFIG_FILE.search(path) else cls.APP


class SizedFile(msgspec.Struct, frozen=True):
    """A file with its tokens, the bytes of each line, and the lines (from 1) before which it is best split."""

    path: str
    tokens: int
    lines: tuple[int, ...]
    bounds: tuple[int, ...] = ()


class FilePiece(msgspec.Struct, frozen=True):
    """A whole file, or a part of it from one byte to another; `last` is 0 for a whole file."""

    path: str
    tokens: int
    start: int = 0
    end: int = 0
    first: int = 0
    last: int = 0

    @property
    def location(self) -> str:
        """`path`, or `path:first-last` for a part."""
        return f"{self.path}:{self.first}-{self.last}" if self.last else self.path

    def read_from(self, source: bytes) -> bytes:
        """Its bytes. A part starts and ends at character boundaries, and the next one starts where it ends."""
        return source[_next_character(source, self.start) : _next_character(source, self.end)] if self.last else source


class Chunk(msgspec.Struct, frozen=True):
    """The files and parts that are reviewed in one round."""

    pieces: tuple[FilePiece, ...]

    @property
    def tokens(self) -> int:
        """The tokens of all its files and parts."""
        return sum(piece.tokens for piece in self.pieces)

    @property
    def paths(self) -> tuple[str, ...]:
        """Its files, each once."""
        return tuple(dict.fromkeys(piece.path for piece in self.pieces))


def compute_text_chunk_limit(files: Iterable[SizedFile], room: int | None, limit: int = CHUNK_TOKENS) -> int:
    """The size of a chunk in tokens: all files in one chunk if they fit, otherwise at most `limit` and `room`.

    `room` is what the smallest context window has left besides the answer, None if unknown.
    """
    if room is None:
        return limit
    total = sum(file.tokens for file in files)
    return total if total <= room else max(1, min(limit, room))


def split_file_texts_into_chunks(
    files: Iterable[SizedFile], limit: int = CHUNK_TOKENS, imports: Mapping[str, Iterable[str]] | None = None
) -> tuple[Chunk, ...]:
    """Split files into chunks of at most `limit` tokens, most important first, every byte exactly once.

    Files that import each other stay together where they fit. No two chunks would fit into one.
    """
    limit = max(1, limit)
    chunks: list[list[FilePiece]] = []
    sizes: list[int] = []
    for unit in _group_files(
        sorted(files, key=lambda file: _review_order(file.path)), limit, _neighbours(imports or {})
    ):
        size = sum(piece.tokens for piece in unit)
        chunk = next((index for index, used in enumerate(sizes) if used + size <= limit), None)
        if chunk is None:
            chunk = len(chunks)
            chunks.append([])
            sizes.append(0)
        chunks[chunk] += unit
        sizes[chunk] += size
    return tuple(
        Chunk(tuple(sorted(pieces, key=lambda piece: (_review_order(piece.path), piece.start)))) for pieces in chunks
    )


def _review_order(path: str) -> tuple[FilePriority, str]:
    return FilePriority.of(path), path


def _neighbours(imports: Mapping[str, Iterable[str]]) -> dict[str, dict[str, None]]:
    """The neighbours of each file: files that import it and files it imports."""
    neighbours: dict[str, dict[str, None]] = {}
    for path, others in imports.items():
        for other in others:
            neighbours.setdefault(path, {})[other] = None
            neighbours.setdefault(other, {})[path] = None
    return neighbours


def _group_files(
    files: Sequence[SizedFile], limit: int, links: Mapping[str, Iterable[str]]
) -> Iterator[list[FilePiece]]:
    """Units that are never split between chunks: connected files of one priority, or a part of a long file."""
    waiting = {file.path: file for file in files}
    while waiting:
        first = waiting.pop(next(iter(waiting)))
        if first.tokens > limit:
            yield from ([part] for part in _split_file(first, limit))
            continue
        yield [FilePiece(member.path, member.tokens) for member in _connected_files(first, waiting, limit, links)]


def _connected_files(
    first: SizedFile, waiting: dict[str, SizedFile], limit: int, links: Mapping[str, Iterable[str]]
) -> Iterator[SizedFile]:
    """A file with its neighbours and theirs, most closely connected first, as long as they fit."""
    room, ties = limit, Counter[str]()
    latest: SizedFile | None = first
    while latest is not None:
        yield latest
        room -= latest.tokens
        ties.update(
            neighbour
            for neighbour in links.get(latest.path, ())
            if neighbour in waiting and FilePriority.of(neighbour) is FilePriority.of(first.path)
        )
        fitting = [file for path in ties if (file := waiting.get(path)) and file.tokens <= room]
        best = min(fitting, key=lambda candidate: (-ties[candidate.path], candidate.path), default=None)
        latest = waiting.pop(best.path) if best else None


def _split_file(file: SizedFile, limit: int) -> Iterator[FilePiece]:
    """A file too long for one chunk, split before symbols if possible, else between lines, else within a line."""
    ends = list(accumulate(file.lines))
    size = ends[-1]
    max_size = max(1, limit * size // file.tokens - _MAX_CHARACTER_BYTES)
    bounds = {ends[line - 2] for line in file.bounds if line > 1}
    start = 0
    while start < size:
        line = bisect_right(ends, start)
        reachable = ends[line : bisect_right(ends, start + max_size)]
        end = next(
            (line_end for line_end in reversed(reachable) if line_end == size or line_end in bounds),
            (reachable or [start + max_size])[-1],
        )
        tokens = -(-(end - start) * file.tokens // size)
        yield FilePiece(file.path, tokens, start, end, line + 1, bisect_left(ends, end) + 1)
        start = end


def _next_character(source: bytes, position: int) -> int:
    """The first character boundary at or after this position, in UTF-8."""
    for ahead in range(_MAX_CHARACTER_BYTES):
        if not position or position + ahead >= len(source) or source[position + ahead] & 0xC0 != 0x80:
            return position + ahead
    return position
