"""The outcome of a trial of candidates: which passed, which lack evidence, why others failed, and the decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from roundtable.core.candidate_reasons import (
    AlmostPassed,
    BehavioursUndecided,
    CandidateProblems,
    CandidatesDeclined,
    CandidateTaken,
    CandidateUnverified,
    ChecksFailedBefore,
    FailedCheck,
    NoCandidatePassed,
    NothingVerified,
    OnlyChangedTestsPassed,
    PartsLeftOut,
    PersonChoseBehaviour,
    PersonTookUnverified,
    SingleAuthor,
)
from roundtable.core.effects import Candidate, CandidatesTried, CheckKind, CheckOutcome
from roundtable.core.faults import Fault
from roundtable.core.reasons import Reason, Reasons, WorkshopStepFailed
from roundtable.core.sandbox import Limit
from roundtable.core.text.wording import join_names_as_text, join_text_lines
from roundtable.core.values import Absence, Decision, Outcome, Proposal, Round

EVIDENCE_CHECKS = (CheckKind.EVIDENCE, CheckKind.AGREEMENT)
"""The built-in checks that ask for evidence that a change fulfils its task."""
_MINOR_CHECKS = (CheckKind.SIDE_EFFECTS, CheckKind.REGRESSION, *EVIDENCE_CHECKS)
"""The built-in checks whose failure a person may accept if all other checks pass."""
_MAX_FAILURE_LINE = 200


def decide_failed_candidate_seats(tried: CandidatesTried) -> tuple[str, ...]:
    """The seats whose candidate was refused or did not pass."""
    return tuple(candidate.seat for candidate in tried.candidates if not candidate.passed)


def decide_seats_lacking_only_evidence(tried: CandidatesTried) -> tuple[str, ...]:
    """The seats whose candidate fails only because no test shows that it fulfils the task."""
    return tuple(candidate.seat for candidate in tried.candidates if _lacks_only(candidate, CheckKind.EVIDENCE))


def decide_unverified_candidates(tried: CandidatesTried) -> tuple[Candidate, ...]:
    """The candidates that fail only for lack of evidence; a person may judge that they are right."""
    return tuple(filter(is_tried_candidate_unverified, tried.candidates))


def is_tried_candidate_unverified(candidate: Candidate) -> bool:
    """Whether a candidate fails checks, and only those that ask for evidence."""
    return _lacks_only(candidate, *EVIDENCE_CHECKS)


def _lacks_only(candidate: Candidate, *kinds: CheckKind) -> bool:
    """Whether a candidate fails checks, and all of them are of these kinds."""
    failed = _failed_checks(candidate)
    return bool(failed) and all(check.kind in kinds for check in failed)


def decide_best_candidates(tried: CandidatesTried) -> tuple[Candidate, ...]:
    """The passing candidates that the trial ranks best; identical drafts are listed once."""
    passed = [candidate for candidate in tried.candidates if candidate.passed]
    best = [candidate for candidate in passed if candidate.seat in tried.best] or passed[:1]
    return tuple({candidate.draft: candidate for candidate in reversed(best)}.values())[::-1]


def decide_candidate_failing_only_original_tests(tried: CandidatesTried) -> tuple[Candidate, ...]:
    """The first candidate that fails only the original form of tests that it changed; a person may allow that."""
    for candidate in tried.candidates:
        if (failed := _failed_checks(candidate)) and all(check.original_tests for check in failed):
            return (candidate,)
    return ()


def decide_candidate_warnings(tried: CandidatesTried, seat: str) -> Reasons:
    """The warnings that a person must see before approving a candidate."""
    candidate = _candidate_of(tried, seat)
    reverted = PartsLeftOut(reverted=candidate.put_back) if candidate.put_back else None
    found = (
        decide_reason_for_unverified_candidate(candidate),
        _original_tests_reason(tried, candidate),
        reverted,
        *tried.unrun,
    )
    return tuple(filter(None, found))


def decide_reason_for_unverified_candidate(candidate: Candidate) -> CandidateUnverified | None:
    """The evidence that a candidate lacks to be verified; None if it is verified or fails other checks."""
    if not is_tried_candidate_unverified(candidate):
        return None
    return CandidateUnverified(candidate.seat, decide_failed_check_reason_field(_failed_checks(candidate)[0]))


def _original_tests_reason(tried: CandidatesTried, candidate: Candidate) -> OnlyChangedTestsPassed | None:
    if candidate.passed or is_tried_candidate_unverified(candidate):
        return None
    return OnlyChangedTestsPassed(candidate.seat, unverified=bool(decide_unverified_candidates(tried)))


def _candidate_of(tried: CandidatesTried, seat: str) -> Candidate:
    return next(candidate for candidate in tried.candidates if candidate.seat == seat)


def decide_candidate_problems(candidate: Candidate) -> CandidateProblems:
    """The reasons why a candidate did not pass: refused files, an empty draft, or failed checks."""
    return CandidateProblems(
        candidate.refused,
        empty=not candidate.draft and not candidate.refused,
        checks=tuple(decide_failed_check_reason_field(outcome) for outcome in candidate.checks if not outcome.passed),
    )


def decide_failed_check_reason_field(outcome: CheckOutcome) -> FailedCheck:
    """A failed check as the field of a reason, with the line of its output or the finding that says why."""
    message = "" if outcome.finding else join_text_lines(outcome.failure_line)[:_MAX_FAILURE_LINE]
    return FailedCheck(outcome.name, outcome.code, message, outcome.original_tests, outcome.finding)


def decide_no_candidate_passed(tried: CandidatesTried, rounds: Sequence[Round]) -> Decision:
    """The decision if no candidate passed: a deadlock, with the reasons of each seat's candidate."""
    problems = {candidate.seat: decide_candidate_problems(candidate) for candidate in tried.candidates}
    how = (NoCandidatePassed(problems), *_checks_failed_before(tried))
    return _decision(Outcome.DEADLOCK, how, rounds, notices=tried.unrun)


def decide_no_candidate_verified(tried: CandidatesTried, rounds: Sequence[Round], *, answered: bool) -> Decision:
    """The decision if candidates could not be verified independently and the person chose none."""
    decision = decide_no_candidate_passed(tried, rounds)
    return msgspec.structs.replace(decision, how=(*decision.how, CandidatesDeclined(answered=answered)))


def _checks_failed_before(tried: CandidatesTried) -> Iterator[ChecksFailedBefore]:
    """Yield the checks that failed for a candidate and also without any change, if there are any."""
    failed = {
        check.name
        for candidate in tried.candidates
        for check in candidate.checks
        if not (check.passed or check.original_tests)
    }
    before = [
        check for check in tried.before if check.kind is CheckKind.PROGRAM and check.name in failed and not check.passed
    ]
    if before:
        checks = tuple(FailedCheck(check.name, check.code, original_tests=check.original_tests) for check in before)
        yield ChecksFailedBefore(checks, timed_out=any(check.limit is Limit.TIME for check in before))


def failed_step_decision(fault: Fault, rounds: Sequence[Round] = ()) -> Decision:
    """The decision if a step of the workshop failed."""
    return _decision(Outcome.DEADLOCK, (WorkshopStepFailed(fault),), rounds)


def decide_candidate_chosen(
    tried: CandidatesTried,
    rounds: Sequence[Round],
    seat: str,
    question: str,
    reasons: Reasons = (),
    *,
    judged: bool = False,
) -> Decision:
    """The decision for one seat's candidate, with that seat's words; `judged` if judges or approvals support it."""
    candidate = _candidate_of(tried, seat)
    how = (
        _original_tests_reason(tried, candidate),
        _taken_reason(tried, candidate),
        _left_out_reason(candidate),
        *tried.how,
        *_almost_passed(tried, seat),
        *reasons,
    )
    ran = candidate.checks or candidate.tests or candidate.cluster
    unverified = None if ran or judged else NothingVerified(seat)
    move = next((move for round in rounds if round.name == candidate.round and (move := round.move_of(seat))), None)
    return msgspec.structs.replace(
        _decision(
            Outcome.REACHED,
            filter(None, how),
            rounds,
            notices=filter(None, (*tried.unrun, unverified, decide_reason_for_unverified_candidate(candidate))),
        ),
        winner=seat,
        author=seat,
        position=decision_position_for_changed_files(question, seat, candidate.files),
        task_only=True,
        text=move.text if move else "",
        proposals=tuple(
            Proposal(each.seat, decision_summary_of_changed_files(each.files), (each.seat,))
            for each in tried.candidates
        ),
    )


def _taken_reason(tried: CandidatesTried, candidate: Candidate) -> CandidateTaken:
    return CandidateTaken(
        candidate.seat,
        sum(check.passed for check in candidate.checks),
        sum(candidate.tests.values()),
        len(candidate.tests),
        tried.sandbox if candidate.checks or candidate.tests else "",
    )


def decision_summary_of_changed_files(files: Sequence[str]) -> str:
    """A candidate in a few words: the files that it changes."""
    return f"changes {join_names_as_text([join_text_lines(path) for path in files])}"


def decision_position_for_changed_files(question: str, seat: str, files: Sequence[str]) -> str:
    """The position of a decision on a change, in one line: the task, the seat and its files."""
    return f"{join_text_lines(question)}: {seat} {decision_summary_of_changed_files(files)}"


def _left_out_reason(candidate: Candidate) -> PartsLeftOut | None:
    parts = PartsLeftOut(candidate.without, candidate.restored, candidate.put_back)
    return None if parts == PartsLeftOut() else parts


def _almost_passed(tried: CandidatesTried, taken: str) -> Iterator[AlmostPassed]:
    """Yield the other candidates that fail a single check, if a person may accept that failure."""
    for candidate in tried.candidates:
        failed = _failed_checks(candidate)
        if len(failed) == 1 and failed[0].kind in _MINOR_CHECKS and candidate.seat != taken:
            yield AlmostPassed(candidate.seat, decide_failed_check_reason_field(failed[0]))


def _failed_checks(candidate: Candidate) -> list[CheckOutcome]:
    """The checks that a candidate fails; none if it is empty or refused."""
    return (
        [check for check in candidate.checks if not check.passed] if candidate.draft and not candidate.refused else []
    )


def decide_behaviour_clusters(tried: CandidatesTried) -> dict[str, tuple[str, ...]]:
    """The best candidates clustered by behaviour, under the first seat of each cluster; empty if all behave alike."""
    clusters: dict[int, list[str]] = {}
    for candidate in decide_best_candidates(tried):
        clusters.setdefault(candidate.cluster, []).append(candidate.seat)
    return {seats[0]: tuple(seats) for seats in clusters.values()} if len(clusters) > 1 and tried.apart else {}


def decide_ranking_for_unverified_candidate(tried: CandidatesTried, seat: str) -> CandidatesTried:
    """The result of the trial with an unverified candidate as the only best one, because the person chose it."""
    return msgspec.structs.replace(tried, best=(seat,), apart={}, how=(*tried.how, PersonTookUnverified(seat)))


def decide_ranking_for_behaviour_cluster(tried: CandidatesTried, seats: Sequence[str]) -> CandidatesTried:
    """The result of the trial with the candidates as best whose behaviour the person chose."""
    how = (*tried.how, PersonChoseBehaviour(seats[0]))
    return msgspec.structs.replace(tried, best=tuple(seats), apart={}, how=how)


def decide_behaviour_undecided(tried: CandidatesTried, rounds: Sequence[Round], *, answered: bool) -> Decision:
    """The decision if passing candidates behave differently and the person did not choose between them."""
    return _decision(Outcome.DEADLOCK, (BehavioursUndecided(tried.apart, answered),), rounds)


def _decision(
    outcome: Outcome, how: Iterable[Reason], rounds: Sequence[Round], notices: Iterable[Reason] = ()
) -> Decision:
    first = rounds[0] if rounds else Round("", ())
    return Decision(
        outcome,
        how=tuple(how),
        notices=tuple(notices),
        electorate=first.electorate,
        counted=tuple(move.seat for move in first.moves),
        missing=tuple(Absence(absence.seat, absence.fault) for absence in first.missing),
        basis=tuple(round.name for round in rounds),
    )


def decision_with_single_author_notice(decision: Decision) -> Decision:
    """The decision with a notice if only one seat could write a change."""
    alone = (SingleAuthor(),) if len(decision.electorate) == 1 else ()
    return msgspec.structs.replace(decision, notices=(*decision.notices, *alone))
