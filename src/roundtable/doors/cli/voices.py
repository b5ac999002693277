"""`voices`: list the voices that can be seated, and how each kind is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from roundtable.doors.cli.output import run_cli_command_at_desk
from roundtable.doors.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from roundtable.app.desk import EndpointState, Roundtable

_USAGE = """
Seats on the command line: --seat NAME=VOICE[,FALLBACK…]
  endpoint:model          openai:gpt-4o, ollama:llama3.2; add other servers under [endpoints.NAME] in the config
  cli:agent[:model]       an agent you are logged in to: claude, codex, gemini, agy, opencode
  acp:agent[:model]       an agent over the Agent Client Protocol: gemini, opencode, claude with its adapter
  embedded:model          a model on this machine; `roundtable models` lists them
  script:path.toml        a scripted seat, for testing
""".strip("\n")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def voices_command(as_json: bool) -> None:
    """List the available voices.

    Keys are looked up but never shown, and no paid model is asked.

    \b
    Example:
      roundtable voices
    """

    async def collect(desk: Roundtable) -> dict[str, Any]:
        return {
            "v": 1,
            "endpoints": await desk.setup.list_endpoints(),
            "agents": desk.setup.list_agents(),
            "embedded": desk.setup.list_models(),
            "embedded_runtime": desk.setup.has_model_runtime(),
        }

    voices = run_cli_command_at_desk(collect)
    if as_json:
        print_json(voices)
        return
    rows = [
        (endpoint.voice, "yes" if endpoint.usable else "no", _endpoint_note(endpoint) + _judge_note(endpoint))
        for endpoint in voices["endpoints"]
    ]
    rows += [(f"cli:{name}", "yes", path) for name, path in voices["agents"].items()]
    for model in voices["embedded"]:
        usable = "yes" if model.installed and voices["embedded_runtime"] else "no"
        note = model.title if model.installed else f"{model.title}; `roundtable models get {model.name}` downloads it"
        rows.append((f"embedded:{model.name}", usable, note))
    print_table(("voice", "usable", "note"), rows)
    click.echo("\n" + _USAGE, err=True)


def _judge_note(endpoint: EndpointState) -> str:
    return f"; judges as {endpoint.judge}" if endpoint.judge and endpoint.usable else ""


def _endpoint_note(endpoint: EndpointState) -> str:
    title, url = endpoint.title, endpoint.base_url
    if endpoint.local:
        return f"{title} at {url}" if endpoint.answers else f"{title}: no server answers at {url}"
    name = endpoint.key.partition(":")[2]
    if not endpoint.key_present:
        variable = f"set {name}, or " if endpoint.key.startswith("env:") else ""
        return f"{title}: {variable}`roundtable keys set {endpoint.name}`"
    return f"{title}, key from {endpoint.key_origin}" if name else f"{title}, needs no key"
