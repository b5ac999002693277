"""One provider's patience, shared by every seat of a process: calls at once, calls a minute, waits it asks for."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from roundtable.core.faults import Fault, FaultKind
from roundtable.voices.token_rate import WINDOW, TokenRate

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0


class TooSlow(Exception):
    """The provider's patience lasts longer than the caller's; `wait` is what it would take."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"{wait:.0f} s")
        self.wait = wait


class Pace:
    """How fast one endpoint or agent may be asked. Retries are the engine's: nothing here asks twice."""

    def __init__(self, concurrency: int, per_minute: int = 0, window: float = WINDOW) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._per_minute = per_minute
        self._window = window
        self._rates: dict[str, TokenRate] = {}
        self._sent: deque[float] = deque(maxlen=per_minute or 1)
        self._not_before = 0.0
        self._guess = FIRST_WAIT

    @asynccontextmanager
    async def turn(self, patience: float) -> AsyncGenerator[None]:
        """Hold a slot for one call, once the provider takes calls again; TooSlow where that is past `patience`."""
        async with self._slots:
            while (wait := self._wait()) > 0:
                if wait > patience:
                    raise TooSlow(wait)
                patience -= wait
                # Not all at the same moment: that would be the next crowd.
                await asyncio.sleep(wait + random.uniform(0.0, 0.1 * wait + 0.2))
            if self._per_minute:
                self._sent.append(self._now())
            yield

    def rate(self, models: str, limit: int) -> TokenRate:
        """The tokens that these models of the account share; 0 is no limit."""
        return self._rates.setdefault(models, TokenRate(limit, self._window))

    def heard(self, end: object) -> None:
        """Learn from how a call ended: a refusal for haste slows every seat down, any other ending does not."""
        if not isinstance(end, Fault):
            self._guess = FIRST_WAIT
        elif end.kind is FaultKind.RATE_LIMITED:
            self._not_before = max(self._not_before, self._now() + (end.retry_after or self._guessed()))

    def _guessed(self) -> float:
        """How long to wait where nobody says: longer each time, but calls refused side by side were refused once."""
        if self._not_before > self._now():
            return 0.0
        wait = self._guess * random.uniform(0.5, 1.0)
        self._guess = min(LONGEST_WAIT, self._guess * 2)
        return wait

    def _wait(self) -> float:
        full = len(self._sent) == self._per_minute > 0
        free_at = self._sent[0] + self._window if full else 0.0
        return max(self._not_before, free_at) - self._now()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def rushed(who: str, error: TooSlow) -> Fault:
    """The fault of a call that was never made, because the provider asked everybody to wait for longer."""
    message = f"{who} takes no call for another {error.wait:.0f} s."
    return Fault.of(FaultKind.RATE_LIMITED, message, retry_after=error.wait)
