"""`mcp`: serve the table to other programs over MCP."""

from __future__ import annotations

import asyncio
import logging
import socket

import click

from roundtable.core.faults import UsageError
from roundtable.core.text.redaction import Redactor
from roundtable.doors.cli.output import print_note
from roundtable.doors.cli.stderr import redact_cli_stderr_until_exit


@click.command()
@click.option("--http", is_flag=True, help="Serve over HTTP on this machine instead of standard input and output.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8642, show_default=True, metavar="N", help="Port for --http."
)
def mcp_command(http: bool, port: int) -> None:
    """Let other programs use Roundtable over MCP.

    By default it uses standard input and output, for a program that starts it. Meetings run in
    processes of their own and continue when the program or this server ends. Seats come from your
    config; paid seats need a budget. `-C DIR` sets the workspace.

    \b
    Examples:
      claude mcp add roundtable -- roundtable mcp
      codex mcp add roundtable -- roundtable mcp
      roundtable mcp --http --port 8642
    """
    redact_cli_stderr_until_exit(Redactor())
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        from roundtable.doors.mcp.server import MCP_HOST, serve_mcp_over_http, serve_mcp_over_stdio
    except ModuleNotFoundError as error:
        from roundtable.app.desk import Setup

        raise UsageError(
            f"The MCP server needs the package {error.name}, which is not installed.",
            f"Install it: {Setup.install_command('mcp')}",
        ) from None
    if not http:
        asyncio.run(serve_mcp_over_stdio())
        return
    try:
        listening = socket.create_server((MCP_HOST, port))
    except OSError as error:
        raise UsageError(f"Port {port} cannot be used: {error.strerror}.", "Choose another port with --port.") from None
    with listening:
        print_note(
            f"Serving MCP at http://{MCP_HOST}:{listening.getsockname()[1]}/mcp. "
            "Ctrl-C stops the server; running meetings continue."
        )
        asyncio.run(serve_mcp_over_http(listening))
