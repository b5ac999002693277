"""Exactly the named functions of other candidates are merged into one candidate, without asking a model."""

from __future__ import annotations

import difflib

import pytest

from roundtable.core.effects import Contribution, RemovedSymbol, UnmergedDirective
from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.core.replies import parse_seat_reply
from roundtable.core.values import Expect
from roundtable.report.refusals import refusal_sentences
from roundtable.workshop.symbols.syntax_trees import find_first_syntax_error
from roundtable.workshop.symbols.synthesis import SynthesizedFiles, merge_candidate_symbols
from roundtable.workshop.symbols.transplant import TransplantedSymbol, transplant_symbol
from tests.workshop.corpus import FIXTURES

PATH = "src/auth.py"
CLAUDE = b'''"""Who may come in."""

import hashlib

LIMIT = 3


class Session:
    """A visit."""

    def __init__(self, store):
        self.store = store

    def login(self, user, word):
        return self.check(user, word)

    def check(self, user, word):
        return hashlib.sha256(word).hexdigest() == user.digest

    def rollback(self):
        raise NotImplementedError


def legacy_login(user):
    return  user  # as it always was


if __name__ == "__main__":
    print(LIMIT)
'''
GPT = b'''import hashlib
import hmac
from time import monotonic as now

PATIENCE = 30


def _slow(started):
    return now() - started > PATIENCE


class Session:
  def login(self, user, word):
    started = now()
    given = """
left as it is
    """
    return hmac.compare_digest(self.digest(word), user.digest) and not _slow(started) and given

  def digest(self, word):
    return hashlib.sha256(word).hexdigest()

  def rollback(self):
    return "gpt"
'''
GEMINI = b"""from contextlib import suppress


class Session:
    def login(self, user, word):
        return True

    def rollback(self):
        # whatever was begun
        with suppress(KeyError):
            self.store.pop(self)


def check(one, two, three):
    return one


def purge(store):
    return check(store, 1, 2)
"""
TESTS = b"def test_purge():\n    assert True\n"
CANDIDATES = {
    "claude": {PATH: CLAUDE},
    "gpt": {PATH: GPT},
    "gemini": {PATH: GEMINI, "tests/test_purge.py": TESTS, "notes.txt": b"purge\n"},
}


def apply_directives(*directives: str) -> SynthesizedFiles:
    """Apply directives to Claude's candidate."""
    return merge_candidate_symbols("claude", CANDIDATES, directives)


def method_text(source: bytes, name: str) -> bytes:
    """Return a method of these files without its indentation, up to the next empty line."""
    lines = source.split(b"def " + name.encode() + b"(", 1)[1].split(b"\n\n", 1)[0].split(b"\n")
    return b"\n".join(line.strip() for line in lines)


@pytest.mark.feature("S0.5", "S0.18", "S0.20")
def test_a_ruling_changes_exactly_the_functions_it_names() -> None:
    reply = (
        "Claude's structure carries the others.\n\n"
        "CONSENSUS: BASE=claude. INCORPORATE:\n- login from GPT\n- rollback from Gemini\nMUST_FIX: none"
    )
    verdict = parse_seat_reply(Expect("judge-merge", choices=("claude", "gpt", "gemini")), reply, False).verdict
    assert verdict is not None
    assert verdict.directives is not None
    result = merge_candidate_symbols(verdict.directives.base, CANDIDATES, verdict.directives.incorporate)
    source = result.files[PATH]
    assert method_text(source, "login") == method_text(GPT, "login")
    assert method_text(source, "rollback") == method_text(GEMINI, "rollback")
    assert result.left == ()
    assert result.took == (
        Contribution(PATH, "Session.login", "gpt"),
        Contribution(PATH, "_slow", "gpt"),
        Contribution(PATH, "Session.digest", "gpt"),
        Contribution(PATH, "PATIENCE", "gpt"),
        Contribution(PATH, "import hmac", "gpt"),
        Contribution(PATH, "from time import monotonic as now", "gpt"),
        Contribution(PATH, "Session.rollback", "gemini"),
        Contribution(PATH, "from contextlib import suppress", "gemini"),
    )


def test_everything_not_named_stays_identical_byte_for_byte() -> None:
    result = apply_directives("base Claude, login from GPT, rollback from Gemini").files[PATH]
    assert find_first_syntax_error(PATH, result) is None
    lost = [
        line[2:]
        for line in difflib.ndiff(CLAUDE.decode().splitlines(), result.decode().splitlines())
        if line.startswith("- ")
    ]
    assert lost == ["        return self.check(user, word)", "        raise NotImplementedError"]
    assert b'\nleft as it is\n    """\n' in result
    assert result.endswith(CLAUDE[CLAUDE.index(b"def legacy_login") :])


def test_without_directives_the_result_is_the_base() -> None:
    assert apply_directives() == SynthesizedFiles(dict(CANDIDATES["claude"]))
    assert apply_directives("BASE=claude.") == SynthesizedFiles(dict(CANDIDATES["claude"]))
    assert apply_directives("keep Claude's check") == SynthesizedFiles(dict(CANDIDATES["claude"]))


@pytest.mark.parametrize(
    "said",
    [
        "keep Claude's login over GPT's",
        "use Claude's login instead of GPT's",
        "prefer the base login over GPT's",
        "keep the base login instead of GPT's",
        "replace GPT's login by Claude's",
        "replace `login` by `Claude's` `login`",
    ],
)
def test_directives_for_the_base_itself_change_nothing(said: str) -> None:
    assert apply_directives(said) == SynthesizedFiles(dict(CANDIDATES["claude"]))


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ("gpt: login, digest, gemini: purge", {"Session.login": "gpt", "Session.digest": "gpt", "purge": "gemini"}),
        ("gpt: digest, rollback; gemini: purge", {"Session.rollback": "gpt", "purge": "gemini"}),
        ("login from gpt because it is bounded, and rollback from gemini", {"Session.rollback": "gemini"}),
        ("login from gpt, which is safer. Add gemini's purge.", {"Session.login": "gpt", "purge": "gemini"}),
        ("take gpt's login (which calls digest()) and rollback", {"Session.login": "gpt", "Session.rollback": "gpt"}),
        ("login from gpt because it is bounded, and gemini's is not", {"Session.login": "gpt"}),
        ("login from gpt because it is bounded and purge from gemini", {"Session.login": "gpt", "purge": "gemini"}),
    ],
)
def test_symbols_in_a_list_come_from_the_seat_named_for_the_list(said: str, taken: dict[str, str]) -> None:
    result = apply_directives(said)
    assert result.left == ()
    assert taken.items() <= {contribution.symbol: contribution.seat for contribution in result.took}.items()


def test_one_directive_can_take_one_symbol_and_remove_another() -> None:
    result = apply_directives("take login from gpt then remove legacy_login")
    assert result.took[0] == Contribution(PATH, "Session.login", "gpt")
    assert result.removed == (RemovedSymbol(PATH, "legacy_login"),)


@pytest.mark.parametrize(
    "said",
    [
        "replace auth.login by GPT's",
        "Replace Session.login with GPT's version",
        "take login() from gpt",
        "use gpt's `Session.login`",
        "auth.py: login from gpt",
        "login in src/auth.py from GPT",
        "- add GPT's login to Session",
        "1. Adopt gpt's login method, because it compares in constant time",
        "login from GPT.",
        "replace Claude's login by GPT's",
        "use GPT's login instead of Claude's",
        "prefer GPT's login over the base",
        "add GPT's login to the base",
        "login: use GPT's instead",
        "take `GPT's` `login`, because Claude's login leaks",
        "use `GPT's login`, rollback as is",
        "take login from GPT and rollback from base",
        "login: GPT, rollback: base",
        "take GPT's login as is",
        "login from GPT, rollback as in base",
    ],
)
def test_many_wordings_of_a_directive_are_understood(said: str) -> None:
    result = apply_directives(said)
    assert result.left == ()
    assert result.took[0] == Contribution(PATH, "Session.login", "gpt")
    assert method_text(result.files[PATH], "login") == method_text(GPT, "login")
    assert method_text(result.files[PATH], "rollback") == method_text(CLAUDE, "rollback")


def test_one_directive_can_take_several_symbols_from_one_seat() -> None:
    result = apply_directives("take login, digest and rollback from gpt; add Gemini's purge")
    assert [contribution.symbol for contribution in result.took if contribution.seat == "gpt"][:3] == [
        "Session.login",
        "_slow",
        "Session.digest",
    ]
    assert b'return "gpt"' in result.files[PATH]
    assert b"def purge(store)" in result.files[PATH]


def test_a_whole_file_and_a_whole_class_can_be_taken() -> None:
    result = apply_directives(
        "whole file tests/test_purge.py from gemini", "notes.txt from gemini", "use gpt's Session class"
    )
    assert result.files["tests/test_purge.py"] == TESTS
    assert result.files["notes.txt"] == b"purge\n"
    assert b"class Session:\n  def login" in result.files[PATH]
    assert b"def legacy_login" in result.files[PATH]
    assert Contribution("tests/test_purge.py", "", "gemini") in result.took


def test_imports_are_taken_without_duplicates() -> None:
    result = apply_directives("imports from gpt")
    assert result.files[PATH].count(b"import hashlib") == 1
    head = b'"""Who may come in."""\n\nimport hashlib\nimport hmac\nfrom time import monotonic as now\n\nLIMIT = 3\n'
    assert result.files[PATH] == head + CLAUDE[CLAUDE.index(b"LIMIT = 3\n") + 10 :]


def test_a_function_can_be_removed() -> None:
    result = apply_directives("remove legacy_login")
    assert result.files[PATH] == CLAUDE.replace(
        b"\n\n\ndef legacy_login(user):\n    return  user  # as it always was", b""
    )
    assert (result.took, result.removed) == ((), (RemovedSymbol(PATH, "legacy_login"),))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("make it faster", "`make` is not a known"),
        ("take login from grok", "`grok` is not a known"),
        ("take login from g", "`g` is not a known"),
        ("take login", "The directive names no seat."),
        ("take from gpt", "The directive does not say what to take from gpt."),
        ("take login from gpt and gemini", "The directive does not say what to take from gemini."),
        ("replace gpt's login by gemini's", "The directive names several seats."),
        ("use Claude's login with GPT's", "The directive does not say clearly whose code to use."),
        ("keep login over gpt's", "The directive does not say clearly whose code to use."),
        ("drop gpt's rollback", "Only code of the base can be removed"),
        ("remove login and rollback from gpt", "Only code of the base can be removed"),
        ("replace login by gpt's rollback", "several things at once"),
        ("use gpt's login as rollback", "several things at once"),
        ("take login from gpt remove rollback", "Only code of the base can be removed"),
        ("add purge from gpt", "gpt has no purge in any file."),
        ("whole file notes.txt from gpt", "gpt has no file notes.txt."),
        ("remove purge", "The base has no purge in any file."),
        ("add gemini's test_purge", "The base has no file tests/test_purge.py"),
    ],
)
def test_an_unclear_directive_is_skipped_and_never_guessed(said: str, why: str) -> None:
    result = apply_directives(said)
    assert result.files == CANDIDATES["claude"]
    assert result.took == ()
    assert len(result.left) == 1
    assert why in refusal_sentences(result.left[0].refused)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            "Add gemini's rollback, which claude lacks, and purge",
            "It is unclear whether `purge` is requested or belongs to the reason",
        ),
        (
            "take gpt's login because it validates, digest and rollback",
            "It is unclear whether `digest` is requested or belongs to the reason",
        ),
        (
            "take gpt's login because it validates and rollback",
            "It is unclear whether `rollback` is requested or belongs to the reason",
        ),
        (
            "take gpt's login, which is safer, but not rollback",
            "It is unclear whether `rollback` is requested or belongs to the reason",
        ),
        (
            "take gpt's login because it is safer, and remove the prints",
            "It is unclear whether `remove` is requested or belongs to the reason",
        ),
        (
            "take gpt's login because it is safer, and its imports",
            "It is unclear whether `imports` is requested or belongs to the reason",
        ),
        (
            "take gpt's login because it is safer, and tests/test_purge.py",
            "It is unclear whether `tests/test_purge.py` is requested or",
        ),
        (
            "Replace login, which is broken in the base, by gpt's",
            "It is unclear whether `gpt's` is requested or belongs to the reason",
        ),
        (
            "replace gpt's login, which is broken, by claude's",
            "It is unclear whether `claude's` is requested or belongs to the reason",
        ),
        ("Replace login because gpt's is better", "The directive names no seat."),
        (
            "Replace claude's login, which leaks, by gpt's safer one",
            "The directive does not say clearly whose code to use.",
        ),
        ("Replace claude's login", "The directive does not say clearly whose code to use."),
    ],
)
def test_a_reason_that_may_contain_a_request_is_skipped(said: str, why: str) -> None:
    result = apply_directives(said)
    assert (result.files, result.took) == (CANDIDATES["claude"], ())
    assert [directive.directive for directive in result.left] == [said]
    assert why in refusal_sentences(result.left[0].refused)


def test_only_the_unclear_part_of_a_directive_is_skipped() -> None:
    result = apply_directives("login from GPT, and mind the locks in src/auth.py")
    assert method_text(result.files[PATH], "login") == method_text(GPT, "login")
    assert result.left == (
        UnmergedDirective(
            "mind the locks in src/auth.py",
            (Refusal.of("", RefusalCode.WORD_UNKNOWN, word="mind"),),
            (PATH,),
        ),
    )


@pytest.mark.parametrize("said", ["make it faster", "remove rollback.purge"])
def test_a_directive_without_a_file_concerns_only_the_candidates_files(said: str) -> None:
    assert [directive.files for directive in apply_directives(said).left] == [
        (PATH, "tests/test_purge.py", "notes.txt")
    ]


def test_a_seat_is_recognised_by_a_unique_beginning_of_its_name() -> None:
    candidates = {"a": {PATH: CLAUDE}, "gpt-5": {PATH: GPT}, "gemini-3": {PATH: GEMINI}, "gemini-2": {PATH: GEMINI}}
    assert merge_candidate_symbols("a", candidates, ["login from GPT"]).took[0].seat == "gpt-5"
    assert (
        refusal_sentences(merge_candidate_symbols("a", candidates, ["login from Gemini"]).left[0].refused)
        == "`Gemini` is ambiguous: gemini-3, gemini-2."
    )


def test_candidates_may_be_named_by_labels() -> None:
    candidates = {"A": {PATH: CLAUDE}, "B": {PATH: GPT}, "C": {PATH: GEMINI}}
    result = merge_candidate_symbols("A", candidates, ["replace A's login by B's", "add a rollback from C"])
    assert result.left == ()
    assert {contribution.seat for contribution in result.took} == {"B", "C"}


def test_an_ambiguous_name_is_skipped() -> None:
    candidates = {**CANDIDATES, "gpt": {PATH: GPT, "src/other.py": b"class Other:\n    def login(self): ...\n"}}
    result = merge_candidate_symbols("claude", candidates, ["login from gpt", "Session.login from gpt"])
    assert result.left == (
        UnmergedDirective(
            "login from gpt",
            (
                Refusal.of(
                    "",
                    RefusalCode.SYMBOL_IN_SEVERAL_PLACES,
                    symbol="login",
                    candidates="Session.login (src/auth.py), Other.login (src/other.py)",
                ),
            ),
            (PATH, "src/other.py"),
        ),
    )
    assert result.took[0] == Contribution(PATH, "Session.login", "gpt")


def test_a_helper_with_other_parameters_in_the_base_is_reported() -> None:
    base = {PATH: b"def check(one):\n    return one\n"}
    result = merge_candidate_symbols("claude", {**CANDIDATES, "claude": base}, ["add gemini's purge"])
    assert result.files[PATH].startswith(base[PATH])
    assert b"def purge(store)" in result.files[PATH]
    assert [directive.files for directive in result.left] == [(PATH,)]
    assert "check(one, two, three)" in refusal_sentences(result.left[0].refused)


@pytest.mark.parametrize(
    ("path", "base", "donor"),
    [
        (
            "a.go",
            "package a\n\ntype S struct {\n\tn int\n}\n\nfunc (s *S) Go() int { return s.n }\n",
            "package a\n\ntype S struct {\n\tn, mu int\n}\n\nfunc (s *S) Go() int { return s.n + s.mu }\n",
        ),
        (
            "a.rs",
            "struct S {\n    n: i32,\n}\n\nimpl S {\n    fn Go() -> S { S { n: 1 } }\n}\n",
            "struct S {\n    n: i32,\n    mu: i32,\n}\n\nimpl S {\n    fn Go() -> S { S { n: 1, mu: 2 } }\n}\n",
        ),
        (
            "a.c",
            "typedef struct {\n  int n;\n} S;\n\nint Go(S *s) { return s->n; }\n",
            "typedef struct {\n  int n;\n  int *mu;\n} S;\n\nint Go(S *s) { return *s->mu; }\n",
        ),
    ],
)
def test_a_field_missing_from_the_bases_struct_is_reported(path: str, base: str, donor: str) -> None:
    candidates = {"claude": {path: base.encode()}, "gpt": {path: donor.encode()}}
    result = merge_candidate_symbols("claude", candidates, ["replace Go by gpt's"])
    assert [refusal_sentences(directive.refused) for directive in result.left] == [
        f"The new code uses `mu`, but S has no such field in {path}."
    ]
    assert merge_candidate_symbols("claude", candidates, ["replace S by gpt's", "replace Go by gpt's"]).left == ()


def test_an_import_that_conflicts_with_the_base_is_reported() -> None:
    base = {PATH: b"from slow import now\n\n\nclass Session:\n    def login(self): ...\n"}
    result = merge_candidate_symbols("claude", {**CANDIDATES, "claude": base}, ["login from gpt"])
    assert result.files[PATH].count(b"import") == 3
    assert "`from time import monotonic as now`" in refusal_sentences(result.left[0].refused)


LOGINS = {"account.go": "Login", "Account.cs": "Login", "account.c": "account_login"}
NEEDED = {
    "account.js": "LIMIT, bytes, Account.remember, const { timingSafeEqual } = require('node:crypto');",
    "account.ts": 'LIMIT, bytes, Account.remember, import { timingSafeEqual } from "node:crypto";',
    "account.go": 'limit, Account.remember, plain, import "crypto/subtle", import "strings"',
    "account.rs": "LIMIT, Account.remember, pairs, use std::collections::HashMap;",
    "Account.java": "Account.LIMIT, Account.bytes, import java.security.MessageDigest;",
    "account.c": "LIMIT, same, #include <string.h>",
    "account.cpp": "house.LIMIT, house.same, #include <algorithm>",
    "Account.cs": "House.Account.Limit, House.Account.Bytes, using System.Security.Cryptography;",
    "account.rb": "House.Account.LIMIT, House.Account.same?, require 'openssl'",
    "account.php": "LIMIT, Account.same, use House\\Clock as Time;",
}


@pytest.mark.feature("S0.20")
@pytest.mark.parametrize("path", NEEDED)
def test_a_function_brings_its_dependencies_in_every_language(path: str) -> None:
    base, donor = ((FIXTURES / seat / path).read_bytes() for seat in ("claude", "gpt"))
    name = LOGINS.get(path, "login")
    result = merge_candidate_symbols(
        "claude", {"claude": {path: base}, "gpt": {path: donor}}, [f"replace {name} by GPT's"]
    )
    assert result.left == ()
    assert [contribution.symbol for contribution in result.took][1:] == NEEDED[path].split(", ")
    assert find_first_syntax_error(path, result.files[path]) is None
    again = merge_candidate_symbols(
        "claude", {"claude": result.files, "gpt": {path: donor}}, [f"replace {name} by GPT's"]
    )
    assert again.files == result.files


@pytest.mark.parametrize(
    ("path", "base", "donor", "name"),
    [
        (
            "a.ts",
            b"class A {\n  f() {\n    return 1;\n  }\n}\n",
            b'import { Post } from "web";\n\nclass A {\n  @Post("/x")\n  f() {\n    return 2;\n  }\n}\n',
            "A.f",
        ),
        ("a.rs", b"struct S;\n", b"use serde::Serialize;\n\n#[derive(Serialize)]\nstruct S { a: i32 }\n", "S"),
    ],
)
def test_imports_of_decorators_and_attributes_come_along(path: str, base: bytes, donor: bytes, name: str) -> None:
    result = merge_candidate_symbols("claude", {"claude": {path: base}, "gpt": {path: donor}}, [f"{name} from gpt"])
    assert result.files[path] == donor


TYPED = b'''"""Doors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from db import Db


def login(db: Db) -> int:
    return 2
'''


def test_a_conditional_import_brings_the_names_of_its_condition() -> None:
    base = b'"""Doors."""\n\nimport os\n\n\ndef login(db):\n    return os.sep\n'
    donor = b"""from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from db import Db

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = None


def login(db: Db) -> int:
    return 2


def settings():
    return tomllib
"""
    typed, chosen = (
        merge_candidate_symbols("claude", {"claude": {"a.py": base}, "gpt": {"a.py": donor}}, [directive])
        for directive in ("replace login by gpt's", "add gpt's settings")
    )
    assert typed.files["a.py"] == TYPED
    for result in (typed, chosen):
        assert result.left == ()
        exec(compile(result.files["a.py"], "a.py", "exec", dont_inherit=True), {})
    assert [contribution.symbol for contribution in chosen.took][:2] == ["settings", "import sys"]


def test_an_import_that_must_be_first_is_inserted_first() -> None:
    donor = b"from __future__ import annotations\n\nimport re\n\n\ndef f(x: Later) -> None:\n    re.purge()\n"
    for base in (b"def f(x): ...\n", b"import os\n\n\ndef f(x): ...\n", b"#!/bin/python\nimport os\ndef f(x): ...\n"):
        result = merge_candidate_symbols(
            "claude", {"claude": {"a.py": base}, "gpt": {"a.py": donor}}, ["f from gpt"]
        ).files["a.py"]
        assert b"from __future__ import annotations" in result
        exec(compile(result, "a.py", "exec", dont_inherit=True), {})
    bare = {"a.py": b"import re\n\n\ndef f(x):\n    return 1\n"}
    plain = {"a.py": donor.replace(b"x: Later) -> None", b"x)")}
    assert (
        b"__future__"
        not in merge_candidate_symbols("claude", {"claude": bare, "gpt": plain}, ["f from gpt"]).files["a.py"]
    )


def test_constants_and_static_properties_of_a_php_class_come_along() -> None:
    base = b"<?php\nclass Repo\n{\n    public function find($id)\n    {\n        return $id;\n    }\n}\n"
    donor = b"""<?php
use App\\Clock;

class Repo
{
    private const TTL = 5;
    private static $cache = [];

    public function find($id)
    {
        self::$cache[$id] = self::TTL + Clock::NOW;
        return $id;
    }
}
"""
    result = merge_candidate_symbols(
        "claude", {"claude": {"a.php": base}, "gpt": {"a.php": donor}}, ["replace Repo::find by gpt's"]
    )
    assert result.left == ()
    names = {"Repo.find", "Repo.TTL", "Repo.cache", "use App\\Clock;"}
    assert {contribution.symbol for contribution in result.took} == names


def test_replaced_contributions_are_not_credited() -> None:
    again = apply_directives("digest from gpt", "rollback from gpt", "rollback from gemini").took
    assert [contribution.seat for contribution in again if contribution.symbol == "Session.rollback"] == ["gemini"]
    assert Contribution(PATH, "Session.digest", "gpt") in again
    assert {
        contribution.seat
        for contribution in apply_directives("login from gpt", "use gemini's Session class").took
        if "." in contribution.symbol
    } == set()
    assert apply_directives("login from gpt", f"whole file {PATH} from gemini").took == (
        Contribution(PATH, "", "gemini"),
    )
    removed = apply_directives("rollback from gemini", "remove rollback")
    assert (RemovedSymbol(PATH, "Session.rollback"),) == removed.removed
    assert [contribution.symbol for contribution in removed.took] == ["from contextlib import suppress"]
    back = apply_directives("remove rollback", "add gemini's rollback to Session")
    assert back.removed == ()


def test_the_first_import_goes_after_a_byte_order_mark() -> None:
    base = {"a.py": b"\xef\xbb\xbfdef f():\n    return 1\n"}
    donor = {"a.py": b"import re\n\n\ndef f():\n    return re\n"}
    result = merge_candidate_symbols("claude", {"claude": base, "gpt": donor}, ["f from gpt"])
    assert result.files["a.py"] == b"\xef\xbb\xbf" + donor["a.py"]


def test_an_import_brings_the_file_that_the_base_lacks() -> None:
    donor = {
        "app/auth.py": b"from .locks import held\n\n\ndef login():\n    return held()\n",
        "app/locks.py": b"from app.times import now\n\n\ndef held():\n    return now()\n\n\ndef free(): ...\n",
        "app/times.py": b"def now():\n    return 1\n",
        "app/unused.py": b"x = 1\n",
    }
    base = {"app/auth.py": b"def login(): ...\n"}
    result = merge_candidate_symbols("claude", {"claude": base, "gpt": donor}, ["login from gpt"])
    assert result.files == {path: donor[path] for path in ("app/auth.py", "app/locks.py", "app/times.py")}
    half = {**base, "app/locks.py": b"def taken(): ...\n", "app/times.py": b"def now(): ...\n"}
    less = merge_candidate_symbols("claude", {"claude": half, "gpt": donor}, ["login from gpt"])
    assert b"def held()" in less.files["app/locks.py"]
    assert b"def free()" not in less.files["app/locks.py"]
    assert less.files["app/locks.py"].startswith(b"from app.times import now\n")
    assert less.files["app/times.py"] == half["app/times.py"]


@pytest.mark.parametrize(
    ("path", "source", "line", "first"),
    [
        ("a.py", b'#!/bin/python\n"""Why."""\n\nx = 1\n', b"import q", b"x = 1"),
        ("a.py", b"from __future__ import annotations\n\nprint(1)\n", b"import q", b"print(1)"),
        ("a.py", b"# of x\ndef x(): ...\n", b"import q", b"# of x"),
        ("a.js", b"'use strict';\n\nrun();\n", b'import q from "q";', b"run();"),
        ("a.go", b"// Package a is.\npackage a\n\nvar x = 1\n", b'import "q"', b"var x = 1"),
        ("a.java", b"package a;\n\nclass A {}\n", b"import q.Q;", b"class A {}"),
        ("a.rs", b"#![allow(dead_code)]\n\nfn a() {}\n", b"use q::Q;", b"fn a() {}"),
        ("a.php", b"<?php\nnamespace A;\n\nf();\n", b"use Q\\R;", b"f();"),
        ("a.rb", b"# frozen_string_literal: true\n\nrun\n", b"require 'q'", b"run"),
        ("a.c", b"/* Ours. */\n\nint a;\n", b"#include <q.h>", b"int a;"),
    ],
)
def test_the_first_import_of_a_file_goes_before_its_code(path: str, source: bytes, line: bytes, first: bytes) -> None:
    donor = (b"<?php\n" if path == "a.php" else b"package a\n" if path == "a.go" else b"") + line + b"\n"
    result = merge_candidate_symbols(
        "claude", {"claude": {path: source}, "gpt": {path: donor}}, ["imports from gpt"]
    ).files[path]
    assert find_first_syntax_error(path, result) is None
    assert result.replace(line, b"").split() == source.split()
    assert result.index(line) < result.index(first)
    assert result.index(line) > result.index(b"package a") if b"package a" in result else True
    assert not result.startswith(line) or path == "a.py"


def test_a_function_from_a_text_brings_its_imports_and_helpers() -> None:
    text = b"import q\n\n\ndef near(x):\n    return q.of(x)\n\n\ndef f(x):\n    return near(x)\n"
    result = transplant_symbol("a.py", b"def f(x):\n    return x\n", "f", text)
    assert isinstance(result, TransplantedSymbol)
    assert result.source == text
    assert (result.symbols, result.imports) == (("f", "near"), ("import q",))


def test_a_function_may_be_named_like_the_start_of_a_reason() -> None:
    versions = {
        seat: {"find.js": f"function which() {{\n  return '{seat}'\n}}\n".encode()} for seat in ("claude", "gpt")
    }
    result = merge_candidate_symbols("claude", versions, ["replace `which` by gpt's"])
    assert result.files == versions["gpt"]


def test_a_request_to_keep_code_does_not_disturb_clear_parts() -> None:
    result = apply_directives("Take login from GPT and keep the rest as is")
    assert result.took[0] == Contribution(PATH, "Session.login", "gpt")
    assert [directive.directive for directive in result.left] == ["keep the rest as is"]
