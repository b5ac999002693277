"""One streamed reply: split into events, read by its dialect, and ended as one reply or fault."""

from __future__ import annotations

from codecs import BOM_UTF8

import msgspec

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.text.sanitize import replace_surrogates_in_text
from roundtable.core.usage import correct_reported_usage
from roundtable.core.values import Reply, Usage
from roundtable.voices import http_client
from roundtable.voices.dialects.dialect import ReplyReader
from roundtable.voices.provider_text import excerpt_provider_text

MAX_REPLY_CHARACTERS = 4 * 1024 * 1024
"""Maximum characters of one reply."""

MAX_EVENT_BYTES = 2 * MAX_REPLY_CHARACTERS
"""Maximum bytes of one event: the last event may repeat all words."""

MAX_STREAM_BYTES = 16 * MAX_REPLY_CHARACTERS
"""Maximum bytes of one stream: thoughts take hundreds of bytes per token."""

_ENDLESS_HELP = "The model does not stop. Lower --max-tokens, or use another voice."
_TOKEN_LIMIT_HELP = "Raise --max-tokens, which includes thinking, or ask for a shorter answer."


class ReplyStream:
    """Splits a stream into events and collects what the ending needs; the dialect reads the events."""

    def __init__(self, who: str, key: str, answer: ReplyReader) -> None:
        self._voice_name = who
        self._key = key
        self._answer = answer
        self._read = answer.read
        self._rest = b""
        self._open_event: list[bytes] = []
        self._parts: list[str] = []
        self._characters = 0
        self._size = 0
        self._has_line = False
        self._has_event = False
        self.fault: Fault | None = None

    @property
    def done(self) -> bool:
        """Whether nothing more will come."""
        return self._answer.done

    @property
    def complete(self) -> bool:
        """Whether the reply is complete; counts and an end mark may still follow."""
        return self._answer.done or self._answer.finished

    def feed(self, chunk: bytes) -> str:
        """Take received bytes and return the words in them."""
        self._size += len(chunk)
        data = self._rest + chunk if self._rest else chunk
        lines = data.splitlines()
        self._rest = b""
        if lines and not data.endswith(b"\n"):
            self._rest = lines.pop() + (b"\r" if data.endswith(b"\r") else b"")  # a line feed may follow
        if lines and not self._has_line:
            lines[0] = lines[0].removeprefix(BOM_UTF8)
            self._has_line = True
        if self._size > MAX_STREAM_BYTES or len(self._rest) > MAX_EVENT_BYTES:
            self.fault = self._create_overflow_fault()
            return ""
        text = ""
        for line in lines:
            if line[:5] == b"data:":
                text += self._read_event(line[5:])
            elif self._open_event and not line.strip():
                text += self._close_open_event()
        return self._add_text(text)

    def read_whole(self, body: bytes) -> str:
        """Read a reply that came in one piece from a server that does not stream."""
        if len(body) > MAX_STREAM_BYTES:
            self.fault = self._create_overflow_fault()
            return ""
        self._has_event = True
        try:
            text = self._answer.whole(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.fault = self._create_malformed_fault("sent something that is not JSON")
            return ""
        self._answer.done = True
        return self._add_text(text)

    def record_connection_error(self, error: Exception) -> None:
        """Record that the connection failed; a complete reply still counts."""
        if self.fault is None and not self.complete:
            self.fault = http_client.classify_provider_http_exception(self._voice_name, error, bool(self._size))

    def build_ending(self, prompt_tokens: int) -> Reply | Fault:
        """Return the reply or fault with its usage; `prompt_tokens` is the estimated size of the prompt in tokens."""
        text = "".join(self._parts)
        fault = self.fault or self._find_fault(text)
        used = self._compute_usage(prompt_tokens, text)
        if fault is not None:
            return msgspec.structs.replace(fault, usage=used)
        return Reply(text, used, self._answer.model, truncated=self._answer.truncated)

    def _find_fault(self, text: str) -> Fault | None:
        """Return the fault of a reply that ended without an error, or None if it is good."""
        answer = self._answer
        if answer.filtered or (answer.refusal and not text.strip()):
            refusal = f": {excerpt_provider_text(answer.refusal, self._key)}" if answer.refusal else "."
            return Fault.of(FaultKind.REFUSED, f"{self._voice_name} declined to answer{refusal}")
        if not self.complete:
            return self._create_truncation_fault()
        if text.strip():
            return None
        if answer.truncated:
            message = f"{self._voice_name} gave no answer within its token limit."
            return Fault.of(FaultKind.EMPTY, message, retryable=False, help=_TOKEN_LIMIT_HELP)
        return Fault.of(FaultKind.EMPTY, f"{self._voice_name} gave an empty answer.")

    def _compute_usage(self, prompt_tokens: int, text: str) -> Usage:
        """Return the reported usage; an estimate at four bytes per token where it is missing or implausible."""
        output_tokens = len(replace_surrogates_in_text(text).encode()) // 4
        counted = self._answer.usage()
        if counted is None:
            answered = text or (self.complete and self.fault is None)
            return Usage(prompt_tokens, output_tokens) if answered else Usage()
        if not self.complete and 0 <= counted.output_tokens < output_tokens:
            # The count of a broken answer is from its beginning.
            counted = msgspec.structs.replace(counted, output_tokens=output_tokens)
        return correct_reported_usage(counted, Usage(prompt_tokens, output_tokens), whole_prompt=True)

    def _read_event(self, data: bytes) -> str:
        self._has_event = True
        if self._open_event:
            self._open_event.append(data)
            return ""
        try:
            return self._read(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._read_end_mark_or_open_event(data)

    def _read_end_mark_or_open_event(self, data: bytes) -> str:
        """Read the end mark, or start an event that continues on the next line."""
        if data.strip() == b"[DONE]":
            self._answer.done = True
        else:
            self._open_event.append(data)
        return ""

    def _close_open_event(self) -> str:
        """Read an event of several lines after its last line."""
        data, self._open_event = b"\n".join(self._open_event), []
        try:
            return self._read(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.fault = self._create_malformed_fault("sent an event that is not JSON")
            return ""

    def _add_text(self, text: str) -> str:
        if self._answer.error is not None and self.fault is None:
            self.fault = http_client.classify_provider_error(self._voice_name, self._answer.error, self._key)
        if text:
            self._parts.append(text)
            self._characters += len(text)
            if self._characters > MAX_REPLY_CHARACTERS:
                self.fault = self._create_overflow_fault()
        return text

    def _create_truncation_fault(self) -> Fault:
        if not self._has_event:
            return self._create_malformed_fault("sent no event stream" if self._size > 1 else "sent an empty answer")
        return Fault.of(FaultKind.TRUNCATED, f"{self._voice_name} was cut off in the middle of its answer.")

    def _create_overflow_fault(self) -> Fault:
        message = f"{self._voice_name} exceeded the limit for one answer."
        return Fault.of(FaultKind.MALFORMED, message, retryable=False, help=_ENDLESS_HELP)

    def _create_malformed_fault(self, what: str) -> Fault:
        return Fault.of(FaultKind.MALFORMED, f"{self._voice_name} {what}.")
