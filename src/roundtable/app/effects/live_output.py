"""What runs in the sandbox is told while it runs: shown to who watches, and never stored."""

from __future__ import annotations

from roundtable.core.events import Delta
from roundtable.core.text.redacted_stream import RedactedStream
from roundtable.core.text.sanitize import clean
from roundtable.engine.feed import Feed


class Telling:
    """The words of one step, under its name and no seat's."""

    def __init__(self, feed: Feed, key: str) -> None:
        self._feed = feed
        self._session, _, self._step = key.partition("/")
        self._words = RedactedStream(feed.redactor)
        self._offset = 0

    def __call__(self, line: str) -> None:
        """Tell one line more."""
        if told := self._words.feed(f"{clean(line)}\n"):
            self._feed.publish(Delta(self._session, self._step, "", self._step, self._offset, told))
            self._offset += len(told)
