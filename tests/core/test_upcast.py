"""Records of earlier schema versions are read in the form of the newest one."""

from __future__ import annotations

import msgspec
import pytest

from roundtable.core.effects import (
    CandidatesTried,
    ChangeApplied,
    CheckKind,
    DraftsSynthesised,
    MoveDrafted,
    SynthesiseDrafts,
)
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
from roundtable.core.reason_base import Said
from roundtable.core.refusals import RefusalCode, RefusalKind
from roundtable.report.reasons import decision_sentence
from roundtable.report.refusals import refusal_sentence, refusal_sentences


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


def read_result_of_version_2(result: dict[str, object]) -> object:
    """The result of a step as it is read from a record of version 2."""
    fact = decode_event(msgspec.json.encode({"kind": "effect.done", "step": "try-1", "result": result}), 2)
    assert isinstance(fact, EffectDone)
    return fact.result


def test_refused_files_of_older_records_keep_their_kind_and_their_words() -> None:
    refused = {"path": "../x", "kind": "traversal", "sentence": "../x does not say plainly where it leads."}
    for read in (read_result, read_result_of_version_2):
        drafted = read({"result": "drafted", "refused": [refused]})
        assert isinstance(drafted, MoveDrafted)
        assert [(item.path, item.code, item.kind) for item in drafted.refused] == [
            ("../x", RefusalCode.SAID, RefusalKind.TRAVERSAL)
        ]
        assert refusal_sentence(drafted.refused[0]) == refused["sentence"]


def test_unmerged_directives_and_remarks_of_older_records_keep_their_words() -> None:
    left = {"directive": "be fast", "why": "`be` is neither a seat nor a file.", "files": ["a.py"]}
    synthesised = read_result_of_version_2({"result": "synthesised", "draft": "sha256:d", "left": [left]})
    assert isinstance(synthesised, DraftsSynthesised)
    assert synthesised.left[0].files == ("a.py",)
    assert refusal_sentences(synthesised.left[0].refused) == left["why"]
    applied = read_result_of_version_2({"result": "applied", "undo": "7", "note": "Hooks did not run."})
    assert isinstance(applied, ChangeApplied)
    assert applied.remarks == (Said("Hooks did not run."),)


def test_reasons_of_version_2_with_the_words_of_the_workshop_are_read() -> None:
    problems = {"refused": [{"path": "a.py", "message": "a.py would not parse."}]}
    dropped = {"code": "files_dropped", "seat": "gpt", "files": problems["refused"]}
    unfixed = {"fixed": False, "cause": "refused", "message": "a.py is a folder."}
    how = [
        {"code": "no_candidate_passed", "candidates": {"gpt": problems}},
        {"code": "files_refused", "refused": problems["refused"]},
        {"code": "stage_notice", "stage": "code", "reason": dropped},
        {"code": "findings_unfixed", "findings": {"F1": unfixed}},
        {"code": "write_remark", "text": "Hooks did not run."},
    ]
    fact = decode_event(
        msgspec.json.encode({"kind": "decision.made", "decision": {"outcome": "reached", "how": how}}), 2
    )
    assert isinstance(fact, DecisionMade)
    text = decision_sentence(fact.decision)
    assert text.count("a.py would not parse.") == 3
    assert "F1 (a.py is a folder)" in text
    assert text.endswith("Hooks did not run.")
    assert fact.decision.how[-1] == Said("Hooks did not run.")
