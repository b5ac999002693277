"""Sentences about the candidates for a change: how they did, why one was chosen, and the questions about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

from roundtable.core import candidate_reasons as why
from roundtable.core.candidate_reasons import CallOutcome, CandidateProblems, CandidateReason
from roundtable.core.decide.trial_outcome import (
    decide_candidate_problems,
    decide_failed_check_reason_field,
    decide_unverified_candidates,
)
from roundtable.core.effects import Candidate, CandidatesTried, CheckKind
from roundtable.core.text.wording import end_text_as_sentence, join_names_as_text, join_text_lines, pluralize
from roundtable.report.check_words import (
    check_finding_sentence,
    failed_check_result_sentence,
    failed_check_sentence,
    refused_file_sentence,
    report_failed_check_to_seats,
)
from roundtable.report.run_words import RUN_STOPPED_BY_PERSON, run_failure_sentence

_MAX_PROBLEMS = 3
_MAX_VALUE = 80
_SPACES = re.compile(" {2,}")
_HOW_TO_LIST_CHECKS = "list the project's own test command under [checks] in the config"
_UNVERIFIED = "No candidate could be verified independently."
_DIFFERENT_BEHAVIOUR = "Several candidates pass every check but behave differently."
_PERSON_CHOSE_NONE = "The person chose none of the candidates."


def candidate_reason_sentence(reason: CandidateReason) -> str:
    """A reason that concerns candidates, as a sentence."""
    if isinstance(reason, why.RankingReason):
        return _ranking_sentence(reason)
    if isinstance(reason, why.UnrunReason):
        return _unrun_sentence(reason)
    if isinstance(reason, why.MergeReason):
        return _merge_sentence(reason)
    if isinstance(reason, why.FilesStageReason):
        return _files_stage_sentence(reason)
    return _trial_sentence(reason)


def _ranking_sentence(reason: why.RankingReason) -> str:
    match reason:
        case why.NoCandidateRun():
            return "No candidate could be run."
        case why.CandidatesNotCompared():
            return f"No check or test could distinguish the {reason.candidates} candidates."
        case why.CandidatesCompared():
            return _compared_sentence(reason)
        case why.CandidatesBrokeChecks():
            return f"{pluralize(reason.candidates, 'candidate')} broke a check that passed before the change."
        case why.TestsCounted():
            counted = f"{reason.counted} of the {pluralize(reason.written, 'test')} that the seats wrote"
            counts = f"{counted} {'counts' if reason.counted == 1 else 'count'} as evidence"
            return f"{counts}: a test counts if its author's candidate and another seat's candidate pass it."
        case why.BestCandidates() if len(reason.seats) == 1:
            return f"{reason.seats[0]}'s candidate had the best results."
        case why.BestCandidates(alike=True):
            return f"The candidates of {join_names_as_text(reason.seats)} have the same results."
        case why.BestCandidates():
            return f"The results do not show which of these candidates is right: {join_names_as_text(reason.seats)}."
        case why.PersonTookUnverified():
            return f"The person chose {reason.seat}'s candidate, although it could not be verified independently."
        case why.PersonChoseBehaviour():
            return f"The person chose the behaviour of {reason.seat}'s candidate."
        case _:
            assert_never(reason)


def _compared_sentence(reason: why.CandidatesCompared) -> str:
    candidates = f"The {reason.candidates} candidates"
    ways = "in the same way" if reason.ways == 1 else f"in {reason.ways} different ways"
    if reason.inputs:
        return f"{candidates} were run with {pluralize(reason.inputs, 'input')} and behave {ways}."
    runs = f"the checks{' and tests' if reason.by_tests else ''}"
    if reason.ways == 1:
        return f"{candidates} have the same results in {runs}, and they could not be compared with further inputs."
    return f"{candidates} behave {ways} in {runs}."


def _unrun_sentence(reason: why.UnrunReason) -> str:
    match reason:
        case why.CheckRanNoTests():
            return f"The check {join_text_lines(reason.check)} passed without running a single test."
        case why.CheckNotStarted():
            message = f": {reason.message}" if reason.message else ""
            return end_text_as_sentence(f"The check {join_text_lines(reason.check)} could not be started{message}")
        case why.CheckFailsUnchanged():
            message = f": {reason.message}" if reason.message else ""
            fails = f"The check {join_text_lines(reason.check)} also fails without any change"
            return end_text_as_sentence(f"{fails}, so its result says nothing about a change{message}")
        case why.CheckFlaky():
            flaky = f"The check {join_text_lines(reason.check)} is flaky"
            return f"{flaky}: it passed and failed on identical files, so its result says nothing about a change."
        case why.TestProgramMissing():
            needed = f"The tests need {reason.program}, which is not installed."
            return f"{needed} Install it, or {_HOW_TO_LIST_CHECKS}."
        case why.PytestMissing():
            python = f"in {reason.environment}" if reason.environment else "for any Python on this machine"
            skipped = f"Tests such as {reason.test} are not run: they need pytest, which is not installed {python}."
            place = "there" if reason.environment else "in a .venv of the project"
            return f"{skipped} Install pytest {place}, or {_HOW_TO_LIST_CHECKS}."
        case why.UncommittedTestsSkipped():
            tests = join_names_as_text(reason.tests)
            return f"These tests were not run on the committed files, because the tests are not committed: {tests}."
        case _:
            assert_never(reason)


def _trial_sentence(reason: why.TrialReason) -> str:
    match reason:
        case why.NoCandidatePassed():
            problems = (
                f"{seat}: {describe_candidate_problems_briefly(found) or 'The candidate did not pass.'}"
                for seat, found in reason.candidates.items()
            )
            return " ".join(("No candidate passed.", *problems))
        case why.ChecksFailedBefore():
            return _checks_failed_before_sentence(reason)
        case why.CandidatesDeclined():
            return _PERSON_CHOSE_NONE if reason.answered else "Nobody chose a candidate."
        case why.BehavioursUndecided():
            undecided = _PERSON_CHOSE_NONE if reason.answered else "Nobody said which behaviour is right."
            return " ".join((_DIFFERENT_BEHAVIOUR, *_difference_sentences(reason.differences), undecided))
        case why.CandidateTaken():
            return _taken_sentence(reason)
        case why.OnlyChangedTestsPassed():
            none = _UNVERIFIED if reason.unverified else "No candidate passed the original tests."
            return f"{none} {reason.seat}'s candidate changed existing tests and passes only the changed versions."
        case _:
            return _candidate_sentence(reason)


def _candidate_sentence(
    reason: why.CandidateUnverified | why.AlmostPassed | why.PartsLeftOut | why.NothingVerified | why.SingleAuthor,
) -> str:
    match reason:
        case why.CandidateUnverified():
            return f"{_UNVERIFIED} {_only_problem_sentence(reason.seat, reason.check)}"
        case why.AlmostPassed():
            return _only_problem_sentence(reason.seat, reason.check)
        case why.PartsLeftOut():
            return _left_out_sentences(reason)
        case why.NothingVerified():
            return f"{reason.seat}'s candidate was neither run nor judged."
        case why.SingleAuthor():
            return "Only one seat wrote this change."
        case _:
            assert_never(reason)


def _checks_failed_before_sentence(reason: why.ChecksFailedBefore) -> str:
    failed = [
        f"{failed_check_result_sentence(check).removesuffix('.')} before the change too." for check in reason.checks
    ]
    if reason.timed_out:
        failed.append("To give checks more time, raise `seconds` under [sandbox].")
    if any(check.code is not None for check in reason.checks):
        failed.append("If a check needs files that git ignores, list them in `copy` under [worktrees].")
    return " ".join(failed)


def _taken_sentence(reason: why.CandidateTaken) -> str:
    tests = "every test" if reason.passed_tests == reason.tests else f"{reason.passed_tests} of {reason.tests} tests"
    passed = [pluralize(reason.checks, "check")] if reason.checks else []
    passed += [f"{tests} the seats wrote"] if reason.tests else []
    where = f", run in {reason.sandbox}" if reason.sandbox else ""
    if not reason.sandbox:
        return f"{reason.seat}'s candidate was chosen. There was no check or test to run on it."
    if not passed:
        return f"{reason.seat}'s candidate was chosen, but passed no check{where}."
    return f"{reason.seat}'s candidate passed {join_names_as_text(passed)}{where}."


def _only_problem_sentence(seat: str, check: why.FailedCheck) -> str:
    problem = check_finding_sentence(check.finding) if check.finding else failed_check_sentence(check)
    return f"{seat}'s candidate passes everything except one check. {problem}"


def _left_out_sentences(reason: why.PartsLeftOut) -> str:
    parts = (
        ("Test files left out, because the code does not pass them", reason.failing_tests),
        ("Existing tests that were kept unchanged", reason.kept_files),
        ("Edits reverted, because they broke checks and the task does not ask for them", reason.reverted),
    )
    return " ".join(f"{cause}: {_join_lines(names)}." for cause, names in parts if names)


def _merge_sentence(reason: why.MergeReason) -> str:
    match reason:
        case why.NobodyJudged():
            return f"No judge could compare the equal candidates, so {_taken_by_order(reason.base)}"
        case why.JudgesCompared():
            return " ".join(_judge_sentences(reason))
        case why.AdditionsFailed():
            problems = describe_candidate_problems_briefly(reason.problems)
            failed = f"{reason.base}'s candidate did not pass with the additions that the judges asked for"
            return f"{failed}, so it is used without them. {problems}".strip()
        case why.CandidatesMerged() if not reason.taken and not reason.removed:
            return f"The whole change is from {reason.base}."
        case why.CandidatesMerged():
            taken = [f"{part} from {seat}" for part, seat in reason.taken]
            parts = [f"with {join_names_as_text(taken)}"] if taken else []
            parts += [f"without {join_names_as_text(reason.removed)}"] if reason.removed else []
            return f"The result is {reason.base}'s candidate, {' and '.join(parts)}."
        case _:
            assert_never(reason)


def _judge_sentences(reason: why.JudgesCompared) -> Iterator[str]:
    if reason.preferred:
        votes = ", ".join(f"{seat} {count}" for seat, count in reason.preferred.items())
        yield f"Votes of the judges for the equally good candidates: {votes}."
    if reason.reversed:
        reversed = join_names_as_text(reason.reversed)
        yield f"Votes not counted, because the judge reversed its vote when the order was swapped: {reversed}."
    if reason.one_order:
        one_order = join_names_as_text(reason.one_order)
        yield f"Votes not counted, because the judge voted in only one of the two candidate orders: {one_order}."
    if reason.own:
        own = "its own candidate" if len(reason.own) == 1 else "their own candidates"
        yield f"{join_names_as_text(reason.own)} preferred {own}; the candidates were shown without names."
    if reason.discarded:
        directives = join_names_as_text([f"“{join_text_lines(directive)}”" for directive in reason.discarded])
        yield f"Requests discarded, because the judge made them in only one of the two candidate orders: {directives}."
    if not reason.preferred:
        no_verdict = "No verdict counts" if reason.reversed or reason.one_order else "No judge answered"
        yield f"{no_verdict}, so {_taken_by_order(reason.base)}"


def _taken_by_order(base: str) -> str:
    return f"{base}'s candidate was chosen, because it is the first of the equally good candidates."


def _files_stage_sentence(reason: why.FilesStageReason) -> str:
    match reason:
        case why.CandidateLeftOut():
            different = "It behaves differently from most other candidates on inputs similar to those in the task."
            problem = describe_candidate_problems_briefly(reason.problems) or different
            return f"{reason.seat}'s candidate was left out. {problem}"
        case why.CandidateDoubtful():
            problems = describe_candidate_problems_briefly(reason.problems)
            return f"{reason.seat}'s candidate did not pass its checks. {problems}"
        case why.FilesDropped():
            refused = " ".join(map(refused_file_sentence, reason.files[:_MAX_PROBLEMS]))
            more = len(reason.files) - _MAX_PROBLEMS
            rest = f" {pluralize(more, 'more file')} of {reason.seat} cannot be used." if more > 0 else ""
            return f"Files that {reason.seat} wrote were left out. {refused}{rest}"
        case why.OwnTestsLeftOut():
            left_out = f"Test files of {reason.seat} were left out, because the code does not pass them"
            return f"{left_out}: {_join_lines(reason.files)}."
        case why.DirectiveNotDone():
            return f"A request of the judge was not carried out: {join_text_lines(reason.directive)}"
        case _:
            return _stage_result_sentence(reason)


def _stage_result_sentence(
    reason: why.RunsFailed | why.RunRemark | why.RunStopped | why.LastFixNotRun,
) -> str:
    match reason:
        case why.RunsFailed():
            fails = "still fails" if reason.runs > 1 else "fails"
            failure = run_failure_sentence(reason.failure)
            return f"The program {fails} after {pluralize(reason.runs, 'run')}: {failure}"
        case why.RunRemark():
            return end_text_as_sentence(reason.text)
        case why.RunStopped():
            return RUN_STOPPED_BY_PERSON
        case why.LastFixNotRun():
            return "The program was not run after the last fix."
        case _:
            assert_never(reason)


def candidate_problem_sentences(problems: CandidateProblems) -> Iterator[str]:
    """Why a candidate did not pass, a sentence each."""
    yield from map(refused_file_sentence, problems.refused)
    if problems.empty:
        yield "The candidate changes nothing."
    yield from map(failed_check_sentence, problems.checks)
    if problems.lost_tests:
        yield f"The candidate no longer passes these tests: {_join_lines(problems.lost_tests)}."


def describe_candidate_problems_briefly(problems: CandidateProblems) -> str:
    """The first reasons why a candidate did not pass, and how many more there are; empty if there are none."""
    sentences = list(candidate_problem_sentences(problems))
    more = len(sentences) - _MAX_PROBLEMS
    rest = (f"{pluralize(more, 'more reason')} {'is' if more == 1 else 'are'} not shown.",) if more > 0 else ()
    return " ".join((*sentences[:_MAX_PROBLEMS], *rest))


def render_candidate_trial(candidate: Candidate) -> str:
    """The results of running a candidate, with the output of its checks, for the seat that wrote it and for judges."""
    lines = [f"Not written. {refused_file_sentence(refusal)}" for refusal in candidate.refused]
    if not candidate.draft and not candidate.refused:
        lines.append("Not written. The candidate changes nothing.")
    lines += [
        report_failed_check_to_seats(outcome)
        for outcome in candidate.checks
        if not outcome.passed and outcome.kind is not CheckKind.AGREEMENT
    ]
    failed_tests = [join_text_lines(name) for name, passed in candidate.tests.items() if not passed]
    lines += [f"Failed tests: {', '.join(failed_tests)}."] if failed_tests else []
    return "\n".join(lines) or "The candidate passed everything that was run."


def behaviour_question_sentence(tried: CandidatesTried) -> str:
    """The question which of several behaviours is right."""
    return " ".join((_DIFFERENT_BEHAVIOUR, *_difference_sentences(tried.apart), "Which behaviour is right?"))


def unverified_candidate_question_sentence(tried: CandidatesTried) -> str:
    """The question whether to take a candidate that could not be verified independently."""
    doubts = [
        _only_problem_sentence(
            candidate.seat,
            decide_failed_check_reason_field(next(check for check in candidate.checks if not check.passed)),
        )
        for candidate in decide_unverified_candidates(tried)
    ]
    return " ".join((_UNVERIFIED, *doubts, *_difference_sentences(tried.apart), "Take one of these candidates anyway?"))


def _difference_sentences(differences: Mapping[str, Mapping[str, CallOutcome]]) -> Iterator[str]:
    for call, outcomes in differences.items():
        results = ", ".join(f"{_call_outcome_text(outcome)} with {seat}'s" for seat, outcome in outcomes.items())
        yield f"{_visible_spaces(call)}: {results}."


def describe_candidate_behaviour(tried: CandidatesTried, seat: str) -> str:
    """The outcomes of one candidate for the inputs and tests that distinguish the candidates."""
    return "; ".join(
        f"{_visible_spaces(call)} {'' if outcomes[seat].kind in ('passes', 'fails') else 'is '}"
        f"{_call_outcome_text(outcomes[seat])}"
        for call, outcomes in tried.apart.items()
        if seat in outcomes
    )


def describe_candidate_difference(tried: CandidatesTried, seat: str) -> str:
    """How a candidate differs from the others, as a sentence; empty if it does not."""
    behaviour = describe_candidate_behaviour(tried, seat)
    return f"The candidate differs from the others: {behaviour}." if behaviour else ""


def describe_candidate_result(candidate: Candidate, tried: CandidatesTried) -> str:
    """The files of a candidate and the results of running it, for the person who chooses one."""
    ran = "passed everything that was run." if candidate.checks or candidate.tests else "no check or test was run."
    result = ran if candidate.passed else describe_candidate_problems_briefly(decide_candidate_problems(candidate))
    return f"{_join_lines(candidate.files)}: {result} {describe_candidate_difference(tried, candidate.seat)}".strip()


def _call_outcome_text(outcome: CallOutcome) -> str:
    """The result of a call or test in a few words."""
    match outcome.kind:
        case "passes" | "fails":
            return outcome.kind
        case "value":
            return _visible_spaces(outcome.text)[:_MAX_VALUE]
        case "error":
            return f"an error ({join_text_lines(outcome.text)[:_MAX_VALUE]})" if outcome.text else "an error"
        case "timeout":
            return "no result in time"
        case "crash":
            return "a crash"
        case "nothing":
            return "no result"
        case _:
            assert_never(outcome.kind)


def _visible_spaces(code: str) -> str:
    """A call or a value on one line with every space visible: spaces may be the only difference between two values."""
    return join_text_lines(_SPACES.sub(lambda spaces: r"\x20" * len(spaces[0]), code))


def _join_lines(texts: Iterable[str]) -> str:
    return join_names_as_text([join_text_lines(text) for text in texts])
