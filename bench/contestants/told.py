"""What every contestant of `bench.faults` says about its ending, in the same few plain facts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any

Act = Callable[..., Awaitable[dict[str, Any]]]


def told(status: str, *, voices: Mapping[str, str], failed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A result: its own word for how it went, whose words it took, and whom it names as missing and why."""
    return {"status": status, "voices": dict(voices), "failed": dict(failed or {})}


def or_raised(act: Act) -> Act:
    """The act's result, or what it raised in its place, with all notes that came along."""

    @wraps(act)
    async def guarded(**job: Any) -> dict[str, Any]:
        try:
            return await act(**job)
        except Exception as error:
            notes: list[str] = getattr(error, "__notes__", [])
            return {"raised": "\n".join([f"{type(error).__name__}: {error}", *notes])}

    return guarded
