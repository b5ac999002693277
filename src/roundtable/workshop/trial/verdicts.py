"""What running showed of the seats' wishes: the checks each has passed or not, and the order among them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path

import msgspec

from roundtable.core.changeset import DraftFile
from roundtable.core.decide.candidate_ranking import CandidateRanking, rank_candidates
from roundtable.core.decide.trial_outcome import (
    AGREEMENT_CHECK,
    CODE_CHECK,
    EVIDENCE_CHECK,
    FAILS,
    ORIGINAL_TESTS_SUFFIX,
    PASSES,
)
from roundtable.core.effects import CheckOutcome
from roundtable.core.text.wording import join_names
from roundtable.workshop.trial.proposed_change import (
    ProposedChange,
    changes_any_code,
    exclude_new_tests,
    read_test_sources,
    restore_check_files,
)
from roundtable.workshop.trial.task_examples import task_has_call_examples
from roundtable.workshop.trial.trial_results import EXAMPLES_CHECK, OWN_TESTS_CHECK, TrialResults

MAX_DISTINGUISHING_INPUTS = 3
NO_EVIDENCE_MESSAGE = (
    "Nothing that was run shows that this does what the task asks: no test fails without it and passes with it.\n"
    "Write such a test, in a file of its own."
)
UNCORROBORATED_MESSAGE = (
    "No other candidate is seen to do the same, and no test of its own fails without it and passes with it.\n"
    "Write such a test, in a file of its own, of what the task says."
)
UNSUPPORTED_MESSAGE = "No other candidate is seen to do the same, and nobody else's tests show that it is right."
CONTRADICTED_MESSAGE = "No other candidate is seen to do the same, and it fails tests of {}."
NO_CODE_MESSAGE = "It changes no code, and what others wrote for the task does.\nWrite the code that the task asks for."
SIDE_EFFECT_MESSAGE = (
    "{} changes what it is given, and the task does not ask for a change in place.\n"
    "Leave what a function is given as it is: work on a copy of it, such as sorted() or list() make."
)
REGRESSION_MESSAGE = "{}\nHave it come to the same as before, unless the task says otherwise."
ORIGINAL_TESTS_MESSAGE = (
    "These tests and checks were there before. They stand as they were, since the task does not ask for others."
)


def collect_distinguishing_outputs(
    trials: TrialResults, decided: CandidateRanking, best: Sequence[str]
) -> dict[str, dict[str, str]]:
    """The first inputs, and the first tests, that tell these apart, and what comes of them with each."""
    ended = {
        seat: {test: PASSES if seen.get(test, False) else FAILS for test in decided.telling}
        for seat, seen in trials.tests.items()
    }
    return select_distinguishing_inputs(trials.outputs, best) | select_distinguishing_inputs(ended, best)


def select_distinguishing_inputs(
    outputs: Mapping[str, Mapping[str, str]], best: Sequence[str]
) -> dict[str, dict[str, str]]:
    """The inputs that tell the best apart, those first that tell most of them apart, and what comes out of each."""
    inputs = dict.fromkeys(call for seat in best for call in outputs.get(seat, {}))
    came = {call: {seat: outputs.get(seat, {}).get(call, "") for seat in best} for call in inputs}
    ways = {call: len(set(outcomes.values())) for call, outcomes in came.items()}
    telling = sorted((call for call in came if ways[call] > 1), key=lambda call: -ways[call])
    return {call: came[call] for call in telling[:MAX_DISTINGUISHING_INPUTS]}


def judge_candidate(wish: ProposedChange, trials: TrialResults, *, needs_evidence: bool) -> ProposedChange:
    """A wish with what running it showed.

    The new tests of a seat are a check of its own work too: where its code fails them, one of the two is wrong. The
    tests are, and are left out, where the code does what the person's own examples say, or where nobody's code passes
    those that failed and somebody else's tests show what it is for.

    Where the repository has checks, something must show what a change of code is for: one that passes them and does
    nothing passes them too. In stages, tests are written by themselves.
    """
    checks = trials.informative_checks(wish.seat)
    tests = trials.tests.get(wish.seat, {})
    own = {test: passed for test, passed in tests.items() if trials.authors.get(test) == wish.seat}
    does_the_examples = any(check.name == EXAMPLES_CHECK and check.passed for check in checks)
    if does_the_examples:
        own = own or mark_unrunnable_tests_failed(read_test_sources(wish.own_files))
    failed = [test for test, passed in own.items() if not passed]
    shown_by = trials.evidence_authors(wish.seat)
    others = any(author != wish.seat for author in shown_by)
    if failed and (does_the_examples or (others and all(map(trials.fails_on_all_candidates, failed)))):
        wish = exclude_new_tests(wish)
    else:
        checks = (*checks, *summarize_own_tests(own))
    ran = wish.seat in trials.checks
    wish = msgspec.structs.replace(wish, checks=checks)
    list_unshown_files = (
        needs_evidence and ran and changes_any_code(wish.own_files) and not (trials.fixed_checks(checks) or shown_by)
    )
    return wish.with_failed_check(EVIDENCE_CHECK, NO_EVIDENCE_MESSAGE) if list_unshown_files else wish


def rank_tried_candidates(wishes: Sequence[ProposedChange], trials: TrialResults) -> CandidateRanking:
    """The order of the candidates, as far as running them tells."""
    return rank_candidates(trials.ranking_inputs(), trials.baseline, trials.authors, list_eligible_candidates(wishes))


def list_eligible_candidates(wishes: Sequence[ProposedChange]) -> Sequence[str]:
    """Who may be chosen: those that are sound, or else those that are only in doubt."""
    return [change.seat for change in wishes if change.passes_all_checks] or [
        change.seat for change in wishes if change.passes_all_but_evidence
    ]


def reject_uncorroborated_candidates(
    task: str, wishes: Sequence[ProposedChange], trials: TrialResults
) -> Sequence[ProposedChange]:
    """Who would be chosen and does what no other does has not passed on anybody's tests alone.

    Whoever wrote a test for other code meant something else by it, and who wrote one for its own code means the same
    mistake by both: it takes its own tests and the others'. A check that failed before is better evidence, and so are
    calls that the person spelled out, but one alone may be met by chance. Once somebody is in doubt, so is who does no
    better, and who wrote no code and has nothing to show is no way out.
    """
    weak = set[str]() if task_has_call_examples(task) and trials.counted_examples > 1 else {EXAMPLES_CHECK}
    if not trials.baseline or len(wishes) < 2:
        return wishes
    rests = {
        change.seat
        for change in wishes
        if changes_any_code(change.own_files) and not trials.fixed_checks(change.checks) - weak
    }
    doubts = {seat: (EVIDENCE_CHECK, UNCORROBORATED_MESSAGE) for seat in rests if not trials.has_own_evidence(seat)}
    doubts |= {seat: (AGREEMENT_CHECK, why) for seat in rests - doubts.keys() if (why := _opposed(trials, seat))}
    doubted = set[str]()
    while any(change.passes_all_checks for change in wishes):
        decided = rank_tried_candidates(wishes, trials)
        lone = {seat for seat in decided.best if (seat,) in decided.clusters and seat in doubts}
        if not lone or not (doubted or decided.alone):
            break
        doubted |= lone
        wishes = [
            change.with_failed_check(*doubts[change.seat]) if change.seat in lone else change for change in wishes
        ]
    if not doubted:
        return wishes
    idle = {
        change.seat
        for change in wishes
        if change.passes_all_checks
        and not changes_any_code(change.own_files)
        and not trials.fixed_checks(change.checks)
    }
    return [
        change.with_failed_check(CODE_CHECK, NO_CODE_MESSAGE)
        if change.seat in idle and not trials.evidence_authors(change.seat)
        else change
        for change in wishes
    ]


def _opposed(trials: TrialResults, candidate: str) -> str:
    """Why the others' tests do not bear a candidate out; nothing where more of them do than do not."""
    agree, against = trials.other_authors_verdicts(candidate)
    if len(agree) > len(against):
        return ""
    return CONTRADICTED_MESSAGE.format(join_names(against)) if against else UNSUPPORTED_MESSAGE


def fail_candidate_on_finding(
    wish: ProposedChange, check: str, found: Mapping[str, Sequence[str]], words: str
) -> ProposedChange:
    """A wish that failed a check of ours, where running it found something against it; the first of that is told."""
    against = found.get(wish.seat, ())
    return wish.with_failed_check(check, words.format(against[0])) if against else wish


def judge_with_original_tests(
    wish: ProposedChange, outcomes: Sequence[CheckOutcome], tests: Container[str], measures: Sequence[DraftFile]
) -> ProposedChange:
    """A wish with those checks that fail where all is as it was, or without its needless changes of that."""
    failed = [
        msgspec.structs.replace(
            outcome,
            name=f"{outcome.name}{ORIGINAL_TESTS_SUFFIX}",
            output=f"{outcome.output}\n{ORIGINAL_TESTS_MESSAGE}".strip(),
        )
        for outcome in outcomes
        if not outcome.passed
    ]
    if failed:
        return msgspec.structs.replace(wish, checks=(*wish.checks, *failed))
    files, own = (
        restore_check_files([file for file in each if file.path not in tests], measures)
        for each in (wish.files, wish.own_files)
    )
    restored = tuple(file.path for file in wish.own_files if file.path in tests or file in measures)
    return msgspec.structs.replace(wish, files=files, own_files=own, restored=restored) if own else wish


def summarize_own_tests(passed: Mapping[str, bool]) -> tuple[CheckOutcome, ...]:
    """The tests that come with a change, as one check of it; none where there are none."""
    failed = [f"{name} failed" for name, sound in passed.items() if not sound]
    return (CheckOutcome(OWN_TESTS_CHECK, (), 1 if failed else 0, "\n".join(failed)),) if passed else ()


def mark_unrunnable_tests_failed(tests: Mapping[str, str]) -> dict[str, bool]:
    """Files of tests in Python of which not one could be run, each as a test that failed."""
    files = {path: text for path, text in tests.items() if Path(path).suffix == ".py" and Path(path).stem != "conftest"}
    return {path: False for path, text in files.items() if "def test" in text}
