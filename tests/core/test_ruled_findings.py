"""A judge's ruling on findings: by id or words, and never against a proof."""

from __future__ import annotations

import pytest

from roundtable.core.decide.findings import (
    FindingWeight,
    WeighedFinding,
    decide_pooled_findings,
    decide_unfixed_findings,
    rule_findings_by_judge,
    rule_findings_by_severity,
    weigh_findings_by_proof,
)
from roundtable.core.effects import ClaimsProven, Proof
from roundtable.core.reasons import FindingRepair, FindingsUnfixed
from roundtable.core.values import Move, Round
from roundtable.core.verdict import Findings, Issue, Verdict
from roundtable.meetings.stages.review_stage import render_stage_prompt_finding
from roundtable.report.finding_words import render_ruled_findings
from roundtable.report.reasons import reason_sentence

LOST = Issue("A second writer loses the first one's data.", severity="critical", location="store.py:7")
SLOW = Issue("Every request reads the whole file.", severity="medium", location="store.py:20")
OPEN = Issue("Anybody can delete a list.", severity="high", location="api.py:3")


def said(seat: str, *issues: Issue, round: str = "review/1-chunk") -> Move:
    return Move(round, seat, "", Verdict(issues=issues))


def found(*proofs: Proof) -> tuple[WeighedFinding, ...]:
    """Return three findings: F1 loses data, F2 is an open endpoint, F3 a slow request."""
    meeting = Round("review/1-chunk", ("claude", "gpt"), (said("claude", LOST, OPEN), said("gpt", SLOW, LOST)))
    return weigh_findings_by_proof(decide_pooled_findings(meeting), (ClaimsProven(proofs),) if proofs else ())


def weights(ruling: Findings, *proofs: Proof) -> list[FindingWeight]:
    ruled = rule_findings_by_judge(found(*proofs), ruling)
    return [ruled.weights[finding] for finding in ("F1", "F2", "F3")]


CRITICAL, WARNING, CLEAN = FindingWeight


@pytest.mark.feature("S0.19")
@pytest.mark.parametrize(
    ("ruling", "expected"),
    [
        (Findings(("F1",), ("F2", "F3")), [CRITICAL, WARNING, WARNING]),
        (Findings(("F1 and F3: both lose data",), (), ("F2 is behind a login",)), [CRITICAL, CLEAN, CRITICAL]),
        (Findings(("**F3** it blocks everybody",), ("F1, F2",)), [WARNING, WARNING, CRITICAL]),
        (Findings((), ("The slow request (F3)",), ("F1: see F2",)), [CLEAN, CRITICAL, WARNING]),
        (Findings(("Anybody can delete any list!",), (), ("F2",)), [CRITICAL, CRITICAL, WARNING]),
        (Findings((), (), ("Everything else",)), [CRITICAL, CRITICAL, WARNING]),
    ],
)
def test_a_judge_names_findings_by_id_or_words_and_unnamed_findings_are_kept(
    ruling: Findings, expected: list[FindingWeight]
) -> None:
    assert weights(ruling) == expected


@pytest.mark.parametrize("said", ["F99 the password is logged", "The lock of F7 fighter jets (see F8) is never freed"])
def test_a_critical_finding_with_an_unknown_id_is_kept(said: str) -> None:
    ruled = rule_findings_by_judge(found(), Findings((said,), ()))
    assert ruled.besides[CRITICAL] == (said,)
    assert f"- {said}" in render_ruled_findings(ruled, found(), {})


@pytest.mark.parametrize("said", ["There are no critical findings.", "No critical issues found", "(nothing to report)"])
def test_a_judge_that_reports_no_critical_findings_adds_none(said: str) -> None:
    ruled = rule_findings_by_judge(found(), Findings((said,), ("F1, F2, F3",)))
    assert decide_unfixed_findings(ruled, found(), {}) is None


@pytest.mark.parametrize("said", ["No input is checked.", "Nothing frees the lock", "None of the files are closed"])
def test_a_fault_that_begins_with_no_still_counts(said: str) -> None:
    ruled = rule_findings_by_judge(found(), Findings((said,), ("F1, F2, F3",)))
    unfixed = decide_unfixed_findings(ruled, found(), {})
    assert unfixed == FindingsUnfixed(others=(said,))
    assert unfixed is not None
    assert reason_sentence(unfixed) == f"1 critical finding is not fixed: {said.rstrip('.')}."


def test_no_judge_overrules_a_proof() -> None:
    shows = Proof(LOST.text, "claude", held=True)
    denies = Proof(OPEN.text, "claude", held=False)
    assert weights(Findings(("F2",), (), ("F1",)), shows, denies) == [CRITICAL, CLEAN, WARNING]


def test_the_ruling_lists_every_finding_its_result_and_the_judges_additions() -> None:
    listed = found()
    ruled = rule_findings_by_judge(listed, Findings(("F1",), ("The project has no tests.",), ("F2 is behind a login",)))
    assert render_ruled_findings(ruled, listed, {"F1": FindingRepair(fixed=True)}) == (
        f"CRITICAL:\n- F1 [critical, store.py:7] {LOST.text} Fixed.\n\n"
        f"WARNINGS:\n- F3 [medium, store.py:20] {SLOW.text}\n- The project has no tests.\n\n"
        f"CONFIRMED_CLEAN:\n- F2 [high, api.py:3] {OPEN.text}"
    )


def test_without_a_judge_findings_are_weighed_by_their_severity() -> None:
    ruled = rule_findings_by_severity(found(Proof(LOST.text, "claude", held=False)))
    assert [ruled.weights[finding] for finding in ("F1", "F2", "F3")] == [CLEAN, CRITICAL, WARNING]


def test_seats_see_how_many_found_a_finding_but_not_who() -> None:
    first = render_stage_prompt_finding(found(Proof(LOST.text, "claude", held=True))[0], seats=3)
    assert first == f"F1: [critical, store.py:7] {LOST.text} (2 of 3 found it. A program shows it.)"


def test_one_fault_found_in_two_chunks_is_one_finding_and_two_faults_stay_two() -> None:
    here = Issue("save() of store.py is given the list and the name the wrong way round.", location="api.py:9")
    there = Issue("api.py gives save() the list and the name the wrong way round.", location="store.py:2")
    other = Issue("web.py gives save() the list and the name the wrong way round.", location="web.py:4")
    one, two, three = (f"review/{number}-chunk" for number in (1, 2, 3))
    rounds = [
        Round(one, ("claude",), (said("claude", here, round=one),)),
        Round(two, ("claude",), (said("claude", there, round=two),)),
        Round(three, ("claude",), (said("claude", other, round=three),)),
    ]
    assert [len(finding.said) for finding in decide_pooled_findings(*rounds)] == [2, 1]
