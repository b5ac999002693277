"""Tests that a draft takes away: deleted, emptied or skipped. A change that passes because nobody looks is none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

import msgspec

from roundtable.core.changes import Refusal, RefusalKind
from roundtable.workshop.drafting import Written
from roundtable.workshop.structure.languages import Kind
from roundtable.workshop.structure.outline import Outline, Symbol, outline

_FILE = re.compile(
    r"(?:.*/)?(?:test_[^/]*|[^/]*_test\.[^/]+|[^/]*_spec\.[^/]+|[^/]*\.(?:test|spec)\.[^/]+|[^/]*Tests?\.[^/]+)"
    r"|(?:.*/)?(?:tests?|spec|__tests__)/.*"
)
_CASE = re.compile(rb"@Test\b|@ParameterizedTest\b|\[(?:Fact|Theory|Test|TestMethod)\b|#\[(?:\w+::)?test\b")
_CALL = re.compile(rb"\b(x?(?:it|test|specify))((?:\.\w+)*)\s*\(?\s*([\"'`])(.+?)\3")
_SKIPPED = re.compile(
    rb"\bskip(?:If|Unless|if)?\b|\bSkip(?:Now|f)?\(|\bxfail\b|@(?:Disabled|Ignore)\b|\[Ignore\b|#\[ignore\b|Skip\s*=|\bpending\b"
)
_ALL_SKIPPED = re.compile(
    rb"pytestmark\s*=.*skip|allow_module_level\s*=\s*True|\b(?:x(?:describe)|describe\.skip)\b|__test__\s*=\s*False"
)
_SAYS_NOTHING = frozenset({b"pass", b"return", b"None", b"assert", b"True", b"true", b"end"})
_ALIKE = 0.7
"""How much of a test's text another one must have to be the same under a new name."""


class Case(msgspec.Struct, frozen=True):
    """One test: what it says, and whether it is run at all."""

    text: bytes
    skipped: bool = False
    hollow: bool = False


def is_test_file(path: str) -> bool:
    """Whether a file is one of tests, by its name."""
    return _FILE.fullmatch(path) is not None


def lost_tests(files: Sequence[Written]) -> tuple[Refusal, ...]:
    """What a draft takes away from the tests; one that is only moved, or called otherwise, is not taken away."""
    before = {file: _cases(file.was or file.path, file.before) for file in files if _matters(file.was or file.path)}
    fresh: dict[str, Case] = {}
    for file in files:
        if _matters(file.path):
            known = before.get(file, {})
            fresh |= {name: it for name, it in _cases(file.path, file.after).items() if name not in known}
    return tuple(refusal for file, cases in before.items() if (refusal := _lost(file, cases, fresh)))


def _matters(path: str) -> bool:
    return is_test_file(path) or path.endswith(".rs")


def _lost(file: Written, before: Mapping[str, Case], fresh: Mapping[str, Case]) -> Refusal | None:
    after = _cases(file.path, file.after)
    gone = [name for name, case in before.items() if name not in after and not _moved(name, case, fresh)]
    if file.after is None and is_test_file(file.path) and (gone or not before):
        return Refusal(file.path, RefusalKind.TESTS_DELETED, f"{file.path} is a file of tests and would be deleted.")
    if gone:
        return _refusal(file, gone, "would no longer be there")
    emptied = [name for name, case in after.items() if case.hollow and name in before and not before[name].hollow]
    if emptied:
        return _refusal(file, emptied, "would no longer check anything")
    skipped = [name for name, case in after.items() if case.skipped and name in before and not before[name].skipped]
    if skipped:
        return _refusal(file, skipped, "would no longer be run")
    if before and _ALL_SKIPPED.search(file.after or b"") and not _ALL_SKIPPED.search(file.before or b""):
        return _refusal(file, list(before), "would no longer be run")
    return None


def _refusal(file: Written, names: Sequence[str], what: str) -> Refusal:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    tests = "The test" if len(names) == 1 else "The tests"
    sentence = f"{tests} {', '.join(names[:3])}{more} of {file.path} {what}."
    return Refusal(file.path, RefusalKind.TESTS_DELETED, sentence)


def _moved(name: str, case: Case, fresh: Mapping[str, Case]) -> bool:
    simple = name.rpartition(".")[2]
    if any(other.rpartition(".")[2] == simple and not it.hollow and not it.skipped for other, it in fresh.items()):
        return True
    return any(
        SequenceMatcher(None, case.text, it.text, autojunk=False).ratio() >= _ALIKE
        for it in fresh.values()
        if it.text and case.text and not it.hollow and not it.skipped
    )


def _cases(path: str, data: bytes | None) -> dict[str, Case]:
    """The tests in a file by name."""
    if data is None:
        return {}
    found = {
        match[4].decode(errors="replace"): Case(b"", match[1].startswith(b"x") or b"skip" in match[2])
        for match in _CALL.finditer(data)
    }
    seen = outline(path, data)
    if isinstance(seen, Outline):
        found |= {it.name: _case(seen, it) for it in seen.symbols if _is_case(seen, it)}
    return found


def _is_case(seen: Outline, symbol: Symbol) -> bool:
    if symbol.kind not in (Kind.FUNCTION, Kind.METHOD):
        return False
    return symbol.simple.lower().startswith("test") or _CASE.search(seen.text(symbol)) is not None


def _case(seen: Outline, symbol: Symbol) -> Case:
    text = seen.text(symbol)
    head, _, body = text.partition(symbol.signature.encode())
    said = set(re.findall(rb"\w+", body)) - _SAYS_NOTHING
    return Case(text, _SKIPPED.search(text) is not None, hollow=bool(head or body) and not said)
