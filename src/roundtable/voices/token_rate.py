"""How many tokens a minute a provider takes of one account: a call that would go over that waits, in the order it came.

What a call may use is held for it before it is sent, and made right once it is known what it did use.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from math import inf

import msgspec

WINDOW = 60.0


class Share(msgspec.Struct, eq=False):
    """What one call holds of the limit; it is free again a minute after it was sent."""

    tokens: int
    sent: float = inf


class TokenRate:
    """The tokens of the last minute; without a limit nobody waits."""

    def __init__(self, limit: int = 0, window: float = WINDOW) -> None:
        self.limit = limit
        self._window = window
        self._held: list[Share] = []
        self._waiting = 0
        self._queue = asyncio.Lock()
        self._changed = asyncio.Event()

    def takes(self, tokens: int) -> bool:
        """Whether a call of that size can be sent at all."""
        return not self.limit or tokens <= self.limit

    def wait(self, tokens: int) -> float:
        """About how many seconds such a call would wait now."""
        if not self.limit:
            return 0.0
        over = self._in_use() + self._waiting + tokens - self.limit
        last = 0.0
        for share in sorted(self._held, key=lambda it: it.sent):
            if over <= 0:
                return last
            over -= share.tokens
            last = min(self._free_at(share) - _now(), self._window)
        return last + self._window * max(0, over) / self.limit

    @asynccontextmanager
    async def share(self, tokens: int) -> AsyncGenerator[Share]:
        """Hold so many tokens for one call, once they are free."""
        share = Share(tokens)
        if not self.limit:
            yield share
            return
        await self._take(share)
        try:
            yield share
        finally:
            if share.sent == inf:
                self._held.remove(share)
            self._changed.set()

    def send(self, share: Share) -> None:
        """The call goes out now."""
        share.sent = _now()
        self._changed.set()

    async def _take(self, share: Share) -> None:
        self._waiting += share.tokens
        try:
            async with self._queue:
                while self._in_use() + share.tokens > self.limit:
                    self._changed.clear()
                    next_free = min(map(self._free_at, self._held))
                    with suppress(TimeoutError):
                        async with asyncio.timeout_at(next_free if next_free < inf else None):
                            await self._changed.wait()
                self._held.append(share)
        finally:
            self._waiting -= share.tokens

    def _in_use(self) -> int:
        self._held = [it for it in self._held if self._free_at(it) > _now()]
        return sum(it.tokens for it in self._held)

    def _free_at(self, share: Share) -> float:
        return share.sent + self._window


def _now() -> float:
    return asyncio.get_running_loop().time()
