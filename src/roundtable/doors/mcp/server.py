"""The MCP server: its tools and resources, and two ways to serve them."""

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
In a meeting, several AI models answer a question independently and then discuss it; the person controls the decision.
For a quick second opinion use ask_second_opinion. For a decision use start_meeting and then watch_meeting;
a meeting continues on its own, so a call that times out loses nothing. Only the person answers gates: show them
the options, and call answer_gate with their choice. Agreement among models is not permission to act.
"""
_READS = ToolAnnotations(read_only_hint=True)
_CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False)
_SHUTDOWN_SECONDS = 3


class _Server(MCPServer[Any]):
    """A server that explains invalid arguments of a call in plain words."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(invalid := error.__cause__, ValidationError):
                raise ToolError(f"Invalid arguments for {name}. {_describe_invalid_arguments(invalid)}") from None
            raise


def _describe_invalid_arguments(invalid: ValidationError) -> str:
    details = ((".".join(map(str, error["loc"])), error) for error in invalid.errors(include_url=False))
    return " ".join(
        f"Argument {name} is missing." if detail["type"] == "missing" else f"{name}: {detail['msg']}."
        for name, detail in details
    )


def _build_mcp_server() -> MCPServer[Any]:
    """The server with all tools and resources."""
    server = _Server(
        "roundtable", instructions=MCP_INSTRUCTIONS, version=__version__, log_level="WARNING", subscriptions=False
    )
    for name, tool in tools.READING_TOOLS.items():
        server.add_tool(tool, name=name, annotations=_READS)
    for name, tool in tools.CHANGING_TOOLS.items():
        server.add_tool(tool, name=name, annotations=_CHANGES)
    server.resource("roundtable://sessions/{session}", name="transcript", mime_type="text/markdown")(_transcript)
    return server


async def _transcript(session: str) -> str:
    """A whole session as Markdown, with the decision first."""
    try:
        async with tools.open_desk_for_mcp_call() as desk:
            return render_transcript(await desk.sessions.get(await desk.sessions.find(session)))
    except ToolError as error:
        raise ResourceNotFoundError(str(error)) from None


async def serve_mcp_over_stdio() -> None:
    """Serve the program that started this process, over standard input and output."""
    await _build_mcp_server().run_stdio_async()


async def serve_mcp_over_http(listening: socket.socket) -> None:
    """Serve programs on this machine. Requests from browsers are refused: they always send an origin."""
    import uvicorn

    port = listening.getsockname()[1]
    security = TransportSecuritySettings(allowed_hosts=[f"{MCP_HOST}:{port}", f"localhost:{port}"], allowed_origins=[])
    app = _build_mcp_server().streamable_http_app(host=MCP_HOST, transport_security=security)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_SHUTDOWN_SECONDS)
    await uvicorn.Server(config).serve(sockets=[listening])
