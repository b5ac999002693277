"""Why something was decided, noticed or left out: one closed union of values, each with a code and its fields.

A rule returns reasons, never sentences. `report.reasons` makes the sentences, in one place, so that a web page or a
translation can word them in another way. Names of seats, words of people and messages of programs are data and may be
fields; a sentence of ours may not.

`Said` is the exception: a record from before reasons were values keeps its text in it, word for word.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec

from roundtable.core.candidate_reasons import CandidateReason, CheckFinding, FailedCheck
from roundtable.core.faults import Fault
from roundtable.core.reason_base import ReasonBase, Said
from roundtable.core.refusals import Refusal

# --- how a rule ruled ----------------------------------------------------------------------------


class NobodyCounted(ReasonBase, frozen=True, tag="nobody_counted"):
    """None of the seats that were asked gave an answer that counts."""

    asked: int


class TooFewAnswers(ReasonBase, frozen=True, tag="too_few_answers"):
    """Fewer seats than the quorum gave a valid answer."""

    valid: int
    asked: int


class RoundBelowQuorum(ReasonBase, frozen=True, tag="round_below_quorum"):
    """A later round had no quorum, so the round before it decides."""

    round: str
    valid: int
    asked: int
    decided_by: str


class SingleOpinion(ReasonBase, frozen=True, tag="single_opinion"):
    """Only one seat could be counted."""


class NotAnAgreement(ReasonBase, frozen=True, tag="not_an_agreement"):
    """Notice above a decision that one seat took alone."""


class SeatsAgree(ReasonBase, frozen=True, tag="seats_agree"):
    """More than half of the counted seats are for one proposal. The others accept it where `others_accept` is set."""

    agreeing: int
    counted: int
    after: Literal["blind", "reading"]
    others_accept: bool = False


class NoMajority(ReasonBase, frozen=True, tag="no_majority"):
    """No proposal has more than half of the counted seats."""

    counted: int
    after: Literal["blind", "reading"]


class ConformityDiscounted(ReasonBase, frozen=True, tag="conformity_discounted"):
    """These seats changed their position without naming a reason and count at their blind position."""

    seats: tuple[str, ...]


class OpinionsAgree(ReasonBase, frozen=True, tag="opinions_agree"):
    """All counted seats of a second opinion recommend the same."""

    counted: int
    after: Literal["first_round", "follow_up"]


class OpinionsDiffer(ReasonBase, frozen=True, tag="opinions_differ"):
    """The counted seats of a second opinion recommend different things."""

    counted: int
    after: Literal["first_round", "follow_up"]


class RisksOpen(ReasonBase, frozen=True, tag="risks_open"):
    """These seats see risks that must be resolved first."""

    seats: tuple[str, ...]


class ScoresMissing(ReasonBase, frozen=True, tag="scores_missing"):
    """These seats gave no score that counts."""

    seats: tuple[str, ...]


class AllScoresLow(ReasonBase, frozen=True, tag="all_scores_low"):
    """Every seat scored at most `limit` of ten, which rejects the proposal."""

    limit: float


class ScoresTooLow(ReasonBase, frozen=True, tag="scores_too_low"):
    """These seats scored under the minimum."""

    seats: tuple[str, ...]
    minimum: float


class BlockingIssuesOpen(ReasonBase, frozen=True, tag="blocking_issues_open"):
    """These seats still see an open issue that blocks."""

    seats: tuple[str, ...]


class ScoresHighEnough(ReasonBase, frozen=True, tag="scores_high_enough"):
    """Every seat scored at least the minimum and nothing blocks."""

    minimum: float


class ScoresGiven(ReasonBase, frozen=True, tag="scores_given"):
    """The newest score of each seat, of ten."""

    scores: dict[str, float]


class LeadReason(StrEnum):
    """Why one seat leads or carries out a decision."""

    HIGHEST_SCORE = "highest_score"
    CAPABILITIES_FIT = "capabilities_fit"
    FIRST_IN_PRIORITY = "first_in_priority"
    ONLY_EXECUTOR = "only_executor"
    NAMED_BY_PERSON = "named_by_person"
    OWN_DRAFT = "own_draft"
    EXECUTOR_OF_MEETING = "executor_of_meeting"


class SpeaksForTable(ReasonBase, frozen=True, tag="speaks_for_table"):
    """The seat in whose words the table decides."""

    seat: str
    why: LeadReason


class RootCauseUnclear(ReasonBase, frozen=True, tag="root_cause_unclear"):
    """Fewer seats than needed are sure of one root cause; `unnamed` named none."""

    needed: int
    unnamed: tuple[str, ...] = ()


class RootCausesTied(ReasonBase, frozen=True, tag="root_causes_tied"):
    """Several root causes have the same number of confident seats."""

    causes: tuple[str, ...]


class RootCauseFound(ReasonBase, frozen=True, tag="root_cause_found"):
    """These seats name the same root cause, and each is sure of it."""

    seats: tuple[str, ...]
    cause: str


class NobodyDiagnosed(ReasonBase, frozen=True, tag="nobody_diagnosed"):
    """No diagnosis could be read."""


class ObjectionsRaised(ReasonBase, frozen=True, tag="objections_raised"):
    """These seats object."""

    seats: tuple[str, ...]


class SupportTooLow(ReasonBase, frozen=True, tag="support_too_low"):
    """Fewer seats than needed support the leading proposal."""

    supporting: int
    voting: int
    needed: int


class SupportReached(ReasonBase, frozen=True, tag="support_reached"):
    """Enough seats support the proposal and nobody objects."""

    supporting: int
    voting: int


class ObjectionsNotAsked(ReasonBase, frozen=True, tag="objections_not_asked"):
    """There has been no round in which seats could object."""


class JudgeUnreadable(ReasonBase, frozen=True, tag="judge_unreadable"):
    """No judge gave a ruling that can be read."""


class JudgeRuled(ReasonBase, frozen=True, tag="judge_ruled"):
    """The ruling of the judge."""

    judge: str
    ruling: Literal["consensus", "more_discussion", "neither"]


class NoBallotNamesCandidate(ReasonBase, frozen=True, tag="no_ballot_names_candidate"):
    """No ballot names a candidate."""


class CondorcetWinner(ReasonBase, frozen=True, tag="condorcet_winner"):
    """The winner beats every other candidate one against one."""

    winner: str


class EliminationWinner(ReasonBase, frozen=True, tag="elimination_winner"):
    """No candidate beats every other; this one wins by elimination."""

    winner: str


class NoCondorcetWinner(ReasonBase, frozen=True, tag="no_condorcet_winner"):
    """No candidate beats every other candidate one against one."""


class LastRemaining(ReasonBase, frozen=True, tag="last_remaining"):
    """The winner remains after all others were eliminated."""

    winner: str


class VotesTied(ReasonBase, frozen=True, tag="votes_tied"):
    """These have equally many votes; `votes` is how many of the `counted`, where that was counted."""

    leaders: tuple[str, ...]
    votes: int = 0
    counted: int = 0


class NoBallots(ReasonBase, frozen=True, tag="no_ballots"):
    """There are no ballots."""


class NoPositions(ReasonBase, frozen=True, tag="no_positions"):
    """No seat has a position."""


class MostVotes(ReasonBase, frozen=True, tag="most_votes"):
    """How many of the counted seats are for the leading position; `stance` is it, where seats take stances."""

    votes: int
    counted: int
    stance: str = ""


class NoVoteMajority(ReasonBase, frozen=True, tag="no_vote_majority"):
    """The leading position has no more than half of the counted seats."""

    votes: int
    counted: int


class CandidatesTied(ReasonBase, frozen=True, tag="candidates_tied"):
    """These candidates are tied, one against one and by elimination."""

    candidates: tuple[str, ...]


class FindingsReviewed(ReasonBase, frozen=True, tag="findings_reviewed"):
    """How many seats reviewed, how many findings have which status, and where programs ran."""

    seats: int
    findings: dict[str, int] = {}
    place: str = ""


class NotHeardInRound(ReasonBase, frozen=True, tag="not_heard_in_round"):
    """These seats were not heard in a round in which unproven findings could be settled."""

    round: str
    faults: dict[str, Fault]


class ProofsNotRun(ReasonBase, frozen=True, tag="proofs_not_run"):
    """No program could be run, so nothing is reproduced or refuted; `why` is what the workshop said."""

    why: str


class FindingsUnproven(ReasonBase, frozen=True, tag="findings_unproven"):
    """These findings were neither reproduced nor refuted."""

    findings: tuple[str, ...]


# --- what a person said --------------------------------------------------------------------------


class PersonChose(ReasonBase, frozen=True, tag="person_chose"):
    """The person chose an option, or the proposal of a seat."""

    option: str
    of_seat: bool = False


class PersonRejected(ReasonBase, frozen=True, tag="person_rejected"):
    """The person rejected the decision."""


class PersonCancelled(ReasonBase, frozen=True, tag="person_cancelled"):
    """A person cancelled the session."""


class DecreeUpheld(ReasonBase, frozen=True, tag="decree_upheld"):
    """The position repeats what was rejected or has failed, and does not answer it; the earlier no holds."""

    position: str
    entry: str
    text: str
    why: str = ""


class DecreeAllowed(ReasonBase, frozen=True, tag="decree_allowed"):
    """The position repeats what was rejected or has failed, and the person allowed it."""

    position: str
    entry: str
    text: str


# --- a project in stages -------------------------------------------------------------------------


class StagesStopped(ReasonBase, frozen=True, tag="stages_stopped"):
    """The meeting ended after this stage: the person stopped it or went back, or nobody said to go on."""

    stage: str
    by: Literal["person", "nobody", "back"]


class StagesHeld(ReasonBase, frozen=True, tag="stages_held"):
    """The stages that were held."""

    stages: tuple[str, ...]


class JudgeReadOwnWords(ReasonBase, frozen=True, tag="judge_read_own_words"):
    """In these stages the judge also judged its own words, unsigned."""

    stages: tuple[str, ...]


class LastRunFailed(ReasonBase, frozen=True, tag="last_run_failed"):
    """The project is finished, but its last run failed, or it could not be run at all."""

    ran: bool


class StageFailed(ReasonBase, frozen=True, tag="stage_failed"):
    """This stage had no result."""

    stage: str


class StageNotice(ReasonBase, frozen=True, tag="stage_notice"):
    """A notice of a stage."""

    stage: str
    reason: Reason


class StageNotHeld(ReasonBase, frozen=True, tag="stage_not_held"):
    """No seat was asked in this stage, because a limit of the session was reached."""


class SeatMissing(ReasonBase, frozen=True, tag="seat_missing"):
    """This seat did not answer in a round of the stage."""

    seat: str
    round: str
    fault: Fault


class JudgesMissing(ReasonBase, frozen=True, tag="judges_missing"):
    """These seats were asked to judge and did not answer."""

    seats: tuple[str, ...]


class JudgeNotAsked(ReasonBase, frozen=True, tag="judge_not_asked"):
    """No judge was asked, because a limit of the session was reached."""


class JudgedOwnAnswer(ReasonBase, frozen=True, tag="judged_own_answer"):
    """The judge judged its own answer, unsigned: alone or among others, and why it was the judge anyway."""

    judge: str
    because: Literal["named", "no_other_answered", "no_other_can", "all_answered"]
    alone: bool = False


class FilesUnshown(ReasonBase, frozen=True, tag="files_unshown"):
    """Only so many of all files of the project fitted into the context windows of the seats."""

    shown: int
    total: int


class FilesUnusable(ReasonBase, frozen=True, tag="files_unusable"):
    """These files were not read or not reviewed; by name, what the workshop said about each."""

    action: Literal["read", "reviewed"]
    messages: dict[str, str]


class NothingWritten(ReasonBase, frozen=True, tag="nothing_written"):
    """No seat wrote any file."""


class NoFilesChosen(ReasonBase, frozen=True, tag="no_files_chosen"):
    """The seats do not agree on the files, and the person took none."""


class NothingToReview(ReasonBase, frozen=True, tag="nothing_to_review"):
    """There is no code to review."""


class PartsUnreviewedBySeat(ReasonBase, frozen=True, tag="parts_unreviewed_by_seat"):
    """This seat did not review these parts of the project."""

    seat: str
    parts: tuple[int, ...]
    total: int


class PartsUnreviewed(ReasonBase, frozen=True, tag="parts_unreviewed"):
    """So many parts of the project were not reviewed, because a limit of the session was reached."""

    parts: int
    total: int


class FixesNotRun(ReasonBase, frozen=True, tag="fixes_not_run"):
    """The fixes of findings could not be run; the message is the workshop's."""

    message: str


class RepairCause(StrEnum):
    """Why a finding is fixed or not."""

    PLACE_UNKNOWN = "place_unknown"
    LIMIT_REACHED = "limit_reached"
    SEAT_MISSING = "seat_missing"
    REFUSED = "refused"
    NOTHING_CHANGED = "nothing_changed"
    BROKE_CHECKS = "broke_checks"
    STILL_SHOWN = "still_shown"
    NO_LONGER_SHOWN = "no_longer_shown"


class FindingRepair(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether a finding was fixed, and why or how that is known: checks that a fix broke, or why it was refused."""

    fixed: bool
    cause: RepairCause | None = None
    checks: tuple[str, ...] = ()
    refusal: Refusal | None = None


class FindingsUnfixed(ReasonBase, frozen=True, tag="findings_unfixed"):
    """These critical findings are not fixed; `others` are faults that only the judge named."""

    findings: dict[str, FindingRepair] = {}
    others: tuple[str, ...] = ()


class ProjectNotWritten(ReasonBase, frozen=True, tag="project_not_written"):
    """Nothing of the finished project was written; it can be handed over later."""


class ProjectHandedOver(ReasonBase, frozen=True, tag="project_handed_over"):
    """The project was handed over: how many files, where, and its last commit if there is one."""

    files: int
    path: str
    commit: str = ""


class HandoverFailed(ReasonBase, frozen=True, tag="handover_failed"):
    """The project could not be handed over."""

    fault: Fault


class DraftTakenUnchanged(ReasonBase, frozen=True, tag="draft_taken_unchanged"):
    """The draft of this seat is carried out as it was."""

    seat: str


class StoppedAfterPlan(ReasonBase, frozen=True, tag="stopped_after_plan"):
    """The person stopped after the plan."""


# --- a change on its way to the workspace ---------------------------------------------------------


class ChangeEmpty(ReasonBase, frozen=True, tag="change_empty"):
    """The draft changes nothing."""


class FilesRefused(ReasonBase, frozen=True, tag="files_refused"):
    """These files cannot be written. `remedy` is what the person can do so that `session` can be applied."""

    refused: tuple[Refusal, ...]
    remedy: Literal["", "commit", "stash", "request_again"] = ""
    session: str = ""


class HunksLost(ReasonBase, frozen=True, tag="hunks_lost"):
    """These hunks were lost in the merge."""

    hunks: tuple[str, ...]


class ChecksBroken(ReasonBase, frozen=True, tag="checks_broken"):
    """These checks fail with the change: they passed before the change, or before its repair."""

    checks: tuple[FailedCheck, ...]
    passed_before: Literal["change", "repair"] = "change"


class NewTestsFailed(ReasonBase, frozen=True, tag="new_tests_failed"):
    """The tests that the change adds fail; `output` is the end of what they printed."""

    output: str = ""
    finding: CheckFinding | None = None


class UncommittedFilesNeeded(ReasonBase, frozen=True, tag="uncommitted_files_needed"):
    """A check fails on the committed files and passes with these uncommitted files."""

    files: tuple[str, ...]


class SelectionWeaker(ReasonBase, frozen=True, tag="selection_weaker"):
    """These checks fail with the hunks that the person selected and pass with the whole change."""

    checks: tuple[str, ...]


class HunksNotNamed(ReasonBase, frozen=True, tag="hunks_not_named"):
    """The person selected some hunks without saying which."""


class ApprovalsMissing(ReasonBase, frozen=True, tag="approvals_missing"):
    """Fewer seats than needed approved the change; `objections` are the words of those that ask for changes."""

    approved: int
    needed: int
    objections: dict[str, str] = {}


class WorkshopStepFailed(ReasonBase, frozen=True, tag="step_failed"):
    """A step of the meeting failed."""

    fault: Fault


class NotYetWritten(ReasonBase, frozen=True, tag="not_yet_written"):
    """Nothing has been written so far, and the person is asked again."""


class ChoiceRepeated(ReasonBase, frozen=True, tag="choice_repeated"):
    """The person has to choose again about the same draft."""


class DraftRepaired(ReasonBase, frozen=True, tag="draft_repaired"):
    """This seat repaired the draft."""

    seat: str


class ChangeNotWritten(ReasonBase, frozen=True, tag="change_not_written"):
    """Nothing was written; the reasons that follow say why."""


class ChangeDeclined(ReasonBase, frozen=True, tag="change_declined"):
    """The person said no, so nothing was written."""


class ChangeUnapproved(ReasonBase, frozen=True, tag="change_unapproved"):
    """Nothing was written, because nobody approved it, or the phrase that allows a dangerous change was not given.

    `tests` are existing tests that the change would alter.
    """

    missing: Literal["answer", "phrase"]
    tests: tuple[str, ...] = ()


class DryRunEnded(ReasonBase, frozen=True, tag="dry_run_ended"):
    """A dry run showed so many hunks and wrote nothing."""

    hunks: int


class WriteFailed(ReasonBase, frozen=True, tag="write_failed"):
    """The approved change could not be written."""

    fault: Fault


class ChangeWritten(ReasonBase, frozen=True, tag="change_written"):
    """The change was written: where, after how many checks, and the id under which it can be undone.

    `failing` are checks that failed before the change as well; `undone` says that it was undone since.
    """

    files: tuple[str, ...]
    undo: str
    commit: str = ""
    branch: str = ""
    checks: int = 0
    failing: tuple[str, ...] = ()
    undone: bool = False


class NoChecksRun(ReasonBase, frozen=True, tag="no_checks_run"):
    """There were no checks to run."""


class FilesPending(ReasonBase, frozen=True, tag="files_pending"):
    """The disk refused to write this file, and perhaps others; the next command in the workspace writes them."""

    path: str
    problem: str


class CleanupPending(ReasonBase, frozen=True, tag="cleanup_pending"):
    """Git's index or the journal was not updated; the next command in the workspace updates it."""


class CommitStepsSkipped(ReasonBase, frozen=True, tag="commit_steps_skipped"):
    """These hooks did not run, and the commit is not signed although git is configured to sign."""

    hooks: tuple[str, ...] = ()
    unsigned: bool = False


WriteRemark: TypeAlias = FilesPending | CleanupPending | CommitStepsSkipped | Said
"""Remarks on a written change: steps that failed or were done in another way. Older records hold text."""


class HunksEdited(ReasonBase, frozen=True, tag="hunks_edited"):
    """The person left out or rewrote these hunks before the change was written."""

    rejected: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()


class FilesSkipped(ReasonBase, frozen=True, tag="files_skipped"):
    """These files were not written, because somebody changed them during the write."""

    files: tuple[str, ...]


# --- bounds, absences and what the engine knows ---------------------------------------------------


class LimitMet(ReasonBase, frozen=True, tag="limit_met"):
    """A budget or a number of rounds was used up."""

    limit: str
    spent: float
    allowed: float


class AnswersCutOff(ReasonBase, frozen=True, tag="answers_cut_off"):
    """Answers that were cut off at the token limit, each as seat and round."""

    answers: tuple[tuple[str, str], ...]


class StoppedBeforeDeciding(ReasonBase, frozen=True, tag="stopped_before_deciding"):
    """The meeting was stopped before the round that decides."""


class NobodyAnswered(ReasonBase, frozen=True, tag="nobody_answered"):
    """The question got no answer."""


class QuestionAnswered(ReasonBase, frozen=True, tag="question_answered"):
    """A seat answered a question about a session, which stays as it was."""

    seat: str


class ChildMeetingFailed(ReasonBase, frozen=True, tag="child_meeting_failed"):
    """The child meeting gave no decision; `fault` says why, where that is known."""

    fault: Fault | None = None


class ExecutorMissing(ReasonBase, frozen=True, tag="executor_missing"):
    """The seat that should carry the decision out is not at the table."""

    seat: str


class PlanMissing(ReasonBase, frozen=True, tag="plan_missing"):
    """The seat that should carry the decision out gave no plan."""

    seat: str


AgreementReason: TypeAlias = (
    NobodyCounted
    | TooFewAnswers
    | RoundBelowQuorum
    | SingleOpinion
    | NotAnAgreement
    | SeatsAgree
    | NoMajority
    | ConformityDiscounted
)
"""How a council ended, and whether a round counts."""

OpinionReason: TypeAlias = (
    OpinionsAgree | OpinionsDiffer | RisksOpen | FindingsReviewed | NotHeardInRound | ProofsNotRun | FindingsUnproven
)
"""How second opinions and a review ended."""

ScoreReason: TypeAlias = (
    ScoresMissing | AllScoresLow | ScoresTooLow | BlockingIssuesOpen | ScoresHighEnough | ScoresGiven | SpeaksForTable
)
"""How a meeting that is decided by scores ended."""

DiagnosisReason: TypeAlias = RootCauseUnclear | RootCausesTied | RootCauseFound | NobodyDiagnosed
"""How a search for a root cause ended."""

VoteReason: TypeAlias = (
    ObjectionsRaised
    | SupportTooLow
    | SupportReached
    | ObjectionsNotAsked
    | JudgeUnreadable
    | JudgeRuled
    | NoBallotNamesCandidate
    | CondorcetWinner
    | EliminationWinner
    | CandidatesTied
)
"""How a debate, a judge or a ranked vote ended."""

RecountReason: TypeAlias = (
    NoCondorcetWinner | LastRemaining | VotesTied | NoBallots | NoPositions | MostVotes | NoVoteMajority
)
"""The results of votes that are counted again by another rule."""

PersonReason: TypeAlias = PersonChose | PersonRejected | PersonCancelled | DecreeUpheld | DecreeAllowed
"""Choices of a person, at a gate or by a command."""

StageReason: TypeAlias = StagesStopped | StagesHeld | JudgeReadOwnWords | LastRunFailed | StageFailed | StageNotice
"""How the stages of a project ended."""

NoticeReason: TypeAlias = (
    StageNotHeld
    | SeatMissing
    | JudgesMissing
    | JudgeNotAsked
    | JudgedOwnAnswer
    | FilesUnshown
    | FilesUnusable
    | NothingWritten
    | NoFilesChosen
    | NothingToReview
    | PartsUnreviewedBySeat
    | PartsUnreviewed
    | FixesNotRun
    | FindingsUnfixed
)
"""Notices of one stage in addition to its result."""

HandoverReason: TypeAlias = (
    ProjectNotWritten | ProjectHandedOver | HandoverFailed | DraftTakenUnchanged | StoppedAfterPlan
)
"""How a finished project, or what was decided earlier, was carried out."""

RehearsalReason: TypeAlias = (
    ChangeEmpty
    | FilesRefused
    | HunksLost
    | ChecksBroken
    | NewTestsFailed
    | UncommittedFilesNeeded
    | SelectionWeaker
    | HunksNotNamed
    | ApprovalsMissing
    | WorkshopStepFailed
    | NotYetWritten
    | ChoiceRepeated
    | DraftRepaired
)
"""Reasons why a change cannot be written yet, or why the person is asked about it again."""

WriteReason: TypeAlias = (
    ChangeNotWritten
    | ChangeDeclined
    | ChangeUnapproved
    | DryRunEnded
    | WriteFailed
    | ChangeWritten
    | NoChecksRun
    | FilesPending
    | CleanupPending
    | CommitStepsSkipped
    | HunksEdited
    | FilesSkipped
)
"""Whether a change was written to the workspace, with remarks about it."""

CourseReason: TypeAlias = (
    LimitMet
    | AnswersCutOff
    | StoppedBeforeDeciding
    | NobodyAnswered
    | QuestionAnswered
    | ChildMeetingFailed
    | ExecutorMissing
    | PlanMissing
)
"""Reached limits, missing answers and other events in the course of a meeting."""

Reason: TypeAlias = (
    Said
    | AgreementReason
    | OpinionReason
    | ScoreReason
    | DiagnosisReason
    | VoteReason
    | RecountReason
    | PersonReason
    | StageReason
    | NoticeReason
    | HandoverReason
    | RehearsalReason
    | WriteReason
    | CandidateReason
    | CourseReason
)
"""Every kind of reason. Older records hold text instead, which is read as `Said`."""

Reasons: TypeAlias = tuple[Reason, ...]
"""Reasons in the order in which they are shown."""


def distinct_reasons(reasons: Iterable[Reason], without: Iterable[Reason] = ()) -> Reasons:
    """Each reason once, in order, and none of those in `without`."""
    excluded, kept = list(without), list[Reason]()
    for reason in reasons:
        if reason not in kept and reason not in excluded:
            kept.append(reason)
    return tuple(kept)
