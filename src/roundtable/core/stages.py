"""A long meeting in stages: what each of them is told, and what it came to. A person can write such a list as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from roundtable.core.values import Digest, Value

Kind = Literal["discussion", "files", "review", "run"]
"""What a stage comes to: words that are agreed on, files, findings and their mending, or a program that was run."""

How = Literal["agreed", "chosen", "alone", "skipped", "failed"]
"""By whom a stage was ended: a judge, the person, one seat with nobody to judge, nobody; or it came to nothing."""


class Took(Value, frozen=True):
    """One symbol, import or file and the seat it came from."""

    path: str
    symbol: str
    seat: str


class Stage(Value, frozen=True, forbid_unknown_fields=True):
    """One stage. Without `seats`, all take part; without a `judge`, the seats take turns stage by stage.

    `tokens` is how long one answer may be, `rounds` how often they speak before the person is asked.
    """

    name: Annotated[str, Meta(pattern="^[a-z][a-z-]{0,30}$")]
    title: str
    role: str
    kind: Kind
    task: str
    tokens: Annotated[int, Meta(ge=64)]
    rounds: Annotated[int, Meta(ge=1, le=9)] = 3
    instructions: str = ""
    enabled: bool = True
    seats: tuple[str, ...] = ()
    judge: str = ""
    speaking: Literal["blind", "sequential"] = "blind"


class StageEnd(Value, frozen=True):
    """What a stage came to: `text` is what was agreed, word for word, and `draft` all files of the project after it.

    `id` is the name by which later stages are told of it. `took` says which file or symbol came from whom.
    """

    id: str
    stage: str
    attempt: int
    how: How
    text: str = ""
    draft: Digest = ""
    judge: str = ""
    base: str = ""
    took: tuple[Took, ...] = ()
    rounds: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def decisions(ends: Sequence[StageEnd]) -> str:
    """What the earlier stages agreed on, word for word and each under its id, for who works on the next one."""
    said = [f"[{it.id} {it.stage}]\n{it.text}" for it in ends if it.text and it.how != "failed"]
    return "\n\n".join(said)


def draft_after(ends: Sequence[StageEnd]) -> Digest:
    """The files of the project as the last stage that wrote any left them."""
    return next((it.draft for it in reversed(ends) if it.draft), "")
