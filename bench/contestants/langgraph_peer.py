# pyright: basic, reportMissingImports=false
"""LangGraph: a fan-out graph with an in-memory checkpointer, over ChatOpenAI."""

from __future__ import annotations

import json
import operator
import uuid
from typing import Annotated, Any, TypedDict

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from bench.contestants.agenda import AGAIN, BLIND, JUDGE, KEY, QUESTION, SEATS, SYSTEM, lines
from bench.contestants.results import contestant_result, return_exceptions


class State(TypedDict):
    """What the nodes share."""

    first: Annotated[list[str], operator.add]
    second: Annotated[list[str], operator.add]
    verdict: str


async def session(base_url: str) -> None:
    """Seven calls, graph and client made anew."""
    await _table(dict.fromkeys(SEATS, _model(base_url, "session"))).ainvoke(_EMPTY, _thread())


@return_exceptions
async def faulty(base_url: str, models: dict[str, str], timeout: float | None) -> dict[str, Any]:
    """The same table with a model of its own for every seat, one of them out of order."""
    table = _table({seat: _model(base_url, name, timeout=timeout) for seat, name in models.items()})
    state = await table.ainvoke(_EMPTY, _thread())
    return contestant_result("", voices=dict(zip(models, state["first"], strict=False)))


async def stream(base_url: str, streams: int, tokens: int) -> dict[str, int]:
    """So many nodes side by side, streamed token by token."""
    model = _model(base_url, f"paced-{tokens}", streaming=True)
    graph = StateGraph(State)
    for number in range(streams):
        graph.add_node(f"seat{number}", _speaker(model, "first", BLIND))
        graph.add_edge(START, f"seat{number}")
        graph.add_edge(f"seat{number}", END)
    pieces = 0
    running = graph.compile(checkpointer=InMemorySaver()).astream(_EMPTY, _thread(), stream_mode="messages")
    with lines() as tell:
        async for piece, about in running:
            if piece.content and piece.type == "AIMessageChunk":
                tell(json.dumps({"seat": about["langgraph_node"], "text": piece.content}).encode())
                pieces += 1
    return {"lines": pieces}


_EMPTY: Any = {"first": [], "second": [], "verdict": ""}


def _thread() -> Any:
    return {"configurable": {"thread_id": str(uuid.uuid4())}}


def _model(base_url: str, name: str, *, streaming: bool = False, timeout: float | None = None) -> ChatOpenAI:
    return ChatOpenAI(base_url=base_url, api_key=KEY, model=name, streaming=streaming, timeout=timeout)


def _table(models: dict[str, ChatOpenAI]) -> Any:
    graph = StateGraph(State)
    for seat, model in models.items():
        graph.add_node(f"first-{seat}", _speaker(model, "first", BLIND))
        graph.add_node(f"second-{seat}", _speaker(model, "second", AGAIN))
        graph.add_edge(START, f"first-{seat}")
    for seat in SEATS:
        graph.add_edge([f"first-{seat}" for seat in SEATS], f"second-{seat}")
    graph.add_node("judge", _judge(models[SEATS[0]]))
    graph.add_edge([f"second-{seat}" for seat in SEATS], "judge")
    graph.add_edge("judge", END)
    return graph.compile(checkpointer=InMemorySaver())


def _speaker(model: ChatOpenAI, field: str, instruction: str) -> Any:
    async def speak(state: State) -> dict[str, Any]:
        return {field: [await _ask(model, state["first"][1:], instruction)]}

    return speak


def _judge(model: ChatOpenAI) -> Any:
    async def judge(state: State) -> dict[str, Any]:
        return {"verdict": await _ask(model, state["first"] + state["second"], JUDGE)}

    return judge


async def _ask(model: ChatOpenAI, heard: list[str], instruction: str) -> str:
    prompt = "\n\n".join((QUESTION, *heard, instruction))
    return str((await model.ainvoke([SystemMessage(SYSTEM), HumanMessage(prompt)])).content)
