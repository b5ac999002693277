"""A person's way through a plan, hunk by hunk: keys go in, the answer to the gate comes out. No terminal here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from roundtable.core.changeset import Hunk, HunkChoice
from roundtable.core.effects import ChangePlanned

ALL, SOME, ASK, NONE = "all", "some", "ask", "none"
"""The options of a gate that asks for a plan's approval."""

CONFIRM, NO = "confirm", "no"
"""The options of a gate at which something would be lost for good."""

HunkVerdict = bool | str
"""Taken, left, or the person's own text instead."""


class ApprovalAnswer(NamedTuple):
    """An option of the gate and what goes with it."""

    option: str
    text: str = ""


class HunkApproval:
    """What was decided so far. `known` are verdicts of an earlier look: a hunk that is the same keeps its own."""

    def __init__(self, planned: ChangePlanned, known: Mapping[Hunk, HunkVerdict] | None = None) -> None:
        self.planned = planned
        self.verdicts: dict[Hunk, HunkVerdict] = {it: known[it] for it in planned.hunks if known and it in known}

    @property
    def current(self) -> Hunk | None:
        """The hunk to be looked at now; None once all of them are settled."""
        return next((it for it in self.planned.hunks if it not in self.verdicts), None)

    @property
    def taken(self) -> list[Hunk]:
        """What is to be written, as it was or as the person wrote it."""
        return [it for it in self.planned.hunks if self.verdicts.get(it, False) is not False]

    @property
    def left(self) -> list[Hunk]:
        """What the person left out."""
        return [it for it in self.planned.hunks if self.verdicts.get(it) is False]

    @property
    def rewritten(self) -> list[Hunk]:
        """What the person wrote anew."""
        return [it for it in self.planned.hunks if isinstance(self.verdicts.get(it), str)]

    def settle(self, verdict: HunkVerdict, *, whole_file: bool = False) -> None:
        """Say what becomes of the current hunk, and of those that are open in its file if that is meant too."""
        here = self.current
        if here is None:
            return
        for it in self.planned.hunks:
            if it is here or (whole_file and it.path == here.path and it not in self.verdicts):
                self.verdicts[it] = verdict

    def press(self, key: str) -> bool:
        """Take one of the keys that settle something; whether it was one is returned."""
        if key not in ("y", "n", "a", "d", "r"):
            return False
        if key == "r":
            self.verdicts = dict.fromkeys(self.planned.hunks, True) | self.verdicts
        else:
            self.settle(key in ("y", "a"), whole_file=key in ("a", "d"))
        return True

    def choice_with(self, hunk: Hunk, text: str) -> HunkChoice:
        """What is settled so far, with a hunk as the person wrote it."""
        return HunkChoice(tuple(it.id for it in self.left), {**self._edited, hunk.id: text})

    @property
    def _edited(self) -> dict[str, str]:
        return {it.id: text for it, text in self.verdicts.items() if isinstance(text, str)}

    def answer(self) -> ApprovalAnswer:
        """What all of it comes to at the gate; a hunk that nobody looked at is not taken."""
        if not self.taken:
            return ApprovalAnswer(NONE)
        left = tuple(it.id for it in self.planned.hunks if it not in self.taken)
        if not left and not self._edited:
            return ApprovalAnswer(ALL)
        return ApprovalAnswer(SOME, msgspec.json.encode(HunkChoice(left, self._edited)).decode())

    def question(self, words: str) -> ApprovalAnswer:
        """Ask the table about the current hunk."""
        here = self.current
        return ApprovalAnswer(ASK, f"{here.id}: {words}" if here else words)
