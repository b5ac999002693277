"""What the languages we can splice look like as trees: one table each, and nothing of them anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath

NodeFields = frozenset[tuple[str, str]]
"""Fields of nodes, each as the node's type and the field's name."""


class SymbolKind(StrEnum):
    """What a symbol is. A scope only holds others: a namespace, a module, an `impl`; a prototype has no body."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    SCOPE = "scope"
    VALUE = "value"
    PROTOTYPE = "prototype"


@dataclass(frozen=True, eq=False)
class Language:
    """One language: which nodes are symbols, what is looked through to find them, and what belongs to them.

    `around` is what is looked through and gives a meaning to what stands in it, such as a condition.
    `wrappers` are part of the one symbol inside them, `kept` are wrappers that stay when a variant comes without.
    `heads` stand directly above a symbol and belong to it; `preamble` stands before all imports. `members` says in
    which field of a node a name belongs to something else (`it.name`), `binds` where a name is made; `last` is the last
    child where the grammar gives it no field. `frames` are put around a piece of code to read it alone. `gap` is the
    number of empty lines between symbols at the top. A file without `opens` holds no code, and none follows on `closes`
    at its end. A node of the kind `filled` is an error where it is empty. With `overloads` there may be several
    functions of one name, told apart by what they take.
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


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _pairs(words: str) -> NodeFields:
    return frozenset((node, field) for node, field in (it.split(".") for it in words.split()))


def _kinds(**kinds: str) -> dict[str, SymbolKind]:
    return {node: SymbolKind(kind) for kind, nodes in kinds.items() for node in nodes.split()}


_C_KINDS = _kinds(
    function="function_definition",
    value="preproc_def preproc_function_def type_definition",
    prototype="declaration",
    **{"class": "struct_specifier union_specifier enum_specifier"},
)
_C_AROUND = _set("preproc_ifdef preproc_if preproc_else preproc_elif preproc_elifdef linkage_specification")
_C_THROUGH = _C_AROUND | _set("declaration_list")
_JS_KINDS = _kinds(
    function="function_declaration generator_function_declaration method_definition assignment_expression",
    value="variable_declarator field_definition public_field_definition pair export_statement",
    **{"class": "class_declaration"},
)
_JS_THROUGH = _set("class class_body export_statement lexical_declaration variable_declaration expression_statement")
_JS_MEMBERS = _pairs("member_expression.property")
_JS_BINDS = _pairs(
    "variable_declarator.name required_parameter.pattern optional_parameter.pattern arrow_function.parameter"
)
_JS_CALLS = _pairs("call_expression.function new_expression.constructor")
_IN_CLASS = (b"class _ {\n", b"\n}\n")
_IN_OBJECT = (b"const _ = {\n", b"\n};\n")
_TS_KINDS = _JS_KINDS | _kinds(
    scope="internal_module module",
    prototype="function_signature method_signature abstract_method_signature",
    **{"class": "abstract_class_declaration interface_declaration type_alias_declaration enum_declaration"},
)
_PYTHON_AROUND = _set("if_statement else_clause elif_clause try_statement except_clause")

PYTHON = Language(
    "Python",
    ("tree_sitter_python", "language"),
    _kinds(function="function_definition", value="assignment", **{"class": "class_definition"}),
    _PYTHON_AROUND | _set("block decorated_definition expression_statement"),
    _PYTHON_AROUND,
    wrappers=_set("decorated_definition expression_statement"),
    strings=_set("string"),
    preamble=_set("comment expression_statement future_import_statement"),
    member_fields=_pairs("attribute.attribute keyword_argument.name"),
    binding_fields=_pairs(
        "assignment.left for_statement.left for_in_clause.left as_pattern.alias named_expression.name"
    ),
    call_fields=_pairs("call.function"),
    frames=((b"if 1:\n", b"\n"),),
    never_empty="block",
    blank_lines=2,
)
JAVASCRIPT = Language(
    "JavaScript",
    ("tree_sitter_javascript", "language"),
    _JS_KINDS,
    _JS_THROUGH,
    wrappers=_set("export_statement lexical_declaration variable_declaration expression_statement"),
    kept_wrappers=_set("export_statement"),
    leading=_set("comment decorator"),
    strings=_set("template_string"),
    preamble=_set("comment hash_bang_line expression_statement"),
    member_fields=_JS_MEMBERS,
    binding_fields=_JS_BINDS,
    call_fields=_JS_CALLS,
    frames=(_IN_CLASS, _IN_OBJECT),
    indent=b"  ",
)
TYPESCRIPT = Language(
    "TypeScript",
    ("tree_sitter_typescript", "language_typescript"),
    _TS_KINDS,
    _JS_THROUGH | _set("ambient_declaration statement_block"),
    wrappers=_set("export_statement lexical_declaration variable_declaration expression_statement ambient_declaration"),
    kept_wrappers=_set("export_statement"),
    leading=_set("comment decorator"),
    strings=_set("template_string"),
    preamble=_set("comment hash_bang_line expression_statement"),
    member_fields=_JS_MEMBERS,
    binding_fields=_JS_BINDS,
    call_fields=_JS_CALLS,
    frames=(_IN_CLASS, (b"abstract class _ {\n", b"\n}\n"), _IN_OBJECT),
    indent=b"  ",
)
TSX = replace(TYPESCRIPT, grammar=("tree_sitter_typescript", "language_tsx"))
GO = Language(
    "Go",
    ("tree_sitter_go", "language"),
    _kinds(
        function="function_declaration method_declaration",
        value="const_spec var_spec",
        **{"class": "type_spec type_alias"},
    ),
    _set("type_declaration const_declaration var_declaration var_spec_list"),
    wrappers=_set("type_declaration const_declaration var_declaration var_spec_list"),
    strings=_set("raw_string_literal"),
    preamble=_set("comment package_clause"),
    member_fields=_pairs("selector_expression.field qualified_type.name"),
    binding_fields=_pairs("short_var_declaration.left parameter_declaration.name range_clause.left var_spec.name"),
    call_fields=_pairs("call_expression.function"),
    indent=b"\t",
)
RUST = Language(
    "Rust",
    ("tree_sitter_rust", "language"),
    _kinds(
        function="function_item macro_definition",
        value="const_item static_item type_item",
        scope="impl_item mod_item",
        prototype="function_signature_item",
        **{"class": "struct_item enum_item union_item trait_item"},
    ),
    _set("declaration_list"),
    leading=_set("line_comment block_comment attribute_item"),
    strings=_set("string_literal raw_string_literal"),
    preamble=_set("line_comment block_comment inner_attribute_item"),
    member_fields=_pairs("field_expression.field scoped_identifier.name scoped_type_identifier.name"),
    binding_fields=_pairs("let_declaration.pattern parameter.pattern for_expression.pattern"),
    call_fields=_pairs("call_expression.function macro_invocation.macro"),
)
JAVA = Language(
    "Java",
    ("tree_sitter_java", "language"),
    _kinds(
        function="method_declaration constructor_declaration compact_constructor_declaration",
        value="field_declaration constant_declaration",
        **{
            "class": "class_declaration interface_declaration enum_declaration record_declaration"
            " annotation_type_declaration"
        },
    ),
    _set("class_body interface_body enum_body enum_body_declarations annotation_type_body"),
    leading=_set("line_comment block_comment"),
    strings=_set("string_literal"),
    preamble=_set("line_comment block_comment package_declaration"),
    member_fields=_pairs("field_access.field scoped_identifier.name"),
    binding_fields=_pairs(
        "variable_declarator.name formal_parameter.name enhanced_for_statement.name catch_formal_parameter.name"
    ),
    call_fields=_pairs("method_invocation.name object_creation_expression.type"),
    frames=(_IN_CLASS,),
    implicit_self=True,
    has_overloads=True,
)
C = Language(
    "C",
    ("tree_sitter_c", "language"),
    _C_KINDS,
    _C_THROUGH,
    _C_AROUND,
    member_fields=_pairs("field_expression.field"),
    binding_fields=_pairs("init_declarator.declarator parameter_declaration.declarator declaration.declarator"),
    call_fields=_pairs("call_expression.function"),
)
CPP = Language(
    "C++",
    ("tree_sitter_cpp", "language"),
    _C_KINDS
    | _kinds(
        scope="namespace_definition",
        prototype="field_declaration",
        value="alias_declaration concept_definition",
        **{"class": "class_specifier"},
    ),
    _C_THROUGH
    | _set("template_declaration field_declaration_list field_declaration friend_declaration namespace_definition"),
    _C_AROUND | _set("namespace_definition"),
    wrappers=_set("template_declaration friend_declaration"),
    strings=_set("raw_string_literal"),
    member_fields=_pairs("field_expression.field qualified_identifier.name"),
    binding_fields=C.binding_fields,
    call_fields=_pairs("call_expression.function"),
    frames=((b"class _ {\n", b"\n};\n"),),
    implicit_self=True,
    has_overloads=True,
)
CSHARP = Language(
    "C#",
    ("tree_sitter_c_sharp", "language"),
    _kinds(
        function="method_declaration constructor_declaration destructor_declaration property_declaration"
        " local_function_statement operator_declaration conversion_operator_declaration indexer_declaration",
        value="field_declaration event_field_declaration",
        scope="namespace_declaration",
        **{
            "class": "class_declaration interface_declaration struct_declaration record_declaration enum_declaration"
            " delegate_declaration"
        },
    ),
    _set("declaration_list global_statement preproc_if preproc_else preproc_elif"),
    _set("preproc_if preproc_else preproc_elif"),
    wrappers=_set("global_statement"),
    strings=_set("verbatim_string_literal raw_string_literal interpolated_string_expression"),
    member_fields=_pairs("member_access_expression.name qualified_name.name"),
    binding_fields=_pairs("variable_declarator.name parameter.name foreach_statement.left"),
    call_fields=_pairs("invocation_expression.function object_creation_expression.type"),
    frames=(_IN_CLASS,),
    implicit_self=True,
    has_overloads=True,
)
RUBY = Language(
    "Ruby",
    ("tree_sitter_ruby", "language"),
    _kinds(function="method singleton_method", value="assignment", scope="module", **{"class": "class"}),
    _set("body_statement call argument_list singleton_class"),
    _set("singleton_class"),
    wrappers=_set("call argument_list"),
    strings=_set("string heredoc_body"),
    member_fields=_pairs("scope_resolution.name"),
    binding_fields=_pairs("assignment.left"),
    call_fields=_pairs("call.method"),
    implicit_self=True,
    indent=b"  ",
)
PHP = Language(
    "PHP",
    ("tree_sitter_php", "language_php"),
    _kinds(
        function="function_definition method_declaration",
        value="const_declaration property_declaration",
        scope="namespace_definition",
        **{"class": "class_declaration interface_declaration trait_declaration enum_declaration"},
    ),
    _set("declaration_list enum_declaration_list compound_statement if_statement else_clause"),
    _set("if_statement else_clause"),
    strings=_set("string encapsed_string heredoc nowdoc text_interpolation"),
    preamble=_set("php_tag comment declare_statement namespace_definition"),
    member_fields=_pairs(
        "member_access_expression.name member_call_expression.name scoped_call_expression.name"
        " scoped_property_access_expression.name class_constant_access_expression.last qualified_name.name"
    ),
    call_fields=_pairs("function_call_expression.function member_call_expression.name scoped_call_expression.name"),
    code_opener=b"<?",
    code_closer=b"?>",
    frames=((b"<?php\n", b"\n"), (b"<?php\nclass _ {\n", b"\n}\n")),
)

_SUFFIXES: dict[str, Language] = {
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
    """The language of a file by its name, if it is one we can splice. A `.h` is read as C++, which holds C."""
    return _SUFFIXES.get(PurePosixPath(path).suffix.lower())


LANGUAGES = (PYTHON, JAVASCRIPT, TYPESCRIPT, TSX, GO, RUST, JAVA, C, CPP, CSHARP, RUBY, PHP)
