"""The build: every seat writes the change, running the candidates decides, and a person approves before it is written.

1. Blind: each seat writes the whole change, with tests. Each candidate is run in a sandbox against the repository's own
   checks and the other candidates' tests. If none passes, their authors see why and fix them, and they are run again;
   an author whose change lacks only a test that proves it is asked for that test alone.
2. The results decide. Where passing candidates behave differently, the person says which is right; where a candidate is
   supported only by its author's own tests, the person says whether that is enough. Only candidates that behave alike
   go to judges, unsigned and in both orders; a verdict that changes with the order is discarded. The judges may also
   take parts from the other candidates.
3. Those parts are spliced in by structure. The author of the base is asked for what cannot be spliced; the result must
   pass everything the base passed, otherwise the base is used alone.
4. The change is carried out like every change: shown, approved, rehearsed, written.

A build can require approvals of other seats before the person sees the change; authors' approvals do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

import msgspec

from roundtable.core.decide import change_outcome, trial_outcome
from roundtable.core.decide.positions import decide_without_quorum
from roundtable.core.effects import Candidate, CandidatesTried, ChangePlanned, PlanChange
from roundtable.core.ports import Table
from roundtable.core.reasons import ApprovalsMissing
from roundtable.core.values import Decision, Digest, Expect, Gate, Prompt, Quorum, Round, Turns
from roundtable.core.verdict import Stance
from roundtable.meetings.meeting import Meeting, PlannedRound, RetryCount
from roundtable.meetings.merge_candidates import JUDGE_ROUND, REFINE_ROUND, MergedCandidate, hold_judge_rounds
from roundtable.meetings.try_candidates import (
    EVIDENCE_ROUND,
    FIX_ROUND,
    RESTART_ROUND,
    WHOLE_FILES_CODEC,
    StepFailed,
    meeting_changes_reply_format,
    perform_required_meeting_step,
    try_and_fix_candidates_in_meeting,
)
from roundtable.meetings.write_change import (
    WRITE_GATES,
    WriteProgress,
    render_meeting_prompt_hunks,
    write_change_in_meeting,
)
from roundtable.report.candidate_words import (
    behaviour_question_sentence,
    describe_candidate_behaviour,
    unverified_candidate_question_sentence,
)

STAGE = "build"
WHICH_GATE, DOUBT_GATE, NONE_OPTION = "which", "doubt", "none of them"
PROPOSE = PlannedRound("propose", WHOLE_FILES_CODEC, Turns(visibility="none", at_bench=True))
ApprovalCount = Annotated[int, msgspec.Meta(ge=0, le=8)]


class BuildSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often a failing change is fixed, and who decides; the command fills in the last two settings.

    `approvals` is how many seats that wrote no part of a change must approve it before the person is asked.
    """

    mends: RetryCount = 1
    repairs: RetryCount = 2
    judge: bool = True
    approvals: ApprovalCount = 0
    dry_run: bool = False
    branch: str = ""


def _plan_build_rounds(settings: BuildSettings, options: Sequence[str]) -> tuple[PlannedRound, ...]:
    """The rounds of a build: one is likely, the others are held if candidates fail or behave alike."""
    return (
        PROPOSE,
        *[EVIDENCE_ROUND, FIX_ROUND, RESTART_ROUND] * settings.mends,
        *[JUDGE_ROUND, JUDGE_ROUND, REFINE_ROUND] * settings.judge,
        *[APPROVAL] * (settings.approvals > 0),
    )


async def _hold_build_meeting(table: Table) -> Decision:
    """Hold a build."""
    settings = msgspec.convert(table.charter.settings, BuildSettings)
    task = {"task": table.charter.question}
    reply_format = meeting_changes_reply_format(table)
    proposed = await table.ask(
        "build/1-propose", Prompt(PROPOSE.template, task), expect=reply_format, turns=PROPOSE.turns
    )
    if not proposed.quorate:
        return decide_without_quorum(proposed)
    rounds: tuple[Round, ...] = (proposed,)
    try:
        restart, evidence = (Prompt(planned.template, task) for planned in (RESTART_ROUND, EVIDENCE_ROUND))
        rounds, result = await try_and_fix_candidates_in_meeting(
            table, STAGE, 1, proposed, settings.mends, restart, evidence
        )
        candidates = trial_outcome.decide_best_candidates(result)
        doubted = () if candidates else trial_outcome.decide_unverified_candidates(result)
        if doubted and (seat := await _ask_about_unverified(table, result, doubted)) != NONE_OPTION:
            candidates = tuple(candidate for candidate in doubted if candidate.seat == seat)
            result = trial_outcome.decide_ranking_for_unverified_candidate(result, seat)
        candidates = candidates or trial_outcome.decide_candidate_failing_only_original_tests(result)
        if not candidates and doubted:
            return trial_outcome.decide_no_candidate_verified(
                result, rounds, answered=not table.answered_by_default(DOUBT_GATE)
            )
        if not candidates:
            return trial_outcome.decide_no_candidate_passed(result, rounds)
        if behaviours := trial_outcome.decide_behaviour_clusters(result):
            seat = await _ask_which_behaviour(table, result, behaviours)
            if seat not in behaviours:
                return trial_outcome.decide_behaviour_undecided(
                    result, rounds, answered=not table.answered_by_default(WHICH_GATE)
                )
            result = trial_outcome.decide_ranking_for_behaviour_cluster(result, behaviours[seat])
            candidates = trial_outcome.decide_best_candidates(result)
        progress = WriteProgress(
            STAGE, candidates[0].seat, settings.repairs, settings.dry_run, settings.branch, settings.mends + 1
        )
        merged = MergedCandidate(candidates[0].seat, candidates[0].draft, (candidates[0].seat,))
        if settings.judge and len(candidates) > 1:
            merged = await hold_judge_rounds(table, progress, rounds, result)
        progress.seat, progress.preface = merged.base, trial_outcome.decide_candidate_warnings(result, merged.base)
        needed = settings.approvals
        judged_by = merged.judged or needed > 0
        decision = trial_outcome.decide_candidate_chosen(
            result, rounds, merged.base, table.charter.question, merged.reasons, judged=judged_by
        )
        if needed and (missing := await _ask_for_approvals(table, progress, merged.draft, merged.authors, needed)):
            return change_outcome.decision_on_unwritable_change(decision, missing)
        return await write_change_in_meeting(
            table, progress, trial_outcome.decision_with_single_author_notice(decision), merged.draft
        )
    except StepFailed as stop:
        return trial_outcome.failed_step_decision(stop.fault, rounds)


async def _ask_about_unverified(table: Table, result: CandidatesTried, doubted: Sequence[Candidate]) -> str:
    """Ask the person whether to take a candidate that could not be verified; only a person may accept it."""
    details = {
        candidate.seat: describe_candidate_behaviour(result, candidate.seat)
        or trial_outcome.decision_summary_of_changed_files(candidate.files)
        for candidate in doubted
    }
    details[NONE_OPTION] = "take none of them"
    question = unverified_candidate_question_sentence(result)
    return await table.gate(Gate(DOUBT_GATE, question, tuple(details), NONE_OPTION, details, writes=True))


async def _ask_which_behaviour(table: Table, result: CandidatesTried, behaviours: Mapping[str, Sequence[str]]) -> str:
    """Ask the person which of several behaviours is right."""
    details = {seat: describe_candidate_behaviour(result, seat) for seat in behaviours}
    details[NONE_OPTION] = "take none of them"
    return await table.gate(Gate(WHICH_GATE, behaviour_question_sentence(result), tuple(details), NONE_OPTION, details))


APPROVAL = PlannedRound("approval", "approval", Turns(visibility="none"))
MEETING = Meeting(
    "build",
    6,
    _hold_build_meeting,
    BuildSettings,
    _plan_build_rounds,
    ("system", "propose", "evidence", "mend", "anew", "judge", "refine", "approval", "about", "repair"),
    "Every seat writes the change, the candidates are run to choose one, and you approve before anything is written.",
    gates=(WHICH_GATE, *WRITE_GATES, DOUBT_GATE),
    advance_answers={DOUBT_GATE: (NONE_OPTION,), **WRITE_GATES},
    shows_project=True,
    writes_files=True,
    filled_settings=("dry_run", "branch"),
    quorum=Quorum(1),
)


async def _ask_for_approvals(
    table: Table, progress: WriteProgress, draft: Digest, authors: Collection[str], needed: int
) -> ApprovalsMissing | None:
    """Ask the other seats to approve a change; returns what is missing, if anything."""
    reviewers = tuple(seat.name for seat in table.seats if seat.name not in authors)
    name = progress.next_round("approval")
    if len(reviewers) < needed or not await table.may_open(name):
        return change_outcome.decide_missing_approvals(0, needed, {})
    planned = await perform_required_meeting_step(table, f"{name}/plan", PlanChange(draft), ChangePlanned)
    prompt = Prompt(APPROVAL.template, quotes={"change": render_meeting_prompt_hunks(planned.hunks)})
    answers = await table.ask(name, prompt, expect=Expect(APPROVAL.codec), seats=reviewers, turns=APPROVAL.turns)
    counted = [move for move in answers.moves if move.verdict.counts]
    approved = sum(move.verdict.stance is Stance.SUPPORT for move in counted)
    objections = {
        move.seat: "; ".join(issue.text for issue in move.verdict.issues)
        for move in counted
        if move.verdict.stance is Stance.OPPOSE
    }
    return change_outcome.decide_missing_approvals(approved, needed, objections)
