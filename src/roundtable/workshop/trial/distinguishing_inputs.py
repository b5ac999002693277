"""Inputs that may distinguish candidates: calls in tests, doctests and the task, its commands, and variations."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple, cast

from roundtable.workshop.symbols.python_code import is_literal_call_syntax_node
from roundtable.workshop.trial import probe_calls
from roundtable.workshop.trial.probes import read_probe_module_source

MAX_DISTINGUISHING_CALLS = 200
PROBE_CALL_SETUP = f"{read_probe_module_source(probe_calls)}\nadd_probe_import_roots()\n"
"""Code that runs before any call, so that modules are found where projects keep them."""

_OTHER_PUNCTUATION = str.maketrans(".,!;:?", ";:?.,!")
"""Other punctuation: code that handles the marks of an example one by one may have missed others."""


class ProbeCall(NamedTuple):
    """A function with its module, and literal arguments. `is_variation` if nobody wrote the call."""

    module: str
    name: str
    arguments: str
    is_variation: bool = False

    def __str__(self) -> str:
        return f"{self.module}.{self.name}({self.arguments})"

    @property
    def probe(self) -> str:
        """The call as an expression for a probe."""
        return f"call_probed_function({self._call})"

    @property
    def function(self) -> tuple[str, str]:
        """Module and name of the called function."""
        return self.module, self.name

    @property
    def has_mutable_arguments(self) -> bool:
        """Whether any of its arguments can be mutated."""
        nodes = ast.walk(ast.parse(f"_({self.arguments})", mode="eval").body)
        return any(isinstance(node, ast.List | ast.Dict | ast.Set) or _is_empty_set_call(node) for node in nodes)

    @property
    def mutation_probe(self) -> str:
        """An expression that tells whether the call returns a value and whether it mutates its arguments."""
        return f"probe_return_and_mutation({self._call})"

    @property
    def _call(self) -> str:
        return f"{self.module!r}, {self.name!r}, lambda give: give({self.arguments})"


def _is_empty_set_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node) == "set()"


def collect_trial_calls(
    tests: Iterable[str], changed: Mapping[str, Iterable[str]], task_calls: Iterable[str] = ()
) -> tuple[ProbeCall, ...]:
    """Return the calls of changed modules, each once: in these tests, in the modules' doctests and in the task.

    `changed` has the versions of each module that the candidates wrote, `task_calls` the calls in the task.
    Variations follow: independent implementations differ most where nobody wrote an example.
    """
    written = [call for text in tests for call in _calls_of_imports(text) if call.module in changed]
    written += [
        call for module, sources in changed.items() for text in sources for call in _doctest_calls(module, text)
    ]
    parsed_calls = [call for text in task_calls for call in _find_literal_calls(_parse_or_empty(text))]
    written += [
        call
        for module, sources in changed.items()
        for text in sources
        for call in _calls_of_own_functions(module, text, parsed_calls)
    ]
    variations = chain.from_iterable(map(_vary_call, dict.fromkeys(written)))
    calls: dict[str, ProbeCall] = {}
    for call in (*written, *variations):
        calls.setdefault(str(call), call)
    return tuple(calls.values())[:MAX_DISTINGUISHING_CALLS]


def _vary_call(call: ProbeCall) -> Iterator[ProbeCall]:
    """Yield the call with one argument at a time replaced by another value of its type."""
    tree = ast.parse(f"_({call.arguments})", mode="eval").body
    assert isinstance(tree, ast.Call)
    for argument in (*tree.args, *(keyword.value for keyword in tree.keywords)):
        for value in _similar_values(ast.literal_eval(argument)):
            replacement = ast.parse(repr(value), mode="eval").body
            yield call._replace(
                arguments=_format_arguments(_replace_argument(tree, argument, replacement)), is_variation=True
            )


def _replace_argument(call: ast.Call, old: ast.expr, new: ast.expr) -> ast.Call:
    """Return a call with another argument in one place."""
    positional = [new if argument is old else argument for argument in call.args]
    keywords = [ast.keyword(keyword.arg, new if keyword.value is old else keyword.value) for keyword in call.keywords]
    return ast.Call(call.func, positional, keywords)


def _similar_values(value: Any) -> list[Any]:
    """Return values of the same type: empty, one, the next, the opposite, reversed, with other punctuation."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [type(value)(number) for number in (0, 1, value + 1, -value, value * 10)]
        case str():
            return [
                "",
                value.upper(),
                value.lower(),
                f" {value} ",
                value[:1],
                value * 2,
                value.translate(_OTHER_PUNCTUATION),
            ]
        case list():
            return _vary_sequence(cast("list[Any]", value))
        case tuple():
            return [tuple(row) for row in _vary_sequence([*cast("tuple[Any, ...]", value)])]
        case _:
            return []


def _vary_sequence(items: list[Any]) -> list[list[Any]]:
    return [[], items[:1], items[::-1], items * 2]


def _calls_of_imports(text: str) -> Iterator[ProbeCall]:
    """Yield calls of names that a test file imports, or of members of modules that it imports."""
    tree = _parse_or_empty(text)
    names: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: (alias.name, "") for alias in node.names}
    for call in _find_literal_calls(tree):
        full_name = ast.unparse(call.func)
        owner, _, member = full_name.rpartition(".")
        if full_name in names and names[full_name][1]:
            yield ProbeCall(*names[full_name], _format_arguments(call))
        elif owner in names:
            module, name = names[owner]
            yield ProbeCall(f"{module}.{name}" if name else module, member, _format_arguments(call))


def _doctest_calls(module: str, source: str) -> Iterator[ProbeCall]:
    """Yield calls of a module's own functions in its doctests."""
    for node in ast.walk(_parse_or_empty(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            for example in _doctest_sources(ast.get_docstring(node) or ""):
                yield from _calls_of_own_functions(module, source, _find_literal_calls(_parse_or_empty(example)))


def _calls_of_own_functions(module: str, source: str, calls: Iterable[ast.Call]) -> Iterator[ProbeCall]:
    """Yield those of the calls that call a module's own functions."""
    function_names = {
        node.name for node in _parse_or_empty(source).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for call in calls:
        name = ast.unparse(call.func).removeprefix(f"{module}.")
        if name in function_names:
            yield ProbeCall(module, name, _format_arguments(call))


def _doctest_sources(text: str) -> list[str]:
    try:
        return [example.source for example in doctest.DocTestParser().get_examples(text)]
    except ValueError:
        return []


def _find_literal_calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_literal_call_syntax_node(node):
            yield node


def _format_arguments(call: ast.Call) -> str:
    keywords = (f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in call.keywords if keyword.arg)
    return ", ".join((*map(ast.unparse, call.args), *keywords))


def _parse_or_empty(text: str) -> ast.Module:
    """Parse a program; an empty one if it is invalid, because candidates may be."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


PROBE_COMMAND_SECONDS = 5
_PYTHON_COMMAND = re.compile(r"\bpython3?\s+(?:\./)?([\w./-]+\.py)((?:[ \t]+[\w.=+-]+)*)")
_INTEGER = re.compile(r"-?\d{1,6}")


class ProbeCommand(NamedTuple):
    """A Python program and its arguments. `is_variation` if nobody wrote the command."""

    program: str
    arguments: tuple[str, ...]
    is_variation: bool = False

    def __str__(self) -> str:
        return " ".join(("python", self.program, *self.arguments))

    @property
    def probe(self) -> str:
        """An expression that gives its exit code and its output."""
        argv = f"[__import__('sys').executable, *{[self.program, *self.arguments]!r}]"
        options = f"stdin=-3, capture_output=True, text=True, timeout={PROBE_COMMAND_SECONDS}"
        run = f"__import__('subprocess').run({argv}, {options})"
        return f"(lambda ran: (ran.returncode, ran.stdout))({run})"


def collect_trial_commands(text: str, programs: Collection[str]) -> tuple[ProbeCommand, ...]:
    """Return the commands in a text that start one of these programs, each once, and variations of them."""
    commands_in_text = [
        ProbeCommand(match[1], tuple(match[2].split()))
        for match in _PYTHON_COMMAND.finditer(text)
        if match[1] in programs
    ]
    commands: dict[str, ProbeCommand] = {}
    for command in (
        *commands_in_text,
        *(variation for written in commands_in_text for variation in _similar_commands(written)),
    ):
        commands.setdefault(str(command), command)
    return tuple(commands.values())


def _similar_commands(command: ProbeCommand) -> Iterator[ProbeCommand]:
    """Yield the command with fewer arguments, with one more, and with other numbers."""
    arguments = command.arguments
    for count in range(len(arguments)):
        yield command._replace(arguments=arguments[:count], is_variation=True)
    yield command._replace(arguments=(*arguments, "1"), is_variation=True)
    for index, value in enumerate(arguments):
        if _INTEGER.fullmatch(value):
            for number in (0, 1, int(value) + 1, -int(value)):
                yield command._replace(
                    arguments=(*arguments[:index], str(number), *arguments[index + 1 :]), is_variation=True
                )
