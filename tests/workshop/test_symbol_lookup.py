"""Several symbols of one name in a file: a directive names one, and only that one is taken."""

from __future__ import annotations

import pytest

from roundtable.report.refusals import refusal_sentences
from roundtable.workshop.symbols.outline import Outline, parse_source_outline
from roundtable.workshop.symbols.synthesis import SynthesizedFiles, merge_candidate_symbols
from tests.workshop.corpus import FIXTURES
from tests.workshop.variants import make_variant


def apply_directive(path: str, base: str, gpt: str, directive: str) -> SynthesizedFiles:
    """Apply one directive to Claude's file."""
    return merge_candidate_symbols(
        "claude", {"claude": {path: base.encode()}, "gpt": {path: gpt.encode()}}, [directive]
    )


def merged_text(result: SynthesizedFiles) -> str:
    """Return the one file of a synthesis that applied everything."""
    assert result.left == ()
    (text,) = result.files.values()
    return text.decode()


def refusal_reason(result: SynthesizedFiles) -> str:
    """Return why the only directive was not applied; nothing may be taken."""
    assert result.took == ()
    assert len(result.left) == 1
    return refusal_sentences(result.left[0].refused)


CONSTRUCTORS = (
    ("Shapes.java", "Shapes.Round.Round"),
    ("Shapes.java", "Shapes.Round.Shapes.Shapes"),
    ("Shapes.java", "Shapes.Point.Point"),
    ("shapes.cs", "Line.Line"),
    ("shapes.cs", "Point.Point"),
    ("shapes.cpp", "house.rooms.Shape.Corner.Corner"),
    ("shapes.cpp", "house.rooms.Room.Room"),
    ("shapes.php", "Round.__construct"),
    ("shapes.js", "Shape.constructor"),
    ("shapes.ts", "rooms.Room.constructor"),
    ("shapes.tsx", "Old.constructor"),
    ("shapes.rb", "House.Room.initialize"),
)


@pytest.mark.feature("S0.20")
@pytest.mark.parametrize(("path", "name"), CONSTRUCTORS)
def test_a_constructor_is_taken_without_its_class(path: str, name: str) -> None:
    source = (FIXTURES / "shapes" / path).read_bytes()
    file = parse_source_outline(path, source)
    assert isinstance(file, Outline)
    symbol = next(candidate for candidate in file.symbols if candidate.name == name and make_variant(file, candidate))
    donor = source.replace(file.symbol_text(symbol), make_variant(file, symbol) or b"")
    assert donor != source
    owner = name.rpartition(".")[0]
    for directive in (f"replace `{name}` by gpt's", f"replace the constructor of `{owner}` by gpt's"):
        result = merge_candidate_symbols("claude", {"claude": {path: source}, "gpt": {path: donor}}, [directive])
        assert result.left == ()
        assert result.files[path] == donor
        assert [contribution.symbol for contribution in result.took] == [name]


def test_a_class_inside_a_class_of_its_name_is_different() -> None:
    base = "class A:\n    class A:\n        x = 1\n\n    def __init__(self):\n        self.y = 1\n"
    assert merged_text(apply_directive("a.py", base, base.replace("1", "2"), "replace A.A by gpt's")) == base.replace(
        "x = 1", "x = 2"
    )
    result = apply_directive("a.py", base, base.replace("1", "2"), "use gpt's constructor of A")
    assert merged_text(result) == base.replace("y = 1", "y = 2")


def test_a_missing_constructor_is_not_the_class() -> None:
    base = "class Door {\n    Door() { n = 1; }\n    int n;\n}\n"
    bare = "class Door {\n    int n;\n}\n"
    assert (
        refusal_reason(apply_directive("Door.java", base, bare, "replace Door.Door by gpt's"))
        == "gpt has no Door.Door in any file."
    )
    assert (
        refusal_reason(apply_directive("Door.java", bare, bare, "replace Door.Door by gpt's"))
        == "gpt has no Door.Door in any file."
    )
    added = apply_directive("Door.java", bare, base, "take Door.Door from gpt")
    assert "Door() { n = 1; }" in merged_text(added)


BOTH = "def run():\n    return 1\n\n\nclass Server:\n    def run(self):\n        return 1\n"
OURS = BOTH.replace("1", "2")


@pytest.mark.parametrize(
    "said",
    [
        "replace run by gpt's",
        "replace app.run by gpt's",
        "app.py: run from gpt",
        "replace app.py::run by gpt's",
        "take `src/app.py::run` from gpt",
        "replace ::run by gpt's",
        "replace run() by gpt's",
        "replace the function run by gpt's",
    ],
)
def test_a_bare_name_is_the_function_and_not_the_method(said: str) -> None:
    assert merged_text(apply_directive("src/app.py", BOTH, OURS, said)) == BOTH.replace("return 1", "return 2", 1)


@pytest.mark.parametrize("said", ["Server.run from gpt", "replace the method run by gpt's", "add gpt's run to Server"])
def test_a_method_is_named_by_its_class_or_by_being_one(said: str) -> None:
    result = apply_directive("src/app.py", BOTH, OURS, said)
    assert merged_text(result) == BOTH.replace("self):\n        return 1", "self):\n        return 2")


def test_a_go_function_is_not_the_method_of_its_name() -> None:
    base = "package a\n\ntype S struct{}\n\nfunc (s *S) Login() {\n}\n\nfunc Login() {\n}\n"
    donor = base.replace("func Login() {\n", "func Login() {\n\tpanic(1)\n")
    assert merged_text(apply_directive("a.go", base, donor, "replace Login by gpt's")) == donor


def test_a_bare_name_is_not_matched_to_a_method_of_the_base() -> None:
    base = BOTH[BOTH.index("class") :]
    assert (
        refusal_reason(apply_directive("app.py", base, OURS, "replace run by gpt's"))
        == "run is Server.run in the base, but run in gpt's app.py."
    )
    added = merged_text(apply_directive("app.py", base, OURS, "add gpt's run"))
    assert added == f"def run():\n    return 2\n\n\n{base}"


@pytest.mark.parametrize(
    ("base", "gpt"),
    [
        ("login = 1\n", "def login():\n    return 2\n"),
        ("class login: ...\n", "def login():\n    return 2\n"),
        ("def login():\n    return 1\n", "class login: ...\n"),
    ],
)
def test_a_symbol_of_another_kind_is_refused(base: str, gpt: str) -> None:
    directive = refusal_reason(apply_directive("a.py", base, gpt, "replace login by gpt's"))
    assert directive.startswith("login is a ")
    assert " in a.py, but login is a " in directive


RUBY = """class A
  def login?(user)
    1
  end

  def save!
    1
  end

  def save
    1
  end

  def []=(key, value)
    1
  end

  def <=>(other)
    1
  end

  def name=(value)
    1
  end
end
"""
CPP = """struct A {
  bool operator==(const A& o) const { return 1; }
  bool operator<(const A& o) const { return 1; }
  int operator()(int a) { return 1; }
  int operator[](int a) { return 1; }
  A* operator->() { return 1; }
  operator bool() const { return 1; }
};
"""
CSHARP = """class A {
    public static A operator +(A a, A b) { return 1; }
    public int this[int i] { get { return 1; } }
    ~A() { x = 1; }
    A() { x = 1; }
}
"""
SCRIPT = """export const api = {
  login(user) { return 1; },
  out: () => 1,
  inner: { deep: function () { return 1; } },
};

const store = createStore({ mutations: { add(state) { return 1; } } });

module.exports = {
  start() { return 1; },
};

export default {
  methods: { close() { return 1; } },
};
"""


@pytest.mark.parametrize(
    ("path", "source", "name", "line"),
    [
        ("a.rb", RUBY, "login?", "def login?(user)"),
        ("a.rb", RUBY, "A#login?", "def login?(user)"),
        ("a.rb", RUBY, "save!", "def save!"),
        ("a.rb", RUBY, "save", "def save\n"),
        ("a.rb", RUBY, "[]=", "def []=(key, value)"),
        ("a.rb", RUBY, "A#[]=", "def []=(key, value)"),
        ("a.rb", RUBY, "A.<=>", "def <=>(other)"),
        ("a.rb", RUBY, "<=>", "def <=>(other)"),
        ("a.rb", RUBY, "name=", "def name=(value)"),
        ("a.cpp", CPP, "operator==", "operator=="),
        ("a.cpp", CPP, "A::operator<", "operator<"),
        ("a.cpp", CPP, "A::operator()", "operator()"),
        ("a.cpp", CPP, "A::operator()(int)", "operator()"),
        ("a.cpp", CPP, "operator []", "operator[]"),
        ("a.cpp", CPP, "A::operator->", "operator->"),
        ("a.cpp", CPP, "`A::operator bool`", "operator bool"),
        ("a.cs", CSHARP, "A.operator+", "operator +"),
        ("a.cs", CSHARP, "A.this", "this[int i]"),
        ("a.cs", CSHARP, "A.~A", "~A()"),
        ("a.cs", CSHARP, "A.A", "    A()"),
        ("a.js", SCRIPT, "api.login", "login(user)"),
        ("a.js", SCRIPT, "out", "out:"),
        ("a.js", SCRIPT, "api.inner.deep", "deep:"),
        ("a.js", SCRIPT, "store.mutations.add", "add(state)"),
        ("a.js", SCRIPT, "module.exports.start", "start()"),
        ("a.js", SCRIPT, "close", "close()"),
    ],
)
def test_operator_names_and_functions_in_objects_are_understood(path: str, source: str, name: str, line: str) -> None:
    before, found, after = source.partition(line)
    donor = before + found + after.replace("1", "2", 1)
    assert merged_text(apply_directive(path, source, source.replace("1", "2"), f"replace {name} by gpt's")) == donor


OVERLOADS = (
    "class A {\n    int f(int a) { return 1; }\n    int f(String a) { return 1; }\n    int f() { return 1; }\n}\n"
)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("A.f(int)", "f(int a)"),
        ("A.f(String a)", "f(String a)"),
        ("f()", "f()"),
        ("the method f(String)", "f(String a)"),
    ],
)
def test_one_overload_is_taken_without_warnings_about_others(said: str, line: str) -> None:
    result = apply_directive("A.java", OVERLOADS, OVERLOADS.replace("1", "2"), f"replace {said} by gpt's")
    assert merged_text(result) == OVERLOADS.replace(f"{line} {{ return 1", f"{line} {{ return 2")


def test_a_missing_overload_is_reported() -> None:
    base = "class A {\n    int f(int a) { return 1; }\n}\n"
    donor = 'class A {\n    int f(int a) { return f("x"); }\n    int f(String a) { return 1; }\n}\n'
    result = apply_directive("A.java", base, donor, "replace A.f(int) by gpt's")
    assert [contribution.symbol for contribution in result.took] == ["A.f"]
    assert "The new code expects `int f(String a)`" in refusal_sentences(result.left[0].refused)


def test_types_with_commas_and_annotations_distinguish_overloads() -> None:
    base = (
        "class A {\n    int f(@Nullable Map<String, List<Integer>> a, final int b) { return 1; }\n"
        "    int f(Map<String, Integer> a, int b) { return 1; }\n}\n"
    )
    result = apply_directive(
        "A.java", base, base.replace("1", "2"), "replace A.f(Map<String, List<Integer>>, int) by gpt's"
    )
    assert merged_text(result) == base.replace("return 1", "return 2", 1)


def test_in_languages_without_overloads_parameters_are_ignored() -> None:
    base, donor = "def login(user, word):\n    return 1\n", "def login(name, word, *, slow=False):\n    return 2\n"
    assert merged_text(apply_directive("a.py", base, donor, "replace login(user, word) by gpt's")) == donor


@pytest.mark.parametrize("path", ["a.c", "a.cpp"])
def test_prototypes_follow_a_changed_signature(path: str) -> None:
    whole = (
        "static int add({0});\nint two(int a);\n\nint one(void) {{ return add(1); }}\n\nstatic int add({0}) {{ {1} }}\n"
    )
    base, donor = whole.format("int a", "return a;"), whole.format("long a", "return 2 * (int) a;")
    assert merged_text(apply_directive(path, base, donor, "replace add by gpt's")) == donor
    longer = base.replace("static int add", "static long add")
    assert merged_text(apply_directive(path, base, longer, "replace add by gpt's")) == longer
    undeclared = donor.replace("static int add(long a);\n", "")
    result = apply_directive(path, base, undeclared, "replace add by gpt's")
    assert result.took[0].symbol == "add"
    assert [refusal_sentences(directive.refused) for directive in result.left] == [
        f"{path} still declares `add` as `static int add(int a);`."
    ]
    named = undeclared.replace("long a", "int b")
    assert "static int add(int a);" in merged_text(apply_directive(path, base, named, "replace add by gpt's"))


def test_a_declaration_in_the_class_follows_a_changed_signature() -> None:
    whole = "class A {{\n  int f({0});\n  int g(char c);\n}};\n\nint A::f({0}) {{ return 1; }}\n"
    base, donor = whole.format("int a"), whole.format("long a")
    assert merged_text(apply_directive("a.cpp", base, donor, "replace A::f by gpt's")) == donor
