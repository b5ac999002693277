"""What a run says, line by line, with what scripts of ours say in between taken out."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import BinaryIO

from roundtable.core.sandbox import Bounds

LineCallback = Callable[[str], None]

_LONGEST = 8_000
_KEPT = Bounds().output


class OutputLines:
    """What a run says, line by line: told as it comes, and the last of it kept."""

    def __init__(self, tell: LineCallback) -> None:
        self._tell = tell
        self._rest = b""
        self._kept: deque[str] = deque()
        self._size = 0

    def __call__(self, data: bytes) -> None:
        """Hear more; what is not yet a line waits, unless it is far too long for one."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self.take(line.decode(errors="replace"))

    def take(self, line: str) -> None:
        """One whole line."""
        self._tell(line)
        self._kept.append(line)
        self._size += len(line) + 1
        while self._size > _KEPT and len(self._kept) > 1:
            self._size -= len(self._kept.popleft()) + 1

    def text(self, last: str = "") -> str:
        """All that is kept, with what was not told yet and a last word of ours."""
        if self._rest:
            self.take(self._rest.decode(errors="replace"))
            self._rest = b""
        return "\n".join(filter(None, ("\n".join(self._kept).strip("\n")[-_KEPT:], last)))


class ServiceOutputLines(OutputLines):
    """The words of a service and of its check, told apart by lines that our own script says between them.

    A service could find out how these lines begin and say them itself: how all of it ended is not known from them.
    """

    def __init__(self, tell: LineCallback, mark: str) -> None:
        super().__init__(tell)
        self._mark = f"{mark} "
        self.check = OutputLines(tell)
        self.begun = 0.0
        self.seconds = 0.0
        self.checked: int | None = None
        self.ended = 0

    def take(self, line: str) -> None:
        if not line.startswith(self._mark):
            return super().take(line) if self.checked is None else self.check.take(line)
        match line.removeprefix(self._mark).split():
            case ["check"]:
                self.begun = time.monotonic()
            case ["checked", code, ended] if code.isdigit() and ended.isdigit() and self.begun:
                self.checked, self.ended = int(code), int(ended)
                self.seconds = time.monotonic() - self.begun
            case _:
                pass


class InstallOutputLines(OutputLines):
    """The words of an install step, and after our own script's mark the archive of all there is then."""

    def __init__(self, tell: LineCallback, mark: str, into: BinaryIO) -> None:
        super().__init__(tell)
        self._mark = f"\n{mark}\n".encode()
        self._into = into
        self._held = b""
        self.packed = False

    def __call__(self, data: bytes) -> None:
        if self.packed:
            self._into.write(data)
            return
        said, found, archive = (self._held + data).partition(self._mark)
        self.packed = bool(found)
        keep = 0 if found else min(len(said), len(self._mark) - 1)
        self._held = said[len(said) - keep :]
        super().__call__(said[: len(said) - keep])
        self._into.write(archive)

    def text(self, last: str = "") -> str:
        super().__call__(self._held)
        self._held = b""
        return super().text(last)
