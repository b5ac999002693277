"""Every refusal has a sentence, and every place that refuses gives the facts that the sentence names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import roundtable
from roundtable.core.refusals import Refusal, RefusalCode, RefusalKind, distinct_refusals
from roundtable.report.refusals import refusal_sentence, refusal_sentence_fields, refusal_sentences

NUMBERS = ("bytes", "count", "limit", "line", "others")
SOURCES = Path(roundtable.__file__).parent
MERGE_CODES = tuple(RefusalCode)[tuple(RefusalCode).index(RefusalCode.PROTOTYPE_STALE) :]


def _refusing_calls() -> Iterator[tuple[str, RefusalCode, ast.Call]]:
    """Yield the place, the code and the call of every refusal in the sources."""
    for path in (*SOURCES.rglob("workshop/**/*.py"), *SOURCES.rglob("app/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for name in _code_names(node.args) if isinstance(node, ast.Call) else ():
                assert isinstance(node, ast.Call)
                yield f"{path.name}:{node.lineno}", RefusalCode[name], node


def _code_names(args: list[ast.expr]) -> Iterator[str]:
    """Yield the codes among the arguments of a call, also those of a conditional expression."""
    parts = [part for arg in args for part in ((arg.body, arg.orelse) if isinstance(arg, ast.IfExp) else (arg,))]
    for part in parts:
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "RefusalCode":
            yield part.attr


def test_every_code_has_a_sentence_and_is_used() -> None:
    assert {code for _, code, _ in _refusing_calls()} == set(RefusalCode) - {RefusalCode.SAID}
    for code in RefusalCode:
        facts = {name: 2 if name in NUMBERS else "x" for name in refusal_sentence_fields(code)}
        assert refusal_sentence(Refusal("src/a.py", code, facts))


def test_every_place_that_refuses_gives_the_facts_of_its_sentence() -> None:
    given = {
        place: (code, frozenset(keyword.arg for keyword in call.keywords))
        for place, code, call in _refusing_calls()
        if not any(keyword.arg is None for keyword in call.keywords) and _takes_facts(call)
    }
    assert len(given) > 70
    assert {
        place: (code, facts) for place, (code, facts) in given.items() if facts != refusal_sentence_fields(code)
    } == {}


def _takes_facts(call: ast.Call) -> bool:
    """Whether the call itself makes the refusal; a function that adds the facts is shown by the tests of its rule."""
    return ast.unparse(call.func) in ("Refusal.of", "UnmatchedBlock")


def test_a_missing_fact_is_an_error() -> None:
    with pytest.raises(KeyError, match="limit"):
        refusal_sentence(Refusal.of("a.py", RefusalCode.TOO_MANY_FILES))


def test_every_kind_has_a_code_and_only_merging_has_codes_without_a_kind() -> None:
    assert {code.kind for code in RefusalCode} == {*RefusalKind, None}
    assert tuple(code for code in RefusalCode if code.kind is None) == (RefusalCode.SAID, *MERGE_CODES)


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        (
            Refusal.of("a.py", RefusalCode.FILE_TOO_LARGE, bytes=1_234_567, limit=1_000_000),
            "a.py has 1,234,567 bytes; the limit is 1,000,000.",
        ),
        (
            Refusal.of("t.py", RefusalCode.TESTS_REMOVED, count=1, names="a", others=0),
            "The test a of t.py would be removed.",
        ),
        (
            Refusal.of("t.py", RefusalCode.TESTS_SKIPPED, count=5, names="a, b, c", others=2),
            "The tests a, b, c and 2 more of t.py would be skipped.",
        ),
        (
            Refusal.of("a.py", RefusalCode.LINES_REPEATED, count=2, line="it's {x}"),
            'a.py cannot be edited. The lines to replace, which start with "it\'s {x}", occur 2 times.',
        ),
        (Refusal.of("", RefusalCode.SEAT_LACKS_SYMBOL, seat="gpt", symbol="f"), "gpt has no f in any file."),
        (Refusal.of("a\u202e.py", RefusalCode.PATH_INVISIBLE), r"a\u202e.py contains invisible characters."),
        (Refusal.of("", RefusalCode.SAID, text="It leads {nowhere}."), "It leads {nowhere}."),
    ],
)
def test_a_refusal_is_worded_from_its_facts(refusal: Refusal, sentence: str) -> None:
    assert refusal_sentence(refusal) == sentence
    assert msgspec.json.decode(msgspec.json.encode(refusal), type=Refusal) == refusal


def test_equal_refusals_are_told_once() -> None:
    twice = [Refusal.of("a.py", RefusalCode.MISSING), Refusal.of("a.py", RefusalCode.MISSING)]
    assert distinct_refusals(twice) == (twice[0],)
    assert refusal_sentences(twice) == "a.py does not exist."
