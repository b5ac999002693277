"""One contestant in one trial: how it ended, judged by what it returned, and whether that keeps our promise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec

from bench.contestants.agenda import SEATS
from roundtable.core.values import Limits
from roundtable.voices.fault_server.expectations import EXPECTATIONS

FAULTY = SEATS[1]
GOOD = (SEATS[0], SEATS[2])
_NAMED = re.compile(rf"(?<![a-z]){FAULTY}(?![a-z])")
SLACK = 10.0
"""Seconds that a busy machine may add to a seat's own time."""


class Trial(msgspec.Struct, frozen=True):
    """What the faulty seat's model does, the time a seat is given where one is stated, and when we stop waiting."""

    name: str
    behaviour: str
    timeout: float | None = None
    bound: float = 45.0

    @property
    def limits(self) -> Limits:
        """The limits of our own table in this trial."""
        return Limits() if self.timeout is None else Limits(seat_timeout=self.timeout)


class ContestantResult(msgspec.Struct, frozen=True):
    """What a contestant returned or raised, as `bench.contestants.results` writes it."""

    status: str = ""
    voices: dict[str, str] = {}
    failed: dict[str, str] = {}
    raised: str = ""


class Ending(StrEnum):
    """What a person gets who asked the table."""

    LABELLED = "labelled"
    COUNTED = "counted"
    UNNAMED = "unnamed"
    RAISED = "raised"
    NO_RETURN = "no return"


MEANINGS = {
    Ending.LABELLED: "a result that names the seat as missing, and why",
    Ending.COUNTED: "a result in which the seat's answer stands as a voice, whatever it was",
    Ending.UNNAMED: "a result without the seat, and without a word about it",
    Ending.RAISED: "an exception in place of a result",
    Ending.NO_RETURN: "neither of these while we waited",
}


class Cell(msgspec.Struct, frozen=True):
    """One measurement. A turn is one prompt: whoever sends it again has retried."""

    trial: str
    contestant: str
    ending: Ending
    words: str
    seconds: float
    requests: int
    most_for_one_turn: int
    result: ContestantResult | None


def cell(trial: Trial, contestant: str, returned: dict[str, Any] | None, prompts: Iterable[str]) -> Cell:
    """Judge what came back, and count what the faulty seat's model was asked."""
    outcome = None if returned is None else msgspec.convert(returned, ContestantResult)
    seconds = trial.bound if returned is None else returned["end"] - returned["start"]
    turns = Counter(prompts)
    most = max(turns.values(), default=0)
    return Cell(trial.name, contestant, ending(outcome), words(outcome), seconds, turns.total(), most, outcome)


def ending(outcome: ContestantResult | None) -> Ending:
    """How it ended for the faulty seat."""
    if outcome is None:
        return Ending.NO_RETURN
    if outcome.raised:
        return Ending.RAISED
    if FAULTY in outcome.voices:
        return Ending.COUNTED
    return Ending.LABELLED if outcome.failed.get(FAULTY) else Ending.UNNAMED


def words(outcome: ContestantResult | None) -> str:
    """What the contestant itself says about it."""
    if outcome is None:
        return ""
    if outcome.raised:
        naming = "the seat is named" if _NAMED.search(outcome.raised) else "the seat is not named"
        return f"{naming}: {outcome.raised.splitlines()[0]}"
    answer = outcome.failed.get(FAULTY) or f"answer {outcome.voices.get(FAULTY, '')!r}"
    return f"{outcome.status}: {answer}" if outcome.status else answer


def objection(trial: Trial, cell: Cell) -> str:
    """Which part of our promise this cell breaks; nothing when it is kept."""
    limits = trial.limits
    outcome = cell.result or ContestantResult()
    kinds = {
        kind for expectation in EXPECTATIONS if expectation.behaviour == trial.behaviour for kind in expectation.kinds
    }
    if cell.ending is not Ending.LABELLED:
        return f"it ended as {cell.ending}"
    if outcome.status != "degraded" or tuple(outcome.voices) != GOOD:
        return f"it is {outcome.status} and counts {', '.join(outcome.voices)}"
    if outcome.failed[FAULTY].partition(":")[0] not in kinds:
        return f"the reason is wrong: {outcome.failed[FAULTY]}"
    if cell.seconds > limits.seat_timeout + SLACK:
        return f"it took {cell.seconds:.0f} s with {limits.seat_timeout:g} s for a seat"
    if cell.most_for_one_turn > 1 + limits.retries:
        return f"one turn took {cell.most_for_one_turn} requests, and {1 + limits.retries} are allowed"
    return ""
