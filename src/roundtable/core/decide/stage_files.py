"""Candidates of a files stage: the eligible ones, and the reasons about chosen and rejected ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from roundtable.core.candidate_reasons import (
    AdditionsFailed,
    CandidateDoubtful,
    CandidateLeftOut,
    CandidateProblems,
    DirectiveNotDone,
    FilesDropped,
    FilesStageReason,
    OwnTestsLeftOut,
)
from roundtable.core.decide.trial_outcome import decide_candidate_problems
from roundtable.core.effects import Candidate, CandidatesTried


def decide_eligible_candidates(tried: CandidatesTried) -> tuple[Candidate, ...]:
    """Return the distinct candidates that a judge may choose from: those that pass, or else all that can be written.

    If more than half of them behave alike for every distinguishing input, only these are eligible.
    """
    writable = [candidate for candidate in tried.candidates if candidate.draft and not candidate.refused]
    eligible = [candidate for candidate in writable if candidate.passed] or writable
    (cluster, alike), *_ = Counter(candidate.cluster for candidate in eligible).most_common(1) or [(0, 0)]
    eligible = [candidate for candidate in eligible if candidate.cluster == cluster or 2 * alike <= len(eligible)]
    return tuple({candidate.draft: candidate for candidate in reversed(eligible)}.values())[::-1]


def decide_single_best_candidate(tried: CandidatesTried, eligible: Sequence[Candidate]) -> Candidate | None:
    """Return the only candidate with the best test results; None if several are equally good."""
    best = [candidate for candidate in eligible if candidate.passed and candidate.seat in tried.best]
    return best[0] if len(best) == 1 else None


def decision_reasons_for_left_out_candidates(
    tried: CandidatesTried, eligible: Sequence[Candidate]
) -> tuple[CandidateLeftOut, ...]:
    """Return why each other candidate could not be chosen; without problems, it behaves differently from most."""
    drafts = {candidate.draft for candidate in eligible}
    return tuple(
        CandidateLeftOut(candidate.seat, decide_candidate_problems(candidate))
        for candidate in tried.candidates
        if candidate.draft not in drafts
    )


def decision_reasons_for_chosen_candidate(candidate: Candidate) -> Iterator[FilesStageReason]:
    """Yield the reasons about a chosen candidate: failed checks, and files and tests that were left out of it."""
    if not candidate.passed:
        yield CandidateDoubtful(candidate.seat, decide_candidate_problems(candidate))
    if candidate.dropped:
        yield FilesDropped(candidate.seat, candidate.dropped)
    if candidate.without:
        yield OwnTestsLeftOut(candidate.seat, candidate.without)


def decision_reasons_for_unfulfilled_directives(
    base: str, unfulfilled: Sequence[str], problems: CandidateProblems | None
) -> Iterator[AdditionsFailed | DirectiveNotDone]:
    """Yield the directives of the judge that were not carried out; `problems` are those that the additions caused."""
    if problems:
        yield AdditionsFailed(base, problems)
    yield from map(DirectiveNotDone, unfulfilled)
