"""The examples in a person's own words become runnable tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from roundtable.workshop.trial.task_examples import (
    TaskExample,
    extract_trial_examples_from_task,
    has_trial_example_calls,
    render_trial_example_unittest,
)


@pytest.mark.parametrize(
    ("said", "examples"),
    [
        ("median([1, 2, 3, 4]) must be 2.5, the mean", [TaskExample("median([1, 2, 3, 4])", "2.5")]),
        ("so `slugify('A b')` should return `'a-b'`.", [TaskExample("slugify('A b')", "'a-b'")]),
        (
            "find([1], 1) must be 0 and find([1, 3], 3) must be 1, and both are -1.",
            [TaskExample("find([1], 1)", "0"), TaskExample("find([1, 3], 3)", "1")],
        ),
        ("merge([(1, 3), (2, 4)]) is [(1, 4)].", [TaskExample("merge([(1, 3), (2, 4)])", "[(1, 4)]")]),
        ("cents(-50) is '-$0.50'. Then", [TaskExample("cents(-50)", "'-$0.50'")]),
        ("to_roman(0) raises ValueError.", [TaskExample("to_roman(0)", raises="ValueError")]),
        ("is_leap_year(1900) must be False", [TaskExample("is_leap_year(1900)", "False")]),
        ("count('a) b') == {'a': 1}", [TaskExample("count('a) b')", "{'a': 1}")]),
        (
            "f(1) is 2 but f(2) must be 3 too, f(3) is 4 (one more)",
            [TaskExample(f"f({number})", f"{number + 1}") for number in (1, 2, 3)],
        ),
        (
            "f(1) must be 2, not 3\nf(2) is 3 instead of 2\nf(3) == 4  # one more",
            [TaskExample(f"f({number})", f"{number + 1}") for number in (1, 2, 3)],
        ),
        (
            'It says "so f(1) is 2" – **f(2)** is **3** – f(3) is 4 as before',
            [TaskExample(f"f({number})", f"{number + 1}") for number in (1, 2, 3)],
        ),
        # Where one function of one parameter is spoken of, values alone say enough.
        (
            "Add parse(text) to a.py. It returns a float: '20C' is 20.0, `'68F'` is 20.0. Else it raises ValueError.",
            [TaskExample("parse('20C')", "20.0"), TaskExample("parse('68F')", "20.0")],
        ),
        (
            "to_roman(number) writes a numeral, such as 'MCMXCIV' for 1994.",
            [TaskExample("to_roman(1994)", "'MCMXCIV'")],
        ),
        (
            "total(items) adds up; [] gives 0 and [1, 2] gives 3.",
            [TaskExample("total([])", "0"), TaskExample("total([1, 2])", "3")],
        ),
        ("Write parse(text) and join(text): 'a b' is 'a-b'.", []),
        ("Write join(one, other): 'a b' is 'a-b'.", []),
        ("Make f(x) faster. Version 3 is 2 now.", []),
        ("Make f(x) faster: 'a' is 2 times slower.", []),
        ("f(x) looks for 'a' for 3 seconds.", []),
        ("Add active(users). It returns the users whose 'state' is 'on', in order.", []),
        ("Add counted(events): only events where 'type' is 'click' and 'user' is 'ann'.", []),
        ("Make load(path) speak: if 'debug' is True, it logs.", []),
        ("parse(line) reads fields. Field 0 is 'id' and field 1 is 'name'.", []),
        ("greet(name) is out of date. The default greeting 'Hi' becomes 'Hello'.", []),
        ("Add a method to_celsius(text) to Thermometer: '68F' is 20.0.", []),
        ("Mend self.f(x): 'a' is 'b'.", []),
        ("double(x) of 'a' is 'aa', so double('b') is 'bb'.", [TaskExample("double('b')", "'bb'")]),
        ("last([]) returns None if the list is empty.", [TaskExample("last([])", "None")]),
        ("even(2) must be True for every even number", [TaskExample("even(2)", "True")]),
        # What is no example, or none that can be read for certain.
        ("median() in stats.py is wrong", []),
        ("median([1, 2]) is wrong", []),
        ("add(a, b) returns the sum", []),
        ("grow(10) returns 5% more", []),
        ("ratio(1, 3) is 1/3.", []),
        ("power(3) is 2**3, scale(2) is 2 * factor and turned(3) is [0, 1, 2][::-1]", []),
        ("area(3) == 4 + 5 = 9", []),
        ("count('a b') is 1 too high", []),
        ("chunks([1, 2, 3], 2) should return 2 lists", []),
        ("greet('Bob') returns 'Hello, ' followed by the name", []),
        ("parse('1') returns 1 or None", []),
        ("dice(6) returns 1 to 6, coin(2) is 1–2", []),
        ('longest([\'a\']) == ""a"', []),
        ("open(x) is 1", []),
        ("f(1) is 2, but f(1) must be 3", []),
        ("f(1 is 2", []),
        ("a call f(1) and is 3", []),
        ("", []),
    ],
)
def test_an_example_is_a_call_with_a_stated_result(said: str, examples: list[TaskExample]) -> None:
    assert list(extract_trial_examples_from_task(said)) == examples


@pytest.mark.parametrize(
    "pasted",
    [
        "2026-11-17 12:00:01 GET [a] (b) 'c' is 3,\n",
        '{"a": [1, 2], "b": "c"},\n',
        "( x ",
        "f( x ",
        ": '",
        "'a' is 'b',\n",
    ],
)
def test_pasted_data_is_parsed_quickly(pasted: str) -> None:
    extract_trial_examples_from_task("Mend f(x), which logs:\n" + pasted * 20_000)
    extract_trial_examples_from_task(f"f(x): ({'-' * 900}1) is 2.")


def test_examples_pass_for_a_right_program_and_fail_for_a_wrong_one(tmp_path: Path) -> None:
    examples = extract_trial_examples_from_task(
        "double(2) must be 4, double('a') is 'aa' and double(None) raises TypeError"
    )
    assert len(examples) == 3
    (tmp_path / "kit.py").write_text("def double(it):\n    return it * 2\n")
    (tmp_path / "test_examples.py").write_text(render_trial_example_unittest(examples, ["kit"]))
    run = [sys.executable, "-m", "unittest", "-q", "test_examples"]
    assert subprocess.run(run, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "kit.py").write_text("def double(it):\n    return it + it if it != 'a' else 'a'\n")
    failed = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "test_example_2" in failed.stderr
    assert "failures=1" in failed.stderr


def test_floats_in_examples_are_compared_approximately(tmp_path: Path) -> None:
    text = (
        "it(1) is 0.3",
        "it(2) is [0.3, (1, {'a': 0.3})]",
        "it(3) is 0.0",
        "it(4) is 3.0",
        "it(5) is 3",
        "it(6) is [0.3]",
    )
    values = ("0.1 + 0.2", "[0.1 + 0.2, (1, {'a': 0.1 + 0.2})]", "0.1 + 0.2 - 0.3", "3", "3.0000000000000004", "(0.3,)")
    (tmp_path / "kit.py").write_text(f"def it(n):\n    return [{', '.join(values)}][n - 1]\n")
    (tmp_path / "test_examples.py").write_text(
        render_trial_example_unittest(extract_trial_examples_from_task(", ".join(text)), ["kit"])
    )
    run = [sys.executable, "-m", "unittest", "-q", "test_examples"]
    failed = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "failures=2" in failed.stderr
    assert "it(5) must be 3, but it returned 3.0000000000000004." in failed.stderr
    assert "it(6) must be [0.3], but it returned (0.3,)." in failed.stderr


def test_a_call_resolves_when_module_and_function_share_a_name(tmp_path: Path) -> None:
    examples = extract_trial_examples_from_task(
        "double(2) must be 4, double.double(3) is 6 and kit.double.double(4) is 8"
    )
    assert [example.owner for example in examples] == ["", "double", "kit.double"]
    (tmp_path / "kit").mkdir()
    for name in ("double.py", "kit/double.py"):
        (tmp_path / name).write_text("def double(it):\n    return it * 2\n")
    (tmp_path / "test_examples.py").write_text(render_trial_example_unittest(examples, ["double", "kit.double"]))
    run = [sys.executable, "-m", "unittest", "-q", "test_examples"]
    assert subprocess.run(run, cwd=tmp_path, capture_output=True, check=False).returncode == 0


def test_only_calls_count_as_call_examples() -> None:
    assert has_trial_example_calls("Add parse(text): parse('20C') is 20.0")
    assert not has_trial_example_calls("Add parse(text): '20C' is 20.0")
