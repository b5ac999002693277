"""What meetings that write have in common: every step is done or ends the meeting, and what fails may be mended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from roundtable.core.codecs.changes import changes_of
from roundtable.core.codecs.unreadable import Unreadable
from roundtable.core.effects import CandidatesTried, Effect, TryCandidates
from roundtable.core.faults import Fault
from roundtable.core.ports import Table
from roundtable.core.rules.trying import failed
from roundtable.core.values import ContextItem, Digest, Expect, Prompt, Round, Turns
from roundtable.protocols.protocol import PlannedRound

T = TypeVar("T")

WHOLE, IN_PARTS = "changes", "changes-in-parts"

MEND = PlannedRound("mend", WHOLE, Turns(visibility="own", at_bench=True), likely=False)
ANEW = PlannedRound("anew", WHOLE, Turns(visibility="none", at_bench=True), likely=False)
"""For who mends by writing the same again: without its own words before its eyes, it finds others."""

LONG = 12_000
"""Bytes of a file from which on only its changed parts are to be written; told of parts, small models lose the way."""


class NotDone(Exception):
    """A step that could not be done; ends the meeting, which says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


async def done(table: Table, step: str, effect: Effect, kind: type[T]) -> T:
    """What a step came to, or NotDone."""
    result = await table.do(step, effect)
    if isinstance(result, Fault):
        raise NotDone(result)
    assert isinstance(result, kind)
    return result


def form_for(sizes: Iterable[int]) -> str:
    """The form of changes to files of so many bytes: whole files, or parts of those that are long."""
    return IN_PARTS if any(size > LONG for size in sizes) else WHOLE


def form_of(table: Table, shown: Sequence[ContextItem] = ()) -> Expect:
    """How changes are to be written by seats who are shown these files."""
    return Expect(form_for(it.size for it in (*table.charter.context, *shown)))


async def tried(
    table: Table, stage: str, number: int, written: Round, mends: int, anew: Prompt
) -> tuple[tuple[Round, ...], CandidatesTried]:
    """Run what the seats wrote in a round of this number. Where nobody's passed, all write again, knowing why.

    Who then sends the same is asked `anew`; where all have sent the same once more, there is nothing to run again.
    """
    rounds = (written,)
    result = await done(table, f"{stage}/try", all_written(rounds), CandidatesTried)
    for mend in range(1, mends + 1):
        name = f"{stage}/{number + mend}-mend"
        again = failed(result)
        if not again or any(it.passed for it in result.candidates) or not await table.may_open(name):
            break
        mended = await table.ask(name, Prompt(MEND.template), expect=form_of(table), seats=again, turns=MEND.turns)
        if not mended.moves:
            break
        before = _wanted(*rounds)
        repeated = tuple(seat for seat, wanted in _wanted(mended).items() if wanted == before.get(seat))
        rounds = (*rounds, mended)
        name = f"{stage}/{number + mend}-anew"
        if repeated and await table.may_open(name):
            rounds += (await table.ask(name, anew, expect=form_of(table), seats=repeated, turns=ANEW.turns),)
        if _wanted(*rounds) == before:
            break
        result = await done(table, f"{stage}/try-{mend + 1}", all_written(rounds), CandidatesTried)
    return rounds, result


def _wanted(*rounds: Round) -> dict[str, object]:
    """What each seat wants written by its last word in these rounds, whatever it says around it."""
    return {move.seat: _changes(move.text) for it in rounds for move in it.moves}


def _changes(text: str) -> object:
    try:
        return changes_of(text).operations
    except Unreadable:
        return text


def all_written(rounds: Sequence[Round], over: Digest = "") -> TryCandidates:
    """What seats wrote in these rounds, each its last word, is to be tried."""
    seats = dict.fromkeys(move.seat for it in rounds for move in it.moves)
    return TryCandidates(tuple(it.name for it in rounds), tuple(seats), over)
