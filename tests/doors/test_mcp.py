"""The MCP server, asked by the SDK's own client: over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any, Protocol

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import CallToolResult, TextContent, TextResourceContents

from roundtable.app.desk import Agenda, Places, Roundtable, Setup
from tests.app.test_background import pid_of, wait_until_idle
from tests.doors.command_line import PATIENCE, ROUNDTABLE, Cli
from tests.doors.scripted_seats import council_seat, second_answer
from tests.stories.test_second_opinion import FIRST, FOLLOW_UP, opinion_reply
from tests.stories.test_second_opinion import opinion_turns as opinion_seat

FAILS: dict[str, Any] = {"turns": [{"fault": "unauthorized", "message": "No such key"}]}
CHOICE: dict[str, Any] = {"question": "Which one?", "options": ["REST", "GraphQL"]}


class Reach(Protocol):
    """A way to the server; each entry is a client of its own, and a server of its own."""

    def __call__(self) -> contextlib.AbstractAsyncContextManager[Client]: ...


@pytest.fixture
async def cli(tmp_path: Path) -> AsyncGenerator[Cli]:
    """A person whose meetings all end with the test."""
    cli = Cli(tmp_path)
    yield cli
    (cli.home / "config.toml").unlink(missing_ok=True)
    async with await Roundtable.open(cli.work, Places(cli.home, cli.home)) as desk:
        for row in await desk.sessions.list():
            if holder := await desk.sessions.holder(row.id):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid_of(holder), signal.SIGTERM)


def seated(cli: Cli, limits: str = "", **seats: dict[str, Any]) -> None:
    """Have these seats in the person's config."""
    cli.script(**seats)
    lines = [f"[seats.{name}]\nvoices = ['script:s.json']\n" for name in seats]
    cli.home.mkdir(exist_ok=True)
    (cli.home / "config.toml").write_text("".join([limits, *lines]))


@contextlib.asynccontextmanager
async def over_stdio(cli: Cli) -> AsyncGenerator[Client]:
    command, *args = ROUNDTABLE
    server = StdioServerParameters(command=command, args=[*args, "mcp"], env=cli.env, cwd=cli.work)
    async with Client(server) as client:
        yield client


@contextlib.contextmanager
def http_server(cli: Cli) -> Generator[str]:
    """The address of a server that is killed in the end."""
    process = subprocess.Popen(
        [*ROUNDTABLE, "-C", str(cli.work), "mcp", "--http", "--port", "0"],
        env=cli.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().split()[3].rstrip(".")
        finally:
            process.kill()


@contextlib.asynccontextmanager
async def over_http(cli: Cli) -> AsyncGenerator[Client]:
    with http_server(cli) as url:
        async with Client(url) as client:
            yield client


@pytest.fixture(params=["stdio", "http"])
def reach(request: pytest.FixtureRequest, cli: Cli) -> Reach:
    connect = {"stdio": over_stdio, "http": over_http}[request.param]
    return lambda: connect(cli)


def words(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool returns as data; it must not fail."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, words(result)
    assert result.structured_content is not None
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return words(result)


async def until_it_ends(client: Client, session: str) -> dict[str, Any]:
    """Watch in bounded calls, as a client must."""
    async with asyncio.timeout(PATIENCE):
        while (status := await called(client, "watch_meeting", session=session, wait_seconds=5))["status"] == "running":
            pass
    return status


def stands(cli: Cli, session: str) -> dict[str, Any]:
    """What the command line says of a session."""
    return json.loads(cli.run("status", session, "--json").stdout)


async def kill_the_run(cli: Cli, session: str) -> None:
    """End the process that runs a session, and wait until it is gone."""
    async with await Roundtable.open(cli.work, Places(cli.home, cli.home)) as desk:
        os.kill(pid_of(await desk.sessions.holder(session)), signal.SIGKILL)
        await wait_until_idle(desk, session)


# --- meetings outlive their clients --------------------------------------------------------------


async def test_a_meeting_goes_on_when_client_and_server_are_gone(cli: Cli, reach: Reach) -> None:
    seated(cli, a=council_seat("REST", latency=1.5), b=council_seat("REST", latency=1.5))
    async with reach() as client:
        started = await called(client, "start_meeting", **CHOICE)
        assert started["status"] == "running"
        assert started["result"] is None
    async with reach() as client:
        assert (await until_it_ends(client, started["session"]))["status"] == "ended"
        result = (await called(client, "read_decision", session=started["session"]))["result"]
    assert (result["outcome"], result["position"], result["degraded"]) == ("reached", "REST", False)
    assert result["counted"] == ["a", "b"]


async def test_a_client_that_runs_out_of_patience_finds_the_meeting_later(cli: Cli, reach: Reach) -> None:
    seated(cli, a=council_seat("REST", latency=2.5), b=council_seat("REST", latency=2.5))
    async with reach() as client:
        with pytest.raises(MCPError):
            await client.call_tool("start_meeting", {**CHOICE, "wait_seconds": 20}, read_timeout_seconds=1)
    async with reach() as client:
        (listed,) = (await called(client, "list_meetings"))["meetings"]
        assert listed["question"] == "Which one?"
        assert (await until_it_ends(client, listed["session"]))["result"]["position"] == "REST"


async def test_a_gate_waits_and_is_answered_by_another_client(cli: Cli, reach: Reach) -> None:
    seated(cli, a=council_seat("REST", "A"), b=council_seat("GraphQL", "B"))
    async with reach() as client:
        session = (await called(client, "start_meeting", **CHOICE))["session"]
    async with reach() as client:
        status = await until_it_ends(client, session)
        assert status["status"] == "waiting"
        gate = status["gate"]
        assert (gate["options"], gate["default"]) == (["A", "B", "none"], "none")
        assert "has no option C" in await refused(client, "answer_gate", session=session, gate=gate["id"], option="C")
        await called(client, "answer_gate", session=session, gate=gate["id"], option="B", text="We have few clients.")
        assert (await until_it_ends(client, session))["result"]["position"] == "GraphQL"
    (answered,) = [fact for fact in cli.json("watch", session) if fact["kind"] == "gate.answered"]
    assert answered["text"] == "We have few clients."
    assert answered["by"].endswith("over MCP")


async def test_an_answer_takes_up_a_meeting_whose_process_was_killed_at_the_gate(cli: Cli) -> None:
    seated(cli, a=council_seat("REST", "A"), b=council_seat("GraphQL", "B"))
    async with over_stdio(cli) as client:
        session = (await called(client, "start_meeting", **CHOICE))["session"]
        gate = (await until_it_ends(client, session))["gate"]
        await kill_the_run(cli, session)
        await called(client, "answer_gate", session=session, gate=gate["id"], option="A")
        assert (await until_it_ends(client, session))["result"]["position"] == "REST"


async def test_an_answer_takes_up_a_meeting_whose_process_let_go_of_it_at_the_gate(cli: Cli) -> None:
    seated(cli, a=council_seat("REST", "A"), b=council_seat("GraphQL", "B"))
    async with await Roundtable.open(cli.work, Places(cli.home, cli.home)) as desk:
        session = await desk.meetings.open(Agenda(CHOICE["question"], options=tuple(CHOICE["options"])))
        await desk.meetings.run_in_background(session, gate_wait=0.2)
        await wait_until_idle(desk, session)
    async with over_stdio(cli) as client:
        status = await called(client, "watch_meeting", session=session)
        assert (status["status"], status["trouble"]) == ("waiting", "")
        await called(client, "answer_gate", session=session, gate=status["gate"]["id"], option="A")
        assert (await until_it_ends(client, session))["result"]["position"] == "REST"


async def test_a_meeting_whose_process_was_killed_is_said_to_be_stopped_and_can_be_resumed(cli: Cli) -> None:
    seated(cli, a=council_seat("REST"), b={"turns": [{"hang": True}]})
    async with over_stdio(cli) as client:
        session = (await called(client, "start_meeting", **CHOICE))["session"]
        await kill_the_run(cli, session)
        status = await until_it_ends(client, session)
        assert status["status"] == "stopped"
        assert "resume_meeting" in status["next"]
        cli.script(a=council_seat("REST"), b=council_seat("REST"))
        await called(client, "resume_meeting", session=session)
        assert (await until_it_ends(client, session))["result"]["position"] == "REST"


# --- what is told --------------------------------------------------------------------------------


async def test_a_wait_tells_what_happens_as_progress_and_then_what_is_new(cli: Cli) -> None:
    seated(cli, a=council_seat("REST", latency=0.5), b=council_seat("REST", latency=0.5))
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async with over_stdio(cli) as client:
        started = await called(client, "start_meeting", **CHOICE)
        result = await client.call_tool("watch_meeting", {"session": "last"}, progress_callback=hear)
        assert "a in council/1-blind: REST" in heard
        lines = words(result).splitlines()
        assert lines[:2] == ["All 2 counted seats used the same voice, script:s.json.", "Decision reached: REST"]
        later = await called(client, "watch_meeting", session="last", after=started["seq"])
        assert all(fact["seq"] > started["seq"] for fact in later["facts"])
        assert (await called(client, "watch_meeting", session="last", after=later["seq"]))["facts"] == []


async def test_a_degraded_decision_says_so_before_anything_else(cli: Cli) -> None:
    seated(cli, a=council_seat("REST", text="\x1b[31mCheaper\x1b[0m to run."), b=council_seat("REST"), c=FAILS)
    async with over_stdio(cli) as client:
        result = await client.call_tool("start_meeting", {**CHOICE, "wait_seconds": 30})
    lines = words(result).splitlines()
    assert lines[0] == "DEGRADED: counted 2 of 3."
    assert lines[1].startswith("No answer: c, unauthorized: No such key")
    assert "> Cheaper to run." in lines
    assert lines[-2].startswith("Cost: free")
    assert result.structured_content is not None
    assert result.structured_content["result"]["missing"][0]["seat"] == "c"


async def test_dissent_is_read_word_for_word(cli: Cli) -> None:
    seated(
        cli,
        a=council_seat("REST", "A"),
        b=council_seat("REST", "A"),
        c=council_seat("GraphQL", "B", text="One query is enough."),
    )
    async with over_stdio(cli) as client:
        await called(client, "start_meeting", **CHOICE, wait_seconds=30)
        result = await client.call_tool("read_decision", {"session": "last"})
    assert result.structured_content is not None
    (dissent,) = result.structured_content["result"]["dissent"]
    assert (dissent["seat"], dissent["position"]) == ("c", "GraphQL")
    assert f"c: GraphQL\n> {dissent['text']}" in words(result)
    assert "All 3 counted seats used the same voice, script:s.json." in words(result).splitlines()


async def test_a_note_is_heard_and_a_headless_meeting_asks_nobody(cli: Cli) -> None:
    seated(cli, a=council_seat("REST", "A", latency=1.0), b=council_seat("GraphQL", "B", latency=1.0))
    async with over_stdio(cli) as client:
        await called(client, "start_meeting", **CHOICE, headless=True)
        status = await called(client, "say", session="last", text="The budget is small.")
        assert status["facts"][-1]["words"].endswith(", over MCP said: The budget is small.")
        assert "The note is empty" in await refused(client, "say", session="last", text=" ")
        status = await until_it_ends(client, "last")
        assert (status["gate"], status["result"]["settled"]) == (None, False)
        assert "has ended" in await refused(client, "say", session="last", text="Too late.")
        assert "has ended" in await refused(client, "resume_meeting", session="last")


async def test_a_session_can_be_read_as_a_resource(cli: Cli) -> None:
    seated(cli, a=council_seat("REST"), b=council_seat("REST"))
    async with over_stdio(cli) as client:
        session = (await called(client, "start_meeting", **CHOICE, wait_seconds=30))["session"]
        (content,) = (await client.read_resource(f"roundtable://sessions/{session}")).contents
        assert isinstance(content, TextResourceContents)
        assert content.text.startswith("# Which one?")
        assert "## Decision" in content.text
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.name == "transcript"
        with pytest.raises(MCPError, match="There is no session nothing-like-it"):
            await client.read_resource("roundtable://sessions/nothing-like-it")


async def test_what_was_decided_and_what_was_rejected_can_be_looked_up(cli: Cli) -> None:
    seated(cli, a=council_seat("REST"), b=council_seat("REST"))
    async with over_stdio(cli) as client:
        await called(client, "start_meeting", **{**CHOICE, "question": "Which API for the phones?"}, wait_seconds=30)
        cli.run("decrees", "add", "Use SOAP", "--why", "Nobody knows it.")
        (decision,) = (await called(client, "search_decisions", words="phones"))["found"]
        assert (decision["kind"], decision["question"]) == ("decision", "Which API for the phones?")
        result = await client.call_tool("search_decisions", {"words": "SOAP"})
        assert "(decree, standing): Use SOAP Why: Nobody knows it." in words(result)
        assert (await called(client, "search_decisions", words="submarines"))["found"] == []
        assert len((await called(client, "search_decisions", words=""))["found"]) == 2


async def test_a_second_opinion_is_quoted_and_asks_again_only_if_told_to(cli: Cli) -> None:
    seated(
        cli,
        a=opinion_seat(opinion_reply("Definitely split it", "yes"), follow_up=second_answer("A")),
        b=opinion_seat(opinion_reply("Never split it", "no"), follow_up=second_answer("B")),
    )
    async with over_stdio(cli) as client:
        once = await called(client, "ask_second_opinion", question="Shall we split the repository?", wait_seconds=30)
        twice = await called(client, "ask_second_opinion", question="Split it?", follow_up=True, wait_seconds=30)
        assert "at least 2 seats" in await refused(client, "ask_second_opinion", question="Safe?", seats=["a"])
    assert (once["meeting"], once["status"]) == ("second-opinion", "ended")
    assert {dissent["position"] for dissent in once["result"]["dissent"]} == {"Definitely split it", "Never split it"}
    assert [stand["name"] for stand in stands(cli, once["session"])["rounds"]] == [FIRST]
    assert [stand["name"] for stand in stands(cli, twice["session"])["rounds"]] == [FIRST, FOLLOW_UP]


async def test_every_tool_says_what_it_takes_and_what_it_returns(cli: Cli) -> None:
    async with over_stdio(cli) as client:
        tools = (await client.list_tools()).tools
    for tool in tools:
        assert tool.description
        assert tool.output_schema is not None, tool.name
        assert all("description" in field for field in tool.input_schema["properties"].values()), tool.name
    size = sum(len(json.dumps(tool.model_dump(mode="json", exclude={"output_schema"}))) for tool in tools)
    assert size < 10_000, "what a host must read before it can ask anything"


# --- what is refused -----------------------------------------------------------------------------


async def test_nothing_is_spent_that_nobody_allowed(cli: Cli) -> None:
    cli.env["OPENAI_API_KEY"] = "not-a-real-key"
    cli.home.mkdir()
    paid = "".join(f"[seats.{name}]\nvoices = ['openai:gpt-4o']\n" for name in ("a", "b"))
    (cli.home / "config.toml").write_text(paid)
    async with over_stdio(cli) as client:
        text = await refused(client, "start_meeting", **CHOICE)
        assert "openai:gpt-4o is paid by the token" in text
        assert "budget_usd" in text
        assert "is paid by the token" in await refused(client, "ask_second_opinion", question="Safe?")
        assert "A budget of $0" in await refused(client, "start_meeting", **CHOICE, budget_usd=0)
        assert (await called(client, "list_meetings"))["meetings"] == []


async def test_a_budget_said_here_never_exceeds_the_persons_own(cli: Cli) -> None:
    seated(cli, "[limits]\nbudget_usd = 1.0\n", a=council_seat("REST"), b=council_seat("REST"))
    async with over_stdio(cli) as client:
        for budget, meeting in ((5.0, 1.0), (0.5, 0.5)):
            session = (await called(client, "start_meeting", **CHOICE, budget_usd=budget))["session"]
            assert stands(cli, session)["limits"]["budget_usd"] == meeting


async def test_a_budget_that_bounds_nothing_is_refused(cli: Cli) -> None:
    seated(cli, a=council_seat("REST"), b=council_seat("REST"))
    async with over_stdio(cli) as client:
        for budget in ("Infinity", "NaN", 1e13, -1):
            assert "budget_usd" in await refused(client, "start_meeting", **CHOICE, budget_usd=budget), budget
            assert (await called(client, "list_meetings"))["meetings"] == []


async def test_a_preset_keeps_its_limits_and_its_seats(cli: Cli) -> None:
    seated(cli, a=council_seat("REST"), b=council_seat("REST"))
    async with over_stdio(cli) as client:
        meeting = await called(client, "start_meeting", question="Why?", meeting="agent-discord", headless=True)
        assert stands(cli, meeting["session"])["limits"]["seat_timeout"] == 60
        (cli.home / "config.toml").write_text("[limits]\nseat_timeout = 7\n")
        text = await refused(client, "start_meeting", question="Why?", meeting="agent-discord", seats=["z"])
        assert "Choose from: claude, gemini, gpt, grok." in text


async def test_a_long_question_is_not_told_again_with_every_answer(cli: Cli) -> None:
    seated(cli, a=council_seat("REST"), b=council_seat("REST"))
    async with over_stdio(cli) as client:
        meeting = await called(client, "start_meeting", question="Why? " * 40_000)
        for status in (meeting, await until_it_ends(client, meeting["session"])):
            assert status["question"].startswith("Why? Why?")
            assert len(json.dumps(status)) < 20_000
        (listed,) = (await called(client, "list_meetings"))["meetings"]
        assert len(listed["question"]) < 400
        assert len(json.dumps(await called(client, "search_decisions", words=""))) < 20_000


async def test_a_number_no_record_reaches_is_refused(cli: Cli) -> None:
    seated(cli, a=council_seat("REST"), b=council_seat("REST"))
    async with over_stdio(cli) as client:
        session = (await called(client, "start_meeting", **CHOICE))["session"]
        assert "after" in await refused(client, "watch_meeting", session=session, after=10**30)
        assert (await called(client, "watch_meeting", session=session, after=2**63 - 1, wait_seconds=0))["facts"] == []


async def test_errors_are_a_sentence_and_what_to_do(cli: Cli) -> None:
    async with over_stdio(cli) as client:
        missing = await refused(client, "start_meeting", headless="perhaps")
        assert missing.startswith("Invalid arguments for start_meeting. Argument question is missing. headless: ")
        assert "pydantic" not in missing
        assert "No seats are configured. Ask the person to run `roundtable init`" in await refused(
            client, "start_meeting", **CHOICE
        )
        seated(cli, a=council_seat("REST"), b=council_seat("REST"))
        assert "Unknown seat z. Choose from: a, b." in await refused(client, "start_meeting", **CHOICE, seats=["z"])
        assert "no file" in await refused(client, "start_meeting", **CHOICE, files=["absent.md"])
        assert "outside" in await refused(client, "start_meeting", **CHOICE, files=["../home/config.toml"])
        assert "There is no session never-held" in await refused(client, "watch_meeting", session="never-held")
        (cli.home / "config.toml").write_text("langage = 'en'")
        assert "langage" in await refused(client, "list_meetings")


def test_a_page_in_a_browser_and_another_hosts_name_are_refused(cli: Cli) -> None:
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with http_server(cli) as url:
        host = url.split("/")[2]
        for headers, status in (({"Origin": f"http://{host}"}, 403), ({"Host": "example.org"}, 421)):
            connection = http.client.HTTPConnection(host, timeout=PATIENCE)
            with contextlib.closing(connection):
                connection.request("POST", "/mcp", hello, usual | headers)
                assert connection.getresponse().status == status


def test_a_port_that_is_taken_is_named(cli: Cli) -> None:
    with http_server(cli) as url:
        port = url.split("/")[2].split(":")[1]
        assert f"Port {port} cannot be used" in cli.run("mcp", "--http", "--port", port, code=2).stderr


def test_standard_output_is_the_protocol_alone(cli: Cli) -> None:
    seated(cli, a=council_seat("REST"), b=council_seat("REST"))
    version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": version},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "start_meeting", "arguments": CHOICE}},
    ]
    with subprocess.Popen(
        [*ROUNDTABLE, "mcp"], cwd=cli.work, env=cli.env, stdin=-1, stdout=-1, stderr=-1, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for line in ("not JSON at all", *map(json.dumps, messages)):
            server.stdin.write(f"{line}\n")
        server.stdin.flush()
        answers: list[dict[str, Any]] = []
        while not answers or answers[-1].get("id") != 2:
            answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        answers += map(json.loads, server.stdout)
        assert server.wait(PATIENCE) == 0
    assert all(fact["jsonrpc"] == "2.0" for fact in answers)
    assert "Session " in answers[-1]["result"]["content"][0]["text"]


def test_without_the_sdk_a_person_is_told_what_to_install(cli: Cli) -> None:
    program = (
        "import sys; sys.modules['mcp'] = None; sys.argv[1:] = ['mcp']\n"
        "from roundtable.doors.cli.main import main; main()"
    )
    process = subprocess.run(
        [sys.executable, "-c", program], cwd=cli.work, env=cli.env, capture_output=True, text=True, check=False
    )
    assert process.returncode == 2
    assert "needs the package mcp" in process.stderr
    assert f"Install it: {Setup.install_command('mcp')}" in process.stderr
