"""The time that a seat or a round has. It stands still while a call waits for its turn: that is nobody's own time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager


class PausableTimeout:
    """Runs down to a TimeoutError in whoever it was made for."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._held = 0
        self._left = 0.0
        self._over = False

    def seconds_left(self) -> float:
        """Seconds that are left."""
        return self._left if self._held else (self._timeout.when() or 0.0) - asyncio.get_running_loop().time()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Stand still meanwhile, until everybody who wanted that is done."""
        if not self._held:
            self._left = self.seconds_left()
            self._set(None)
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if not self._held:
                self._set(asyncio.get_running_loop().time() + self._left)

    def finish(self) -> None:
        """It is over: whoever still speaks is late, however long it waits."""
        self._over = True

    def _set(self, when: float | None) -> None:
        if not (self._over or self._timeout.expired()):
            self._timeout.reschedule(when)


@asynccontextmanager
async def pausable_timeout(seconds: float) -> AsyncGenerator[PausableTimeout]:
    """Seconds after which whatever is done here ends in a TimeoutError."""
    async with asyncio.timeout(seconds) as timeout:
        made = PausableTimeout(timeout)
        try:
            yield made
        finally:
            made.finish()
