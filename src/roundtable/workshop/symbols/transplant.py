"""A symbol taken from another file, with the imports and helpers that it needs and the target file lacks.

Also updates its prototypes and the export lists: `export { … }`, `module.exports = { … }`, `exports.x = x`, `__all__`.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tree_sitter import Node

from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.workshop.symbols.fragments import FRAME_CLASS_NAME, SymbolVariant
from roundtable.workshop.symbols.imports import FUTURE_ANNOTATIONS, Import, is_future_import
from roundtable.workshop.symbols.languages import SymbolKind
from roundtable.workshop.symbols.outline import Outline, Symbol, parse_outline_in_language
from roundtable.workshop.symbols.signatures import list_parameter_types, normalize_type_spelling, symbol_signature_line
from roundtable.workshop.symbols.spans import line_end_offset, line_start_offset, symbol_line_indentation
from roundtable.workshop.symbols.splice import (
    SpliceRequest,
    detect_symbol_source_newline,
    match_splice_to_symbol,
    splice_symbol,
    verify_spliced_source,
)
from roundtable.workshop.symbols.symbol_lookup import SymbolQuery, find_counterpart_symbols, interchangeable_symbol_kind
from roundtable.workshop.symbols.symbol_names import syntax_node_text


def _update_symbol_prototypes(request: SpliceRequest, source: bytes) -> tuple[bytes, tuple[Refusal, ...]]:
    """Update the prototypes of a replaced symbol to its new signature; also return a conflict if there is none."""
    old, (donor, new) = request.target, request.variant
    if old is None or new.kind is SymbolKind.PROTOTYPE or _prototype_key(old) == _prototype_key(new):
        return source, ()
    new_prototype = next(_stale_prototypes(donor, new), None)
    while stale := next(
        _stale_prototypes(
            base := parse_outline_in_language(donor.language, request.base.path, source), old, new_prototype
        ),
        None,
    ):
        updated = (
            splice_symbol(SpliceRequest(base, request.query, stale, SymbolVariant(donor, new_prototype)))
            if new_prototype
            else None
        )
        if updated is None or isinstance(updated, Refusal):
            facts = {"symbol": old.name, "found": stale.signature}
            return source, (Refusal.of(base.path, RefusalCode.PROTOTYPE_STALE, **facts),)
        source = updated
    return source, ()


def _prototype_key(symbol: Symbol) -> object:
    """Return what prototypes of a symbol have to match: its parameters and the text before them."""
    return normalize_type_spelling(symbol_signature_line(symbol.node).partition("(")[0]), list_parameter_types(
        symbol.node
    )


def _stale_prototypes(file: Outline, symbol: Symbol, known: Symbol | None = None) -> Iterator[Symbol]:
    """Yield the prototypes of a symbol that differ from the known one."""
    prototypes = (
        prototype
        for prototype in file.symbols
        if prototype.kind is SymbolKind.PROTOTYPE and prototype.name == symbol.name
    )
    same_parameters = (
        prototype
        for prototype in prototypes
        if list_parameter_types(prototype.node) == list_parameter_types(symbol.node)
    )
    return (
        prototype
        for prototype in same_parameters
        if known is None or _prototype_key(prototype) != _prototype_key(known)
    )


def _find_missing_struct_fields(base: Outline, donor: Outline, symbols: Sequence[Symbol]) -> Iterator[Refusal]:
    """Yield a conflict for each struct of the base that lacks fields which the taken symbols use."""
    usages = [donor.name_usage(symbol) for symbol in symbols]
    used = {name for usage in usages for name in usage.used | usage.members} - {
        symbol.base_name for symbol in base.symbols
    }
    for struct in donor.symbols:
        used_fields = [field for field in _field_names(struct) if field in used]
        counterparts = find_counterpart_symbols(base, donor, struct) if used_fields else []
        known = set(_field_names(*counterparts))
        missing = ", ".join(f"`{name}`" for name in dict.fromkeys(used_fields) if name not in known)
        if counterparts and missing:
            yield Refusal.of(base.path, RefusalCode.FIELDS_MISSING, fields=missing, symbol=struct.name)


def _field_names(*structs: Symbol) -> Iterator[str]:
    """Yield the field names of structs, as C, C++, Go and Rust declare them."""
    pending = [
        struct.node for struct in structs if struct.kind is SymbolKind.CLASS or struct.node.type == "type_definition"
    ]
    while pending:
        node = pending.pop()
        if node.type == "field_identifier":
            yield syntax_node_text(node)
        elif node.type != "function_definition":
            pending.extend(reversed(node.named_children))


_ALL = "__all__"
_EXPORT = "export"
_EXPORTED_MEMBER = re.compile(r"(?:module\.)?exports\.\w+")
_HOISTED = {"function_declaration", "generator_function_declaration"}


class _ExportListEntry(NamedTuple):
    """An exported name, the export list that contains it, and the node of the entry."""

    name: str
    list_name: str
    node: Node


def _add_symbol_to_export_list(base: Outline, donor: Outline, symbol: Symbol, newline: bytes) -> bytes | None:
    """Add a new symbol to the export list that the donor has it in; None if it cannot be added."""
    donor_entry = next((entry for entry in _export_list_entries(donor) if entry.name == symbol.name), None)
    entries = list(_export_list_entries(base))
    if donor_entry is None or any(entry.name == symbol.name for entry in entries):
        return base.source
    last = next((entry for entry in reversed(entries) if entry.list_name == donor_entry.list_name), None)
    if last is None:
        # Without `__all__`, a Python module exports every name.
        return (
            base.source
            if donor_entry.list_name == _ALL and _ALL not in {known.name for known in base.symbols}
            else None
        )
    if donor_entry.list_name not in {_ALL, _EXPORT} and _is_defined_after(base, symbol, last.node):
        return None
    source, text, end = base.source, donor_entry.node.text or b"", last.node.end_byte
    if last.node.type == "expression_statement":
        end = line_end_offset(source, end)
        return source[:end] + newline + text + source[end:]
    own_line = line_start_offset(source, last.node.start_byte) != last.node.start_byte
    separator = newline + symbol_line_indentation(source, last.node.start_byte) if own_line else b" "
    return source[:end] + b"," + separator + text + source[end:]


def _is_defined_after(base: Outline, symbol: Symbol, place: Node) -> bool:
    """Tell whether a symbol is not defined yet where the export list is built."""
    return any(
        defined.name == symbol.name and defined.node.type not in _HOISTED and defined.start > place.start_byte
        for defined in base.symbols
    )


def _export_list_entries(file: Outline) -> Iterator[_ExportListEntry]:
    for node in file.root.named_children:
        if node.type == "export_statement" and node.child_by_field_name("source") is None:
            clauses = (clause for clause in node.named_children if clause.type == "export_clause")
            names = (
                specifier
                for clause in clauses
                for specifier in clause.named_children
                if specifier.type == "export_specifier"
            )
            yield from (
                _ExportListEntry(syntax_node_text(specifier.child_by_field_name("name")), _EXPORT, specifier)
                for specifier in names
            )
        elif node.type == "expression_statement" and node.named_children:
            yield from _assigned_exports(node, node.named_children[0])


def _assigned_exports(statement: Node, node: Node) -> Iterator[_ExportListEntry]:
    left, right = syntax_node_text(node.child_by_field_name("left")), node.child_by_field_name("right")
    if right is None:
        return
    if left in {"module.exports", _ALL}:
        for child in right.named_children:
            text = syntax_node_text(child.child_by_field_name("value") or child)
            yield _ExportListEntry(text.strip("'\""), left, child)
    elif _EXPORTED_MEMBER.fullmatch(left) and right.type == "identifier":
        yield _ExportListEntry(syntax_node_text(right), "exports", statement)


class TransplantedSymbol(NamedTuple):
    """The file with the symbol, the symbols and imports that came with it, and possible conflicts."""

    source: bytes
    symbols: tuple[str, ...]
    imports: tuple[str, ...] = ()
    conflicts: tuple[Refusal, ...] = ()


def transplant_symbol(path: str, source: bytes, symbol: str, text: bytes) -> TransplantedSymbol | Refusal:
    """Insert a symbol of a text into a source, with the helpers and imports that it needs."""
    request = match_splice_to_symbol(path, source, symbol, text)
    return request if isinstance(request, Refusal) else splice_symbol_with_dependencies(request)


def splice_symbol_with_dependencies(request: SpliceRequest) -> TransplantedSymbol | Refusal:
    """Splice a symbol, with the helpers and imports of its own file that it needs."""
    result = splice_symbol(request)
    if isinstance(result, Refusal):
        return result
    path, source, (donor, first_symbol) = request.base.path, request.base.source, request.variant
    result, stale = _update_symbol_prototypes(request, result)
    taken, conflicts = [first_symbol], list(stale)
    for helper in _needed_helpers(donor, taken):
        base = parse_outline_in_language(donor.language, path, result)
        at_home = _as_named_in_base(helper, request)
        existing = find_counterpart_symbols(base, donor, at_home)
        if existing:
            if _have_other_parameters(existing, helper):
                facts = {"expected": helper.signature, "found": existing[0].signature}
                conflicts.append(Refusal.of(path, RefusalCode.SIGNATURE_DIFFERS, **facts))
        elif helper.base_name not in {statement.name for statement in (*base.imports, *donor.imports)}:
            extended = splice_symbol(
                SpliceRequest(base, SymbolQuery(tuple(at_home.name.split("."))), None, SymbolVariant(donor, helper))
            )
            if isinstance(extended, Refusal):
                conflicts.append(extended)
            else:
                result = extended
                taken.append(helper)
    conflicts += _find_missing_struct_fields(parse_outline_in_language(donor.language, path, result), donor, taken)
    result, unlisted = _add_to_export_lists(path, result, donor, taken[1:] if request.target else taken)
    base = parse_outline_in_language(donor.language, path, source)
    statements, conflicting = _imports_needed(base, donor, taken)
    verified = verify_spliced_source(base, insert_import_statements(path, base, result, statements))
    if isinstance(verified, Refusal):
        return verified
    return TransplantedSymbol(
        verified, tuple(symbol.name for symbol in taken), statements, (*conflicts, *unlisted, *conflicting)
    )


def _as_named_in_base(helper: Symbol, request: SpliceRequest) -> Symbol:
    """Return a helper with its name in the base: next to a method without its class, it belongs to the same class."""
    scope = request.target.scope if request.target else ".".join(request.query.parts[:-1])
    name = helper.name.removeprefix(f"{FRAME_CLASS_NAME}.")
    return replace(helper, name=f"{scope}.{name}") if name != helper.name and scope else helper


def _add_to_export_lists(
    path: str, source: bytes, donor: Outline, new: Sequence[Symbol]
) -> tuple[bytes, list[Refusal]]:
    """Add new symbols to the export lists; also return a conflict for each that could not be added."""
    unlisted: list[Refusal] = []
    for symbol in new:
        extended = _add_symbol_to_export_list(
            parse_outline_in_language(donor.language, path, source), donor, symbol, detect_symbol_source_newline(source)
        )
        unlisted += [] if extended else [Refusal.of(path, RefusalCode.NOT_EXPORTED, symbol=symbol.name)]
        source = extended or source
    return source, unlisted


def _needed_helpers(donor: Outline, taken: Sequence[Symbol]) -> Iterator[Symbol]:
    """Yield the donor's other symbols that the taken ones use. `taken` grows while this is read."""
    visited = set(taken)
    index = 0
    while index < len(taken):
        current = taken[index]
        usage = donor.name_usage(current)
        index += 1
        for helper in donor.symbols:
            is_reachable = not helper.owner or helper.scope == current.scope
            if (
                helper in visited
                or helper.kind in {SymbolKind.SCOPE, SymbolKind.PROTOTYPE}
                or not is_reachable
                or _overlap(helper, current)
            ):
                continue
            is_same_class = bool(helper.scope) and helper.scope == current.scope
            plain_names = usage.used if donor.language.implicit_self or not is_same_class else frozenset[str]()
            names = plain_names | usage.members if is_same_class else plain_names
            if helper.base_name in (usage.called if helper.name == current.name else names):
                visited.add(helper)
                yield helper


def _overlap(symbol: Symbol, other: Symbol) -> bool:
    return (other.start <= symbol.start and symbol.end <= other.end) or (
        symbol.start <= other.start and other.end <= symbol.end
    )


def _have_other_parameters(existing: Sequence[Symbol], helper: Symbol) -> bool:
    """Tell whether none of these symbols is called like the helper."""
    if interchangeable_symbol_kind(existing[0]) is not interchangeable_symbol_kind(helper):
        return True
    return interchangeable_symbol_kind(helper) is SymbolKind.FUNCTION and all(
        list_parameter_types(symbol.node) != list_parameter_types(helper.node) for symbol in existing
    )


def _imports_needed(base: Outline, donor: Outline, symbols: Sequence[Symbol]) -> tuple[tuple[str, ...], list[Refusal]]:
    """Return the import statements to add, and a conflict for each that contradicts one of the base."""
    usages = [donor.name_usage(symbol) for symbol in symbols]
    used = {name for usage in usages for name in usage.used | usage.called}.union(*map(donor.names_above, symbols))
    used |= {FUTURE_ANNOTATIONS} if any(_is_annotated(symbol.outer_node) for symbol in symbols) else set()
    while (
        required := {name for statement in donor.imports if statement.name in used for name in statement.required_names}
        - used
    ):
        used |= required
    existing = {statement.name: statement for statement in base.imports if statement.name}
    written = {_normalize_statement(statement.text) for statement in base.imports}
    defined = {symbol.base_name for symbol in base.symbols}
    statements: dict[str, None] = {}
    conflicts: list[Refusal] = []
    for statement in donor.imports:
        if (
            not statement.name
            or statement.name not in used
            or statement.name in defined
            or _normalize_statement(statement.text) in written
        ):
            continue
        rival = existing.get(statement.name)
        if rival and not _can_coexist(statement, rival):
            facts = {"expected": statement.text, "found": rival.text}
            conflicts.append(Refusal.of(base.path, RefusalCode.IMPORT_DIFFERS, **facts))
        else:
            statements[statement.text] = None
    base_usage = base.name_usage()
    known = {
        *base_usage.used,
        *base_usage.members,
        *base_usage.bound,
        *defined,
        *(statement.name for statement in donor.imports),
    }
    known.update(symbol.base_name for symbol in donor.symbols)
    if any(name not in known for usage in usages for name in usage.used | usage.members):
        statements.update(
            {
                statement.text: None
                for statement in donor.imports
                if not statement.name and _normalize_statement(statement.text) not in written
            }
        )
    return tuple(statements), conflicts


def _is_annotated(node: Node) -> bool:
    """Tell whether code has Python type annotations."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type == "type":
            return True
        pending.extend(current.named_children)
    return False


def _can_coexist(one: Import, other: Import) -> bool:
    """Tell whether two imports of one name are compatible, as `import a.b` and `import a.c` are."""
    return all(re.fullmatch(r"import [\w.]+", statement.text) for statement in (one, other))


def _normalize_statement(text: str) -> str:
    return re.sub(r"[\s;'\"]", "", text)


def insert_import_statements(path: str, base: Outline, source: bytes, statements: Iterable[str]) -> bytes:
    """Insert import statements after the existing imports, or at the top if there are none."""
    pending = list(statements)
    if first := [line for line in pending if is_future_import(line)]:
        source = _insert_at_top(parse_outline_in_language(base.language, path, source), first)
    later = [line for line in pending if line not in first]
    return _insert_among_imports(parse_outline_in_language(base.language, path, source), later) if later else source


def _insert_among_imports(outline: Outline, statements: Sequence[str]) -> bytes:
    source, newline = outline.source, detect_symbol_source_newline(outline.source)
    code = [symbol.start for symbol in outline.symbols if symbol.kind is not SymbolKind.VALUE]
    limit = min(code, default=len(source))
    imports = [statement for statement in outline.imports if not is_future_import(statement.text)]
    ends = [statement.end for statement in imports if statement.start < limit] or [
        statement.end for statement in imports[:1]
    ]
    if not ends:
        return _insert_at_top(outline, statements)
    offset = line_end_offset(source, len(source[: max(ends)].rstrip()))
    return source[:offset] + newline + _join_lines(statements, newline) + source[offset:]


def _insert_at_top(outline: Outline, statements: Sequence[str]) -> bytes:
    source, newline = outline.source, detect_symbol_source_newline(outline.source)
    text = _join_lines(statements, newline)
    offset = _after_preamble(outline, min((symbol.start for symbol in outline.symbols), default=len(source)))
    if offset:
        return source[:offset] + newline * 2 + text + source[offset:]
    offset = len(BOM_UTF8) if source.startswith(BOM_UTF8) else 0
    blank_lines = 1 if outline.imports else outline.language.blank_lines
    return source[:offset] + text + newline * (blank_lines + 1) + source[offset:]


def _join_lines(lines: Sequence[str], newline: bytes) -> bytes:
    return newline.join(line.encode().replace(b"\r\n", b"\n").replace(b"\n", newline) for line in lines)


def _after_preamble(file: Outline, limit: int) -> int:
    offset = 0
    for node in file.root.children:
        has_body = node.child_by_field_name("body") is not None
        if node.type not in file.language.preamble or has_body or node.end_byte > limit or _is_not_preamble(file, node):
            break
        offset = line_end_offset(file.source, node.start_byte + len((node.text or b"").rstrip()))
    return offset


def _is_not_preamble(file: Outline, node: Node) -> bool:
    """Tell whether a node only looks like preamble: a statement that is no string, or a symbol's comment."""
    if node.type == "expression_statement":
        return node.named_children[0].type != "string"
    return "comment" in node.type and any(
        symbol.start <= node.start_byte < symbol.start_without_comments for symbol in file.symbols
    )
