"""What is wrong with a reply that cannot be taken as a change."""

from __future__ import annotations

from roundtable.core.faults import RoundtableError


class Unreadable(RoundtableError):
    """A reply in which it is not plain what is to be written; its message is what the writer is told."""
