"""The floor: the same calls in straight httpx2, with nothing kept and nobody listening."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import msgspec

from bench.contestants.agenda import AGAIN, BLIND, JUDGE, KEY, QUESTION, SEATS, SYSTEM, lines

Tell = Callable[[bytes], None]

_HEADERS = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta


class _Chunk(msgspec.Struct):
    choices: list[_Choice]


class _Line(msgspec.Struct):
    seat: str
    text: str


_decode = msgspec.json.Decoder(_Chunk).decode
_encode = msgspec.json.Encoder().encode


async def session(base_url: str) -> None:
    """Seven calls with one client; no certificates are loaded for plain http, as nobody has to."""
    async with httpx2.AsyncClient(verify=False, trust_env=False) as client:
        await _seven_calls(client, base_url)


async def session_default(base_url: str) -> None:
    """The same with a client as it comes, certificates and all."""
    async with httpx2.AsyncClient() as client:
        await _seven_calls(client, base_url)


async def stream(base_url: str, streams: int, tokens: int) -> dict[str, int]:
    """Read streams side by side and write each token out as one JSON line, at once."""
    with lines() as tell:
        async with httpx2.AsyncClient(verify=False, trust_env=False) as client:
            pieces = await asyncio.gather(
                *(_tell(client, base_url, tokens, f"seat{number}", tell) for number in range(streams))
            )
    return {"lines": sum(pieces)}


async def _seven_calls(client: httpx2.AsyncClient, base_url: str) -> None:
    first = await asyncio.gather(*(_ask(client, base_url, f"{QUESTION}\n\n{BLIND}") for _ in SEATS))
    others = ["\n\n".join(text for other, text in enumerate(first) if other != seat) for seat in range(len(SEATS))]
    second = await asyncio.gather(*(_ask(client, base_url, f"{QUESTION}\n\n{heard}\n\n{AGAIN}") for heard in others))
    everything = "\n\n".join((*first, *second))
    await _ask(client, base_url, f"{QUESTION}\n\n{everything}\n\n{JUDGE}")


async def _ask(client: httpx2.AsyncClient, base_url: str, prompt: str) -> str:
    return "".join([word async for word in _words(client, base_url, "session", prompt)])


async def _tell(client: httpx2.AsyncClient, base_url: str, tokens: int, seat: str, tell: Tell) -> int:
    pieces = 0
    async for word in _words(client, base_url, f"paced-{tokens}", QUESTION):
        tell(_encode(_Line(seat, word)))
        pieces += 1
    return pieces


async def _words(client: httpx2.AsyncClient, base_url: str, model: str, prompt: str) -> AsyncIterator[str]:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True}
    url = f"{base_url}/chat/completions"
    async with client.stream("POST", url, content=_encode(body), headers=_HEADERS) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: ") and line != "data: [DONE]":
                word = _decode(line[6:]).choices[0].delta.content
                if word:
                    yield word
