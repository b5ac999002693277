"""The imports of a file, one by one: what each brings in and how it is written alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tree_sitter import Node

from roundtable.workshop.symbols.languages import Language
from roundtable.workshop.symbols.symbol_names import node_text, split_at_top_level_commas, split_symbol_name


class Import(NamedTuple):
    """One thing that is brought in. `name` is empty where the statement does not say which names it brings.

    `text` brings in just this one; `start` and `end` are the whole statement it stands in. `needs` are the names the
    statement says besides, such as the condition it stands under.
    """

    name: str
    text: str
    start: int
    end: int
    required_names: frozenset[str] = frozenset()


_FUTURE = "__future__"
FUTURE_ANNOTATIONS = f"{_FUTURE}.annotations"
"""What is brought in so that annotations are not run. No code says this name."""


def is_future_import(text: str) -> bool:
    """Whether an import may only stand before all others."""
    return text.startswith(f"from {_FUTURE} ")


def parse_file_imports(language: Language, root: Node) -> tuple[Import, ...]:
    """All imports at the top level of a file, or inside the guard or namespace around all of it, in their order."""
    read = _READERS[language.name]
    tops = [it for it in root.named_children if "comment" not in it.type]
    guarded = len(tops) == 1 and tops[0].type in {"preproc_ifdef", "namespace_declaration"}
    inside = (tops[0].child_by_field_name("body") or tops[0]) if guarded else root
    return tuple(it for node in inside.named_children for it in _brought_in(node, list(read(node))))


def _brought_in(node: Node, found: Sequence[tuple[str, str]]) -> Iterator[Import]:
    needs = frozenset(_said_besides(node) if found else ()).difference(name for name, _ in found)
    return (Import(name, text, node.start_byte, node.end_byte, needs) for name, text in found)


def _said_besides(node: Node) -> Iterator[str]:
    """The names in a statement, without those in what only brings something in."""
    waiting = [node]
    while waiting:
        at = waiting.pop()
        if at.type == "identifier":
            yield node_text(at)
        elif not re.search("import|use_declaration|using", at.type):
            waiting.extend(at.named_children)


ImportPairs = Iterator[tuple[str, str]]


def _python(node: Node) -> ImportPairs:
    match node.type:
        case "import_statement":
            for it in node.children_by_field_name("name"):
                yield _alias(it) or split_symbol_name(node_text(it))[0], f"import {node_text(it)}"
        case "import_from_statement":
            module = node_text(node.child_by_field_name("module_name"))
            for it in node.children_by_field_name("name"):
                yield _alias(it) or node_text(it), f"from {module} import {node_text(it)}"
            if any(it.type == "wildcard_import" for it in node.named_children):
                yield "", node_text(node)
        case "future_import_statement":
            for it in node.children_by_field_name("name"):
                yield f"{_FUTURE}.{node_text(it)}", f"from {_FUTURE} import {node_text(it)}"
        case "try_statement" | "if_statement":
            inside = list(_python_inside(node))
            if all(_only_brings_in(it) for it in inside):
                yield from ((name, node_text(node)) for it in inside for name, _ in _python(it))
        case _:
            return


def _python_inside(node: Node) -> Iterator[Node]:
    """The statements in all branches of one that chooses."""
    for it in node.named_children:
        if it.type.endswith("_clause"):
            yield from _python_inside(it)
        elif it.type == "block":
            yield from it.named_children


def _only_brings_in(node: Node) -> bool:
    """Whether a statement does no more than an import, or than a name for what could not be had: `tomllib = None`."""
    plain = node.type == "expression_statement" and "(" not in node_text(node) and "=" in node_text(node)
    return plain or node.type == "pass_statement" or "import" in node.type or "comment" in node.type


def _alias(node: Node) -> str:
    return node_text(node.child_by_field_name("alias"))


def _javascript(node: Node) -> ImportPairs:
    if node.type == "import_statement":
        source = node_text(node.child_by_field_name("source"))
        kind = "import type" if any(it.type == "type" for it in node.children) else "import"
        clause = next((it for it in node.named_children if it.type == "import_clause"), None)
        if clause is None:
            required = re.match(r"import\s+(\w+)\s*=", node_text(node))
            yield (required[1] if required else ""), node_text(node)
        for it in clause.named_children if clause is not None else ():
            if it.type == "named_imports":
                for one in it.named_children:
                    name = _alias(one) or node_text(one.child_by_field_name("name"))
                    yield name, f"{kind} {{ {node_text(one)} }} from {source};"
            else:
                yield node_text(it).split()[-1], f"{kind} {node_text(it)} from {source};"
    elif node.type in {"lexical_declaration", "variable_declaration"}:
        for it in node.named_children:
            value = it.child_by_field_name("value")
            if value is not None and re.match(r"require\s*\(", node_text(value)):
                text = f"{node_text(node).split()[0]} {node_text(it)};"
                names = _bound(it.child_by_field_name("name"))
                yield from ((name, text) for name in names)


def _bound(pattern: Node | None) -> Iterator[str]:
    """The names a pattern such as `{x, y: w}` makes."""
    if pattern is None:
        return
    if pattern.type == "identifier":
        yield node_text(pattern)
    for it in pattern.named_children:
        if it.type == "shorthand_property_identifier_pattern":
            yield node_text(it)
        else:
            yield from _bound(it.child_by_field_name("value") or it)


def _go(node: Node) -> ImportPairs:
    if node.type != "import_declaration":
        return
    specs = [it for group in (node, *node.named_children) for it in group.named_children if it.type == "import_spec"]
    for it in specs:
        path = node_text(it.child_by_field_name("path")).strip('"`')
        parts = [part for part in path.split("/") if not re.fullmatch(r"v\d+", part)]
        own = re.sub(r"^go-|[.-]go$|\.v\d+$", "", parts[-1] if parts else "").replace("-", "_")
        name = node_text(it.child_by_field_name("name")) or own
        yield ("" if name in {"_", "."} else name), f"import {node_text(it)}"


def _rust(node: Node) -> ImportPairs:
    if node.type == "use_declaration":
        before = node_text(node).split("use", 1)[0]
        for path in _use_paths(node_text(node.child_by_field_name("argument"))):
            name = path.rpartition(" as ")[2].rpartition("::")[2].strip()
            yield ("" if name in {"*", "_"} else name), f"{before}use {path};"
    elif node.type == "extern_crate_declaration":
        yield _alias(node) or node_text(node.child_by_field_name("name")), node_text(node)


def _use_paths(text: str) -> Iterator[str]:
    """`a::{b, c::{self, d as e}}` as `a::b`, `a::c` and `a::c::d as e`. Deeper than it is long it cannot be."""
    waiting = [("", " ".join(text.split()))]
    while waiting:
        prefix, rest = waiting.pop(0)
        head, brace, inner = rest.partition("{")
        if brace:
            waiting.extend((prefix + head.strip(), it) for it in split_at_top_level_commas(inner.rsplit("}", 1)[0]))
        elif rest.strip():
            whole = prefix + rest.strip()
            yield re.sub(r"::self\b", "", whole)


def _java(node: Node) -> ImportPairs:
    if node.type == "import_declaration":
        wild = any(it.type == "asterisk" for it in node.named_children)
        yield ("" if wild else split_symbol_name(node_text(node).rstrip("; "))[-1]), node_text(node)


def _c(node: Node) -> ImportPairs:
    if node.type == "preproc_include":
        yield "", node_text(node).rstrip()
    elif node.type == "using_declaration":
        wild = any(it.type == "namespace" for it in node.children)
        yield ("" if wild else split_symbol_name(node_text(node).rstrip("; "))[-1]), node_text(node)


def _csharp(node: Node) -> ImportPairs:
    if node.type == "using_directive":
        yield node_text(node.child_by_field_name("name")), node_text(node)


def _ruby(node: Node) -> ImportPairs:
    if node.type == "call" and node_text(node.child_by_field_name("method")) in {"require", "require_relative"}:
        yield "", node_text(node)


def _php(node: Node) -> ImportPairs:
    if node.type == "namespace_use_declaration":
        word = next((f"{it.type} " for it in node.children if it.type in {"function", "const"}), "")
        group = node.child_by_field_name("body")
        prefix = next((node_text(it) for it in node.named_children if it.type == "namespace_name"), "")
        for it in (group or node).named_children:
            if it.type == "namespace_use_clause":
                whole = f"{prefix}\\{node_text(it)}" if group is not None else node_text(it)
                yield _alias(it) or split_symbol_name(node_text(it))[-1], f"use {word}{whole};"
    elif node.type == "expression_statement" and re.match(r"(require|include)(_once)?\b", node_text(node)):
        yield "", node_text(node)


_READERS: dict[str, Callable[[Node], ImportPairs]] = {
    "Python": _python,
    "JavaScript": _javascript,
    "TypeScript": _javascript,
    "Go": _go,
    "Rust": _rust,
    "Java": _java,
    "C": _c,
    "C++": _c,
    "C#": _csharp,
    "Ruby": _ruby,
    "PHP": _php,
}
