"""Runs inside the sandbox, as the setup of a probe: calls of a project's own functions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from types import CoroutineType
from typing import Any

_Given = tuple[tuple[Any, ...], dict[str, Any]]


def look_here() -> None:
    """Have modules found where projects keep them."""
    sys.path[:0] = _roots()


def called(module: str, name: str, give: Callable[[Any], Any]) -> Any:
    """What comes of a call; `give` hands its arguments to whatever it is given.

    What is not there cannot be imported: no mistake was made in it.
    """
    found = import_module(module)
    if not hasattr(found, name):
        raise ImportError(name)
    return _awaited(give(getattr(found, name)))


def came_and_changed(module: str, name: str, give: Callable[[Any], Any]) -> tuple[bool, bool]:
    """Whether a call comes to something, and whether it changes what it is given.

    What cannot be imported though it is there may have done so.
    """
    try:
        found = import_module(module)
    except BaseException:
        return False, _is_there(module)
    given, named = give(_both)
    try:
        came = _awaited(getattr(found, name)(*given, **named)) is not None
    except BaseException:
        came = False
    return came, (given, named) != give(_both)


def _both(*given: Any, **named: Any) -> _Given:
    return given, named


def _awaited(came: Any) -> Any:
    if not issubclass(type(came), CoroutineType):
        return came
    import asyncio

    return asyncio.run(came)


def _is_there(module: str) -> bool:
    paths = [os.path.join(root, *module.split(".")) for root in _roots()]
    return any(os.path.isfile(f"{path}.py") or os.path.isfile(os.path.join(path, "__init__.py")) for path in paths)


def _roots() -> list[str]:
    return [os.getcwd(), os.path.join(os.getcwd(), "src")]
