"""Prompts of every shipped template around hostile words, and a check of the structural tags in a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from string import Template

from roundtable.core.effects import CheckOutcome, ChecksRun, ClaimsProven, FilesRead, Proof, ReadFiles, RunChecks
from roundtable.core.events import (
    EffectDone,
    EffectStarted,
    Event,
    MoveMade,
    NoteSaid,
    Recorded,
    RoundOpened,
    SessionOpened,
    TurnAsked,
)
from roundtable.core.session import Session
from roundtable.core.text.sanitize import replace_surrogates_in_text
from roundtable.core.values import Charter, ContextItem, Expect, Message, Prompt, RecalledEntry, Seat, Turns
from roundtable.engine.prompts import PromptLayout
from roundtable.meetings import MEETINGS

SEATS = ("claude", "gpt", "gemini")
TAGS = ("answer", "check", "context", "memory", "note", "question")
_TAG = re.compile(
    rf"<[\s\u200b]*(?:(?P<closes>/)[\s\u200b]*(?P<closed>{'|'.join(TAGS)})(?![\w.:-])"
    rf"|(?P<opened>{'|'.join(TAGS)})\s[^<>]{{0,100}}\bfrom\s*=)",
    re.IGNORECASE,
)


def find_misplaced_tag(prompt: str) -> str:
    """Return what is wrong with the structural tags of a prompt: each one opened is closed before the next."""
    inside = ""
    for match in _TAG.finditer(prompt):
        tag = (match["closed"] or match["opened"]).lower()
        if inside == "context" and match["closes"] and tag != "context":
            continue  # a file may have such a tag; it opens nothing and does not close the file
        if match["closes"] and tag != inside:
            return f"{match[0]!r} closes a tag inside <{inside}>"
        if match["opened"] and inside:
            return f"{match[0]!r} opens a tag inside <{inside}>"
        inside = "" if match["closes"] else tag
    return f"<{inside}> is not closed" if inside else ""


@cache
def load_templates() -> dict[str, str]:
    """Every shipped template by `meeting/name`."""
    root = resources.files("roundtable.meetings") / "prompts"
    meetings = (*MEETINGS, "recipe")
    paths = ((meeting, path) for meeting in meetings for path in (root / meeting).iterdir())
    return {f"{meeting}/{path.name.removesuffix('.md')}": path.read_text() for meeting, path in paths}


def render_hostile_prompts(template: str, words: str) -> tuple[Message, ...]:
    """The conversation of a seat whose peers, files, notes, checks and memory all hold these words."""
    meeting = template.partition("/")[0]
    text = load_templates()[template]
    system = load_templates().get(f"{meeting}/system", "You are brief.")
    names = [name for name in Template(text).get_identifiers() if name not in ("seat", "label")]
    # Each placeholder is filled in every way in which a meeting fills one.
    prompt = Prompt(
        template,
        values={name: words for name in names[::3]},
        lists={name: (f"P1: {words}", words) for name in names[1::3]},
        quotes={name: words for name in names[2::3]},
        agreed=(words,),
        files=(ContextItem("a.py", "file", 8),),
    )
    session = Session("s")
    for seq, event in enumerate(_events(prompt, words), 1):
        session.apply(Recorded(seq, "2026-11-19T00:00:00Z", "s", event))
    layout = PromptLayout(session, {"file": words, "system": system, "template": text, "form": "Answer."})
    record = session.rounds["x/2"]
    asked = TurnAsked("x/2", "claude", "x/2/claude#1", "script:a", session.seq)
    return layout.messages(record, "claude", asked)


def _events(prompt: Prompt, words: str) -> Iterator[Event]:
    charter = Charter(
        "REST or GraphQL?",
        tuple(Seat(name, ("script:a",)) for name in SEATS),
        "x",
        1,
        context=(ContextItem(replace_surrogates_in_text(words[:80]), "file", 8),),
        templates={"system": "system"},
        recalled=(RecalledEntry("D1", "decree", words, words, words),),
        seed=7,
    )
    yield SessionOpened(charter)
    everyone = Turns(visibility="previous_rounds", signed=True)
    for name in ("x/1", "x/2"):
        yield RoundOpened(name, SEATS, SEATS, everyone, Expect(), prompt, "template", "form")
        if name == "x/1":
            for seat in SEATS:
                yield TurnAsked(name, seat, f"{name}/{seat}#1", "script:a", 2)
                own = "Mine." if seat == "claude" else words
                yield MoveMade(name, seat, f"{name}/{seat}#1", own, "script:a")
            yield NoteSaid(words)
            yield EffectStarted("files", ReadFiles(("a.py",)))
            yield EffectDone("files", FilesRead((ContextItem("b.py", "file", 8),), {words[:80]: words}))
            yield EffectStarted("checks", RunChecks(("test",)))
            yield EffectDone("checks", ChecksRun((CheckOutcome(words[:80], (words[:80],), 1, words),)))
            proof = Proof(words, "gpt", True, words, CheckOutcome("proof", ("python",), 0, words))
            yield EffectStarted("proofs", RunChecks(()))
            yield EffectDone("proofs", ClaimsProven((proof,)))
