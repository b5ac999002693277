"""How long a file is for a chunk, and where it may be cut."""

from __future__ import annotations

import re

from roundtable.core.chunks import Sized
from roundtable.core.voice_statistics import BYTES_PER_TOKEN
from roundtable.workshop.project.map.mentions import Lines
from roundtable.workshop.symbols.outline import Outline, outline

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


def sized(path: str, source: bytes) -> Sized:
    """A file with its tokens, the bytes of each of its lines, and the lines on which a symbol begins."""
    read, lines = outline(path, source), Lines(source)
    bounds = {lines.of(it.start) for it in read.symbols} if isinstance(read, Outline) else set[int]()
    lengths = tuple(len(it) for it in _LINE.findall(source))
    return Sized(path, -(-len(source) // BYTES_PER_TOKEN), lengths, tuple(sorted(bounds)))
