"""Who leads, whom a directive means, and what a person is told of a change on its way."""

from __future__ import annotations

import pytest

from roundtable.core.changes import Hunk
from roundtable.core.effects import Candidate, CandidatesTried, CheckOutcome, Planned, Rehearsed
from roundtable.core.rules import building as rule
from roundtable.core.rules.lead import executor, leader
from roundtable.core.values import Outcome, Right, Seat

CLAUDE = Seat("claude", ("script:a",), capabilities=("architecture",), priority=2)
GPT = Seat("gpt", ("script:a",), capabilities=("tests",), priority=1)
GEMINI = Seat("gemini", ("script:a",), priority=3)
TABLE = (CLAUDE, GPT, GEMINI)


@pytest.mark.feature("S3.18", "S3.75", "S3.76")
def test_the_lead_is_found_by_score_then_capability_then_priority() -> None:
    def led(question: str, **scores: float) -> tuple[str, str]:
        found = leader(scores, TABLE, question)
        assert found is not None
        return found.seat, found.why

    assert led("Which tests?", claude=9, gpt=7, gemini=8) == ("claude", "its score is the highest")
    best = "of the highest scores, its capabilities fit the question best"
    assert led("Which architecture?", claude=9, gpt=9, gemini=9) == ("claude", best)
    assert led("Which tests?", claude=9, gpt=9, gemini=9) == ("gpt", best)
    assert led("What now?", claude=9, gpt=9, gemini=9) == ("gpt", "of the highest scores, it comes first in priority")
    assert leader({}, TABLE, "What now?") is None


@pytest.mark.feature("S4.6")
def test_where_one_seat_has_the_right_to_execute_nobody_else_does() -> None:
    alone = Seat("grok", ("script:a",), rights=(Right.SPEAK, Right.EXECUTE))
    found = executor({"claude": 10, "gpt": 10}, (*TABLE, alone), "Which tests?")
    assert found is not None
    assert (found.seat, found.why) == ("grok", "it alone has the right to execute")
    two = Seat("mistral", ("script:a",), rights=(Right.EXECUTE,))
    found = executor({"mistral": 8, "claude": 10}, (*TABLE, alone, two), "Which tests?")
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
def test_a_blind_directive_is_read_for_the_seat_it_means(directive: str, meant: str) -> None:
    assert rule.with_seats(directive, {"candidate-A": "claude", "candidate-B": "gpt"}) == meant


def test_candidates_that_write_the_same_bytes_are_one() -> None:
    tried = CandidatesTried(
        (Candidate("gpt", "sha256:1"), Candidate("claude", "sha256:1"), Candidate("gemini", "sha256:2")),
        best=("gpt", "claude", "gemini"),
    )
    assert [it.seat for it in rule.alike(tried)] == ["gpt", "gemini"]


def test_no_candidate_passed_is_said_with_each_reason() -> None:
    broken = Candidate("gpt", "sha256:1", checks=(CheckOutcome("tests", ("pytest",), 1, "E assert 1 == 2"),))
    decision = rule.none_passed(CandidatesTried((broken, Candidate("claude"))), ())
    assert decision.outcome is Outcome.DEADLOCK
    assert decision.how == (
        "No candidate passed. gpt: The check tests failed with exit code 1. "
        "claude: There is nothing in it that could be written."
    )
    assert "E assert 1 == 2" in rule.told_of(broken)


def test_the_person_is_told_what_nobody_asked_for() -> None:
    hunk = Hunk("a.py#1", "a.py", 1, ("old\n",), ("new\n",))
    asked = rule.approval(Planned((hunk,), unasked=("a.py#1",)), "gpt")
    assert asked == "gpt wants to change 1 hunk in a.py. Nobody asked for a.py#1. Write it to your workspace?"
    assert rule.asked_about(Planned((hunk,)), "why a.py#1?") == "a.py#1\n-old\n+new"


def test_only_what_passed_before_can_break() -> None:
    failed, passed = CheckOutcome("tests", (), 1), CheckOutcome("tests", (), 0)
    assert not rule.trouble(Rehearsed("sha256:1", checks=(failed,), before=(failed,)))
    assert rule.trouble(Rehearsed("sha256:1", checks=(failed,), before=(passed,))) == (
        "It breaks a check that passed before. The check tests failed with exit code 1."
    )
