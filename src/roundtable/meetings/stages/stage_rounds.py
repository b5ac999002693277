"""The rounds that stages may hold, for a quote. Of each stage, the first round and its judge are likely.

In the worst case every seat judges, since a judge that fails is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from roundtable.core.stage_address import StageAddress
from roundtable.core.stages import Stage
from roundtable.core.values import Turns
from roundtable.meetings.meeting import PlannedRound, ShownContent
from roundtable.meetings.try_candidates import WHOLE_FILES_CODEC
from roundtable.meetings.write_change import REPAIR_ROUND, WriteProgress

_FILES: tuple[ShownContent, ...] = ("files",)
_PRINTED: tuple[ShownContent, ...] = ("printed",)


def plan_rounds_of_sdlc_stages(stages: Sequence[Stage], runs: int, *, existing: bool) -> tuple[PlannedRound, ...]:
    """The rounds of all stages; a project that extends existing files may also need repairs."""
    rounds = [planned for stage in stages for planned in _stage_rounds(stage, runs)]
    if existing and any(planned.writes for planned in rounds):
        rounds += [REPAIR_ROUND] * WriteProgress("", "").repairs
    return tuple(rounds)


def _stage_rounds(stage: Stage, runs: int) -> Iterator[PlannedRound]:
    match stage.kind:
        case "discussion":
            yield from _discussion_rounds(stage)
        case "files":
            yield from _files_rounds(stage, stage.name, "write")
        case "review":
            yield from _review_rounds(stage)
        case "run":
            for lap in range(1, runs + 1):
                yield from _files_rounds(stage, StageAddress(stage.name, lap=lap).name, "analyse", likely=lap == 1)


def _discussion_rounds(stage: Stage) -> Iterator[PlannedRound]:
    for number in range(stage.rounds):
        first = number == 0
        template, shows = ("draft", _FILES) if first else ("discuss", ())
        yield _planned_ask(stage, template, "free", _round_turns(stage, stage.name, first=first), shows, likely=first)
        yield _planned_judge(stage, "judge", "judge-discussion", ("answers",), likely=first)


def _files_rounds(stage: Stage, name: str, template: str, *, likely: bool = True) -> Iterator[PlannedRound]:
    shown = (*_FILES, *_PRINTED) if stage.kind == "run" else _FILES
    for number in range(stage.rounds):
        first = number == 0
        round_template, shows = (template, shown) if first else ("rewrite", _PRINTED)
        turns, expected = _round_turns(stage, name, first=first), likely and first
        yield _planned_ask(stage, round_template, WHOLE_FILES_CODEC, turns, shows, "each", likely=expected)
        yield _planned_judge(stage, "judge-files", "judge-merge", ("answers", "printed"), likely=expected)
    own = Turns(visibility="own", stage=name)
    yield _planned_ask(stage, "refine", WHOLE_FILES_CODEC, own, ("files", "printed"), "one", likely=False)


def _review_rounds(stage: Stage) -> Iterator[PlannedRound]:
    blind = Turns(visibility="none", stage=stage.name)
    yield _planned_ask(stage, "chunk", "findings", blind, ("part",))
    yield _planned_judge(stage, "findings-judge", "judge-review", ("found",))
    yield _planned_ask(stage, "look", "free", blind, ("found", "printed"), likely=False)
    yield _planned_judge(stage, "findings-judge", "judge-review", ("found", "answers"), likely=False)
    yield _planned_ask(stage, "fix", WHOLE_FILES_CODEC, blind, ("part", "found", "printed"), "one", likely=False)


def _round_turns(stage: Stage, name: str, *, first: bool) -> Turns:
    """Turns of a round: blind at first, later with the answers of earlier rounds."""
    if stage.speaking == "sequential":
        return Turns("sequential", "same_round", stage=name)
    return Turns(visibility="none" if first else "previous_rounds", stage=name)


def _planned_ask(
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


def _planned_judge(
    stage: Stage, template: str, codec: str, shows: tuple[ShownContent, ...], *, likely: bool = True
) -> PlannedRound:
    turns = Turns(visibility="none", secret=True, judging=True, stage=stage.name)
    return _planned_ask(stage, template, codec, turns, shows, likely=likely)
