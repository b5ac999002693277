"""What meetings that write have in common: every step is done or ends the meeting, and what fails may be mended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from roundtable.core.decide.trial_outcome import (
    EVIDENCE_CHECK,
    failed_candidate_seats,
    is_tests_round,
    unproven_candidate_seats,
    unverified_candidates,
)
from roundtable.core.effects import CandidatesTried, Effect, TryCandidates
from roundtable.core.faults import Fault
from roundtable.core.file_kinds import is_collected_test_file
from roundtable.core.ports import Table
from roundtable.core.replies.codec import UnreadableReply
from roundtable.core.replies.file_changes import parse_file_changes
from roundtable.core.values import ContextItem, Digest, Expect, Prompt, Round, Turns
from roundtable.meetings.meeting import PlannedRound

T = TypeVar("T")

WHOLE_FILES_CODEC, FILE_PARTS_CODEC = "changes", "changes-in-parts"

FIX_ROUND = PlannedRound("mend", WHOLE_FILES_CODEC, Turns(visibility="own", at_bench=True), likely=False)
RESTART_ROUND = PlannedRound("anew", WHOLE_FILES_CODEC, Turns(visibility="none", at_bench=True), likely=False)
"""For who mends by writing the same again: without its own words before its eyes, it finds others."""
EVIDENCE_ROUND = PlannedRound(EVIDENCE_CHECK, WHOLE_FILES_CODEC, Turns(visibility="none", at_bench=True), likely=False)
"""For seats whose change may be right but has no test that shows it: that is written by the task, not by the code."""

LONG_FILE_BYTES = 12_000
"""Bytes of a file from which on only its changed parts are to be written; told of parts, small models lose the way."""


class StepFailed(Exception):
    """A step that could not be done; ends the meeting, which says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


async def require_effect(table: Table, step: str, effect: Effect, kind: type[T]) -> T:
    """What a step came to, or NotDone."""
    result = await table.do(step, effect)
    if isinstance(result, Fault):
        raise StepFailed(result)
    assert isinstance(result, kind)
    return result


def choose_changes_codec(sizes: Iterable[int]) -> str:
    """The form of changes to files of so many bytes: whole files, or parts of those that are long."""
    return FILE_PARTS_CODEC if any(size > LONG_FILE_BYTES for size in sizes) else WHOLE_FILES_CODEC


def expect_changes(table: Table, shown: Sequence[ContextItem] = ()) -> Expect:
    """How changes are to be written by seats who are shown these files."""
    return Expect(choose_changes_codec(it.size for it in (*table.charter.context, *shown)))


async def try_and_fix_candidates(
    table: Table, stage: str, number: int, written: Round, mends: int, anew: Prompt, evidence: Prompt
) -> tuple[tuple[Round, ...], CandidatesTried]:
    """Run what the seats wrote in a round of this number. Where nobody's passed, all are asked again, knowing why.

    Where all have sent the same once more, there is nothing to run again.
    """
    rounds = (written,)
    result = await require_effect(table, f"{stage}/try", build_trial_effect(rounds), CandidatesTried)
    for mend in range(1, mends + 1):
        if not failed_candidate_seats(result) or any(it.passed for it in result.candidates):
            break
        before = _wanted(*rounds)
        prefix, stand = f"{stage}/{number + mend}", {it.seat for it in unverified_candidates(result)}
        rounds += await _mended(
            table, prefix, rounds, [it for it in failed_candidate_seats(result) if it not in stand], anew
        )
        rounds += await _proven(table, prefix, unproven_candidate_seats(result), result.tests_to, evidence)
        if _wanted(*rounds) == before:
            break
        result = await require_effect(table, f"{stage}/try-{mend + 1}", build_trial_effect(rounds), CandidatesTried)
    return rounds, result


async def _proven(table: Table, prefix: str, seats: Sequence[str], path: str, prompt: Prompt) -> tuple[Round, ...]:
    """Whose change lacks nothing but a test that shows it writes that, to this path, and keeps the change."""
    name = f"{prefix}-{EVIDENCE_ROUND.template}"
    if not seats or not await table.may_open(name):
        return ()
    expect = Expect(WHOLE_FILES_CODEC, (path,) if path else ())
    return (await table.ask(name, prompt, expect=expect, seats=tuple(seats), turns=EVIDENCE_ROUND.turns),)


async def _mended(
    table: Table, prefix: str, rounds: Sequence[Round], seats: Sequence[str], anew: Prompt
) -> tuple[Round, ...]:
    """Whose change failed writes it again; who then sends the same is asked `anew`."""
    name = f"{prefix}-{FIX_ROUND.template}"
    if not seats or not await table.may_open(name):
        return ()
    mended = await table.ask(
        name, Prompt(FIX_ROUND.template), expect=expect_changes(table), seats=tuple(seats), turns=FIX_ROUND.turns
    )
    before = _wanted(*rounds)
    repeated = tuple(seat for (seat, tests), wanted in _wanted(mended).items() if wanted == before.get((seat, tests)))
    name = f"{prefix}-{RESTART_ROUND.template}"
    if not repeated or not await table.may_open(name):
        return (mended,)
    return mended, await table.ask(name, anew, expect=expect_changes(table), seats=repeated, turns=RESTART_ROUND.turns)


def _wanted(*rounds: Round) -> dict[tuple[str, bool], object]:
    """What each seat wants written by its last word in these rounds, whatever else it says; tests by themselves."""
    found: dict[tuple[str, bool], object] = {}
    for round in rounds:
        tests = is_tests_round(round.name)
        found |= {(it.seat, tests): wanted for it in round.moves if (wanted := _changes(it.text, tests=tests))}
    return found


def _changes(text: str, *, tests: bool) -> object:
    try:
        wanted = parse_file_changes(text).operations
    except UnreadableReply:
        return "" if tests else text
    return tuple(it for it in wanted if is_collected_test_file(it.path)) if tests else wanted


def build_trial_effect(rounds: Sequence[Round], over: Digest = "") -> TryCandidates:
    """What seats wrote in these rounds, each its last word, is to be tried."""
    seats = dict.fromkeys(move.seat for it in rounds for move in it.moves)
    return TryCandidates(tuple(it.name for it in rounds), tuple(seats), over)
