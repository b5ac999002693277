"""A symbol taken from another file of the same name, with the imports and helpers it needs and the base lacks.

What the rest of a file declares of a symbol that was taken: its prototypes, and the fields it speaks of.

Where a file lists what others may have: `export { … }`, `module.exports = { … }`, `exports.x = x`, `__all__`.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tree_sitter import Node

from roundtable.workshop.symbols.fragments import FRAME_CLASS_NAME, SymbolVariant
from roundtable.workshop.symbols.imports import FUTURE_ANNOTATIONS, Import, is_future_import
from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_outline_in_language
from roundtable.workshop.symbols.signatures import list_parameter_types, normalize_type_spelling, symbol_signature_line
from roundtable.workshop.symbols.spans import line_end_offset, line_indentation, line_start_offset
from roundtable.workshop.symbols.splice import (
    SpliceRequest,
    detect_source_newline,
    parse_splice_request,
    splice_symbol,
    verify_spliced_source,
)
from roundtable.workshop.symbols.symbol_lookup import SymbolQuery, find_counterpart_symbols, interchangeable_symbol_kind
from roundtable.workshop.symbols.symbol_names import node_text
from roundtable.workshop.symbols.syntax_trees import SpliceRefusal


def update_symbol_prototypes(read: SpliceRequest, made: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The file with the prototypes of what was replaced as the new one has them, and what is said if it has none."""
    old, (within, new) = read.target, read.variant
    if old is None or new.kind is SymbolKind.PROTOTYPE or _called(old) == _called(new):
        return made, ()
    theirs = next(_prototypes(within, new), None)
    while stale := next(
        _prototypes(base := parse_outline_in_language(within.language, read.base.path, made), old, theirs), None
    ):
        more = splice_symbol(SpliceRequest(base, read.query, stale, SymbolVariant(within, theirs))) if theirs else None
        if more is None or isinstance(more, SpliceRefusal):
            return made, (f"{base.path} declares it as `{stale.signature}`.",)
        made = more
    return made, ()


def _called(symbol: Symbol) -> object:
    """What its prototypes have to say too: what it takes, and what stands before that."""
    return normalize_type_spelling(symbol_signature_line(symbol.node).partition("(")[0]), list_parameter_types(
        symbol.node
    )


def _prototypes(file: Outline, symbol: Symbol, known: Symbol | None = None) -> Iterator[Symbol]:
    """The prototypes of a symbol that are not like the one that is known."""
    found = (it for it in file.symbols if it.kind is SymbolKind.PROTOTYPE and it.name == symbol.name)
    alike = (it for it in found if list_parameter_types(it.node) == list_parameter_types(symbol.node))
    return (it for it in alike if known is None or _called(it) != _called(known))


def describe_missing_struct_fields(base: Outline, donor: Outline, taken: Sequence[Symbol]) -> Iterator[str]:
    """A sentence on each struct of the base that lacks fields which what was taken speaks of."""
    words = [donor.name_usage(it) for it in taken]
    said = {name for it in words for name in it.used | it.members} - {it.base_name for it in base.symbols}
    for struct in donor.symbols:
        theirs = [it for it in _fields(struct) if it in said]
        ours = find_counterpart_symbols(base, donor, struct) if theirs else []
        known = set(_fields(*ours))
        lacks = ", ".join(f"`{it}`" for it in dict.fromkeys(theirs) if it not in known)
        if ours and lacks:
            yield f"It speaks of {lacks}, which {struct.name} has where it comes from, and not in {base.path}."


def _fields(*structs: Symbol) -> Iterator[str]:
    """The names that structs give to their fields, as C, C++, Go and Rust declare them."""
    waiting = [it.node for it in structs if it.kind is SymbolKind.CLASS or it.node.type == "type_definition"]
    while waiting:
        at = waiting.pop()
        if at.type == "field_identifier":
            yield node_text(at)
        elif at.type != "function_definition":
            waiting.extend(reversed(at.named_children))


_ALL = "__all__"
_EXPORT = "export"
_ONE_BY_ONE = re.compile(r"(?:module\.)?exports\.\w+")
_HOISTED = {"function_declaration", "generator_function_declaration"}


class _Listed(NamedTuple):
    """A name that others may have, the list it stands in, and the node that says it there."""

    name: str
    where: str
    node: Node


def add_symbol_to_export_list(base: Outline, donor: Outline, symbol: Symbol, newline: bytes) -> bytes | None:
    """The base with its new symbol in the list it has with the donor; None where it cannot stand in such a list."""
    theirs = next((it for it in _listed(donor) if it.name == symbol.name), None)
    ours = list(_listed(base))
    if theirs is None or any(it.name == symbol.name for it in ours):
        return base.source
    last = next((it for it in reversed(ours) if it.where == theirs.where), None)
    if last is None:
        # Without such a list, all of a Python module can be had.
        return base.source if theirs.where == _ALL and _ALL not in {it.name for it in base.symbols} else None
    if theirs.where not in {_ALL, _EXPORT} and _is_made_later(base, symbol, last.node):
        return None
    source, text, end = base.source, theirs.node.text or b"", last.node.end_byte
    if last.node.type == "expression_statement":
        end = line_end_offset(source, end)
        return source[:end] + newline + text + source[end:]
    own_line = line_start_offset(source, last.node.start_byte) != last.node.start_byte
    between = newline + line_indentation(source, last.node.start_byte) if own_line else b" "
    return source[:end] + b"," + between + text + source[end:]


def _is_made_later(base: Outline, symbol: Symbol, place: Node) -> bool:
    """Whether a symbol is not there yet when the list is made."""
    return any(
        it.name == symbol.name and it.node.type not in _HOISTED and it.start > place.start_byte for it in base.symbols
    )


def _listed(file: Outline) -> Iterator[_Listed]:
    for node in file.root.named_children:
        if node.type == "export_statement" and node.child_by_field_name("source") is None:
            clauses = (it for it in node.named_children if it.type == "export_clause")
            names = (it for clause in clauses for it in clause.named_children if it.type == "export_specifier")
            yield from (_Listed(node_text(it.child_by_field_name("name")), _EXPORT, it) for it in names)
        elif node.type == "expression_statement" and node.named_children:
            yield from _assigned(node, node.named_children[0])


def _assigned(statement: Node, node: Node) -> Iterator[_Listed]:
    left, right = node_text(node.child_by_field_name("left")), node.child_by_field_name("right")
    if right is None:
        return
    if left in {"module.exports", _ALL}:
        for it in right.named_children:
            said = node_text(it.child_by_field_name("value") or it)
            yield _Listed(said.strip("'\""), left, it)
    elif _ONE_BY_ONE.fullmatch(left) and right.type == "identifier":
        yield _Listed(node_text(right), "exports", statement)


class TransplantedSymbol(NamedTuple):
    """The file with the symbol, the symbols and imports that were taken for it, and what may not fit together."""

    source: bytes
    symbols: tuple[str, ...]
    imports: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


def transplant_symbol(path: str, source: bytes, symbol: str, text: bytes) -> TransplantedSymbol | SpliceRefusal:
    """Put a symbol out of a text into the source, and what it needs of the text's helpers and imports."""
    read = parse_splice_request(path, source, symbol, text)
    return read if isinstance(read, SpliceRefusal) else splice_symbol_with_dependencies(read)


def splice_symbol_with_dependencies(read: SpliceRequest) -> TransplantedSymbol | SpliceRefusal:
    """Splice a symbol, and with it what it needs of the helpers and imports that stand beside it."""
    made = splice_symbol(read)
    if isinstance(made, SpliceRefusal):
        return made
    path, source, (within, first) = read.base.path, read.base.source, read.variant
    made, stale = update_symbol_prototypes(read, made)
    taken, clashes = [first], list(stale)
    for helper in _needed(within, taken):
        base = parse_outline_in_language(within.language, path, made)
        at_home = _at_home(helper, read)
        there = find_counterpart_symbols(base, within, at_home)
        if there:
            clashes += [_clash(path, helper, there[0])] if _differ(there, helper) else []
        elif helper.base_name not in {it.name for it in (*base.imports, *within.imports)}:
            more = splice_symbol(
                SpliceRequest(base, SymbolQuery(tuple(at_home.name.split("."))), None, SymbolVariant(within, helper))
            )
            if isinstance(more, SpliceRefusal):
                clashes.append(more.sentence)
            else:
                made = more
                taken.append(helper)
    clashes += describe_missing_struct_fields(parse_outline_in_language(within.language, path, made), within, taken)
    made, unlisted = _listed_too(path, made, within, taken[1:] if read.target else taken)
    base = parse_outline_in_language(within.language, path, source)
    lines, unfit = _imports_needed(base, within, taken)
    whole = verify_spliced_source(base, insert_import_statements(path, base, made, lines))
    if isinstance(whole, SpliceRefusal):
        return whole
    return TransplantedSymbol(whole, tuple(it.name for it in taken), lines, (*clashes, *unlisted, *unfit))


def _at_home(helper: Symbol, read: SpliceRequest) -> Symbol:
    """A helper as it is called in the base: beside a method that came without its class it is of the same class."""
    scope = read.target.scope if read.target else ".".join(read.query.parts[:-1])
    own = helper.name.removeprefix(f"{FRAME_CLASS_NAME}.")
    return replace(helper, name=f"{scope}.{own}") if own != helper.name and scope else helper


def _listed_too(path: str, made: bytes, donor: Outline, new: Sequence[Symbol]) -> tuple[bytes, list[str]]:
    """The file with its new symbols where it lists what others may have, and a sentence on each that is not there."""
    unlisted: list[str] = []
    for it in new:
        more = add_symbol_to_export_list(
            parse_outline_in_language(donor.language, path, made), donor, it, detect_source_newline(made)
        )
        unlisted += [] if more else [f"{it.name} is exported where it comes from, and not in {path}."]
        made = more or made
    return made, unlisted


def _needed(donor: Outline, taken: Sequence[Symbol]) -> Iterator[Symbol]:
    """The donor's other symbols that what was taken so far speaks of. `taken` grows while this is read."""
    seen = set(taken)
    at = 0
    while at < len(taken):
        one = taken[at]
        words = donor.name_usage(one)
        at += 1
        for helper in donor.symbols:
            beside = not helper.owner or helper.scope == one.scope
            if (
                helper in seen
                or helper.kind in {SymbolKind.SCOPE, SymbolKind.PROTOTYPE}
                or not beside
                or _inside(helper, one)
            ):
                continue
            owned = bool(helper.scope) and helper.scope == one.scope
            bare = words.used if donor.language.implicit_self or not owned else frozenset[str]()
            said = bare | words.members if owned else bare
            if helper.base_name in (words.called if helper.name == one.name else said):
                seen.add(helper)
                yield helper


def _inside(symbol: Symbol, other: Symbol) -> bool:
    return (other.start <= symbol.start and symbol.end <= other.end) or (
        symbol.start <= other.start and other.end <= symbol.end
    )


def _differ(there: Sequence[Symbol], helper: Symbol) -> bool:
    """Whether none of these is called as the helper is."""
    if interchangeable_symbol_kind(there[0]) is not interchangeable_symbol_kind(helper):
        return True
    return interchangeable_symbol_kind(helper) is SymbolKind.FUNCTION and all(
        list_parameter_types(it.node) != list_parameter_types(helper.node) for it in there
    )


def _clash(path: str, helper: Symbol, there: Symbol) -> str:
    return f"It was written for `{helper.signature}`, and {path} has `{there.signature}`."


def _imports_needed(base: Outline, donor: Outline, taken: Sequence[Symbol]) -> tuple[tuple[str, ...], list[str]]:
    """The import statements to add, and those that stand against one of the base."""
    words = [donor.name_usage(it) for it in taken]
    said = {name for it in words for name in it.used | it.called}.union(*map(donor.names_above, taken))
    said |= {FUTURE_ANNOTATIONS} if any(_is_annotated(it.outer_node) for it in taken) else set()
    while more := {name for it in donor.imports if it.name in said for name in it.required_names} - said:
        said |= more
    ours = {it.name: it for it in base.imports if it.name}
    written = {_plain(it.text) for it in base.imports}
    defined = {it.base_name for it in base.symbols}
    add: dict[str, None] = {}
    unfit: list[str] = []
    for it in donor.imports:
        if not it.name or it.name not in said or it.name in defined or _plain(it.text) in written:
            continue
        other = ours.get(it.name)
        if other and not _both_stand(it, other):
            unfit.append(f"It needs `{it.text}`, and {base.path} has `{other.text}`.")
        else:
            add[it.text] = None
    everything = base.name_usage()
    known = {*everything.used, *everything.members, *everything.bound, *defined, *(it.name for it in donor.imports)}
    known.update(it.base_name for it in donor.symbols)
    if any(name not in known for it in words for name in it.used | it.members):
        add.update({it.text: None for it in donor.imports if not it.name and _plain(it.text) not in written})
    return tuple(add), unfit


def _is_annotated(node: Node) -> bool:
    """Whether types stand in it as Python writes them."""
    waiting = [node]
    while waiting:
        at = waiting.pop()
        if at.type == "type":
            return True
        waiting.extend(at.named_children)
    return False


def _both_stand(one: Import, other: Import) -> bool:
    """`import a.b` and `import a.c` bring in the same name and do not disturb each other."""
    return all(re.fullmatch(r"import [\w.]+", it.text) for it in (one, other))


def _plain(text: str) -> str:
    return re.sub(r"[\s;'\"]", "", text)


def insert_import_statements(path: str, base: Outline, made: bytes, lines: Iterable[str]) -> bytes:
    """The file with these import statements where its imports stand; the first ones if it has none."""
    waiting = list(lines)
    if first := [it for it in waiting if is_future_import(it)]:
        made = _at_the_top(parse_outline_in_language(base.language, path, made), first)
    later = [it for it in waiting if it not in first]
    return _among_imports(parse_outline_in_language(base.language, path, made), later) if later else made


def _among_imports(now: Outline, lines: Sequence[str]) -> bytes:
    made, newline = now.source, detect_source_newline(now.source)
    code = [it.start for it in now.symbols if it.kind is not SymbolKind.VALUE]
    limit = min(code, default=len(made))
    imports = [it for it in now.imports if not is_future_import(it.text)]
    ends = [it.end for it in imports if it.start < limit] or [it.end for it in imports[:1]]
    if not ends:
        return _at_the_top(now, lines)
    at = line_end_offset(made, len(made[: max(ends)].rstrip()))
    return made[:at] + newline + _written(lines, newline) + made[at:]


def _at_the_top(now: Outline, lines: Sequence[str]) -> bytes:
    made, newline = now.source, detect_source_newline(now.source)
    text = _written(lines, newline)
    at = _after_preamble(now, min((it.start for it in now.symbols), default=len(made)))
    if at:
        return made[:at] + newline * 2 + text + made[at:]
    at = len(BOM_UTF8) if made.startswith(BOM_UTF8) else 0
    gap = 1 if now.imports else now.language.blank_lines
    return made[:at] + text + newline * (gap + 1) + made[at:]


def _written(lines: Sequence[str], newline: bytes) -> bytes:
    return newline.join(line.encode().replace(b"\r\n", b"\n").replace(b"\n", newline) for line in lines)


def _after_preamble(file: Outline, limit: int) -> int:
    at = 0
    for node in file.root.children:
        has_body = node.child_by_field_name("body") is not None
        if node.type not in file.language.preamble or has_body or node.end_byte > limit or _is_code(file, node):
            break
        at = line_end_offset(file.source, node.start_byte + len((node.text or b"").rstrip()))
    return at


def _is_code(file: Outline, node: Node) -> bool:
    """Whether this only looks like a preamble: a statement that is no string, or a comment of the first symbol."""
    if node.type == "expression_statement":
        return node.named_children[0].type != "string"
    return "comment" in node.type and any(
        it.start <= node.start_byte < it.start_without_comments for it in file.symbols
    )
