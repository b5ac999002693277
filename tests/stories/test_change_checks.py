"""Examples of the task and original check files judge a change; no candidate changes how it is checked."""

from __future__ import annotations

import asyncio
import json
import shutil
import venv
from pathlib import Path

import pytest

from roundtable.app.desk import Places, Roundtable
from roundtable.core.effects import ChangePlanned
from roundtable.core.values import Decision, Outcome
from roundtable.report.reasons import decision_sentence
from tests.repository import git, own_python, repository, sandbox, write
from tests.stories.desk_meeting import DeskMeeting
from tests.stories.slug_project import files_reply
from tests.stories.test_build import YES

STUB = "def double(n):\n    return n\n"
WRONG = "def double(n):\n    return n + 1\n"
RIGHT = "def double(n):\n    return 2 * n\n"
CHECK = (
    'out=$(python3 -c "import calc; print(calc.double(2))")\n[ "$out" = 4 ] || { echo "want 4, got $out"; exit 1; }\n'
)
TASK = "Make double() in calc.py return twice its argument."
OWN_TEST = """import unittest

from calc import double


class More(unittest.TestCase):
    def test_it_is_{value}(self):
        self.assertEqual(double({given}), {value})
"""
WEAK_TEST = OWN_TEST.format(given=0, value=1)
"""What the wrong double passes and the stub fails."""
GOOD_TEST = OWN_TEST.format(given=2, value=4)


class CheckedProject:
    """A repository with a stub and checks; builds in it are approved in advance."""

    def __init__(self, root: Path, places: Places) -> None:
        self.code = root / "code"
        self._places = places
        self.plans: list[ChangePlanned] = []

    def holds(self, files: dict[str, str], *checks: str) -> None:
        """Commit these files and configure these checks."""
        repository(self.code, {"calc.py": STUB, **files})
        own_python(self.code)
        self._places.user_config.parent.mkdir(exist_ok=True)
        self._places.user_config.write_text("\n".join(("[checks]", *checks, "")))

    def brings_along(self, *files: str) -> None:
        """Configure these ignored files to be copied into trials."""
        with self._places.user_config.open("a") as file:
            file.write(f"[worktrees]\ncopy = {json.dumps(files)}\n")

    async def built(
        self, files: dict[str, str], task: str = TASK, evidence: dict[str, str] | None = None, /, **answers: str
    ) -> Decision:
        """Build with one seat that writes these files, and these tests when it is asked for tests."""
        async with await Roundtable.open(self.code, self._places) as desk:
            asked_for_tests = [{"round": "*-evidence", "text": files_reply(evidence)}] if evidence else []
            held = DeskMeeting(desk, claude=[*asked_for_tests, {"text": files_reply(files)}])
            decision = await held.hold("build", task, answers=answers or YES)
            session = await desk.sessions.get(held.session)
            self.plans = [result for result in session.results.values() if isinstance(result, ChangePlanned)]
            return decision

    def unchanged(self) -> bool:
        """Return whether there is only the first commit."""
        return git(self.code, "rev-list", "--count", "HEAD") == "1\n" and not git(self.code, "status", "--porcelain")


@pytest.fixture
async def shop(tmp_path: Path, bench_places: Places) -> CheckedProject:
    await sandbox()
    return CheckedProject(tmp_path, bench_places)


async def test_a_change_that_fails_the_examples_of_the_task_is_not_written(shop: CheckedProject) -> None:
    shop.holds({})
    task = "Mend double() in calc.py: `double(2) == 4` and `double(5) == 10`"
    decision = await shop.built({"calc.py": WRONG, "test_more.py": WEAK_TEST}, task)
    assert decision.outcome is Outcome.DEADLOCK
    assert "the examples in the task: 0 of 2 gave the result that the task states." in decision_sentence(decision)
    assert shop.unchanged()
    assert (await shop.built({"calc.py": RIGHT, "test_more.py": GOOD_TEST}, task)).next_step == "applied"


@pytest.mark.parametrize(
    ("answer", "body", "test"),
    [
        ("part(1, 3) is 1/3", "a / b", "self.assertAlmostEqual(part(1, 3), 0.3333333333)"),
        ("part(0.3, 0.1) must be 3.0", "a / b", "self.assertAlmostEqual(part(0.3, 0.1), 3)"),
        (
            "part(5, 2) gives 2 numbers: what is whole and what is left",
            "divmod(a, b)",
            "self.assertEqual(part(5, 2), (2, 1))",
        ),
    ],
)
async def test_an_inexact_example_in_the_task_does_not_reject_a_correct_change(
    shop: CheckedProject, answer: str, body: str, test: str
) -> None:
    shop.holds({})
    code = f"{STUB}\n\ndef part(a, b):\n    return {body}\n"
    own = GOOD_TEST.replace("double\n", "part\n").replace("self.assertEqual(double(2), 4)", test)
    decision = await shop.built({"calc.py": code, "test_more.py": own}, f"Add part(a, b) to calc.py. {answer}.")
    assert decision.next_step == "applied", decision_sentence(decision)


async def test_an_example_in_the_task_may_name_the_module(shop: CheckedProject) -> None:
    shop.holds({})
    task = f"{TASK} calc.double(2) must be 4."
    decision = await shop.built({"calc.py": WRONG, "test_more.py": WEAK_TEST}, task)
    assert "the examples in the task: 0 of 1 gave the result that the task states." in decision_sentence(decision)
    assert shop.unchanged()
    assert (await shop.built({"calc.py": RIGHT}, task)).next_step == "applied"


@pytest.mark.parametrize(
    "answer", ["With c = Calc(2), c.double() must be 4", "Calc.double() returns 0, if nothing is there"]
)
async def test_an_example_that_cannot_run_by_itself_does_not_reject_a_change(shop: CheckedProject, answer: str) -> None:
    shop.holds({})
    calc = "class Calc:\n    def __init__(self, n=0):\n        self.n = n\n\n"
    calc += "    def double(self):\n        return 2 * self.n\n"
    test = GOOD_TEST.replace("import double", "import Calc").replace("double(2)", "Calc(2).double()")
    task = f"Add a class Calc to calc.py. {answer}."
    decision = await shop.built({"calc.py": f"{STUB}\n\n{calc}", "test_more.py": test}, task)
    assert decision.next_step == "applied", decision_sentence(decision)


async def test_a_check_that_fails_with_a_different_number_than_before_still_counts(shop: CheckedProject) -> None:
    shop.holds({"check.sh": CHECK}, 'acceptance = ["sh", "check.sh"]')
    decision = await shop.built({"calc.py": WRONG, "test_more.py": WEAK_TEST})
    assert decision.outcome is Outcome.DEADLOCK
    assert "want 4, got 3" in decision_sentence(decision)
    assert shop.unchanged()
    assert (await shop.built({"calc.py": RIGHT})).next_step == "applied"


HEAD = '"""Calculations."""\n\n'
LIMITED = {"calc.py": f"{HEAD}LIMIT = 3\n\n\n{STUB}", "check.sh": CHECK}
BOTH = ('acceptance = ["sh", "check.sh"]', 'limit = ["python3", "-c", "import calc; assert calc.LIMIT == 3"]')
TO_PASS = "Make the acceptance check pass."


async def test_reverting_an_accidental_deletion_keeps_the_part_that_fixes_a_check(shop: CheckedProject) -> None:
    shop.holds(LIMITED, *BOTH)
    decision = await shop.built({"calc.py": f"{HEAD}\n{RIGHT}"}, TO_PASS)
    assert decision.next_step == "applied", decision_sentence(decision)
    reverted = "Edits reverted, because they broke checks and the task does not ask for them: LIMIT in calc.py."
    assert reverted in decision_sentence(decision)
    written_text = (shop.code / "calc.py").read_text()
    assert RIGHT in written_text
    assert "LIMIT = 3" in written_text


async def test_a_change_that_fixes_one_check_and_breaks_another_is_not_partly_reverted(shop: CheckedProject) -> None:
    shop.holds(LIMITED, *BOTH)
    decision = await shop.built({"calc.py": f"{HEAD}LIMIT = 4\n\n\n{RIGHT}", "more.py": "MORE = 1\n"}, TO_PASS)
    assert decision.outcome is Outcome.DEADLOCK
    assert "The check limit failed" in decision_sentence(decision)
    assert "acceptance" not in decision_sentence(decision), "it is as its author wrote it"
    assert shop.unchanged()


MAKEFILE = "test:\n\tsh check.sh\n"
NO_CHECK = "exit 0\n"


@pytest.mark.parametrize(
    ("argv", "cheat"),
    [
        ('["sh", "check.sh"]', {"check.sh": NO_CHECK}),
        ('["./check.sh"]', {"check.sh": "#!/bin/sh\n" + NO_CHECK}),
        ('["sh", "-c", "sh -e ./check.sh && true"]', {"check.sh": NO_CHECK}),
        ('["make", "--silent", "test"]', {"Makefile": "test:\n\ttrue\n"}),
        ('["make", "-s", "-C", "sub"]', {"sub/Makefile": "test:\n\ttrue\n"}),
    ],
    ids=["a script", "a program", "in a shell", "a Makefile", "one in a folder"],
)
async def test_candidates_are_checked_with_the_original_check_files(
    shop: CheckedProject, argv: str, cheat: dict[str, str]
) -> None:
    sub = {"sub/Makefile": "test:\n\tcd .. && sh check.sh\n"}
    shop.holds({"check.sh": f"#!/bin/sh\n{CHECK}", "Makefile": MAKEFILE, **sub}, f"acceptance = {argv}")
    (shop.code / "check.sh").chmod(0o755)
    git(shop.code, "commit", "-qa", "--amend", "-m", "It can be run")
    decision = await shop.built({"calc.py": WRONG, **cheat})
    (changed,) = cheat
    assert decision.outcome is Outcome.DEADLOCK
    assert f"nobody approved a change that alters existing tests ({changed})" in decision_sentence(decision)
    assert shop.unchanged()
    decision = await shop.built({"calc.py": RIGHT, **cheat})
    assert decision.next_step == "applied", "what the code does not need is left out"
    assert f"Existing tests that were kept unchanged: {changed}." in decision_sentence(decision)
    assert git(shop.code, "diff", "--name-only", "HEAD~") == "calc.py\n"


async def test_a_task_that_names_a_check_file_permits_changing_it(shop: CheckedProject) -> None:
    shop.holds({"check.sh": CHECK}, 'acceptance = ["sh", "check.sh"]')
    better = CHECK + "echo fine\n"
    decision = await shop.built(
        {"calc.py": RIGHT, "check.sh": better}, f"{TASK} Also change check.sh: it says that all is fine."
    )
    assert decision.next_step == "applied"
    assert (shop.code / "check.sh").read_text() == better


async def test_a_program_that_is_its_own_check_may_be_changed_if_the_task_is_about_it(shop: CheckedProject) -> None:
    own = '\n\nif __name__ == "__main__":\n    assert double(2) == 4\n'
    shop.holds(
        {"calc.py": STUB + own}, 'own = ["python3", "calc.py"]', 'typed = ["python3", "-m", "py_compile", "calc.py"]'
    )
    assert (
        await shop.built({"calc.py": RIGHT + own}, "Make double() return twice its argument.")
    ).next_step == "applied"


def package(test: str, **options: object) -> str:
    return json.dumps({"name": "shop", "scripts": {"test": test}, **options}, indent=2) + "\n"


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not here")
async def test_npm_checks_run_the_original_scripts(shop: CheckedProject) -> None:
    shop.holds({"check.sh": CHECK, "package.json": package("sh check.sh")})
    decision = await shop.built({"calc.py": WRONG, "package.json": package("exit 0")})
    assert decision.outcome is Outcome.DEADLOCK
    assert [plan.tests for plan in shop.plans] == [("the scripts of package.json",)]
    assert shop.unchanged()
    extra = {"calc.py": RIGHT, "package.json": package("exit 0", license="MIT")}
    decision = await shop.built(extra)
    assert decision.next_step == "applied"
    assert (shop.code / "package.json").read_text() == package("sh check.sh", license="MIT")
    assert shop.plans[-1].tests == ()


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not here")
async def test_npm_scripts_that_the_person_approves_are_written(shop: CheckedProject) -> None:
    shop.holds({"check.sh": CHECK, "package.json": package("sh check.sh")})
    cheat = {"calc.py": WRONG, "package.json": package("exit 0")}
    decision = await shop.built(cheat, **{"approve-tests": "all"})
    assert decision.next_step == "applied"
    assert (shop.code / "package.json").read_text() == package("exit 0")


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not here")
@pytest.mark.parametrize("path", ["test/double.js", "double-test.js"])
async def test_tests_that_node_finds_by_folder_or_name_verify_a_change(shop: CheckedProject, path: str) -> None:
    test = "require('node:assert').equal(require(`${process.cwd()}/calc.js`).{}, {})\n"
    old = test.replace("{}, {}", "name, 'calc'")
    shop.holds({"calc.js": "exports.name = 'calc'\n", "test/name.js": old, "package.json": package("node --test")})
    code = {"calc.js": "exports.name = 'calc'\nexports.double = n => 2 * n\n"}
    task = "Add double(n) to calc.js, which is twice n."
    decision = await shop.built(code, task, {path: test.replace("{}, {}", "double(2), 4")})
    assert decision.next_step == "applied", decision_sentence(decision)
    assert git(shop.code, "show", "--name-only", "--format=").split() == sorted(("calc.js", path))


INSTALLED = {
    "node_modules/close-to/package.json": json.dumps({"name": "close-to", "bin": "bin.js"}) + "\n",
    "node_modules/close-to/index.js": "module.exports = (a, b) => Math.abs(a - b) < 0.01\n",
    "node_modules/close-to/bin.js": "#!/usr/bin/env node\nrequire(process.cwd() + '/test.js')\n",
}
"""What npm would have installed."""
OLD, CLOSE, FAR = (f"exports.double = n => {expression}\n" for expression in ("n", "n + n", "n + 3"))
ITS_TEST = """const close = require('close-to')
const given = require('./calc.js').double(2)
if (!close(given, 4)) { console.error(`want 4, got ${given}`); process.exit(1) }
"""


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not here")
@pytest.mark.parametrize("check", ["", 'close = ["node_modules/.bin/close-to"]'], ids=["npm test", "a program there"])
async def test_checks_can_use_packages_installed_in_the_repository(shop: CheckedProject, check: str) -> None:
    files = {
        "calc.js": OLD,
        "test.js": ITS_TEST,
        ".gitignore": "node_modules/\n",
        "package.json": package("node test.js"),
    }
    shop.holds(files, check)
    write(shop.code, INSTALLED)
    (shop.code / "node_modules/close-to/bin.js").chmod(0o755)
    (shop.code / "node_modules/.bin").mkdir()
    (shop.code / "node_modules/.bin/close-to").symlink_to("../close-to/bin.js")
    task = "Make double() in calc.js return twice its argument."
    decision = await shop.built({"calc.js": FAR}, task)
    assert decision.outcome is Outcome.DEADLOCK
    assert "want 4, got 5" in decision_sentence(decision)
    assert shop.unchanged()
    assert (await shop.built({"calc.js": CLOSE}, task)).next_step == "applied"
    assert git(shop.code, "show", "--name-only", "--format=") == "calc.js\n"


async def test_tests_that_import_an_editable_install_run_on_the_changed_code(shop: CheckedProject) -> None:
    """An editable install contains the path of the project, not of the copy that is tested."""
    test = "import unittest\n\nfrom shop import double\n\n\nclass Test(unittest.TestCase):\n    def test(self):\n"
    files = {"src/shop.py": STUB, "tests/test_shop.py": f"{test}        self.assertEqual(double(2), 4)\n"}
    shop.holds({**files, ".gitignore": ".venv/\n"})
    await asyncio.to_thread(venv.create, shop.code / ".venv", symlinks=True)
    (packages,) = (shop.code / ".venv").glob("lib/python*/site-packages")
    (packages / "__editable__.shop-1.pth").write_text(f"{shop.code / 'src'}\n")
    decision = await shop.built({"src/shop.py": WRONG}, "Make double() in src/shop.py return twice its argument.")
    assert decision.outcome is Outcome.DEADLOCK
    assert "3 != 4" in decision_sentence(decision)
    decision = await shop.built({"src/shop.py": RIGHT}, "Make double() in src/shop.py return twice its argument.")
    assert decision.next_step == "applied"


async def test_ignored_files_selected_by_a_rule_are_copied_into_a_trial(shop: CheckedProject) -> None:
    test = (
        "import unittest\n\nfrom made.table import TWO\nfrom calc import double\n\n\nclass Test(unittest.TestCase):\n"
    )
    test += "    def test(self):\n        self.assertEqual(double(TWO), 4)\n"
    shop.holds({"test_calc.py": test, ".gitignore": "made/\n"})
    write(shop.code, {"made/table.py": "TWO = 2\n", "made/.env": "KEY=tulip\n"})
    assert (await shop.built({"calc.py": RIGHT})).outcome is Outcome.DEADLOCK
    shop.brings_along("made")
    assert "3 != 4" in decision_sentence(await shop.built({"calc.py": WRONG}))
    assert (await shop.built({"calc.py": RIGHT})).next_step == "applied"
