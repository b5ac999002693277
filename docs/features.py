"""The features page: which test shows which numbered behaviour of the five source documents."""

from __future__ import annotations

import ast
import tomllib
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
    "S0": (*range(1, 74), *range(127, 130), *range(144, 150)),
    "S1": (*range(2, 6), *range(12, 15), 18, 27, 32, 34, 36, *range(42, 46), 51, 75, 89, 91, 92, 97, 106),
    "S2": (*range(1, 52),),
    "S3": (*range(1, 91),),
    "S4": (*range(1, 8), *range(9, 29), *range(38, 42), *range(45, 49), *range(58, 65), 67, 77, *range(93, 107)),
}
"""The numbers that a test must show by now. The list grows with the product and never shrinks."""

NOT_APPLICABLE = {
    "S0.130": "The layering of that document's own server; ours is in ARCHITECTURE.md and held by import contracts.",
    "S0.131": "The prerequisites of that document's own stack; ours are in the README.",
    "S0.151": "That document's plan to move to a graph framework; our meetings are plain functions over recorded asks.",
    "S2.8": "What that project does not want to be; nothing follows from it for a user.",
    "S2.51": "How that document's own package was released; ours has its own releases.",
    "S3.89": "That document's own stack (TypeScript and Node); this product is Python.",
    "S4.8": "That document's own stack (Go and Bubble Tea); this product is Python.",
    "S4.98": "Two programs that document names as inspiration; nothing follows from them for a user.",
}
"""Behaviours that do not apply, with the reason: a document's own language, packaging or release machinery."""

PARTLY = {
    "S0.54": "Pushing to a host comes with sign-in; `roundtable project --git` prints the commands that do it.",
    "S0.66": "Running a project in the browser comes with the web room.",
    "S0.69": "`roundtable list` and `resume` have every session; the page with them comes with the web room.",
    "S0.70": "Sessions have an owner, the person at this machine; scoping them by account comes with sign-in.",
    "S0.148": "Running a project in the browser comes with the web room.",
    "S0.150": "Changes to an existing project are committed locally; pushing them comes with sign-in.",
}
"""Behaviours that are due and only partly present, with the part that is still to come."""


class Shown(NamedTuple):
    """One test that shows a feature."""

    sentence: str
    file: str


def shown_by_tests() -> dict[str, list[Shown]]:
    """Return every feature number that a test names, with those tests."""
    tests: dict[str, list[Shown]] = defaultdict(list)
    for path in sorted(TESTS.rglob("*.py")):
        for test, numbers in _marked(ast.parse(path.read_text())):
            sentence = test.removeprefix("test_").replace("_", " ")
            for number in numbers:
                tests[number].append(Shown(sentence, path.relative_to(TESTS.parent).as_posix()))
    return tests


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


def missing(tests: dict[str, list[Shown]]) -> list[str]:
    """Return the numbers that are due and applicable but shown by no test."""
    due = [f"{document}.{number}" for document, numbers in DUE.items() for number in numbers]
    return [number for number in due if number not in tests and number not in {*NOT_APPLICABLE, *PARTLY}]


def unknown(tests: dict[str, list[Shown]]) -> list[str]:
    """Return what tests name as a feature although no document has that number."""
    numbers = {f"{document}.{number}" for document, items in descriptions().items() for number in items}
    return sorted(set(tests) - numbers)


def descriptions() -> dict[str, dict[int, str]]:
    """Return one line for each behaviour, by document and number."""
    data = tomllib.loads((Path(__file__).parent / "features.toml").read_text())
    return {document: {int(number): text for number, text in items.items()} for document, items in data.items()}


def features(head: str) -> str:
    """Return the page that lists every behaviour with the tests that show it."""
    tests = shown_by_tests()
    if problems := missing(tests) + unknown(tests):
        raise SystemExit(f"No test shows these features, or the number does not exist: {', '.join(problems)}.")
    items = descriptions()
    total, shown = sum(map(len, items.values())), len(tests)
    parts = [head, "# Features\n\nThe product follows five source documents. Each of their behaviours has a number. "]
    parts.append(f"Of {total} behaviours, tests show {shown}, and {len(NOT_APPLICABLE)} do not apply.\n\n")
    parts.append("| document | behaviours | shown by a test | partly present | do not apply | to come |\n")
    parts.append("|---|---|---|---|---|---|\n")
    for document, title in DOCUMENTS.items():
        counts = [_state(f"{document}.{number}", tests) for number in items[document]]
        columns = (counts.count(state) for state in ("shown", "partly", "not applicable", "to come"))
        parts.append(f"| {document}: {title} | {len(counts)} | {' | '.join(map(str, columns))} |\n")
    for document, title in DOCUMENTS.items():
        parts.append(f"\n## {document}: {title}\n\n| number | behaviour | shown by |\n|---|---|---|\n")
        for number, text in items[document].items():
            parts.append(f"| {document}.{number} | {_escaped(text)} | {_cell(f'{document}.{number}', tests)} |\n")
    return "".join(parts)


def _state(number: str, tests: dict[str, list[Shown]]) -> str:
    if number in NOT_APPLICABLE:
        return "not applicable"
    if number in tests:
        return "shown"
    return "partly" if number in PARTLY else "to come"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _cell(number: str, tests: dict[str, list[Shown]]) -> str:
    if number in NOT_APPLICABLE:
        return f"*does not apply:* {NOT_APPLICABLE[number]}"
    text = "<br>".join(f"{test.sentence} ([{Path(test.file).stem}](../{test.file}))" for test in tests.get(number, []))
    if number in PARTLY:
        return f"{text}{'<br>' if text else ''}*partly:* {PARTLY[number]}"
    return text or "*to come*"
