"""The OpenAI chat dialect: any server with `/chat/completions`, streamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, cast

import httpx2
import msgspec

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import Reply, Request, Usage
from roundtable.voices import http_faults
from roundtable.voices.endpoints import Endpoint

MAX_REPLY = 4 * 1024 * 1024
"""Bytes of one answer, with everything around the words; more is no answer."""

_MAX_ERROR = 64 * 1024
_CONNECT_TIMEOUT = 10.0
_DRAIN = 0.25
_GONE_TOO_FAR = "sent more than 4 MB"


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct, gc=False):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: int | None = None
    cost: float | None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    model: str | None = None


_decode = msgspec.json.Decoder(_Chunk).decode
_decode_any = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


class OpenAIChat:
    """One model behind one endpoint. The client and the slots are shared by everybody at that endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        client: httpx2.AsyncClient,
        *,
        key: str = "",
        slots: asyncio.Semaphore | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = f"{endpoint.name}:{model}"
        self.vendor = endpoint.vendor_of(model)
        self.structured = endpoint.holds_schema(model)
        self._endpoint = endpoint
        self._model = model
        self._client = client
        self._key = key
        self._slots = slots or asyncio.Semaphore(endpoint.concurrency)
        self._extra = dict(extra or {})
        self._left_out = endpoint.left_out(model)
        self._url = f"{endpoint.base_url}/chat/completions"
        self._headers = _headers(endpoint, key)

    async def speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault, None]:
        """Ask once; retries are the engine's."""
        timeout = httpx2.Timeout(request.timeout, connect=min(_CONNECT_TIMEOUT, request.timeout), pool=None)
        hearing = _Hearing(self.name, self._key)
        try:
            async with (
                self._slots,
                self._client.stream(
                    "POST", self._url, content=self.body(request), headers=self._headers, timeout=timeout
                ) as response,
            ):
                if response.status_code != 200:
                    body = await _read(response, _MAX_ERROR)
                    hearing.fault = http_faults.from_response(
                        self.name, response.status_code, response.headers, body, self._key
                    )
                elif _is_whole(response):
                    text = hearing.whole(await _read(response, MAX_REPLY + 1))
                    if text:
                        yield text
                else:
                    async with aclosing(_chunks(response)) as chunks:
                        async for chunk in chunks:
                            text = hearing.feed(chunk)
                            if text:
                                yield text
                            if hearing.fault is not None:
                                break
                            if hearing.done:
                                await _drain(chunks)
                                break
                    text = hearing.feed(b"\n")
                    if text:
                        yield text
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            hearing.broke(error)
        yield hearing.ending(self._fallback(request, hearing))

    async def close(self) -> None:
        """The client belongs to whoever gave it."""

    def body(self, request: Request) -> bytes:
        """The request as it goes over the wire: the prompt word for word."""
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": _sound(message.text)} for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            **self._extra,
        }
        if request.seed is not None:
            body["seed"] = request.seed
        if request.schema is not None and self.structured:
            body["response_format"] = _held_to(request.schema, request.schema_name)
        rename = self._endpoint.rename
        return _encode({rename.get(key, key): value for key, value in body.items() if key not in self._left_out})

    def _fallback(self, request: Request, hearing: _Hearing) -> Usage:
        """What the call used where the server does not say: about four bytes a token."""
        asked = sum(len(_sound(message.text).encode()) for message in request.messages)
        cost = 0.0 if self._endpoint.local else None
        return Usage(asked // 4, hearing.said // 4, cost_usd=cost)


class _Hearing:
    """One answer as it comes in: splits the stream, keeps what the ending needs."""

    def __init__(self, who: str, key: str) -> None:
        self._who = who
        self._key = key
        self._rest = b""
        self._open = b""
        self._parts: list[str] = []
        self._size = 0
        self._finish = ""
        self._refusal = ""
        self._model = ""
        self._usage: _Usage | None = None
        self.done = False
        self._heard = False
        self.said = 0
        self.fault: Fault | None = None

    def feed(self, chunk: bytes) -> str:
        """Take bytes off the wire and return the words in them."""
        self._size += len(chunk)
        if self._size > MAX_REPLY:
            self.fault = self._malformed(_GONE_TOO_FAR)
            return ""
        lines = (self._rest + chunk).split(b"\n") if self._rest else chunk.split(b"\n")
        self._rest = lines.pop()
        text = ""
        for line in lines:
            if line[:5] == b"data:":
                text += self._event(line[5:])
            elif self._open and not line.strip():
                self.fault = self._malformed("sent an event that is not JSON")
                break
        if text:
            self._parts.append(text)
            self.said += len(text)
        return text

    def _event(self, data: bytes) -> str:
        self._heard = True
        if self._open:
            data = self._open + b"\n" + data
        try:
            chunk = _decode(data)
        except msgspec.ValidationError:
            return self._odd(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._unfinished(data)
        self._open = b""
        if chunk.usage is not None:
            self._usage = chunk.usage
        if chunk.error is not None:
            self._erred(chunk.error)
            return ""
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        if choice.finish_reason is not None:
            self._finish = choice.finish_reason
            self._model = chunk.model or ""
        delta = choice.delta or choice.message
        if delta is None:
            return ""
        if delta.refusal:
            self._refusal += delta.refusal
        return delta.content or ""

    def _unfinished(self, data: bytes) -> str:
        """The end mark, or an event whose data goes on in the next line."""
        if data.strip() == b"[DONE]":
            self.done = True
        else:
            self._open = data
        return ""

    def _odd(self, data: bytes) -> str:
        """An event of another shape than usual: take what can be understood."""
        try:
            event = _decode_any(data)
        except msgspec.DecodeError:
            return self._unfinished(data)
        self._open = b""
        if event.get("error"):
            self._erred(event["error"])
            return ""
        choices: Any = event.get("choices")
        choice: Any = cast(list[Any], choices)[0] if isinstance(choices, list) and choices else {}
        if not isinstance(choice, dict):
            return ""
        choice = cast(dict[str, Any], choice)
        if isinstance(choice.get("finish_reason"), str):
            self._finish = choice["finish_reason"]
        return _text_of(choice.get("delta") or choice.get("message"))

    def _erred(self, error: Any) -> None:
        message, words = http_faults.describe({"error": error})
        code: Any = cast(dict[str, Any], error).get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 0
        self.fault = http_faults.from_error(self._who, status, message, words, secret=self._key)

    def whole(self, body: bytes) -> str:
        """Take an answer that came in one piece, from a server that does not stream."""
        if len(body) > MAX_REPLY:
            self.fault = self._malformed(_GONE_TOO_FAR)
            return ""
        text = self._event(body)
        if self._open:
            self.fault = self._malformed("sent something that is not JSON")
            return ""
        self.done = True
        if text:
            self._parts.append(text)
            self.said += len(text)
        return text

    def broke(self, error: Exception) -> None:
        """The connection failed; an answer that was already complete still counts."""
        if self.fault is None and not (self.done or self._finish):
            self.fault = http_faults.from_exception(self._who, error, bool(self._size))

    def ending(self, fallback: Usage) -> Reply | Fault:
        """The one Reply or Fault."""
        text = "".join(self._parts)
        if self.fault is not None:
            return self.fault
        if self._finish == "content_filter" or (self._refusal and not text.strip()):
            said = f": {http_faults.excerpt(self._refusal, self._key)}" if self._refusal else "."
            return Fault.of(FaultKind.REFUSED, f"{self._who} declined to answer{said}")
        if not (self.done or self._finish):
            return self._cut_off()
        if not text.strip():
            why = " within its token limit" if self._finish == "length" else ""
            return Fault.of(FaultKind.EMPTY, f"{self._who} said nothing{why}.")
        return Reply(text, self._counted(fallback), self._model, truncated=self._finish == "length")

    def _cut_off(self) -> Fault:
        if not self._heard:
            return self._malformed("sent no event stream" if self._size > 1 else "sent an empty answer")
        return Fault.of(FaultKind.TRUNCATED, f"{self._who} was cut off in the middle of its answer.")

    def _counted(self, fallback: Usage) -> Usage:
        usage = self._usage
        if usage is None or not (usage.prompt_tokens or usage.completion_tokens):
            return fallback
        details = usage.prompt_tokens_details
        cached = (details and details.cached_tokens) or usage.prompt_cache_hit_tokens or 0
        cost = fallback.cost_usd if usage.cost is None else usage.cost
        return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, cached, cost)

    def _malformed(self, what: str) -> Fault:
        return Fault.of(FaultKind.MALFORMED, f"{self._who} {what}.")


def _sound(text: str) -> str:
    """Text without halves of characters, which come in from odd file names and cannot be sent."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _text_of(message: Any) -> str:
    """The words of a message whose content is a list of parts; thoughts are not words."""
    content: Any = cast(dict[str, Any], message).get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [cast(dict[str, Any], part) for part in cast(list[Any], content) if isinstance(part, dict)]
    return "".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")


def _headers(endpoint: Endpoint, key: str) -> dict[str, str]:
    # Compression would cost more than it saves on events of a few words, and hold them back.
    headers = {"content-type": "application/json", "accept": "text/event-stream", "accept-encoding": "identity"}
    headers.update({name.lower(): value for name, value in endpoint.headers.items()})
    if key:
        headers["authorization"] = f"Bearer {key}"
    return headers


def _held_to(schema: dict[str, object], name: str) -> dict[str, Any]:
    form: dict[str, Any] = {"name": name or "reply", "schema": schema}
    if _is_strict(schema):
        form["strict"] = True
    return {"type": "json_schema", "json_schema": form}


def _is_strict(schema: object) -> bool:
    """Whether every object names all its keys as required and allows no others, as strict mode demands."""
    if isinstance(schema, list):
        return all(_is_strict(item) for item in cast(list[object], schema))
    if not isinstance(schema, dict):
        return True
    table = cast(dict[str, Any], schema)
    properties: Any = table.get("properties")
    if isinstance(properties, dict):
        names = set(cast(dict[str, Any], properties))
        if table.get("additionalProperties") is not False or set(table.get("required", ())) != names:
            return False
    return all(_is_strict(value) for value in table.values())


def _is_whole(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").startswith("application/json")


def _chunks(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    # Raw bytes cost less; a server that compresses in spite of our header still gets understood.
    return response.aiter_bytes() if "content-encoding" in response.headers else response.aiter_raw()


async def _read(response: httpx2.Response, most: int) -> bytes:
    """A whole body, but never more than it is worth."""
    body = bytearray()
    async with aclosing(_chunks(response)) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) >= most:
                break
    return bytes(body[:most])


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read the end of the stream so that the connection can be used again; not worth waiting for."""
    try:
        async with asyncio.timeout(_DRAIN):
            async for _ in chunks:
                pass
    except (TimeoutError, httpx2.HTTPError):
        pass
