"""Finds tests that a draft deletes, empties, skips or changes: checks that pass because tests are gone prove
nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from roundtable.core.changeset import DraftFile
from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.core.text.file_names import is_collected_test_file_name, is_test_file_name
from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_source_outline

_TEST_MARK = re.compile(rb"@Test\b|@ParameterizedTest\b|\[(?:Fact|Theory|Test|TestMethod)\b|#\[(?:\w+::)?test\b")
_TEST_CALL = re.compile(rb"\b(x?(?:it|test|specify))((?:\.\w+)*)\s*(?:\(\s*)?([\"'`])(.+?)\3")
_SKIPPED = re.compile(
    rb"\bskip(?:If|Unless|if)?\b|\bSkip(?:Now|f)?\(|\bxfail\b|@(?:Disabled|Ignore)\b|\[Ignore\b|#\[ignore\b|Skip\s*=|\bpending\b"
)
_ALL_SKIPPED = re.compile(
    rb"pytestmark\s*=.{0,200}skip|allow_module_level\s*=\s*True|\b(?:x(?:describe)|describe\.skip)\b|__test__\s*=\s*False"
)
_TEST_CLASS = re.compile(r"(?:\(|\bextends\b|:|<).*(?:Test|Case)")
_MAX_NAMED = 3
_EMPTY_WORDS = frozenset({b"pass", b"return", b"None", b"assert", b"True", b"true", b"end"})
_SIMILARITY = 0.7
"""The share of words two tests must have in common to count as the same test under a new name."""
_MAX_PAIRS = 10_000
"""The number of pairs of tests compared by their words; beyond that, only tests of the same name are the same."""


class FoundTest(msgspec.Struct, frozen=True):
    """One test: its words, whether it is skipped or checks nothing, and whether its class is a test class."""

    words: Counter[bytes] = Counter()
    skipped: bool = False
    checks_nothing: bool = False
    in_test_class: bool = False

    @property
    def distinct_words(self) -> frozenset[tuple[bytes, int]]:
        """Its words, hashable for lookups."""
        return frozenset(self.words.items())

    @property
    def is_effective(self) -> bool:
        """Whether the test can replace a removed one."""
        return not self.checks_nothing and not self.skipped

    def is_similar(self, other: FoundTest) -> bool:
        """Whether two tests have nearly the same words, in any order."""
        total = self.words.total() + other.words.total()
        most_common_words = 2 * min(self.words.total(), other.words.total())
        return (
            most_common_words >= _SIMILARITY * total > 0
            and 2 * (self.words & other.words).total() >= _SIMILARITY * total
        )


def find_edits_removing_tests(files: Sequence[DraftFile]) -> tuple[Refusal, ...]:
    """Return refusals for tests that a draft removes or disables; moved and renamed tests do not count."""
    before = {
        file: _tests_in(file.was or file.path, file.before) for file in files if _may_hold_tests(file.was or file.path)
    }
    added_tests: dict[str, FoundTest] = {}
    for file in files:
        if _may_hold_tests(file.path):
            earlier = before.get(file, {})
            added_tests |= {
                name: case for name, case in _tests_in(file.path, file.after).items() if name not in earlier
            }
    added = _AddedTests(added_tests)
    return tuple(refusal for file, cases in before.items() if (refusal := _lost_refusal(file, cases, added)))


def find_edits_changing_tests(files: Sequence[DraftFile]) -> dict[str, tuple[str, ...]]:
    """Return the existing tests that a draft changes, such as `test_double of test_calc.py`, by their current file.

    New tests and tests moved to another file do not count.
    """
    words_after = {case.distinct_words for file in files for case in _tests_in(file.path, file.after).values()}
    changed_tests: dict[str, tuple[str, ...]] = {}
    for file in files:
        place = file.was or file.path
        if file.before is None or file.before == file.after or not is_test_file_name(place):
            continue
        names = [
            name
            for name, case in _tests_in(place, file.before).items()
            if case.distinct_words and case.distinct_words not in words_after
        ]
        if names:
            changed_tests[file.path] = tuple(f"{name} of {place}" for name in names)
        elif file.after is not None and _words_outside_tests(place, file.before) - _words_outside_tests(
            file.path, file.after
        ):
            changed_tests[file.path] = (f"the code around the tests of {place}",)
    return changed_tests


def _words_outside_tests(path: str, data: bytes) -> Counter[bytes]:
    """Return the words of a file that are in none of its tests."""
    outline = parse_source_outline(path, data)
    inside = Counter[bytes]()
    if isinstance(outline, Outline):
        for symbol in outline.symbols:
            if _is_test(outline, symbol):
                inside += _words(outline.symbol_text(symbol))
    return _words(data) - inside


def _words(text: bytes) -> Counter[bytes]:
    return Counter(re.findall(rb"\w+|[^\w\s]", text))


def _may_hold_tests(path: str) -> bool:
    return is_test_file_name(path) or path.endswith(".rs")


def _is_still_collected(file: DraftFile) -> bool:
    """Whether the file's name still marks it as a test file, if it did before."""
    return _may_hold_tests(file.path) and not (
        is_collected_test_file_name(file.was) and not is_collected_test_file_name(file.path)
    )


def _lost_refusal(file: DraftFile, before: Mapping[str, FoundTest], added: _AddedTests) -> Refusal | None:
    after = _tests_in(file.path, file.after) if _is_still_collected(file) else {}
    removed = [name for name, case in before.items() if name not in after and not added.contains(name, case)]
    if file.after is None and is_test_file_name(file.path) and (removed or not before):
        return Refusal.of(file.path, RefusalCode.TEST_FILE_DELETED)
    if removed:
        return Refusal.of(file.path, RefusalCode.TESTS_REMOVED, **_name_tests(removed))
    emptied = [
        name
        for name, case in after.items()
        if case.checks_nothing and name in before and not before[name].checks_nothing
    ]
    if emptied:
        return Refusal.of(file.path, RefusalCode.TESTS_EMPTIED, **_name_tests(emptied))
    skipped = [name for name, case in after.items() if name in before and _is_disabled(before[name], case)]
    if skipped:
        return Refusal.of(file.path, RefusalCode.TESTS_SKIPPED, **_name_tests(skipped))
    if before and _ALL_SKIPPED.search(file.after or b"") and not _ALL_SKIPPED.search(file.before or b""):
        return Refusal.of(file.path, RefusalCode.TESTS_SKIPPED, **_name_tests(list(before)))
    return None


def _name_tests(names: Sequence[str]) -> dict[str, str | int]:
    """Return the first tests as facts, and how many others there are."""
    return {"count": len(names), "names": ", ".join(names[:_MAX_NAMED]), "others": max(0, len(names) - _MAX_NAMED)}


def _is_disabled(before: FoundTest, after: FoundTest) -> bool:
    return (after.skipped and not before.skipped) or (before.in_test_class and not after.in_test_class)


class _AddedTests:
    """The tests a draft adds, among which a removed test may be found."""

    def __init__(self, fresh: Mapping[str, FoundTest]) -> None:
        self._fresh = [case for case in fresh.values() if case.is_effective]
        self._names = {_simple_name(name) for name, case in fresh.items() if case.is_effective}
        self._pairs = _MAX_PAIRS

    def contains(self, name: str, case: FoundTest) -> bool:
        """Whether a test of the same name, or with nearly the same words, was added."""
        if _simple_name(name) in self._names:
            return True
        self._pairs -= len(self._fresh)
        return self._pairs >= 0 and any(map(case.is_similar, self._fresh))


def _simple_name(name: str) -> str:
    return name.rpartition(".")[2]


def _tests_in(path: str, data: bytes | None) -> dict[str, FoundTest]:
    """Return the tests of a file by name."""
    if data is None:
        return {}
    tests = {
        match[4].decode(errors="replace"): FoundTest(skipped=match[1].startswith(b"x") or b"skip" in match[2])
        for match in _TEST_CALL.finditer(data)
    }
    outline = parse_source_outline(path, data)
    if isinstance(outline, Outline):
        classes = {
            symbol.name
            for symbol in outline.symbols
            if symbol.kind is SymbolKind.CLASS and _TEST_CLASS.search(symbol.signature)
        }
        tests |= {
            symbol.name: _test_facts(outline, symbol, classes)
            for symbol in outline.symbols
            if _is_test(outline, symbol)
        }
    return tests


def _is_test(outline: Outline, symbol: Symbol) -> bool:
    if symbol.kind not in (SymbolKind.FUNCTION, SymbolKind.METHOD):
        return False
    return symbol.base_name.lower().startswith("test") or _TEST_MARK.search(outline.symbol_text(symbol)) is not None


def _test_facts(outline: Outline, symbol: Symbol, classes: set[str]) -> FoundTest:
    text = outline.symbol_text(symbol)
    head, _, body = text.partition(symbol.signature.encode())
    distinct_words = set(re.findall(rb"\w+", body)) - _EMPTY_WORDS
    return FoundTest(
        _words(text),
        _SKIPPED.search(text) is not None,
        checks_nothing=bool(head or body) and not distinct_words,
        in_test_class=symbol.name.rpartition(".")[0] in classes,
    )
