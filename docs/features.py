"""The features page: which test shows which numbered behaviour of the five source documents."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent.parent / "tests"

DOCUMENTS = {
    "S0": "A team of models that builds software in seven stages",
    "S1": "Agents that pitch, vote and build a project together",
    "S2": "codex-roundtable: a moderated second opinion",
    "S3": "TheRoundtAIble: knights around a project",
    "S4": "A terminal where models debate before one of them acts",
}

DUE = {
    "S0": (*range(1, 74), 127, 128, *range(144, 151)),
    "S1": (13, *range(42, 46), 51, 92),
    "S2": (*range(1, 52),),
    "S3": (*range(1, 91),),
    "S4": (*range(1, 8), *range(16, 29), 77, *range(93, 105)),
}
"""The numbers that must be shown by now. The list grows with the product."""

NOT_OURS = {
    "S2.8": "What that project does not want to be; nothing follows from it for a user.",
    "S2.51": "How that document's own package was released; ours has its own releases.",
    "S3.89": "That document's own stack (TypeScript and Node); this product is Python.",
    "S4.98": "Two programs that document names as inspiration; nothing follows from them for a user.",
}
"""What does not apply, with the reason: a document's own language, packaging or release machinery."""

LATER = {
    "S0.54": "Pushing to a host comes with sign-in; `roundtable project --git` prints the commands that do it.",
    "S0.66": "Running a project in the browser comes with the web room.",
    "S0.69": "`roundtable list` and `resume` have every session; the page with them comes with the web room.",
    "S0.70": "Sessions have an owner, the person at this machine; scoping them by account comes with sign-in.",
    "S0.148": "Running a project in the browser comes with the web room.",
    "S0.150": "What extends a project is committed there; pushing it and opening a pull request come with sign-in.",
}
"""What is due and only there in part, with where the rest comes."""


class Shown(NamedTuple):
    """One test that shows a feature."""

    sentence: str
    file: str


def shown() -> dict[str, list[Shown]]:
    """Every feature number that some test names, with the tests."""
    found: dict[str, list[Shown]] = defaultdict(list)
    for path in sorted(TESTS.rglob("*.py")):
        for test, numbers in _marked(ast.parse(path.read_text())):
            sentence = test.removeprefix("test_").replace("_", " ")
            for number in numbers:
                found[number].append(Shown(sentence, path.relative_to(TESTS.parent).as_posix()))
    return found


def _marked(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            numbers = [number for decorator in node.decorator_list for number in _numbers(decorator)]
            if numbers:
                yield node.name, numbers


def _numbers(decorator: ast.expr) -> list[str]:
    if not (isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute)):
        return []
    if decorator.func.attr != "feature":
        return []
    return [str(argument.value) for argument in decorator.args if isinstance(argument, ast.Constant)]


def unshown(found: dict[str, list[Shown]]) -> list[str]:
    """The numbers that are due, apply, and are named by no test."""
    due = [f"{document}.{number}" for document, numbers in DUE.items() for number in numbers]
    return [number for number in due if number not in found and number not in {*NOT_OURS, *LATER}]


def misnamed(found: dict[str, list[Shown]]) -> list[str]:
    """What a test names that is no feature number."""
    return [number for number in found if not re.fullmatch(r"S[0-4]\.[1-9]\d{0,2}", number)]


def features(head: str) -> str:
    """The page."""
    found = shown()
    if missing := unshown(found) + misnamed(found):
        raise SystemExit(f"No test names these features, or they are none: {', '.join(missing)}.")
    parts = [head, "# Features\n\nThe product is made after five source documents. Each of their behaviours has a "]
    parts.append("number; beside it stand the tests that show it.\n")
    for document, title in DOCUMENTS.items():
        numbers = sorted((it for it in found if it.startswith(document + ".")), key=_order)
        if numbers:
            parts.append(f"\n## {document}: {title}\n\n| feature | shown by |\n|---|---|\n")
            parts += [f"| {number} | {_cell(found[number])} |\n" for number in numbers]
    parts.append("\n## What does not apply\n\n")
    parts += [f"- {number}: {why}\n" for number, why in NOT_OURS.items()]
    later = [f"- {number}: {why}\n" for number, why in LATER.items() if number not in found]
    parts += ["\n## What comes later\n\n", *later] if later else []
    return "".join(parts)


def _cell(tests: list[Shown]) -> str:
    return "<br>".join(f"{test.sentence} ([{Path(test.file).stem}](../{test.file}))" for test in tests)


def _order(number: str) -> tuple[str, int]:
    document, _, index = number.partition(".")
    return document, int(index)
