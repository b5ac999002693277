"""The imports of a file, one by one: the name that each brings in, and the statement for that name alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tree_sitter import Node

from roundtable.workshop.symbols.languages import Language
from roundtable.workshop.symbols.symbol_names import split_code_at_top_level_commas, split_symbol_name, syntax_node_text


class Import(NamedTuple):
    """One imported name. `name` is empty where the statement does not say which names it brings in.

    `text` imports only this name; `start` and `end` are the whole statement that contains it.
    `required_names` are other names in the statement, such as the condition around it.
    """

    name: str
    text: str
    start: int
    end: int
    required_names: frozenset[str] = frozenset()


_FUTURE = "__future__"
FUTURE_ANNOTATIONS = f"{_FUTURE}.annotations"
"""The import that keeps annotations unevaluated. No code mentions this name."""


def is_future_import(text: str) -> bool:
    """Tell whether an import must precede all others."""
    return text.startswith(f"from {_FUTURE} ")


def parse_file_imports(language: Language, root: Node) -> tuple[Import, ...]:
    """Return all imports at the top level of a file, or inside the guard or namespace around all of it."""
    read_imports = _IMPORT_READERS[language.name]
    top_level = [node for node in root.named_children if "comment" not in node.type]
    guarded = len(top_level) == 1 and top_level[0].type in {"preproc_ifdef", "namespace_declaration"}
    inside = (top_level[0].child_by_field_name("body") or top_level[0]) if guarded else root
    return tuple(
        found_import for node in inside.named_children for found_import in _make_imports(node, list(read_imports(node)))
    )


def _make_imports(node: Node, pairs: Sequence[tuple[str, str]]) -> Iterator[Import]:
    required_names = frozenset(_other_names(node) if pairs else ()).difference(name for name, _ in pairs)
    return (Import(name, text, node.start_byte, node.end_byte, required_names) for name, text in pairs)


def _other_names(node: Node) -> Iterator[str]:
    """Yield the names in a statement, except those in its import clauses."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type == "identifier":
            yield syntax_node_text(current)
        elif not re.search("import|use_declaration|using", current.type):
            pending.extend(current.named_children)


ImportPairs = Iterator[tuple[str, str]]


def _read_python(node: Node) -> ImportPairs:
    match node.type:
        case "import_statement":
            for child in node.children_by_field_name("name"):
                yield (
                    _alias(child) or split_symbol_name(syntax_node_text(child))[0],
                    f"import {syntax_node_text(child)}",
                )
        case "import_from_statement":
            module = syntax_node_text(node.child_by_field_name("module_name"))
            for child in node.children_by_field_name("name"):
                yield _alias(child) or syntax_node_text(child), f"from {module} import {syntax_node_text(child)}"
            if any(child.type == "wildcard_import" for child in node.named_children):
                yield "", syntax_node_text(node)
        case "future_import_statement":
            for child in node.children_by_field_name("name"):
                yield f"{_FUTURE}.{syntax_node_text(child)}", f"from {_FUTURE} import {syntax_node_text(child)}"
        case "try_statement" | "if_statement":
            statements = list(_branch_statements(node))
            if all(_is_import_or_fallback(statement) for statement in statements):
                yield from (
                    (name, syntax_node_text(node)) for statement in statements for name, _ in _read_python(statement)
                )
        case _:
            return


def _branch_statements(node: Node) -> Iterator[Node]:
    """Yield the statements in all branches of a conditional statement."""
    for child in node.named_children:
        if child.type.endswith("_clause"):
            yield from _branch_statements(child)
        elif child.type == "block":
            yield from child.named_children


def _is_import_or_fallback(node: Node) -> bool:
    """Tell whether a statement is only an import or a fallback for a missing name: `tomllib = None`."""
    is_fallback = (
        node.type == "expression_statement" and "(" not in syntax_node_text(node) and "=" in syntax_node_text(node)
    )
    return is_fallback or node.type == "pass_statement" or "import" in node.type or "comment" in node.type


def _alias(node: Node) -> str:
    return syntax_node_text(node.child_by_field_name("alias"))


def _read_javascript(node: Node) -> ImportPairs:
    if node.type == "import_statement":
        source = syntax_node_text(node.child_by_field_name("source"))
        kind = "import type" if any(child.type == "type" for child in node.children) else "import"
        clause = next((child for child in node.named_children if child.type == "import_clause"), None)
        if clause is None:
            required = re.match(r"import\s+(\w+)\s*=", syntax_node_text(node))
            yield (required[1] if required else ""), syntax_node_text(node)
        for child in clause.named_children if clause is not None else ():
            if child.type == "named_imports":
                for specifier in child.named_children:
                    name = _alias(specifier) or syntax_node_text(specifier.child_by_field_name("name"))
                    yield name, f"{kind} {{ {syntax_node_text(specifier)} }} from {source};"
            else:
                yield syntax_node_text(child).split()[-1], f"{kind} {syntax_node_text(child)} from {source};"
    elif node.type in {"lexical_declaration", "variable_declaration"}:
        for child in node.named_children:
            value = child.child_by_field_name("value")
            if value is not None and re.match(r"require\s*\(", syntax_node_text(value)):
                text = f"{syntax_node_text(node).split()[0]} {syntax_node_text(child)};"
                names = _bound_names(child.child_by_field_name("name"))
                yield from ((name, text) for name in names)


def _bound_names(pattern: Node | None) -> Iterator[str]:
    """Yield the names that a pattern such as `{x, y: w}` binds."""
    if pattern is None:
        return
    if pattern.type == "identifier":
        yield syntax_node_text(pattern)
    for child in pattern.named_children:
        if child.type == "shorthand_property_identifier_pattern":
            yield syntax_node_text(child)
        else:
            yield from _bound_names(child.child_by_field_name("value") or child)


def _read_go(node: Node) -> ImportPairs:
    if node.type != "import_declaration":
        return
    specs = [
        child for group in (node, *node.named_children) for child in group.named_children if child.type == "import_spec"
    ]
    for spec in specs:
        path = syntax_node_text(spec.child_by_field_name("path")).strip('"`')
        parts = [part for part in path.split("/") if not re.fullmatch(r"v\d+", part)]
        package_name = re.sub(r"^go-|[.-]go$|\.v\d+$", "", parts[-1] if parts else "").replace("-", "_")
        name = syntax_node_text(spec.child_by_field_name("name")) or package_name
        yield ("" if name in {"_", "."} else name), f"import {syntax_node_text(spec)}"


def _read_rust(node: Node) -> ImportPairs:
    if node.type == "use_declaration":
        before = syntax_node_text(node).split("use", 1)[0]
        for path in _expand_use_paths(syntax_node_text(node.child_by_field_name("argument"))):
            name = path.rpartition(" as ")[2].rpartition("::")[2].strip()
            yield ("" if name in {"*", "_"} else name), f"{before}use {path};"
    elif node.type == "extern_crate_declaration":
        yield _alias(node) or syntax_node_text(node.child_by_field_name("name")), syntax_node_text(node)


def _expand_use_paths(text: str) -> Iterator[str]:
    """Expand `a::{b, c::{self, d as e}}` to `a::b`, `a::c` and `a::c::d as e`."""
    pending = [("", " ".join(text.split()))]
    while pending:
        prefix, rest = pending.pop(0)
        head, brace, inner = rest.partition("{")
        if brace:
            pending.extend(
                (prefix + head.strip(), branch) for branch in split_code_at_top_level_commas(inner.rsplit("}", 1)[0])
            )
        elif rest.strip():
            path = prefix + rest.strip()
            yield re.sub(r"::self\b", "", path)


def _read_java(node: Node) -> ImportPairs:
    if node.type == "import_declaration":
        is_wildcard = any(child.type == "asterisk" for child in node.named_children)
        yield (
            ("" if is_wildcard else split_symbol_name(syntax_node_text(node).rstrip("; "))[-1]),
            syntax_node_text(node),
        )


def _read_c(node: Node) -> ImportPairs:
    if node.type == "preproc_include":
        yield "", syntax_node_text(node).rstrip()
    elif node.type == "using_declaration":
        is_wildcard = any(child.type == "namespace" for child in node.children)
        yield (
            ("" if is_wildcard else split_symbol_name(syntax_node_text(node).rstrip("; "))[-1]),
            syntax_node_text(node),
        )


def _read_csharp(node: Node) -> ImportPairs:
    if node.type == "using_directive":
        yield syntax_node_text(node.child_by_field_name("name")), syntax_node_text(node)


def _read_ruby(node: Node) -> ImportPairs:
    if node.type == "call" and syntax_node_text(node.child_by_field_name("method")) in {"require", "require_relative"}:
        yield "", syntax_node_text(node)


def _read_php(node: Node) -> ImportPairs:
    if node.type == "namespace_use_declaration":
        keyword = next((f"{child.type} " for child in node.children if child.type in {"function", "const"}), "")
        group = node.child_by_field_name("body")
        prefix = next((syntax_node_text(child) for child in node.named_children if child.type == "namespace_name"), "")
        for child in (group or node).named_children:
            if child.type == "namespace_use_clause":
                path = f"{prefix}\\{syntax_node_text(child)}" if group is not None else syntax_node_text(child)
                yield _alias(child) or split_symbol_name(syntax_node_text(child))[-1], f"use {keyword}{path};"
    elif node.type == "expression_statement" and re.match(r"(require|include)(_once)?\b", syntax_node_text(node)):
        yield "", syntax_node_text(node)


_IMPORT_READERS: dict[str, Callable[[Node], ImportPairs]] = {
    "Python": _read_python,
    "JavaScript": _read_javascript,
    "TypeScript": _read_javascript,
    "Go": _read_go,
    "Rust": _read_rust,
    "Java": _read_java,
    "C": _read_c,
    "C++": _read_c,
    "C#": _read_csharp,
    "Ruby": _read_ruby,
    "PHP": _read_php,
}
