"""The state of a person's approval of a plan, hunk by hunk: keys go in, the answer to the gate comes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from roundtable.core.changeset import Hunk, HunkChoice
from roundtable.core.effects import ChangePlanned

ALL, SOME, ASK, NONE = "all", "some", "ask", "none"
"""The options of a gate that asks for approval of a plan."""

CONFIRM, NO = "confirm", "no"
"""The options of a gate that asks for a typed phrase because the change is dangerous."""

HunkVerdict = bool | str
"""Whether a hunk is taken, or the person's own text to write instead."""


class ApprovalAnswer(NamedTuple):
    """An option of the gate and its text."""

    option: str
    text: str = ""


class HunkApproval:
    """The verdicts on the hunks of a plan. `known` are earlier verdicts, kept for unchanged hunks."""

    def __init__(self, planned: ChangePlanned, known: Mapping[Hunk, HunkVerdict] | None = None) -> None:
        self.planned = planned
        self.verdicts: dict[Hunk, HunkVerdict] = {
            hunk: known[hunk] for hunk in planned.hunks if known and hunk in known
        }
        self.shows_provenance = False
        """Whether the person asked who requested and who wrote the current hunk."""
        self._earlier: list[dict[Hunk, HunkVerdict]] = []

    @property
    def current(self) -> Hunk | None:
        """The first hunk without a verdict; None if all have one."""
        return next((hunk for hunk in self.planned.hunks if hunk not in self.verdicts), None)

    @property
    def taken(self) -> list[Hunk]:
        """The hunks to write, also those that the person rewrote."""
        return [hunk for hunk in self.planned.hunks if self.verdicts.get(hunk, False) is not False]

    @property
    def left_out(self) -> list[Hunk]:
        """The hunks that the person rejected."""
        return [hunk for hunk in self.planned.hunks if self.verdicts.get(hunk) is False]

    @property
    def rewritten(self) -> list[Hunk]:
        """The hunks that the person rewrote."""
        return [hunk for hunk in self.planned.hunks if isinstance(self.verdicts.get(hunk), str)]

    @property
    def can_undo(self) -> bool:
        """Whether there is a choice to undo."""
        return bool(self._earlier)

    def settle(self, verdict: HunkVerdict, *, whole_file: bool = False) -> None:
        """Decide about the current hunk, and with `whole_file` about the open hunks of its file."""
        current = self.current
        if current is None:
            return
        chosen = [
            hunk
            for hunk in self.planned.hunks
            if hunk is current or (whole_file and hunk.path == current.path and hunk not in self.verdicts)
        ]
        self._set_verdicts(self.verdicts | dict.fromkeys(chosen, verdict))

    def press(self, key: str) -> bool:
        """Apply a key and return whether it did something.

        `y` and `n` take or leave the current hunk, `a` and `d` the rest of its file, `r` takes all the rest;
        `u` undoes the last choice, `p` shows or hides who requested and who wrote the hunk.
        """
        if key in ("y", "n", "a", "d"):
            self.settle(key in ("y", "a"), whole_file=key in ("a", "d"))
        elif key == "r":
            self._set_verdicts(dict.fromkeys(self.planned.hunks, True) | self.verdicts)
        elif key == "u" and self.can_undo:
            self.verdicts, self.shows_provenance = self._earlier.pop(), False
        elif key == "p":
            self.shows_provenance = not self.shows_provenance
        else:
            return False
        return True

    def restart(self) -> None:
        """Discard all verdicts; `u` brings them back."""
        self._set_verdicts({})

    def _set_verdicts(self, verdicts: dict[Hunk, HunkVerdict]) -> None:
        if verdicts != self.verdicts:
            self._earlier.append(self.verdicts)
        self.verdicts, self.shows_provenance = verdicts, False

    def choice_with(self, hunk: Hunk, text: str) -> HunkChoice:
        """The choice so far, with one more hunk rewritten."""
        return HunkChoice(tuple(hunk.id for hunk in self.left_out), {**self._own_texts, hunk.id: text})

    @property
    def _own_texts(self) -> dict[str, str]:
        return {hunk.id: text for hunk, text in self.verdicts.items() if isinstance(text, str)}

    def answer(self) -> ApprovalAnswer:
        """The answer at the gate; a hunk without a verdict is left out."""
        if not self.taken:
            return ApprovalAnswer(NONE)
        left_out = tuple(hunk.id for hunk in self.planned.hunks if hunk not in self.taken)
        if not left_out and not self._own_texts:
            return ApprovalAnswer(ALL)
        return ApprovalAnswer(SOME, msgspec.json.encode(HunkChoice(left_out, self._own_texts)).decode())

    def ask_table(self, question: str) -> ApprovalAnswer:
        """The answer that asks the table about the current hunk."""
        current = self.current
        return ApprovalAnswer(ASK, f"{current.id}: {question}" if current else question)
