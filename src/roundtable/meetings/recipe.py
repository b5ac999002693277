"""Meetings that a data file describes: rounds, a rule, gates. One function holds them all.

Rounds are held in their order, each as often as it says, or until the rule is satisfied. The last one is in the form
the rule reads, and decides. Where it settles nothing, the person may choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from roundtable.core.decide.candidates import reading
from roundtable.core.decide.named_rules import Hearing, chosen_by_person
from roundtable.core.decide.points import points
from roundtable.core.decide.positions import insufficient, positions_of
from roundtable.core.ports import Table
from roundtable.core.values import Decision, Expect, Gate, Outcome, Prompt, Round, Turns
from roundtable.meetings.meeting import PlannedRound, Protocol
from roundtable.meetings.recipe_file import APPLY, BALLOT, OBJECTIONS, PITCH, Recipe, RecipeRound
from roundtable.meetings.requests import serve
from roundtable.meetings.shared_rounds import chosen


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file's own text: it travels with the session, whatever becomes of the file."""

    recipe: str


def as_protocol(name: str, recipe: Recipe) -> Protocol:
    """The recipe as any other meeting."""
    return Protocol(
        name,
        1,
        partial(_hold, name, recipe),
        Settings,
        lambda settings, options: _plan(recipe),
        ("system", *(it.purpose for it in recipe.rounds)),
        recipe.summary,
        gates=("choose", *(gate.id for gate in recipe.gates)),
        minimum=recipe.minimum,
        gathers=recipe.gathers,
    )


def _plan(recipe: Recipe) -> tuple[PlannedRound, ...]:
    """Each kind of round is held once at least."""
    return tuple(
        PlannedRound(it.purpose, it.codec, it.turns, likely=time == 0)
        for it in recipe.rounds
        for time in range(it.at_most)
    )


async def _hold(name: str, recipe: Recipe, table: Table) -> Decision:
    """Hold the meeting."""
    hearing, step = Hearing(table.charter, table.labels), ""
    for planned in recipe.rounds:
        for _ in range(planned.at_most):
            round = f"{name}/{len(hearing.rounds) + 1}-{planned.purpose}"
            if hearing.rounds:
                if not await table.may_open(round):
                    return await _concluded(table, recipe, hearing, "")
                await serve(table, hearing.rounds[-1])
            held = await _asked(table, round, planned, hearing)
            hearing = _after(recipe, planned, hearing, held)
            if not held.quorate:
                return insufficient(held)
            if held in hearing.deciding and recipe.rule.conclude(hearing).settled:
                break
        step = ""
        for gate in (it for it in recipe.gates if it.after == planned.purpose):
            if APPLY in gate.options and hearing.deciding:
                reached = recipe.rule.conclude(hearing)
                heeded = await table.heed(reached)
                if heeded.outcome is not reached.outcome:
                    return heeded
            step = await table.gate(Gate(gate.id, gate.question, gate.options, gate.default))
            if step == "stop":
                return await _concluded(table, recipe, hearing, step)
    return await _concluded(table, recipe, hearing, step)


async def _asked(table: Table, name: str, planned: RecipeRound, hearing: Hearing) -> Round:
    made = points(hearing.rounds)
    options = table.charter.options
    values = {"options": "\n".join(f"- {it}" for it in options)}
    quotes = {"points": "\n".join(made.reading()) or "(none)"}
    lists = {"candidates": reading(hearing.candidates)}
    choices: dict[str, Sequence[str]] = {
        PITCH: options,
        BALLOT: [it.id for it in hearing.candidates],
        OBJECTIONS: list(positions_of(hearing.pitched)) if hearing.pitched else [],
    }
    return await table.ask(
        name,
        Prompt(planned.purpose, values, lists, quotes, made.settled()),
        expect=Expect(planned.codec, tuple(choices.get(planned.codec, ()))),
        turns=msgspec.convert(msgspec.to_builtins(planned.turns), Turns),
    )


def _after(recipe: Recipe, planned: RecipeRound, hearing: Hearing, held: Round) -> Hearing:
    decides = planned.codec == recipe.rule.codec
    return msgspec.structs.replace(
        hearing,
        rounds=(*hearing.rounds, held),
        pitched=held if planned.codec == PITCH else hearing.pitched,
        deciding=(*hearing.deciding, held) if decides else hearing.deciding,
    )


async def _concluded(table: Table, recipe: Recipe, hearing: Hearing, step: str) -> Decision:
    """What the rule makes of it, and where that settles nothing, the person."""
    if not hearing.deciding:
        how = "The meeting was stopped before the round that decides."
        held = tuple(it.name for it in hearing.rounds)
        return Decision(Outcome.INSUFFICIENT, how, electorate=hearing.rounds[-1].electorate, basis=held)
    decision = msgspec.structs.replace(recipe.rule.conclude(hearing), next_step=step)
    if decision.outcome in (Outcome.TIE, Outcome.DEADLOCK) and decision.proposals:
        taken = await chosen(table, decision.how, decision.proposals)
        return chosen_by_person(decision, taken, hearing) if taken else decision
    return decision
