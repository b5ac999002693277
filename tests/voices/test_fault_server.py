"""The fault server speaks each dialect as its vendor documents it, and can do everything in all of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator
from itertools import groupby
from typing import Any

import httpx2
import pytest

from roundtable.voices.fault_server import BEHAVIOURS, DEFAULT_ANSWER_TEXT, FaultServer
from roundtable.voices.fault_server.server import WIRES_BY_DIALECT

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:{method}",
}
LEFT_OPEN = {"open_end", "left_open"}
ENDLESS = {"hang", "hang_midway", "drip", *LEFT_OPEN}
TOKENS = len(DEFAULT_ANSWER_TEXT.split(" "))

Events = list[tuple[str, Any]]


class Client:
    """A plain HTTP client that knows where each dialect is spoken."""

    def __init__(self, server: FaultServer, http: httpx2.AsyncClient) -> None:
        self.server = server
        self._http = http

    async def post(self, dialect: str, model: str = "alpha", *, stream: bool = True, **body: Any) -> httpx2.Response:
        method = "streamGenerateContent" if stream else "generateContent"
        path = PATHS[dialect].format(model=model, method=method)
        return await self._http.post(self.server.root + path, json={"model": model, "stream": stream, **body})

    async def events(self, dialect: str, model: str = "alpha", **body: Any) -> Events:
        """The events of a stream, each with its name; text where it is not JSON."""
        response = await self.post(dialect, model, **body)
        assert response.headers["content-type"] == "text/event-stream"
        return [_event(block) for block in response.text.split("\n\n") if block]

    async def get(self, path: str) -> Any:
        return (await self._http.get(self.server.root + path)).json()


def _event(block: str) -> tuple[str, Any]:
    fields = dict(line.split(": ", 1) for line in block.split("\n"))
    data = fields["data"]
    return fields.get("event", ""), json.loads(data) if data.startswith("{") else data


@pytest.fixture
async def client() -> AsyncGenerator[Client, None]:
    async with FaultServer() as server, httpx2.AsyncClient(trust_env=False, verify=False, timeout=30) as http:
        yield Client(server, http)


def kinds(events: Events) -> list[str]:
    """The names of the events in their order, repetitions said once."""
    return [name for name, _ in groupby(name for name, _ in events)]


class TestChat:
    async def test_a_chat_stream_has_words_reason_usage_and_end_mark(self, client: Client) -> None:
        events = await client.events("openai-chat")
        chunks = [data for _, data in events[:-1]]
        choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
        assert events[-1] == ("", "[DONE]")
        assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
        assert choices[0]["delta"] == {"role": "assistant", "content": ""}
        assert "".join(choice["delta"].get("content", "") for choice in choices) == DEFAULT_ANSWER_TEXT
        assert [choice["finish_reason"] for choice in choices][-2:] == [None, "stop"]
        assert chunks[-1]["usage"]["prompt_tokens_details"] == {"cached_tokens": 60}
        assert chunks[-1]["usage"]["completion_tokens"] == TOKENS

    async def test_a_chat_completion_can_be_sent_whole(self, client: Client) -> None:
        answer = (await client.post("openai-chat", stream=False)).json()
        assert answer["object"] == "chat.completion"
        assert answer["choices"][0]["message"]["content"] == DEFAULT_ANSWER_TEXT

    async def test_a_chat_refusal_has_its_own_field(self, client: Client) -> None:
        events = await client.events("openai-chat", "refusal")
        deltas = [data["choices"][0]["delta"] for _, data in events[:-1] if data["choices"]]
        assert "".join(delta.get("refusal", "") for delta in deltas) == "I cannot help with that."

    async def test_a_chat_error_has_the_shape_of_openai(self, client: Client) -> None:
        error = (await client.post("openai-chat", "context_overflow")).json()["error"]
        assert error["code"] == "context_length_exceeded"


class TestResponses:
    async def test_response_items_are_added_filled_finished_and_repeated(self, client: Client) -> None:
        events = await client.events("openai-responses")
        assert kinds(events) == [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
        assert all(name == data["type"] for name, data in events)
        assert [data["sequence_number"] for _, data in events] == list(range(len(events)))
        assert "".join(data["delta"] for name, data in events if name.endswith("text.delta")) == DEFAULT_ANSWER_TEXT
        response = events[-1][1]["response"]
        assert response["output"][0]["content"][0]["text"] == DEFAULT_ANSWER_TEXT
        assert response["usage"]["input_tokens_details"] == {"cached_tokens": 60}

    async def test_a_response_can_be_sent_whole(self, client: Client) -> None:
        answer = (await client.post("openai-responses", stream=False)).json()
        assert (answer["object"], answer["status"]) == ("response", "completed")
        assert answer["output"][0]["content"][0]["text"] == DEFAULT_ANSWER_TEXT

    async def test_a_responses_refusal_is_a_part_of_the_message(self, client: Client) -> None:
        events = await client.events("openai-responses", "refusal")
        part = events[-1][1]["response"]["output"][0]["content"][0]
        assert part == {"type": "refusal", "refusal": "I cannot help with that."}

    @pytest.mark.parametrize(("model", "reason"), [("length", "max_output_tokens"), ("filtered", "content_filter")])
    async def test_an_incomplete_response_says_why(self, client: Client, model: str, reason: str) -> None:
        name, last = (await client.events("openai-responses", model))[-1]
        assert name == "response.incomplete"
        assert last["response"]["incomplete_details"] == {"reason": reason}

    async def test_a_response_can_fail_during_the_answer(self, client: Client) -> None:
        name, last = (await client.events("openai-responses", "midstream_error"))[-1]
        assert (name, last["response"]["status"]) == ("response.failed", "failed")
        assert last["response"]["error"]["code"] == "server_is_overloaded"


class TestAnthropic:
    async def test_an_anthropic_message_has_blocks_between_start_and_stop(self, client: Client) -> None:
        events = await client.events("anthropic", "reasoning")
        assert kinds(events) == [
            "message_start",
            "ping",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
        deltas = [(data["index"], data["delta"]["type"]) for name, data in events if name == "content_block_delta"]
        assert deltas == [(0, "thinking_delta"), (0, "signature_delta"), (1, "text_delta"), (1, "text_delta")]

    async def test_anthropic_usage_counts_cached_tokens_separately(self, client: Client) -> None:
        events = dict(await client.events("anthropic"))
        usage = events["message_start"]["message"]["usage"]
        assert sum(count for name, count in usage.items() if "input" in name) == 100
        assert events["message_delta"] == {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": TOKENS},
        }

    async def test_an_anthropic_message_can_be_sent_whole(self, client: Client) -> None:
        answer = (await client.post("anthropic", stream=False)).json()
        assert (answer["type"], answer["stop_reason"]) == ("message", "end_turn")
        assert answer["content"] == [{"type": "text", "text": DEFAULT_ANSWER_TEXT}]

    async def test_an_anthropic_refusal_is_a_stop_reason(self, client: Client) -> None:
        events = dict(await client.events("anthropic", "refusal"))
        assert events["message_delta"]["delta"]["stop_reason"] == "refusal"
        assert "content_block_start" not in events

    async def test_an_anthropic_error_is_named_by_its_type(self, client: Client) -> None:
        response = await client.post("anthropic", "529")
        assert (response.status_code, response.json()["error"]["type"]) == (529, "overloaded_error")
        name, event = (await client.events("anthropic", "midstream_error"))[-1]
        assert (name, event["error"]["type"]) == ("error", "overloaded_error")

    async def test_the_tokens_of_a_message_are_counted(self, client: Client) -> None:
        client.server.behave = "500"
        async with httpx2.AsyncClient(trust_env=False) as http:
            answer = await http.post(f"{client.server.root}/v1/messages/count_tokens", json={"model": "alpha"})
        assert answer.json() == {"input_tokens": 100}


class TestGemini:
    async def test_a_gemini_stream_has_parts_and_a_reason(self, client: Client) -> None:
        answers = [data for _, data in await client.events("gemini", "reasoning")]
        candidates = [answer["candidates"][0] for answer in answers]
        parts = [part for candidate in candidates for part in candidate.get("content", {"parts": []})["parts"]]
        assert "".join(part["text"] for part in parts if not part.get("thought")) == "Parts, then words."
        assert candidates[-1]["finishReason"] == "STOP"
        assert answers[-1]["usageMetadata"]["cachedContentTokenCount"] == 60
        assert answers[-1]["modelVersion"] == "reasoning"

    async def test_a_gemini_response_can_be_sent_whole(self, client: Client) -> None:
        answer = (await client.post("gemini", stream=False)).json()
        assert answer["candidates"][0]["content"] == {"parts": [{"text": DEFAULT_ANSWER_TEXT}], "role": "model"}

    async def test_a_blocked_prompt_has_no_candidates(self, client: Client) -> None:
        ((_, answer),) = await client.events("gemini", "refusal")
        assert answer["promptFeedback"]["blockReason"] == "PROHIBITED_CONTENT"
        assert "candidates" not in answer

    async def test_a_gemini_rate_limit_says_how_long_to_wait(self, client: Client) -> None:
        response = await client.post("gemini", "rate_limited")
        error = response.json()["error"]
        assert (error["code"], error["status"]) == (429, "RESOURCE_EXHAUSTED")
        assert error["details"][0]["retryDelay"] == "7s"
        assert response.headers["retry-after"] == "7"

    async def test_tokens_are_counted_and_models_listed(self, client: Client) -> None:
        assert (await client.get("/v1beta/models"))["models"][0]["name"] == "models/alpha"
        async with httpx2.AsyncClient(trust_env=False) as http:
            answer = await http.post(f"{client.server.root}/v1beta/models/alpha:countTokens", json={})
        assert answer.json() == {"totalTokens": 100}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("dialect", WIRES_BY_DIALECT)
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
async def test_every_behaviour_works_in_every_dialect(
    client: Client, behaviour: str, dialect: str, stream: bool
) -> None:
    client.server.behave = behaviour
    endless = behaviour in ENDLESS and (stream or behaviour not in LEFT_OPEN)
    with contextlib.suppress(TimeoutError, httpx2.NetworkError, httpx2.RemoteProtocolError):
        async with asyncio.timeout(0.2 if endless else 30):
            await client.post(dialect, stream=stream)
    assert await client.server.is_left_alone()
    (request,) = client.server.seen
    assert (request.finished, request.disconnected) == (not endless, endless)


@pytest.mark.parametrize("dialect", WIRES_BY_DIALECT)
async def test_only_the_right_key_is_accepted(dialect: str) -> None:
    header = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}.get(dialect, "authorization")
    async with FaultServer(key="right") as server, httpx2.AsyncClient(trust_env=False) as http:
        url = server.root + PATHS[dialect].format(model="alpha", method="generateContent")
        right = "Bearer right" if header == "authorization" else "right"
        answers = [await http.post(url, json={"model": "a"}, headers={header: key}) for key in (right, "wrong")]
    assert [answer.status_code for answer in answers] == [200, 400 if dialect == "gemini" else 401]


async def test_the_behaviour_is_chosen_by_header_then_server_then_model(client: Client) -> None:
    client.server.behave = "500"
    assert (await client.post("openai-chat", "429")).status_code == 500
    async with httpx2.AsyncClient(trust_env=False, headers={"x-behave": "404"}) as http:
        answer = await http.post(f"{client.server.url}/chat/completions", json={"model": "429"})
    assert answer.status_code == 404
    client.server.behave = ""
    assert (await client.post("openai-chat", "429")).status_code == 429


ATTEMPTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "openai-chat": [
        ("write", {}),
        ("bash", {"messages": [{"role": "tool"}]}),
        ("", {"messages": [{"role": "tool"}, {"role": "tool"}]}),
    ],
    "openai-responses": [
        ("shell", {"input": "text alone"}),
        ("exec_command", {"tools": [{"type": "function", "name": "exec_command"}]}),
        ("", {"input": [{"type": "message"}, {"type": "function_call_output"}]}),
    ],
    "anthropic": [
        ("Write", {}),
        ("Bash", {"messages": [{"content": "no"}, {"content": [{"type": "tool_result"}]}]}),
        ("", {"messages": [{"content": [{"type": "tool_result"}, {"type": "tool_result"}]}]}),
    ],
    "gemini": [
        ("write_file", {}),
        ("run_shell_command", {"contents": [{"parts": [{"text": "no"}, {"functionResponse": {}}]}]}),
        ("", {"contents": [{"parts": [{"functionResponse": {}}, {"functionResponse": {}}]}]}),
    ],
}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("dialect", WIRES_BY_DIALECT)
async def test_a_writing_model_tries_every_tool_and_then_answers_in_words(
    client: Client, dialect: str, stream: bool
) -> None:
    client.server.target = "/nowhere/evil.txt"
    for tool, body in ATTEMPTS[dialect]:
        text = (await client.post(dialect, "write", stream=stream, **body)).text
        assert ("evil.txt" in text) is bool(tool)
        assert (f'"name": "{tool}"' in text) is bool(tool)


async def test_a_chunked_request_is_read_completely(client: Client) -> None:
    async def body() -> AsyncGenerator[bytes, None]:
        yield b'{"model": "alpha", '
        yield b'"stream": false}'

    async with httpx2.AsyncClient(trust_env=False) as http:
        await http.post(f"{client.server.url}/responses", content=body())
    assert client.server.seen[0].body == {"model": "alpha", "stream": False}


async def test_an_unknown_path_is_not_found(client: Client) -> None:
    assert (await client.get("/v1/nothing"))["error"]["message"] == "There is nothing at /v1/nothing"


async def test_as_a_program_the_fault_server_prints_its_address() -> None:
    program = (sys.executable, "-m", "roundtable.voices.fault_server", "--behave", "empty")
    child = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE)
    try:
        assert child.stdout is not None
        url = (await child.stdout.readline()).decode().strip()
        async with httpx2.AsyncClient(trust_env=False) as http:
            answer = await http.post(f"{url}/chat/completions", json={"model": "alpha"})
        assert answer.json()["choices"][0]["message"]["content"] == ""
    finally:
        child.terminate()
        await child.wait()
