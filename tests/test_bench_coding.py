"""How the code bench reads its data and what its methods make of small cases; its figures are its own business."""

from __future__ import annotations

import pytest
from bench.coding.__main__ import DUAL, MIXED, OURS, bounds, failures, scored, table
from bench.coding.methods import METHODS, dual_agreement, executed_judgement, most_common, textual_vote
from bench.coding.problems import asserts, body, examples
from bench.coding.running import Costs, Sample, Seen, normal

from roundtable.core.candidate_reasons import CallOutcome


def sample(text: str, tests: str, outputs: str = "", examples: str = "", *, right: bool = False) -> Sample:
    """A sample by the tests it passes (`+` or `-`), the characters that come out of it, and the examples it passes."""
    return Sample(
        text=text,
        tests=tuple(test == "+" for test in tests),
        examples=tuple(example == "+" for example in examples),
        inputs={str(number): CallOutcome("value", output) for number, output in enumerate(outputs)},
        example_inputs={},
        right=right,
    )


def test_a_sample_ends_at_its_first_line_that_is_not_indented() -> None:
    assert body("    return 1\n\n    # end\nprint(2)\n    return 3\n") == "    return 1\n\n    # end\n"


def test_only_whole_assertions_about_the_function_are_tests() -> None:
    text = " f(1) == 2, 'one'\nassert g(1)\nassert f([1,\n  2]) == 3\nassert f(9) ==\n"
    assert list(asserts(text, "f")) == ["assert f(1) == 2, 'one'", "assert f([1,\n  2]) == 3"]


def test_examples_are_read_from_doctests_and_from_plain_words() -> None:
    prompt = 'def f(n):\n    """Twice.\n    >>> f(2) # two\n    4\n\n    f(3) ➞ 6\n    f(5) = 10\n    f(n)\n    """\n'
    assert list(examples(prompt, "f")) == ["assert f(2) == 4", "assert f(3) == 6", "assert f(5) == 10"]


def test_layout_and_comments_do_not_make_a_different_solution() -> None:
    assert normal("def f( x ):\n  return x # same\n") == normal("def f(x):\n    return x\n")
    assert normal("def f(:\n") == ""


def test_a_textual_vote_takes_the_most_common_valid_solution() -> None:
    samples = [sample("", ""), sample("", ""), sample("", ""), sample("a", ""), sample("b", ""), sample("b", "")]
    assert [sample.text for sample in most_common(samples)] == ["b", "b"]


def test_dual_agreement_weighs_a_group_by_its_size_times_the_tests_it_passes() -> None:
    samples = [sample("a", "++-"), sample("b", "++-"), sample("c", "+++"), sample("d", "---"), sample("e", "---")]
    assert [sample.text for sample in dual_agreement(samples, False)] == ["a", "b"]


def test_examples_outweigh_every_other_criterion() -> None:
    samples = [sample("a", "++", "1", "-"), sample("a", "++", "1", "-"), sample("b", "--", "2", "+")]
    for method in (textual_vote, dual_agreement, executed_judgement):
        assert [sample.text for sample in method(samples, True)] == ["b"]
        assert [sample.text for sample in method(samples, False)] == ["a", "a"]


def test_outputs_separate_solutions_that_tests_do_not() -> None:
    samples = [sample("a", "++", "11"), sample("b", "++", "12"), sample("c", "++", "12"), sample("d", "+-", "13")]
    assert len(dual_agreement(samples, False)) == 3
    assert [sample.text for sample in executed_judgement(samples, False)] == ["b", "c"]


def test_the_bench_fails_if_our_method_is_below_or_barely_above_the_others() -> None:
    good = {(name, examples, "odd"): (0.2, 0.2) for name in METHODS for examples in (False, True)}
    good |= {(name, examples, "odd"): (0.4, 0.4) for name in (OURS, DUAL, MIXED) for examples in (False, True)}
    assert failures(good) == []
    assert failures(good | {(DUAL, True, "odd"): (0.41, 0.4)}) == [f"Below {DUAL}, with examples."]
    assert failures(good | {("random", False, "odd"): (0.31, 0.3)}) == ["Less than 0.1 above random, without examples."]


def test_with_examples_our_method_is_compared_with_others_that_use_examples() -> None:
    scores = {(name, False, "odd"): (0.1, 0.1) for name in METHODS} | {(OURS, False, "odd"): (0.5, 0.5)}
    scores |= {(name, True, "odd"): (0.5, 0.5) for name in METHODS}
    assert failures(scores) == [
        "Less than 0.02 above random, with examples.",
        "Less than 0.01 above textual vote, with examples.",
    ]
    assert "random, with examples" in bounds(scores)[6]
    assert bounds(scores)[6].endswith("50.0 against 50.0 + 2")


def test_every_method_is_in_the_table_with_its_cost() -> None:
    seen = [
        Seen(number, (sample("a", "+", "1", right=True), sample("b", "-", "2")), Costs(tests=1.0, inputs=2.0))
        for number in (0, 1)
    ]
    scores, spent = scored(seen)
    assert scores[OURS, False, "odd"] == (1.0, 1.0)
    assert scores["random", False, "all"] == (0.5, pytest.approx(1.0))
    assert spent[OURS, False] == pytest.approx(6.0, abs=1)
    assert all(name in table(scores, spent) for name in METHODS)
