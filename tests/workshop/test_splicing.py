"""One function of a real file is replaced by a variant and back; refusals have a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.core.refusals import Refusal, RefusalKind
from roundtable.report.refusals import refusal_sentence, refusal_sentences
from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_source_outline
from roundtable.workshop.symbols.signatures import list_parameter_types
from roundtable.workshop.symbols.splice import match_splice_to_symbol, remove_symbol_from_source, splice_symbol
from roundtable.workshop.symbols.symbol_lookup import find_symbols_by_query, parse_symbol_query
from roundtable.workshop.symbols.syntax_trees import find_first_syntax_error
from roundtable.workshop.symbols.synthesis import SynthesizedFiles, merge_candidate_symbols
from tests.workshop.corpus import FIXTURES, LOCAL_ROOTS, SYSTEM_ROOTS, source_files
from tests.workshop.variants import make_variant

SUFFIXES = (".py", ".js", ".mjs", ".ts", ".tsx", ".go", ".rs", ".java", ".c", ".h", ".cc", ".cpp", ".cs", ".rb", ".php")
SOURCES = {path.suffix: path.name for path in (FIXTURES / "claude").iterdir()}
EXPECTED = {".mjs": 0, ".cc": 0, ".h": 0}
"""Kinds of files that need not be on a machine; of all others we have some."""
LOGINS = {".go": "Account.Login", ".cs": "Account.Login", ".c": "account_login"}


def put_symbol(path: str, source: bytes, symbol: str, text: bytes) -> bytes | Refusal:
    read = match_splice_to_symbol(path, source, symbol, text)
    return read if isinstance(read, Refusal) else splice_symbol(read)


def remove_symbol(path: str, source: bytes, symbol: str) -> bytes | Refusal:
    file = parse_source_outline(path, source)
    assert isinstance(file, Outline)
    return remove_symbol_from_source(file, find_symbols_by_query(file, parse_symbol_query(symbol)))


def take_symbol(path: str, source: bytes, donor: bytes, directive: str) -> SynthesizedFiles:
    """Return a file after a symbol was taken from another seat's whole file."""
    return merge_candidate_symbols(
        "claude", {"claude": {path: source}, "gpt": {path: donor}}, [f"replace `{directive}` by gpt's"]
    )


def _query_text(file: Outline, symbol: Symbol) -> str:
    """Return a symbol's name, with its parameters if there are overloads."""
    parameters = list_parameter_types(symbol.node) if file.language.has_overloads else None
    return symbol.name if parameters is None else f"{symbol.name}({', '.join(parameters)})"


def replace_and_restore(path: Path) -> int:
    """Replace every function of a file by a variant and back; return how many were replaced."""
    source = path.read_bytes()
    file = parse_source_outline(path.name, source)
    assert isinstance(file, Outline)
    done = 0
    if file.root.has_error:
        return done
    names = [candidate.name for candidate in file.symbols]
    for symbol in file.symbols:
        text = (
            make_variant(file, symbol)
            if symbol.kind in {SymbolKind.FUNCTION, SymbolKind.METHOD} and symbol.declared_alone
            else None
        )
        if text is None:
            continue
        there = put_symbol(path.name, source, symbol.name, text)
        if isinstance(there, Refusal):
            assert there.kind is RefusalKind.AMBIGUOUS, (path, symbol.name, refusal_sentence(there))
            assert names.count(symbol.name) > 1, (path, symbol.name, refusal_sentence(there))
            continue
        assert there != source
        assert there.startswith(source[: symbol.start]), (path, symbol.name)
        assert there.endswith(source[symbol.end :]), (path, symbol.name)
        assert put_symbol(path.name, there, symbol.name, file.symbol_text(symbol)) == source, (path, symbol.name)
        result = take_symbol(path.name, source, there, _query_text(file, symbol))
        assert result.files[path.name] == (source if result.left else there), (path, symbol.name)
        assert all(
            names.count(symbol.name) > 1 and "is ambiguous" in refusal_sentences(directive.refused)
            for directive in result.left
        ), (
            path,
            result.left,
        )
        done += 1
    return done


@pytest.mark.feature("S0.20")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_replacing_a_function_and_back_restores_every_byte(suffix: str) -> None:
    assert sum(replace_and_restore(path) for path in source_files(suffix, 20)) >= EXPECTED.get(suffix, 3)


def function_texts(file: Outline) -> list[tuple[str, bytes]]:
    """Return all functions of a file by name with their text."""
    return sorted(
        (candidate.name, file.symbol_text(candidate))
        for candidate in file.symbols
        if candidate.kind in {SymbolKind.FUNCTION, SymbolKind.METHOD}
    )


def remove_and_restore(path: Path) -> int:
    """Remove every symbol of a file and add it again; return how many were restored."""
    source, name = path.read_bytes(), path.name
    file = parse_source_outline(name, source)
    assert isinstance(file, Outline)
    names = sorted(candidate.name for candidate in file.symbols)
    done = 0
    for symbol in file.symbols:
        if (
            file.root.has_error
            or names.count(symbol.name) > 1
            or symbol.kind is SymbolKind.SCOPE
            or not symbol.declared_alone
        ):
            continue
        seats = {"claude": {name: source}, "gpt": {name: source}}
        out = merge_candidate_symbols("claude", seats, [f"remove `{symbol.name}`"])
        back = merge_candidate_symbols("claude", {**seats, "claude": out.files}, [f"add gpt's `{symbol.name}`"])
        if out.left or back.left:
            continue
        assert find_first_syntax_error(name, out.files[name]) is None, (path, symbol.name)
        assert find_first_syntax_error(name, back.files[name]) is None, (path, symbol.name)
        after = parse_source_outline(name, back.files[name])
        assert isinstance(after, Outline)
        assert sorted(candidate.name for candidate in after.symbols) == names, (path, symbol.name)
        assert function_texts(after) == function_texts(file), (path, symbol.name)
        done += 1
    return done


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_removed_symbol_can_be_added_again_unchanged(suffix: str) -> None:
    assert sum(remove_and_restore(path) for path in source_files(suffix, 4)) >= EXPECTED.get(suffix, 3)


@pytest.mark.real
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_functions_of_a_thousand_real_files_are_replaced_and_back(suffix: str) -> None:
    assert sum(
        replace_and_restore(path) for path in source_files(suffix, 1000, LOCAL_ROOTS + SYSTEM_ROOTS)
    ) >= EXPECTED.get(suffix, 3)


def read_fixture(suffix: str, seat: str = "claude") -> tuple[str, bytes]:
    """Return the example file in a language, as a seat wrote it."""
    name = SOURCES[suffix]
    return name, (FIXTURES / seat / name).read_bytes()


@pytest.mark.parametrize("suffix", SOURCES)
def test_a_function_is_taken_from_another_whole_file(suffix: str) -> None:
    path, source = read_fixture(suffix)
    _, donor = read_fixture(suffix, "gpt")
    login = LOGINS.get(suffix, "Account.login")
    result = put_symbol(path, source, login, donor)
    assert isinstance(result, bytes)
    assert find_first_syntax_error(path, result) is None
    before, after = parse_source_outline(path, source), parse_source_outline(path, result)
    assert isinstance(before, Outline)
    assert isinstance(after, Outline)
    assert [candidate.name for candidate in before.symbols] == [candidate.name for candidate in after.symbols]
    changed = [
        one.name
        for one, other in zip(before.symbols, after.symbols, strict=True)
        if one.kind in {SymbolKind.FUNCTION, SymbolKind.METHOD} and before.symbol_text(one) != after.symbol_text(other)
    ]
    assert [name.rpartition(".")[2] for name in changed] == [login.rpartition(".")[2]]


@pytest.mark.parametrize("suffix", [*SOURCES, ".py"])
def test_text_in_another_language_is_refused(suffix: str) -> None:
    path, source = read_fixture(suffix) if suffix != ".py" else ("a.py", b"def login(word):\n    return word\n")
    login = LOGINS.get(suffix, "login").rpartition(".")[2]
    foreign = f"def {login}(word):\n    return word is not None\n" if suffix != ".py" else "func login() bool {\n}\n"
    refused = put_symbol(path, source, login, foreign.encode())
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.LANGUAGE
    assert ("Go" if suffix == ".py" else "Python") in refusal_sentence(refused)


@pytest.mark.parametrize("suffix", SOURCES)
def test_broken_text_is_refused(suffix: str) -> None:
    path, source = read_fixture(suffix)
    refused = put_symbol(path, source, LOGINS.get(suffix, "login"), b"login(( {{ ]] return")
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.SYNTAX


@pytest.mark.parametrize("suffix", SOURCES)
def test_a_symbol_missing_from_the_text_is_refused(suffix: str) -> None:
    path, source = read_fixture(suffix)
    _, donor = read_fixture(suffix, "gpt")
    refused = put_symbol(path, source, "logout", donor)
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.NOT_FOUND


AMBIGUOUS = {
    ".java": ("rename", b"public void rename(int number) {}"),
    ".cs": ("Rename", b"public void Rename(int number) {}"),
    ".cpp": ("Account.rename", b"void Account::rename(int number) {}"),
    ".c": ("account_home", b"const char *account_home(void) { return 0; }"),
}


@pytest.mark.parametrize("suffix", AMBIGUOUS)
def test_ambiguous_overloads_are_refused(suffix: str) -> None:
    path, source = read_fixture(suffix)
    refused = put_symbol(path, source, *AMBIGUOUS[suffix])
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.AMBIGUOUS
    assert path in refusal_sentence(refused)


@pytest.mark.parametrize(
    ("suffix", "symbol", "text", "untouched"),
    [
        (".java", "rename", b"public void rename(String a, String b) { tries = 9; }", b"rename(String name) {"),
        (
            ".java",
            "rename(String)",
            b"public void rename(String n) { tries = 9; }",
            b"rename(String first, String last)",
        ),
        (".cs", "Rename", b"public void Rename(string a, string b) { tries = 9; }", b"Rename(string name)\n"),
        (".cpp", "rename", b"void Account::rename(const std::string& n) { tries = 9; }", b'first + " " + last;'),
    ],
)
def test_a_signature_selects_one_overload(suffix: str, symbol: str, text: bytes, untouched: bytes) -> None:
    path, source = read_fixture(suffix)
    result = put_symbol(path, source, symbol, text)
    assert isinstance(result, bytes)
    assert b"tries = 9" in result
    assert untouched in result


PROPERTY = b"""class Door:
    @property
    def open(self):
        return self._open

    @open.setter
    def open(self, value):
        self._open = value
"""


def test_decorators_distinguish_a_getter_from_a_setter() -> None:
    result = put_symbol(
        "door.py", PROPERTY, "Door.open", b"@open.setter\ndef open(self, value):\n    self._open = bool(value)\n"
    )
    assert result == PROPERTY.replace(b"= value", b"= bool(value)")
    unclear = put_symbol("door.py", PROPERTY, "Door.open", b"def open(self):\n    return 1\n")
    assert isinstance(unclear, Refusal)
    assert unclear.kind is RefusalKind.AMBIGUOUS


def test_a_method_is_taken_from_a_whole_class() -> None:
    source = b"class Door:\n    def open(self):\n        return 1\n\n    def shut(self):\n        return 2\n"
    text = b"class Door:\n    def open(self):\n        return 3\n\n    def shut(self):\n        return 4\n"
    assert put_symbol("door.py", source, "Door.open", text) == source.replace(b"return 1", b"return 3")


def test_inserted_text_is_reindented_except_inside_strings() -> None:
    source = b"class Door:\n\tdef text(self):\n\t\treturn 1\n\nx = 1\n"
    text = b'def text(self):\n    """\n  said\n    """\n\n    return 2\n'
    result = put_symbol("door.py", source, "text", text)
    assert result == b'class Door:\n\tdef text(self):\n\t    """\n  said\n    """\n\n\t    return 2\n\nx = 1\n'


def test_a_file_keeps_its_windows_newlines() -> None:
    source = b"def one():\r\n    return 1\r\n\r\n\r\ndef two():\r\n    return 2\r\n"
    result = put_symbol("a.py", source, "one", b"def one():\n    x = 3\n    return x\n")
    assert result == source.replace(b"    return 1", b"    x = 3\r\n    return x")
    more = put_symbol("a.py", source, "three", b"def three():\n    return 3\n")
    assert more == source.rstrip() + b"\r\n\r\n\r\ndef three():\r\n    return 3\r\n"


def test_a_comment_above_is_kept_if_the_new_text_has_none() -> None:
    source = b"# how it opens\ndef open():\n    return 1\n"
    assert put_symbol("a.py", source, "open", b"def open():\n    return 2\n") == source.replace(b"1", b"2")
    result = put_symbol("a.py", source, "open", b"# anew\ndef open():\n    return 2\n")
    assert result == b"# anew\ndef open():\n    return 2\n"


def test_an_exported_symbol_stays_exported() -> None:
    path, source = read_fixture(".js")
    result = put_symbol(path, source, "greet", b"const greet = (account) => account.name;")
    assert isinstance(result, bytes)
    assert b"export const greet = (account) => account.name;\n" in result


def test_overload_signatures_belong_to_their_implementation() -> None:
    path, source = read_fixture(".ts")
    result = put_symbol(path, source, "rename", b"rename(name: string): void {\n  this.person.name = name;\n}")
    assert isinstance(result, bytes)
    assert result.count(b"rename(") == 1


def test_a_new_method_is_inserted_next_to_its_former_neighbours() -> None:
    source = b"class Door:\n    def a(self): ...\n\n    def c(self): ...\n"
    donor = b"class Door:\n  def a(self): ...\n\n  def b(self): ...\n"
    result = put_symbol("door.py", source, "Door.b", donor)
    assert result == b"class Door:\n    def a(self): ...\n\n    def b(self): ...\n\n    def c(self): ...\n"


@pytest.mark.parametrize(
    ("path", "source", "symbol", "text"),
    [
        ("a.js", b"class A {}\n", "A.b", b"b() { return 1; }"),
        ("a.java", b"class A {\n}\n", "A.b", b"int b() { return 1; }"),
        ("a.rs", b"struct A;\n\nimpl A {\n}\n", "A.b", b"fn b(&self) {}"),
        ("a.rb", b"class A\nend\n", "A.b", b"def b\n  1\nend\n"),
        ("a.php", b"<?php\nclass A\n{\n}\n", "A.b", b"public function b() {}"),
        ("a.cs", b"class A { }\n", "A.b", b"public int B() { return 1; } public int b() { return 1; }"),
        ("a.py", b"class A:\n    x = 1\n", "A.b", b"def b(self):\n    return 1\n"),
        ("a.go", b"package a\n\ntype A struct{}\n", "A.b", b"func (a A) b() {}"),
        ("a.cpp", b"class A {\n};\n", "A.b", b"int b() { return 1; }"),
        ("a.ts", b"export class A {\n}\n", "A.b", b"private b = (): number => 1;"),
        ("a.c", b"int a;\n", "b", b"int b(void) { return a; }"),
    ],
)
def test_a_method_is_added_to_an_empty_class(path: str, source: bytes, symbol: str, text: bytes) -> None:
    result = put_symbol(path, source, symbol, text)
    assert isinstance(result, bytes), result
    file = parse_source_outline(path, result)
    assert isinstance(file, Outline)
    assert symbol in [candidate.name for candidate in file.symbols]
    assert find_first_syntax_error(path, result) is None


def test_a_method_of_a_missing_class_is_refused() -> None:
    refused = put_symbol("a.py", b"x = 1\n", "Door.open", b"def open(self):\n    return 1\n")
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.NOT_FOUND


def test_a_function_is_removed_with_its_decorators_and_comments() -> None:
    source = b"def a(): ...\n\n\n# about b\n@quick\ndef b(): ...\n\n\ndef c(): ...\n"
    assert remove_symbol("a.py", source, "b") == b"def a(): ...\n\n\ndef c(): ...\n"


def test_a_result_that_would_not_parse_is_refused() -> None:
    refused = remove_symbol("a.py", b"class A:\n    def b(self): ...\n", "A.b")
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.SYNTAX


def test_a_file_in_an_unknown_language_is_refused() -> None:
    refused = put_symbol("notes.txt", b"login\n", "login", b"login")
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.LANGUAGE
