"""Splices parts of other drafts into one, and keeps what comes of it as a draft of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from roundtable.core.changeset import DraftFile
from roundtable.core.effects import Synthesise, Synthesised
from roundtable.workshop.edit.stored_drafts import Drafts
from roundtable.workshop.symbols.synthesis import synthesised


async def spliced(drafts: Drafts, effect: Synthesise) -> Synthesised:
    """Take the base's draft and what the directives name of the others."""
    wrote = {seat: {it.path: it for it in await drafts.files(draft)} for seat, draft in effect.drafts.items()}
    touched = {path: it for files in wrote.values() for path, it in files.items()}
    as_it_is = {path: it.before for path, it in touched.items() if it.before is not None and not it.was}
    sources = {seat: _sources(as_it_is, files) for seat, files in wrote.items()}
    made = await asyncio.to_thread(synthesised, effect.base, sources, effect.incorporate)
    files = [
        msgspec.structs.replace(it, after=made.files.get(path))
        for path, it in {**touched, **wrote[effect.base]}.items()
        if path in wrote[effect.base] or made.files.get(path) != it.before
    ]
    draft = await drafts.keep(files)
    return Synthesised(draft, made.took, made.left, made.removed)


def _sources(as_it_is: Mapping[str, bytes], files: Mapping[str, DraftFile]) -> dict[str, bytes]:
    """A seat's version of every file that anybody touched: its own, or the workspace's."""
    changed = {path: it.after for path, it in files.items()}
    return {path: data for path, data in {**as_it_is, **changed}.items() if data is not None}
