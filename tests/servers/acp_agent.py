"""A program that speaks the Agent Client Protocol over its pipes, and misbehaves as asked.

Run by its path; it imports nothing of ours. Everything it is told goes into `--notes`, one JSON line each.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ID = "sess-1"
MODES = {"currentModeId": "default", "availableModes": [{"id": "default"}, {"id": "plan"}]}
OPTIONS = [{"id": "llm", "category": "model", "currentValue": "small"}, {"id": "effort", "category": None}]
USAGE = {"inputTokens": 30, "cachedReadTokens": 60, "cachedWriteTokens": 10, "outputTokens": 11, "totalTokens": 111}
WRITE = {"toolCallId": "t1", "title": "write notes.txt", "kind": "edit", "status": "pending"}


class Agent:
    """One conversation with whoever started us."""

    def __init__(self, act: str, notes: Path) -> None:
        self.act = act
        self.notes = notes

    def listen(self) -> Iterator[dict[str, Any]]:
        for line in sys.stdin:
            with self.notes.open("a") as file:
                file.write(line)
            yield json.loads(line)

    def serve(self) -> None:
        for message in self.listen():
            self.answer(message, message.get("params", {}))

    def answer(self, message: dict[str, Any], params: dict[str, Any]) -> None:
        """Do what is asked for."""
        method = message["method"]
        if self.act == f"hangs at {method}":
            time.sleep(600)
        elif method == "initialize":
            version = 7 if self.act == "speaks another version" else 1
            can = {"loadSession": self.act != "cannot load"}
            self.done(message, {"protocolVersion": version, "agentCapabilities": can, "authMethods": []})
        elif method == "session/new":
            self.enter(message)
        elif method == "session/load":
            self.load(message)
        elif method.startswith("session/set_"):
            self.set(message, params)
        elif method == "session/prompt":
            self.prompt(message)

    def enter(self, message: dict[str, Any]) -> None:
        if self.act == "wants a login":
            self.fail(message, -32000, "Authentication required")
        elif self.act == "opens nothing":
            self.done(message, {"sessionId": ["no"]})
        else:
            modes = None if self.act == "has no modes" else MODES
            self.done(message, {"sessionId": ID, "modes": modes, "configOptions": OPTIONS})

    def load(self, message: dict[str, Any]) -> None:
        if self.act == "has lost the session":
            self.fail(message, -32603, "Internal error", {"details": "Invalid session identifier"})
            return
        self.update("user_message_chunk", content={"type": "text", "text": "One?"})
        self.say("All of this was said before.")
        self.done(message, {"modes": MODES, "configOptions": OPTIONS})

    def set(self, message: dict[str, Any], params: dict[str, Any]) -> None:
        if params.get("value") == "unheard-of":
            self.fail(message, -32603, "Internal error", {"details": "Invalid value for config option"})
            return
        self.say("[MODE_UPDATE] plan")
        self.done(message, {})

    def prompt(self, message: dict[str, Any]) -> None:
        """Answer the question in the way that was asked for."""
        act = self.act
        if act == "asks for a permission":
            chosen = self.asked("session/request_permission", toolCall=WRITE, options=_options())["result"]
            self.say(f"I was told: {chosen['outcome']['optionId']}.")
        elif act == "gives up without a permission":
            self.asked("session/request_permission", toolCall=WRITE, options=[])
            self.done(message, {"stopReason": "cancelled"})
        elif act == "writes a file":
            error = self.asked("fs/write_text_file", path=str(self.notes.parent / "written"), content="x")["error"]
            assert error["code"] == -32601
        elif act in ("says half", "dies", "babbles", "floods"):
            self.break_off()
        elif act.startswith("fails with "):
            self.fail(message, -32603, "Internal error", {"details": act.removeprefix("fails with ")})
        elif act.startswith("fails by "):
            self.fail(message, int(act.removeprefix("fails by ")), f"as asked, with {os.environ.get('GEMINI_API_KEY')}")
        elif act.startswith("stops for "):
            self.say("Some words.")
            self.done(message, {"stopReason": act.removeprefix("stops for ")})
        elif act != "says nothing":
            self.talk()
        factor = int(act.removeprefix("reports ")) if act.startswith("reports ") else 1
        usage = {name: count * factor for name, count in USAGE.items()}
        self.done(message, {"stopReason": "end_turn", "usage": usage})

    def break_off(self) -> None:
        """End, or never end, without having answered."""
        if self.act == "dies":
            sys.exit("something broke")
        if self.act == "babbles":
            print("Welcome to the agent!\n<html>\n[1, 2]\n", end="", flush=True)
            sys.exit()
        while self.act == "floods":
            os.write(1, b"x" * 65536)
        self.say("Half of ")
        time.sleep(600)

    def talk(self) -> None:
        """A good answer in two messages, with all that is not for the table around it."""
        self.update("agent_thought_chunk", content={"type": "text", "text": "Hm, what do they want?"})
        self.update("plan", entries=[{"content": "answer", "priority": "high", "status": "pending"}])
        self.say("The table hears: ")
        self.say("naïve café, 東京, 🦉.")
        self.update("tool_call", **WRITE)
        self.update("tool_call_update", toolCallId="t1", status="failed")
        self.update("something_new", words="of a later version")
        self.say("And a last word.")

    def asked(self, method: str, **params: Any) -> dict[str, Any]:
        """What we are answered."""
        _write(id=7, method=method, params={"sessionId": ID, **params})
        return next(self.listen())

    def say(self, words: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": words})

    def update(self, what: str, **more: Any) -> None:
        _write(method="session/update", params={"sessionId": ID, "update": {"sessionUpdate": what, **more}})

    def done(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        _write(id=message["id"], result=result)

    def fail(self, message: dict[str, Any], code: int, words: str, data: Any = None) -> None:
        _write(id=message["id"], error={"code": code, "message": words, "data": data})


def _options() -> list[dict[str, str]]:
    return [{"optionId": f"{kind}-now", "kind": kind, "name": kind} for kind in ("allow_once", "reject_once")]


def _write(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    """Serve until nobody listens."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--act", default="talks")
    parser.add_argument("--notes", type=Path, required=True)
    options = parser.parse_args()
    Agent(options.act, options.notes).serve()


if __name__ == "__main__":
    main()
