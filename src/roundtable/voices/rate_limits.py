"""Rate limits of a provider, shared by all seats of a process: calls at once, calls a minute, tokens a minute.

A call that would exceed the tokens of a minute waits in order of arrival. Its estimated tokens are held before it is
sent and replaced by its real usage afterwards.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from math import inf

import msgspec

from roundtable.core.faults import Fault, FaultKind

RATE_WINDOW_SECONDS = 60.0


class TokenShare(msgspec.Struct, eq=False):
    """The tokens that one call holds; they are free again a minute after it was sent."""

    tokens: int
    sent: float = inf


class TokenRate:
    """The tokens of the last minute; without a limit no call waits."""

    def __init__(self, limit: int = 0, window: float = RATE_WINDOW_SECONDS) -> None:
        self.limit = limit
        self._window = window
        self._held: list[TokenShare] = []
        self._waiting = 0
        self._queue = asyncio.Lock()
        self._changed = asyncio.Event()

    def is_within_limit(self, tokens: int) -> bool:
        """Return whether a call of that size can be sent at all."""
        return not self.limit or tokens <= self.limit

    def estimate_wait(self, tokens: int) -> float:
        """Estimate how many seconds such a call would wait now."""
        if not self.limit:
            return 0.0
        over = self._count_held_tokens() + self._waiting + tokens - self.limit
        last = 0.0
        for share in sorted(self._held, key=lambda item: item.sent):
            if over <= 0:
                return last
            over -= share.tokens
            last = min(self._get_free_time(share) - _now(), self._window)
        return last + self._window * max(0, over) / self.limit

    @asynccontextmanager
    async def hold_tokens(self, tokens: int) -> AsyncGenerator[TokenShare]:
        """Hold tokens for one call as soon as they are free."""
        share = TokenShare(tokens)
        if not self.limit:
            yield share
            return
        await self._wait_for_tokens(share)
        try:
            yield share
        finally:
            if share.sent == inf:
                self._held.remove(share)
            self._changed.set()

    def mark_sent(self, share: TokenShare) -> None:
        """Record that the call was sent now."""
        share.sent = _now()
        self._changed.set()

    async def _wait_for_tokens(self, share: TokenShare) -> None:
        self._waiting += share.tokens
        try:
            async with self._queue:
                while self._count_held_tokens() + share.tokens > self.limit:
                    self._changed.clear()
                    next_free = min(map(self._get_free_time, self._held))
                    with suppress(TimeoutError):
                        async with asyncio.timeout_at(next_free if next_free < inf else None):
                            await self._changed.wait()
                self._held.append(share)
        finally:
            self._waiting -= share.tokens

    def _count_held_tokens(self) -> int:
        self._held = [share for share in self._held if self._get_free_time(share) > _now()]
        return sum(share.tokens for share in self._held)

    def _get_free_time(self, share: TokenShare) -> float:
        return share.sent + self._window


def _now() -> float:
    return asyncio.get_running_loop().time()


FIRST_WAIT_SECONDS = 1.0
MAX_WAIT_SECONDS = 60.0


class RateLimitWaitError(Exception):
    """The provider asks for a longer wait than the caller accepts; `wait` is that time in seconds."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"{wait:.0f} s")
        self.wait = wait


class CallPacer:
    """Paces the calls to one endpoint or agent. It never retries; the engine does."""

    def __init__(self, concurrency: int, per_minute: int = 0, window: float = RATE_WINDOW_SECONDS) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._per_minute = per_minute
        self._window = window
        self._rates: dict[str, TokenRate] = {}
        self._sent: deque[float] = deque(maxlen=per_minute or 1)
        self._not_before = 0.0
        self._next_guess = FIRST_WAIT_SECONDS

    @asynccontextmanager
    async def hold_slot(self, patience: float) -> AsyncGenerator[None]:
        """Hold a slot for one call as soon as the provider accepts calls; RateLimitWaitError after `patience`."""
        async with self._slots:
            while (wait := self._compute_wait()) > 0:
                if wait > patience:
                    raise RateLimitWaitError(wait)
                patience -= wait
                # Random delay, so that waiting calls do not all start at the same moment.
                await asyncio.sleep(wait + random.uniform(0.0, 0.1 * wait + 0.2))
            if self._per_minute:
                self._sent.append(self._now())
            yield

    def find_token_rate(self, models: str, limit: int) -> TokenRate:
        """Return the token rate that these models of the account share; 0 means no limit."""
        return self._rates.setdefault(models, TokenRate(limit, self._window))

    def record_ending(self, end: object) -> None:
        """Learn from the ending of a call: a rate-limit fault slows all seats down."""
        if not isinstance(end, Fault):
            self._next_guess = FIRST_WAIT_SECONDS
        elif end.kind is FaultKind.RATE_LIMITED:
            self._not_before = max(self._not_before, self._now() + (end.retry_after or self._guess_wait()))

    def _guess_wait(self) -> float:
        """Return the wait if the provider names none; it doubles each time, once for parallel rejections."""
        if self._not_before > self._now():
            return 0.0
        wait = self._next_guess * random.uniform(0.5, 1.0)
        self._next_guess = min(MAX_WAIT_SECONDS, self._next_guess * 2)
        return wait

    def _compute_wait(self) -> float:
        full = len(self._sent) == self._per_minute > 0
        free_at = self._sent[0] + self._window if full else 0.0
        return max(self._not_before, free_at) - self._now()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def create_voice_rate_limit_fault(who: str, error: RateLimitWaitError) -> Fault:
    """Return the fault of a call that was not made because the provider asked for a longer wait."""
    message = f"{who} accepts no calls for another {error.wait:.0f} s."
    return Fault.of(FaultKind.RATE_LIMITED, message, retry_after=error.wait)
