"""The default judge voice of a seat: a cheaper model of the endpoint through which it speaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from roundtable.core.values import Seat
from roundtable.voices.endpoints import Endpoint


def choose_default_judge_voices(seats: Iterable[Seat], endpoints: Mapping[str, Endpoint]) -> tuple[Seat, ...]:
    """Return the seats with their judge voices; a seat without one judges through its own voice."""
    return tuple(
        msgspec.structs.replace(seat, judge=seat.judge or _find_default_judge(seat, endpoints)) for seat in seats
    )


def _find_default_judge(seat: Seat, endpoints: Mapping[str, Endpoint]) -> str:
    """Return the judge voice of an endpoint; agents, scripts and local models have no cheaper one."""
    name, _, _ = next(iter(seat.voices), "").partition(":")
    model = endpoints[name].judge_model if name in endpoints else ""
    judge = f"{name}:{model}" if model else ""
    return judge if judge not in seat.voices[:1] else ""
