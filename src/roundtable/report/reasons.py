"""The sentences for typed reasons: every reason of `core.reasons` is worded here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from roundtable.core import reasons as why
from roundtable.core.events import LimitReached
from roundtable.core.faults import Fault
from roundtable.core.reasons import LeadReason, Reason
from roundtable.core.text.wording import end_text_as_sentence, join_names_as_text, pluralize
from roundtable.core.values import Decision, Substitution
from roundtable.report.candidate_words import candidate_reason_sentence
from roundtable.report.change_reasons import change_write_reason_sentence, rehearsal_reason_sentence
from roundtable.report.costs import render_money
from roundtable.report.stage_notices import notice_reason_sentence

LEAD_REASON_WORDS: dict[LeadReason, str] = {
    LeadReason.HIGHEST_SCORE: "its score is the highest",
    LeadReason.CAPABILITIES_FIT: "among the highest scores, its capabilities fit the question best",
    LeadReason.FIRST_IN_PRIORITY: "among the highest scores, it comes first in priority",
    LeadReason.ONLY_EXECUTOR: "it is the only seat with the right to execute",
    LeadReason.NAMED_BY_PERSON: "the person named it",
    LeadReason.OWN_DRAFT: "its draft is used unchanged",
    LeadReason.EXECUTOR_OF_MEETING: "the meeting named it as its executor",
}

_COUNCIL_ROUND = {"blind": "in the blind round", "reading": "after reading each other's answers"}
_OPINION_ROUND = {"first_round": "in the first round", "follow_up": "after one follow-up round"}
_JUDGE_RULING = {
    "consensus": "found a consensus",
    "more_discussion": "wants more discussion",
    "neither": "reached no ruling",
}


def decision_sentence(decision: Decision) -> str:
    """How a decision was reached, as text for people."""
    return describe_reasons(decision.how)


def notice_sentences(decision: Decision) -> tuple[str, ...]:
    """The notices of a decision, one sentence or more each."""
    return tuple(map(reason_sentence, decision.notices))


def describe_reasons(reasons: Iterable[Reason]) -> str:
    """Several reasons as one text."""
    return " ".join(filter(None, map(reason_sentence, reasons)))


def reason_sentence(reason: Reason) -> str:
    """One reason for people, in plain text."""
    if isinstance(reason, why.Said):
        return reason.text
    if isinstance(reason, why.AgreementReason):
        return _agreement_sentence(reason)
    if isinstance(reason, why.OpinionReason):
        return _opinion_sentence(reason)
    if isinstance(reason, why.ScoreReason):
        return _score_sentence(reason)
    if isinstance(reason, why.DiagnosisReason):
        return _diagnosis_sentence(reason)
    if isinstance(reason, why.VoteReason):
        return _vote_sentence(reason)
    if isinstance(reason, why.PersonReason):
        return _person_sentence(reason)
    return _outcome_sentence(reason)


def _outcome_sentence(
    reason: why.RecountReason
    | why.StageReason
    | why.NoticeReason
    | why.HandoverReason
    | why.RehearsalReason
    | why.WriteReason
    | why.CandidateReason
    | why.CourseReason,
) -> str:
    if isinstance(reason, why.RecountReason):
        return _recount_sentence(reason)
    if isinstance(reason, why.StageReason):
        return _stage_sentence(reason)
    if isinstance(reason, why.NoticeReason):
        return notice_reason_sentence(reason)
    if isinstance(reason, why.HandoverReason):
        return _handover_sentence(reason)
    if isinstance(reason, why.RehearsalReason):
        return rehearsal_reason_sentence(reason)
    if isinstance(reason, why.WriteReason):
        return change_write_reason_sentence(reason)
    if isinstance(reason, why.CandidateReason):
        return candidate_reason_sentence(reason)
    return _course_sentence(reason)


def _agreement_sentence(reason: why.AgreementReason) -> str:
    match reason:
        case why.NobodyCounted():
            return f"None of the {reason.asked} seats gave a valid answer."
        case why.TooFewAnswers():
            return f"Only {reason.valid} of {reason.asked} seats gave a valid answer: fewer than the quorum."
        case why.RoundBelowQuorum():
            few = f"{reason.valid} of {reason.asked} seats gave a valid answer in {reason.round}"
            return f"{few}, which is fewer than the quorum, so the answers of {reason.decided_by} decide."
        case why.SingleOpinion():
            return "This is a single opinion, because only one seat could be counted."
        case why.NotAnAgreement():
            return "This is a single opinion, not an agreement."
        case why.SeatsAgree() if reason.agreeing == reason.counted:
            return f"All {reason.counted} counted seats agree {_COUNCIL_ROUND[reason.after]}."
        case why.SeatsAgree():
            accept = "; the others find it acceptable" if reason.others_accept else ""
            share = f"{reason.agreeing} of {reason.counted} counted seats"
            return f"{share} agree {_COUNCIL_ROUND[reason.after]}{accept}."
        case why.NoMajority():
            where = _COUNCIL_ROUND[reason.after]
            return f"No proposal is supported by more than half of the {reason.counted} counted seats {where}."
        case why.ConformityDiscounted():
            changed = "These seats changed their position without a reason, so their blind position was counted"
            return f"{changed}: {', '.join(reason.seats)}."
        case _:
            assert_never(reason)


def _score_sentence(reason: why.ScoreReason) -> str:
    match reason:
        case why.ScoresMissing():
            return f"{join_names_as_text(reason.seats)} gave no valid score."
        case why.AllScoresLow():
            return f"Every seat gave a score of {reason.limit:g} or less."
        case why.ScoresTooLow():
            return f"{join_names_as_text(reason.seats)} gave a score below {reason.minimum:g}."
        case why.BlockingIssuesOpen():
            sees = "sees" if len(reason.seats) == 1 else "see"
            return f"{join_names_as_text(reason.seats)} still {sees} an open issue that blocks the decision."
        case why.ScoresHighEnough():
            return f"Every seat gave a score of {reason.minimum:g} or more, and no open issue blocks the decision."
        case why.ScoresGiven():
            return f"Scores: {_scores_text(reason.scores)}."
        case why.SpeaksForTable():
            return f"{reason.seat} speaks for the table: {LEAD_REASON_WORDS[reason.why]}."
        case _:
            assert_never(reason)


def _diagnosis_sentence(reason: why.DiagnosisReason) -> str:
    match reason:
        case why.RootCauseUnclear():
            unnamed = f" {join_names_as_text(reason.unnamed)} named no root cause." if reason.unnamed else ""
            return f"Fewer than {reason.needed} doctors are sure of the same root cause.{unnamed}"
        case why.RootCausesTied():
            return (
                f"The same number of doctors is sure of each of these root causes: {join_names_as_text(reason.causes)}."
            )
        case why.RootCauseFound():
            return f"{join_names_as_text(reason.seats)} are sure of the same root cause."
        case why.NobodyDiagnosed():
            return "No doctor gave a readable diagnosis."
        case _:
            assert_never(reason)


def _opinion_sentence(reason: why.OpinionReason) -> str:
    match reason:
        case why.OpinionsAgree():
            return f"All {reason.counted} counted seats recommend the same answer {_OPINION_ROUND[reason.after]}."
        case why.OpinionsDiffer():
            return f"The {reason.counted} counted seats recommend different answers {_OPINION_ROUND[reason.after]}."
        case why.RisksOpen():
            sees = "sees" if len(reason.seats) == 1 else "see"
            return f"{join_names_as_text(reason.seats)} {sees} risks that must be resolved first."
        case why.FindingsReviewed():
            seats = f"{reason.seats} seats" if reason.seats > 1 else "One seat"
            count = sum(reason.findings.values())
            found = ", ".join(f"{number} {status}" for status, number in reason.findings.items())
            things = {0: "no faults", 1: "1 fault"}.get(count, f"{count} faults")
            where = f" The programs of the seats were run in {reason.place}." if reason.place and count else ""
            return f"{seats} reviewed the code independently and found {things}{f': {found}' if found else ''}.{where}"
        case why.NotHeardInRound():
            absent = "; ".join(f"{seat} ({fault.message.rstrip('.')})" for seat, fault in reason.faults.items())
            who = "This seat" if len(reason.faults) == 1 else "These seats"
            return f"{who} did not answer in {reason.round}, the round that decides on unproven findings: {absent}."
        case why.ProofsNotRun():
            return f"No program could be run, so no finding is confirmed or refuted: {reason.why}"
        case why.FindingsUnproven():
            names = join_names_as_text(reason.findings)
            return f"No program confirmed or refuted these findings: {names}."
        case _:
            assert_never(reason)


def _scores_text(scores: dict[str, float]) -> str:
    """Scores in one line: `claude 9, gpt 8.5`."""
    return ", ".join(f"{seat} {score:g}" for seat, score in scores.items())


def _vote_sentence(reason: why.VoteReason) -> str:
    match reason:
        case why.ObjectionsRaised():
            return f"{join_names_as_text(reason.seats)} {'objects' if len(reason.seats) == 1 else 'object'}."
        case why.SupportTooLow():
            return f"{reason.supporting} of {reason.voting} seats support the proposal; {reason.needed} are needed."
        case why.SupportReached():
            return f"{reason.supporting} of {reason.voting} seats support the proposal, and no seat objects."
        case why.ObjectionsNotAsked():
            return "The seats were not asked for objections."
        case why.JudgeUnreadable():
            return "No judge gave a readable ruling."
        case why.JudgeRuled():
            return f"The judge {reason.judge} {_JUDGE_RULING[reason.ruling]}."
        case why.NoBallotNamesCandidate():
            return "No ballot names a candidate."
        case why.CondorcetWinner():
            return f"{reason.winner} beats every other candidate in pairwise comparison."
        case why.EliminationWinner():
            return f"No candidate beats every other one in pairwise comparison; {reason.winner} wins by elimination."
        case why.CandidatesTied():
            return f"{join_names_as_text(reason.candidates)} are tied, both in pairwise comparison and by elimination."
        case _:
            assert_never(reason)


def _recount_sentence(reason: why.RecountReason) -> str:
    match reason:
        case why.NoCondorcetWinner():
            return "No candidate beats every other candidate in pairwise comparison."
        case why.LastRemaining():
            return f"{reason.winner} is the only candidate left after the others were eliminated."
        case why.VotesTied() if reason.votes:
            return f"{join_names_as_text(reason.leaders)} are tied with {reason.votes} of {reason.counted} seats each."
        case why.VotesTied():
            return f"{join_names_as_text(reason.leaders)} are tied."
        case why.NoBallots():
            return "There are no ballots."
        case why.NoPositions():
            return "No seat has a position."
        case why.MostVotes():
            position = f"the position “{reason.stance}”" if reason.stance else "this position"
            have = "has" if reason.votes == 1 else "have"
            return f"{reason.votes} of {reason.counted} seats {have} {position}."
        case why.NoVoteMajority():
            return f"The largest group has {reason.votes} of {reason.counted} seats, which is not more than half."
        case _:
            assert_never(reason)


def _person_sentence(reason: why.PersonReason) -> str:
    match reason:
        case why.PersonChose():
            return f"The person chose {'the proposal of ' if reason.of_seat else ''}{reason.option}."
        case why.PersonRejected():
            return "The person rejected the result."
        case why.PersonCancelled():
            return "A person cancelled the session."
        case why.DecreeUpheld():
            because = f" The reason for {reason.entry} was: {end_text_as_sentence(reason.why)}" if reason.why else ""
            repeats = f"This repeats {reason.entry} ({reason.text}) without saying what has changed."
            return f"The seats agreed on: {end_text_as_sentence(reason.position)} {repeats}{because}"
        case why.DecreeAllowed():
            repeats = f"The decision repeats {reason.entry} ({reason.text}) without saying what has changed"
            return f"{repeats}. The person allowed it."
        case _:
            assert_never(reason)


_LATER = "To deliver the project later, run `roundtable project SESSION --to PATH`."


def _stage_sentence(reason: why.StageReason) -> str:
    match reason:
        case why.StagesStopped(by="back"):
            return (
                f"After {reason.stage} the person went back to an earlier stage. This branch ends here, and its record "
                "is kept."
            )
        case why.StagesStopped():
            cause = "the person chose to stop" if reason.by == "person" else "nobody chose to continue"
            return f"The meeting stopped after {reason.stage} because {cause}."
        case why.StagesHeld():
            count = len(reason.stages)
            names = f": {', '.join(reason.stages)}" if reason.stages else ""
            return f"{pluralize(count, 'stage')} {'was' if count == 1 else 'were'} held{names}."
        case why.JudgeReadOwnWords():
            stages = join_names_as_text(reason.stages)
            return f"In {stages}, the judge also judged its own answer, which was shown without a name."
        case why.LastRunFailed():
            return f"The project is finished, but {'its last run failed' if reason.ran else 'it could not be run'}."
        case why.StageFailed():
            return f"{reason.stage} ended without a result."
        case why.StageNotice():
            return f"{reason.stage}: {reason_sentence(reason.reason)}"
        case _:
            assert_never(reason)


def _handover_sentence(reason: why.HandoverReason) -> str:
    match reason:
        case why.ProjectNotWritten():
            return f"Nothing was written. {_LATER}"
        case why.ProjectHandedOver():
            commit = f" as commit {reason.commit[:12]}" if reason.commit else ""
            return f"The project was delivered{commit}, {pluralize(reason.files, 'file')}: {reason.path}"
        case why.HandoverFailed():
            return f"The project could not be delivered. {_fault_text(reason.fault)} {_LATER}"
        case why.DraftTakenUnchanged():
            return f"{reason.seat}'s draft is used unchanged."
        case why.StoppedAfterPlan():
            return "The person stopped after the plan; nothing was written."
        case _:
            assert_never(reason)


def _course_sentence(reason: why.CourseReason) -> str:
    match reason:
        case why.LimitMet():
            return f"Stopped: {describe_reached_limit(reason)}."
        case why.AnswersCutOff():
            cut = ", ".join(f"{seat} in {round}" for seat, round in reason.answers)
            return f"These answers were cut off at the token limit (`max_tokens`): {cut}."
        case why.StoppedBeforeDeciding():
            return "The meeting was stopped before the deciding round."
        case why.NobodyAnswered():
            return "Nobody answered."
        case why.QuestionAnswered():
            return f"{reason.seat} answered the question. The answer does not change the session."
        case why.ChildMeetingFailed():
            return _fault_text(reason.fault) if reason.fault else "The child meeting returned no decision."
        case why.ExecutorMissing():
            return f"{reason.seat} is not at the table, so there is no plan to carry out."
        case why.PlanMissing():
            return f"{reason.seat} gave no plan, so there is nothing to carry out."
        case _:
            assert_never(reason)


def substitution_sentence(substitution: Substitution) -> str:
    """Which voice answered instead of which other, in which rounds and why."""
    voices = f"{substitution.seat} spoke through {substitution.voice} instead of {substitution.instead_of}"
    skipped = "".join(
        f" {voice} was not available either: {fault.message}" for voice, fault in substitution.skipped.items()
    )
    return f"{voices} ({', '.join(substitution.rounds)}): {substitution.fault.message}{skipped}"


def describe_reached_limit(reached: why.LimitMet | LimitReached) -> str:
    """Which limit was reached: how much was used, and how much is allowed."""
    match reached.limit:
        case "budget_usd":
            return f"{render_money(reached.spent)} is spent, and the budget is {render_money(reached.allowed)}"
        case "budget_tokens":
            return f"{reached.spent:,.0f} tokens are used, and the budget is {reached.allowed:,.0f}"
        case _:
            return f"{reached.spent:g} {reached.limit} were held, and the limit is {reached.allowed:g}"


def _fault_text(fault: Fault) -> str:
    return f"{fault.message} {fault.help}".strip()
