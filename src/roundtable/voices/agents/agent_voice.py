"""A seat that speaks through an agent command line that the person is logged in to.

One turn runs one process of the agent. The usage of the turn is priced as a subscription, as a key, or as unknown.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.text.quotation import escape_prompt_tags
from roundtable.core.usage import correct_reported_usage, estimate_usage
from roundtable.core.values import Message, Reply, Request, Usage
from roundtable.voices.agents.acp import AcpConversation, AcpTurn, adapt_agent_cli_to_acp
from roundtable.voices.agents.catalog import Agent, allow_agent_cli_edits
from roundtable.voices.agents.faults import AgentFaultClassifier
from roundtable.voices.agents.output_rules import OutputReader
from roundtable.voices.agents.process import EXIT_GRACE_SECONDS, AgentOutput, AgentProcess
from roundtable.voices.agents.workdirs import (
    SEAT_VARIABLE,
    NativeSession,
    NativeSessionCache,
    fill_agent_cli_placeholders,
    filter_agent_cli_environment,
    find_agent_cli_environment_secrets,
)
from roundtable.voices.prices import compute_provider_call_price
from roundtable.voices.rate_limits import CallPacer, RateLimitWaitError, create_voice_rate_limit_fault

MAX_AGENT_ANSWER = 4 * 1024 * 1024
"""Maximum characters of one answer."""

RETRY_GRACE_SECONDS = 1.0
"""Seconds an agent has to explain a failure that it wants to retry, before it is stopped."""

HEARTBEAT_SECONDS = 1.0
"""Seconds without words after which a working agent yields an empty piece."""

_KEPT_STDERR_LINES = 40
_STDERR_WAIT_SECONDS = 0.05
_TRUNCATED_FINISHES = {"length", "max_tokens", "max_turn_requests"}
_REFUSED_FINISHES = {"refusal", "content-filter", "content_filter"}

AgentKind = Literal["cli", "acp"]
"""The interface to an agent: its own command line, or the Agent Client Protocol."""


class AgentVoice:
    """One agent with one model. All voices of an agent share its pacer."""

    def __init__(
        self, agent: Agent, model: str, environ: Mapping[str, str], pace: CallPacer, kind: AgentKind = "cli"
    ) -> None:
        agent = adapt_agent_cli_to_acp(agent) if kind == "acp" else agent
        self.name = f"{kind}:{agent.name}:{model}" if model else f"{kind}:{agent.name}"
        self.vendor = agent.find_vendor(model)
        self.structured = agent.structured
        self.plain_when_long = False
        self.edits = agent.can_edit and kind == "cli"
        self._agent = agent
        self._model = model
        self._environ = environ
        self._pace = pace
        self._kind: AgentKind = kind
        self._sessions = NativeSessionCache()

    async def speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault]:
        """Ask once; the engine retries. If the agent lost its native session, send the whole conversation again."""
        try:
            async with self._pace.hold_slot(request.timeout), aclosing(self._speak(request)) as speech:
                yield ""
                async for item in speech:
                    if not isinstance(item, str):
                        self._pace.record_ending(item)
                    yield item
        except RateLimitWaitError as error:
            yield create_voice_rate_limit_fault(self.name, error)

    async def close(self) -> None:
        """Forget the native sessions and remove their folders. No process runs between calls."""
        self._sessions.clear()

    async def _speak(self, request: Request) -> AsyncGenerator[str | Reply | Fault]:
        program = find_agent_cli_program(self._agent, self._environ)
        if isinstance(program, Fault):
            yield program
            return
        native_session = self._sessions.take(request)
        try:
            while True:
                agent = allow_agent_cli_edits(self._agent) if request.workplace else self._agent
                agent_run = _AgentRun(agent, self._model, request, native_session, self._environ, self._kind)
                async with aclosing(agent_run.speak(program)) as speech:
                    async for piece in speech:
                        yield piece
                if not agent_run.lost:
                    break
                native_session.reset()
            yield await agent_run.price_ending()
        finally:
            self._sessions.put_back(request, native_session)


def find_agent_cli_program(agent: Agent, environ: Mapping[str, str]) -> str | Fault:
    """Return the path of the agent's program, or a fault that says how to install it."""
    path = shutil.which(Path(agent.command).expanduser(), path=environ.get("PATH"))
    if path:
        return str(Path(path).absolute())
    how = f"Install {agent.title or agent.name}, or set its path as `command` under [agents.{agent.name}]."
    return Fault.of(FaultKind.MISSING, f"The program `{agent.command}` is not installed.", help=agent.install or how)


class _AgentRun:
    """One process of an agent, from its start to its reply or fault."""

    def __init__(
        self,
        agent: Agent,
        model: str,
        request: Request,
        native_session: NativeSession,
        environ: Mapping[str, str],
        kind: AgentKind,
    ) -> None:
        self._agent = agent
        self._model = model
        self._request = request
        self._session = native_session
        self._work = Path(request.workplace) if request.workplace else native_session.folder.work
        self._names = {**native_session.folder.placeholders, "work": str(self._work)}
        self._environment = self._build_environment(environ)
        # A cancelled run leaves an incomplete native session: the id is restored only after a good ending.
        self._id, native_session.id = native_session.id, ""
        self._resumes = bool(self._id)
        self._used_before = native_session.used
        held = request.schema is not None
        self._reading = (
            AcpConversation(agent, self._build_acp_turn()) if kind == "acp" else OutputReader(agent, held=held)
        )
        self._stderr_lines: deque[str] = deque(maxlen=_KEPT_STDERR_LINES)
        self._retry_line = self._noted = ""
        self.lost = False
        self.ending: Reply | Fault = Fault.of(FaultKind.CANCELLED, f"{agent.name} was stopped.")

    async def speak(self, program: str) -> AsyncGenerator[str]:
        """Yield the words as they arrive; afterwards `ending` holds the reply or the fault."""
        native_session, values = self._session, self._build_placeholders()
        native_session.folder.write(self._agent.files, values)
        argv = [program, *(fill_agent_cli_placeholders(word, values) for word in self._build_argv())]
        try:
            greeting = self._reading.take_replies()
            opening = greeting or self._render_stdin()
            child = await AgentProcess.start(argv, opening, self._work, self._environment, stays=bool(greeting))
        except OSError as error:
            message = f"{self._agent.name} cannot be started: {error.strerror}."
            self.ending = Fault.of(FaultKind.CRASHED, message, retryable=False)
            return
        try:
            async with aclosing(self._stream_words(child)) as words:
                async for piece in words:
                    yield piece
        finally:
            child.write_input(self._reading.build_cancel_message())
            await child.terminate()
        self._update_native_session()

    async def _stream_words(self, child: AgentProcess) -> AsyncGenerator[str]:
        loop = asyncio.get_running_loop()
        began = spoke = breathed = loop.time()
        reading = self._reading
        while not (reading.over or reading.failure):
            limit = RETRY_GRACE_SECONDS if self._retry_line else self._agent.idle or self._request.timeout
            seconds_left = min(spoke + limit, began + self._request.timeout) - loop.time()
            output = await child.read_output(max(seconds_left, 0.0))
            if output is None:
                self.ending = self._classify_timeout(limit, loop.time() - began)
                return
            if output.kind == "line":
                words = reading.read_line(output.text)
                child.write_input(reading.take_replies())
                spoke = loop.time() if self._is_progress(words) else spoke
                if reading.size > MAX_AGENT_ANSWER:
                    self.ending = self._create_classifier().create_overflow_fault()
                    return
                if words or spoke - breathed >= HEARTBEAT_SECONDS:
                    breathed = spoke
                    yield words
            elif output.kind == "stderr":
                spoke = loop.time() if self._record_stderr(output) else spoke
            else:
                self.ending = await self._classify_early_end(child, output)
                return
        code = await child.wait_for_exit(EXIT_GRACE_SECONDS if reading.failure is None else RETRY_GRACE_SECONDS / 4)
        await self._read_remaining_stderr(child)
        self.ending = self._build_ending(code)

    def _is_progress(self, words: str) -> bool:
        """Return whether a line is progress. A note about a failed attempt starts the retry grace period."""
        if words:
            self._retry_line = ""
        if self._retry_line:
            return False
        noted, self._noted = self._noted, self._reading.note
        if noted != self._noted:
            self._starts_retry(self._noted)
        return True

    def _record_stderr(self, output: AgentOutput) -> bool:
        """Keep a line of standard error; return whether it announces a retry."""
        line = output.text.decode(errors="replace").strip()
        if line and not (self._agent.chatter and self._agent.chatter in line):
            self._stderr_lines.append(line)
        return self._starts_retry(line)

    def _starts_retry(self, line: str) -> bool:
        agent = self._agent
        if self._retry_line or not agent.retrying or not re.search(agent.retrying, line):
            return False
        self._retry_line = line
        return True

    async def _classify_early_end(self, child: AgentProcess, output: AgentOutput) -> Fault:
        if output.kind == "overflow":
            return self._create_classifier().create_overflow_fault()
        code = await child.wait_for_exit()
        await self._read_remaining_stderr(child)
        return self._create_classifier().classify_early_exit(self._reading, code)

    async def _read_remaining_stderr(self, child: AgentProcess) -> None:
        """Read the rest of standard error, unless the answer is complete."""
        while not self._has_complete_answer() and (output := await child.read_output(_STDERR_WAIT_SECONDS)) is not None:
            if output.kind == "stderr":
                self._record_stderr(output)

    def _has_complete_answer(self) -> bool:
        return self._reading.over and self._reading.failure is None and bool(self._reading.text.strip())

    def _create_classifier(self) -> AgentFaultClassifier:
        return AgentFaultClassifier(
            self._agent, find_agent_cli_environment_secrets(self._environment), list(self._stderr_lines)
        )

    def _classify_timeout(self, limit: float, waited: float) -> Fault:
        judge = self._create_classifier()
        if self._retry_line:
            match = re.search(self._agent.retrying, self._retry_line)
            return judge.classify_words(match[match.lastindex or 0] if match else self._retry_line)
        if waited >= self._request.timeout:
            return judge.create_timeout_fault(self._reading, waited)
        return judge.create_silence_fault(self._reading, limit)

    def _build_ending(self, code: int | None) -> Reply | Fault:
        reading, judge = self._reading, self._create_classifier()
        if reading.failure is not None:
            return judge.classify_reported_failure(reading, code)
        if reading.finish in _REFUSED_FINISHES:
            return judge.create_refusal_fault()
        if not reading.text.strip():
            return judge.create_empty_answer_fault(reading)
        model = reading.model or self._model
        return Reply(reading.text, model=model, truncated=reading.finish in _TRUNCATED_FINISHES)

    async def price_ending(self) -> Reply | Fault:
        """Return the ending with usage and cost. A failed turn is billed too."""
        usage = await _price_agent_usage(
            self._agent, self._reading, self._compute_usage(), self._model, self._environment
        )
        return msgspec.structs.replace(self.ending, usage=usage)

    def _compute_usage(self) -> Usage:
        """Return the usage of this turn, with an estimate where the report is missing or implausible."""
        used, text = self._find_reported_usage(), self._reading.text
        if not (text or self._reading.misreports or used.tokens):
            return used
        prompt_bytes = sum(len(message.text.encode(errors="replace")) for message in self._request.messages)
        reported = Usage(cost_usd=used.cost_usd) if self._reading.misreports else used
        return correct_reported_usage(reported, estimate_usage(prompt_bytes, text))

    def _find_reported_usage(self) -> Usage:
        """Return the reported usage of this turn. Some agents report the total of the native session."""
        used, before = self._reading.usage, self._used_before
        if not (self._agent.cumulative and self._resumes):
            return used
        return msgspec.structs.replace(
            used,
            input_tokens=max(0, used.input_tokens - before.input_tokens),
            output_tokens=max(0, used.output_tokens - before.output_tokens),
            cached_tokens=max(0, used.cached_tokens - before.cached_tokens),
            cache_write_tokens=max(0, used.cache_write_tokens - before.cache_write_tokens),
        )

    def _update_native_session(self) -> None:
        """Remember the native session after a good turn; a failed one is never continued."""
        native_session = self._session
        if isinstance(self.ending, Reply):
            native_session.id = self._reading.session if self._agent.keeps_session else ""
            native_session.messages = (*self._request.messages, Message("assistant", self.ending.text))
            native_session.used = self._reading.usage
            return
        words = " ".join((*self._stderr_lines, self._reading.note))
        self.lost = self._resumes and bool(self._agent.lost) and self._agent.lost in words

    # --- the input of the agent -------------------------------------------------------------------

    def _build_argv(self) -> list[str]:
        """Return the arguments, with the parts that apply filled in."""
        agent = self._agent
        is_continuable = agent.keeps_session and NativeSessionCache.accepts(self._request)
        parts = {
            "{hands}": agent.hands,
            "{model}": agent.model if self._model else (),
            "{schema}": agent.schema if self._request.schema is not None else (),
            "{session}": agent.resume if self._resumes else () if is_continuable else agent.alone,
        }
        return [word for place in agent.argv for word in parts.get(place, (place,))]

    def _build_placeholders(self) -> dict[str, str]:
        return {
            **self._names,
            "id": self._id,
            "name": self._model,
            "form": json.dumps(self._request.schema) if self._request.schema is not None else "",
            "system": _render_agent_system(self._request.messages),
        }

    def _build_acp_turn(self) -> AcpTurn:
        agent, model = self._agent, self._model
        assert agent.acp is not None
        return AcpTurn(
            self._render_prompt(),
            str(self._work),
            mode=agent.acp.mode,
            model="" if "{model}" in agent.argv else model,
            session=self._id,
            meta=_fill_placeholders_in(agent.acp.meta, self._build_placeholders()),
        )

    def _render_stdin(self) -> bytes:
        text = self._render_prompt()
        return fill_agent_cli_placeholders(self._agent.stdin, {"prompt": text, "json": json.dumps(text)}).encode()

    def _render_prompt(self) -> str:
        new = self._request.messages[len(self._session.messages) :] if self._resumes else self._request.messages
        text = _render_agent_conversation(new)
        if self._agent.system_in_prompt and not self._resumes:
            system = re.sub(r"<(?=\s*/\s*instructions)", r"<\\", _render_agent_system(new), flags=re.IGNORECASE)
            text = f"<instructions>\n{system}\n</instructions>\n\n{text}"
        return text

    def _build_environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        agent = self._agent
        variables = filter_agent_cli_environment(environ, (*agent.variables, *agent.key_variables))
        variables |= {**self._request.variables, SEAT_VARIABLE: self._request.seat}
        return variables | {name: fill_agent_cli_placeholders(value, self._names) for name, value in agent.set.items()}


def _fill_placeholders_in(data: Any, values: Mapping[str, str]) -> Any:
    """Return the data with the placeholders in all its texts filled in."""
    if isinstance(data, dict):
        return {name: _fill_placeholders_in(value, values) for name, value in cast("dict[str, Any]", data).items()}
    return fill_agent_cli_placeholders(data, values) if isinstance(data, str) else data


async def _price_agent_usage(
    agent: Agent, reading: OutputReader, used: Usage, model: str, environ: Mapping[str, str]
) -> Usage:
    """Return the usage with its price. Usage on a subscription costs nothing, but its list price is kept."""
    cost = await _compute_cost(agent.prices, (reading.model, model), used)
    if not _is_paid_by_plan(agent, reading, environ):
        return msgspec.structs.replace(used, cost_usd=cost)
    return msgspec.structs.replace(used, cost_usd=0.0, plan_tokens=used.tokens, plan_usd=cost)


def _is_paid_by_plan(agent: Agent, reading: OutputReader, environ: Mapping[str, str]) -> bool:
    """Return whether a subscription pays. A key takes precedence; then the agent's own report; then the login."""
    if agent.has_key(environ):
        return False
    return bool(agent.key_variables) if reading.plan is None else reading.plan


async def _compute_cost(prices: str, models: tuple[str, ...], used: Usage) -> float | None:
    """Return the reported cost, else the list price. A reported cost of 0 means that the agent knows no price."""
    if used.cost_usd or not used.tokens:
        return used.cost_usd
    for model in models if prices else ():
        cost = await compute_provider_call_price(prices, model, used) if model else None
        if cost is not None:
            return cost
    return None


DEFAULT_SYSTEM = "You take part in a discussion. Answer in plain text."
"""The system prompt where a request has none."""


def _render_agent_system(messages: Sequence[Message]) -> str:
    """Return the system prompt of a conversation."""
    return (
        "\n\n".join(_sanitize_agent_input(message.text) for message in messages if message.role == "system")
        or DEFAULT_SYSTEM
    )


def _render_agent_conversation(messages: Sequence[Message]) -> str:
    """Return the last question; earlier turns are quoted before it between marks."""
    *earlier, last = [message for message in messages if message.role != "system"] or [Message("user", "")]
    if not earlier:
        return _sanitize_agent_input(last.text)
    turns = [f'<turn by="{_name_speaker(message)}">\n{_inside(message)}\n</turn>' for message in earlier]
    return "\n\n".join(["This was said so far:", *turns, "Now answer this:", _sanitize_agent_input(last.text)])


def _sanitize_agent_input(text: str) -> str:
    """Return the text without lone surrogates and null characters, which a pipe cannot carry."""
    return text.encode(errors="replace").decode().replace("\0", "")


def _name_speaker(message: Message) -> str:
    return "you" if message.role == "assistant" else "the table"


def _inside(message: Message) -> str:
    text = _sanitize_agent_input(message.text)
    if message.role == "assistant":
        return escape_prompt_tags(text)
    return re.sub(r"<(?=\s*/\s*turn)", r"<\\", text, flags=re.IGNORECASE)
