"""Which phrases call the table, and which mean one model alone: the same rules that the skill states in words.

Names and lists of names are first put down as signs, so that a rule reads "ask ONE" or "ask MANY", in English and in
Chinese. Naming one model is never a call to the table, whatever else is said.
"""

from __future__ import annotations

import re
from typing import Literal

Route = Literal["table", "table+follow_up", "single", "none"]

_NAMES = r"claude(?:\s+code)?|cc|opencode|oc|codex|chatgpt|gpt|gemini|grok|deepseek|qwen|mistral|llama"
_NAME = rf"(?<![a-z0-9_-])(?:{_NAMES})(?![a-z0-9_-])"
_JOINED = r"\s*(?:,|、|，|&|\+|\band\b|和|与|跟|以及)\s*"
_LIST = re.compile(rf"{_NAME}(?:(?:{_JOINED})+{_NAME})+")
_ALL = re.compile(
    r"\b(?:everyone|everybody|all (?:the |our )?(?:seats|models|agents|of them)|both of them)\b|大家|所有模型"
)
_SAME = {"claude code": "claude", "cc": "claude", "oc": "opencode", "chatgpt": "gpt"}

_ADDRESSED = (
    r"\b(?:ask|show|tell|consult|give)\s+{0}",
    r"\b(?:let|have|get)\s+{0}\s+(?:both\s+|all\s+|each\s+)?(?:to\s+)?(?:take|have|look|see|check|review|read|think|weigh)\b",
    r"\bwhat\s+(?:do|does|would|did)\s+{0}\s+(?:both\s+|all\s+)?(?:think|say)\b",
    r"(?:问问?|请问?|让|叫|给)\s*{0}",
    r"{0}\s*(?:都\s*)?(?:怎么看|怎么想|怎么说|觉得|看看|看一下)",
)
_ONE, _MANY = "\x01", "\x02"
_TO_ONE = re.compile("|".join(_ADDRESSED).format(_ONE))
_TO_MANY = re.compile("|".join(_ADDRESSED).format(_MANY))
_TABLE = re.compile(
    r"(?:^|[.!?;:,]\s*|\b(?:please|to|let'?s|can you|and|then)\s+)"
    r"round-?table\s+(?:this|that|it|the|these|those|our|my)\b"
    r"|\bround[-\s]?table\s+(?:meeting|discussion|review|session)\b"
    r"|\b(?:hold|have|run|call|start|convene)\s+(?:a|the)\s+round[-\s]?table\b"
    r"|\bmulti-?\s?(?:party|model|seat|agent|participant)\s+(?:review|discussion|opinion|meeting|debate)\b"
    r"|round-?table\s*一下|圆桌|多方\s*(?:review|评审|审查|讨论|会审|意见)"
)
_FOLLOW_UP = re.compile(
    r"(?=.*\b(?:ask|again|follow[-\s]up|once more|another|round)\b)"
    r".*\bif\s+(?:they|opinions|answers|the\s+(?:two|seats|models))\s+(?:disagree|differ|diverge|are\s+split)\b"
    r"|.*(?:分歧|不一致|意见不同).{0,8}(?:追问|再问|再来|再讨论|再谈)"
)


def route(phrase: str) -> Route:
    """Where a person's words belong: to the table, to the table with a follow-up, to one model, or to neither."""
    text = _signed(" ".join(phrase.casefold().split()))
    if _TO_ONE.search(text):
        return "single"
    if _FOLLOW_UP.match(text):
        return "table+follow_up"
    return "table" if _TABLE.search(text) or _TO_MANY.search(text) else "none"


def _signed(text: str) -> str:
    text = _ALL.sub(_MANY, _LIST.sub(lambda found: _MANY if _several(found[0]) else _ONE, text))
    return re.sub(_NAME, _ONE, text)


def _several(names: str) -> bool:
    """Whether a list names more than one model; cc and claude are the same."""
    return len({_SAME.get(name, name) for name in re.findall(_NAME, names)}) > 1
