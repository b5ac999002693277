"""Where a new function is put, it means what it meant where it came from; else it is left, with the reason."""

from __future__ import annotations

import pytest

from roundtable.workshop.symbols.synthesis import synthesize_candidates
from roundtable.workshop.symbols.transplant import TransplantedSymbol, transplant_symbol
from tests.workshop.test_told_apart import held, text_of, why


def test_a_new_method_is_seen_by_those_who_saw_it() -> None:
    base = "class A\n  private\n\n  def a\n    1\n  end\nend\n"
    donor = "class A\n  def b\n    1\n  end\n\n  private\n\n  def a\n    1\n  end\nend\n"
    assert text_of(held("a.rb", base, donor, "add gpt's b")) == donor
    hidden = "class A {\npublic:\n  int a() { return 1; }\n\nprivate:\n};\n"
    full = "class A {\npublic:\n  int a() { return 1; }\n\nprivate:\n  int b() { return 1; }\n};\n"
    assert text_of(held("a.cpp", hidden, full, "add gpt's b")) == full


def test_a_function_given_without_its_class_is_for_all_to_see() -> None:
    base = b"class A {\npublic:\n  int a() { return 1; }\n\nprivate:\n  int c() { return 1; }\n};\n"
    made = transplant_symbol("a.cpp", base, "A::b", b"int b() { return 2; }")
    assert isinstance(made, TransplantedSymbol)
    assert made.source.index(b"int b()") < made.source.index(b"private:")


def test_a_new_function_is_not_put_under_its_neighbours_condition() -> None:
    home = "#ifdef WINDOWS\nint home(void) { return 1; }\n#endif\n"
    base, after = f"int a(void) {{ return 1; }}\n\n{home}", "int b(void) { return 1; }\n"
    made = text_of(held("a.c", base, f"{base}\n{after}", "add gpt's b"))
    assert home in made
    assert after in made.replace(home, "")


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
def test_a_function_that_stood_under_a_condition_is_not_put_in_without(
    path: str, base: str, donor: str, condition: str
) -> None:
    assert f"b is inside `{condition}`, and nothing in {path} is." in why(held(path, base, donor, "add gpt's b"))


def test_a_class_is_not_put_among_what_a_file_does_when_it_is_run() -> None:
    whole = b"class Door:\n    pass\n\n\nif __name__ == '__main__':\n\n    def main():\n        Door()\n\n    main()\n"
    rest = whole.split(b"\n\n\n", 1)[1]
    made = synthesize_candidates("claude", {"claude": {"a.py": rest}, "gpt": {"a.py": whole}}, ["add gpt's `Door`"])
    assert b"\nclass Door:\n    pass\n" in b"\n" + made.files["a.py"]


def test_a_method_of_the_class_itself_is_not_exchanged_for_one_that_is_written_otherwise() -> None:
    base = "class A\n  def self.of(x)\n    1\n  end\nend\n"
    donor = "class A\n  class << self\n    def of(x)\n      2\n    end\n  end\nend\n"
    said = "Of a.rb and the text only one has A.of in `class << self`."
    assert why(held("a.rb", base, donor, "replace A.of by gpt's")) == said


def test_a_function_of_a_module_does_not_take_the_place_of_another() -> None:
    base = "fn area() -> i32 {\n    1\n}\n\nmod rooms {\n    fn door() {}\n}\n"
    donor = base.replace("    fn door() {}\n", "    fn door() {}\n\n    fn area() -> i32 {\n        2\n    }\n")
    assert text_of(held("a.rs", base, donor, "take rooms::area from gpt")) == donor


def test_a_namespace_around_it_makes_no_other_function() -> None:
    base, donor = "namespace n {\nint h() { return 1; }\n}\n", "int h() { return 2; }\n"
    assert text_of(held("a.cpp", base, donor, "replace h by gpt's")) == base.replace("1", "2")


def test_a_helper_is_not_taken_for_the_method_of_its_name() -> None:
    base = "class Session:\n    def check(self):\n        return 1\n"
    donor = "def check(one):\n    return one\n\n\ndef purge():\n    return check(1)\n"
    made = held("a.py", base, donor, "add gpt's purge")
    assert [it.symbol for it in made.took] == ["purge", "check"]
    assert "def check(one):" in text_of(made)


def test_a_class_with_an_underscore_and_an_empty_module_get_their_methods() -> None:
    base, donor = "class _A:\n    x = 1\n", "class _A:\n    x = 1\n\n    def b(self):\n        return 1\n"
    assert text_of(held("a.py", base, donor, "add gpt's _A.b")) == donor
    empty, full = "module A\nend\n", "module A\n  def b\n    1\n  end\nend\n"
    assert text_of(held("a.rb", empty, full, "add gpt's b to A")) == full


def test_what_comes_last_in_php_comes_before_its_closing_tag() -> None:
    donor = "<?php\nfunction b() { return 1; }\n\n?>\n"
    assert text_of(held("a.php", "<?php\n?>\n", donor, "add gpt's b")) == donor


OBJECT = "const api = {\n  a() { return 1; },\n  b: () => 1\n};\n"


def test_what_comes_into_an_object_has_its_comma_and_what_goes_takes_it_along() -> None:
    more = "const api = {\n  first() { return 1; },\n  a() { return 1; },\n  mid() {},\n  b: () => 1,\n  c() {}\n};\n"
    assert text_of(held("a.js", OBJECT, more, "take first, mid and c from gpt")) == more
    assert text_of(held("a.js", OBJECT, more, "remove api.a")) == "const api = {\n  b: () => 1\n};\n"
    assert text_of(held("a.js", "const api = {};\n", OBJECT, "add gpt's a to api")).count("a() { return 1; }") == 1


def test_methods_given_together_do_not_double_what_their_class_has() -> None:
    base = b"class A {\n  b() { return 1; }\n  c() { return 1; }\n}\n"
    made = transplant_symbol(
        "a.js", base, "A.b", b"b() { return this.c() + this.d(); }\nc() { return 2; }\nd() { return 3; }"
    )
    assert isinstance(made, TransplantedSymbol)
    assert made.source.count(b"c() {") == 1
    assert made.source.count(b"d() {") == 1


def test_what_a_file_does_when_it_is_run_is_no_import() -> None:
    base = "def a():\n    return 1\n"
    donor = f"{base}\n\nif __name__ == '__main__':\n    import sys\n\n    sys.exit(a())\n"
    made = held("a.py", base, donor, "imports from gpt")
    assert "__main__" not in made.files["a.py"].decode()


def test_nothing_is_taken_out_of_a_file_that_does_not_parse() -> None:
    donor = "def a():\n    return 2\n\n\ndef b(:\n"
    assert "is not valid Python" in why(held("a.py", "def a():\n    return 1\n", donor, "replace a by gpt's"))


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
def test_a_new_function_can_be_had_by_those_who_could_have_it(path: str) -> None:
    whole, function, entry = LISTS[path]
    base, donor = whole % ("", ""), whole % (function, entry)
    assert text_of(held(path, base, donor, "add gpt's rollback")) == donor
    inside = whole % (function, "")
    assert text_of(held(path, base, inside, "add gpt's rollback")) == inside


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
def test_that_nobody_can_have_a_new_function_is_said(path: str, base: str, donor: str) -> None:
    made = held(path, base, donor, "add gpt's undo")
    assert made.took[0].symbol == "undo"
    assert [it.why for it in made.left] == [f"undo is exported in its own file, but not in {path}."]


def test_without_a_list_all_of_a_python_module_can_be_had() -> None:
    donor = '__all__ = ["undo"]\n\n\ndef undo(): ...\n'
    assert "__all__" not in text_of(held("a.py", "LIMIT = 1\n", donor, "add gpt's undo"))
