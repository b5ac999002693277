"""What is wrong with a reply that cannot be taken for what was asked for."""

from __future__ import annotations

from roundtable.core.faults import RoundtableError


class Unreadable(RoundtableError):
    """A reply in which it is not plain what is meant; its message is what the writer is told."""
