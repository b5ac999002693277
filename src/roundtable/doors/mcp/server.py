"""The server: which tools and resources there are, and the two ways to reach them."""

from __future__ import annotations

import socket
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from roundtable import __version__
from roundtable.doors.mcp import tools
from roundtable.report.transcript import render_transcript

MCP_HOST = "127.0.0.1"
MCP_INSTRUCTIONS = """\
Several AI models at one table: blind answers, an argument on the record, a decision the person controls.
For a quick second opinion use ask_second_opinion. For something to be decided use start_meeting and then
watch_meeting; a meeting goes on by itself, so a call that runs out of time loses nothing. Gates are for the
person: show them the options, and call answer_gate with what they choose. Agreement among models is no permission.
"""
_LOOKS = ToolAnnotations(read_only_hint=True)
_ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=False)
_SECONDS_TO_LEAVE = 3


class _Server(MCPServer[Any]):
    """A server that says in plain words what is wrong with the arguments of a call."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(wrong := error.__cause__, ValidationError):
                raise ToolError(f"{name} cannot be called like this. {_in_words(wrong)}") from None
            raise


def _in_words(wrong: ValidationError) -> str:
    told = ((".".join(map(str, it["loc"])), it) for it in wrong.errors(include_url=False))
    return " ".join(f"{name} is missing." if it["type"] == "missing" else f"{name}: {it['msg']}." for name, it in told)


def build_mcp_server() -> MCPServer[Any]:
    """Everything another program can do here."""
    made = _Server(
        "roundtable", instructions=MCP_INSTRUCTIONS, version=__version__, log_level="WARNING", subscriptions=False
    )
    for look in (tools.watch_meeting, tools.read_decision, tools.list_meetings, tools.search_decisions):
        made.add_tool(look, annotations=_LOOKS)
    for act in (
        tools.ask_second_opinion,
        tools.start_meeting,
        tools.answer_gate,
        tools.say,
        tools.resume_meeting,
    ):
        made.add_tool(act, annotations=_ACTS)
    made.resource("roundtable://sessions/{session}", name="transcript", mime_type="text/markdown")(_transcript)
    return made


async def _transcript(session: str) -> str:
    """A whole session: the decision first, then how it came about."""
    try:
        async with tools.open_desk_for_call() as desk:
            return render_transcript(await desk.session(await desk.find(session)))
    except ToolError as error:
        raise ResourceNotFoundError(str(error)) from None


async def serve_mcp_over_stdio() -> None:
    """Serve whoever started us, over standard input and output."""
    await build_mcp_server().run_stdio_async()


async def serve_mcp_over_http(listening: socket.socket) -> None:
    """Serve programs on this machine. What a browser sends is refused: it always says where it comes from."""
    import uvicorn

    port = listening.getsockname()[1]
    ours = TransportSecuritySettings(allowed_hosts=[f"{MCP_HOST}:{port}", f"localhost:{port}"], allowed_origins=[])
    app = build_mcp_server().streamable_http_app(host=MCP_HOST, transport_security=ours)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_SECONDS_TO_LEAVE)
    await uvicorn.Server(config).serve(sockets=[listening])
