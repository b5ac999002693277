"""Why a candidate passed, failed or was chosen: findings of the built-in checks, and reasons of the decision."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from roundtable.core.reason_base import ReasonBase, Said
from roundtable.core.refusals import Refusal


class CallOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of a call or of a test on one candidate.

    `text` is the value as Python writes it, or the kind of the error.
    """

    kind: Literal["value", "error", "timeout", "crash", "passes", "fails", "nothing"]
    text: str = ""

    @property
    def is_value(self) -> bool:
        """Whether the call returned a value."""
        return self.kind == "value"

    @property
    def is_error(self) -> bool:
        """Whether the call returned no value, for whatever reason."""
        return self.kind in ("error", "timeout", "crash")


# --- findings of built-in checks -----------------------------------------------------------------


class NoEvidence(ReasonBase, frozen=True, tag="no_evidence"):
    """No test fails without the change and passes with it."""


class NotCorroborated(ReasonBase, frozen=True, tag="not_corroborated"):
    """No other candidate behaves alike, and no test of its own fails without it and passes with it."""


class NotSupported(ReasonBase, frozen=True, tag="not_supported"):
    """No other candidate behaves alike, and no other seat's tests show that it is right."""


class Contradicted(ReasonBase, frozen=True, tag="contradicted"):
    """No other candidate behaves alike, and it fails tests of these seats."""

    authors: tuple[str, ...]


class NoCodeChanged(ReasonBase, frozen=True, tag="no_code_changed"):
    """The candidate changes no code, but others for the same task do."""


class ArgumentsMutated(ReasonBase, frozen=True, tag="arguments_mutated"):
    """This call changes its arguments, which the task does not ask for."""

    call: str


class CallBroken(ReasonBase, frozen=True, tag="call_broken"):
    """This call returned a value before and raises an error now."""

    call: str
    value: str
    error: str


class ExamplesRun(ReasonBase, frozen=True, tag="examples_run"):
    """How many of the examples in the task gave the expected result; `unrun` could not be run."""

    right: int
    counted: int
    unrun: int = 0


class OwnTestsFailed(ReasonBase, frozen=True, tag="own_tests_failed"):
    """These tests that come with the change fail on it."""

    tests: tuple[str, ...]


class ProgramDied(ReasonBase, frozen=True, tag="program_died"):
    """The program ended before the tests of `author` were done; without an author, before the examples were."""

    author: str = ""


class FewerTestsRun(ReasonBase, frozen=True, tag="fewer_tests_run"):
    """The check passed with fewer tests than it ran without the change."""

    ran: int
    before: int


class ToolsReplaced(ReasonBase, frozen=True, tag="tools_replaced"):
    """The change adds these files, which would be loaded instead of the programs that check it."""

    files: tuple[str, ...]


CheckFinding: TypeAlias = (
    Said
    | NoEvidence
    | NotCorroborated
    | NotSupported
    | Contradicted
    | NoCodeChanged
    | ArgumentsMutated
    | CallBroken
    | ExamplesRun
    | OwnTestsFailed
    | ProgramDied
    | FewerTestsRun
    | ToolsReplaced
)
"""The result of a check that Roundtable makes itself. Of older records, it is known as text."""


class FailedCheck(msgspec.Struct, frozen=True, omit_defaults=True):
    """A check that failed: its exit code (None if it was stopped) and the line of its output that says why.

    With `original_tests`, it ran with the tests as they were before the change. A built-in check has a `finding`.
    """

    name: str
    code: int | None = None
    message: str = ""
    original_tests: bool = False
    finding: CheckFinding | None = None


class CandidateProblems(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a candidate did not pass: refused files, no changes at all, failed checks, and tests that the base passes."""

    refused: tuple[Refusal, ...] = ()
    empty: bool = False
    checks: tuple[FailedCheck, ...] = ()
    lost_tests: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.refused or self.empty or self.checks or self.lost_tests)


# --- what the order of the candidates is based on ------------------------------------------------


class NoCandidateRun(ReasonBase, frozen=True, tag="no_candidate_run"):
    """No candidate could be run."""


class CandidatesNotCompared(ReasonBase, frozen=True, tag="candidates_not_compared"):
    """Nothing was run that could distinguish so many candidates."""

    candidates: int


class CandidatesCompared(ReasonBase, frozen=True, tag="candidates_compared"):
    """How many candidates behave in how many ways: for so many inputs, or else by checks and perhaps tests."""

    candidates: int
    ways: int
    inputs: int = 0
    by_tests: bool = False


class CandidatesBrokeChecks(ReasonBase, frozen=True, tag="candidates_broke_checks"):
    """So many candidates broke a check that passed before."""

    candidates: int


class TestsCounted(ReasonBase, frozen=True, tag="tests_counted"):
    """How many of the seats' tests count as evidence: the author's own code and another candidate pass them."""

    __test__ = False
    counted: int
    written: int


class BestCandidates(ReasonBase, frozen=True, tag="best_candidates"):
    """The candidates that the results leave equal; they behave `alike`, or it is open which is right."""

    seats: tuple[str, ...]
    alike: bool = False


class PersonTookUnverified(ReasonBase, frozen=True, tag="person_took_unverified"):
    """The person took a candidate that could not be verified."""

    seat: str


class PersonChoseBehaviour(ReasonBase, frozen=True, tag="person_chose_behaviour"):
    """The person said that the candidate of this seat behaves right."""

    seat: str


RankingReason: TypeAlias = (
    NoCandidateRun
    | CandidatesNotCompared
    | CandidatesCompared
    | CandidatesBrokeChecks
    | TestsCounted
    | BestCandidates
    | PersonTookUnverified
    | PersonChoseBehaviour
)
"""Reasons for the order of the candidates."""


# --- checks that say nothing ---------------------------------------------------------------------


class CheckRanNoTests(ReasonBase, frozen=True, tag="check_ran_no_tests"):
    """The check passed without running a test."""

    check: str


class CheckNotStarted(ReasonBase, frozen=True, tag="check_not_started"):
    """The check could not be started; `message` is what its output says."""

    check: str
    message: str = ""


class CheckFailsUnchanged(ReasonBase, frozen=True, tag="check_fails_unchanged"):
    """The check also fails without any change; `message` is what its output says."""

    check: str
    message: str = ""


class CheckFlaky(ReasonBase, frozen=True, tag="check_flaky"):
    """The check passed and failed on identical files."""

    check: str


class TestProgramMissing(ReasonBase, frozen=True, tag="test_program_missing"):
    """The tests need a program that is not installed."""

    __test__ = False
    program: str


class PytestMissing(ReasonBase, frozen=True, tag="pytest_missing"):
    """Tests such as this one need pytest, which the project's environment does not have; without one, no Python has."""

    test: str
    environment: str = ""


class UncommittedTestsSkipped(ReasonBase, frozen=True, tag="uncommitted_tests_skipped"):
    """These tests are not committed and did not run on the files of the commit."""

    tests: tuple[str, ...]


UnrunReason: TypeAlias = (
    CheckRanNoTests
    | CheckNotStarted
    | CheckFailsUnchanged
    | CheckFlaky
    | TestProgramMissing
    | PytestMissing
    | UncommittedTestsSkipped
)
"""Why a check could not be run or says nothing about a change."""


# --- the decision on the candidates --------------------------------------------------------------


class NoCandidatePassed(ReasonBase, frozen=True, tag="no_candidate_passed"):
    """No candidate passed, with the problems of each seat's candidate."""

    candidates: dict[str, CandidateProblems]


class ChecksFailedBefore(ReasonBase, frozen=True, tag="checks_failed_before"):
    """These checks, which no candidate passed, also failed before the change; some were stopped for their time."""

    checks: tuple[FailedCheck, ...]
    timed_out: bool = False


class CandidatesDeclined(ReasonBase, frozen=True, tag="candidates_declined"):
    """The person took none of the candidates that could not be verified, or nobody answered."""

    answered: bool


class BehavioursUndecided(ReasonBase, frozen=True, tag="behaviours_undecided"):
    """Passing candidates behave differently, and the person chose none, or nobody answered.

    `differences` are the results by input or test and seat.
    """

    differences: dict[str, dict[str, CallOutcome]]
    answered: bool


class CandidateTaken(ReasonBase, frozen=True, tag="candidate_taken"):
    """The candidate that was taken, how many checks and tests of the seats it passed, and where they ran."""

    seat: str
    checks: int = 0
    passed_tests: int = 0
    tests: int = 0
    sandbox: str = ""


class OnlyChangedTestsPassed(ReasonBase, frozen=True, tag="only_changed_tests_passed"):
    """The candidate passes only the tests that it changed itself; others may be `unverified`."""

    seat: str
    unverified: bool = False


class CandidateUnverified(ReasonBase, frozen=True, tag="candidate_unverified"):
    """The candidate could not be verified independently; `check` says what is missing."""

    seat: str
    check: FailedCheck


class AlmostPassed(ReasonBase, frozen=True, tag="almost_passed"):
    """The candidate passes everything but this check."""

    seat: str
    check: FailedCheck


class PartsLeftOut(ReasonBase, frozen=True, tag="parts_left_out"):
    """Parts of a candidate that are not written.

    `failing_tests` are its own test files that its code does not pass, `kept_files` existing tests that stay as they
    are, and `reverted` edits that the task does not name and that broke checks.
    """

    failing_tests: tuple[str, ...] = ()
    kept_files: tuple[str, ...] = ()
    reverted: tuple[str, ...] = ()


class NothingVerified(ReasonBase, frozen=True, tag="nothing_verified"):
    """Nothing was run on the candidate of this seat, and nobody judged it."""

    seat: str


class SingleAuthor(ReasonBase, frozen=True, tag="single_author"):
    """One seat wrote the change alone, where all could have written one."""


TrialReason: TypeAlias = (
    NoCandidatePassed
    | ChecksFailedBefore
    | CandidatesDeclined
    | BehavioursUndecided
    | CandidateTaken
    | OnlyChangedTestsPassed
    | CandidateUnverified
    | AlmostPassed
    | PartsLeftOut
    | NothingVerified
    | SingleAuthor
)
"""Reasons about the outcome of a trial: the candidate taken, and those that failed or lack evidence."""


# --- judges and merging --------------------------------------------------------------------------


class NobodyJudged(ReasonBase, frozen=True, tag="nobody_judged"):
    """No seat could judge between equal candidates, so the first one, `base`, is taken."""

    base: str


class JudgesCompared(ReasonBase, frozen=True, tag="judges_compared"):
    """How the judges ruled on equal candidates.

    `preferred` counts the verdicts for each seat's candidate. Judges that `reversed` their verdict with the order, or
    answered in `one_order` only, do not count. `own` judges preferred their own work, unsigned. `discarded` are
    directives that were given in only one order. Without a verdict, the first candidate, `base`, is taken.
    """

    base: str
    preferred: dict[str, int] = {}
    reversed: tuple[str, ...] = ()
    one_order: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    discarded: tuple[str, ...] = ()


class AdditionsFailed(ReasonBase, frozen=True, tag="additions_failed"):
    """With the parts that the judges asked for, the candidate did not pass what it passes without them."""

    base: str
    problems: CandidateProblems = CandidateProblems()


class CandidatesMerged(ReasonBase, frozen=True, tag="candidates_merged"):
    """The base, the parts that were taken from other seats (part and seat), and the symbols that were removed."""

    base: str
    taken: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()


MergeReason: TypeAlias = NobodyJudged | JudgesCompared | AdditionsFailed | CandidatesMerged
"""Reasons about judges that chose between equal candidates, and about merged parts."""


# --- candidates of a stage -----------------------------------------------------------------------


class CandidateLeftOut(ReasonBase, frozen=True, tag="candidate_left_out"):
    """The candidate could not be chosen: it has problems, or behaves differently from most candidates."""

    seat: str
    problems: CandidateProblems = CandidateProblems()


class CandidateDoubtful(ReasonBase, frozen=True, tag="candidate_doubtful"):
    """The chosen candidate did not pass its checks."""

    seat: str
    problems: CandidateProblems


class FilesDropped(ReasonBase, frozen=True, tag="files_dropped"):
    """These files of a seat are not in the new project, because their paths cannot be used."""

    seat: str
    files: tuple[Refusal, ...]


class OwnTestsLeftOut(ReasonBase, frozen=True, tag="own_tests_left_out"):
    """These test files of a seat were left out, because its code does not pass them."""

    seat: str
    files: tuple[str, ...]


class DirectiveNotDone(ReasonBase, frozen=True, tag="directive_not_done"):
    """The judge asked for this, and it was not done."""

    directive: str


class RunFailure(msgspec.Struct, frozen=True, omit_defaults=True):
    """The step at which a run of the program failed, with the last line of its output; or `why` there was no run."""

    step: str = ""
    command: str = ""
    code: int | None = None
    line: str = ""
    why: str = ""


class RunsFailed(ReasonBase, frozen=True, tag="runs_failed"):
    """The program fails after so many runs; `failure` is that of the last one."""

    runs: int
    failure: RunFailure


class RunRemark(ReasonBase, frozen=True, tag="run_remark"):
    """A remark of the workshop on a run of the program."""

    text: str


class RunStopped(ReasonBase, frozen=True, tag="run_stopped"):
    """The person stopped the program."""


class LastFixNotRun(ReasonBase, frozen=True, tag="last_fix_not_run"):
    """The last fix was not run."""


FilesStageReason: TypeAlias = (
    CandidateLeftOut
    | CandidateDoubtful
    | FilesDropped
    | OwnTestsLeftOut
    | DirectiveNotDone
    | RunsFailed
    | RunRemark
    | RunStopped
    | LastFixNotRun
)
"""Reasons about the candidates and program runs of a stage."""

CandidateReason: TypeAlias = RankingReason | UnrunReason | TrialReason | MergeReason | FilesStageReason
"""Every reason that concerns candidates for a change."""
