"""One table for each language whose functions can be spliced: its syntax nodes, frames and formatting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath

NodeFields = frozenset[tuple[str, str]]
"""Fields of syntax nodes, each as (node type, field name)."""


class SymbolKind(StrEnum):
    """The kind of a symbol. A SCOPE (namespace, module, `impl`) only contains others; a PROTOTYPE has no body."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    SCOPE = "scope"
    VALUE = "value"
    PROTOTYPE = "prototype"


@dataclass(frozen=True, eq=False)
class Language:
    """The syntax tree of one language: which nodes are symbols and which nodes belong to them.

    `transparent` nodes are searched for symbols; `conditional` ones among them, such as `if`, change what is inside.
    `wrappers` belong to the one symbol inside them; `kept_wrappers` stay when a replacement comes without them.
    `leading` nodes are directly above a symbol and belong to it. `preamble` nodes are before all imports.
    `member_fields` name a member of something else (`object.name`), `binding_fields` define a name; the field `last` is
    the last child where the grammar names no field. `frames` are put around a piece of code to parse it alone.
    A file without `code_opener` has no code, and no code may follow `code_closer` at its end. An empty node of the type
    `never_empty` is a syntax error. With `has_overloads`, functions of one name are distinguished by their parameters.
    `blank_lines` is the number of empty lines between top-level symbols.
    """

    name: str
    grammar: tuple[str, str]
    symbols: Mapping[str, SymbolKind]
    transparent: frozenset[str]
    conditional: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    kept_wrappers: frozenset[str] = frozenset()
    leading: frozenset[str] = frozenset({"comment"})
    strings: frozenset[str] = frozenset()
    preamble: frozenset[str] = frozenset({"comment"})
    member_fields: NodeFields = frozenset()
    binding_fields: NodeFields = frozenset()
    call_fields: NodeFields = frozenset()
    frames: tuple[tuple[bytes, bytes], ...] = ()
    code_opener: bytes = b""
    code_closer: bytes = b""
    never_empty: str = ""
    implicit_self: bool = False
    has_overloads: bool = False
    blank_lines: int = 1
    indent: bytes = b"    "


def _node_types(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _node_fields(words: str) -> NodeFields:
    return frozenset((node, field) for node, field in (word.split(".") for word in words.split()))


def _symbol_kinds(**kinds: str) -> dict[str, SymbolKind]:
    return {node: SymbolKind(kind) for kind, nodes in kinds.items() for node in nodes.split()}


_C_KINDS = _symbol_kinds(
    function="function_definition",
    value="preproc_def preproc_function_def type_definition",
    prototype="declaration",
    **{"class": "struct_specifier union_specifier enum_specifier"},
)
_C_CONDITIONAL = _node_types("preproc_ifdef preproc_if preproc_else preproc_elif preproc_elifdef linkage_specification")
_C_TRANSPARENT = _C_CONDITIONAL | _node_types("declaration_list")
_JS_KINDS = _symbol_kinds(
    function="function_declaration generator_function_declaration method_definition assignment_expression",
    value="variable_declarator field_definition public_field_definition pair export_statement",
    **{"class": "class_declaration"},
)
_JS_TRANSPARENT = _node_types(
    "class class_body export_statement lexical_declaration variable_declaration expression_statement"
)
_JS_MEMBERS = _node_fields("member_expression.property")
_JS_BINDINGS = _node_fields(
    "variable_declarator.name required_parameter.pattern optional_parameter.pattern arrow_function.parameter"
)
_JS_CALLS = _node_fields("call_expression.function new_expression.constructor")
_CLASS_FRAME = (b"class _ {\n", b"\n}\n")
_OBJECT_FRAME = (b"const _ = {\n", b"\n};\n")
_TS_KINDS = _JS_KINDS | _symbol_kinds(
    scope="internal_module module",
    prototype="function_signature method_signature abstract_method_signature",
    **{"class": "abstract_class_declaration interface_declaration type_alias_declaration enum_declaration"},
)
_PYTHON_CONDITIONAL = _node_types("if_statement else_clause elif_clause try_statement except_clause")

PYTHON = Language(
    "Python",
    ("tree_sitter_python", "language"),
    _symbol_kinds(function="function_definition", value="assignment", **{"class": "class_definition"}),
    _PYTHON_CONDITIONAL | _node_types("block decorated_definition expression_statement"),
    _PYTHON_CONDITIONAL,
    wrappers=_node_types("decorated_definition expression_statement"),
    strings=_node_types("string"),
    preamble=_node_types("comment expression_statement future_import_statement"),
    member_fields=_node_fields("attribute.attribute keyword_argument.name"),
    binding_fields=_node_fields(
        "assignment.left for_statement.left for_in_clause.left as_pattern.alias named_expression.name"
    ),
    call_fields=_node_fields("call.function"),
    frames=((b"if 1:\n", b"\n"),),
    never_empty="block",
    blank_lines=2,
)
JAVASCRIPT = Language(
    "JavaScript",
    ("tree_sitter_javascript", "language"),
    _JS_KINDS,
    _JS_TRANSPARENT,
    wrappers=_node_types("export_statement lexical_declaration variable_declaration expression_statement"),
    kept_wrappers=_node_types("export_statement"),
    leading=_node_types("comment decorator"),
    strings=_node_types("template_string"),
    preamble=_node_types("comment hash_bang_line expression_statement"),
    member_fields=_JS_MEMBERS,
    binding_fields=_JS_BINDINGS,
    call_fields=_JS_CALLS,
    frames=(_CLASS_FRAME, _OBJECT_FRAME),
    indent=b"  ",
)
TYPESCRIPT = Language(
    "TypeScript",
    ("tree_sitter_typescript", "language_typescript"),
    _TS_KINDS,
    _JS_TRANSPARENT | _node_types("ambient_declaration statement_block"),
    wrappers=_node_types(
        "export_statement lexical_declaration variable_declaration expression_statement ambient_declaration"
    ),
    kept_wrappers=_node_types("export_statement"),
    leading=_node_types("comment decorator"),
    strings=_node_types("template_string"),
    preamble=_node_types("comment hash_bang_line expression_statement"),
    member_fields=_JS_MEMBERS,
    binding_fields=_JS_BINDINGS,
    call_fields=_JS_CALLS,
    frames=(_CLASS_FRAME, (b"abstract class _ {\n", b"\n}\n"), _OBJECT_FRAME),
    indent=b"  ",
)
TSX = replace(TYPESCRIPT, grammar=("tree_sitter_typescript", "language_tsx"))
GO = Language(
    "Go",
    ("tree_sitter_go", "language"),
    _symbol_kinds(
        function="function_declaration method_declaration",
        value="const_spec var_spec",
        **{"class": "type_spec type_alias"},
    ),
    _node_types("type_declaration const_declaration var_declaration var_spec_list"),
    wrappers=_node_types("type_declaration const_declaration var_declaration var_spec_list"),
    strings=_node_types("raw_string_literal"),
    preamble=_node_types("comment package_clause"),
    member_fields=_node_fields("selector_expression.field qualified_type.name"),
    binding_fields=_node_fields(
        "short_var_declaration.left parameter_declaration.name range_clause.left var_spec.name"
    ),
    call_fields=_node_fields("call_expression.function"),
    indent=b"\t",
)
RUST = Language(
    "Rust",
    ("tree_sitter_rust", "language"),
    _symbol_kinds(
        function="function_item macro_definition",
        value="const_item static_item type_item",
        scope="impl_item mod_item",
        prototype="function_signature_item",
        **{"class": "struct_item enum_item union_item trait_item"},
    ),
    _node_types("declaration_list"),
    leading=_node_types("line_comment block_comment attribute_item"),
    strings=_node_types("string_literal raw_string_literal"),
    preamble=_node_types("line_comment block_comment inner_attribute_item"),
    member_fields=_node_fields("field_expression.field scoped_identifier.name scoped_type_identifier.name"),
    binding_fields=_node_fields("let_declaration.pattern parameter.pattern for_expression.pattern"),
    call_fields=_node_fields("call_expression.function macro_invocation.macro"),
)
JAVA = Language(
    "Java",
    ("tree_sitter_java", "language"),
    _symbol_kinds(
        function="method_declaration constructor_declaration compact_constructor_declaration",
        value="field_declaration constant_declaration",
        **{
            "class": "class_declaration interface_declaration enum_declaration record_declaration"
            " annotation_type_declaration"
        },
    ),
    _node_types("class_body interface_body enum_body enum_body_declarations annotation_type_body"),
    leading=_node_types("line_comment block_comment"),
    strings=_node_types("string_literal"),
    preamble=_node_types("line_comment block_comment package_declaration"),
    member_fields=_node_fields("field_access.field scoped_identifier.name"),
    binding_fields=_node_fields(
        "variable_declarator.name formal_parameter.name enhanced_for_statement.name catch_formal_parameter.name"
    ),
    call_fields=_node_fields("method_invocation.name object_creation_expression.type"),
    frames=(_CLASS_FRAME,),
    implicit_self=True,
    has_overloads=True,
)
C = Language(
    "C",
    ("tree_sitter_c", "language"),
    _C_KINDS,
    _C_TRANSPARENT,
    _C_CONDITIONAL,
    member_fields=_node_fields("field_expression.field"),
    binding_fields=_node_fields("init_declarator.declarator parameter_declaration.declarator declaration.declarator"),
    call_fields=_node_fields("call_expression.function"),
)
CPP = Language(
    "C++",
    ("tree_sitter_cpp", "language"),
    _C_KINDS
    | _symbol_kinds(
        scope="namespace_definition",
        prototype="field_declaration",
        value="alias_declaration concept_definition",
        **{"class": "class_specifier"},
    ),
    _C_TRANSPARENT
    | _node_types(
        "template_declaration field_declaration_list field_declaration friend_declaration namespace_definition"
    ),
    _C_CONDITIONAL | _node_types("namespace_definition"),
    wrappers=_node_types("template_declaration friend_declaration"),
    strings=_node_types("raw_string_literal"),
    member_fields=_node_fields("field_expression.field qualified_identifier.name"),
    binding_fields=C.binding_fields,
    call_fields=_node_fields("call_expression.function"),
    frames=((b"class _ {\n", b"\n};\n"),),
    implicit_self=True,
    has_overloads=True,
)
CSHARP = Language(
    "C#",
    ("tree_sitter_c_sharp", "language"),
    _symbol_kinds(
        function="method_declaration constructor_declaration destructor_declaration property_declaration"
        " local_function_statement operator_declaration conversion_operator_declaration indexer_declaration",
        value="field_declaration event_field_declaration",
        scope="namespace_declaration",
        **{
            "class": "class_declaration interface_declaration struct_declaration record_declaration enum_declaration"
            " delegate_declaration"
        },
    ),
    _node_types("declaration_list global_statement preproc_if preproc_else preproc_elif"),
    _node_types("preproc_if preproc_else preproc_elif"),
    wrappers=_node_types("global_statement"),
    strings=_node_types("verbatim_string_literal raw_string_literal interpolated_string_expression"),
    member_fields=_node_fields("member_access_expression.name qualified_name.name"),
    binding_fields=_node_fields("variable_declarator.name parameter.name foreach_statement.left"),
    call_fields=_node_fields("invocation_expression.function object_creation_expression.type"),
    frames=(_CLASS_FRAME,),
    implicit_self=True,
    has_overloads=True,
)
RUBY = Language(
    "Ruby",
    ("tree_sitter_ruby", "language"),
    _symbol_kinds(function="method singleton_method", value="assignment", scope="module", **{"class": "class"}),
    _node_types("body_statement call argument_list singleton_class"),
    _node_types("singleton_class"),
    wrappers=_node_types("call argument_list"),
    strings=_node_types("string heredoc_body"),
    member_fields=_node_fields("scope_resolution.name"),
    binding_fields=_node_fields("assignment.left"),
    call_fields=_node_fields("call.method"),
    implicit_self=True,
    indent=b"  ",
)
PHP = Language(
    "PHP",
    ("tree_sitter_php", "language_php"),
    _symbol_kinds(
        function="function_definition method_declaration",
        value="const_declaration property_declaration",
        scope="namespace_definition",
        **{"class": "class_declaration interface_declaration trait_declaration enum_declaration"},
    ),
    _node_types("declaration_list enum_declaration_list compound_statement if_statement else_clause"),
    _node_types("if_statement else_clause"),
    strings=_node_types("string encapsed_string heredoc nowdoc text_interpolation"),
    preamble=_node_types("php_tag comment declare_statement namespace_definition"),
    member_fields=_node_fields(
        "member_access_expression.name member_call_expression.name scoped_call_expression.name"
        " scoped_property_access_expression.name class_constant_access_expression.last qualified_name.name"
    ),
    call_fields=_node_fields(
        "function_call_expression.function member_call_expression.name scoped_call_expression.name"
    ),
    code_opener=b"<?",
    code_closer=b"?>",
    frames=((b"<?php\n", b"\n"), (b"<?php\nclass _ {\n", b"\n}\n")),
)

_LANGUAGE_BY_SUFFIX: dict[str, Language] = {
    **dict.fromkeys((".py", ".pyi"), PYTHON),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), JAVASCRIPT),
    **dict.fromkeys((".ts", ".mts", ".cts"), TYPESCRIPT),
    ".tsx": TSX,
    ".go": GO,
    ".rs": RUST,
    ".java": JAVA,
    ".c": C,
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), CPP),
    ".cs": CSHARP,
    **dict.fromkeys((".rb", ".rake"), RUBY),
    ".php": PHP,
}


def find_source_language(path: str) -> Language | None:
    """Return the language of a file by its suffix, or None. A `.h` file is read as C++, which includes C."""
    return _LANGUAGE_BY_SUFFIX.get(PurePosixPath(path).suffix.lower())


LANGUAGES = (PYTHON, JAVASCRIPT, TYPESCRIPT, TSX, GO, RUST, JAVA, C, CPP, CSHARP, RUBY, PHP)
