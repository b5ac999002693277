"""What earlier meetings of a workspace left behind, and how a new one hears of it."""

from __future__ import annotations

from roundtable.core.values import Recalled
from roundtable.store.sqlite import SqliteStore


async def recalled(store: SqliteStore, workspace: str, question: str) -> tuple[Recalled, ...]:
    """The entries that bear on this question, most relevant first, and few enough to be read."""
    return ()
