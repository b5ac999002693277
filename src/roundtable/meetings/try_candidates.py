"""Trying candidates: run what seats wrote, and let the authors of failing candidates fix them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from roundtable.core.decide.trial_outcome import (
    decide_failed_candidate_seats,
    decide_seats_lacking_only_evidence,
    decide_unverified_candidates,
)
from roundtable.core.effects import CandidatesTried, Effect, TryCandidates
from roundtable.core.faults import Fault
from roundtable.core.ports import Table
from roundtable.core.replies.codec import UnreadableReply
from roundtable.core.replies.file_changes import (
    CHANGES_CODEC,
    CHANGES_IN_PARTS_CODEC,
    choose_reply_changes_codec,
    parse_reply_file_changes,
)
from roundtable.core.text.file_names import is_collected_test_file_name
from roundtable.core.values import ContextItem, Digest, Expect, Prompt, Round, Turns
from roundtable.meetings.meeting import PlannedRound

T = TypeVar("T")

WHOLE_FILES_CODEC, FILE_PARTS_CODEC = CHANGES_CODEC.name, CHANGES_IN_PARTS_CODEC.name

FIX_ROUND = PlannedRound("mend", WHOLE_FILES_CODEC, Turns(visibility="own", at_bench=True), likely=False)
RESTART_ROUND = PlannedRound("anew", WHOLE_FILES_CODEC, Turns(visibility="none", at_bench=True), likely=False)
"""For a seat that resubmits an identical fix: without its own words in the prompt, it writes another change."""
EVIDENCE_ROUND = PlannedRound(
    "evidence", WHOLE_FILES_CODEC, Turns(visibility="none", at_bench=True, purpose="tests"), likely=False
)
"""For a seat whose change may be right but has no test that proves it: the test follows the task, not the code."""


class StepFailed(Exception):
    """A step that failed and ends the meeting."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


async def perform_required_meeting_step(table: Table, step: str, effect: Effect, kind: type[T]) -> T:
    """Perform a step and return its result; a failed step ends the meeting with StepFailed."""
    result = await table.do(step, effect)
    if isinstance(result, Fault):
        raise StepFailed(result)
    assert isinstance(result, kind)
    return result


def meeting_changes_reply_format(table: Table, shown: Sequence[ContextItem] = ()) -> Expect:
    """The reply format for changes, for seats that see these files."""
    return Expect(choose_reply_changes_codec(item.size for item in (*table.charter.context, *shown)))


async def try_and_fix_candidates_in_meeting(
    table: Table, stage: str, number: int, written: Round, attempts: int, restart: Prompt, evidence: Prompt
) -> tuple[tuple[Round, ...], CandidatesTried]:
    """Run what the seats wrote. If no candidate passes, ask the authors to fix theirs and run them again.

    If all seats send the same change again, nothing is run again.
    """
    rounds = (written,)
    result = await perform_required_meeting_step(table, f"{stage}/try", meeting_trial_effect(rounds), CandidatesTried)
    for attempt in range(1, attempts + 1):
        if not decide_failed_candidate_seats(result) or any(candidate.passed for candidate in result.candidates):
            break
        before = _latest_changes(*rounds)
        prefix, unverified = (
            f"{stage}/{number + attempt}",
            {candidate.seat for candidate in decide_unverified_candidates(result)},
        )
        rounds += await _ask_for_fixes(
            table,
            prefix,
            rounds,
            [seat for seat in decide_failed_candidate_seats(result) if seat not in unverified],
            restart,
        )
        rounds += await _ask_for_tests(
            table, prefix, decide_seats_lacking_only_evidence(result), result.tests_to, evidence
        )
        if _latest_changes(*rounds) == before:
            break
        result = await perform_required_meeting_step(
            table, f"{stage}/try-{attempt + 1}", meeting_trial_effect(rounds), CandidatesTried
        )
    return rounds, result


async def _ask_for_tests(
    table: Table, prefix: str, seats: Sequence[str], path: str, prompt: Prompt
) -> tuple[Round, ...]:
    """Ask the seats whose change only lacks a test for that test, at this path."""
    name = f"{prefix}-{EVIDENCE_ROUND.template}"
    if not seats or not await table.may_open(name):
        return ()
    expect = Expect(WHOLE_FILES_CODEC, (path,) if path else ())
    return (await table.ask(name, prompt, expect=expect, seats=tuple(seats), turns=EVIDENCE_ROUND.turns),)


async def _ask_for_fixes(
    table: Table, prefix: str, rounds: Sequence[Round], seats: Sequence[str], restart: Prompt
) -> tuple[Round, ...]:
    """Ask the authors of failing candidates to fix them; ask those that send the same change again to start over."""
    name = f"{prefix}-{FIX_ROUND.template}"
    if not seats or not await table.may_open(name):
        return ()
    fixed = await table.ask(
        name,
        Prompt(FIX_ROUND.template),
        expect=meeting_changes_reply_format(table),
        seats=tuple(seats),
        turns=FIX_ROUND.turns,
    )
    before = _latest_changes(*rounds)
    repeated = tuple(
        seat for (seat, tests), changes in _latest_changes(fixed).items() if changes == before.get((seat, tests))
    )
    name = f"{prefix}-{RESTART_ROUND.template}"
    if not repeated or not await table.may_open(name):
        return (fixed,)
    return fixed, await table.ask(
        name, restart, expect=meeting_changes_reply_format(table), seats=repeated, turns=RESTART_ROUND.turns
    )


def _latest_changes(*rounds: Round) -> dict[tuple[str, bool], object]:
    """The latest change of each seat in these rounds, without its prose; tests are kept apart."""
    latest: dict[tuple[str, bool], object] = {}
    for round in rounds:
        tests = round.purpose == "tests"
        latest |= {
            (move.seat, tests): changes for move in round.moves if (changes := _parse_changes(move.text, tests=tests))
        }
    return latest


def _parse_changes(text: str, *, tests: bool) -> object:
    try:
        operations = parse_reply_file_changes(text).operations
    except UnreadableReply:
        return "" if tests else text
    return (
        tuple(operation for operation in operations if is_collected_test_file_name(operation.path))
        if tests
        else operations
    )


def meeting_trial_effect(rounds: Sequence[Round], over: Digest = "") -> TryCandidates:
    """The effect that runs the latest change of each seat in these rounds."""
    seats = dict.fromkeys(move.seat for round in rounds for move in round.moves)
    return TryCandidates(tuple(round.name for round in rounds), tuple(seats), over)
