"""What a meeting in stages says to people, and the decision it comes to."""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.core.stages import Stage, StageEnd
from roundtable.core.values import Decision, Outcome
from roundtable.core.wording import ended

TEMPLATES = {"discussion": "draft", "files": "write", "review": "chunk", "run": "analyse"}
PROMPTS = (
    "system",
    "draft",
    "discuss",
    "judge",
    "about",
    "repair",
    "chunk",
    "findings-judge",
    "look",
    "fix",
    "write",
    "rewrite",
    "judge-files",
    "refine",
    "analyse",
)
"""The prompts of such a meeting."""

_HOW = {
    "agreed": "They agree",
    "chosen": "You decided it",
    "alone": "One seat wrote it alone",
    "failed": "It came to nothing",
    "skipped": "It was skipped",
}


def after(stage: Stage, end: StageEnd, *, last: bool) -> str:
    """What the person is asked after a stage."""
    said = [f"{stage.title} is over. {_HOW[end.how]}."]
    said += [ended(it) for it in end.notices]
    return " ".join((*said, "Is this the result?" if last else "Go on?"))


def left(ends: Sequence[StageEnd], answer: str) -> Decision:
    """The person stopped, or went back to an earlier stage on another line."""
    where = ends[-1].stage
    if answer == "back":
        how = f"After {where} the person went back to an earlier stage; this line ends here and can still be read."
        return Decision(Outcome.CANCELLED, how, next_step="back")
    return Decision(Outcome.CANCELLED, f"It was stopped after {where}: nobody said to go on.", next_step="stop")


def finished(ends: Sequence[StageEnd], where: str = "") -> Decision:
    """The project as it stands is the result."""
    failed = [it for it in ends if it.how == "failed"]
    held = [it.stage for it in ends if it.how != "skipped"]
    how = f"{len(held)} stages were held: {', '.join(held)}. {where}".strip()
    notices = [f"{it.stage} came to nothing." for it in failed]
    notices += [f"{it.stage}: {notice}" for it in ends for notice in it.notices]
    outcome = Outcome.DEADLOCK if len(failed) == len(held) else Outcome.REACHED
    text = "\n\n".join(f"{it.id} {it.stage}\n{it.text}" for it in ends if it.text)
    return Decision(outcome, how, position=f"{len(held)} stages", text=text, notices=tuple(notices), next_step="later")
