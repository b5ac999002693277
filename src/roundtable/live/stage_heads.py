"""Where a long meeting is: a heading whenever another stage, or another attempt at one, begins."""

from __future__ import annotations

from roundtable.core.events import EffectStarted, Event, RoundOpened
from roundtable.core.stages import all_stages, attempt_of
from roundtable.core.text.sanitize import one_line
from roundtable.core.values import Charter


class StageHeads:
    """Tells the stages of one session apart by the names of their rounds and steps."""

    def __init__(self, charter: Charter | None) -> None:
        self._stages = [it for it in all_stages(charter) if it.enabled] if charter else []
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
        of, attempt = attempt_of(name)
        found = next(((number, it) for number, it in enumerate(self._stages, 1) if it.name == of), None)
        if found is None or name == self._now:
            return ""
        self._now = name
        number, stage = found
        again = f", attempt {attempt}" if attempt > 1 else ""
        return one_line(f"━━ Stage {number} of {len(self._stages)}: {stage.title}{again} · {stage.role}")
