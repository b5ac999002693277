"""A timeout for a seat or a round that can be paused: time in a provider's queue does not count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager


class PausableTimeout:
    """Raises TimeoutError in the task it was created for when its time has run out."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._pauses = 0
        self._remaining = 0.0
        self._finished = False

    def seconds_left(self) -> float:
        """The seconds that are left."""
        return self._remaining if self._pauses else (self._timeout.when() or 0.0) - asyncio.get_running_loop().time()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Stop the countdown within this context; overlapping pauses end with the last of them."""
        if not self._pauses:
            self._remaining = self.seconds_left()
            self._reschedule(None)
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._reschedule(asyncio.get_running_loop().time() + self._remaining)

    def finish(self) -> None:
        """End the timeout, so that no later pause can extend it."""
        self._finished = True

    def _reschedule(self, when: float | None) -> None:
        if not (self._finished or self._timeout.expired()):
            self._timeout.reschedule(when)


@asynccontextmanager
async def pausable_turn_timeout(seconds: float) -> AsyncGenerator[PausableTimeout]:
    """Limit a block to this many seconds, not counting pauses; then it ends with a TimeoutError."""
    async with asyncio.timeout(seconds) as timeout:
        pausable = PausableTimeout(timeout)
        try:
            yield pausable
        finally:
            pausable.finish()
