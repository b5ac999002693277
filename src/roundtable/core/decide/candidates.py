"""What a ballot is held over: the options given or what the seats pitched, and always the choice to leave things be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roundtable.core.decide.positions import positions_of, same_words
from roundtable.core.values import Proposal, Round

NO_CHANGE = Proposal("no-change", "No change needed")


def candidates(options: Sequence[str], pitched: Round | None, labels: Mapping[str, str]) -> tuple[Proposal, ...]:
    """Options in their order, or pitches under their authors' labels; the same words are one candidate."""
    offered = [(chr(ord("A") + place), text, "") for place, text in enumerate(options)]
    if not options and pitched is not None:
        pitches = positions_of(pitched)
        order = sorted(pitches, key=lambda seat: _place(labels[seat]))
        offered = [(labels[seat], pitches[seat], seat) for seat in order]
    found: dict[str, Proposal] = {}
    for id, text, author in (*offered, (NO_CHANGE.id, NO_CHANGE.text, "")):
        known = found.get(same_words(text))
        authors = (*(known.authors if known else ()), *filter(None, (author,)))
        found[same_words(text)] = Proposal(known.id if known else id, known.text if known else text, authors)
    return tuple(found.values())


def reading(offered: Sequence[Proposal]) -> tuple[str, ...]:
    """The candidates as they are read out."""
    return tuple(f"{it.id}: {it.text}" for it in offered)


def _place(label: str) -> tuple[int, str]:
    """A to Z before AA."""
    return len(label), label
