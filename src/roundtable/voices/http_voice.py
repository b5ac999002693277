"""The transport of all API dialects: one streamed POST that ends in one reply or fault."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from hashlib import sha256

import httpx2
import msgspec

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.text.sanitize import replace_surrogates_in_text
from roundtable.core.values import Reply, Request, Usage, WaitNotice
from roundtable.voices import http_client
from roundtable.voices.dialects import create_provider_dialect
from roundtable.voices.endpoints import Endpoint
from roundtable.voices.rate_limits import CallPacer, RateLimitWaitError, create_voice_rate_limit_fault
from roundtable.voices.reply_stream import MAX_STREAM_BYTES, ReplyStream

PriceLookup = Callable[[str, Usage], Awaitable[float | None]]
"""Returns the price of a call in dollars, or None if unknown."""

_MAX_ERROR_BYTES = 64 * 1024
_CONNECT_TIMEOUT = 10.0
_REST_SECONDS = 1.0

_encode = msgspec.json.Encoder().encode


class HttpVoice:
    """One model of one endpoint. All voices of an endpoint share its client and pacer."""

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        client: httpx2.AsyncClient,
        *,
        key: str = "",
        pace: CallPacer | None = None,
        price: PriceLookup | None = None,
    ) -> None:
        self.name = f"{endpoint.name}:{model}"
        self.vendor = endpoint.find_vendor(model)
        self._dialect = create_provider_dialect(endpoint, model)
        self.structured = bool(self._dialect.held_by)
        self.plain_when_long = endpoint.schema_in_prefix
        self.edits = False
        self._endpoint = endpoint
        self._model = model
        self._client = client
        self._key = key
        self._pace = pace or CallPacer(endpoint.concurrency, endpoint.per_minute)
        self._rate = self._pace.find_token_rate(*endpoint.find_token_limit(model))
        self._price = None if endpoint.local else price
        self._headers = self._build_headers()

    async def speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault, None]:
        """Ask once; the engine retries."""
        hearing = ReplyStream(self.name, self._key, self._dialect.answer())
        tokens = _estimate_prompt_tokens(request) + self._dialect.max_output_tokens(request)
        if not self._rate.is_within_limit(tokens):
            yield self._create_size_fault(tokens)
            return
        if wait := self._rate.estimate_wait(tokens):
            yield WaitNotice(wait, f"{self.name} allows {self._rate.limit:,} tokens a minute")
        async with self._rate.hold_tokens(tokens) as share:
            try:
                async with self._pace.hold_slot(request.timeout):
                    self._rate.mark_sent(share)
                    yield ""  # the call is sent now
                    async with (
                        self._open_stream(request) as response,
                        aclosing(self._stream_words(response, hearing)) as words,
                    ):
                        async for piece in words:
                            yield piece
            except RateLimitWaitError as error:
                yield create_voice_rate_limit_fault(self.name, error)
                return
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                hearing.record_connection_error(error)
            end = hearing.build_ending(_estimate_prompt_tokens(request))
            share.tokens = end.usage.tokens
        self._pace.record_ending(end)
        yield await self._price_ending(end)

    async def close(self) -> None:
        """Do nothing: the registry closes the shared client."""

    def encode_request(self, request: Request) -> bytes:
        """Return the body of the request as it is sent."""
        body = {**self._dialect.body(request), **self._endpoint.extra}
        field = self._endpoint.conversation_field
        if field and request.session:
            body[field] = _derive_conversation_id(request)
        return _encode(body)

    def _open_stream(self, request: Request) -> AbstractAsyncContextManager[httpx2.Response]:
        timeout = httpx2.Timeout(request.timeout, connect=min(_CONNECT_TIMEOUT, request.timeout), pool=None)
        headers = self._headers
        if self._endpoint.conversation_header and request.session:
            headers = {**headers, self._endpoint.conversation_header: _derive_conversation_id(request)}
        return self._client.stream(
            "POST", self._dialect.url, content=self.encode_request(request), headers=headers, timeout=timeout
        )

    def _build_headers(self) -> dict[str, str]:
        # Compression costs more than it saves on events of a few words, and it delays them.
        headers = {"content-type": "application/json", "accept": "text/event-stream", "accept-encoding": "identity"}
        headers.update(self._dialect.headers)
        headers.update({name.lower(): value for name, value in self._endpoint.headers.items()})
        if self._key:
            key_header = self._endpoint.key_header
            headers.update({key_header: self._key} if key_header else self._dialect.key_headers(self._key))
        return headers

    async def _stream_words(self, response: httpx2.Response, hearing: ReplyStream) -> AsyncGenerator[str, None]:
        """Yield the words as they arrive; an empty piece when data without words arrives."""
        if response.status_code != 200 or _is_web_page(response):
            body = await _read_body(response, _MAX_ERROR_BYTES)
            hearing.fault = http_client.classify_provider_http_response(
                self.name, response.status_code, response.headers, body, self._key
            )
        elif _is_whole_answer(response):
            yield hearing.read_whole(await _read_body(response, MAX_STREAM_BYTES + 1))
        else:
            async with aclosing(_stream_chunks(response)) as chunks:
                async for chunk in chunks:
                    yield hearing.feed(chunk)
                    if hearing.fault is not None or hearing.complete:
                        break
                if hearing.fault is None:
                    yield await _read_rest(chunks, hearing)

    def _create_size_fault(self, tokens: int) -> Fault:
        """Return the fault of a call that needs more tokens than the limit of a whole minute."""
        models, _ = self._endpoint.find_token_limit(self._model)
        return Fault.of(
            FaultKind.RATE_LIMITED,
            f"This call could use {tokens:,} tokens, but {self.name} allows {self._rate.limit:,} per minute.",
            retryable=False,
            help=f'Include fewer files, or remove the seat. If your account allows more, raise "{models}" under '
            f"[endpoints.{self._endpoint.name}.tokens_per_minute].",
        )

    async def _price_ending(self, end: Reply | Fault) -> Reply | Fault:
        """Return the ending with its cost: reported by the server, else from the price list, else 0 if local."""
        if not end.usage.tokens or end.usage.cost_usd is not None:
            return end
        cost = 0.0 if self._endpoint.local else None
        if self._price is not None:
            # A failed price lookup must not lose an answer that was paid for.
            with suppress(Exception):
                cost = await self._price(self._model, end.usage)
        return msgspec.structs.replace(end, usage=msgspec.structs.replace(end.usage, cost_usd=cost))


def _estimate_prompt_tokens(request: Request) -> int:
    """Estimate the tokens of the request at four bytes per token."""
    return sum(len(replace_surrogates_in_text(message.text).encode()) for message in request.messages) // 4


def _derive_conversation_id(request: Request) -> str:
    """Return an anonymous id that is equal for all calls of one seat in one session."""
    return sha256(f"{request.session}/{request.seat}".encode()).hexdigest()[:32]


def _is_web_page(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").startswith("text/html")


def _is_whole_answer(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").startswith("application/json")


def _stream_chunks(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    # Raw bytes are cheaper; a server that compresses in spite of the header is still supported.
    return response.aiter_bytes() if "content-encoding" in response.headers else response.aiter_raw()


async def _read_body(response: httpx2.Response, most: int) -> bytes:
    """Return the body up to a maximum length."""
    body = bytearray()
    async with aclosing(_stream_chunks(response)) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) >= most:
                break
    return bytes(body[:most])


async def _read_rest(chunks: AsyncIterator[bytes], hearing: ReplyStream) -> str:
    """Read what follows a complete reply: counts, an end mark, rarely more words.

    Reading to the end lets the connection be used again; a server that keeps the stream open is not waited for.
    """
    now = asyncio.get_running_loop().time
    text = ""
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_REST_SECONDS) as moment:
            async for chunk in chunks:
                more = "" if hearing.done else hearing.feed(chunk)
                if hearing.fault is not None:
                    break
                if more:
                    text += more
                    moment.reschedule(now() + _REST_SECONDS)
    return text + hearing.feed(b"\n")
