"""Verdicts on the candidates of a trial: which checks each passed, and the order among them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path

import msgspec

from roundtable.core.candidate_reasons import (
    CallOutcome,
    CheckFinding,
    Contradicted,
    NoCodeChanged,
    NoEvidence,
    NotCorroborated,
    NotSupported,
    OwnTestsFailed,
    ToolsReplaced,
)
from roundtable.core.changeset import DraftFile
from roundtable.core.decide.candidate_ranking import CandidateRanking, decide_candidate_ranking
from roundtable.core.effects import BUILT_IN_CHECK_NAMES, CheckKind, CheckOutcome
from roundtable.workshop.trial.proposed_change import (
    ProposedChange,
    exclude_new_tests_from_trial,
    has_trial_code_changes,
    read_trial_test_sources,
    restore_check_files_for_trial,
)
from roundtable.workshop.trial.task_examples import has_trial_example_calls
from roundtable.workshop.trial.tool_files import find_added_tool_files
from roundtable.workshop.trial.trial_results import TrialResults

MAX_DISTINGUISHING_INPUTS = 3
_NO_OUTCOME = CallOutcome("nothing")


def collect_distinguishing_trial_outputs(
    trials: TrialResults, ranking: CandidateRanking, best: Sequence[str]
) -> dict[str, dict[str, CallOutcome]]:
    """Return the first inputs and tests that distinguish the best candidates, with the result for each."""
    test_results = {
        seat: {test: CallOutcome("passes" if seen.get(test, False) else "fails") for test in ranking.telling}
        for seat, seen in trials.tests.items()
    }
    return _select_distinguishing_inputs(trials.outputs, best) | _select_distinguishing_inputs(test_results, best)


def _select_distinguishing_inputs(
    outputs: Mapping[str, Mapping[str, CallOutcome]], best: Sequence[str]
) -> dict[str, dict[str, CallOutcome]]:
    """Return the inputs that distinguish most of the best candidates, with the output of each."""
    inputs = dict.fromkeys(call for seat in best for call in outputs.get(seat, {}))
    results = {call: {seat: outputs.get(seat, {}).get(call, _NO_OUTCOME) for seat in best} for call in inputs}
    distinct = {call: len(set(outcomes.values())) for call, outcomes in results.items()}
    distinguishing = sorted((call for call in results if distinct[call] > 1), key=lambda call: -distinct[call])
    return {call: results[call] for call in distinguishing[:MAX_DISTINGUISHING_INPUTS]}


def add_trial_check_outcomes(change: ProposedChange, trials: TrialResults, *, needs_evidence: bool) -> ProposedChange:
    """Return the candidate with the checks that running it gave.

    A seat's new tests also check its own code: if the code fails them, one of the two is wrong. The tests are excluded
    as wrong if the code passes the person's own examples, or if no candidate passes them and another seat's tests show
    that the code is right.

    If the repository has checks, something must show what a change of code is for, because a change that does nothing
    passes them too. In stages, tests are written separately.
    """
    checks = trials.informative_checks(change.seat)
    tests = trials.tests.get(change.seat, {})
    own_tests = {test: passed for test, passed in tests.items() if trials.authors.get(test) == change.seat}
    passes_examples = any(check.kind is CheckKind.EXAMPLES and check.passed for check in checks)
    if passes_examples:
        own_tests = own_tests or mark_unrunnable_trial_tests_failed(read_trial_test_sources(change.own_files))
    failed = [test for test, passed in own_tests.items() if not passed]
    authors = trials.evidence_authors(change.seat)
    has_other_evidence = any(author != change.seat for author in authors)
    if failed and (passes_examples or (has_other_evidence and all(map(trials.fails_on_all_candidates, failed)))):
        change = exclude_new_tests_from_trial(change)
    else:
        checks = (*checks, *summarize_trial_of_own_tests(own_tests))
    was_run = change.seat in trials.checks
    change = msgspec.structs.replace(change, checks=checks)
    lacks_evidence = (
        needs_evidence
        and was_run
        and has_trial_code_changes(change.own_files)
        and not (trials.fixed_checks(checks) or authors)
    )
    return change.with_failed_check(CheckKind.EVIDENCE, NoEvidence()) if lacks_evidence else change


def fail_candidate_that_replaces_tools(change: ProposedChange) -> ProposedChange:
    """Return the candidate with a failed check if it adds files that would be loaded instead of what checks it."""
    added = find_added_tool_files(change.own_files)
    return change.with_failed_check(CheckKind.TOOLS, ToolsReplaced(added)) if added else change


def rank_trial_candidates(changes: Sequence[ProposedChange], trials: TrialResults) -> CandidateRanking:
    """Return the order of the candidates, as far as running them decides it."""
    return decide_candidate_ranking(
        trials.ranking_inputs(), trials.baseline, trials.authors, list_seats_passing_trial(changes)
    )


def list_seats_passing_trial(changes: Sequence[ProposedChange]) -> Sequence[str]:
    """Return the seats that may be chosen: those that pass all checks, else those that lack only evidence."""
    return [change.seat for change in changes if change.passes_all_checks] or [
        change.seat for change in changes if change.passes_all_but_evidence
    ]


def fail_uncorroborated_trial_candidates(
    task: str, changes: Sequence[ProposedChange], trials: TrialResults
) -> Sequence[ProposedChange]:
    """Fail candidates that would be chosen although nothing but their own tests supports their behaviour.

    The author of a test for other code may have meant something else, and code and tests of one author may share a
    mistake: so evidence needs the candidate's own tests and those of others. A check that failed before is better
    evidence, and so are calls that the person wrote; but a single example may pass by chance. Once a candidate is in
    doubt, equal ones are too, and a candidate without code and evidence is no alternative.
    """
    examples = BUILT_IN_CHECK_NAMES[CheckKind.EXAMPLES]
    weak_checks = set[str]() if has_trial_example_calls(task) and trials.counted_examples > 1 else {examples}
    if not trials.baseline or len(changes) < 2:
        return changes
    unproven = {
        change.seat
        for change in changes
        if has_trial_code_changes(change.own_files) and not trials.fixed_checks(change.checks) - weak_checks
    }
    doubts: dict[str, tuple[CheckKind, CheckFinding]] = {
        seat: (CheckKind.EVIDENCE, NotCorroborated()) for seat in unproven if not trials.has_own_evidence(seat)
    }
    doubts |= {
        seat: (CheckKind.AGREEMENT, finding)
        for seat in unproven - doubts.keys()
        if (finding := _find_lack_of_support(trials, seat))
    }
    doubted = set[str]()
    while any(change.passes_all_checks for change in changes):
        ranking = rank_trial_candidates(changes, trials)
        alone = {seat for seat in ranking.best if (seat,) in ranking.clusters and seat in doubts}
        if not alone or not (doubted or ranking.alone):
            break
        doubted |= alone
        changes = [
            change.with_failed_check(*doubts[change.seat]) if change.seat in alone else change for change in changes
        ]
    if not doubted:
        return changes
    without_code = {
        change.seat
        for change in changes
        if change.passes_all_checks
        and not has_trial_code_changes(change.own_files)
        and not trials.fixed_checks(change.checks)
    }
    return [
        change.with_failed_check(CheckKind.CODE, NoCodeChanged())
        if change.seat in without_code and not trials.evidence_authors(change.seat)
        else change
        for change in changes
    ]


def _find_lack_of_support(trials: TrialResults, candidate: str) -> Contradicted | NotSupported | None:
    """Return why other seats' tests do not support a candidate; None if more of them do than do not."""
    supporting, opposing = trials.other_authors_verdicts(candidate)
    if len(supporting) > len(opposing):
        return None
    return Contradicted(opposing) if opposing else NotSupported()


def fail_trial_candidate_on_finding(
    change: ProposedChange, check: CheckKind, findings: Mapping[str, Sequence[CheckFinding]]
) -> ProposedChange:
    """Return the candidate with a failed check of ours if a finding is against it; the first finding is shown."""
    against = findings.get(change.seat, ())
    return change.with_failed_check(check, against[0]) if against else change


def add_trial_outcomes_of_original_tests(
    change: ProposedChange, outcomes: Sequence[CheckOutcome], tests: Container[str], check_files: Sequence[DraftFile]
) -> ProposedChange:
    """Return the candidate with checks that fail on the original tests, or without its needless changes of them."""
    failed = [msgspec.structs.replace(outcome, original_tests=True) for outcome in outcomes if not outcome.passed]
    if failed:
        return msgspec.structs.replace(change, checks=(*change.checks, *failed))
    files, own_files = (
        restore_check_files_for_trial([file for file in draft if file.path not in tests], check_files)
        for draft in (change.files, change.own_files)
    )
    restored = tuple(file.path for file in change.own_files if file.path in tests or file in check_files)
    return msgspec.structs.replace(change, files=files, own_files=own_files, restored=restored) if own_files else change


def summarize_trial_of_own_tests(passed: Mapping[str, bool]) -> tuple[CheckOutcome, ...]:
    """Return the tests that come with a change as one check; nothing if there are none."""
    failed = tuple(name for name, success in passed.items() if not success)
    finding = OwnTestsFailed(failed) if failed else None
    return (CheckOutcome.built_in(CheckKind.OWN_TESTS, finding, passed=not failed),) if passed else ()


def mark_unrunnable_trial_tests_failed(tests: Mapping[str, str]) -> dict[str, bool]:
    """Return each Python test file of which no test could be run, as a failed test."""
    files = {path: text for path, text in tests.items() if Path(path).suffix == ".py" and Path(path).stem != "conftest"}
    return {path: False for path, text in files.items() if "def test" in text}
