"""Meetings that a person defines in a file: rounds, decision rule, gates, and the validation of such a file.

Rounds are held in order, each as often as it says, or until the rule is satisfied. The last round has the codec of the
rule and decides. Where it decides nothing, the person may choose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from roundtable.core.decide.named_rules import DecisionRule, RuleInput, decide_chosen_by_person
from roundtable.core.decide.points import decide_debate_points
from roundtable.core.decide.positions import decide_without_quorum, positions_counted_in_decision
from roundtable.core.ports import Table
from roundtable.core.reasons import StoppedBeforeDeciding
from roundtable.core.values import Decision, Expect, Gate, Outcome, Prompt, Round, Turns
from roundtable.meetings.meeting import Meeting, PlannedRound
from roundtable.meetings.shared_rounds import (
    ask_meeting_choice_gate,
    fulfill_seat_requests_in_meeting,
    render_meeting_prompt_candidates,
)

PITCH, OBJECTIONS, BALLOT = "position", "agree-object-add", "ranked-ballot"
APPLY_OPTION = "apply"
"""The gate option that carries the decision out."""

PROMPT_PLACEHOLDERS = frozenset({"candidates", "label", "options", "points", "seat"})
"""Placeholders that a prompt may use."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")

RecipeCodec = Literal["free", "position", "score-json", "agree-object-add", "diagnosis-json", "ranked-ballot"]


class RoundTurns(Turns, frozen=True, forbid_unknown_fields=True):
    """The order in which seats speak, and the answers that each seat sees."""


class RecipeRound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of round; its prompt is given here, or in the prompts folder under its purpose."""

    purpose: str
    prompt: str = ""
    codec: RecipeCodec = "free"
    turns: RoundTurns = RoundTurns()
    at_most: Annotated[int, Meta(ge=1, le=20)] = 1


class RecipeGate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question to the person after a round; the option `stop` ends the meeting."""

    id: str
    after: str
    question: str
    options: Annotated[tuple[str, ...], Meta(min_length=2)]
    default: str


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A meeting as its file defines it."""

    summary: str
    rounds: Annotated[tuple[RecipeRound, ...], Meta(min_length=1)]
    rule: DecisionRule
    minimum: Annotated[int, Meta(ge=1)] = 2
    gathers: bool = False
    system: str = ""
    gates: tuple[RecipeGate, ...] = ()
    limits: dict[str, Any] = {}

    def find_mistake(self) -> str:
        """The first invalid setting, in one sentence; empty if the recipe is valid."""
        return next(
            filter(None, (self._find_invalid_name(), self._find_invalid_round(), self._find_invalid_gate())), ""
        )

    def _find_invalid_name(self) -> str:
        named = {"rounds": [round.purpose for round in self.rounds], "gates": [gate.id for gate in self.gates]}
        named["gates.options"] = [option for gate in self.gates for option in gate.options]
        invalid = [(key, name) for key, names in named.items() for name in names if not _NAME.fullmatch(name)]
        return "".join(
            f"{key}: {name!r} must be one word of lowercase letters, digits and dashes." for key, name in invalid[:1]
        )

    def _find_invalid_round(self) -> str:
        purposes, codecs = [round.purpose for round in self.rounds], [round.codec for round in self.rounds]
        if len({*purposes, "system"}) <= len(purposes):
            return "rounds: each purpose can be used only once, and `system` is reserved."
        if codecs[-1] != self.rule.codec:
            return f"rounds: for this rule, the codec of the last round must be {self.rule.codec}."
        if self.rule.pitches and PITCH not in codecs:
            return f"rounds: this rule needs an earlier round with the codec {PITCH}."
        if OBJECTIONS in codecs and self.rule.codec != OBJECTIONS:
            return f"rounds: the codec {OBJECTIONS} requires the rule no_objection."
        return ""

    def _find_invalid_gate(self) -> str:
        ids, purposes = [gate.id for gate in self.gates], [round.purpose for round in self.rounds]
        if len({*ids, "choose"}) <= len(ids):
            return "gates: each id can be used only once, and `choose` is reserved."
        for gate in self.gates:
            if gate.after not in purposes:
                return f"gates.{gate.id}: `after` must name a round. Rounds: {', '.join(purposes)}."
            if gate.default not in gate.options:
                return f"gates.{gate.id}: default must be one of its options."
            if gate.default == APPLY_OPTION:
                return f"gates.{gate.id}: {APPLY_OPTION} cannot be the default, because it needs a person's approval."
        return ""


class RecipeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The text of the file: it is stored with the session, which does not depend on the file."""

    recipe: str


def define_meeting_from_recipe(name: str, recipe: Recipe) -> Meeting:
    """Define a meeting by a recipe that a person wrote in a file."""
    return Meeting(
        name,
        1,
        partial(_hold_recipe, name, recipe),
        RecipeSettings,
        lambda settings, options: _recipe_rounds(recipe),
        ("system", *(round.purpose for round in recipe.rounds)),
        recipe.summary,
        gates=("choose", *(gate.id for gate in recipe.gates)),
        minimum_seats=recipe.minimum,
        shows_project=recipe.gathers,
    )


def _recipe_rounds(recipe: Recipe) -> tuple[PlannedRound, ...]:
    """The rounds of a recipe: each kind is held at least once."""
    return tuple(
        PlannedRound(round.purpose, round.codec, round.turns, likely=time == 0)
        for round in recipe.rounds
        for time in range(round.at_most)
    )


async def _hold_recipe(name: str, recipe: Recipe, table: Table) -> Decision:
    """Hold a meeting by a recipe."""
    rule_input, step = RuleInput(table.charter, table.labels), ""
    for planned in recipe.rounds:
        for _ in range(planned.at_most):
            round = f"{name}/{len(rule_input.rounds) + 1}-{planned.purpose}"
            if rule_input.rounds:
                if not await table.may_open(round):
                    return await _conclude(table, recipe, rule_input, "")
                await fulfill_seat_requests_in_meeting(table, rule_input.rounds[-1])
            answers = await _ask_round(table, round, planned, rule_input)
            rule_input = _add_round(recipe, planned, rule_input, answers)
            if not answers.quorate:
                return decide_without_quorum(answers)
            if answers in rule_input.deciding and recipe.rule.conclude(rule_input).is_decided:
                break
        step = ""
        for gate in (gate for gate in recipe.gates if gate.after == planned.purpose):
            if APPLY_OPTION in gate.options and rule_input.deciding:
                reached = recipe.rule.conclude(rule_input)
                checked_decision = await table.check_decrees(reached)
                if checked_decision.outcome is not reached.outcome:
                    return checked_decision
            step = await table.gate(Gate(gate.id, gate.question, gate.options, gate.default))
            if step == "stop":
                return await _conclude(table, recipe, rule_input, step)
    return await _conclude(table, recipe, rule_input, step)


async def _ask_round(table: Table, name: str, planned: RecipeRound, rule_input: RuleInput) -> Round:
    open_points = decide_debate_points(rule_input.rounds)
    options = table.charter.options
    values = {"options": "\n".join(f"- {option}" for option in options)}
    quotes = {"points": "\n".join(open_points.reading()) or "(none)"}
    lists = {"candidates": render_meeting_prompt_candidates(rule_input.candidates)}
    choices: dict[str, Sequence[str]] = {
        PITCH: options,
        BALLOT: [candidate.id for candidate in rule_input.candidates],
        OBJECTIONS: list(positions_counted_in_decision(rule_input.pitched)) if rule_input.pitched else [],
    }
    return await table.ask(
        name,
        Prompt(planned.purpose, values, lists, quotes, open_points.settled()),
        expect=Expect(planned.codec, tuple(choices.get(planned.codec, ()))),
        turns=msgspec.convert(msgspec.to_builtins(planned.turns), Turns),
    )


def _add_round(recipe: Recipe, planned: RecipeRound, rule_input: RuleInput, answers: Round) -> RuleInput:
    decides = planned.codec == recipe.rule.codec
    return msgspec.structs.replace(
        rule_input,
        rounds=(*rule_input.rounds, answers),
        pitched=answers if planned.codec == PITCH else rule_input.pitched,
        deciding=(*rule_input.deciding, answers) if decides else rule_input.deciding,
    )


async def _conclude(table: Table, recipe: Recipe, rule_input: RuleInput, step: str) -> Decision:
    """The decision of the rule, or of the person where the rule decides nothing."""
    if not rule_input.deciding:
        how = (StoppedBeforeDeciding(),)
        round_names = tuple(round.name for round in rule_input.rounds)
        return Decision(Outcome.INSUFFICIENT, how, electorate=rule_input.rounds[-1].electorate, basis=round_names)
    decision = msgspec.structs.replace(recipe.rule.conclude(rule_input), next_step=step)
    if decision.outcome in (Outcome.TIE, Outcome.DEADLOCK) and decision.proposals:
        choice = await ask_meeting_choice_gate(table, decision.how, decision.proposals)
        return decide_chosen_by_person(decision, choice, rule_input) if choice else decision
    return decision
