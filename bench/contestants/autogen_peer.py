# pyright: basic, reportMissingImports=false
"""AutoGen: a round-robin group chat, one speaker after the other as its design has it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.openai import OpenAIChatCompletionClient

from bench.contestants.agenda import BLIND, KEY, QUESTION, SEATS, SYSTEM, lines
from bench.contestants.results import contestant_result, return_exceptions

_INFO: Any = {
    "vision": False,
    "function_calling": False,
    "json_output": False,
    "family": "unknown",
    "structured_output": False,
}


async def session(base_url: str) -> None:
    """Seven turns, agents and client made anew; the first speaker also has the last word."""
    client = _client(base_url, "session")
    await _team(dict.fromkeys(SEATS, client)).run(task=f"{QUESTION}\n\n{BLIND}")
    await client.close()


@return_exceptions
async def faulty(base_url: str, models: dict[str, str], timeout: float | None) -> dict[str, Any]:
    """The same turns with a model of its own for every seat, one of them out of order."""
    stated = {} if timeout is None else {"timeout": timeout}
    team = _team({seat: _client(base_url, model, **stated) for seat, model in models.items()})
    result = await team.run(task=f"{QUESTION}\n\n{BLIND}")
    replies = {message.source: str(getattr(message, "content", "")) for message in result.messages}
    return contestant_result(
        result.stop_reason or "", voices={seat: text for seat, text in replies.items() if seat in models}
    )


async def stream(base_url: str, streams: int, tokens: int) -> dict[str, int]:
    """So many agents side by side, streamed token by token."""
    client = _client(base_url, f"paced-{tokens}")
    with lines() as tell:
        pieces = await asyncio.gather(*(_tell(client, f"seat{number}", tell) for number in range(streams)))
    await client.close()
    return {"lines": sum(pieces)}


async def _tell(client: OpenAIChatCompletionClient, seat: str, tell: Any) -> int:
    agent = AssistantAgent(seat, client, system_message=SYSTEM, model_client_stream=True)
    pieces = 0
    async for item in agent.run_stream(task=QUESTION):
        if isinstance(item, ModelClientStreamingChunkEvent):
            tell(json.dumps({"seat": seat, "text": item.content}).encode())
            pieces += 1
    return pieces


def _team(clients: dict[str, OpenAIChatCompletionClient]) -> RoundRobinGroupChat:
    agents: list[Any] = [AssistantAgent(seat, client, system_message=SYSTEM) for seat, client in clients.items()]
    return RoundRobinGroupChat(agents, max_turns=7)


def _client(base_url: str, model: str, **stated: Any) -> OpenAIChatCompletionClient:
    return OpenAIChatCompletionClient(model=model, base_url=base_url, api_key=KEY, model_info=_INFO, **stated)
