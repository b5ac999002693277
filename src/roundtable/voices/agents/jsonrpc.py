"""JSON-RPC 2.0 as lines of text: what one side of a conversation over pipes can say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

NO_SUCH_METHOD = -32601


def call(method: str, params: Mapping[str, Any]) -> bytes:
    """Ask for something. The method is the id too: nothing is asked twice before it was answered."""
    return _line(id=method, method=method, params=params)


def notice(method: str, params: Mapping[str, Any]) -> bytes:
    """Say something that wants no answer."""
    return _line(method=method, params=params)


def answer(id: object, result: Mapping[str, Any]) -> bytes:
    """Answer what the other side asked for."""
    return _line(id=id, result=result)


def refusal(id: object, code: int, message: str) -> bytes:
    """Decline what the other side asked for."""
    return _line(id=id, error={"code": code, "message": message})


def _line(**message: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"
