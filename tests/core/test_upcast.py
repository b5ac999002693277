"""Records of earlier schema versions are read in the form of the newest one."""

from __future__ import annotations

import msgspec

from roundtable.core.effects import CandidatesTried, CheckKind
from roundtable.core.events import EffectDone, decode_event


def read_result(result: dict[str, object]) -> object:
    """The result of a step as it is read from a record of version 1."""
    fact = decode_event(msgspec.json.encode({"kind": "effect.done", "step": "try-1", "result": result}), 1)
    assert isinstance(fact, EffectDone)
    return fact.result


def test_checks_of_an_older_record_are_known_by_kind_instead_of_by_name() -> None:
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
