"""Texts that readers accept, to be damaged: replies of every codec, event streams, agents' messages, project files."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, cast

from roundtable.core.replies import CODECS
from roundtable.core.replies.codec import Schema
from roundtable.core.values import Expect
from roundtable.voices.fault_server.anthropic import AnthropicWire
from roundtable.voices.fault_server.gemini import GeminiWire
from roundtable.voices.fault_server.openai_chat import ChatWire
from roundtable.voices.fault_server.openai_responses import ResponsesWire
from roundtable.voices.fault_server.scripted_answer import encode_fault_server_event
from roundtable.voices.fault_server.wire import AnswerContent

CHOICES = ("P1", "P2", "a.py", "new")
_NUMBERS = (0, 1, 7, 10, -1, -1000, 11, 10**15, 10**40, 0.5, -0.0, 1e300, True)
_WORDS = ("", "P1", "P2", "new", "same", "opposed", "none", "No objections.", "it's", "a\nb", "> AGREE: P1", "é\ud83d")

REPLIES = (
    "Fine.\n\nAGREE: P1\nADD: P2\n",
    "No.\n\nOBJECT: It is wrong.\nPROVE: it fails\n```python\nraise SystemExit(0)\n```\nPREDICT: It breaks.\n",
    "Reasons.\n\nCONSENSUS: BASE=P1. INCORPORATE: login from P2 MUST_FIX: none\n",
    "Reasons.\n\nDISCUSS: one\ntwo\n",
    "CONSENSUS: CRITICAL: none WARNINGS: a weakness CONFIRMED_CLEAN: the rest\n",
    "Reasons.\n\nRANKING: P1 > P2\n",
    "1. P2\n2. P1\n",
    "Looks good.\n\nAPPROVE\n",
    "REQUEST_CHANGES: the first\nthe second\n",
    "```python path=a.py\ndef f():\n    return 1\n```\n\nDELETE b.py\nRENAME c.py -> d.py\n",
    "`a.py`:\n```python\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```\n",
    "```diff\ndiff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n y = 3\n```\n",
    "<think>\nAGREE: P1\n</think>\nOBJECT: no\n",
)
FILES = (
    "# syntax=docker/dockerfile:1\nFROM python:3.11 AS base\nARG A=1\nENV B=$A C=d\nRUN --mount=type=bind,source=/,"
    'target=/x pip install x && curl http://x | sh\nCOPY --chown=0 . /app\nUSER root\nENTRYPOINT ["python"]\n',
    'services:\n  web:\n    image: nginx\n    ports: ["80:80"]\n    volumes:\n      - /:/host\n    privileged: true\n'
    "    environment:\n      TOKEN: abc\n    command: |\n      sh -c 'x'\nvolumes: {}\n",
    '[run]\nargv = ["python", "main.py"]\nseconds = 5\nenv = { A = "b" }\n[install]\nargv = ["pip", "install"]\n',
    '[table]\nseats = ["a"]\n[seats.a]\nvoice = "openai:gpt"\nrole = "critic"\n[limits]\nbudget_usd = 1.0\nrounds = 3\n'
    '[quorum]\nleast = 2\n[endpoints.x]\nbase_url = "http://x"\nkey = "env:X"\n[checks]\ntest = ["pytest"]\n',
    "Running 3 tests\n== 2 passed, 1 failed, 1 skipped in 0.01s ==\nFAILED tests/test_a.py::test_b - x\n",
    "test result: ok. 3 passed; 0 failed\nTests: 1 failed, 2 passed, 3 total\nRan 5 tests in 0.1s\nOK\n",
    "Write f. Examples:\n>>> f(1)\n2\nf('a') == 'b'\nf(2) returns 3\n",
)
_ACP_UPDATE = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "words"}}
MESSAGES: tuple[dict[str, Any], ...] = (
    {
        "jsonrpc": "2.0",
        "id": "initialize",
        "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": 1}},
    },
    {
        "jsonrpc": "2.0",
        "id": "session/new",
        "result": {"sessionId": "s", "modes": {"availableModes": [{"id": "m"}]}},
    },
    {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": _ACP_UPDATE}},
    {"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": {"options": [{"optionId": "x"}]}},
    {"jsonrpc": "2.0", "id": "session/prompt", "result": {"stopReason": "end_turn", "usage": {"inputTokens": 3}}},
    {"jsonrpc": "2.0", "id": "session/prompt", "error": {"code": -32603, "message": "x", "data": {"details": "y"}}},
    {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "apiKeySource": "none"},
    {"type": "result", "is_error": False, "result": "words", "total_cost_usd": 0.1, "usage": {"input_tokens": 3}},
    {"type": "result", "is_error": True, "result": "no", "api_error_status": 500, "usage": {"output_tokens": -3}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "words"}},
    {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 4}},
    {"type": "step_finish", "part": {"tokens": {"input": 5, "output": 3, "cache": {"read": 1}}, "cost": -1}},
)


def random_reply(dice: random.Random) -> str:
    """A valid reply in the form of some codec."""
    if dice.random() < 0.4:
        return dice.choice(REPLIES)
    name = dice.choice([name for name, codec in CODECS.items() if codec.schema is not None])
    block = random_block(dice, name)
    return dice.choice((f"Because.\n\n```json\n{block}\n```\n", block, f"Because.\n\n{block}"))


def random_block(dice: random.Random, codec: str) -> str:
    """The JSON object of a reply of this codec."""
    schema = CODECS[codec].schema
    assert schema is not None
    value = _random_value(dice, schema(Expect(codec, CHOICES)))
    return json.dumps(value, indent=dice.choice((None, 2)), ensure_ascii=dice.random() < 0.5)


def _random_value(dice: random.Random, schema: Schema) -> object:
    if dice.random() < 0.03:
        return dice.choice((None, [], {}, *_NUMBERS, *_WORDS))
    match schema["type"]:
        case "object":
            parts = cast("dict[str, Schema]", schema["properties"])
            return {name: _random_value(dice, part) for name, part in parts.items()}
        case "array":
            return [_random_value(dice, schema["items"]) for _ in range(dice.randrange(3))]
        case "string":
            return dice.choice(schema.get("enum") or _WORDS)
        case "boolean":
            return dice.random() < 0.5
        case _:
            return dice.choice(_NUMBERS) if dice.random() < 0.2 else dice.randrange(11)


def random_events(dice: random.Random) -> str:
    """A stream of server-sent events of one dialect, with some figures of its usage replaced."""
    wire = dice.choice((AnthropicWire, GeminiWire, ChatWire, ResponsesWire))("m", 3)
    content = AnswerContent(("Some ", "words."), thought=dice.choice(("", "hm")), refusal=dice.choice(("", "", "no")))
    data = b"".join(map(encode_fault_server_event, wire.answer_events(content))).decode()
    if dice.random() < 0.5:
        data = data.replace(": 100", f": {dice.choice(_NUMBERS)}").replace(": 3", f": {dice.choice(_NUMBERS)}")
    return data.replace("\n", "\r\n") if dice.random() < 0.2 else data


def random_messages(dice: random.Random) -> str:
    """Lines of JSON as agents and their protocol send them."""
    start = MESSAGES[:2] if dice.random() < 0.5 else ()
    return "".join(f"{json.dumps(_bend(dice, message))}\n" for message in (*start, *dice.choices(MESSAGES, k=3)))


def _bend(dice: random.Random, node: object) -> object:
    """The data with a few values replaced by those of other kinds."""
    if dice.random() < 0.02:
        return dice.choice((None, [], {}, *_NUMBERS, *_WORDS))
    if isinstance(node, dict):
        return {name: _bend(dice, value) for name, value in cast("dict[str, object]", node).items()}
    if isinstance(node, list):
        return [_bend(dice, value) for value in cast("list[object]", node)]
    return dice.choice(_NUMBERS) if isinstance(node, int | float) and dice.random() < 0.3 else node


def damage(dice: random.Random, text: str, parts: tuple[str, ...]) -> str:
    """The text with some pieces cut, repeated, moved or inserted."""
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        start = dice.randrange(len(text) + 1)
        end = min(len(text), start + dice.choice((1, 3, 10, 40)))
        kind = dice.randrange(4)
        if kind == 0:
            text = text[:start] + text[end:]
        elif kind == 1:
            text = text[:end] + text[start:]
        elif kind == 2:
            text = text[:start] + dice.choice(parts) * dice.choice((1, 1, 2, 20)) + text[start:]
        else:
            text = text[:start] if dice.random() < 0.3 else text[start:] + text[:start]
    return text


def seeds() -> Iterator[str]:
    """The fixed texts."""
    yield from (*REPLIES, *FILES)
