"""Standard error without secrets and, at a terminal, with long lines wrapped between words."""

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
"""Words, and commands that must not be broken because people copy them."""

_HEAD = re.compile(r"\s*(?:[✓✗–→] |\S{1,24} {2,}(?=\S))?")
"""The start of a line that wrapped parts are aligned with: an indent, a sign, or the first of two columns."""


class _Stream(Protocol):
    def isatty(self) -> bool: ...

    def fileno(self) -> int: ...


def wrap_for_terminal(text: str, stream: _Stream) -> str:
    """Wrap text to the width of the terminal it is written to; other outputs get it unchanged."""
    try:
        width = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except OSError:  # the terminal is gone
        width = 0
    return wrap_terminal_lines(text, width) if width else text


def wrap_terminal_lines(text: str, width: int) -> str:
    """Wrap lines to a width between words and commands, each part aligned with the first."""
    return "\n".join(part for line in text.split("\n") for part in _wrap_line(line, width))


def _wrap_line(line: str, width: int) -> list[str]:
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
    """A text stream that redacts secrets line by line; an unfinished line is written when it is flushed.

    Lines are wrapped after redaction, because a secret that is broken in two would not be found. There is no `buffer`:
    bytes written to it would not be redacted.
    """

    def __init__(self, stream: TextIO, redactor: Redactor) -> None:
        self._stream = stream
        self._redactor = redactor
        self._waiting = ""

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As in the wrapped stream."""
        return self._stream.encoding

    @property
    def errors(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As in the wrapped stream."""
        return self._stream.errors

    def isatty(self) -> bool:
        """Whether the wrapped stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The file descriptor of the wrapped stream, for child processes."""
        return self._stream.fileno()

    def writable(self) -> bool:
        """Always true."""
        return True

    def write(self, text: str, /) -> int:
        """Add text and write the finished lines."""
        lines, end, self._waiting = (self._waiting + text).rpartition("\n")
        if end:
            clean = self._redactor.redact(lines + end)
            self._stream.write(
                clean if isinstance(self._stream, RedactedStderr) else wrap_for_terminal(clean, self._stream)
            )
        return len(text)

    def flush(self) -> None:
        """Write the unfinished line too."""
        waiting, self._waiting = self._waiting, ""
        self._stream.write(self._redactor.redact(waiting))
        self._stream.flush()

    def close(self) -> None:
        """Do nothing: the wrapped stream belongs to the process."""


@contextmanager
def redact_cli_stderr(redactor: Redactor | None = None) -> Generator[None]:
    """Redact tokens and the secrets this redactor knows from standard error within this context."""
    before = sys.stderr
    clean = RedactedStderr(before, redactor or Redactor())
    sys.stderr = cast("TextIO", clean)
    try:
        yield
    finally:
        clean.flush()
        sys.stderr = before


def redact_cli_stderr_until_exit(redactor: Redactor) -> None:
    """Redact standard error to the end of the command, so that its error messages are covered too."""
    click.get_current_context().find_root().with_resource(redact_cli_stderr(redactor))
