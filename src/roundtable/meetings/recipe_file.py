"""What a data file may say of a meeting: its rounds, its rule, its gates, and which of it cannot be held."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from roundtable.core.decide.named_rules import Rule
from roundtable.core.values import Turns

PITCH, OBJECTIONS, BALLOT = "position", "agree-object-add", "ranked-ballot"
APPLY = "apply"
"""The option of a gate by which the decision is carried out."""

PLACEHOLDERS = frozenset({"candidates", "label", "options", "points", "seat"})
"""What a prompt may leave to be filled in."""

_WORD = re.compile(r"[a-z][a-z0-9-]{0,30}")

Codec = Literal["free", "position", "score-json", "agree-object-add", "diagnosis-json", "ranked-ballot"]


class RoundTurns(Turns, frozen=True, forbid_unknown_fields=True):
    """Who speaks when and who sees what."""


class RecipeRound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of round; its prompt stands here, or in the prompts folder under its purpose."""

    purpose: str
    prompt: str = ""
    codec: Codec = "free"
    turns: RoundTurns = RoundTurns()
    at_most: Annotated[int, Meta(ge=1, le=20)] = 1


class RecipeGate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question to the person after a round; the answer `stop` ends the meeting there."""

    id: str
    after: str
    question: str
    options: Annotated[tuple[str, ...], Meta(min_length=2)]
    default: str


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole meeting as its file describes it."""

    summary: str
    rounds: Annotated[tuple[RecipeRound, ...], Meta(min_length=1)]
    rule: Rule
    minimum: Annotated[int, Meta(ge=1)] = 2
    gathers: bool = False
    system: str = ""
    gates: tuple[RecipeGate, ...] = ()
    limits: dict[str, Any] = {}

    def mistake(self) -> str:
        """What the file says that cannot be held, in one sentence; nothing if all is well."""
        return next(filter(None, (self._odd_name(), self._odd_round(), self._odd_gate())), "")

    def _odd_name(self) -> str:
        named = {"rounds": [it.purpose for it in self.rounds], "gates": [it.id for it in self.gates]}
        named["gates.options"] = [option for it in self.gates for option in it.options]
        wrong = [(key, name) for key, names in named.items() for name in names if not _WORD.fullmatch(name)]
        return f"{wrong[0][0]}: {wrong[0][1]!r} must be one word of small letters, digits and dashes." if wrong else ""

    def _odd_round(self) -> str:
        purposes, codecs = [it.purpose for it in self.rounds], [it.codec for it in self.rounds]
        if len({*purposes, "system"}) <= len(purposes):
            return "rounds: each needs a purpose of its own, and system is taken."
        if codecs[-1] != self.rule.codec:
            return f"rounds: the last one decides, and for this rule its codec must be {self.rule.codec}."
        if self.rule.pitches and PITCH not in codecs:
            return f"rounds: this rule needs an earlier one with the codec {PITCH}."
        if OBJECTIONS in codecs and self.rule.codec != OBJECTIONS:
            return f"rounds: {OBJECTIONS} goes with the rule no_objection only."
        return ""

    def _odd_gate(self) -> str:
        ids, purposes = [gate.id for gate in self.gates], [it.purpose for it in self.rounds]
        if len({*ids, "choose"}) <= len(ids):
            return "gates: each needs an id of its own, and choose is taken."
        for gate in self.gates:
            if gate.after not in purposes:
                return f"gates.{gate.id}: after names no round; there are {', '.join(purposes)}."
            if gate.default not in gate.options:
                return f"gates.{gate.id}: default must be one of its options."
            if gate.default == APPLY:
                return f"gates.{gate.id}: nothing is carried out without a yes, so {APPLY} cannot be the default."
        return ""
