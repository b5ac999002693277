"""The result that every contestant of `bench.faults` returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any

Act = Callable[..., Awaitable[dict[str, Any]]]


def contestant_result(
    status: str, *, voices: Mapping[str, str], failed: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A result: the status in the contestant's words, the answers it used, and the seats it reports as failed."""
    return {"status": status, "voices": dict(voices), "failed": dict(failed or {})}


def return_exceptions(act: Act) -> Act:
    """Return the exception that an action raises, with its notes, in place of its result."""

    @wraps(act)
    async def guarded(**job: Any) -> dict[str, Any]:
        try:
            return await act(**job)
        except Exception as error:
            notes: list[str] = getattr(error, "__notes__", [])
            return {"raised": "\n".join([f"{type(error).__name__}: {error}", *notes])}

    return guarded
