"""What came of a step, in a sentence for people: files shown and refused, checks run, a child meeting's end."""

from __future__ import annotations

from collections.abc import Iterator

from roundtable.core.effects import CheckOutcome, ChecksRun, ChildEnded, FilesRead, Result
from roundtable.core.views.clean import one_line

_LONGEST = 160


def served_words(result: Result) -> str:
    """The result in a line; names and reasons come from outside and are cleaned."""
    return " ".join(_sentences(result))


def _sentences(result: Result) -> Iterator[str]:
    match result:
        case FilesRead():
            if result.items:
                yield f"Shown to all: {', '.join(one_line(item.name, _LONGEST) for item in result.items)}."
        case ChecksRun():
            yield from map(_check, result.outcomes)
        case ChildEnded():
            yield f"It ended: {result.decision.outcome}."
            return
    for name, why in result.refused.items():
        yield f"Refused: {one_line(name, _LONGEST)} ({one_line(why, _LONGEST).rstrip('.')})."


def _check(outcome: CheckOutcome) -> str:
    ended = "was stopped" if outcome.code is None else f"ended with exit code {outcome.code}"
    return f"Check {one_line(outcome.name, _LONGEST)} {ended} after {outcome.seconds:.1f} s."
