"""Unrequested removals and changes in a new version of a file are reverted; requested ones stay."""

from __future__ import annotations

import pytest

from roundtable.workshop.symbols.revert_edits import RevertedEdits, revert_unrelated_symbol_edits
from roundtable.workshop.symbols.syntax_trees import find_first_syntax_error

STACK = b'''"""A stack."""

import sys

LIMIT = 3


class Stack:
    """Last in, first out."""

    def __init__(self):
        self._items = []

    def push(self, item):
        """Put an item on top."""
        self._items.append(item)

    def __len__(self):
        return len(self._items)


def told(stack):
    print(len(stack), file=sys.stderr)
'''
PEEK = b"""
    def peek(self):
        return self._items[-1]
"""


def test_a_forgotten_method_is_restored_in_its_class() -> None:
    forgotten = b"    def __len__(self):\n        return len(self._items)\n"
    result = revert_unrelated_symbol_edits(
        "stack.py", STACK, STACK.replace(forgotten, PEEK.lstrip(b"\n")), {"peek", "Stack"}, changed=False
    )
    assert result.symbols == ("Stack.__len__",)
    assert forgotten in result.source
    assert PEEK in result.source
    assert find_first_syntax_error("stack.py", result.source) is None


def test_an_unrelated_change_is_reverted_and_the_requested_one_kept() -> None:
    after = STACK.replace(b"LIMIT = 3", b"LIMIT = 4").replace(b"append(item)", b"insert(0, item)")
    after = after.replace(b"file=sys.stderr", b"flush=True")
    result = revert_unrelated_symbol_edits("stack.py", STACK, after, {"push"}, changed=True)
    assert result.symbols == ("LIMIT", "told")
    assert result.source == STACK.replace(b"append(item)", b"insert(0, item)")
    assert revert_unrelated_symbol_edits("stack.py", STACK, after, {"push"}, changed=False) == RevertedEdits(
        after, ()
    ), "nothing was lost"


def test_a_change_that_uses_something_new_is_kept() -> None:
    after = STACK.replace(b"LIMIT = 3", b"LIMIT = 4").replace(b"append(item)", b"append(checked(item))")
    after = after.replace(b"def told(stack):", b"def told(stack, checked=True):")
    after += b"\n\ndef checked(item):\n    return item\n"
    result = revert_unrelated_symbol_edits("stack.py", STACK, after, {"stack"}, {"checked"}, changed=True)
    assert result == RevertedEdits(after.replace(b"LIMIT = 4", b"LIMIT = 3"), ("LIMIT",))
    used = STACK.replace(b"(stack):", b"(checked):").replace(b"len(stack)", b"len(checked)")
    garbled = used.replace(b"stderr", b"stdout")
    result = revert_unrelated_symbol_edits("stack.py", used, garbled, {"push"}, {"checked"}, changed=True)
    assert result == RevertedEdits(used, ("told",)), "it used such a name before"


def test_a_restored_symbol_brings_its_dependencies() -> None:
    result = revert_unrelated_symbol_edits(
        "stack.py", STACK, b'"""A stack."""\n\n\ndef peek(stack):\n    return stack[-1]\n', {"peek"}, changed=False
    )
    assert result.symbols == ("LIMIT", "Stack", "told")
    assert b"import sys" in result.source
    assert b"def peek(stack):" in result.source
    assert find_first_syntax_error("stack.py", result.source) is None


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("stack.py", STACK, STACK + b"\n\ndef peek(stack):\n    return stack[-1]\n"),
        ("notes.md", b"# One\n", b"# Two\n"),
        ("stack.py", b"def f(:\n", b"def g(:\n"),
        ("stack.py", b"def getSize(s):\n    return len(s)\n", b"def get_size(s):\n    return len(s)\n"),
        ("stack.py", b"def size(s):\n    return len(s)\n", b"from sizes import size\n"),
        (
            "A.java",
            b"class A { int f(int x) { return 1; } int f(String x) { return 2; } }\n",
            b"class A { int f(int x) { return 1; } }\n",
        ),
        ("stack.py", b"X = [1]\nX = X + [2]\n", b"X = [1]\n"),
        ("stack.py", STACK, STACK.replace(b"\n", b"\r\n")),
    ],
    ids=["nothing was lost", "no language", "broken", "renamed", "imported", "overloads", "twice", "line ends"],
)
def test_other_changes_are_kept(path: str, before: bytes, after: bytes) -> None:
    assert revert_unrelated_symbol_edits(path, before, after, {"peek"}, changed=True) == RevertedEdits(after, ())


@pytest.mark.parametrize(
    ("path", "kept", "asked"),
    [
        ("a.js", b"function kept(x) {\n  return x + 1;\n}\n", b"function asked(x) {\n  return x;\n}\n"),
        ("a.ts", b"export const kept = (x: number) => x + 1;\n", b"export function asked(): void {}\n"),
        ("a.go", b"func kept(x int) int {\n\treturn x + 1\n}\n", b"func asked() int {\n\treturn 1\n}\n"),
        ("a.rs", b"fn kept(x: i32) -> i32 {\n    x + 1\n}\n", b"fn asked() -> i32 {\n    1\n}\n"),
        ("a.rb", b"def kept(x)\n  x + 1\nend\n", b"def asked\n  1\nend\n"),
    ],
)
def test_unrelated_edits_are_reverted_in_other_languages(path: str, kept: bytes, asked: bytes) -> None:
    head = b"package a\n\n" if path.endswith(".go") else b""
    result = revert_unrelated_symbol_edits(
        path, head + kept, head + kept.replace(b"+ 1", b"+ 2") + b"\n" + asked, {"asked"}, changed=True
    )
    assert result == RevertedEdits(head + kept + b"\n" + asked, ("kept",))
    result = revert_unrelated_symbol_edits(path, head + kept, head + asked, {"asked"}, changed=True)
    assert result.symbols == ("kept",)
    assert kept.rstrip() in result.source
    assert asked.rstrip() in result.source
