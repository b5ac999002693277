"""Sentences about checks: how a check failed, and what a built-in check found."""

from __future__ import annotations

from typing import assert_never

from roundtable.core import candidate_reasons as why
from roundtable.core.candidate_reasons import CheckFinding, FailedCheck
from roundtable.core.effects import CheckKind, CheckOutcome
from roundtable.core.reason_base import Said
from roundtable.core.refusals import Refusal
from roundtable.core.text.wording import end_text_as_sentence, join_names_as_text, join_text_lines, pluralize
from roundtable.report.refusals import refusal_sentence

_MAX_CHECK_OUTPUT = 1_500
"""Largest number of characters of a check's output that a seat sees; the end of it says what went wrong."""
_ORIGINAL_TESTS_ADVICE = (
    "These tests and checks existed before the change. They stay unchanged, because the task does not ask to change "
    "them."
)


def describe_check_name(check: CheckOutcome | FailedCheck) -> str:
    """The name of a check, and whether it ran with the original tests."""
    return f"{join_text_lines(check.name)}{' (with the original tests)' if check.original_tests else ''}"


def refused_file_sentence(refusal: Refusal) -> str:
    """Why a file cannot be written, after its path; without a path, it is the whole change."""
    path = f"{join_text_lines(refusal.path)}: " if refusal.path else ""
    return f"{path}{end_text_as_sentence(join_text_lines(refusal_sentence(refusal)))}"


def failed_check_result_sentence(check: CheckOutcome | FailedCheck) -> str:
    """The result of a check that failed: its exit code, or that it was stopped."""
    result = "was stopped" if check.code is None else f"failed with exit code {check.code}"
    return f"The check {describe_check_name(check)} {result}."


def failed_check_sentence(check: FailedCheck) -> str:
    """How a check failed: the finding of a built-in check, or the exit code with the line that says why."""
    message = check_finding_sentence(check.finding) if check.finding else check.message
    if not message:
        return failed_check_result_sentence(check)
    if check.finding:
        return f"{describe_check_name(check)}: {end_text_as_sentence(message)}"
    return end_text_as_sentence(f"{failed_check_result_sentence(check).removesuffix('.')}: {message}")


def check_finding_sentence(finding: CheckFinding) -> str:
    """The finding of a built-in check as a sentence."""
    match finding:
        case Said():
            return end_text_as_sentence(join_text_lines(finding.text))
        case why.NoEvidence():
            return (
                "No test shows that the change does what the task asks: no test fails without the change and passes "
                "with it."
            )
        case why.NotCorroborated():
            return (
                "No other candidate behaves like this one, and none of its own tests fails without the change and "
                "passes with it."
            )
        case why.NotSupported():
            return "No other candidate behaves like this one, and no test of another seat shows that it is right."
        case why.Contradicted():
            authors = join_names_as_text(finding.authors)
            return f"No other candidate behaves like this one, and it fails tests by {authors}."
        case why.NoCodeChanged():
            return "This candidate changes no code, but other candidates do."
        case _:
            return _run_finding_sentence(finding)


def _run_finding_sentence(
    finding: why.ArgumentsMutated
    | why.CallBroken
    | why.ExamplesRun
    | why.OwnTestsFailed
    | why.ProgramDied
    | why.FewerTestsRun
    | why.ToolsReplaced,
) -> str:
    match finding:
        case why.ArgumentsMutated():
            return f"{join_text_lines(finding.call)} mutates its arguments, and the task does not ask for that."
        case why.CallBroken():
            before = f"{join_text_lines(finding.call)} returned {join_text_lines(finding.value)} before the change"
            return f"{before} and raises {finding.error} after it."
        case why.ExamplesRun():
            unrun = f" {pluralize(finding.unrun, 'example')} could not be run." if finding.unrun else ""
            return f"{finding.right} of {finding.counted} gave the result that the task states.{unrun}"
        case why.OwnTestsFailed():
            tests = join_names_as_text([join_text_lines(test) for test in finding.tests])
            return f"{tests} failed."
        case why.ProgramDied():
            tests = f"{finding.author}'s tests" if finding.author else "the examples in the task"
            return f"The program crashed before {tests} were finished."
        case why.FewerTestsRun():
            before = f"the {pluralize(finding.before, 'test')} that it ran before the change"
            return f"The check passed, but it ran only {finding.ran} of {before}."
        case why.ToolsReplaced():
            files = join_names_as_text([join_text_lines(file) for file in finding.files])
            return f"The change adds {files}, which would be loaded instead of a program that checks the change."
        case _:
            assert_never(finding)


def report_failed_check_to_seats(outcome: CheckOutcome) -> str:
    """A failed check for the seat that can fix it: the result, what was found, the end of the output, and advice."""
    finding = check_finding_sentence(outcome.finding) if outcome.finding else ""
    output = outcome.output[-_MAX_CHECK_OUTPUT:]
    details = (output, finding) if outcome.kind is CheckKind.PROGRAM else (finding, output)
    advice = _finding_advice(outcome.finding), _ORIGINAL_TESTS_ADVICE if outcome.original_tests else ""
    return "\n".join(filter(None, (failed_check_result_sentence(outcome), *details, *advice))).strip()


def _finding_advice(finding: CheckFinding | None) -> str:
    match finding:
        case why.NoEvidence():
            return "Write a test that fails without the change and passes with it. Put it in a new file."
        case why.NotCorroborated():
            return (
                "Test what the task says: write a test that fails without the change and passes with it. Put it in a "
                "new file."
            )
        case why.NoCodeChanged():
            return "Write the code that the task asks for."
        case why.ArgumentsMutated():
            return "Do not mutate arguments. Work on a copy, for example with sorted() or list()."
        case why.CallBroken():
            return "Make the call return the same value as before the change, unless the task says otherwise."
        case why.ToolsReplaced():
            return "Give these files other names."
        case _:
            return ""
