"""A program in chunks that a seat can read at once: every byte in exactly one, and what belongs together together.

What comes first is told by a file's name alone. Tests are what `core/testing.py` calls so, and what stands in a folder
called `specs`, `e2e`, `testdata` or `fixtures`. Configuration is what builds and runs the program: Dockerfile,
Makefile, compose files, `.github/`, and files in a format of settings. Lock files and what else programs write come
last, all other files first.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import accumulate

import msgspec

from roundtable.core.file_kinds import is_test_file
from roundtable.core.stages import CHUNK_TOKENS
from roundtable.core.text.relevance import is_generated_file

_LONGEST_LETTER = 4
_FOR_TESTS = re.compile(r"(?:^|/)(?:specs|e2e|testdata|fixtures)/", re.I)
_CONFIG = re.compile(
    r"(?:^|/)\.(?:github|circleci|devcontainer)/|(?:^|/)(?:deploy|infra|terraform|k8s|helm)/"
    r"|(?:^|/)(?:[^/]*dockerfile[^/]*|[^/]*makefile|jenkinsfile|procfile|vagrantfile|gemfile|rakefile|cmakelists\.txt"
    r"|go\.mod|requirements[^/]*\.txt|setup\.py|\.[^/]+|[^/]*\.(?:config|conf)\.\w+"
    r"|[^/]*\.(?:toml|ya?ml|ini|cfg|conf|json5?|jsonc|properties|xml|gradle|tf|tfvars|env|mk|cmake|csproj|sln))$",
    re.I,
)


class FilePriority(IntEnum):
    """What a file is to a program, by which the first chunks are those that matter most."""

    APP = 0
    CONFIG = 1
    TEST = 2
    GENERATED = 3


def file_priority(path: str) -> FilePriority:
    """What a file is, by its name."""
    if is_generated_file(path):
        return FilePriority.GENERATED
    if is_test_file(path) or _FOR_TESTS.search(path):
        return FilePriority.TEST
    return FilePriority.CONFIG if _CONFIG.search(path) else FilePriority.APP


class SizedFile(msgspec.Struct, frozen=True):
    """A file and its tokens, with the bytes of each line, and the lines (from 1) where it is best cut."""

    path: str
    tokens: int
    lines: tuple[int, ...]
    bounds: tuple[int, ...] = ()


class FilePiece(msgspec.Struct, frozen=True):
    """A file, or the part of it from one byte to another; `last` is 0 for a whole file."""

    path: str
    tokens: int
    start: int = 0
    end: int = 0
    first: int = 0
    last: int = 0

    @property
    def place(self) -> str:
        """`path`, or `path:from-to` for a part."""
        return f"{self.path}:{self.first}-{self.last}" if self.last else self.path

    def of(self, source: bytes) -> bytes:
        """Its bytes. A part begins and ends with whole letters, and the next begins where it ends."""
        return source[_whole(source, self.start) : _whole(source, self.end)] if self.last else source


class Chunk(msgspec.Struct, frozen=True):
    """What one round of reviewing is about."""

    pieces: tuple[FilePiece, ...]

    @property
    def tokens(self) -> int:
        """The tokens of all its files and parts."""
        return sum(it.tokens for it in self.pieces)

    @property
    def paths(self) -> tuple[str, ...]:
        """Its files, each once."""
        return tuple(dict.fromkeys(it.path for it in self.pieces))


def choose_chunk_limit(files: Iterable[SizedFile], room: int | None, limit: int = CHUNK_TOKENS) -> int:
    """The tokens of a chunk: all files at once where the windows have room for them, else at most `limit` and the room.

    `room` is what the smallest window has besides its answer, None where it is not known.
    """
    if room is None:
        return limit
    total = sum(it.tokens for it in files)
    return total if total <= room else max(1, min(limit, room))


def split_into_chunks(
    files: Iterable[SizedFile], limit: int = CHUNK_TOKENS, imports: Mapping[str, Iterable[str]] | None = None
) -> tuple[Chunk, ...]:
    """The files in chunks of at most `limit` tokens, the most important first, every byte exactly once.

    Files that import each other stay together where they fit. Of any two chunks, one alone could not hold both.
    """
    limit = max(1, limit)
    made: list[list[FilePiece]] = []
    sizes: list[int] = []
    for unit in _units(sorted(files, key=_order), limit, _links(imports or {})):
        size = sum(it.tokens for it in unit)
        at = next((index for index, used in enumerate(sizes) if used + size <= limit), None)
        if at is None:
            at = len(made)
            made.append([])
            sizes.append(0)
        made[at] += unit
        sizes[at] += size
    return tuple(Chunk(tuple(sorted(it, key=lambda piece: (_rank(piece.path), piece.start)))) for it in made)


def _rank(path: str) -> tuple[FilePriority, str]:
    return file_priority(path), path


def _order(file: SizedFile) -> tuple[FilePriority, str]:
    return _rank(file.path)


def _links(imports: Mapping[str, Iterable[str]]) -> dict[str, dict[str, None]]:
    """The neighbours of each file, those that import it and those it imports."""
    found: dict[str, dict[str, None]] = {}
    for path, others in imports.items():
        for other in others:
            found.setdefault(path, {})[other] = None
            found.setdefault(other, {})[path] = None
    return found


def _units(files: Sequence[SizedFile], limit: int, links: Mapping[str, Iterable[str]]) -> Iterator[list[FilePiece]]:
    """What goes into one chunk as it is: files of one priority that hang together, or a part of a long file."""
    waiting = {it.path: it for it in files}
    while waiting:
        first = waiting.pop(next(iter(waiting)))
        if first.tokens > limit:
            yield from ([part] for part in _parts(first, limit))
            continue
        yield [FilePiece(it.path, it.tokens) for it in _grown(first, waiting, limit, links)]


def _grown(
    first: SizedFile, waiting: dict[str, SizedFile], limit: int, links: Mapping[str, Iterable[str]]
) -> Iterator[SizedFile]:
    """A file with its neighbours and theirs as long as they fit, those with the most ties to it first."""
    room, ties = limit, Counter[str]()
    taken: SizedFile | None = first
    while taken is not None:
        yield taken
        room -= taken.tokens
        ties.update(
            it for it in links.get(taken.path, ()) if it in waiting and file_priority(it) is file_priority(first.path)
        )
        near = [it for path in ties if (it := waiting.get(path)) and it.tokens <= room]
        best = min(near, key=lambda it: (-ties[it.path], it.path), default=None)
        taken = waiting.pop(best.path) if best else None


def _parts(file: SizedFile, limit: int) -> Iterator[FilePiece]:
    """A file too long for a chunk, cut before symbols, else before lines, else inside a line that is longer still."""
    ends = list(accumulate(file.lines))
    size = ends[-1]
    most = max(1, limit * size // file.tokens - _LONGEST_LETTER)
    bounds = {ends[it - 2] for it in file.bounds if it > 1}
    start = 0
    while start < size:
        within = bisect_right(ends, start)
        reach = ends[within : bisect_right(ends, start + most)]
        end = next((it for it in reversed(reach) if it == size or it in bounds), (reach or [start + most])[-1])
        tokens = -(-(end - start) * file.tokens // size)
        yield FilePiece(file.path, tokens, start, end, within + 1, bisect_left(ends, end) + 1)
        start = end


def _whole(source: bytes, at: int) -> int:
    """The beginning of the next letter from here on, in UTF-8."""
    for ahead in range(_LONGEST_LETTER):
        if not at or at + ahead >= len(source) or source[at + ahead] & 0xC0 != 0x80:
            return at + ahead
    return at
