"""The map of a program: which file uses which symbol, from names and imports, as text within any budget."""

from __future__ import annotations

import sysconfig
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundtable.core.text.chunks import split_file_texts_into_chunks
from roundtable.workshop.symbols.project_map import (
    ProjectMap,
    build_symbol_map_of_project,
    measure_source_file_with_symbols,
    render_symbol_map_of_files,
    render_symbol_map_within_budget,
)
from tests.workshop.programs import CALLS, PYTHON

LARGE_BUDGET = 1_000_000


def build_map(files: Mapping[str, str]) -> ProjectMap:
    return build_symbol_map_of_project({path: text.encode() for path, text in files.items()})


def list_uses(program: ProjectMap) -> dict[str, str]:
    """Return every symbol that another file uses, and where."""
    return {
        f"{file.path} {entry.name}": " ".join(use.place for use in entry.uses)
        for file in program.files
        for entry in file.symbols
        if entry.uses
    }


def tokens(text: str) -> float:
    return len(text.encode()) / 4


def stdlib(*packages: str) -> dict[str, bytes]:
    root = Path(sysconfig.get_path("stdlib"))
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for name in packages
        for path in sorted((root / name).rglob("*.py"))
    }


# --- who uses what ---------------------------------------------------------------------------------


@pytest.mark.parametrize("language", CALLS)
def test_exactly_the_uses_of_other_files_symbols_are_found(language: str) -> None:
    files, expected = CALLS[language]
    assert list_uses(build_map(files)) == expected


def test_a_file_is_mapped_with_its_symbols_and_the_files_it_uses() -> None:
    file = next(mapped_file for mapped_file in build_map(PYTHON).files if mapped_file.path == "src/shop/money.py")
    assert [(candidate.name, candidate.kind, candidate.signature, candidate.line) for candidate in file.symbols] == [
        ("RATE", "value", "RATE = 3", 1),
        ("Purse", "class", "class Purse", 4),
        ("Purse.__init__", "method", "def __init__(self, coins)", 5),
        ("Purse.take", "method", "def take(self, coins)", 7),
        ("cents", "function", "def cents(amount, rate)", 10),
    ]
    assert build_map(PYTHON).imports["src/app/main.py"] == ("src/shop/__init__.py", "src/shop/money.py")


def test_a_common_name_gets_no_false_callers() -> None:
    classes = {
        f"kinds/k{at}.py": f"class K{at}:\n    def get(self): ...\n    def close(self): ...\n" for at in range(9)
    }
    user = (
        "from kinds.k3 import K3\n\n\ndef f(door, kept: dict):\n    kept.get('x')\n    door.close()\n    K3().get()\n"
    )
    stranger = "import user\n\n\ndef g(door):\n    door.get()\n    user.f(door.close(), {})\n"
    uses = list_uses(build_map({**classes, "user.py": user, "stranger.py": stranger}))
    assert uses == {
        "kinds/k3.py K3": "user.py:7",
        "kinds/k3.py K3.get": "user.py:7",
        "kinds/k3.py K3.close": "user.py:6",
        "user.py f": "stranger.py:6",
    }


def test_the_return_type_in_a_signature_resolves_methods() -> None:
    files = {
        "models.py": "class Order:\n    def total(self): ...\n",
        "store.py": "from models import Order\n\n\ndef load(key) -> Order: ...\n",
        "report.py": "import store\n\n\ndef show():\n    return store.load(3).total()\n",
    }
    assert list_uses(build_map(files))["models.py Order.total"] == "report.py:5"


def test_a_project_module_is_not_confused_with_the_standard_library() -> None:
    files = {"pkg/__init__.py": "", "pkg/json.py": "def loads(): ...\n", "main.py": "import json\n\njson.loads('1')\n"}
    assert list_uses(build_map(files)) == {}


def test_every_use_in_a_map_of_the_standard_library_mentions_the_name() -> None:
    files = stdlib("json", "asyncio", "email", "importlib", "concurrent", "unittest")
    program = build_symbol_map_of_project(files)
    uses = list_uses(program)
    assert "json/__init__.py:" in uses["json/decoder.py JSONDecoder.__init__"]
    assert "asyncio/runners.py" in uses["asyncio/tasks.py all_tasks"]
    lines = {path: text.decode().split("\n") for path, text in files.items()}
    count = wrong = 0
    for file in program.files:
        for entry in file.symbols:
            for use in entry.uses:
                count += 1
                line = lines[use.path][use.line - 1]
                wrong += not any(part in line for part in entry.name.split(".")) and "import" not in line
                assert use.path != file.path
    assert count > 1_000
    assert wrong / count < 0.02, "aliases only"


# --- both ends in one text -------------------------------------------------------------------------

FIND = "def find(key, book):\n    return book.get(key)\n"
SHOW = "from bank.find import find\n\n\ndef show(book, key):\n    return find(\n        book, key).name\n"
WAIT = "export const wait = (seconds: number) => sleep(seconds * 1000);\n"
POLL = "import { wait } from '../bank/wait';\n\nexport async function poll() {\n  await wait(5000);\n}\n"
PAY = "package bank\n\nfunc Pay(from, to string) error { return nil }\n"
BUY = 'package web\n\nimport "m/bank"\n\nfunc Buy(me, shop string) {\n\tbank.Pay(shop, me)\n}\n'
RATES = "package bank;\npublic class Rates {\n  public Double of(String name) { return null; }\n}\n"
PAGE = """\
package web;
import bank.Rates;
class Page {
  double show(Rates rates) {
    return rates.of("eur") * 2;
  }
}
"""
FAULTS = {
    "Python: it may give nothing, and its arguments are the other way round": (
        {"bank/find.py": FIND},
        {"web/show.py": SHOW},
        "def find(key, book)",
        "web/show.py:5 in show: return find( book, key).name",
    ),
    "TypeScript: it takes seconds": (
        {"bank/wait.ts": WAIT},
        {"web/poll.ts": POLL},
        "wait = (seconds: number) =>",
        "web/poll.ts:4 in poll: await wait(5000);",
    ),
    "Go: its arguments are the other way round, and nobody looks at the error": (
        {"go.mod": "module m\n", "bank/pay.go": PAY},
        {"web/buy.go": BUY},
        "func Pay(from, to string) error",
        "web/buy.go:6 in Buy: bank.Pay(shop, me)",
    ),
    "Java: it may give nothing": (
        {"bank/Rates.java": RATES},
        {"web/Page.java": PAGE},
        "public Double of(String name)",
        'web/Page.java:5 in Page.show: return rates.of("eur") * 2;',
    ),
}


@pytest.mark.feature("S0.38")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_bug_between_two_files_is_visible_from_both(fault: str) -> None:
    defining, using, signature, call = FAULTS[fault]
    program = build_map({**defining, **using})
    from_definition = render_symbol_map_of_files(program, list(defining), LARGE_BUDGET)
    assert signature in from_definition
    assert call in from_definition
    from_call = render_symbol_map_of_files(program, list(using), LARGE_BUDGET).split("The other files:")[0]
    assert signature in from_call
    assert f"<- {call.split()[0]}" in from_call


def test_a_call_over_several_lines_is_shown_on_one() -> None:
    assert "src/app/main.py:10 in count: purse.take( 2, )" in render_symbol_map_of_files(
        build_map(PYTHON), ["src/shop/money.py"], LARGE_BUDGET
    )


def test_without_room_each_file_shows_one_use_and_the_rest_are_counted() -> None:
    users = {f"u{at}.py": "from log import log\n\n" + "log('x')\n" * 50 for at in range(5)}
    program = build_map({"log.py": "def log(text): ...\n", **users})
    text = render_symbol_map_of_files(program, ["log.py"], 100)
    assert all(f"u{at}.py:3: log('x')" in text for at in range(5))
    assert "and 244 more places, left out for lack of space" in text


# --- as text ---------------------------------------------------------------------------------------


def test_every_symbol_has_one_line() -> None:
    program = build_map(PYTHON)
    lines = render_symbol_map_within_budget(program, LARGE_BUDGET).split("\n")
    assert lines[0] == "src/app/main.py uses src/shop/__init__.py, src/shop/money.py"
    assert "  10 def cents(amount, rate) <- src/app/main.py:14,18" in lines
    assert "  7 Purse.take: def take(self, coins) <- src/app/main.py:10" in lines
    assert lines[-1] == "Without symbols: src/shop/__init__.py"
    symbols = sum(len(file.symbols) for file in program.files)
    assert len(lines) == symbols + len([file for file in program.files if file.symbols]) + 1


def test_details_are_omitted_in_a_fixed_order_and_reported() -> None:
    kinds = ("shared", "alone", "_hidden")
    defined = "".join(f"def {kind}_{at}(one, two): ...\n" for at in range(30) for kind in kinds)
    used = "from a import *\n\n" + "".join(f"shared_{at}(1, 2)\n" for at in range(30) for _ in range(30 - at))
    program = build_map({"a.py": defined, "b.py": used})
    texts = list(dict.fromkeys(render_symbol_map_within_budget(program, budget) for budget in range(3_000, 40, -1)))
    assert [_count_shown(text) for text in texts[:5]] == [
        (30, 30, 30, 90, True),
        (30, 30, 0, 60, True),
        (30, 30, 0, 0, True),
        (30, 0, 0, 0, True),
        (30, 0, 0, 0, False),
    ]
    assert "Left out" not in texts[0]
    assert texts[1].endswith("Left out for lack of space: 30 private symbols.")
    assert texts[2].endswith("Left out for lack of space: 30 private symbols; all signatures.")
    assert "; 30 symbols that no other file uses; " in texts[3]
    assert "; where each symbol is used." in texts[4]
    assert "; 1 symbols that are used less." in texts[5]
    last = next(word for word in reversed(texts) if " shared_" in word)
    assert _count_shown(last)[0] == 1
    assert "function shared_0 <- 30 places" in last, "what is used most stays longest"


def _count_shown(text: str) -> tuple[int, int, int, int, bool]:
    """Return how many symbols of each kind and how many signatures a map shows, and whether it shows their uses."""
    counts = [text.count(word) for word in (" shared_", " alone_", " _hidden_")]
    return counts[0], counts[1], counts[2], text.count("(one, two)"), "b.py:" in text


def test_no_text_is_longer_than_its_budget() -> None:
    files = stdlib("json", "asyncio")
    program = build_symbol_map_of_project(files)
    for budget in (0, 1, 5, 20, 60, 200, 1_000, 5_000, 20_000, 80_000):
        assert tokens(render_symbol_map_within_budget(program, budget)) <= budget
        for paths in (["asyncio/events.py"], ["json/decoder.py", "asyncio/tasks.py"], [], list(files)):
            assert tokens(render_symbol_map_of_files(program, paths, budget)) <= budget


def test_the_same_files_give_the_same_map_in_any_order() -> None:
    files = stdlib("json", "email")
    turned = dict(reversed(files.items()))
    assert msgspec.json.encode(build_symbol_map_of_project(files)) == msgspec.json.encode(
        build_symbol_map_of_project(turned)
    )
    assert msgspec.convert(
        msgspec.to_builtins(build_symbol_map_of_project(files)), ProjectMap
    ) == build_symbol_map_of_project(files)


def test_a_file_cannot_put_control_characters_into_the_map() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e"
    files = {
        f"a{evil}\nb.py": f"def shown(x='{evil}'): ...\n",
        "lib.py": "def lent(x): ...\n",
        "user.py": f"from lib import lent\n\nlent('{evil}\u2028')\n",
    }
    program = build_map(files)
    for text in (
        render_symbol_map_within_budget(program, LARGE_BUDGET),
        render_symbol_map_of_files(program, ["lib.py"], LARGE_BUDGET),
    ):
        assert not any(sign in text for sign in "\x1b\x07\u202e\u2028")
    assert "user.py:3: lent(' ')" in render_symbol_map_of_files(program, ["lib.py"], LARGE_BUDGET)


def test_a_very_long_line_is_cut() -> None:
    program = build_map(
        {"lib.js": "export function f(x) {}\n", "min.js": "import {f} from './lib';" + "f(1);" * 50_000}
    )
    text = render_symbol_map_of_files(program, ["lib.js"], LARGE_BUDGET)
    assert "min.js:1: import {f} from './lib';f(1);" in text
    assert tokens(text) < 2_000


suffixes = st.sampled_from(["py", "ts", "tsx", "js", "go", "rs", "java", "c", "h", "cpp", "cs", "rb", "php", "txt"])
pieces = st.lists(
    st.sampled_from([
        "import a", "from . import ", "from ..b import *", "use crate::", '#include "', "require('./", "package ",
        "namespace A.B", "(", ")", "{", "}", "f", ".", "->", "::", "class A", "def f", "func ", "<", "\n", " ", ";",
        "'", "import a.b.*;", "export * from './f0.ts'", "mod f1;", "use super::super::super::*;", "using A;", "🙂",
    ]),
    max_size=30,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(suffixes, pieces.map("".join).map(str.encode) | st.binary(max_size=60)), max_size=5))
def test_broken_files_do_not_stop_the_map(texts: list[tuple[str, bytes]]) -> None:
    files = {f"f{at}.{suffix}": text for at, (suffix, text) in enumerate(texts)}
    program = build_symbol_map_of_project(files)
    assert [file.path for file in program.files] == sorted(files)
    assert tokens(render_symbol_map_of_files(program, list(files)[:1], 50)) <= 50
    chunks = split_file_texts_into_chunks(
        [measure_source_file_with_symbols(path, text) for path, text in files.items()], 5, program.imports
    )
    parts = {path: b"" for path in files}
    for piece in sorted((part for chunk in chunks for part in chunk.pieces), key=lambda part: part.start):
        parts[piece.path] += piece.read_from(files[piece.path])
    assert parts == files
