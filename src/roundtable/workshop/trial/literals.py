"""Tells which parts of a program in Python say the same wherever they stand."""

from __future__ import annotations

import ast


def is_literal(node: ast.expr) -> bool:
    """Whether it is a value as it is written."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def is_literal_call(node: ast.AST) -> bool:
    """Whether it is a call all of whose arguments are such values."""
    return isinstance(node, ast.Call) and all(map(is_literal, (*node.args, *(it.value for it in node.keywords))))
