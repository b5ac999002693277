"""Every round that stages may come to, for a quote; of each stage the first round and its judge are to be expected.

A judge who cannot be heard is replaced, so that at worst every seat judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from roundtable.core.stages import Stage
from roundtable.core.values import Turns
from roundtable.meetings.meeting import PlannedRound, ShownContent
from roundtable.meetings.try_candidates import WHOLE_FILES_CODEC
from roundtable.meetings.write_change import REPAIR_ROUND, ChangeProgress

_FILES: tuple[ShownContent, ...] = ("files",)
_PRINTED: tuple[ShownContent, ...] = ("printed",)


def plan_stage_rounds(stages: Sequence[Stage], runs: int, *, existing: bool) -> tuple[PlannedRound, ...]:
    """The rounds of all stages; what extends a project that is there is written to it, and mended if that fails."""
    found = [it for stage in stages for it in _of(stage, runs)]
    if existing and any(it.writes for it in found):
        found += [REPAIR_ROUND] * ChangeProgress("", "").repairs
    return tuple(found)


def _of(stage: Stage, runs: int) -> Iterator[PlannedRound]:
    match stage.kind:
        case "discussion":
            yield from _discussed(stage)
        case "files":
            yield from _written(stage, stage.name, "write")
        case "review":
            yield from _reviewed(stage)
        case "run":
            for lap in range(1, runs + 1):
                yield from _written(stage, f"{stage.name}/{lap}", "analyse", likely=lap == 1)


def _discussed(stage: Stage) -> Iterator[PlannedRound]:
    for number in range(stage.rounds):
        first = number == 0
        template, shows = ("draft", _FILES) if first else ("discuss", ())
        yield _asked(stage, template, "free", _turns(stage, stage.name, first=first), shows, likely=first)
        yield _judged(stage, "judge", "judge-discussion", ("answers",), likely=first)


def _written(stage: Stage, name: str, template: str, *, likely: bool = True) -> Iterator[PlannedRound]:
    shown = (*_FILES, *_PRINTED) if stage.kind == "run" else _FILES
    for number in range(stage.rounds):
        first = number == 0
        asked, shows = (template, shown) if first else ("rewrite", _PRINTED)
        turns, expected = _turns(stage, name, first=first), likely and first
        yield _asked(stage, asked, WHOLE_FILES_CODEC, turns, shows, "each", likely=expected)
        yield _judged(stage, "judge-files", "judge-merge", ("answers", "printed"), likely=expected)
    own = Turns(visibility="own", stage=name)
    yield _asked(stage, "refine", WHOLE_FILES_CODEC, own, ("files", "printed"), "one", likely=False)


def _reviewed(stage: Stage) -> Iterator[PlannedRound]:
    blind = Turns(visibility="none", stage=stage.name)
    yield _asked(stage, "chunk", "findings", blind, ("part",))
    yield _judged(stage, "findings-judge", "judge-review", ("found",))
    yield _asked(stage, "look", "free", blind, ("found", "printed"), likely=False)
    yield _judged(stage, "findings-judge", "judge-review", ("found", "answers"), likely=False)
    yield _asked(stage, "fix", WHOLE_FILES_CODEC, blind, ("part", "found", "printed"), "one", likely=False)


def _turns(stage: Stage, name: str, *, first: bool) -> Turns:
    """Who hears whom: all who spoke before, or nobody at first."""
    if stage.speaking == "sequential":
        return Turns("sequential", "same_round", stage=name)
    return Turns(visibility="none" if first else "previous_rounds", stage=name)


def _asked(
    stage: Stage,
    template: str,
    codec: str,
    turns: Turns,
    shows: tuple[ShownContent, ...],
    writes: Literal["", "one", "each"] = "",
    *,
    likely: bool = True,
) -> PlannedRound:
    words = len("".join((stage.role, stage.title, stage.task, stage.instructions)).encode())
    return PlannedRound(template, codec, turns, likely, stage.tokens, words, shows, writes)


def _judged(
    stage: Stage, template: str, codec: str, shows: tuple[ShownContent, ...], *, likely: bool = True
) -> PlannedRound:
    turns = Turns(visibility="none", secret=True, judging=True, stage=stage.name)
    return _asked(stage, template, codec, turns, shows, likely=likely)
