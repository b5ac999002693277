"""A long meeting in stages: the description of a stage, and its result. A person can write a list of stages as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from roundtable.core.reasons import JudgedOwnAnswer, Reasons
from roundtable.core.values import Charter, Digest, Value

STAGE_NAME = re.compile(r"^[a-z][a-z-]{0,30}\Z")
"""Valid names of stages: rounds, gates and files of a stage carry its name."""

CHUNK_TOKENS = 20_000
"""Tokens of files in one chunk of a review, unless set otherwise."""

StageKind = Literal["discussion", "files", "review", "run"]
"""The result of a stage: an agreed text, files, reviewed findings and their fixes, or a run of the program."""

StageEnding = Literal["agreed", "chosen", "run", "same", "alone", "ran", "skipped", "failed"]
"""How a stage ended.

Agreed by the judge, chosen by the person, decided by running the files, written identically by several seats, written
by one seat alone, a successful run, skipped, or failed.
"""


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

    @classmethod
    def list_of(cls, charter: Charter) -> tuple[Stage, ...]:
        """The stages of a charter, including disabled ones; empty for a meeting without stages."""
        return decode_session_stages(SdlcSettings.of(charter).stages) if charter.has_stages else ()


class SdlcSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The stages as data, and settings for all of them; the command fills in the first and the last two.

    `chunk` is how many tokens of code are reviewed at once, `runs` how often a failing program may be fixed.
    """

    stages: str = "[]"
    chunk: Annotated[int, Meta(ge=1_000)] = CHUNK_TOKENS
    runs: Annotated[int, Meta(ge=0, le=3)] = 3
    existing: bool = False
    into: str = ""

    @classmethod
    def of(cls, charter: Charter) -> SdlcSettings:
        """The settings of a meeting with stages."""
        return msgspec.convert(charter.settings, cls)

    @property
    def enabled_stages(self) -> tuple[Stage, ...]:
        """The enabled stages, in order."""
        return tuple(stage for stage in decode_session_stages(self.stages) if stage.enabled)


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
    notices: Reasons = ()
    own_words: bool = False
    held: bool = True

    @property
    def all_notices(self) -> Reasons:
        """Its notices, and whether the judge judged its own answer."""
        return (*self.notices, JudgedOwnAnswer(self.judge, "all_answered")) if self.own_words else self.notices

    @staticmethod
    def quote_all(ends: Iterable[StageEnd]) -> tuple[str, ...]:
        """The results of earlier stages, word for word with their ids, for the seats of the next stage."""
        return tuple(f"{end.id} {end.stage}:\n{end.text}" for end in ends if end.text and end.how != "failed")

    @staticmethod
    def latest_draft(ends: Sequence[StageEnd]) -> Digest:
        """The files of the project after the last stage that wrote any."""
        return next((end.draft for end in reversed(ends) if end.draft), "")

    @staticmethod
    def last_attempts(ends: Iterable[StageEnd]) -> tuple[StageEnd, ...]:
        """The result of the last attempt at each stage, in the order of the stages."""
        return tuple({end.stage: end for end in ends}.values())


def encode_session_stages(stages: Sequence[Stage]) -> str:
    """The stages as the charter stores them."""
    return msgspec.json.encode(stages).decode()


def decode_session_stages(stages: str) -> tuple[Stage, ...]:
    """The stages as the charter stores them, including disabled ones."""
    return msgspec.json.decode(stages, type=tuple[Stage, ...])
