"""The knights' scores and the diagnoses of a code-red."""

from __future__ import annotations

import json

import pytest

from roundtable.core.verdict import Evidence, Issue, ParseStatus, SeatRequests, Stance
from tests.core.cases import heard, verdict


@pytest.mark.parametrize(
    ("score", "stance"),
    [
        (10, "support"),
        (9, "support"),
        (8.9, "amend"),
        (6, "amend"),
        (5, "oppose"),
        (0, "oppose"),
        (-4, "oppose"),
        (55, "support"),
    ],
)
def test_a_consensus_score_is_read_as_a_stance(score: float, stance: str) -> None:
    answer = verdict("score-json", json.dumps({"consensus_score": score, "agrees_with": [], "pending_issues": []}))
    assert answer.stance == Stance(stance)
    assert answer.score == min(max(score / 10, 0), 1)


def test_all_fields_of_a_knights_reply_are_read() -> None:
    block = {
        "consensus_score": 8,
        "agrees_with": ["the split", "None"],
        "pending_issues": ["it's slow", {"text": "no tests", "blocking": True, "severity": "high"}, "none", 7],
        "scope": ["src/a.py"],
        "file_requests": ["src/b.py:10-50", {"path": "c.py"}],
        "checks": ["pytest -q"],
    }
    reading = heard("score-json", f"I think so.\n\n```json\n{json.dumps(block)}\n```")
    answer = reading.verdict
    assert reading.text == "I think so."
    assert answer.points == ("the split",)
    assert answer.issues == (Issue("it's slow"), Issue("no tests", blocking=True, severity="high"))
    assert answer.scope == ("src/a.py",)
    assert answer.wants == SeatRequests(("src/b.py:10-50", "c.py"), ("pytest -q",))


@pytest.mark.parametrize(
    "reply",
    [
        "9/10",
        '{"consensus_score": true, "pending_issues": []}',
        '{"consensus_score": NaN, "pending_issues": []}',
        '{"consensus_score": "nine", "pending_issues": []}',
        '{"consensus_score": 9}',
        '{"agrees_with": [], "pending_issues": [], "consensus_score": 9',
        '{"consensus_score": 9, "agrees_with": [], "pending_issues": [',
        '{"consensus_score": 9, "agrees_with": ["a"',
    ],
)
def test_a_score_that_may_have_been_cut_off_does_not_count(reply: str) -> None:
    assert verdict("score-json", reply).parse is ParseStatus.FAILED


def test_a_missing_bracket_is_repaired() -> None:
    answer = verdict("score-json", '{"consensus_score": 9, "agrees_with": [], "pending_issues": ["one"]')
    assert (answer.score, answer.issues, answer.parse) == (0.9, (Issue("one"),), ParseStatus.REPAIRED)


def test_a_diagnosis_is_read_from_a_reply() -> None:
    block = {
        "confidence_score": 8,
        "root_cause_key": "stale-cache-key",
        "evidence": ["seen", {"text": "log", "source": "a.log:3"}],
        "rules_out": ["dns"],
        "confirms": [],
        "file_requests": ["src/a.py:10-50"],
        "next_test": "clear it",
    }
    answer = verdict("diagnosis-json", json.dumps(block))
    assert (answer.key, answer.confidence, answer.next_test) == ("stale-cache-key", 0.8, "clear it")
    assert answer.evidence == (Evidence("seen"), Evidence("log", "a.log:3"))
    assert (answer.rules_out, answer.confirms, answer.wants.files) == (("dns",), (), ("src/a.py:10-50",))


@pytest.mark.parametrize("key", ["", "unknown", "Not known yet", "The root cause is", "--", "a" * 81, None, 7, ["a"]])
def test_an_invalid_diagnosis_key_is_ignored(key: object) -> None:
    answer = verdict("diagnosis-json", json.dumps({"confidence_score": 9, "root_cause_key": key}))
    assert (answer.key, answer.parse) == ("", ParseStatus.EXACT)


@pytest.mark.parametrize("key", ["stale-cache", "Stale cache", "stale_cache", " stale--cache. "])
def test_a_diagnosis_key_in_another_notation_is_the_same_key(key: str) -> None:
    answer = verdict("diagnosis-json", json.dumps({"confidence_score": 9, "root_cause_key": key}))
    assert answer.key == "stale-cache"


def test_a_diagnosis_without_a_number_does_not_count() -> None:
    assert verdict("diagnosis-json", '{"confidence_score": "sure", "root_cause_key": "a"}').parse is ParseStatus.FAILED
