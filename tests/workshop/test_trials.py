"""Candidates are run in the real sandbox: on repository checks, each other's tests and distinguishing inputs."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from roundtable.core.candidate_reasons import (
    ArgumentsMutated,
    CallBroken,
    CallOutcome,
    CheckFlaky,
    ExamplesRun,
    FewerTestsRun,
    ProgramDied,
)
from roundtable.core.decide.candidate_ranking import decide_candidate_ranking
from roundtable.core.effects import BUILT_IN_CHECK_NAMES, CheckKind, CheckOutcome
from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds, Limit
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox
from roundtable.workshop.symbols.python_code import python_symbol_module_name
from roundtable.workshop.trial import probe_tests
from roundtable.workshop.trial.distinguishing_inputs import ProbeCall, collect_trial_calls
from roundtable.workshop.trial.probes import ProbeRequest, read_probe_module_source, run_trial_probes
from roundtable.workshop.trial.run_candidates import TrialTask, run_candidate_trials
from roundtable.workshop.trial.task_examples import extract_trial_examples_from_task, render_trial_example_unittest
from roundtable.workshop.trial.trial_results import BASELINE, TrialResults

BOUNDS = Bounds(seconds=60)
CHECKS = {"sound": (sys.executable, "check.py")}
CHECK = "import shop\nassert shop.total([]) == 0\n"
BARE = "def total(prices):\n    return 0\n"
RIGHT = 'def total(prices):\n    """Add up.\n\n    >>> total([1, 2, 3])\n    6\n    """\n    return sum(prices)\n'
ALSO_RIGHT = (
    "def total(prices):\n    result = 0\n    for price in prices:\n        result += price\n    return result\n"
)
LAST = "def total(prices):\n    return prices[-1] if prices else 0\n"
BROKEN = "def total(prices):\n    return max(prices)\n"
SORTING = "def total(prices):\n    prices.sort()\n    return sum(prices)\n"
RIGHT_IF_ANY = "def total(prices):\n    return sum(prices[1:], start=prices[0])\n"
FORGER = """
import os
for fd in range(3, 64):
    try:
        os.write(fd, b'0 "= 2"\\n' * 9)
    except OSError:
        pass
print("0 = 2")

def f(x):
    return 7
"""


@pytest.fixture
async def sandbox() -> Sandbox:
    examples = await find_sandbox(SandboxSettings(use="bubblewrap"))
    if isinstance(examples, str):
        pytest.fail(examples) if os.environ.get("CI") else pytest.skip(examples)
    return examples


def write_trees(root: Path, **texts: str) -> dict[str, Path]:
    """Write a tree for each candidate, and one without a candidate."""
    trees = {name: root / (name or "before") for name in ("", *texts)}
    for name, tree in trees.items():
        tree.mkdir()
        (tree / "check.py").write_text(CHECK)
        (tree / "shop.py").write_text(texts.get(name, BARE))
    return trees


def sum_tests(**expected: int) -> str:
    """Return tests of the sum of some digits, by name."""
    return "from shop import total\n\n" + "".join(
        f"def test_{name}():\n    assert total({[int(digit) for digit in name[1:]]}) == {value}\n\n"
        for name, value in expected.items()
    )


async def run_trials(
    sandbox: Sandbox, trees: dict[str, Path], tests: dict[str, str], lines: list[str] | None = None
) -> TrialResults:
    files = {author: {f"tests/test_{author}.py": text} for author, text in tests.items()}
    return await run_candidate_trials(
        sandbox, trees, CHECKS, files, sys.executable, lines.append if lines is not None else None
    )


async def test_tests_of_two_other_seats_reject_a_wrong_candidate(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada=LAST, bob=RIGHT, eve=ALSO_RIGHT)
    tests = {
        "ada": sum_tests(_123=3, _05=5),
        "bob": sum_tests(_123=6, _22=4),
        "eve": sum_tests(_123=6, _1=1),
    }
    lines: list[str] = []
    trials = await run_trials(sandbox, trees, tests, lines)
    assert trials.baseline == {"sound": True}
    assert trials.tests["bob"]["bob: tests/test_bob.py::test__123"]
    assert not trials.tests["ada"]["bob: tests/test_bob.py::test__123"]
    judged = decide_candidate_ranking(trials.ranking_inputs(), trials.baseline, trials.authors)
    assert judged.clusters == (("bob", "eve"), ("ada",))
    assert judged.best == ("bob", "eve")
    assert "sound passed before" in lines
    assert "bob's tests: 0 of 2 passed with ada" in lines


async def test_check_output_is_shown_live(sandbox: Sandbox, tmp_path: Path) -> None:
    slow = {"slow": (sys.executable, "-c", "import time; print('half way', flush=True); time.sleep(600)")}
    output_seen = asyncio.Event()
    trying = asyncio.create_task(
        run_candidate_trials(
            sandbox,
            write_trees(tmp_path, ada=RIGHT),
            slow,
            {},
            sys.executable,
            lambda line: output_seen.set() if line == "slow with ada: half way" else None,
            seconds=600,
        )
    )
    try:
        await asyncio.wait_for(output_seen.wait(), 120)
    finally:
        trying.cancel()
        await asyncio.gather(trying, return_exceptions=True)
    assert asyncio.all_tasks() == {asyncio.current_task()}, "whoever is stopped has ended all runs"


async def test_a_candidate_that_breaks_a_check_is_ranked_last(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada=BROKEN, bob=LAST)
    trials = await run_trials(sandbox, trees, {"ada": sum_tests(_12=2), "bob": sum_tests(_21=1)})
    [outcome] = trials.checks["ada"]
    assert outcome.code == 1
    assert "ValueError" in outcome.output
    assert decide_candidate_ranking(trials.ranking_inputs(), trials.baseline, trials.authors).clusters == (
        ("bob",),
        ("ada",),
    )


async def test_calls_in_tests_and_docstrings_distinguish_candidates(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada=LAST, bob=RIGHT, eve=BROKEN)
    trials = await run_trials(sandbox, trees, {"ada": sum_tests(_9=9)})
    written = ("shop.total([9])", "shop.total([1, 2, 3])")
    assert [trials.outputs["ada"][call] for call in written] == [CallOutcome("value", "9"), CallOutcome("value", "3")]
    assert [trials.outputs["bob"][call] for call in written] == [CallOutcome("value", "9"), CallOutcome("value", "6")]


async def test_variations_of_inputs_distinguish_candidates(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada=ALSO_RIGHT, bob=RIGHT_IF_ANY)
    trials = await run_candidate_trials(
        sandbox, trees, CHECKS, {}, sys.executable, task=TrialTask("total([1, 2]) must be 3, other(1) must be 2.")
    )
    differ = [call for call, lines in trials.outputs["ada"].items() if trials.outputs["bob"][call] != lines]
    assert differ == ["shop.total([])"]
    assert trials.outputs["bob"]["shop.total([])"] == CallOutcome("error"), (
        "which error it is says nothing of an input nobody wrote"
    )
    assert [output for output in trials.outputs["ada"] if output.startswith("shop.total([2, 1]")] == [
        "shop.total([2, 1])"
    ]


async def test_regressions_of_calls_are_reported(sandbox: Sandbox, tmp_path: Path) -> None:
    first = "def total(prices):\n    return prices[0] + sum(prices[1:])\n"
    refuses = "def total(prices):\n    if not prices:\n        raise ValueError\n    return sum(prices)\n"
    trees = write_trees(tmp_path, ada=RIGHT, bob=first, eve=refuses)
    (trees[BASELINE] / "shop.py").write_text("def total(prices):\n    return sum(prices[:2])\n")
    trials = await run_candidate_trials(
        sandbox, trees, CHECKS, {}, sys.executable, task=TrialTask("total([1, 2, 3]) must be 6.")
    )
    assert trials.regressions == {
        "ada": (),
        "bob": (CallBroken("shop.total([])", "0", "IndexError"),),
        "eve": (),
    }


@pytest.mark.parametrize(
    ("before", "regressions"),
    [
        ("def total(prices):\n    pass\n", ()),
        (
            "def total(prices):\n    return max(prices) if prices else None\n",
            (CallBroken("shop.total([])", "None", "IndexError"),),
        ),
    ],
    ids=["a stub", "nothing for nothing"],
)
async def test_a_function_that_always_returned_none_has_no_regressions(
    before: str, regressions: tuple[CallBroken, ...], sandbox: Sandbox, tmp_path: Path
) -> None:
    trees = write_trees(tmp_path, ada="def total(prices):\n    return prices[0] + sum(prices[1:])\n")
    (trees[BASELINE] / "shop.py").write_text(before)
    trials = await run_candidate_trials(
        sandbox, trees, CHECKS, {}, sys.executable, task=TrialTask("total([1, 2, 3]) must be 6.")
    )
    assert trials.regressions == {"ada": regressions}


async def test_mutated_arguments_are_reported_unless_that_is_the_purpose(sandbox: Sandbox, tmp_path: Path) -> None:
    only_sorting = "def total(prices):\n    prices.sort()\n"
    trees = write_trees(tmp_path, ada=RIGHT, bob=SORTING, eve=only_sorting)
    task = "total([2, 1]) must be 3, and total([1, 2]) must be 3 too."
    trials = await run_candidate_trials(sandbox, trees, CHECKS, {}, sys.executable, task=TrialTask(task))
    assert trials.outputs["ada"] == trials.outputs["bob"]
    in_place = trials.side_effects
    assert ArgumentsMutated("shop.total([2, 1])") in in_place["bob"]
    assert ArgumentsMutated("shop.total([1, 2])") not in in_place["bob"], "what was sorted is as it was"
    assert (in_place["ada"], in_place["eve"]) == ((), ())


@pytest.mark.parametrize(
    ("before", "faulty"),
    [
        (RIGHT, True),
        (SORTING.replace("sum", "max"), False),
        ("def total(prices):\n    prices.sort()\n", False),
        (SORTING.replace("(prices)\n", "(price)\n").replace("total(price)", "total(prices)"), False),
    ],
    ids=["left alone", "changed", "changed and came to nothing", "changed and failed"],
)
async def test_mutations_that_existed_before_are_not_reported(
    before: str, faulty: bool, sandbox: Sandbox, tmp_path: Path
) -> None:
    trees = write_trees(tmp_path, ada=SORTING)
    (trees[BASELINE] / "shop.py").write_text(before)
    trials = await run_candidate_trials(
        sandbox, trees, CHECKS, {}, sys.executable, task=TrialTask("total([2, 1]) must be 3.")
    )
    assert bool(trials.side_effects["ada"]) is faulty


@pytest.mark.parametrize("arguments", ["[1]", "{}", "x={1: 2}", "{1}", "set()", "(1, [2])"])
def test_mutable_arguments_are_recognised(arguments: str) -> None:
    assert ProbeCall("m", "f", arguments).has_mutable_arguments


@pytest.mark.parametrize("arguments", ["", "1, 'a'", "(1, 2)", "None"])
def test_immutable_arguments_are_recognised(arguments: str) -> None:
    assert not ProbeCall("m", "f", arguments).has_mutable_arguments


def test_tests_failed_by_their_author_count_if_two_authors_agree() -> None:
    wrong = {"ada: a": False, "eve: e": False}
    results = TrialResults(
        tests={BASELINE: wrong, "ada": wrong, "eve": wrong, "bob": {"ada: a": True, "eve: e": True}},
        authors={"ada: a": "ada", "eve: e": "eve"},
    )
    assert results.evidence_authors("bob") == ("ada", "eve")
    one = TrialResults(
        tests={BASELINE: wrong, "ada": wrong, "eve": wrong, "bob": {"ada: a": True, "eve: e": False}},
        authors={"ada: a": "ada", "eve: e": "eve"},
    )
    assert one.evidence_authors("bob") == (), "one of ada's two is wrong, and nobody knows which"


@pytest.mark.parametrize(
    ("passed", "agree", "against"),
    [
        ({"ada", "ann", "eve", "old"}, ("ada", "ann"), ()),
        ({"ada", "ann"}, ("ada", "ann"), ()),
        ({"ada", "eve", "old"}, ("ada",), ("ann",)),
        ({"eve"}, (), ("ada", "ann")),
    ],
)
def test_other_seats_support_a_candidate_only_with_all_their_tests(
    passed: set[str], agree: tuple[str, ...], against: tuple[str, ...]
) -> None:
    authors = {"ada: a": "ada", "ann: a": "ann", "eve: e": "eve", "eve: f": "eve", "bob: b": "bob", "old: o": "old"}
    none = dict.fromkeys(authors, False) | {"old: o": True}
    trials = TrialResults(
        tests={
            BASELINE: none,
            "ada": none | {"ada: a": True},
            "ann": none | {"ann: a": True},
            "eve": none | {"eve: e": True},
            "bob": {test: author in {"bob", *passed} for test, author in authors.items()},
        },
        authors=authors,
    )
    assert trials.has_own_evidence("bob")
    lines = "eve's own code fails one of hers, and old's test passes without any: neither is heard"
    assert trials.other_authors_verdicts("bob") == (agree, against), lines


@pytest.mark.parametrize(("passes_the_other", "shown"), [(True, ("ada",)), (False, ())], ids=["all", "a part"])
def test_tests_of_an_author_with_broken_code_count_only_as_a_whole(
    passes_the_other: bool, shown: tuple[str, ...]
) -> None:
    meeting, broken = CheckOutcome("tests", ("true",), 0), CheckOutcome("tests", ("true",), 1)
    none = {"ada: new": False, "ada: old": False}
    trials = TrialResults(
        checks={BASELINE: (meeting,), "ada": (broken,), "bob": (meeting,)},
        tests={BASELINE: none, "ada": none, "bob": {"ada: new": True, "ada: old": passes_the_other}},
        authors=dict.fromkeys(none, "ada"),
    )
    assert trials.evidence_authors("bob") == shown


def test_text_arguments_are_varied_with_other_punctuation() -> None:
    calls = collect_trial_calls(["from m import f\n\nf('One. Two!')\n"], {"m": ["def f(a): ..."]})
    assert "m.f('One; Two?')" in map(str, calls)


def test_variations_change_one_argument_and_keep_its_type() -> None:
    source = ["def f(a, b=0, *, c='', d=False, e=()): ..."]
    calls = collect_trial_calls((), {"m": source}, ["f(5, b=2.5, c='Ab', d=True, e=(1, 2))"])
    lines = [call.arguments for call in calls]
    assert lines[0] == "5, b=2.5, c='Ab', d=True, e=(1, 2)"
    assert [call.is_variation for call in calls] == [False] + [True] * (len(calls) - 1)
    for other in ("0, b=2.5", "-5, b=2.5", "5, b=0.0", "c='', d=True", "c='AB', d=True", "d=False", "e=(2, 1)", "e=()"):
        assert any(other in line for line in lines), other
    assert len(set(lines)) == len(lines)
    assert all(sum(a != b for a, b in zip(line.split(", "), lines[0].split(", "), strict=False)) <= 3 for line in lines)


def test_a_call_in_the_task_may_name_the_module() -> None:
    calls = collect_trial_calls(
        (), {"kit.m": ["def f(a): ..."]}, ["kit.m.f('')", "f(None)", "m.f(True)", "other.f(False)"]
    )
    assert [str(call) for call in calls if not call.is_variation] == ["kit.m.f('')", "kit.m.f(None)"]


async def test_tests_in_other_languages_run_with_the_checks(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada=RIGHT, bob=LAST)
    for tree in trees.values():
        (tree / "check.py").write_text(
            "import pathlib, shop\nfor it in pathlib.Path('cases').glob('*.txt'):\n"
            "    *prices, expected = map(int, it.read_text().split())\n    assert shop.total(prices) == expected\n"
        )
    trials = await run_candidate_trials(sandbox, trees, CHECKS, {"ada": {"cases/one.txt": "1 2 3"}}, sys.executable)
    assert [check.passed for check in trials.checks["bob"]] == [True]
    assert trials.tests == {"": {"ada: sound": False}, "ada": {"ada: sound": True}, "bob": {"ada: sound": False}}
    assert (bool(trials.evidence_authors("ada")), bool(trials.evidence_authors("bob"))) == (True, False)


async def run_on_task(
    sandbox: Sandbox, trees: dict[str, Path], task: str, lines: list[str] | None = None
) -> TrialResults:
    examples = (
        {"test_task.py": render_trial_example_unittest(found, ["shop"])}
        if (found := extract_trial_examples_from_task(task))
        else {}
    )
    return await run_candidate_trials(
        sandbox,
        trees,
        CHECKS,
        {},
        sys.executable,
        lines.append if lines is not None else None,
        TrialTask(examples=examples),
    )


async def test_only_examples_that_failed_before_count_as_a_check(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada=RIGHT, bob=LAST)
    lines: list[str] = []
    trials = await run_on_task(sandbox, trees, "total([]) is 0, total([1, 2]) must be 3, total([5]) gives 5", lines)
    assert trials.baseline == {"sound": True, BUILT_IN_CHECK_NAMES[CheckKind.EXAMPLES]: False}
    *_, ada = trials.checks["ada"]
    *_, bob = trials.checks["bob"]
    assert (ada.kind, ada.code, ada.finding) == (CheckKind.EXAMPLES, 0, ExamplesRun(2, 2))
    assert (bob.kind, bob.code) == (CheckKind.EXAMPLES, 1)
    assert decide_candidate_ranking(trials.ranking_inputs(), trials.baseline, trials.authors).clusters == (
        ("ada",),
        ("bob",),
    )
    assert "the examples in the task: 3 of 3 passed with ada" in lines


async def test_a_failed_example_is_reported_with_its_result(sandbox: Sandbox, tmp_path: Path) -> None:
    broken = "def total(prices):\n    return {}['no such'] if prices == [7] else prices[-1] if prices else 0\n"
    unfinished = "def total(prices)\n"
    trees = write_trees(tmp_path, ada=LAST, bob=broken, eve=unfinished)
    trials = await run_on_task(sandbox, trees, "total([1, 2]) is 3, total([7]) is 7 and total(None) raises TypeError")
    checks = {name: outcomes[-1] for name, outcomes in trials.checks.items() if name != BASELINE}
    assert checks["ada"].finding == ExamplesRun(1, 3)
    assert checks["ada"].output.splitlines() == [
        "total([1, 2]) must be 3, but it returned 2.",
        "total(None) must raise TypeError, but it returned 0.",
    ]
    assert checks["bob"].output.splitlines()[1] == "total([7]) must be 7, but it raised KeyError: 'no such'."
    assert checks["eve"].finding == ExamplesRun(0, 3)


@pytest.mark.parametrize("task", ["Make total() add up.", "total([]) must be 0, as it is"])
async def test_examples_that_already_passed_make_no_check(sandbox: Sandbox, tmp_path: Path, task: str) -> None:
    trials = await run_on_task(sandbox, write_trees(tmp_path, ada=RIGHT), task)
    assert [check.name for check in trials.checks["ada"]] == ["sound"]


async def test_a_candidate_that_fakes_results_affects_only_its_own(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada=RIGHT, bob=RIGHT)
    (trees["bob"] / "pytest.py").write_text("main = lambda *args, plugins: plugins[0].failures.update({1: 2})\n")
    trials = await run_on_task(sandbox, trees, "total([1, 2]) must be 3")
    assert [trials.checks[name][-1].passed for name in ("ada", "bob")] == [True, False]


async def test_tests_run_by_unittest_without_pytest(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        dedent("""
            import unittest

            def test_alone():
                assert True

            class Case(unittest.TestCase):
                def test_right(self):
                    self.assertEqual(1, 1)
                def test_wrong(self):
                    self.assertEqual(1, 2)
                @unittest.skip("not today")
                def test_skipped(self):
                    pass
        """)
    )
    hidden = "import sys\nsys.modules['pytest'] = None\n"
    setup = read_probe_module_source(probe_tests).replace("import os\n", f"import os\n{hidden}", 1)
    request = ProbeRequest((setup,), ("sorted(run_trial_test_files(['test_a.py']).items())",), 20, 20, 4000)
    observations = await run_trial_probes(sandbox, tmp_path, request, BOUNDS, files={})
    assert observations.rows == [
        ["= [('test_a.Case.test_right', ''), ('test_a.Case.test_wrong', '1 != 2'), ('test_alone', '')]"]
    ]


async def test_equal_values_are_shown_identically_in_any_order(sandbox: Sandbox, tmp_path: Path) -> None:
    forms = ("[{'b': (1, {2, 3}), 'a': 0}]", "[{'a': 0, 'b': (1, {3, 2})}]", "[Counter({'a': 0}) | {'b': (1, {3, 2})}]")
    setups = [
        f"from collections import Counter\nloop = {{}}\nloop[1] = loop\ndef f():\n    return {form}" for form in forms
    ]
    request = ProbeRequest(setups, ["f()", "({},)", "loop", "frozenset()", "{1: 2} if f() else 0"], 1.0, 5.0)
    observations = await run_trial_probes(sandbox, tmp_path, request, BOUNDS, files={})
    assert len(set(map(tuple, observations.rows))) == 1
    assert observations.rows[0][0] == "= [{'a': 0, 'b': (1, {2, 3})}]"
    assert observations.rows[0][1:] == ["= ({},)", "! RecursionError", "= frozenset()", "= {1: 2}"]


async def test_a_candidate_can_spoil_only_its_own_observations(sandbox: Sandbox, tmp_path: Path) -> None:
    hostile = (
        "while True: pass",
        "import os\nos._exit(0)",
        "def f(x):\n    while True:\n        try:\n            pass\n        except BaseException:\n            pass",
        FORGER,
        "def f(x):\n    return [0] * 10**10",
        "def f(x):\n    import os\n    os.execv('/bin/true', ['true'])",
    )
    request = ProbeRequest(
        ("def f(x):\n    return x + 1", *hostile, "def f(x):\n    return x + 1"),
        ("f(1)", "f(2)"),
        0.2,
        1.0,
        memory=1 << 30,
    )
    observations = await run_trial_probes(sandbox, tmp_path, request, BOUNDS, files={})
    assert observations.rows[0] == observations.rows[-1] == ["= 2", "= 3"]
    assert observations.rows[1] == ["! late", "! late"]
    assert observations.rows[2] == ["! died", "! died"]
    assert observations.rows[4] == ["= 7", "= 7"]
    assert observations.rows[5] == ["! MemoryError", "! MemoryError"]
    assert not any("= 2" in row or "= 3" in row for row in observations.rows[1:-1])


def test_distinguishing_calls_use_changed_modules_and_literal_arguments() -> None:
    test = "from a.b import f as g\nimport shop\nx = 1\ng(1, key='v')\ng(x)\nshop.total([2])\nother.f(3)\nlen([1])\n"
    changed = {"a.b": ["def f(n):\n    '''\n    >>> f(4)\n    5\n    >>> h(6)\n    '''\n"], "shop": ["no python("]}
    examples = [str(call) for call in collect_trial_calls([test], changed) if not call.is_variation]
    assert examples == ["a.b.f(1, key='v')", "shop.total([2])", "a.b.f(4)"]


def test_a_module_is_named_as_it_is_imported() -> None:
    assert [python_symbol_module_name(path) for path in ("src/a/b.py", "a/__init__.py", "x-y.py", "a.txt")] == [
        "a.b",
        "a",
        "",
        "",
    ]


async def test_a_candidate_that_prevents_its_tests_from_running_fails(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada="import os\nos._exit(0)\n", bob=RIGHT)
    for tree in trees.values():
        (tree / "test_shop.py").write_text(
            "import unittest, shop\n\n\nclass Shop(unittest.TestCase):\n"
            "    def test_total(self):\n        self.assertEqual(shop.total([2, 3]), 5)\n"
        )
    lines: list[str] = []
    checks = {"tests": (sys.executable, "-m", "unittest")}
    trials = await run_candidate_trials(sandbox, trees, checks, {}, sys.executable, lines.append)
    assert trials.baseline == {"tests": False}
    [outcome] = trials.checks["ada"]
    assert not outcome.passed
    assert outcome.finding == FewerTestsRun(0, 1)
    assert trials.checks["bob"][0].passed
    assert "tests failed with ada after all: fewer tests ran than before" in lines


async def test_a_test_of_existing_code_is_no_evidence_even_with_new_imports(sandbox: Sandbox, tmp_path: Path) -> None:
    results = "from shop import total, tax\n\ndef test_old():\n    assert total([]) == 0\n\n"
    trees = write_trees(
        tmp_path, ada=ALSO_RIGHT + "def tax(n):\n    return n\n", bob=ALSO_RIGHT + "def tax(n):\n    return 2 * n\n"
    )
    tests = {"ada": {"test_a.py": results + "def test_new():\n    assert tax(2) == 4\n"}}
    trials = await run_candidate_trials(sandbox, trees, CHECKS, tests, sys.executable)
    assert trials.tests[BASELINE] == {"ada: test_a.py::test_old": True, "ada: test_a.py::test_new": False}
    assert trials.evidence_authors("bob") == (), "its author's own code fails the only test of what is new"
    assert trials.evidence_authors("ada") == ()


PROGRAM = "import sys\n{}\nfirst, last = map(int, sys.argv[1:])\nprint(*range(first, last + 1))\n"
GUARDED = PROGRAM.format("if len(sys.argv) != 3:\n    print('usage: count.py FIRST LAST')\n    sys.exit(2)")


async def test_commands_of_the_task_and_variations_distinguish_programs(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada=ALSO_RIGHT, bob=ALSO_RIGHT, eve=ALSO_RIGHT)
    texts = {"ada": PROGRAM.format(""), "bob": GUARDED, "eve": GUARDED.replace("last + 1", "1 + last")}
    for name, text in texts.items():
        (trees[name] / "count.py").write_text(text)
    task = (
        "A program count.py: 'python3 count.py 1 3' prints 1 2 3; other commands such as python3 gone.py do not count."
    )
    trials = await run_candidate_trials(sandbox, trees, CHECKS, {}, sys.executable, task=TrialTask(task))
    assert trials.outputs["ada"]["python count.py 1 3"] == CallOutcome("value", "(0, '1 2 3\\n')")
    assert not any("gone.py" in output for output in trials.outputs["ada"])
    assert trials.outputs["bob"] == trials.outputs["eve"]
    assert trials.outputs["ada"]["python count.py 1"] == CallOutcome("value", "(1, '')")
    assert trials.outputs["bob"]["python count.py 1"] == CallOutcome("value", "(2, 'usage: count.py FIRST LAST\\n')")
    assert decide_candidate_ranking(trials.ranking_inputs()).clusters[0] == ("bob", "eve")


async def test_random_outputs_distinguish_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    one = "import random\n\ndef total(prices):\n    return random.random() if prices else 0\n"
    source = "import time\n\ndef total(prices):\n    return time.time_ns() if prices else None\n"
    trees = write_trees(tmp_path, ada=one, bob=source)
    trials = await run_candidate_trials(
        sandbox, trees, {}, {}, sys.executable, task=TrialTask("total([1, 2]) must be 3.")
    )
    assert trials.outputs == {
        "ada": {"shop.total([])": CallOutcome("value", "0")},
        "bob": {"shop.total([])": CallOutcome("value", "None")},
    }


async def test_a_flaky_check_is_neither_evidence_nor_breakage(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada=RIGHT, bob=RIGHT)
    chance = "import os, sys, shop\nsys.exit(os.urandom(1)[0] % 2)\n"
    for tree in trees.values():
        (tree / "check.py").write_text(chance)
    trials = TrialResults()
    for _ in range(40):
        trials = trials if BASELINE in trials.flaky_checks else await run_trials(sandbox, trees, {})
    assert trials.informative_checks("ada") == trials.informative_checks("bob") == ()
    assert [candidate_run.checks for candidate_run in trials.ranking_inputs()] == [{}, {}]
    assert trials.list_unrun_reasons(("ada",)) == (CheckFlaky("sound"),)


def test_a_check_that_is_flaky_for_one_candidate_counts_for_others() -> None:
    failed, passed = CheckOutcome("sound", ("check",), 1), CheckOutcome("sound", ("check",), 0)
    trials = TrialResults({BASELINE: (passed,), "ada": (failed,), "bob": (failed,)}, flaky_checks={"ada": ("sound",)})
    assert trials.informative_checks("ada") == ()
    assert trials.informative_checks("bob") == (failed,)
    assert [candidate_run.checks for candidate_run in trials.ranking_inputs()] == [{}, {"sound": False}]


async def test_tests_that_crash_with_every_candidate_blame_none(sandbox: Sandbox, tmp_path: Path) -> None:
    ends = "import os\n\nfrom shop import sums\n\nos._exit(0)\n\n\ndef test_it():\n    pass\n"
    trees = write_trees(tmp_path, ada=f"{RIGHT}\nsums = total\n", bob=f"{ALSO_RIGHT}\nsums = total\n")
    trials = await run_trials(sandbox, trees, {"ada": ends})
    assert [[check.passed for check in trials.informative_checks(name)] for name in ("ada", "bob")] == [[True], [True]]


async def test_a_check_that_a_candidate_fixes_or_breaks_is_repeated(sandbox: Sandbox, tmp_path: Path) -> None:
    lines: list[str] = []
    trials = await run_trials(sandbox, write_trees(tmp_path, ada=RIGHT, bob=BROKEN), {}, lines)
    assert [check.passed for check in trials.informative_checks("bob")] == [False]
    assert trials.flaky_checks == {}
    assert [lines.count(f"sound {line}") for line in ("passed before", "passed with ada", "failed with bob")] == [
        2,
        1,
        2,
    ]


@pytest.mark.parametrize(
    "before",
    [
        "def total(prices):\n    prices.sort()\n    while True:\n        pass\n",
        f"import nothing_like_it\n\n{SORTING}",
        f"import sys\nsys.exit(1)\n\n{SORTING}",
    ],
    ids=["hung", "not imported", "ended"],
)
async def test_without_knowledge_of_earlier_mutations_no_candidate_is_blamed(
    before: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    trees = write_trees(tmp_path, ada=SORTING)
    (trees[BASELINE] / "shop.py").write_text(before)
    trials = await run_candidate_trials(
        sandbox, trees, {}, {}, sys.executable, task=TrialTask("total([2, 1]) must be 3.")
    )
    assert trials.side_effects == {"ada": ()}


async def test_names_of_modules_and_parameters_do_not_hide_inputs(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada="def total(find, give=0):\n    find.sort()\n    return find[0]\n")
    for tree in trees.values():
        (tree / "copy.py").write_text("import sys\nsys.exit('usage: copy.py FROM TO')\n")
    task = "total(find=[2, 1], give=1) must be 1."
    trials = await run_candidate_trials(sandbox, trees, {}, {}, sys.executable, task=TrialTask(task))
    assert trials.outputs["ada"]["shop.total(find=[2, 1], give=1)"] == CallOutcome("value", "1")
    assert ArgumentsMutated("shop.total(find=[2, 1], give=1)") in trials.side_effects["ada"]


async def test_coroutines_are_awaited(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada=f"async {LAST}", bob=f"async {SORTING}")
    trials = await run_candidate_trials(
        sandbox, trees, {}, {}, sys.executable, task=TrialTask("total([2, 1]) must be 3.")
    )
    assert [trials.outputs[seat]["shop.total([2, 1])"] for seat in ("ada", "bob")] == [
        CallOutcome("value", "1"),
        CallOutcome("value", "3"),
    ]
    assert ArgumentsMutated("shop.total([2, 1])") in trials.side_effects["bob"]


async def test_a_candidate_whose_check_timed_out_is_not_run_again(sandbox: Sandbox, tmp_path: Path) -> None:
    trees = write_trees(tmp_path, ada=f"import time\ntime.sleep(600)\n{RIGHT}", bob=RIGHT)
    lines: list[str] = []
    task = "total([1, 2]) must be 3"
    examples = {"test_task.py": render_trial_example_unittest(extract_trial_examples_from_task(task), ["shop"])}
    tests = {"bob": {"test_bob.py": sum_tests(_12=3)}}
    trials = await run_candidate_trials(
        sandbox, trees, CHECKS, tests, sys.executable, lines.append, TrialTask(task, examples), 2
    )
    assert trials.checks["ada"][0].limit is Limit.TIME
    assert not trials.checks["ada"][-1].passed
    assert trials.tests["ada"] == {"bob: test_bob.py::test__12": False}
    assert [line for line in lines if "ada" in line] == ["sound failed with ada"]
    assert decide_candidate_ranking(trials.ranking_inputs(), trials.baseline, trials.authors).best == ("bob",)


async def test_a_candidate_that_crashes_other_seats_tests_fails(sandbox: Sandbox, tmp_path: Path) -> None:
    elsewhere = "from shop_of_bob import total\n\ndef test_total():\n    assert total([1]) == 1\n"
    trees = write_trees(tmp_path, ada=f"import os\nos._exit(0)\n{RIGHT}", bob=RIGHT, eve=RIGHT)
    (trees["bob"] / "shop_of_bob.py").write_text(RIGHT)
    tests = {"bob": {"test_bob.py": sum_tests(_12=3)}, "ben": {"test_ben.py": elsewhere}}
    trials = await run_candidate_trials(sandbox, trees, CHECKS, tests, sys.executable)
    assert [check.passed for check in trials.informative_checks("ada")] == [True, False]
    assert trials.informative_checks("ada")[-1].finding == ProgramDied("bob")
    assert [check.passed for check in trials.informative_checks("eve")] == [True], "what it lacks of bob's ends nothing"
