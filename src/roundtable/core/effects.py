"""Effects: the steps of a meeting other than asking seats; a closed union, recorded like questions to seats."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Literal, Self

from roundtable.core.candidate_reasons import CallOutcome, CheckFinding
from roundtable.core.changeset import Hunk
from roundtable.core.reasons import Reasons, WriteRemark
from roundtable.core.refusals import Refusal
from roundtable.core.sandbox import Limit, Resource
from roundtable.core.stages import Contribution, StageEnd
from roundtable.core.values import Charter, ContextItem, Decision, Digest, Value

_ERROR = re.compile(
    r"^(?:E +)?((?:[\w.]*(?:Error|Exception)\b|FAILED \S+ - |panic: |assertion (?=.*\bfailed)|error\[E\d+\]: "
    r"|\S+\(\d+,\d+\): error TS).*)$",
    re.MULTILINE,
)


class ReadFiles(Value, frozen=True, tag="read_files", tag_field="effect"):
    """Take snapshots of files of the workspace, given as `path` or `path:first-last`."""

    paths: tuple[str, ...]


class RunChecks(Value, frozen=True, tag="run_checks", tag_field="effect"):
    """Run read-only checks by the names under which the person has listed them; nothing else can be run."""

    checks: tuple[str, ...]


class OpenChild(Value, frozen=True, tag="open_child", tag_field="effect"):
    """Hold another meeting under this one and wait for its decision."""

    charter: Charter


class TryCandidates(Value, frozen=True, tag="try_candidates", tag_field="effect"):
    """Run the changes that these seats wrote in these rounds against checks, examples and each other's tests.

    A later round of a seat replaces its earlier one; a round of tests alone adds to what the seat wrote before. All
    candidates are based on the draft `over`, if it is given.
    """

    rounds: tuple[str, ...]
    seats: tuple[str, ...]
    over: Digest = ""


class TryMerged(Value, frozen=True, tag="try_merged", tag_field="effect"):
    """Run a draft that was made from the candidate `base`, in the same way as the candidates were run.

    `rounds`, `seats` and `over` are those of the candidates; their tests are run on the draft as they were written.
    """

    draft: Digest
    base: str
    rounds: tuple[str, ...]
    seats: tuple[str, ...]
    over: Digest = ""


class SynthesiseDrafts(Value, frozen=True, tag="synthesise", tag_field="effect"):
    """Take the draft of `base` and splice into it the parts of other drafts that the directives name.

    Directives that say what `must_fix` never remove anything.
    """

    base: str
    drafts: dict[str, Digest]
    incorporate: tuple[str, ...] = ()
    must_fix: tuple[str, ...] = ()


class DraftMove(Value, frozen=True, tag="draft_move", tag_field="effect"):
    """Turn the change in a seat's move into a draft of the workspace, based on an earlier draft if one is given.

    `scope` are the path patterns it may touch; an empty scope is the whole workspace.
    """

    round: str
    seat: str
    over: Digest = ""
    scope: tuple[str, ...] = ()


class PlanChange(Value, frozen=True, tag="plan_change", tag_field="effect"):
    """Compare a draft with the workspace as it is now, and split the difference into hunks."""

    draft: Digest


class RehearseChange(Value, frozen=True, tag="rehearse", tag_field="effect"):
    """Apply the accepted hunks of a draft in a scratch copy, run the checks there, and verify that every hunk survived.

    `choice` is the person's answer at the gate: empty for all hunks, otherwise which were rejected or rewritten.
    """

    draft: Digest
    choice: str = ""


class ApplyChange(Value, frozen=True, tag="apply_change", tag_field="effect"):
    """Write a rehearsed draft to the workspace, all of it or nothing. `gate` is where the person approved it."""

    draft: Digest
    gate: str
    message: str = ""
    branch: str = ""


class ProveClaims(Value, frozen=True, tag="prove_claims", tag_field="effect"):
    """Run the programs that seats gave as proof of their claims in these rounds; the results settle the claims.

    They run on the workspace, or on the commit `tip`, with `patch` applied if it is given. Where an earlier state
    exists, the commit `base` or the tree without the patch, each proof runs there as well. In a project, they run on
    the workspace with `draft` applied, and there is no earlier state.
    """

    rounds: tuple[str, ...]
    base: str = ""
    tip: str = ""
    patch: Digest = ""
    draft: Digest = ""


class ListProject(Value, frozen=True, tag="list_project", tag_field="effect"):
    """Take a snapshot of the files of a project, which is the workspace with a draft applied.

    It holds as many files as fit into the context windows of these seats (of all, if none are named) besides `answers`
    tokens of answers. If not all fit, the files most relevant to the question, to earlier decisions and to `about` come
    first.
    """

    draft: Digest
    answers: int
    seats: tuple[str, ...] = ()
    about: str = ""


class SplitForReview(Value, frozen=True, tag="cut_for_review", tag_field="effect"):
    """Split a project into chunks of at most `tokens` tokens, each with a map of how it depends on the rest.

    Every chunk fits into the context windows of these seats (of all, if none are named) besides an `answer` of so many
    tokens.
    """

    draft: Digest
    tokens: int
    answer: int
    seats: tuple[str, ...] = ()


class RunProject(Value, frozen=True, tag="run_project", tag_field="effect"):
    """Run a project in the sandbox as its own files define.

    `install` are the arguments of the install step that a person allowed.
    """

    draft: Digest
    install: tuple[str, ...] = ()


class DeliverProject(Value, frozen=True, tag="deliver", tag_field="effect"):
    """Write a finished project to a new folder, git repository or zip file; `gate` is where the person approved it."""

    draft: Digest
    form: Literal["folder", "git", "zip"]
    into: str
    gate: str


class EndStage(Value, frozen=True, tag="end_stage", tag_field="effect"):
    """Record the result of a stage."""

    end: StageEnd


WorkshopEffect = (
    TryCandidates
    | TryMerged
    | SynthesiseDrafts
    | DraftMove
    | PlanChange
    | RehearseChange
    | ApplyChange
    | ProveClaims
    | ListProject
    | SplitForReview
    | RunProject
    | DeliverProject
)
"""Effects that need the workshop."""

Effect = ReadFiles | RunChecks | OpenChild | EndStage | WorkshopEffect


class FilesRead(Value, frozen=True, tag="files_read", tag_field="result"):
    """The snapshots, and the files that were refused with the reason."""

    items: tuple[ContextItem, ...] = ()
    refused: dict[str, str] = {}


class CheckKind(StrEnum):
    """The kinds of checks: a program from the person or a candidate, or a built-in check."""

    PROGRAM = "program"
    EXAMPLES = "examples"
    OWN_TESTS = "own_tests"
    CRASH = "crash"
    SIDE_EFFECTS = "side_effects"
    REGRESSION = "regression"
    EVIDENCE = "evidence"
    AGREEMENT = "agreement"
    CODE = "code"
    TOOLS = "tools"


BUILT_IN_CHECK_NAMES: dict[CheckKind, str] = {
    CheckKind.EXAMPLES: "the examples in the task",
    CheckKind.OWN_TESTS: "its own tests",
    CheckKind.CRASH: "unexpected exit",
    CheckKind.SIDE_EFFECTS: "side effects",
    CheckKind.REGRESSION: "existing behaviour",
    CheckKind.EVIDENCE: "evidence",
    CheckKind.AGREEMENT: "agreement",
    CheckKind.CODE: "code",
    CheckKind.TOOLS: "the programs that check it",
}
"""The names of the built-in checks for people; programs use `kind`."""


class CheckOutcome(Value, frozen=True):
    """The result of one check. `code` is None if it had to be stopped; a built-in check has no `argv`.

    With `original_tests`, it ran with the tests and check files as they were before the candidate changed them.
    `finding` is what a built-in check found, or why a program's success does not count.
    """

    name: str
    argv: tuple[str, ...]
    code: int | None
    output: str = ""
    seconds: float = 0.0
    limit: Limit | None = None
    kind: CheckKind = CheckKind.PROGRAM
    original_tests: bool = False
    finding: CheckFinding | None = None

    @classmethod
    def built_in(
        cls, kind: CheckKind, finding: CheckFinding | None = None, output: str = "", *, passed: bool = False
    ) -> Self:
        """The result of a built-in check; if it failed, the finding says why."""
        return cls(BUILT_IN_CHECK_NAMES[kind], (), 0 if passed else 1, output, kind=kind, finding=finding)

    @property
    def passed(self) -> bool:
        """Whether it ran to its end and found nothing wrong."""
        return self.code == 0

    @property
    def failure_line(self) -> str:
        """The line that says why it failed: the last line that names an error, otherwise the last line."""
        named = _ERROR.findall(self.output)
        return (named[-1] if named else self.output.strip().rpartition("\n")[2]).strip()


class ChecksRun(Value, frozen=True, tag="checks_run", tag_field="result"):
    """The results of the checks, and the checks that were refused with the reason.

    `unenforced` are the resources whose limits the sandbox could not enforce.
    """

    outcomes: tuple[CheckOutcome, ...] = ()
    refused: dict[str, str] = {}
    unenforced: tuple[Resource, ...] = ()


class ChildEnded(Value, frozen=True, tag="child_ended", tag_field="result"):
    """The child session and its decision."""

    session: str
    decision: Decision


class Candidate(Value, frozen=True):
    """The change of one seat and the results of running it. `draft` is empty if nothing of the change can be written.

    `checks` are the repository's own and the built-in ones, which have no `argv`; `tests` says of each test written by
    any seat whether it passed on this candidate. Candidates of one `cluster` behaved alike in everything that was run;
    0 means that it did not run. `without` are its own test files that were left out of the draft because its code fails
    them although stronger evidence supports the code, or because they break the repository's checks. `dropped` are
    files of a new project that were left out because their paths cannot be used. `restored` are existing test files
    whose changes were left out: the candidate passes the original tests. `put_back` are functions, methods and values
    that it removed or changed although the task does not name them: it broke a check, and with them it breaks none.
    `round` is where its change was written; its tests may have been written later.
    """

    seat: str
    draft: Digest = ""
    files: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    checks: tuple[CheckOutcome, ...] = ()
    tests: dict[str, bool] = {}
    cluster: int = 0
    without: tuple[str, ...] = ()
    dropped: tuple[Refusal, ...] = ()
    restored: tuple[str, ...] = ()
    put_back: tuple[str, ...] = ()
    round: str = ""

    @property
    def passed(self) -> bool:
        """Whether the whole change could be written and all checks passed on it."""
        return bool(self.draft) and not self.refused and all(check.passed for check in self.checks)


class CandidatesTried(Value, frozen=True, tag="candidates_tried", tag_field="result"):
    """The candidates, best first; `how` is the reason for their order.

    `best` are the seats whose candidates are equally good by everything that was run. `apart` are inputs and tests on
    which these behave differently, with the results by seat: no program can tell which is right. `sandbox` is where
    everything ran. `unrun` says which checks could not be run or proved nothing. `before` are the
    results of the checks without any change. `tests_to` is a path at which tests of the changed code can be added.
    """

    candidates: tuple[Candidate, ...]
    best: tuple[str, ...] = ()
    how: Reasons = ()
    sandbox: str = ""
    apart: dict[str, dict[str, CallOutcome]] = {}
    unrun: Reasons = ()
    before: tuple[CheckOutcome, ...] = ()
    tests_to: str = ""


class MergeTried(Value, frozen=True, tag="merged_tried", tag_field="result"):
    """The results of running a merged draft; test files that were left out are no longer in its draft."""

    candidate: Candidate


class RemovedSymbol(Value, frozen=True):
    """A symbol that a synthesis removed."""

    path: str
    symbol: str


class UnmergedDirective(Value, frozen=True):
    """A directive that could not be spliced in, why, and the files it concerns."""

    directive: str
    refused: tuple[Refusal, ...]
    files: tuple[str, ...] = ()


class DraftsSynthesised(Value, frozen=True, tag="synthesised", tag_field="result"):
    """The spliced draft, the origin of its parts, the directives that a seat must carry out, and what was removed."""

    draft: Digest
    took: tuple[Contribution, ...] = ()
    left: tuple[UnmergedDirective, ...] = ()
    removed: tuple[RemovedSymbol, ...] = ()


class MoveDrafted(Value, frozen=True, tag="drafted", tag_field="result"):
    """A draft and the operations that were refused; the draft is empty if nothing remains."""

    draft: Digest = ""
    files: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()


class ChangePlanned(Value, frozen=True, tag="planned", tag_field="result"):
    """The hunks that a person is asked to approve, the obstacles to writing them, and dangers.

    `destroys` lists losses that are only allowed by typing `phrase`. `unasked` are hunks that no decision or claim
    requested, and `tests` are existing tests that would change without a request.
    """

    hunks: tuple[Hunk, ...] = ()
    refused: tuple[Refusal, ...] = ()
    destroys: tuple[str, ...] = ()
    phrase: str = ""
    unasked: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


class ChangeRehearsed(Value, frozen=True, tag="rehearsed", tag_field="result"):
    """The accepted hunks as a draft, the results of the checks on it, and hunks that were lost in the merge.

    `destroys` lists dangers (permanent losses, files that other programs execute) that only typing `phrase` allows.
    `leans` are uncommitted files that a check needs in order to pass. `unrun` says which checks could not be run or
    proved nothing. `unenforced` are the resources whose limits the sandbox could not enforce.
    """

    draft: Digest
    checks: tuple[CheckOutcome, ...] = ()
    before: tuple[CheckOutcome, ...] = ()
    lost: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    destroys: tuple[str, ...] = ()
    phrase: str = ""
    leans: tuple[str, ...] = ()
    unrun: Reasons = ()
    unenforced: tuple[Resource, ...] = ()

    @property
    def broken_checks(self) -> tuple[str, ...]:
        """The checks that fail here and did not fail before: they passed, or are new."""
        failing = {check.name for check in self.before if not check.passed}
        return tuple(check.name for check in self.checks if not check.passed and check.name not in failing)


class ChangeApplied(Value, frozen=True, tag="applied", tag_field="result"):
    """The written change: the id for `roundtable undo`, the files, and the commit if there is one.

    `left` are files that changed during the write and were therefore not written. `remarks` say what the
    workshop could not do, or did in another way. `undone` is set if the change was undone before this was recorded.
    """

    undo: str
    files: tuple[str, ...] = ()
    commit: str = ""
    branch: str = ""
    left: tuple[str, ...] = ()
    remarks: tuple[WriteRemark, ...] = ()
    undone: bool = False


class Proof(Value, frozen=True):
    """A claim with the result of its program: whether it is true, and whether it was already true before the change."""

    claim: str
    seat: str
    held: bool | None
    program: str = ""
    outcome: CheckOutcome | None = None
    why: str = ""
    held_before: bool | None = None


class ClaimsProven(Value, frozen=True, tag="claims_proven", tag_field="result"):
    """The results of the claims, and the locations in issues that do not exist. `sandbox` is where the proofs ran."""

    proofs: tuple[Proof, ...] = ()
    nowhere: dict[str, str] = {}
    sandbox: str = ""


class ProjectListed(Value, frozen=True, tag="project_listed", tag_field="result"):
    """The files of a project that are shown, by path; `refused` are those that may not be shown, with the reason.

    `left` are files that did not fit. If there are any, `map` summarises all files.
    """

    items: tuple[ContextItem, ...] = ()
    refused: dict[str, str] = {}
    left: tuple[str, ...] = ()
    map: ContextItem | None = None


class ReviewChunk(Value, frozen=True):
    """A part of a project for one review round: files, or parts of long ones as `path:first-last`, and the map."""

    files: tuple[ContextItem, ...]
    map: ContextItem | None = None


class ProjectSplit(Value, frozen=True, tag="cut_up", tag_field="result"):
    """The chunks of a project, most important first; every file is in exactly one, or split between several."""

    chunks: tuple[ReviewChunk, ...] = ()
    refused: dict[str, str] = {}


class ProjectRan(Value, frozen=True, tag="project_ran", tag_field="result"):
    """The run of a project by `compose`, `dockerfile` or `plan`, and the result of each step.

    If it could not run, there are no steps, and `why` is the reason. `notes` are further remarks for the person.
    `wants_install` are the arguments of an install step that was not allowed; the project ran without it. `stopped` is
    true if the person stopped it.
    """

    how: Literal["", "compose", "dockerfile", "plan"] = ""
    steps: tuple[CheckOutcome, ...] = ()
    why: str = ""
    notes: tuple[str, ...] = ()
    wants_install: tuple[str, ...] = ()
    stopped: bool = False
    sandbox: str = ""

    @property
    def passed(self) -> bool:
        """Whether it ran and every step succeeded."""
        return bool(self.steps) and not self.why and not self.stopped and all(step.passed for step in self.steps)


class ProjectDelivered(Value, frozen=True, tag="delivered", tag_field="result"):
    """Where a project was written to, and its last commit if it is a repository."""

    path: str
    files: tuple[str, ...] = ()
    commit: str = ""


class StageEnded(Value, frozen=True, tag="stage_ended", tag_field="result"):
    """The result of a stage."""

    end: StageEnd


EffectResult = (
    FilesRead
    | ChecksRun
    | ChildEnded
    | CandidatesTried
    | MergeTried
    | DraftsSynthesised
    | MoveDrafted
    | ChangePlanned
    | ChangeRehearsed
    | ChangeApplied
    | ClaimsProven
    | ProjectListed
    | ProjectSplit
    | ProjectRan
    | ProjectDelivered
    | StageEnded
)

SharedResult = FilesRead | ChecksRun | CandidatesTried | ChangeRehearsed | ChangeApplied | ClaimsProven | ProjectRan
"""Results that the seats see from their next turn on."""
