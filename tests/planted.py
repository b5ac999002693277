"""A program of 200 files and about 1 MB in four languages, with faults of which each end is right by itself.

It is the same every time. Each package is about as long as a chunk of 20,000 tokens, and the wrong call of a function
stands in another package than the function, so that no chunk has both ends by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

FILES_PER_PACKAGE = 17
_BYTES = 5_300


@dataclass(frozen=True)
class End:
    """One end of a fault: its file, its line from 1, and what stands on it."""

    path: str
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Fault:
    """A function and a call of it elsewhere that do not go together, and why."""

    name: str
    why: str
    defined: End
    used: End


@dataclass(frozen=True)
class Planted:
    """The program, and what is wrong with it."""

    files: dict[str, bytes]
    faults: tuple[Fault, ...]


class _Kind(NamedTuple):
    why: str
    verb: str
    takes: tuple[str, ...]
    gives: tuple[str, ...]


_KINDS = (
    _Kind("the arguments are the other way round", "transfer", ("account", "cents"), ("cents", "account")),
    _Kind("it takes seconds and is given milliseconds", "pause", ("seconds", "tries"), ("timeout_ms", "tries")),
    _Kind("one argument is missing", "convert", ("amount", "rate", "digits"), ("amount", "rate")),
)


@dataclass(frozen=True)
class _Language:
    """How a file, a function and a call are written."""

    packages: tuple[str, ...]
    path: Callable[[str, int], str]
    head: Callable[[str, list[tuple[str, int, str]]], list[str]]
    defined: Callable[[str, tuple[str, ...]], str]
    body: Callable[[str, int], list[str]]
    called: Callable[[str, int, str, tuple[str, ...]], str]
    foot: tuple[str, ...] = ()


def _python_head(package: str, imports: list[tuple[str, int, str]]) -> list[str]:
    return [
        f'"""Part of {package}."""',
        "",
        *(f"from shop.{folder}.part_{at:02} import {name}" for folder, at, name in imports),
        "",
    ]


def _script_head(package: str, imports: list[tuple[str, int, str]]) -> list[str]:
    return [*(f"import {{ {name} }} from '../{folder}/part{at:02}';" for folder, at, name in imports), ""]


def _go_head(package: str, imports: list[tuple[str, int, str]]) -> list[str]:
    packages = sorted({name for name, _, _ in imports if name != package})
    return [
        f"package {package}",
        "",
        *(f'import "example.com/planted/services/{package_name}"' for package_name in packages),
        "",
    ]


def _java_head(package: str, uses: list[tuple[str, int, str]]) -> list[str]:
    packages = sorted({(name, at) for name, at, _ in uses if name != package})
    imports = (f"import com.planted.{package_name}.{package_name.title()}Part{at:02};" for package_name, at in packages)
    return [f"package com.planted.{package};", "", *imports, ""]


_LANGUAGES = (
    _Language(
        ("audit", "basket", "ledger", "tariff"),
        lambda package, at: f"shop/{package}/part_{at:02}.py",
        _python_head,
        lambda name, takes: f"def {name}({', '.join(takes)}):",
        lambda first, seed: [
            f"    kept = {{'{first}': {first}, 'seed': {seed}}}",
            f"    for turn in range({seed % 7 + 2}):",
            f"        kept[f'turn {{turn}}'] = kept['seed'] * {seed % 5 + 1} + turn",
            "    if not kept:",
            f"        raise ValueError('nothing is kept of {seed}')",
            "    return sum(it for it in kept.values() if isinstance(it, int))",
            "",
            "",
        ],
        lambda package, at, name, gives: f"{name}({', '.join(gives)})",
    ),
    _Language(
        ("browse", "checkout", "profile"),
        lambda package, at: f"web/src/{package}/part{at:02}.ts",
        _script_head,
        lambda name, takes: (
            f"export function {name}({', '.join(f'{parameter}: number' for parameter in takes)}): number {{"
        ),
        lambda first, seed: [
            f"  const kept: Record<string, number> = {{ {first}, seed: {seed} }};",
            f"  for (let turn = 0; turn < {seed % 7 + 2}; turn += 1) {{",
            f"    kept[`turn ${{turn}}`] = kept.seed * {seed % 5 + 1} + turn;",
            "  }",
            "  return Object.values(kept).reduce((sum, it) => sum + it, 0);",
            "}",
            "",
        ],
        lambda package, at, name, gives: f"{name}({', '.join(gives)})",
    ),
    _Language(
        ("billing", "stock"),
        lambda package, at: f"services/{package}/part{at:02}.go",
        _go_head,
        lambda name, takes: f"func {name}({', '.join(f'{parameter} int' for parameter in takes)}) int {{",
        lambda first, seed: [
            f'\tkept := map[string]int{{"{first}": {first}, "seed": {seed}}}',
            f"\tfor turn := 0; turn < {seed % 7 + 2}; turn++ {{",
            f'\t\tkept["turn"] += kept["seed"]*{seed % 5 + 1} + turn',
            "\t}",
            '\treturn kept["turn"] + kept["seed"]',
            "}",
            "",
        ],
        lambda package, at, name, gives: f"{package}.{name}({', '.join(gives)})",
    ),
    _Language(
        ("crew", "fleet"),
        lambda package, at: f"java/src/com/planted/{package}/{package.title()}Part{at:02}.java",
        _java_head,
        lambda name, takes: f"    public static int {name}({', '.join(f'int {parameter}' for parameter in takes)}) {{",
        lambda first, seed: [
            "        java.util.Map<String, Integer> kept = new java.util.TreeMap<>();",
            f'        kept.put("{first}", {first});',
            f"        for (int turn = 0; turn < {seed % 7 + 2}; turn++) {{",
            f'            kept.put("turn " + turn, {seed} * {seed % 5 + 1} + turn);',
            "        }",
            "        return kept.values().stream().mapToInt(Integer::intValue).sum();",
            "    }",
            "",
        ],
        lambda package, at, name, gives: f"{package.title()}Part{at:02}.{name}({', '.join(gives)})",
        foot=("}",),
    ),
)


def planted() -> Planted:
    """The program and its faults."""
    files: dict[str, bytes] = {}
    ends: dict[str, dict[str, End]] = {}
    for index, language in enumerate(_LANGUAGES):
        for place in range(len(language.packages)):
            for at in range(FILES_PER_PACKAGE):
                path, lines = language.path(language.packages[place], at), list(_file(language, index, place, at, ends))
                files[path] = "\n".join((*lines, "")).encode()
    files.update(_others())
    whys = {_fault_name(index, place, kind): kind.why for index, place, kind in _every_fault()}
    return Planted(files, tuple(Fault(why, whys[why], ends[why]["defined"], ends[why]["used"]) for why in sorted(whys)))


def _every_fault() -> Iterator[tuple[int, int, _Kind]]:
    for index, language in enumerate(_LANGUAGES):
        for place in range(len(language.packages)):
            yield from ((index, place, kind) for kind in _KINDS[place % 2 :])


def _fault_name(index: int, place: int, kind: _Kind) -> str:
    package = _LANGUAGES[index].packages[place].title()
    return f"{kind.verb}_{package}" if index == 0 else f"{kind.verb.title() if index == 2 else kind.verb}{package}"


def _work_name(index: int, package: str, at: int, turn: int) -> str:
    return f"{'Work' if index == 2 else 'work'}_{package}_{at:02}_{turn}"


def _file(language: _Language, index: int, place: int, at: int, ends: dict[str, dict[str, End]]) -> Iterator[str]:
    """One file: it calls the next three of its package, the first of a package defines, and the sixth calls wrongly."""
    package, before = language.packages[place], language.packages[place - 1]
    mates = [(at + step) % FILES_PER_PACKAGE for step in (1, 2, 3)]
    works = [(package, mate, _work_name(index, package, mate, 0)) for mate in mates]
    faults = [
        kind for one, other, kind in _every_fault() if (one, other) == (index, (place - 1) % len(language.packages))
    ]
    far = [(before, 0, _fault_name(index, place - 1, kind)) for kind in faults] if at == 5 else []
    lines = language.head(package, works + far)
    if language.foot:
        lines += [f"public class {package.title()}Part{at:02} {{"]
    path = language.path(package, at)

    def define(name: str, takes: tuple[str, ...], seed: int, calls: list[str]) -> None:
        lines.append(language.defined(name, takes))
        indent = {0: "    ", 1: "  ", 2: "\t", 3: "        "}[index]
        keep = {0: "done = ", 1: "const done = ", 2: "done := ", 3: "int done = "}[index]
        for step, call in enumerate(calls):
            lines.append(f"{indent}{keep.replace('done', f'done{step}')}{call}{';' if index in {1, 3} else ''}")
        lines.extend(language.body(takes[0], seed))

    if at == 0:
        for kind in _KINDS[place % 2 :]:
            name = _fault_name(index, place, kind)
            define(name, kind.takes, len(name), [])
            number = next(row for row, text in enumerate(lines, 1) if text == language.defined(name, kind.takes))
            ends.setdefault(name, {})["defined"] = End(path, number, lines[number - 1].strip())
    if far:
        names = tuple(dict.fromkeys(given_name for kind in faults for given_name in kind.gives))
        calls = [
            language.called(word, part, name, kind.gives) for (word, part, name), kind in zip(far, faults, strict=True)
        ]
        define(_work_name(index, package, at, 99), names, 7, calls)
        for (_, _, name), call in zip(far, calls, strict=True):
            number = next(row for row, text in enumerate(lines, 1) if call in text)
            ends.setdefault(name, {})["used"] = End(path, number, lines[number - 1].strip())
    turn = 0
    while sum(len(line) + 1 for line in lines) < _BYTES:
        calls = [_near(language, index, mate, name) for mate, (_, _, name) in zip(mates, works, strict=True)]
        define(
            _work_name(index, package, at, turn), ("amount", "rate"), at * 31 + turn, [calls[turn % 3]] if turn else []
        )
        turn += 1
    yield from (*lines, *language.foot)


def _near(language: _Language, index: int, at: int, name: str) -> str:
    """A right call of a function in the same package."""
    package = name.split("_")[1]
    call = language.called(package, at, name, ("amount", "rate"))
    return call.removeprefix(f"{package}.") if index == 2 else call


def _others() -> dict[str, bytes]:
    """What else lies in a repository: settings, tests, and a lock file."""
    definitions = {
        "go.mod": "module example.com/planted\n",
        "package.json": '{"name": "planted", "private": true}\n',
        "pyproject.toml": '[project]\nname = "planted"\nversion = "1"\n',
        "Dockerfile": "FROM scratch\nCOPY . /planted\n",
        "compose.yaml": "services:\n  shop:\n    build: .\n",
        "Makefile": "test:\n\tpython -m unittest\n",
        "package-lock.json": '{"lockfileVersion": 3, "packages": {}}\n',
    }
    for package in ("audit", "basket", "ledger", "tariff"):
        name = _work_name(0, package, 3, 0)
        definitions[f"tests/test_{package}.py"] = (
            f"from shop.{package}.part_03 import {name}\n\n\ndef test_{package}():\n    assert {name}(1, 2) > 0\n"
        )
    definitions["web/src/browse/part03.spec.ts"] = (
        "import { work_browse_03_0 } from './part03';\n\nwork_browse_03_0(1, 2);\n"
    )
    definitions["services/stock/part03_test.go"] = (
        "package stock\n\nfunc check() int { return Work_stock_03_0(1, 2) }\n"
    )
    return {path: text.encode() for path, text in definitions.items()}
