"""A long meeting in stages: the description of a stage, and its result. A person can write a list of stages as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from roundtable.core.values import Charter, Digest, Gate, NextStep, Value

SDLC_MEETING = "sdlc"
"""The meeting that has stages."""

STAGE_NAME = re.compile(r"^[a-z][a-z-]{0,30}\Z")
"""Valid names of stages: rounds, gates and files of a stage carry its name."""

CHUNK_TOKENS = 20_000
"""Tokens of files in one chunk of a review, unless set otherwise."""

StageKind = Literal["discussion", "files", "review", "run"]
"""What a stage produces: an agreed text, files, reviewed findings and their fixes, or a run of the program."""

StageEnding = Literal["agreed", "chosen", "run", "same", "alone", "ran", "skipped", "failed"]
"""How a stage ended: by the judge, by the person, by running the files, because several seats wrote the same, because

only one seat wrote, with a successful run, skipped, or failed.
"""

STAGE_ENDING_WORDS: dict[StageEnding, str] = {
    "agreed": "was agreed on",
    "chosen": "was decided by the person",
    "run": "was decided by running it",
    "same": "was written word for word the same by several seats",
    "alone": "was written by one seat alone",
    "ran": "ran as it should",
    "skipped": "was skipped",
    "failed": "ended without a result",
}
"""The ending in words, to follow the name of a stage."""

STAGES_GATE = "stages"
"""The gate id under which the gates after all stages can be answered in advance."""

DISPUTE = "dispute"
"""The kind of the gates at which the person settles what a stage could not agree on."""

StageQuestion = Literal["dispute", "install", "rerun", "rerun-shown"]
"""Questions to the person during a stage."""

OWN_WORDS_OPTION = "own"
"""The option of a dispute by which the person rejects all proposals and gives a text of their own."""


class Contribution(Value, frozen=True):
    """One symbol, import or file and the seat it came from."""

    path: str
    symbol: str
    seat: str


class Stage(Value, frozen=True, forbid_unknown_fields=True):
    """One stage. Without `seats`, all take part; without a `judge`, the seats judge in turn, stage by stage.

    `tokens` is the maximum length of an answer, `rounds` how many rounds are held before the person is asked.
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
    """The stages as data, and settings for all of them; the command fills in the first and the last two.

    `chunk` is how many tokens of code are reviewed at once, `runs` how often a failing program may be fixed.
    """

    stages: str = "[]"
    chunk: Annotated[int, Meta(ge=1_000)] = CHUNK_TOKENS
    runs: Annotated[int, Meta(ge=0, le=3)] = 3
    existing: bool = False
    into: str = ""


class StageEnd(Value, frozen=True):
    """The result of a stage: `text` is what was agreed, word for word, and `draft` all files of the project after it.

    `id` is the name by which later stages refer to it. `took` lists which file or symbol came from which seat. With
    `own_words`, the judge also judged its own answer because every seat had answered. A stage that the limits did not
    allow to begin was not `held`.
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
    def all_notices(self) -> tuple[str, ...]:
        """Its notices, and whether the judge judged its own answer."""
        own = f"{self.judge} judged its own words among the others', unsigned, since everybody had spoken."
        return (*self.notices, own) if self.own_words else self.notices


def quote_stage_decisions(ends: Sequence[StageEnd]) -> tuple[str, ...]:
    """The results of earlier stages, word for word with their ids, for the seats of the next stage."""
    return tuple(f"{end.id} {end.stage}:\n{end.text}" for end in ends if end.text and end.how != "failed")


def latest_stage_draft(ends: Sequence[StageEnd]) -> Digest:
    """The files of the project after the last stage that wrote any."""
    return next((end.draft for end in reversed(ends) if end.draft), "")


def last_stage_attempts(ends: Iterable[StageEnd]) -> tuple[StageEnd, ...]:
    """The result of the last attempt at each stage, in the order of the stages."""
    return tuple({end.stage: end for end in ends}.values())


def stage_attempt_name(stage: str, attempt: int) -> str:
    """The prefix of the rounds and steps of an attempt at a stage; the first attempt has no number."""
    return stage if attempt == 1 else f"{stage}-{attempt}"


def parse_stage_attempt(name: str) -> tuple[str, int]:
    """The stage and the attempt to which a round or step belongs, by its name."""
    attempt = name.partition("/")[0]
    stage, _, number = attempt.rpartition("-")
    return (stage, int(number)) if number.isdecimal() else (attempt, 1)


def after_stage_gate_id(attempt: str) -> str:
    """The id of the gate after an attempt at a stage."""
    return f"after-{attempt}"


def stage_question_gate_id(attempt: str, what: StageQuestion, number: int = 1) -> str:
    """The id of a gate during an attempt at a stage; from the second question of a kind on, it is numbered."""
    return f"{attempt}-{what}" if number == 1 else f"{attempt}-{what}-{number}"


def is_reserved_stage_name(stage: str) -> bool:
    """Whether a stage of this name could be confused with a gate of another stage."""
    within = tuple(stage_question_gate_id("", what) for what in get_args(StageQuestion))
    return f"{stage}-".startswith(after_stage_gate_id("")) or stage.endswith(within)


def is_after_stage_gate(gate: Gate) -> bool:
    """Whether this gate asks how to continue after a stage."""
    return gate.again_of == STAGES_GATE


def is_back_to_stage_answer(gate: Gate, option: str) -> bool:
    """Whether this answer goes back to an earlier stage."""
    return option == NextStep.BACK and is_after_stage_gate(gate)


def is_own_words_answer(gate: Gate, option: str) -> bool:
    """Whether this answer means nothing but the text that comes with it."""
    return option == OWN_WORDS_OPTION and gate.kind == DISPUTE


def has_stages(charter: Charter) -> bool:
    """Whether a meeting has stages."""
    return charter.meeting == SDLC_MEETING


def sdlc_settings(charter: Charter) -> SdlcSettings:
    """The settings of a meeting with stages."""
    return msgspec.convert(charter.settings, SdlcSettings)


def starts_without_files(charter: Charter) -> bool:
    """Whether a meeting with stages creates a project from nothing, so that it does not read the person's folder."""
    return has_stages(charter) and not sdlc_settings(charter).existing


def encode_stages(stages: Sequence[Stage]) -> str:
    """The stages as the charter stores them."""
    return msgspec.json.encode(stages).decode()


def decode_stages(stages: str) -> tuple[Stage, ...]:
    """The stages as the charter stores them, including disabled ones."""
    return msgspec.json.decode(stages, type=tuple[Stage, ...])


def charter_stages(charter: Charter) -> tuple[Stage, ...]:
    """The stages of a charter, including disabled ones; empty for a meeting without stages."""
    return decode_stages(sdlc_settings(charter).stages) if has_stages(charter) else ()


def enabled_stages(settings: SdlcSettings) -> tuple[Stage, ...]:
    """The stages that are to be held, in order."""
    return tuple(stage for stage in decode_stages(settings.stages) if stage.enabled)
