"""Facts of earlier schema versions, brought to the form of the newest one while they are read.

The only place that knows how older records looked. A stored fact is never rewritten.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

_MUST_FIX = "MUST_FIX: "
_VALUE = "= "
_ORIGINAL_TESTS = ", as they were before it,"
_CHECK_KINDS = {
    "the examples in the task": "examples",
    "its own tests": "own_tests",
    "a sudden end": "crash",
    "side effects": "side_effects",
    "what worked before": "regression",
    "evidence": "evidence",
    "agreement": "agreement",
    "code": "code",
}
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def upcast_event(data: bytes | str, version: int) -> bytes | str:
    """An event of an older version as JSON of the newest; most kinds of events have never changed."""
    fields = _decode(data)
    kind = fields.get("kind", "")
    upcasts = [
        upcast for before, upcast in ((2, _FROM_1.get(kind)), (3, _FROM_2.get(kind))) if upcast and version < before
    ]
    for upcast in upcasts:
        upcast(fields)
    return msgspec.json.encode(fields) if upcasts else data


def _decision_made(event: dict[str, Any]) -> None:
    _decision(event["decision"])


def _effect_done(event: dict[str, Any]) -> None:
    match event["result"]:
        case {"result": "child_ended", "decision": decision}:
            _decision(decision)
        case {"result": "stage_ended", "end": end}:
            _stage_end(end)
        case {"result": "candidates_tried" | "rehearsed"}:
            _trial(event["result"])
            _checks(event["result"])
        case _:
            _checks(event["result"])


def _stage_end(end: dict[str, Any]) -> None:
    """`notices` were texts."""
    if notices := cast("list[str]", end.get("notices", [])):
        end["notices"] = list(map(_said, notices))


def _trial(result: dict[str, Any]) -> None:
    """`how` was one text, `unrun` were texts, and the first characters of a result showed whether it was an error."""
    if how := result.get("how"):
        result["how"] = [_said(how)]
    if unrun := cast("list[str]", result.get("unrun", [])):
        result["unrun"] = list(map(_said, unrun))
    for outcomes in cast("dict[str, dict[str, Any]]", result.get("apart", {})).values():
        outcomes |= {seat: _call_outcome(text) for seat, text in outcomes.items()}


def _call_outcome(text: str) -> dict[str, str]:
    match text:
        case "passes" | "fails":
            return {"kind": text}
        case "":
            return {"kind": "nothing"}
        case "! late":
            return {"kind": "timeout"}
        case "! died":
            return {"kind": "crash"}
        case _ if text.startswith(_VALUE):
            return {"kind": "value", "text": text.removeprefix(_VALUE)}
        case _:
            return {"kind": "error", "text": text.removeprefix("!").strip()}


def _checks(result: dict[str, Any]) -> None:
    """Add the kind and the finding to the checks of old records, from their name and the first line of their output."""
    candidates = [*result.get("candidates", ()), *filter(None, [result.get("candidate")])]
    for holder in (result, *candidates):
        for field in ("checks", "before", "outcomes", "steps"):
            for outcome in holder.get(field, ()):
                _check(outcome)
    for proof in result.get("proofs", ()):
        if outcome := proof.get("outcome"):
            _check(outcome)


def _check(outcome: dict[str, Any]) -> None:
    name = str(outcome["name"])
    if name.endswith(_ORIGINAL_TESTS):
        outcome |= {"name": name.removesuffix(_ORIGINAL_TESTS), "original_tests": True}
    if not outcome["argv"] and (kind := _CHECK_KINDS.get(outcome["name"])):
        finding, _, output = str(outcome.get("output", "")).partition("\n")
        outcome |= {"kind": kind, "output": output} | ({"finding": _said(finding)} if finding else {})


def _session_opened(event: dict[str, Any]) -> None:
    """Set `task_only`, which version 1 showed in how the position began."""
    charter = event["charter"]
    settings, task = charter.get("settings", {}), " ".join(str(charter["question"]).split())
    if charter["meeting"] == "apply" and str(settings.get("position", "")).startswith(f"{task}: "):
        settings["task_only"] = True


def _effect_started(event: dict[str, Any]) -> None:
    """Move directives that must be fixed to a field of their own; version 1 marked them with a prefix."""
    effect = event["effect"]
    if effect["effect"] == "end_stage":
        _stage_end(effect["end"])
    if effect["effect"] == "synthesise":
        directives = cast("list[str]", effect.get("incorporate", []))
        fixes = [directive for directive in directives if directive.startswith(_MUST_FIX)]
        effect["incorporate"] = [directive for directive in directives if directive not in fixes]
        effect["must_fix"] = [directive.removeprefix(_MUST_FIX) for directive in fixes]


def _decision(decision: dict[str, Any]) -> None:
    """Turn `how` and `notices` from texts into reasons, and set `task_only`, which version 1 showed in the position."""
    if (author := decision.get("author")) and f": {author} changes " in decision.get("position", ""):
        decision["task_only"] = True
    decision["how"] = [_said(decision["how"])] if decision["how"] else []
    if notices := cast("list[str]", decision.get("notices", [])):
        decision["notices"] = list(map(_said, notices))


def _said(text: str) -> dict[str, str]:
    return {"code": "said", "text": text}


def _round_opened(event: dict[str, Any]) -> None:
    """Set the purpose of a round, which version 1 showed in its template and its name."""
    if event["prompt"]["template"] == "evidence" and str(event["round"]).endswith("-evidence"):
        event["turns"] = {**event.get("turns", {}), "purpose": "tests"}


def _gate_opened(event: dict[str, Any]) -> None:
    """Set the kind of a gate, which version 1 showed only in its id."""
    gate = event["gate"]
    kind = str(gate["id"]).partition("-")[0]
    if kind in {"decide", "decree"}:
        gate["kind"] = kind
    elif str(gate["id"]).endswith("-dispute"):
        gate["kind"] = "dispute"


def _gate_answered(event: dict[str, Any]) -> None:
    """Set the source of an answer, which version 1 showed only in the words of `by`."""
    for words, source in _ANSWER_SOURCES.items():
        if str(event.get("by", "")).startswith(words):
            event["source"] = source


def _refusals(value: Any) -> None:
    """Turn every refusal below a value from a sentence into a code, and so the remarks about a written change."""
    match value:
        case {"path": str(path), "kind": kind, "sentence": text} as refusal:
            refusal.clear()
            refusal |= _said_refusal(text, path, kind)
        case {"path": str(path), "message": text, **rest} as refusal if not rest:
            refusal.clear()
            refusal |= _said_refusal(text, path)
        case {"directive": _, "why": text} as unmerged:
            unmerged["refused"] = [_said_refusal(unmerged.pop("why"))]
        case {"fixed": _, "cause": "refused", "message": text} as repair:
            repair["refusal"] = _said_refusal(repair.pop("message"))
        case {"result": "applied", "note": str(text)} as applied if text:
            applied["remarks"] = [_said(applied.pop("note"))]
        case {"code": "write_remark"} as remark:
            remark["code"] = "said"
        case dict():
            for part in cast("dict[str, Any]", value).values():
                _refusals(part)
        case list():
            for part in cast("list[Any]", value):
                _refusals(part)
        case _:
            pass


def _said_refusal(text: str, path: str = "", kind: str = "") -> dict[str, Any]:
    return {"path": path, "code": "said", "facts": {"text": text} | ({"kind": kind} if kind else {})}


_ANSWER_SOURCES = {"headless default": "headless", "deadline default": "deadline", "answered ahead": "advance"}
_FROM_1 = {
    "session.opened": _session_opened,
    "decision.made": _decision_made,
    "effect.started": _effect_started,
    "effect.done": _effect_done,
    "round.opened": _round_opened,
    "gate.opened": _gate_opened,
    "gate.answered": _gate_answered,
}
_FROM_2 = dict.fromkeys(("effect.started", "effect.done", "decision.made"), _refusals)
