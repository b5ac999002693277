"""Standard error without secrets: tracebacks, log lines and complaints all leave through here.

Long lines at a terminal, broken between words; in a pipe they stay as they are.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol, TextIO, cast

import click

from roundtable.core.text.redaction import Redactor

_PIECES = re.compile(r"\s*(?:`[^`]+`\S*|(?<=: )roundtable .+|\S+)")
"""Words, and commands that a person may want to copy whole."""

_HEAD = re.compile(r"\s*(?:[✓✗–→] |\S{1,24} {2,}(?=\S))?")
"""What a line begins with that its other parts stand beside: an indent, and a sign or the first of two columns."""


class _Stream(Protocol):
    def isatty(self) -> bool: ...

    def fileno(self) -> int: ...


def wrap_for_terminal(text: str, stream: _Stream) -> str:
    """The text as it fits the terminal that it is written to, if it is one."""
    try:
        width = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except OSError:  # no terminal after all, or none any more
        width = 0
    return wrap_lines(text, width) if width else text


def wrap_lines(text: str, width: int) -> str:
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


class RedactedStderr(io.TextIOBase):
    """A text stream that redacts line by line; what has no end of line yet leaves when it is flushed.

    Lines are fitted to a terminal here, where nothing is left to redact: a secret in two halves is not found.

    It shows no `buffer`: bytes written there would pass by unseen.
    """

    def __init__(self, stream: TextIO, redactor: Redactor) -> None:
        self._stream = stream
        self._redactor = redactor
        self._waiting = ""

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the stream below."""
        return self._stream.encoding

    @property
    def errors(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the stream below."""
        return self._stream.errors

    def isatty(self) -> bool:
        """Whether somebody reads along at a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The file below, for programs that are started with it."""
        return self._stream.fileno()

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, text: str, /) -> int:
        """Take text; whole lines are passed on."""
        lines, end, self._waiting = (self._waiting + text).rpartition("\n")
        if end:
            clean = self._redactor.redact(lines + end)
            self._stream.write(
                clean if isinstance(self._stream, RedactedStderr) else wrap_for_terminal(clean, self._stream)
            )
        return len(text)

    def flush(self) -> None:
        """Pass on everything: somebody is being asked something, or the end is near."""
        waiting, self._waiting = self._waiting, ""
        self._stream.write(self._redactor.redact(waiting))
        self._stream.flush()

    def close(self) -> None:
        """Nothing: the stream below belongs to the process."""


@contextmanager
def redact_stderr(redactor: Redactor | None = None) -> Generator[None]:
    """While this lasts, no token shape and nothing this redactor knows reaches standard error."""
    before = sys.stderr
    clean = RedactedStderr(before, redactor or Redactor())
    sys.stderr = cast("TextIO", clean)
    try:
        yield
    finally:
        clean.flush()
        sys.stderr = before


def redact_stderr_until_exit(redactor: Redactor) -> None:
    """The same to the end of the command, so that it holds for what is said about its failure too."""
    click.get_current_context().find_root().with_resource(redact_stderr(redactor))
