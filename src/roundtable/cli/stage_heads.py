"""Where a long meeting is: a heading whenever another stage, or another attempt at one, begins."""

from __future__ import annotations

import msgspec

from roundtable.core.events import EffectStarted, Event, RoundOpened
from roundtable.core.stages import Stage
from roundtable.core.values import Charter
from roundtable.core.views import one_line


class StageHeads:
    """Tells the stages of one session apart by the names of their rounds and steps."""

    def __init__(self, charter: Charter | None) -> None:
        listed = str(charter.settings.get("stages", "[]")) if charter else "[]"
        self._stages = [it for it in msgspec.json.decode(listed, type=list[Stage]) if it.enabled]
        self._now = ""

    def head(self, event: Event) -> str:
        """The heading that belongs before a fact, if one does."""
        match event:
            case RoundOpened():
                name = event.round.partition("/")[0]
            case EffectStarted():
                name = event.step.partition("/")[0]
            case _:
                return ""
        stem, _, attempt = name.rpartition("-")
        stem, attempt = (stem, attempt) if attempt.isdecimal() else (name, "")
        found = next(((number, it) for number, it in enumerate(self._stages, 1) if it.name == stem), None)
        if found is None or name == self._now:
            return ""
        self._now = name
        number, stage = found
        again = f", attempt {attempt}" if attempt else ""
        return one_line(f"━━ Stage {number} of {len(self._stages)}: {stage.title}{again} · {stage.role}")
