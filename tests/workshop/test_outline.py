"""The symbols and imports of a file, in every supported language."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.core.refusals import Refusal
from roundtable.workshop.symbols import syntax_trees
from roundtable.workshop.symbols.languages import SymbolKind, find_source_language
from roundtable.workshop.symbols.outline import Outline, parse_source_outline
from roundtable.workshop.symbols.symbol_lookup import find_symbols_by_query, parse_symbol_query
from roundtable.workshop.symbols.syntax_trees import find_first_syntax_error
from tests.workshop.corpus import FIXTURES


def read_outline(path: str, source: bytes | None = None) -> Outline:
    """Return the outline of a fixture or of a text."""
    results = parse_source_outline(path, source if source is not None else (FIXTURES / "claude" / path).read_bytes())
    assert isinstance(results, Outline)
    return results


SYMBOLS = {
    "account.js": "class Account, method constructor, method login, method word, method word,"
    " function greet, function load",
    "account.ts": "class Person, class Account, value tries, method constructor, method login, method rename,"
    " function load",
    "account.go": "class Account, method Login, function Load",
    "account.rs": "class Account, scope Account, method login, method name, scope Account, method drop, function load",
    "Account.java": "class Account, value word, value tries, method Account, method login, method rename,"
    " method rename, method names",
    "account.c": "value tries, prototype account_login, function account_login, function account_home,"
    " function account_home, function account_print",
    "account.cpp": "scope house, function first, method login, method rename, method rename, class Door, method open,"
    " value open_",
    "Account.cs": "scope House, class Account, value word, value tries, method Account, method Login, method Rename,"
    " method Rename",
    "account.rb": "scope House, class Account, method initialize, method login, method load, method text",
    "account.php": "class Account, value tries, method __construct, method login, function load",
}


@pytest.mark.parametrize("path", SYMBOLS)
def test_every_symbol_of_a_file_is_found_by_its_name(path: str) -> None:
    assert ", ".join(f"{symbol.kind} {symbol.base_name}" for symbol in read_outline(path).symbols) == SYMBOLS[path]


@pytest.mark.parametrize(
    ("path", "symbol", "begins", "ends"),
    [
        ("account.js", "Account", b"/** Everyone", b"\n}"),
        ("account.js", "greet", b"export const greet", b"`;"),
        ("account.ts", "rename", b"  rename(name: string): void;", b"\n  }"),
        ("account.go", "Account.Login", b"// Login compares", b"\n}"),
        ("account.rs", "login", b"    /// Compares in plain text.\n    #[must_use]", b"\n    }"),
        ("Account.java", "login", b"    /** Compares", b"\n    }"),
        ("account.c", "account_login", b"/* Stops", b"\n}"),
        ("account.cpp", "first", b"template <typename T>\nT first", b"\n}"),
        ("account.cpp", "Door", b"class Door", b"};"),
        ("Account.cs", "Login", b"        [Obsolete]", b"\n        }"),
        ("account.rb", "text", b"    private def text", b"\n    end"),
        ("account.php", "login", b"    /** Compares", b"\n    }"),
    ],
)
def test_decorators_and_wrappers_belong_to_their_symbol(path: str, symbol: str, begins: bytes, ends: bytes) -> None:
    file = read_outline(path)
    results = find_symbols_by_query(file, parse_symbol_query(symbol))
    assert len(results) == 1
    assert file.symbol_text(results[0]).startswith(begins)
    assert file.symbol_text(results[0]).endswith(ends)


def test_a_symbol_is_found_by_the_end_of_its_name_or_with_its_file_name() -> None:
    file = read_outline("src/auth.py", b"class Session:\n    def login(self): ...\n\n\ndef logout(): ...\n")
    assert [found_symbol.name for found_symbol in find_symbols_by_query(file, parse_symbol_query("login"))] == [
        "Session.login"
    ]
    assert [found_symbol.name for found_symbol in find_symbols_by_query(file, parse_symbol_query("Session.login"))] == [
        "Session.login"
    ]
    assert [found_symbol.name for found_symbol in find_symbols_by_query(file, parse_symbol_query("auth.logout"))] == [
        "logout"
    ]
    assert [
        found_symbol.name for found_symbol in find_symbols_by_query(file, parse_symbol_query("src.auth.Session::login"))
    ] == ["Session.login"]
    assert find_symbols_by_query(file, parse_symbol_query("other.logout")) == []


def test_a_separated_comment_belongs_to_no_symbol() -> None:
    file = read_outline("a.py", b"x = 1  # of x\ndef a(): ...\n\n# apart\n\ndef b(): ...\n")
    assert [file.symbol_text(candidate) for candidate in file.symbols[1:]] == [b"def a(): ...", b"def b(): ..."]


def test_functions_assigned_to_names_are_functions() -> None:
    file = read_outline(
        "a.ts",
        b"export const a = async () => 1;\nclass B {\n  c = () => 2;\n  d = 3;\n}\nexports.e = function () {};\n",
    )
    kinds = {candidate.name: candidate.kind for candidate in file.symbols}
    assert kinds == {
        "a": SymbolKind.FUNCTION,
        "B": SymbolKind.CLASS,
        "B.c": SymbolKind.METHOD,
        "B.d": SymbolKind.VALUE,
        "e": SymbolKind.FUNCTION,
    }


IMPORTS = {
    "a.py": (b"import os.path as p, sys\nfrom a import (b as c,\n  d)\n", "p sys c d"),
    "a.js": (
        b'import a, { b as c } from "m";\nimport * as n from "n";\nconst { x, y: z } = require("r");\n',
        "a c n x z",
    ),
    "a.ts": (b'import type { T } from "m";\nimport q = require("q");\n', "T q"),
    "a.go": (b'package a\nimport (\n\tx "y/z"\n\t"net/http"\n\t"e.io/go-yaml/v3"\n)\n', "x http yaml"),
    "a.rs": (b"use a::{b, c::{self, d as e}};\nuse f::*;\n", "b  c e"),
    "a.java": (b"import a.b.C;\nimport static a.D.e;\nimport f.*;\n", "C e "),
    "a.c": (b"#include <stdio.h>\n", ""),
    "a.cpp": (b"#ifndef A\n#define A\n#include <a>\nusing std::swap;\n#endif\n", " swap"),
    "a.cs": (b"using System;\nusing T = System.Text;\n", " T"),
    "a.rb": (b"require 'json'\n", ""),
    "a.php": (b"<?php\nuse A\\{B, C as D};\nuse function e\\f;\n", "B D f"),
}


@pytest.mark.parametrize("path", IMPORTS)
def test_imports_say_which_names_they_bring(path: str) -> None:
    source, names = IMPORTS[path]
    results = read_outline(path, source).imports
    assert sorted(statement.name for statement in results) == sorted(names.split(" "))
    alone = "\n".join(statement.text for statement in results).encode()
    assert find_first_syntax_error(path, (b"<?php\n" if path == "a.php" else b"") + alone + b"\n") is None


def test_names_are_classified_by_their_role_in_the_code() -> None:
    file = read_outline("a.py", b"def f(a, *rest):\n    b = a.c(LIMIT)\n    return helper(b)\n")
    words = file.name_usage(file.symbols[0])
    assert {"LIMIT", "helper"} <= words.used
    assert not {"a", "b", "c"} & words.used
    assert words.members == {"c"}
    assert words.called == {"c", "helper"}


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", b"def f(:\n    pass\n"),
        ("a.py", b"class A:\n"),
        ("a.js", b"function ( {"),
        ("a.ts", b"const a: = 1;"),
        ("a.go", b"package a\nfunc {\n"),
        ("a.rs", b"fn f( {}\n"),
        ("A.java", b"class A { void }"),
        ("a.c", b"int f( { return 1; }"),
        ("a.cpp", b"class { int }} x"),
        ("a.cs", b"class A { void M( }"),
        ("a.rb", b"def a(\nend end"),
        ("a.php", b"<?php function ( {"),
    ],
)
def test_a_syntax_error_is_reported_with_its_line(path: str, source: bytes) -> None:
    problem = find_first_syntax_error(path, source)
    language = find_source_language(path)
    assert problem
    assert language
    assert problem.language == language.name
    assert 1 <= problem.line <= source.count(b"\n") + 1


def test_an_unknown_language_has_no_errors_and_no_outline() -> None:
    assert find_source_language("notes.txt") is None
    assert find_first_syntax_error("notes.txt", b"((((") is None
    assert isinstance(parse_source_outline("notes.txt", b""), Refusal)


def test_very_deeply_nested_code_is_parsed() -> None:
    deep = b"(" * 20_000 + b")" * 20_000
    assert find_first_syntax_error("a.py", b"x = " + deep + b"\n") is None
    assert read_outline("a.py", b"def f():\n    return " + deep + b"\n").name_usage().called == frozenset()


def test_no_node_is_asked_for_its_points() -> None:
    folder = Path(syntax_trees.__file__).parent
    sources = {path.name: path.read_text() for path in folder.glob("*.py")}
    assert not [name for name, text in sources.items() if "start_point" in text or "end_point" in text]
