"""The lead seat, merge directives, and the words about a change from trial to write."""

from __future__ import annotations

import pytest

from roundtable.core.candidate_reasons import ArgumentsMutated, CallBroken, CallOutcome, CheckNotStarted, NoEvidence
from roundtable.core.changeset import Hunk
from roundtable.core.decide import change_outcome, merge_ruling, trial_outcome
from roundtable.core.decide.lead import decide_executor_seat, decide_lead_seat
from roundtable.core.effects import (
    Candidate,
    CandidatesTried,
    ChangeApplied,
    ChangePlanned,
    ChangeRehearsed,
    CheckKind,
    CheckOutcome,
    Contribution,
    DraftsSynthesised,
    RemovedSymbol,
)
from roundtable.core.reasons import ChecksBroken, CleanupPending, FailedCheck, LeadReason, Said
from roundtable.core.replies.judge import restore_seat_names_in_reply_directive
from roundtable.core.sandbox import Limit
from roundtable.core.values import Decision, Outcome, Right, Seat
from roundtable.meetings.write_change import render_meeting_prompt_hunks
from roundtable.report.candidate_words import (
    behaviour_question_sentence,
    describe_candidate_behaviour,
    render_candidate_trial,
)
from roundtable.report.change_reasons import change_approval_sentence, change_write_remark_sentence
from roundtable.report.change_words import describe_change_plan
from roundtable.report.reasons import decision_sentence, describe_reasons, notice_sentences, reason_sentence
from roundtable.report.step_words import describe_step_result

CLAUDE = Seat("claude", ("script:a",), capabilities=("architecture",), priority=2)
GPT = Seat("gpt", ("script:a",), capabilities=("tests",), priority=1)
GEMINI = Seat("gemini", ("script:a",), priority=3)
TABLE = (CLAUDE, GPT, GEMINI)


@pytest.mark.feature("S3.18", "S3.75", "S3.76")
def test_the_lead_seat_is_chosen_by_score_then_capability_then_priority() -> None:
    def lead_of(question: str, **scores: float) -> tuple[str, LeadReason]:
        found = decide_lead_seat(scores, TABLE, question)
        assert found is not None
        return found.seat, found.why

    assert lead_of("Which tests?", claude=9, gpt=7, gemini=8) == ("claude", LeadReason.HIGHEST_SCORE)
    best = LeadReason.CAPABILITIES_FIT
    assert lead_of("Which architecture?", claude=9, gpt=9, gemini=9) == ("claude", best)
    assert lead_of("Which tests?", claude=9, gpt=9, gemini=9) == ("gpt", best)
    assert lead_of("What now?", claude=9, gpt=9, gemini=9) == ("gpt", LeadReason.FIRST_IN_PRIORITY)
    assert decide_lead_seat({}, TABLE, "What now?") is None


@pytest.mark.feature("S4.6")
def test_only_a_seat_with_the_right_to_execute_becomes_the_executor() -> None:
    alone = Seat("grok", ("script:a",), rights=(Right.SPEAK, Right.EXECUTE))
    found = decide_executor_seat({"claude": 10, "gpt": 10}, (*TABLE, alone), "Which tests?")
    assert found is not None
    assert (found.seat, found.why) == ("grok", LeadReason.ONLY_EXECUTOR)
    two = Seat("mistral", ("script:a",), rights=(Right.EXECUTE,))
    found = decide_executor_seat({"mistral": 8, "claude": 10}, (*TABLE, alone, two), "Which tests?")
    assert found is not None
    assert found.seat == "mistral", "the better score among those who may"


@pytest.mark.feature("S0.18")
@pytest.mark.parametrize(
    ("directive", "meant"),
    [
        ("replace slugify by candidate-B's", "replace slugify by gpt's"),
        ("add B's rollback", "add gpt's rollback"),
        ("take login from A", "take login from claude"),
        ("A better error message from candidate B", "A better error message from gpt"),
        ("replace auth.login by Candidate-A", "replace auth.login by claude"),
    ],
)
def test_candidate_labels_in_a_merge_directive_are_replaced_by_seat_names(directive: str, meant: str) -> None:
    assert restore_seat_names_in_reply_directive(directive, {"candidate-A": "claude", "candidate-B": "gpt"}) == meant


def test_candidates_with_identical_drafts_count_once() -> None:
    tried = CandidatesTried(
        (Candidate("gpt", "sha256:1"), Candidate("claude", "sha256:1"), Candidate("gemini", "sha256:2")),
        best=("gpt", "claude", "gemini"),
    )
    assert [candidate.seat for candidate in trial_outcome.decide_best_candidates(tried)] == ["gpt", "gemini"]


def test_a_decision_without_a_passing_candidate_gives_the_reason_for_each() -> None:
    broken = Candidate("gpt", "sha256:1", checks=(CheckOutcome("tests", ("pytest",), 1, "E assert 1 == 2"),))
    decision = trial_outcome.decide_no_candidate_passed(CandidatesTried((broken, Candidate("claude"))), ())
    assert decision.outcome is Outcome.DEADLOCK
    assert decision_sentence(decision) == (
        "No candidate passed. gpt: The check tests failed with exit code 1: E assert 1 == 2. "
        "claude: The candidate changes nothing."
    )
    assert "E assert 1 == 2" in render_candidate_trial(broken)


@pytest.mark.parametrize(
    ("code", "limit", "how"),
    [
        (
            1,
            None,
            "failed with exit code 1 before the change too. "
            "If a check needs files that git ignores, list them in `copy` under [worktrees].",
        ),
        (None, None, "was stopped before the change too."),
        (
            None,
            Limit.TIME,
            "was stopped before the change too. To give checks more time, raise `seconds` under [sandbox].",
        ),
    ],
    ids=["failed", "stopped", "too slow"],
)
def test_a_decision_without_a_passing_candidate_names_checks_that_failed_before_the_change(
    code: int | None, limit: Limit | None, how: str
) -> None:
    tests = CheckOutcome("tests", ("pytest",), code, limit=limit)
    examples = CheckOutcome.built_in(CheckKind.EXAMPLES)
    lint = CheckOutcome("lint", ("ruff",), 1)
    broken = Candidate("gpt", "sha256:1", checks=(tests, examples))
    decision = trial_outcome.decide_no_candidate_passed(CandidatesTried((broken,), before=(tests, examples, lint)), ())
    assert decision_sentence(decision).endswith(f"The check tests {how}")


def test_checks_that_could_not_be_run_are_noted_although_no_candidate_passed() -> None:
    decision = trial_outcome.decide_no_candidate_passed(
        CandidatesTried((Candidate("gpt"),), unrun=(CheckNotStarted("npm test", "npm: not found"),)), ()
    )
    assert notice_sentences(decision) == ("The check npm test could not be started: npm: not found.",)


def test_candidates_that_failed_a_single_built_in_check_are_named_in_the_decision() -> None:
    changes = CheckOutcome.built_in(CheckKind.SIDE_EFFECTS, ArgumentsMutated("f([2])"))
    failed = CheckOutcome("tests", ("pytest",), 1)
    others = (
        Candidate("claude", "sha256:2", checks=(changes,)),
        Candidate("eve", "sha256:3", checks=(changes, failed)),
        Candidate(
            "ada",
            "sha256:4",
            checks=(CheckOutcome.built_in(CheckKind.EVIDENCE, NoEvidence()),),
        ),
        Candidate(
            "bob",
            "sha256:5",
            checks=(CheckOutcome.built_in(CheckKind.REGRESSION, CallBroken("f([])", "0", "IndexError")),),
        ),
    )
    decision = trial_outcome.decide_candidate_chosen(
        CandidatesTried((Candidate("gpt", "sha256:1"), *others)), (), "gpt", "Mend it"
    )
    sentences = decision_sentence(decision)
    assert "claude's candidate passes everything except one check. f([2]) mutates its arguments" in sentences
    assert "ada's candidate passes everything except one check. No test shows" in sentences
    assert (
        "bob's candidate passes everything except one check. "
        "f([]) returned 0 before the change and raises IndexError after it." in sentences
    )
    assert "eve's" not in sentences


def test_a_persons_check_named_evidence_is_an_ordinary_check() -> None:
    ours = CheckOutcome.built_in(CheckKind.EVIDENCE, NoEvidence())
    theirs = CheckOutcome("evidence", ("make", "evidence"), 1)
    candidates = (Candidate("claude", "sha256:1", checks=(ours,)), Candidate("gpt", "sha256:2", checks=(theirs,)))
    assert trial_outcome.decide_seats_lacking_only_evidence(CandidatesTried(candidates)) == ("claude",)


def test_the_approval_question_is_one_sentence_and_the_plan_marks_unrequested_hunks() -> None:
    hunk = Hunk("a.py#1", "a.py", 1, ("old",), ("new",))
    plan = ChangePlanned((hunk,), unasked=("a.py#1",))
    assert change_approval_sentence(plan, ["gpt"]) == "gpt wants to change 1 hunk in a.py. Write it to your workspace?"
    assert "Neither the task nor a claim requested a.py#1." in describe_change_plan(plan)
    assert render_meeting_prompt_hunks([hunk]) == "a.py#1\n-old\n+new"


def test_only_checks_that_passed_before_can_regress() -> None:
    failed, passed = CheckOutcome("tests", (), 1), CheckOutcome("tests", (), 0)
    assert not change_outcome.decide_rehearsal_problems(ChangeRehearsed("sha256:1", checks=(failed,), before=(failed,)))
    problems = change_outcome.decide_rehearsal_problems(ChangeRehearsed("sha256:1", checks=(failed,), before=(passed,)))
    assert problems == (ChecksBroken((FailedCheck("tests", 1),)),)
    said = "The change breaks a check that passed before. The check tests failed with exit code 1."
    assert describe_reasons(problems) == said


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (DraftsSynthesised("d"), "The whole change is from claude."),
        (
            DraftsSynthesised("d", (Contribution("a.py", "login", "gpt"),)),
            "The result is claude's candidate, with login from gpt.",
        ),
        (
            DraftsSynthesised("d", removed=(RemovedSymbol("a.py", "old"),)),
            "The result is claude's candidate, without old.",
        ),
        (
            DraftsSynthesised(
                "d",
                (Contribution("b.py", "", "gpt"),),
                removed=(RemovedSymbol("a.py", "f"), RemovedSymbol("a.py", "g")),
            ),
            "The result is claude's candidate, with b.py from gpt and without f and g.",
        ),
    ],
)
def test_a_synthesis_names_the_seat_behind_each_part_and_the_removed_symbols(
    made: DraftsSynthesised, said: str
) -> None:
    assert reason_sentence(merge_ruling.decide_reason_for_merged_parts(made, "claude")) == said
    assert all(f"{removed.symbol} was removed from a.py." in describe_step_result(made) for removed in made.removed)


def test_a_file_changed_during_the_write_is_reported_and_degrades_the_decision() -> None:
    decision = Decision(Outcome.REACHED, (Said("ada's draft is taken as it was."),))
    whole = ChangeApplied("7", ("a.py", "b.py"), "0123456789abcdef")
    assert not change_outcome.decide_change_applied(decision, whole, ChangeRehearsed("sha256:d")).degraded
    cut = ChangeApplied("7", ("a.py", "b.py"), "0123456789abcdef", left=("b.py",), remarks=(CleanupPending(),))
    told = change_outcome.decide_change_applied(decision, cut, ChangeRehearsed("sha256:d"))
    assert told.degraded
    assert notice_sentences(told) == ("Files that changed during the write were not written: b.py.",)
    pending = change_write_remark_sentence(CleanupPending())
    assert pending in decision_sentence(told)
    assert f"b.py. {pending} Undo it" in describe_step_result(cut)


def test_outputs_that_differ_only_in_whitespace_are_shown_with_visible_spaces() -> None:
    came = {"squeeze('a  b')": {"ann": CallOutcome("value", "'a b'"), "bob": CallOutcome("value", "'a  b'")}}
    tried = CandidatesTried((), apart=came)
    assert r"squeeze('a\x20\x20b'): 'a b' with ann's, 'a\x20\x20b' with bob's." in behaviour_question_sentence(tried)
    assert describe_candidate_behaviour(tried, "bob") == r"squeeze('a\x20\x20b') is 'a\x20\x20b'"
