"""What came of a step, in a sentence for people: files shown and refused, checks run, a child meeting's end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from roundtable.core.changes import Refusal
from roundtable.core.effects import (
    Applied,
    Candidate,
    CandidatesTried,
    CheckOutcome,
    ChecksRun,
    ChildEnded,
    ClaimsProven,
    Drafted,
    FilesRead,
    Planned,
    Proof,
    Rehearsed,
    Result,
    Synthesised,
)
from roundtable.core.views.clean import one_line

_LONGEST = 160


def served_words(result: Result) -> str:
    """The result in a line; names and reasons come from outside and are cleaned."""
    return " ".join(_sentences(result))


def _sentences(result: Result) -> Iterator[str]:
    match result:
        case FilesRead():
            if result.items:
                yield f"Shown to all: {', '.join(one_line(item.name, _LONGEST) for item in result.items)}."
            yield from _refused(result.refused)
        case ChecksRun():
            yield from map(_check, result.outcomes)
            yield from _refused(result.refused)
        case ChildEnded():
            yield f"It ended: {result.decision.outcome}."
        case CandidatesTried():
            yield from map(_candidate, result.candidates)
        case Synthesised():
            yield f"Spliced {len(result.took)} parts; {len(result.left)} left to be asked for."
        case Drafted():
            yield from map(_not_written, result.refused)
        case Planned():
            yield f"{len(result.hunks)} hunks to be approved."
            yield from map(_not_written, result.refused)
        case Rehearsed():
            yield from map(_check, result.checks)
            yield from map(_not_written, result.refused)
        case Applied():
            yield f"Written: {', '.join(one_line(path, _LONGEST) for path in result.files)}."
        case ClaimsProven():
            yield from map(_proof, result.proofs)


def _refused(refused: Mapping[str, str]) -> Iterator[str]:
    for name, why in refused.items():
        yield f"Refused: {one_line(name, _LONGEST)} ({one_line(why, _LONGEST).rstrip('.')})."


def _not_written(refusal: Refusal) -> str:
    return f"Refused: {one_line(refusal.path, _LONGEST)} ({one_line(refusal.sentence, _LONGEST).rstrip('.')})."


def _candidate(it: Candidate) -> str:
    verdict = "passed every check" if it.passed else "did not pass"
    return f"{one_line(it.seat, _LONGEST)} {verdict}."


def _proof(it: Proof) -> str:
    ended = {True: "held", False: "did not hold", None: "could not be run"}[it.held]
    return f"{one_line(it.claim, _LONGEST)}: {ended}."


def _check(outcome: CheckOutcome) -> str:
    ended = "was stopped" if outcome.code is None else f"ended with exit code {outcome.code}"
    return f"Check {one_line(outcome.name, _LONGEST)} {ended} after {outcome.seconds:.1f} s."
