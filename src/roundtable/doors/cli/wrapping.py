"""Long lines at a terminal, broken between words; in a pipe they stay as they are."""

from __future__ import annotations

import os
import re
from typing import Protocol

_PIECES = re.compile(r"\s*(?:`[^`]+`\S*|(?<=: )roundtable .+|\S+)")
"""Words, and commands that a person may want to copy whole."""

_HEAD = re.compile(r"\s*(?:[✓✗–→] |\S{1,24} {2,}(?=\S))?")
"""What a line begins with that its other parts stand beside: an indent, and a sign or the first of two columns."""


class _Stream(Protocol):
    def isatty(self) -> bool: ...

    def fileno(self) -> int: ...


def fitted(text: str, stream: _Stream) -> str:
    """The text as it fits the terminal that it is written to, if it is one."""
    try:
        width = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except OSError:  # no terminal after all, or none any more
        width = 0
    return wrapped(text, width) if width else text


def wrapped(text: str, width: int) -> str:
    """Lines of at most so many cells, as far as words and commands allow it; each part stands under the first."""
    return "\n".join(part for line in text.split("\n") for part in _parts(line, width))


def _parts(line: str, width: int) -> list[str]:
    from rich.cells import cell_len

    if cell_len(line.rstrip()) <= width:
        return [line]
    rest = _HEAD.sub("", line, count=1)
    head = line[: len(line) - len(rest)]
    indent = " " * cell_len(head)
    first, *others = _PIECES.findall(rest)
    parts = [head + first]
    for piece in others:
        if cell_len(parts[-1] + piece) <= width:
            parts[-1] += piece
        else:
            parts.append(indent + piece.lstrip())
    return parts
