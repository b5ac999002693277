"""Python code in a few properties: literal expressions and calls, and the name under which a file is imported."""

from __future__ import annotations

import ast


def is_literal_expression(node: ast.expr) -> bool:
    """Tell whether an expression is a literal value."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def is_literal_call_syntax_node(node: ast.AST) -> bool:
    """Tell whether an expression is a call with only literal arguments."""
    return isinstance(node, ast.Call) and all(
        map(is_literal_expression, (*node.args, *(keyword.value for keyword in node.keywords)))
    )


def python_symbol_module_name(path: str) -> str:
    """Return the name under which a Python file is imported; empty if it cannot be imported."""
    parts = path.removesuffix(".py").removeprefix("src/").removesuffix("/__init__").split("/")
    return ".".join(parts) if path.endswith(".py") and all(part.isidentifier() for part in parts) else ""
