"""A long meeting in stages: what each of them is told, and what it came to. A person can write such a list as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from roundtable.core.values import Charter, Digest, Gate, NextStep, Value

SDLC_MEETING = "sdlc"
"""The meeting that goes through stages."""

STAGE_NAME = re.compile(r"^[a-z][a-z-]{0,30}\Z")
"""What a stage can be called: its rounds, gates and files have the name too."""

CHUNK_TOKENS = 20_000
"""Tokens of files in one chunk of a review, where no setting says otherwise."""

StageKind = Literal["discussion", "files", "review", "run"]
"""What a stage comes to: words that are agreed on, files, findings and their mending, or a program that was run."""

StageEnding = Literal["agreed", "chosen", "run", "same", "alone", "ran", "skipped", "failed"]
"""What ended a stage: a judge, the person, running what was written, several with the same words, one seat alone, a
program that ran, a skip; or it came to nothing."""

STAGE_ENDING_WORDS: dict[StageEnding, str] = {
    "agreed": "was agreed on",
    "chosen": "was decided by the person",
    "run": "was decided by running it",
    "same": "was written word for word the same by several seats",
    "alone": "was written by one seat alone",
    "ran": "ran as it should",
    "skipped": "was skipped",
    "failed": "came to nothing",
}
"""The same in words, after the name of a stage."""

STAGES_GATE = "stages"
"""What is answered ahead to the gates after all stages."""

StageQuestion = Literal["dispute", "install", "rerun", "rerun-shown"]
"""What a person is asked in the middle of a stage."""

OWN_WORDS_OPTION = "own"
"""What is answered in a dispute by who wants neither of the ways; it is nothing without their words."""


class Contribution(Value, frozen=True):
    """One symbol, import or file and the seat it came from."""

    path: str
    symbol: str
    seat: str


class Stage(Value, frozen=True, forbid_unknown_fields=True):
    """One stage. Without `seats`, all take part; without a `judge`, the seats take turns stage by stage.

    `tokens` is how long one answer may be, `rounds` how often they speak before the person is asked.
    """

    name: Annotated[str, Meta(pattern=STAGE_NAME.pattern)]
    title: str
    role: str
    kind: StageKind
    task: str
    tokens: Annotated[int, Meta(ge=64)]
    rounds: Annotated[int, Meta(ge=1, le=9)] = 3
    instructions: str = ""
    enabled: bool = True
    seats: tuple[str, ...] = ()
    judge: str = ""
    speaking: Literal["blind", "sequential"] = "blind"


class SdlcSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The stages as data, and what holds for all of them; the command fills in the first and the last two.

    `chunk` is how many tokens of code are reviewed at once, `runs` how often a program that fails may be mended.
    """

    stages: str = "[]"
    chunk: Annotated[int, Meta(ge=1_000)] = CHUNK_TOKENS
    runs: Annotated[int, Meta(ge=0, le=3)] = 3
    existing: bool = False
    into: str = ""


class StageEnd(Value, frozen=True):
    """What a stage came to: `text` is what was agreed, word for word, and `draft` all files of the project after it.

    `id` is the name by which later stages are told of it. `took` says which file or symbol came from whom. A judge who
    read its `own_words` did so since everybody had spoken: that is to be known, and no want of the result. A stage for
    which the limits left no room was never `held`.
    """

    id: str
    stage: str
    attempt: int
    how: StageEnding
    text: str = ""
    draft: Digest = ""
    judge: str = ""
    base: str = ""
    took: tuple[Contribution, ...] = ()
    notices: tuple[str, ...] = ()
    own_words: bool = False
    held: bool = True

    @property
    def remarks(self) -> tuple[str, ...]:
        """What has to be known of it."""
        own = f"{self.judge} judged its own words among the others', unsigned, since everybody had spoken."
        return (*self.notices, own) if self.own_words else self.notices


def quote_stage_decisions(ends: Sequence[StageEnd]) -> tuple[str, ...]:
    """What the earlier stages agreed on, word for word and each under its id, for who works on the next one."""
    return tuple(f"{it.id} {it.stage}:\n{it.text}" for it in ends if it.text and it.how != "failed")


def latest_stage_draft(ends: Sequence[StageEnd]) -> Digest:
    """The files of the project as the last stage that wrote any left them."""
    return next((it.draft for it in reversed(ends) if it.draft), "")


def last_stage_attempts(ends: Iterable[StageEnd]) -> tuple[StageEnd, ...]:
    """How the last attempt at each stage ended, in the order of the stages."""
    return tuple({it.stage: it for it in ends}.values())


def stage_attempt_name(stage: str, attempt: int) -> str:
    """What the rounds and steps of an attempt at a stage begin with; the first has no number."""
    return stage if attempt == 1 else f"{stage}-{attempt}"


def parse_stage_attempt(name: str) -> tuple[str, int]:
    """The stage and the number of the attempt that a round or step belongs to, by its name."""
    attempt = name.partition("/")[0]
    stage, _, number = attempt.rpartition("-")
    return (stage, int(number)) if number.isdecimal() else (attempt, 1)


def after_stage_gate_id(attempt: str) -> str:
    """The name of the question how it goes on after an attempt at a stage."""
    return f"after-{attempt}"


def stage_question_gate_id(attempt: str, what: StageQuestion, number: int = 1) -> str:
    """The name of a question in the middle of an attempt at a stage, numbered from the second of its kind on."""
    return f"{attempt}-{what}" if number == 1 else f"{attempt}-{what}-{number}"


def is_reserved_stage_name(stage: str) -> bool:
    """Whether a stage of this name would be mistaken for a question about another one."""
    within = tuple(stage_question_gate_id("", what) for what in get_args(StageQuestion))
    return f"{stage}-".startswith(after_stage_gate_id("")) or stage.endswith(within)


def is_after_stage_gate(gate: Gate) -> bool:
    """Whether it is one of those at which the person says how it goes on."""
    return gate.again_of == STAGES_GATE


def is_back_to_stage_answer(gate: Gate, option: str) -> bool:
    """Whether this answer leads to an earlier stage."""
    return option == NextStep.BACK and is_after_stage_gate(gate)


def is_own_words_answer(gate: Gate, option: str) -> bool:
    """Whether this answer says nothing but what stands beside it."""
    return option == OWN_WORDS_OPTION and gate.id.endswith(stage_question_gate_id("", "dispute"))


def has_stages(charter: Charter) -> bool:
    """Whether a meeting goes through stages, of which each has its own things to write."""
    return charter.meeting == SDLC_MEETING


def sdlc_settings(charter: Charter) -> SdlcSettings:
    """What a meeting in stages was told at its opening."""
    return msgspec.convert(charter.settings, SdlcSettings)


def starts_without_files(charter: Charter) -> bool:
    """Whether a meeting in stages begins without any files; the person's folder is then none of its business."""
    return has_stages(charter) and not sdlc_settings(charter).existing


def encode_stages(stages: Sequence[Stage]) -> str:
    """The stages as the charter keeps them."""
    return msgspec.json.encode(stages).decode()


def decode_stages(stages: str) -> tuple[Stage, ...]:
    """The stages as they were told, those included that are left out."""
    return msgspec.json.decode(stages, type=tuple[Stage, ...])


def charter_stages(charter: Charter) -> tuple[Stage, ...]:
    """The stages of a charter, those included that are left out; none of a meeting that has no stages."""
    return decode_stages(sdlc_settings(charter).stages) if has_stages(charter) else ()


def enabled_stages(settings: SdlcSettings) -> tuple[Stage, ...]:
    """Those that are to be held, in their order."""
    return tuple(it for it in decode_stages(settings.stages) if it.enabled)
