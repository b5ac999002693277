"""One answer as it comes off the wire: cut into events, read by its dialect, brought to one ending."""

from __future__ import annotations

import msgspec

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.values import Reply, Usage
from roundtable.voices import http_faults
from roundtable.voices.dialects.base import Answer

MAX_REPLY = 4 * 1024 * 1024
"""Bytes of one answer, with everything around the words; more is no answer."""

_GONE_TOO_FAR = "sent more than 4 MB"


class Hearing:
    """Splits the stream and keeps what the ending needs; what the events mean is the dialect's affair."""

    def __init__(self, who: str, key: str, answer: Answer) -> None:
        self._who = who
        self._key = key
        self._answer = answer
        self._read = answer.read
        self._rest = b""
        self._open = b""
        self._parts: list[str] = []
        self._size = 0
        self._heard = False
        self.said = 0
        self.fault: Fault | None = None

    @property
    def done(self) -> bool:
        """Whether nothing more will come."""
        return self._answer.done

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
        return self._taken(text)

    def whole(self, body: bytes) -> str:
        """Take an answer that came in one piece, from a server that does not stream."""
        if len(body) > MAX_REPLY:
            self.fault = self._malformed(_GONE_TOO_FAR)
            return ""
        self._heard = True
        try:
            text = self._answer.whole(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.fault = self._malformed("sent something that is not JSON")
            return ""
        self._answer.done = True
        return self._taken(text)

    def broke(self, error: Exception) -> None:
        """The connection failed; an answer that was already complete still counts."""
        if self.fault is None and not self._complete:
            self.fault = http_faults.from_exception(self._who, error, bool(self._size))

    def ending(self, estimate: Usage) -> Reply | Fault:
        """The one Reply or Fault."""
        answer = self._answer
        text = "".join(self._parts)
        if self.fault is not None:
            return self.fault
        if answer.filtered or (answer.refusal and not text.strip()):
            said = f": {http_faults.excerpt(answer.refusal, self._key)}" if answer.refusal else "."
            return Fault.of(FaultKind.REFUSED, f"{self._who} declined to answer{said}")
        if not self._complete:
            return self._cut_off()
        if not text.strip():
            why = " within its token limit" if answer.truncated else ""
            return Fault.of(FaultKind.EMPTY, f"{self._who} said nothing{why}.")
        return Reply(text, answer.usage() or estimate, answer.model, truncated=answer.truncated)

    @property
    def _complete(self) -> bool:
        return self._answer.done or self._answer.finished

    def _event(self, data: bytes) -> str:
        self._heard = True
        if self._open:
            data = self._open + b"\n" + data
        try:
            text = self._read(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._unfinished(data)
        self._open = b""
        return text

    def _unfinished(self, data: bytes) -> str:
        """The end mark, or an event whose data goes on in the next line."""
        if data.strip() == b"[DONE]":
            self._answer.done = True
        else:
            self._open = data
        return ""

    def _taken(self, text: str) -> str:
        if self._answer.error is not None and self.fault is None:
            self.fault = http_faults.from_error(self._who, self._answer.error, self._key)
        if text:
            self._parts.append(text)
            self.said += len(text)
        return text

    def _cut_off(self) -> Fault:
        if not self._heard:
            return self._malformed("sent no event stream" if self._size > 1 else "sent an empty answer")
        return Fault.of(FaultKind.TRUNCATED, f"{self._who} was cut off in the middle of its answer.")

    def _malformed(self, what: str) -> Fault:
        return Fault.of(FaultKind.MALFORMED, f"{self._who} {what}.")
