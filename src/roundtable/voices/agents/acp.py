"""The Agent Client Protocol: one turn as a JSON-RPC 2.0 conversation over pipes.

This module does no I/O. The runner passes the agent's lines in and writes the replies that come out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from roundtable.core.faults import FaultKind
from roundtable.voices.agents.catalog import Agent, OutputRule
from roundtable.voices.agents.output_rules import (
    OutputReader,
    ReportedFailure,
    read_agent_cli_event_number,
    read_agent_cli_event_text,
)

METHOD_NOT_FOUND = -32601


def _encode_acp_call(method: str, params: Mapping[str, Any]) -> bytes:
    """Encode a request. The method is also the id, because no method is called twice at the same time."""
    return _line(id=method, method=method, params=params)


def _encode_acp_notice(method: str, params: Mapping[str, Any]) -> bytes:
    """Encode a notification, which has no answer."""
    return _line(method=method, params=params)


def _encode_acp_result(id: object, result: Mapping[str, Any]) -> bytes:
    """Encode the result of a request from the agent."""
    return _line(id=id, result=result)


def _encode_acp_error(id: object, code: int, message: str) -> bytes:
    """Encode an error in answer to a request from the agent."""
    return _line(id=id, error={"code": code, "message": message})


def _line(**message: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"


ACP_VERSION = 1

_NEW, _LOAD, _PROMPT = "session/new", "session/load", "session/prompt"
_LOAD_FAILED_MESSAGE = "The session could not be loaded."
_UPDATE = "params.update.sessionUpdate"
_AUTH_REQUIRED = -32000
_ERROR_TEXT_PATHS = ("error.message", "error.data.details", "error.data.message", "error.data")

_CLIENT_CAPABILITIES: dict[str, Any] = {
    "fs": {"readTextFile": False, "writeTextFile": False},
    "terminal": False,
    # Without this capability an agent puts its warnings into its answer.
    "session": {"notices": {}},
}

_OUTPUT_RULES = (
    OutputRule(when={_UPDATE: "agent_message_chunk"}, says="params.update.content.text"),
    OutputRule(when={_UPDATE: "tool_call"}, begins=True),
    OutputRule(when={_UPDATE: "tool_call_update", "params.update.status": "failed"}, denied="params.update.title"),
    OutputRule(when={_UPDATE: "notice"}, note="params.update.title"),
    OutputRule(
        when={"id": _PROMPT},
        finish="result.stopReason",
        # The last path is the one of Gemini CLI.
        input=(
            *("result.usage.inputTokens", "result.usage.cachedReadTokens", "result.usage.cachedWriteTokens"),
            "result._meta.quota.token_count.input_tokens",
        ),
        output=("result.usage.outputTokens", "result._meta.quota.token_count.output_tokens"),
        cached="result.usage.cachedReadTokens",
        written="result.usage.cachedWriteTokens",
        ends=True,
    ),
)


def adapt_agent_cli_to_acp(agent: Agent) -> Agent:
    """Return the agent as it is started to speak the Agent Client Protocol."""
    acp = agent.acp
    assert acp is not None
    return msgspec.structs.replace(
        agent,
        command=acp.command or agent.command,
        argv=acp.argv,
        install=acp.install,
        reads=_OUTPUT_RULES,
        schema=(),
        resume=(_LOAD,) if acp.resumes else (),
        lost=_LOAD_FAILED_MESSAGE,
        cumulative=False,
        system_in_prompt=acp.system_in_prompt,
    )


class AcpTurn(msgspec.Struct, frozen=True):
    """The input of one turn: prompt, working folder, mode, model, metadata, and the session to continue."""

    prompt: str
    folder: str
    mode: str = ""
    model: str = ""
    session: str = ""
    meta: dict[str, Any] = {}


class _InitializeResult(msgspec.Struct, rename="camel"):
    protocol_version: int = 0
    agent_capabilities: dict[str, Any] | None = None


class _ConfigOption(msgspec.Struct):
    id: str = ""
    category: str | None = None


class _PermissionOption(msgspec.Struct, rename="camel"):
    option_id: str
    kind: str = ""


class _PermissionRequest(msgspec.Struct):
    options: list[_PermissionOption] = []


class _SessionResult(msgspec.Struct, rename="camel"):
    """An opened session and what can be set in it, in the newer and the older form of the protocol."""

    session_id: str = ""
    config_options: list[_ConfigOption] | None = None
    modes: dict[str, Any] | None = None
    models: dict[str, Any] | None = None

    def setting(self, what: str, value: str) -> tuple[str, dict[str, str]] | None:
        """Return the call that sets a `mode` or a `model`, or None if it cannot be set."""
        options = [option.id for option in self.config_options or () if what in (option.category, option.id)]
        if options:
            return "session/set_config_option", {"configId": options[0], "value": value}
        if {"mode": self.modes, "model": self.models}[what]:
            return f"session/set_{what}", {f"{what}Id": value}
        return None


class AcpConversation(OutputReader):
    """One turn with an agent: reads its messages and prepares the replies.

    The agent may only talk: it is offered no files and no terminal, and every permission request is rejected.
    """

    def __init__(self, agent: Agent, errand: AcpTurn) -> None:
        super().__init__(agent, held=False)
        self._turn = errand
        self._id = errand.session
        self._loads = False
        self._settings: list[tuple[str, dict[str, str]]] = []
        self._replies: list[bytes] = []
        self._call("initialize", {"protocolVersion": ACP_VERSION, "clientCapabilities": _CLIENT_CAPABILITIES})

    def take_replies(self) -> bytes:
        """Return the replies that wait to be sent to the agent."""
        replies, self._replies = self._replies, []
        return b"".join(replies)

    def build_cancel_message(self) -> bytes:
        """Return the message that cancels an unfinished answer; empty if there is none."""
        return _encode_acp_notice("session/cancel", {"sessionId": self._id}) if self._asked and not self.over else b""

    def read_event(self, event: Any) -> str:
        """Read one message and return its words. Words before the prompt was sent are not part of the answer."""
        if not isinstance(event, dict):
            return ""
        message = cast("dict[str, Any]", event)
        if "method" in message:
            if "id" in message:
                self._refuse_request(message)
        elif message.get("error") is not None:
            self._take_error(message)
        elif message.get("id") == self._awaited and not self._asked:
            self._take_result(message)
        return super().read_event(message) if self._asked else ""

    @property
    def _asked(self) -> bool:
        """Whether the prompt itself was sent."""
        return self._awaited == _PROMPT

    def _call(self, method: str, params: Mapping[str, Any]) -> None:
        self._awaited = method
        self._replies.append(_encode_acp_call(method, params))

    def _refuse_request(self, message: Mapping[str, Any]) -> None:
        method = read_agent_cli_event_text(message, "method")
        self.denied = read_agent_cli_event_text(message, "params.toolCall.title") or method
        if method == "session/request_permission":
            self._replies.append(
                _encode_acp_result(message["id"], {"outcome": _build_rejection(message.get("params"))})
            )
        else:
            self._replies.append(_encode_acp_error(message["id"], METHOD_NOT_FOUND, "This method is not supported."))

    def _take_error(self, message: Mapping[str, Any]) -> None:
        code = int(read_agent_cli_event_number(message, "error.code"))
        words = " ".join(filter(None, (read_agent_cli_event_text(message, path) for path in _ERROR_TEXT_PATHS)))
        kind = FaultKind.UNAUTHORIZED if code == _AUTH_REQUIRED else None
        kind = FaultKind.MISSING if self._awaited.startswith("session/set_") else kind
        self._set_failure(words or f"error {code}", kind, code if 400 <= code < 600 else 0)
        if self._awaited == _LOAD:
            self.note = _LOAD_FAILED_MESSAGE

    def _set_failure(self, words: str, kind: FaultKind | None, status: int = 0) -> None:
        self.failure = ReportedFailure(OutputRule(when={}, kind=kind), words, status)

    def _take_result(self, message: Mapping[str, Any]) -> None:
        """Take the result of the last call and make the next call."""
        try:
            if self._awaited == "initialize":
                self._take_initialize_result(msgspec.convert(message.get("result"), _InitializeResult))
                return
            if self._awaited in (_NEW, _LOAD):
                self._take_session_result(msgspec.convert(message.get("result") or {}, _SessionResult))
            self._ask_next()
        except msgspec.ValidationError as error:
            self._set_failure(f"sent an invalid message: {error}", FaultKind.MALFORMED)

    def _take_initialize_result(self, greeting: _InitializeResult) -> None:
        if greeting.protocol_version != ACP_VERSION:
            self._set_failure(f"speaks version {greeting.protocol_version} of the protocol.", FaultKind.MISSING)
            return
        self._loads = (greeting.agent_capabilities or {}).get("loadSession") is True
        place: dict[str, Any] = {"cwd": self._turn.folder, "mcpServers": []}
        if self._turn.meta:
            place["_meta"] = self._turn.meta
        if self._id:
            self._call(_LOAD, {"sessionId": self._id, **place})
        else:
            self._call(_NEW, place)

    def _take_session_result(self, entry: _SessionResult) -> None:
        self._id = entry.session_id or self._id
        if not self._id:
            self._set_failure("opened a session without an id.", FaultKind.MALFORMED)
        self.session = self._id if self._loads else ""
        for what, value in (("model", self._turn.model), ("mode", self._turn.mode)):
            setting = entry.setting(what, value) if value else None
            if setting is not None:
                self._settings.append(setting)
            elif value:
                self._set_failure(f"has no {what} that could be set to {value}.", FaultKind.MISSING)

    def _ask_next(self) -> None:
        """Send the settings that are left, then the prompt."""
        if self.failure is not None:
            return
        if self._settings:
            method, params = self._settings.pop(0)
            self._call(method, {"sessionId": self._id, **params})
            return
        prompt = [{"type": "text", "text": self._turn.prompt}]
        self._call(_PROMPT, {"sessionId": self._id, "prompt": prompt})


def _build_rejection(params: object) -> dict[str, str]:
    """Return the outcome that rejects a request once, so that the agent continues; without that option, cancel."""
    try:
        options = msgspec.convert(params, _PermissionRequest).options
    except msgspec.ValidationError:
        options = []
    chosen = [option.option_id for option in options if option.kind == "reject_once"]
    return {"outcome": "selected", "optionId": chosen[0]} if chosen else {"outcome": "cancelled"}
