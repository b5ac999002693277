"""Tests that a draft takes away: deleted, emptied or skipped; and those that it makes others.

A change that passes because nobody looks is none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from roundtable.core.changeset import DraftFile, Refusal, RefusalKind
from roundtable.core.file_kinds import is_collected_test_file, is_test_file
from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_source_outline

_CASE = re.compile(rb"@Test\b|@ParameterizedTest\b|\[(?:Fact|Theory|Test|TestMethod)\b|#\[(?:\w+::)?test\b")
_CALL = re.compile(rb"\b(x?(?:it|test|specify))((?:\.\w+)*)\s*(?:\(\s*)?([\"'`])(.+?)\3")
_SKIPPED = re.compile(
    rb"\bskip(?:If|Unless|if)?\b|\bSkip(?:Now|f)?\(|\bxfail\b|@(?:Disabled|Ignore)\b|\[Ignore\b|#\[ignore\b|Skip\s*=|\bpending\b"
)
_ALL_SKIPPED = re.compile(
    rb"pytestmark\s*=.{0,200}skip|allow_module_level\s*=\s*True|\b(?:x(?:describe)|describe\.skip)\b|__test__\s*=\s*False"
)
_TEST_CLASS = re.compile(r"(?:\(|\bextends\b|:|<).*(?:Test|Case)")
_SAYS_NOTHING = frozenset({b"pass", b"return", b"None", b"assert", b"True", b"true", b"end"})
_ALIKE = 0.7
"""How many of a test's words another one must have to be the same under a new name."""
_MOST_PAIRS = 10_000
"""So many pairs of tests are compared by their words; beyond that, only a test of the same name is the same."""


class FoundTest(msgspec.Struct, frozen=True):
    """One test: the words it says, whether it checks anything and is run, and whether its class is one of tests."""

    words: Counter[bytes] = Counter()
    skipped: bool = False
    hollow: bool = False
    in_test_class: bool = False

    @property
    def said(self) -> frozenset[tuple[bytes, int]]:
        """Its words, to be looked up."""
        return frozenset(self.words.items())

    @property
    def counts(self) -> bool:
        """Whether it can stand for one that is gone."""
        return not self.hollow and not self.skipped

    def alike(self, other: FoundTest) -> bool:
        """Whether two tests say nearly the same, in whatever order."""
        both = self.words.total() + other.words.total()
        most = 2 * min(self.words.total(), other.words.total())
        return most >= _ALIKE * both > 0 and 2 * (self.words & other.words).total() >= _ALIKE * both


def find_lost_tests(files: Sequence[DraftFile]) -> tuple[Refusal, ...]:
    """What a draft takes away from the tests; one that is only moved, or called otherwise, is not taken away."""
    before = {file: _cases(file.was or file.path, file.before) for file in files if _matters(file.was or file.path)}
    fresh: dict[str, FoundTest] = {}
    for file in files:
        if _matters(file.path):
            known = before.get(file, {})
            fresh |= {name: it for name, it in _cases(file.path, file.after).items() if name not in known}
    elsewhere = _Elsewhere(fresh)
    return tuple(refusal for file, cases in before.items() if (refusal := _lost(file, cases, elsewhere)))


def find_changed_tests(files: Sequence[DraftFile]) -> dict[str, tuple[str, ...]]:
    """The tests that were there and are others with a draft, such as `test_double of test_calc.py`, by their file now.

    New tests beside them are no change of them, nor is their move to another file.
    """
    kept = {case.said for file in files for case in _cases(file.path, file.after).values()}
    found: dict[str, tuple[str, ...]] = {}
    for file in files:
        place = file.was or file.path
        if file.before is None or file.before == file.after or not is_test_file(place):
            continue
        others = [name for name, case in _cases(place, file.before).items() if case.said and case.said not in kept]
        if others:
            found[file.path] = tuple(f"{name} of {place}" for name in others)
        elif file.after is not None and _around(place, file.before) - _around(file.path, file.after):
            found[file.path] = (f"what stands around the tests of {place}",)
    return found


def _around(path: str, data: bytes) -> Counter[bytes]:
    """The words of a file that stand in none of its tests."""
    seen = parse_source_outline(path, data)
    inside = Counter[bytes]()
    if isinstance(seen, Outline):
        for symbol in seen.symbols:
            if _is_case(seen, symbol):
                inside += _words(seen.symbol_text(symbol))
    return _words(data) - inside


def _words(text: bytes) -> Counter[bytes]:
    return Counter(re.findall(rb"\w+|[^\w\s]", text))


def _matters(path: str) -> bool:
    return is_test_file(path) or path.endswith(".rs")


def _still_run(file: DraftFile) -> bool:
    """Whether tests in a file are still found by its name: one that was called a test has to be called one again."""
    return _matters(file.path) and not (is_collected_test_file(file.was) and not is_collected_test_file(file.path))


def _lost(file: DraftFile, before: Mapping[str, FoundTest], elsewhere: _Elsewhere) -> Refusal | None:
    after = _cases(file.path, file.after) if _still_run(file) else {}
    gone = [name for name, case in before.items() if name not in after and not elsewhere.has(name, case)]
    if file.after is None and is_test_file(file.path) and (gone or not before):
        return Refusal(file.path, RefusalKind.TESTS_DELETED, f"{file.path} is a file of tests and would be deleted.")
    if gone:
        return _refusal(file, gone, "would no longer be there")
    emptied = [name for name, case in after.items() if case.hollow and name in before and not before[name].hollow]
    if emptied:
        return _refusal(file, emptied, "would no longer check anything")
    skipped = [name for name, case in after.items() if name in before and _less_run(before[name], case)]
    if skipped:
        return _refusal(file, skipped, "would no longer be run")
    if before and _ALL_SKIPPED.search(file.after or b"") and not _ALL_SKIPPED.search(file.before or b""):
        return _refusal(file, list(before), "would no longer be run")
    return None


def _refusal(file: DraftFile, names: Sequence[str], what: str) -> Refusal:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    tests = "The test" if len(names) == 1 else "The tests"
    sentence = f"{tests} {', '.join(names[:3])}{more} of {file.path} {what}."
    return Refusal(file.path, RefusalKind.TESTS_DELETED, sentence)


def _less_run(before: FoundTest, after: FoundTest) -> bool:
    return (after.skipped and not before.skipped) or (before.in_test_class and not after.in_test_class)


class _Elsewhere:
    """The tests that a draft adds, among which one that is gone may be found again."""

    def __init__(self, fresh: Mapping[str, FoundTest]) -> None:
        self._fresh = [case for case in fresh.values() if case.counts]
        self._names = {_simple(name) for name, case in fresh.items() if case.counts}
        self._pairs = _MOST_PAIRS

    def has(self, name: str, case: FoundTest) -> bool:
        """Whether there is one of the same name, or one that says nearly the same."""
        if _simple(name) in self._names:
            return True
        self._pairs -= len(self._fresh)
        return self._pairs >= 0 and any(map(case.alike, self._fresh))


def _simple(name: str) -> str:
    return name.rpartition(".")[2]


def _cases(path: str, data: bytes | None) -> dict[str, FoundTest]:
    """The tests in a file by name."""
    if data is None:
        return {}
    found = {
        match[4].decode(errors="replace"): FoundTest(skipped=match[1].startswith(b"x") or b"skip" in match[2])
        for match in _CALL.finditer(data)
    }
    seen = parse_source_outline(path, data)
    if isinstance(seen, Outline):
        classes = {it.name for it in seen.symbols if it.kind is SymbolKind.CLASS and _TEST_CLASS.search(it.signature)}
        found |= {it.name: _case(seen, it, classes) for it in seen.symbols if _is_case(seen, it)}
    return found


def _is_case(seen: Outline, symbol: Symbol) -> bool:
    if symbol.kind not in (SymbolKind.FUNCTION, SymbolKind.METHOD):
        return False
    return symbol.base_name.lower().startswith("test") or _CASE.search(seen.symbol_text(symbol)) is not None


def _case(seen: Outline, symbol: Symbol, classes: set[str]) -> FoundTest:
    text = seen.symbol_text(symbol)
    head, _, body = text.partition(symbol.signature.encode())
    said = set(re.findall(rb"\w+", body)) - _SAYS_NOTHING
    return FoundTest(
        _words(text),
        _SKIPPED.search(text) is not None,
        hollow=bool(head or body) and not said,
        in_test_class=symbol.name.rpartition(".")[0] in classes,
    )
