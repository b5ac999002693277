"""Runs inside the sandbox, as the setup of a probe: calls of a project's own functions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from types import CoroutineType
from typing import Any

_Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def add_probe_import_roots() -> None:
    """Make the modules of the project importable: from its root folder and from `src/`."""
    sys.path[:0] = _import_roots()


def call_probed_function(module: str, name: str, give: Callable[[Any], Any]) -> Any:
    """Return the result of calling a function of the project; `give` passes the arguments to the function it gets.

    A missing function raises ImportError, so that it is not taken for an error of the function.
    """
    loaded = import_module(module)
    if not hasattr(loaded, name):
        raise ImportError(name)
    return _run_if_coroutine(give(getattr(loaded, name)))


def probe_return_and_mutation(module: str, name: str, give: Callable[[Any], Any]) -> tuple[bool, bool]:
    """Return whether a call returns a value, and whether it mutates its arguments.

    A module that exists and cannot be imported counts as mutating.
    """
    try:
        loaded = import_module(module)
    except BaseException:
        return False, _module_exists(module)
    arguments, keywords = give(_capture_arguments)
    try:
        returns = _run_if_coroutine(getattr(loaded, name)(*arguments, **keywords)) is not None
    except BaseException:
        returns = False
    return returns, (arguments, keywords) != give(_capture_arguments)


def _capture_arguments(*arguments: Any, **keywords: Any) -> _Arguments:
    return arguments, keywords


def _run_if_coroutine(result: Any) -> Any:
    if not issubclass(type(result), CoroutineType):
        return result
    import asyncio

    return asyncio.run(result)


def _module_exists(module: str) -> bool:
    paths = [os.path.join(root, *module.split(".")) for root in _import_roots()]
    return any(os.path.isfile(f"{path}.py") or os.path.isfile(os.path.join(path, "__init__.py")) for path in paths)


def _import_roots() -> list[str]:
    return [os.getcwd(), os.path.join(os.getcwd(), "src")]
