"""Changes a function so that it still parses, in every language, to test splicing."""

from __future__ import annotations

from roundtable.workshop.symbols.outline import Outline, Symbol
from roundtable.workshop.symbols.spans import line_start_offset, symbol_line_indentation


def make_variant(file: Outline, symbol: Symbol) -> bytes | None:
    """Return the symbol's whole lines with a change in its body; None if it has no body."""
    node = symbol.node
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    body = node.child_by_field_name("body") or (value.child_by_field_name("body") if value is not None else None)
    if body is None or symbol.outer_node.has_error:
        return None
    start = line_start_offset(file.source, symbol.start)
    at = body.start_byte
    before, after = file.source[start:at], file.source[at : symbol.end]
    if node.type == "constructor_declaration" and after.endswith(b"}"):
        return before + after[:-1] + b";}"
    if after.startswith(b"{"):
        return before + b"{;" + after[1:]
    if body.type == "block":
        on_own_line = line_start_offset(file.source, at) != at
        return before + (b"pass\n" + symbol_line_indentation(file.source, at) if on_own_line else b"pass; ") + after
    if body.type == "arrow_expression_clause":
        return before + b"=> (" + file.source[at + 2 : body.end_byte] + b")" + file.source[body.end_byte : symbol.end]
    if body.type == "body_statement":
        return before + b"nil; " + after
    return before + b"(" + file.source[at : body.end_byte] + b")" + file.source[body.end_byte : symbol.end]
