"""What a meeting may come to, stated before it begins: for a quote, never for the meeting itself."""

from __future__ import annotations

import msgspec

from roundtable.core.values import Turns


class PlannedRound(msgspec.Struct, frozen=True):
    """One round: the template of its prompt, the form of its answers, who reads whom. Not `likely`: only at worst."""

    template: str
    codec: str
    turns: Turns
    likely: bool = True
