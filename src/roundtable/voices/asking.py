"""One question to one voice outside of any meeting, with the same clock a meeting has."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Voice
from roundtable.core.values import Reply, Request


async def ask_once(voice: Voice, request: Request) -> Reply | Fault:
    """How the call ends; one that is not over in `request.timeout` seconds is stopped, and was too slow."""
    try:
        async with asyncio.timeout(request.timeout), aclosing(voice.speak(request)) as speech:
            async for piece in speech:
                if not isinstance(piece, str):
                    return piece
    except TimeoutError:
        return Fault.of(FaultKind.TIMEOUT, f"{voice.name}: no complete answer within {request.timeout:g} s.")
    except Exception as error:
        return Fault.of(FaultKind.CRASHED, f"{voice.name} failed unexpectedly: {type(error).__name__}.")
    return Fault.of(FaultKind.TRUNCATED, f"{voice.name} stopped without an end.")
