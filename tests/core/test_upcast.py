"""Records of earlier schema versions are read in the form of the newest one."""

from __future__ import annotations

import msgspec
import pytest

from roundtable.core.effects import CandidatesTried, CheckKind, SynthesiseDrafts
from roundtable.core.events import (
    AnswerSource,
    DecisionMade,
    EffectDone,
    EffectStarted,
    GateAnswered,
    GateOpened,
    RoundOpened,
    decode_event,
)


def read_result(result: dict[str, object]) -> object:
    """The result of a step as it is read from a record of version 1."""
    fact = decode_event(msgspec.json.encode({"kind": "effect.done", "step": "try-1", "result": result}), 1)
    assert isinstance(fact, EffectDone)
    return fact.result


def test_checks_of_older_records_are_identified_by_kind_instead_of_name() -> None:
    checks: list[object] = [
        {"name": "tests, as they were before it,", "argv": ["pytest"], "code": 1},
        {"name": "evidence", "argv": [], "code": 1, "output": "No test shows it."},
        {"name": "evidence", "argv": ["make", "evidence"], "code": 1},
        {"name": "its own tests, as they were before it,", "argv": [], "code": 1},
    ]
    before: list[object] = [{"name": "the examples in the task", "argv": [], "code": 1}]
    tried = read_result(
        {"result": "candidates_tried", "candidates": [{"seat": "gpt", "checks": checks}], "before": before}
    )
    assert isinstance(tried, CandidatesTried)
    assert [(check.name, check.kind, check.original_tests) for check in tried.candidates[0].checks] == [
        ("tests", CheckKind.PROGRAM, True),
        ("evidence", CheckKind.EVIDENCE, False),
        ("evidence", CheckKind.PROGRAM, False),
        ("its own tests", CheckKind.OWN_TESTS, True),
    ]
    assert tried.before[0].kind is CheckKind.EXAMPLES


@pytest.mark.parametrize(
    ("id", "kind"),
    [("decide", "decide"), ("decide-2", "decide"), ("decree-3", "decree"), ("build-2-dispute", "dispute")],
)
def test_gates_of_an_older_record_are_known_by_kind_instead_of_by_id(id: str, kind: str) -> None:
    gate = {"id": id, "question": "Which?", "options": ["yes", "no"], "default": "no"}
    fact = decode_event(msgspec.json.encode({"kind": "gate.opened", "gate": gate}), 1)
    assert isinstance(fact, GateOpened)
    assert fact.gate.kind == kind


@pytest.mark.parametrize(
    ("by", "source"),
    [
        ("headless default, since maybe is no option", AnswerSource.HEADLESS),
        ("deadline default", AnswerSource.DEADLINE),
        ("answered ahead", AnswerSource.ADVANCE),
        ("maria", AnswerSource.PERSON),
    ],
)
def test_answers_of_an_older_record_say_where_they_came_from(by: str, source: AnswerSource) -> None:
    fact = decode_event(msgspec.json.encode({"kind": "gate.answered", "gate": "go", "option": "no", "by": by}), 1)
    assert isinstance(fact, GateAnswered)
    assert (fact.by, fact.source) == (by, source)


@pytest.mark.parametrize(("template", "purpose"), [("evidence", "tests"), ("mend", "")])
def test_rounds_of_an_older_record_say_that_they_asked_for_tests_alone(template: str, purpose: str) -> None:
    opened = {
        "kind": "round.opened",
        "round": f"build/2-{template}",
        "electorate": ["gpt"],
        "order": ["gpt"],
        "turns": {},
        "expect": {},
        "prompt": {"template": template},
        "template": "sha256:1",
    }
    fact = decode_event(msgspec.json.encode(opened), 1)
    assert isinstance(fact, RoundOpened)
    assert fact.turns.purpose == purpose


def test_a_decision_of_an_older_record_says_whether_its_position_is_only_the_task() -> None:
    for position, task_only in (("Add slugify: gpt changes slug.py", True), ("Use REST", False)):
        decision = {"outcome": "reached", "how": "", "author": "gpt", "position": position}
        fact = decode_event(msgspec.json.encode({"kind": "decision.made", "decision": decision}), 1)
        assert isinstance(fact, DecisionMade)
        assert fact.decision.task_only is task_only


def test_a_synthesis_of_an_older_record_keeps_what_must_be_fixed_apart() -> None:
    effect: dict[str, object] = {
        "effect": "synthesise",
        "base": "gpt",
        "drafts": {},
        "incorporate": ["add a", "MUST_FIX: b", "add c"],
    }
    fact = decode_event(msgspec.json.encode({"kind": "effect.started", "step": "build/splice", "effect": effect}), 1)
    assert isinstance(fact, EffectStarted)
    assert fact.effect == SynthesiseDrafts("gpt", {}, ("add a", "add c"), ("b",))
