"""What a person wrote into a change themselves, looked at before it goes any further."""

from __future__ import annotations

import asyncio

from roundtable.app.desk import Roundtable
from roundtable.core.changeset import Choice, Refusal
from roundtable.core.values import Digest
from roundtable.workshop.edit.hunks import chosen
from roundtable.workshop.edit.stored_drafts import Drafts
from roundtable.workshop.edit.validation import objections


async def objections_to(desk: Roundtable, draft: Digest, choice: Choice) -> tuple[str, ...]:
    """Why what a choice leaves of a draft cannot be written, such as that it would not parse; a sentence each."""
    left = chosen(await Drafts(desk.store).files(draft), choice)
    if isinstance(left, Refusal):
        return (left.sentence,)
    return tuple(it.sentence for it in await asyncio.to_thread(objections, left))
