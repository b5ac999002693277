"""Inputs that may tell candidates apart: the calls in the seats' tests and in the doctests of what was changed."""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from roundtable.workshop.literals import is_literal_call

MOST = 200
SETUP = "import os, sys\nsys.path[:0] = [os.getcwd(), os.path.join(os.getcwd(), 'src')]\n"
"""What is run before any call, so that modules are found where projects keep them."""


class Call(NamedTuple):
    """A function by its module, and literal arguments."""

    module: str
    name: str
    arguments: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}({self.arguments})"

    @property
    def probe(self) -> str:
        """The call as an expression that stands alone."""
        return f"__import__('importlib').import_module({self.module!r}).{self.name}({self.arguments})"


def module_of(path: str) -> str:
    """The name under which a Python file is imported; nothing where it cannot be."""
    parts = path.removesuffix(".py").removeprefix("src/").removesuffix("/__init__").split("/")
    return ".".join(parts) if path.endswith(".py") and all(it.isidentifier() for it in parts) else ""


def telling_calls(tests: Iterable[str], changed: Mapping[str, Iterable[str]]) -> tuple[Call, ...]:
    """The calls of changed modules, each once: those in these test files, then those in the modules' own doctests.

    `changed` has the versions of each module that the candidates wrote.
    """
    found = [call for text in tests for call in _imported(text) if call.module in changed]
    found += [call for module, sources in changed.items() for text in sources for call in _shown(module, text)]
    return tuple(dict.fromkeys(found))[:MOST]


def _imported(text: str) -> Iterator[Call]:
    """Calls of what a test file imports by name, or of the members of a module that it imports."""
    tree = _parsed(text)
    names: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {it.asname or it.name: (node.module, it.name) for it in node.names}
        elif isinstance(node, ast.Import):
            names |= {it.asname or it.name: (it.name, "") for it in node.names}
    for call in _literal_calls(tree):
        whole = ast.unparse(call.func)
        first, _, rest = whole.rpartition(".")
        if whole in names and names[whole][1]:
            yield Call(*names[whole], _arguments(call))
        elif first in names:
            module, name = names[first]
            yield Call(f"{module}.{name}" if name else module, rest, _arguments(call))


def _shown(module: str, source: str) -> Iterator[Call]:
    """Calls of a module's own functions in the examples of its docstrings."""
    tree = _parsed(source)
    own = {it.name for it in tree.body if isinstance(it, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            for example in _examples(ast.get_docstring(node) or ""):
                for call in _literal_calls(_parsed(example)):
                    if isinstance(call.func, ast.Name) and call.func.id in own:
                        yield Call(module, call.func.id, _arguments(call))


def _examples(text: str) -> list[str]:
    try:
        return [it.source for it in doctest.DocTestParser().get_examples(text)]
    except ValueError:
        return []


def _literal_calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_literal_call(node):
            yield node


def _arguments(call: ast.Call) -> str:
    named = (f"{it.arg}={ast.unparse(it.value)}" for it in call.keywords if it.arg)
    return ", ".join((*map(ast.unparse, call.args), *named))


def _parsed(text: str) -> ast.Module:
    """A program, or an empty one where it is none: what candidates write need not be sound."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
