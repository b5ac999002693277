"""The base of every reason, and the reason that is only text."""

from __future__ import annotations

import msgspec


class ReasonBase(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="code"):
    """Base of every reason: immutable, tagged by `code`."""


class Said(ReasonBase, frozen=True, tag="said"):
    """A reason that is only known as text: of an older record, or of a meeting that somebody else wrote."""

    text: str
