"""The output of a run, line by line, with the marker lines of our own scripts taken out."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import BinaryIO

from roundtable.core.sandbox import Bounds

LineCallback = Callable[[str], None]

_MAX_LINE = 8_000
_KEPT_BYTES = Bounds().output


class OutputLines:
    """Splits output into lines, passes each to a callback, and keeps the last of them."""

    def __init__(self, on_line: LineCallback) -> None:
        self._on_line = on_line
        self._rest = b""
        self._lines: deque[str] = deque()
        self._size = 0

    def __call__(self, data: bytes) -> None:
        """Add output; an incomplete line waits, unless it is far too long."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _MAX_LINE:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self.add_line(line.decode(errors="replace"))

    def add_line(self, line: str) -> None:
        """Add one complete line."""
        self._on_line(line)
        self._lines.append(line)
        self._size += len(line) + 1
        while self._size > _KEPT_BYTES and len(self._lines) > 1:
            self._size -= len(self._lines.popleft()) + 1

    def text(self, last: str = "") -> str:
        """Return the kept output with the incomplete last line, and optionally a closing remark."""
        if self._rest:
            self.add_line(self._rest.decode(errors="replace"))
            self._rest = b""
        return "\n".join(filter(None, ("\n".join(self._lines).strip("\n")[-_KEPT_BYTES:], last)))


class ServiceOutputLines(OutputLines):
    """The output of a service and of its check, separated by marker lines that our script prints.

    A service could find out the marker and print it too, so the result of a run is never taken from these lines.
    """

    def __init__(self, on_line: LineCallback, marker: str) -> None:
        super().__init__(on_line)
        self._marker = f"{marker} "
        self.check = OutputLines(on_line)
        self.begun = 0.0
        self.seconds = 0.0
        self.checked: int | None = None
        self.ended = 0

    def add_line(self, line: str) -> None:
        if not line.startswith(self._marker):
            return super().add_line(line) if self.checked is None else self.check.add_line(line)
        match line.removeprefix(self._marker).split():
            case ["check"]:
                self.begun = time.monotonic()
            case ["checked", code, ended] if code.isdigit() and ended.isdigit() and self.begun:
                self.checked, self.ended = int(code), int(ended)
                self.seconds = time.monotonic() - self.begun
            case _:
                pass


class InstallOutputLines(OutputLines):
    """The output of an install step, and after our script's marker the archive of the installed files."""

    def __init__(self, on_line: LineCallback, marker: str, archive: BinaryIO) -> None:
        super().__init__(on_line)
        self._marker = f"\n{marker}\n".encode()
        self._archive = archive
        self._pending = b""
        self.packed = False

    def __call__(self, data: bytes) -> None:
        if self.packed:
            self._archive.write(data)
            return
        text_part, marker, archive_part = (self._pending + data).partition(self._marker)
        self.packed = bool(marker)
        keep = 0 if marker else min(len(text_part), len(self._marker) - 1)
        self._pending = text_part[len(text_part) - keep :]
        super().__call__(text_part[: len(text_part) - keep])
        self._archive.write(archive_part)

    def text(self, last: str = "") -> str:
        super().__call__(self._pending)
        self._pending = b""
        return super().text(last)
