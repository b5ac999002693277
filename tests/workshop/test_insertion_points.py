"""A new function keeps its meaning where it is inserted; otherwise it is refused with the reason."""

from __future__ import annotations

import pytest

from roundtable.report.refusals import refusal_sentences
from roundtable.workshop.symbols.synthesis import merge_candidate_symbols
from roundtable.workshop.symbols.transplant import TransplantedSymbol, transplant_symbol
from tests.workshop.test_symbol_lookup import apply_directive, merged_text, refusal_reason


def test_a_new_method_keeps_its_visibility() -> None:
    base = "class A\n  private\n\n  def a\n    1\n  end\nend\n"
    donor = "class A\n  def b\n    1\n  end\n\n  private\n\n  def a\n    1\n  end\nend\n"
    assert merged_text(apply_directive("a.rb", base, donor, "add gpt's b")) == donor
    hidden = "class A {\npublic:\n  int a() { return 1; }\n\nprivate:\n};\n"
    full = "class A {\npublic:\n  int a() { return 1; }\n\nprivate:\n  int b() { return 1; }\n};\n"
    assert merged_text(apply_directive("a.cpp", hidden, full, "add gpt's b")) == full


def test_a_function_without_its_class_becomes_public() -> None:
    base = b"class A {\npublic:\n  int a() { return 1; }\n\nprivate:\n  int c() { return 1; }\n};\n"
    result = transplant_symbol("a.cpp", base, "A::b", b"int b() { return 2; }")
    assert isinstance(result, TransplantedSymbol)
    assert result.source.index(b"int b()") < result.source.index(b"private:")


def test_a_new_function_is_not_inserted_into_its_neighbours_condition() -> None:
    home = "#ifdef WINDOWS\nint home(void) { return 1; }\n#endif\n"
    base, after = f"int a(void) {{ return 1; }}\n\n{home}", "int b(void) { return 1; }\n"
    result = merged_text(apply_directive("a.c", base, f"{base}\n{after}", "add gpt's b"))
    assert home in result
    assert after in result.replace(home, "")


@pytest.mark.parametrize(
    ("path", "base", "donor", "condition"),
    [
        (
            "a.c",
            "int a(void) { return 1; }\n",
            "int a(void) { return 1; }\n\n#ifdef WINDOWS\nint b(void) { return 1; }\n#endif\n",
            "#ifdef WINDOWS",
        ),
        (
            "a.rb",
            "class A\n  def a\n    1\n  end\nend\n",
            "class A\n  def a\n    1\n  end\n\n  class << self\n    def b\n      1\n    end\n  end\nend\n",
            "class << self",
        ),
    ],
)
def test_a_function_from_a_condition_is_not_inserted_without_it(
    path: str, base: str, donor: str, condition: str
) -> None:
    assert f"b is inside `{condition}`, but no symbol of {path} is." in refusal_reason(
        apply_directive(path, base, donor, "add gpt's b")
    )


def test_a_class_is_not_inserted_among_statements() -> None:
    whole = b"class Door:\n    pass\n\n\nif __name__ == '__main__':\n\n    def main():\n        Door()\n\n    main()\n"
    rest = whole.split(b"\n\n\n", 1)[1]
    result = merge_candidate_symbols("claude", {"claude": {"a.py": rest}, "gpt": {"a.py": whole}}, ["add gpt's `Door`"])
    assert b"\nclass Door:\n    pass\n" in b"\n" + result.files["a.py"]


def test_a_singleton_method_is_not_replaced_by_another_kind_of_method() -> None:
    base = "class A\n  def self.of(x)\n    1\n  end\nend\n"
    donor = "class A\n  class << self\n    def of(x)\n      2\n    end\n  end\nend\n"
    sentence = "A.of is inside `class << self` in a.rb or in the text, but not in both."
    assert refusal_reason(apply_directive("a.rb", base, donor, "replace A.of by gpt's")) == sentence


def test_a_function_does_not_replace_that_of_another_module() -> None:
    base = "fn area() -> i32 {\n    1\n}\n\nmod rooms {\n    fn door() {}\n}\n"
    donor = base.replace("    fn door() {}\n", "    fn door() {}\n\n    fn area() -> i32 {\n        2\n    }\n")
    assert merged_text(apply_directive("a.rs", base, donor, "take rooms::area from gpt")) == donor


def test_a_namespace_around_a_function_is_ignored() -> None:
    base, donor = "namespace n {\nint h() { return 1; }\n}\n", "int h() { return 2; }\n"
    assert merged_text(apply_directive("a.cpp", base, donor, "replace h by gpt's")) == base.replace("1", "2")


def test_a_helper_is_not_confused_with_a_method_of_its_name() -> None:
    base = "class Session:\n    def check(self):\n        return 1\n"
    donor = "def check(one):\n    return one\n\n\ndef purge():\n    return check(1)\n"
    result = apply_directive("a.py", base, donor, "add gpt's purge")
    assert [contribution.symbol for contribution in result.took] == ["purge", "check"]
    assert "def check(one):" in merged_text(result)


def test_a_class_named_underscore_and_an_empty_module_get_methods() -> None:
    base, donor = "class _A:\n    x = 1\n", "class _A:\n    x = 1\n\n    def b(self):\n        return 1\n"
    assert merged_text(apply_directive("a.py", base, donor, "add gpt's _A.b")) == donor
    empty, full = "module A\nend\n", "module A\n  def b\n    1\n  end\nend\n"
    assert merged_text(apply_directive("a.rb", empty, full, "add gpt's b to A")) == full


def test_code_at_the_end_of_php_is_inserted_before_the_closing_tag() -> None:
    donor = "<?php\nfunction b() { return 1; }\n\n?>\n"
    assert merged_text(apply_directive("a.php", "<?php\n?>\n", donor, "add gpt's b")) == donor


OBJECT = "const api = {\n  a() { return 1; },\n  b: () => 1\n};\n"


def test_commas_of_object_members_are_added_and_removed() -> None:
    extended = (
        "const api = {\n  first() { return 1; },\n  a() { return 1; },\n  mid() {},\n  b: () => 1,\n  c() {}\n};\n"
    )
    assert merged_text(apply_directive("a.js", OBJECT, extended, "take first, mid and c from gpt")) == extended
    assert merged_text(apply_directive("a.js", OBJECT, extended, "remove api.a")) == "const api = {\n  b: () => 1\n};\n"
    assert (
        merged_text(apply_directive("a.js", "const api = {};\n", OBJECT, "add gpt's a to api")).count(
            "a() { return 1; }"
        )
        == 1
    )


def test_methods_given_together_are_not_duplicated() -> None:
    base = b"class A {\n  b() { return 1; }\n  c() { return 1; }\n}\n"
    result = transplant_symbol(
        "a.js", base, "A.b", b"b() { return this.c() + this.d(); }\nc() { return 2; }\nd() { return 3; }"
    )
    assert isinstance(result, TransplantedSymbol)
    assert result.source.count(b"c() {") == 1
    assert result.source.count(b"d() {") == 1


def test_statements_are_not_taken_for_imports() -> None:
    base = "def a():\n    return 1\n"
    donor = f"{base}\n\nif __name__ == '__main__':\n    import sys\n\n    sys.exit(a())\n"
    result = apply_directive("a.py", base, donor, "imports from gpt")
    assert "__main__" not in result.files["a.py"].decode()


def test_nothing_is_taken_from_a_file_with_syntax_errors() -> None:
    donor = "def a():\n    return 2\n\n\ndef b(:\n"
    assert "is not valid Python" in refusal_reason(
        apply_directive("a.py", "def a():\n    return 1\n", donor, "replace a by gpt's")
    )


LISTS = {
    "a.mjs": ("function login() {}\n\n%sexport { login%s };\n", "function rollback() {}\n\n", ", rollback as undo"),
    "a.ts": ("function login() {}\n\n%sexport {\n  login,\n%s};\n", "function rollback() {}\n\n", "  rollback,\n"),
    "a.cjs": ("function login() {}\n\n%smodule.exports = { login%s };\n", "function rollback() {}\n\n", ", rollback"),
    "a.js": (
        "function login() {}\n\n%sexports.login = login;\n%s",
        "function rollback() {}\n\n",
        "exports.rollback = rollback;\n",
    ),
    "a.py": (
        '%sdef login(): ...\n\n\n__all__ = ["login"%s]\n',
        "def rollback(): ...\n\n\n",
        ', "rollback"',
    ),
}


@pytest.mark.parametrize("path", LISTS)
def test_a_new_function_is_added_to_the_export_list(path: str) -> None:
    whole, function, entry = LISTS[path]
    base, donor = whole % ("", ""), whole % (function, entry)
    assert merged_text(apply_directive(path, base, donor, "add gpt's rollback")) == donor
    inside = whole % (function, "")
    assert merged_text(apply_directive(path, base, inside, "add gpt's rollback")) == inside


@pytest.mark.parametrize(
    ("path", "base", "donor"),
    [
        ("a.mjs", "export function login() {}\n", "function login() {}\nfunction undo() {}\nexport { login, undo };\n"),
        (
            "a.cjs",
            "module.exports = { login };\n\nfunction login() {}\n",
            "function login() {}\n\nconst undo = () => 1;\n\nmodule.exports = { login, undo };\n",
        ),
        ("a.py", "__all__ = []\n", '__all__ = ["undo"]\n\n\ndef undo(): ...\n'),
    ],
)
def test_a_new_function_that_cannot_be_exported_is_reported(path: str, base: str, donor: str) -> None:
    result = apply_directive(path, base, donor, "add gpt's undo")
    assert result.took[0].symbol == "undo"
    assert [refusal_sentences(directive.refused) for directive in result.left] == [
        f"undo is exported in the file it comes from, but not in {path}."
    ]


def test_a_python_module_without_an_export_list_needs_none() -> None:
    donor = '__all__ = ["undo"]\n\n\ndef undo(): ...\n'
    assert "__all__" not in merged_text(apply_directive("a.py", "LIMIT = 1\n", donor, "add gpt's undo"))
