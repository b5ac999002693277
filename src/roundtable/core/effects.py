"""What a meeting may have done besides talking: a closed union, recorded like asks."""

from __future__ import annotations

import re
from typing import Literal

from roundtable.core.changeset import Hunk, Refusal
from roundtable.core.sandbox import Limit
from roundtable.core.stages import Contribution, StageEnd
from roundtable.core.values import Charter, ContextItem, Decision, Digest, Value

_ERROR = re.compile(
    r"^(?:E +)?((?:[\w.]*(?:Error|Exception)\b|FAILED \S+ - |panic: |assertion (?=.*\bfailed)|error\[E\d+\]: "
    r"|\S+\(\d+,\d+\): error TS).*)$",
    re.MULTILINE,
)


class ReadFiles(Value, frozen=True, tag="read_files", tag_field="effect"):
    """Snapshot files of the workspace, as `path` or `path:first-last`."""

    paths: tuple[str, ...]


class RunChecks(Value, frozen=True, tag="run_checks", tag_field="effect"):
    """Run read-only checks by the names the person has listed them under; nothing else can be run."""

    checks: tuple[str, ...]


class OpenChild(Value, frozen=True, tag="open_child", tag_field="effect"):
    """Hold another meeting under this one and wait for its decision."""

    charter: Charter


class TryCandidates(Value, frozen=True, tag="try_candidates", tag_field="effect"):
    """Run what these seats wrote in a round (a changeset each, in their moves) against checks and each other's tests.

    A seat's later round, listed after, stands for its earlier one; new tests alone join what it wrote before. All are
    laid over the draft `over`, if there is one.
    """

    rounds: tuple[str, ...]
    seats: tuple[str, ...]
    over: Digest = ""


class TryMerged(Value, frozen=True, tag="try_merged", tag_field="effect"):
    """Run a draft that was made of one seat's candidate just as that was run: the checks, the examples, all tests.

    `rounds`, `seats` and `over` are those of the candidates; their tests are run on the draft as they were written.
    """

    draft: Digest
    base: str
    rounds: tuple[str, ...]
    seats: tuple[str, ...]
    over: Digest = ""


class SynthesiseDrafts(Value, frozen=True, tag="synthesise", tag_field="effect"):
    """Take one draft as it is and splice into it what the directives name from the others, by whom they are of."""

    base: str
    drafts: dict[str, Digest]
    incorporate: tuple[str, ...] = ()


class DraftMove(Value, frozen=True, tag="draft_move", tag_field="effect"):
    """What a seat's move wants to be written comes to on the workspace, laid over an earlier draft if there is one.

    `scope` are the path patterns it was asked about; without any, the whole workspace.
    """

    round: str
    seat: str
    over: Digest = ""
    scope: tuple[str, ...] = ()


class PlanChange(Value, frozen=True, tag="plan_change", tag_field="effect"):
    """Hold a draft against the workspace as it is now, and show it hunk by hunk."""

    draft: Digest


class RehearseChange(Value, frozen=True, tag="rehearse", tag_field="effect"):
    """Merge what was chosen of a draft in a scratch tree, run the checks there, and see that every hunk survived.

    `choice` is the person's answer at the gate: nothing for all of it, or which hunks were left or rewritten.
    """

    draft: Digest
    choice: str = ""


class ApplyChange(Value, frozen=True, tag="apply_change", tag_field="effect"):
    """Write a rehearsed draft to the workspace: all of it or nothing. `gate` is where the person said yes to it."""

    draft: Digest
    gate: str
    message: str = ""
    branch: str = ""


class ProveClaims(Value, frozen=True, tag="prove_claims", tag_field="effect"):
    """Run the proofs that seats gave for their claims in these rounds; what they come to settles the claims.

    They run on the workspace, or on the commit `tip`, with the `patch` laid over it if there is one. Where something
    is before it, the commit `base` or the tree without the patch, each proof runs there as well. Of a project, they run
    on the workspace with its `draft`, and nothing is before it.
    """

    rounds: tuple[str, ...]
    base: str = ""
    tip: str = ""
    patch: Digest = ""
    draft: Digest = ""


class ListProject(Value, frozen=True, tag="list_project", tag_field="effect"):
    """Snapshot the files of a project, which is the workspace with a draft laid over it.

    As many as have room in the windows of these seats, or of all, besides `answers` of so many tokens; where that is
    not for all, first those that bear most on the question, on what was decided and on what it is `about` in
    particular.
    """

    draft: Digest
    answers: int
    seats: tuple[str, ...] = ()
    about: str = ""


class SplitForReview(Value, frozen=True, tag="cut_for_review", tag_field="effect"):
    """Cut a project into chunks of at most so many tokens, each with a map of what in it hangs on the rest.

    Every one has room in the windows of these seats, or of all, besides an `answer` of so many tokens.
    """

    draft: Digest
    tokens: int
    answer: int
    seats: tuple[str, ...] = ()


class RunProject(Value, frozen=True, tag="run_project", tag_field="effect"):
    """Run a project in the sandbox as its own files say; `install` are the arguments of the install step that a person
    has allowed, and of no other."""

    draft: Digest
    install: tuple[str, ...] = ()


class DeliverProject(Value, frozen=True, tag="deliver", tag_field="effect"):
    """Hand a finished project over, as a new folder, a git repository or a zip; `gate` is where the person said so."""

    draft: Digest
    form: Literal["folder", "git", "zip"]
    into: str
    gate: str


class EndStage(Value, frozen=True, tag="end_stage", tag_field="effect"):
    """Put on the record what a stage came to, so that everybody finds it there."""

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
"""What takes the workshop."""

Effect = ReadFiles | RunChecks | OpenChild | EndStage | WorkshopEffect


class FilesRead(Value, frozen=True, tag="files_read", tag_field="result"):
    """The snapshots, and what was refused with the reason."""

    items: tuple[ContextItem, ...] = ()
    refused: dict[str, str] = {}


class CheckOutcome(Value, frozen=True):
    """What one check said. `code` is None where it had to be stopped; without `argv` it is a check of our own."""

    name: str
    argv: tuple[str, ...]
    code: int | None
    output: str = ""
    seconds: float = 0.0
    limit: Limit | None = None

    @property
    def passed(self) -> bool:
        """Whether it ran to its end and found nothing wrong."""
        return self.code == 0

    @property
    def gist(self) -> str:
        """The line that says why it failed: the last that names an error, or the last of all."""
        named = _ERROR.findall(self.output)
        return (named[-1] if named else self.output.strip().rpartition("\n")[2]).strip()


class ChecksRun(Value, frozen=True, tag="checks_run", tag_field="result"):
    """What the checks said, and which were not run and why."""

    outcomes: tuple[CheckOutcome, ...] = ()
    refused: dict[str, str] = {}


class ChildEnded(Value, frozen=True, tag="child_ended", tag_field="result"):
    """The child session and what it decided."""

    session: str
    decision: Decision


class Candidate(Value, frozen=True):
    """What one seat wrote and what running it showed. `draft` is empty where nothing of it can be written.

    `checks` are the repository's own and ours, which have no `argv`; `tests` says of every test the seats wrote
    whether it passed here. Candidates with the same `cluster` could not be told apart by anything that was run; 0
    is none, for one that did not run. `without` are test files of its own that are left out of the draft: something
    stands above them that says that its code does what it is for, and the code fails them, or they break the
    repository's checks. `dropped` are files of a new project that cannot be called as they are, and that it goes
    without. `restored` are files of tests that were there, whose changes are left out: it passes them as they were.
    `put_back` are functions, methods and values that it lost or changed although the task does not name them: it
    broke a check, and with them it breaks none.
    `round` is where its change was written; tests may have come later, by themselves.
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
        """Whether all of it could be written and all checks passed on it."""
        return bool(self.draft) and not self.refused and all(it.passed for it in self.checks)


class CandidatesTried(Value, frozen=True, tag="candidates_tried", tag_field="result"):
    """The candidates best first, as running them showed; `how` says what the order rests on.

    `best` are the seats among whom running them decides nothing. `apart` are inputs and tests for which those do not do
    the same, with what comes out by seat: who is right, no program can tell. `sandbox` is where it all ran. `unrun`
    says which checks could not be run or showed nothing, a sentence each. `before` is how the checks ended without any
    of them. `tests_to` is a file that is not there yet, for tests of what they change.
    """

    candidates: tuple[Candidate, ...]
    best: tuple[str, ...] = ()
    how: str = ""
    sandbox: str = ""
    apart: dict[str, dict[str, str]] = {}
    unrun: tuple[str, ...] = ()
    before: tuple[CheckOutcome, ...] = ()
    tests_to: str = ""


class MergeTried(Value, frozen=True, tag="merged_tried", tag_field="result"):
    """What running a merged draft showed, as of a candidate; its draft is without what was left out of it."""

    candidate: Candidate


class RemovedSymbol(Value, frozen=True):
    """One symbol that a synthesis took out; it came from nobody."""

    path: str
    symbol: str


class UnmergedDirective(Value, frozen=True):
    """A directive that could not be spliced, why, and the files it concerns."""

    directive: str
    why: str
    files: tuple[str, ...] = ()


class DraftsSynthesised(Value, frozen=True, tag="synthesised", tag_field="result"):
    """The spliced draft, what in it came from whom, what has to be asked for in words, and what was taken out."""

    draft: Digest
    took: tuple[Contribution, ...] = ()
    left: tuple[UnmergedDirective, ...] = ()
    removed: tuple[RemovedSymbol, ...] = ()


class MoveDrafted(Value, frozen=True, tag="drafted", tag_field="result"):
    """A draft and what was refused of the wish; the draft is empty where nothing is left of it."""

    draft: Digest = ""
    files: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()


class ChangePlanned(Value, frozen=True, tag="planned", tag_field="result"):
    """The hunks a person is asked about, what stands against writing them, and what would be lost for good.

    `destroys` names what only a typed `phrase` allows. `unasked` are hunks that no decision or claim asked for, and
    `tests` those that were there and would be others, without anybody having asked for that.
    """

    hunks: tuple[Hunk, ...] = ()
    refused: tuple[Refusal, ...] = ()
    destroys: tuple[str, ...] = ()
    phrase: str = ""
    unasked: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


class ChangeRehearsed(Value, frozen=True, tag="rehearsed", tag_field="result"):
    """What was chosen as a draft of its own, how the checks ended on it, and which hunks did not survive the merge.

    `destroys` is what of it would be lost for good, which only the typed `phrase` allows. `leans` are files beside it
    that are not committed, where a check passes with them and fails without. `unrun` says which checks could not be run
    or showed nothing, a sentence each.
    """

    draft: Digest
    checks: tuple[CheckOutcome, ...] = ()
    before: tuple[CheckOutcome, ...] = ()
    lost: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    destroys: tuple[str, ...] = ()
    phrase: str = ""
    leans: tuple[str, ...] = ()
    unrun: tuple[str, ...] = ()

    @property
    def broke(self) -> tuple[str, ...]:
        """The checks that failed here and did not before: they passed, or came with the change."""
        failing = {it.name for it in self.before if not it.passed}
        return tuple(it.name for it in self.checks if not it.passed and it.name not in failing)


class ChangeApplied(Value, frozen=True, tag="applied", tag_field="result"):
    """What was written: the id `roundtable undo` takes, the files, and the commit where there is one.

    `left` are files that somebody changed in the very moment of writing: they were left as they are. `note` says what
    is still to be done, if anything is. `undone` is set where it was taken back before this came on the record.
    """

    undo: str
    files: tuple[str, ...] = ()
    commit: str = ""
    branch: str = ""
    left: tuple[str, ...] = ()
    note: str = ""
    undone: bool = False


class Proof(Value, frozen=True):
    """A claim that was run: by whom, the program, how it ended, whether it held, and whether it did so before."""

    claim: str
    seat: str
    held: bool | None
    program: str = ""
    outcome: CheckOutcome | None = None
    why: str = ""
    held_before: bool | None = None


class ClaimsProven(Value, frozen=True, tag="claims_proven", tag_field="result"):
    """What running the claims came to, and which places that issues name are not there. `sandbox` is where it ran."""

    proofs: tuple[Proof, ...] = ()
    nowhere: dict[str, str] = {}
    sandbox: str = ""


class ProjectListed(Value, frozen=True, tag="project_listed", tag_field="result"):
    """The files of a project that are shown, by path; `refused` says which may not be and why.

    `left` are those for which there is no room. Where there are any, the `map` says what is in all of them.
    """

    items: tuple[ContextItem, ...] = ()
    refused: dict[str, str] = {}
    left: tuple[str, ...] = ()
    map: ContextItem | None = None


class ReviewChunk(Value, frozen=True):
    """A part of a project that is reviewed at once: files, or parts of long ones as `path:first-last`, and the map."""

    files: tuple[ContextItem, ...]
    map: ContextItem | None = None


class ProjectSplit(Value, frozen=True, tag="cut_up", tag_field="result"):
    """The chunks of a project, the most important first; every file is in exactly one, or in parts of it."""

    chunks: tuple[ReviewChunk, ...] = ()
    refused: dict[str, str] = {}


class ProjectRan(Value, frozen=True, tag="project_ran", tag_field="result"):
    """How a project was run (`compose`, `dockerfile` or `plan`), and how each step ended; none where nothing could be.

    `why` says in a sentence what stood in the way, `notes` what has to be known besides. `wants_install` are the
    arguments of an install step that nobody has allowed; it was run without. `stopped` is true where the person stopped
    it.
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
        """Whether it ran, and every step did what it should."""
        return bool(self.steps) and not self.why and not self.stopped and all(it.passed for it in self.steps)


class ProjectDelivered(Value, frozen=True, tag="delivered", tag_field="result"):
    """Where a project was handed over to, and its last commit where it is a repository."""

    path: str
    files: tuple[str, ...] = ()
    commit: str = ""


class StageEnded(Value, frozen=True, tag="stage_ended", tag_field="result"):
    """What a stage came to."""

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
"""What lies before the seats from the next turn on."""
