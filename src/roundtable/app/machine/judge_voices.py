"""Through which voice a seat judges, where the person chose none: a cheaper model of the endpoint it speaks through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from roundtable.core.values import Seat
from roundtable.voices.endpoints import Endpoint


def assign_judge_voices(seats: Iterable[Seat], endpoints: Mapping[str, Endpoint]) -> tuple[Seat, ...]:
    """The same seats, each with its judge's voice; who has none judges through its own."""
    return tuple(
        msgspec.structs.replace(seat, judge=seat.judge or _find_default_judge(seat, endpoints)) for seat in seats
    )


def _find_default_judge(seat: Seat, endpoints: Mapping[str, Endpoint]) -> str:
    """An agent, a script and a model on this machine have no cheaper one beside them."""
    name, _, _ = next(iter(seat.voices), "").partition(":")
    model = endpoints[name].judge_model if name in endpoints else ""
    judge = f"{name}:{model}" if model else ""
    return judge if judge not in seat.voices[:1] else ""
