"""Inputs that may tell candidates apart: calls in tests, in doctests and in the task, and inputs near to those.

Tells which parts of a program in Python say the same wherever they stand.

Commands that may tell candidates apart: those in a person's own words that start a program of the project.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple, cast

from roundtable.workshop.trial import probe_calls
from roundtable.workshop.trial.probes import read_module_source


def is_literal_expression(node: ast.expr) -> bool:
    """Whether it is a value as it is written."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def is_literal_call(node: ast.AST) -> bool:
    """Whether it is a call all of whose arguments are such values."""
    return isinstance(node, ast.Call) and all(
        map(is_literal_expression, (*node.args, *(keyword.value for keyword in node.keywords)))
    )


MAX_DISTINGUISHING_CALLS = 200
PROBE_CALL_SETUP = f"{read_module_source(probe_calls)}\nlook_here()\n"
"""What is run before any call, so that modules are found where projects keep them."""

_OTHER_MARKS = str.maketrans(".,!;:?", ";:?.,!")
"""Who counts the marks in an example one by one has forgotten others."""


class ProbeCall(NamedTuple):
    """A function by its module, and literal arguments; `near` where nobody wrote it so."""

    module: str
    name: str
    arguments: str
    is_variation: bool = False

    def __str__(self) -> str:
        return f"{self.module}.{self.name}({self.arguments})"

    @property
    def probe(self) -> str:
        """The call as an expression that stands alone."""
        return f"called({self._call})"

    @property
    def function(self) -> tuple[str, str]:
        """What is called, with whatever arguments."""
        return self.module, self.name

    @property
    def has_mutable_arguments(self) -> bool:
        """Whether anything that it is given can be changed in place."""
        given = ast.walk(ast.parse(f"_({self.arguments})", mode="eval").body)
        return any(isinstance(node, ast.List | ast.Dict | ast.Set) or _is_empty_set(node) for node in given)

    @property
    def mutation_probe(self) -> str:
        """Whether it comes to something, and whether it changes what it is given, as such an expression."""
        return f"came_and_changed({self._call})"

    @property
    def _call(self) -> str:
        return f"{self.module!r}, {self.name!r}, lambda give: give({self.arguments})"


def _is_empty_set(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node) == "set()"


def python_module_name(path: str) -> str:
    """The name under which a Python file is imported; nothing where it cannot be."""
    parts = path.removesuffix(".py").removeprefix("src/").removesuffix("/__init__").split("/")
    return ".".join(parts) if path.endswith(".py") and all(part.isidentifier() for part in parts) else ""


def collect_distinguishing_calls(
    tests: Iterable[str], changed: Mapping[str, Iterable[str]], asked: Iterable[str] = ()
) -> tuple[ProbeCall, ...]:
    """The calls of changed modules, each once: those in these test files, in the modules' own doctests, in the task.

    `changed` has the versions of each module that the candidates wrote, `asked` the calls as the task has them. Inputs
    near to these follow: what nobody wrote an example for is where work done apart goes apart.
    """
    found = [call for text in tests for call in _imported(text) if call.module in changed]
    found += [call for module, sources in changed.items() for text in sources for call in _shown(module, text)]
    wanted = [call for text in asked for call in _literal_calls(_parsed(text))]
    found += [call for module, sources in changed.items() for text in sources for call in _own(module, text, wanted)]
    near = chain.from_iterable(map(_neighbours, dict.fromkeys(found)))
    calls: dict[str, ProbeCall] = {}
    for call in (*found, *near):
        calls.setdefault(str(call), call)
    return tuple(calls.values())[:MAX_DISTINGUISHING_CALLS]


def _neighbours(call: ProbeCall) -> Iterator[ProbeCall]:
    """The same call with one argument at a time turned into another of its kind."""
    tree = ast.parse(f"_({call.arguments})", mode="eval").body
    assert isinstance(tree, ast.Call)
    for place in (*tree.args, *(keyword.value for keyword in tree.keywords)):
        for value in _near(ast.literal_eval(place)):
            other = ast.parse(repr(value), mode="eval").body
            yield call._replace(arguments=_arguments(_with(tree, place, other)), is_variation=True)


def _with(call: ast.Call, place: ast.expr, other: ast.expr) -> ast.Call:
    """A call with another argument in one place."""
    args = [other if argument is place else argument for argument in call.args]
    named = [ast.keyword(keyword.arg, other if keyword.value is place else keyword.value) for keyword in call.keywords]
    return ast.Call(call.func, args, named)


def _near(value: Any) -> list[Any]:
    """Plain values of the same kind: nothing, one, the next, the opposite, the other way round, with other marks."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [type(value)(number) for number in (0, 1, value + 1, -value, value * 10)]
        case str():
            return ["", value.upper(), value.lower(), f" {value} ", value[:1], value * 2, value.translate(_OTHER_MARKS)]
        case list():
            return _rows(cast("list[Any]", value))
        case tuple():
            return [tuple(row) for row in _rows([*cast("tuple[Any, ...]", value)])]
        case _:
            return []


def _rows(items: list[Any]) -> list[list[Any]]:
    return [[], items[:1], items[::-1], items * 2]


def _imported(text: str) -> Iterator[ProbeCall]:
    """Calls of what a test file imports by name, or of the members of a module that it imports."""
    tree = _parsed(text)
    names: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: (alias.name, "") for alias in node.names}
    for call in _literal_calls(tree):
        whole = ast.unparse(call.func)
        first, _, rest = whole.rpartition(".")
        if whole in names and names[whole][1]:
            yield ProbeCall(*names[whole], _arguments(call))
        elif first in names:
            module, name = names[first]
            yield ProbeCall(f"{module}.{name}" if name else module, rest, _arguments(call))


def _shown(module: str, source: str) -> Iterator[ProbeCall]:
    """Calls of a module's own functions in the examples of its docstrings."""
    for node in ast.walk(_parsed(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            for example in _examples(ast.get_docstring(node) or ""):
                yield from _own(module, source, _literal_calls(_parsed(example)))


def _own(module: str, source: str, calls: Iterable[ast.Call]) -> Iterator[ProbeCall]:
    """Those among these that are of a module's own functions."""
    own = {node.name for node in _parsed(source).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for call in calls:
        name = ast.unparse(call.func).removeprefix(f"{module}.")
        if name in own:
            yield ProbeCall(module, name, _arguments(call))


def _examples(text: str) -> list[str]:
    try:
        return [example.source for example in doctest.DocTestParser().get_examples(text)]
    except ValueError:
        return []


def _literal_calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_literal_call(node):
            yield node


def _arguments(call: ast.Call) -> str:
    named = (f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in call.keywords if keyword.arg)
    return ", ".join((*map(ast.unparse, call.args), *named))


def _parsed(text: str) -> ast.Module:
    """A program, or an empty one where it is none: what candidates write need not be sound."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


PROBE_COMMAND_SECONDS = 5
_COMMAND = re.compile(r"\bpython3?\s+(?:\./)?([\w./-]+\.py)((?:[ \t]+[\w.=+-]+)*)")
_NUMBER = re.compile(r"-?\d{1,6}")


class ProbeCommand(NamedTuple):
    """A program in Python and its arguments; `near` where nobody wrote it so."""

    program: str
    arguments: tuple[str, ...]
    is_variation: bool = False

    def __str__(self) -> str:
        return " ".join(("python", self.program, *self.arguments))

    @property
    def probe(self) -> str:
        """Its exit code and what it prints, as an expression that stands alone."""
        argv = f"[__import__('sys').executable, *{[self.program, *self.arguments]!r}]"
        options = f"stdin=-3, capture_output=True, text=True, timeout={PROBE_COMMAND_SECONDS}"
        run = f"__import__('subprocess').run({argv}, {options})"
        return f"(lambda ran: (ran.returncode, ran.stdout))({run})"


def collect_distinguishing_commands(text: str, programs: Collection[str]) -> tuple[ProbeCommand, ...]:
    """The commands in a text that start one of these programs, each once, and then others near to them."""
    found = [
        ProbeCommand(match[1], tuple(match[2].split())) for match in _COMMAND.finditer(text) if match[1] in programs
    ]
    commands: dict[str, ProbeCommand] = {}
    for command in (*found, *(near for written in found for near in _similar_commands(written))):
        commands.setdefault(str(command), command)
    return tuple(commands.values())


def _similar_commands(command: ProbeCommand) -> Iterator[ProbeCommand]:
    """The same with fewer arguments, with one more, and with another number in the place of one."""
    given = command.arguments
    for count in range(len(given)):
        yield command._replace(arguments=given[:count], is_variation=True)
    yield command._replace(arguments=(*given, "1"), is_variation=True)
    for place, value in enumerate(given):
        if _NUMBER.fullmatch(value):
            for other in (0, 1, int(value) + 1, -int(value)):
                yield command._replace(arguments=(*given[:place], str(other), *given[place + 1 :]), is_variation=True)
