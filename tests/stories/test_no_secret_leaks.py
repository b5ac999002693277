"""Secrets are planted in every input; afterwards no file and no output contains one."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.core.test_redaction import SAMPLES, token
from tests.doors.command_line import PATIENCE, ROUNDTABLE, Cli
from tests.doors.scripted_seats import HANGING_SEAT, blind_answer, council_seat, second_answer
from tests.servers.echo_server import echo_server

STORED = "Od/d+Key=" + token(30, seed=41) + "/x&y"
"""No token shape, and signs that are written differently in JSON, in an address and in base64."""

TEAM = "team-" + token(24, seed=42).lower()
VARIABLE = token(28, seed=43)
IN_THE_QUESTION = "ghp_" + token(36, seed=44)
IN_A_NOTE = "xai-" + token(60, seed=45)
IN_A_FILE = "gsk_" + token(52, seed=46)
IN_A_FILE_NAME = "hf_" + token(34, seed=47)
IN_A_PATH = "glpat-" + token(20, seed=48)
SAID = [*(secret for _, secret in SAMPLES), f"Authorization: Bearer {token(33, seed=49)}", VARIABLE]
CORPUS = [STORED, TEAM, VARIABLE, IN_THE_QUESTION, IN_A_NOTE, IN_A_FILE, IN_A_FILE_NAME, IN_A_PATH, *SAID]
MODELS = ("echo", "error", "page", "broken", "refuse", "cut")


ROOT = Path(__file__).parent.parent.parent
PARROT = ROOT / "tests" / "servers" / "parrot.py"
CONFIG = """
[endpoints.lab]
base_url = "{url}"
key = "secret:LAB"
headers = {{ x-team = "${{TEAM_TOKEN}}" }}

[agents.parrot]
command = "{python}"
argv = ["{parrot}", "{{model}}"]
model = ["{{name}}"]
variables = ["SOME_TOKEN"]
key_variables = ["SOME_TOKEN"]
reads = [
    {{ when = {{ kind = "said" }}, message = "text" }},
    {{ when = {{ kind = "failed" }}, fails = "why", ends = true }},
]

[seats.server]
voices = ["lab:error"]

[seats.agent]
voices = ["cli:parrot:fail"]
"""


def needles(secret: str) -> set[str]:
    """Return unmistakable parts of a secret in each encoding."""
    body = max(secret.split(), key=len).split("\\n")[-1] if "PRIVATE" in secret else secret.split()[-1]
    coded = base64.b64encode(f"me:{secret}".encode()).decode()
    parts = {body[4:16], body[-12:], quote(body, safe="")[-14:], json.dumps(body)[2:16], coded[8:24]}
    return {part.replace("/", "\\/") for part in parts} | parts


NEEDLES = {needle.lower(): secret for secret in CORPUS for needle in needles(secret)}


def found_in(text: str) -> list[str]:
    """Return the secrets in a text, including in lowercase as in a session's slug."""
    text = text.lower()
    return [f"{needle} of {secret}" for needle, secret in NEEDLES.items() if needle in text]


def files_under(*folders: Path) -> Iterable[Path]:
    return (path for folder in folders for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def url() -> Generator[str]:
    with echo_server() as url:
        yield url


@pytest.fixture
def cli(tmp_path: Path, url: str) -> Cli:
    cli = Cli(tmp_path)
    cli.env |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring", "SOME_TOKEN": VARIABLE, "TEAM_TOKEN": TEAM}
    cli.home.mkdir()
    (cli.home / "config.toml").write_text(CONFIG.format(url=url, python=sys.executable, parrot=PARROT))
    cli.run("keys", "set", "lab", input=STORED)
    return cli


@contextmanager
def watching_arguments(process: subprocess.Popen[str]) -> Generator[set[str]]:
    """Collect the command lines of a process and of its descendants repeatedly."""
    seen: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            family = {process.pid}
            for stat in sorted(Path("/proc").glob("[0-9]*/stat"), key=lambda path: int(path.parent.name)):
                try:
                    pid, parent = int(stat.parent.name), int(stat.read_text().rpartition(")")[2].split()[1])
                    if pid in family or parent in family:
                        family.add(pid)
                        seen.add((stat.parent / "cmdline").read_bytes().decode(errors="replace"))
                except (OSError, IndexError):
                    continue

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def seats(cli: Cli) -> list[str]:
    """Return seats at a server that echoes headers, and one that repeats every secret."""
    cli.script(
        gossip={
            "turns": [
                {"round": "*1-blind", "text": blind_answer("A", "\n".join(SAID))},
                {"text": second_answer("A", " ".join(SAID))},
            ],
            "defaults": {"latency": 0.3, "rate": 200},
        }
    )
    chosen = [f"{model}=lab:{model}" for model in MODELS]
    chosen += ["gossip=script:s.json", "parrot=cli:parrot", "parrot2=cli:parrot:fail"]
    return [part for voice in chosen for part in ("--seat", voice)]


def discuss(cli: Cli, *extra: str) -> tuple[str, set[str]]:
    """Hold a meeting with secrets in question, note and files; return its output and the command lines of programs."""
    command = ["discuss", "-", "--json", "--headless", "--option", "A", "--option", "B", *seats(cli), *extra]
    process = subprocess.Popen(
        [*ROUNDTABLE, *command],
        cwd=cli.work,
        env=cli.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, watching_arguments(process) as arguments:
        process.stdin.write(f"May {IN_THE_QUESTION} stay in our repository?")
        process.stdin.close()
        lines = [process.stdout.readline()]
        cli.run("say", "last", "-", input=f"By the way, {IN_A_NOTE} is ours.")
        lines += process.stdout
        assert process.wait(PATIENCE) in (0, 3), lines[-3:]
    return "".join(lines), arguments


@pytest.mark.feature("S4.106")
def test_no_planted_secret_remains_in_any_file_or_output(cli: Cli) -> None:
    (cli.work / f"{IN_A_FILE_NAME}.txt").write_text("harmless")
    printed, arguments = discuss(cli, "--file", f"{IN_A_FILE_NAME}.txt")

    kinds = {json.loads(line)["kind"] for line in printed.splitlines()}
    assert {"session.opened", "delta", "move.made", "note.said", "call.failed", "decision.made"} <= kinds
    assert printed.count("[redacted:known-key]") > len(MODELS)
    assert found_in(printed) == []
    assert any("parrot.py" in argument for argument in arguments)
    assert found_in("\n".join(argument for argument in arguments if IN_A_FILE_NAME not in argument)) == []

    probe = ["doctor", "--deep", "--yes", "--json"]
    for form in ("markdown", "json", "jsonl", "html"):
        assert found_in(cli.run("show", "last", "--format", form).stdout) == []
    for command in (["list"], ["list", "--json"], ["status"], ["voices"], ["keys"], ["doctor", "--json"], probe):
        process = subprocess.run(
            [*ROUNDTABLE, *command], cwd=cli.work, env=cli.env, capture_output=True, text=True, check=False
        )
        assert process.stdout, process.stderr
        assert found_in(process.stdout + process.stderr) == []

    kept = list(files_under(cli.home, cli.work / ".roundtable"))
    assert cli.home / "roundtable.db" in kept
    for path in kept:
        assert found_in(path.read_bytes().decode("latin-1")) == [], path
        assert found_in(str(path)) == []


def test_live_text_equals_the_recorded_text(cli: Cli) -> None:
    printed, _ = discuss(cli)
    items = [json.loads(line) for line in printed.splitlines()]
    spoken: dict[str, str] = {}
    for item in items:
        if item["kind"] == "delta":
            assert item["offset"] == len(spoken.get(item["call"], ""))
            spoken[item["call"]] = spoken.get(item["call"], "") + item["text"]
    moves = [item for item in items if item["kind"] == "move.made" and item["seat"] in ("echo", "gossip")]
    assert moves
    for move in moves:
        assert spoken[move["call"]] == (move.get("raw") or move["text"])


def test_a_file_with_a_secret_is_rejected_without_showing_the_secret(cli: Cli) -> None:
    for secret in (IN_A_FILE, VARIABLE, STORED):
        (cli.work / "notes.txt").write_text(f"The key is {secret}.")
        result = cli.run("discuss", "Why?", "--file", "notes.txt", "--seat", "a=lab:echo", "--headless", code=2)
        assert "contains what looks like a secret" in result.stderr
        assert found_in(result.stdout + result.stderr) == []


def test_no_traceback_and_no_error_shows_a_secret(cli: Cli, tmp_path: Path) -> None:
    blocked = tmp_path / IN_A_PATH
    blocked.write_text("a file where a folder should be")
    cases: list[tuple[list[str], dict[str, str]]] = [
        (["list", "--debug"], {"ROUNDTABLE_HOME": str(blocked / "home")}),
        (["discuss", "Why?", "--file", VARIABLE, "--seat", "a=lab:echo", "--debug"], {}),
        (["discuss", "Why?", "--seat", f"a={IN_THE_QUESTION}:x", "--debug"], {}),
        ([IN_THE_QUESTION], {}),
        (["show", f"--{IN_THE_QUESTION}"], {}),
        (["show", VARIABLE], {}),
    ]
    for command, more in cases:
        process = subprocess.run(
            [*ROUNDTABLE, *command],
            cwd=cli.work,
            env={**cli.env, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert process.returncode in (1, 2), process
        assert ("Traceback" in process.stderr) == ("--debug" in command), process.stderr
        assert "[redacted:" in process.stderr, process.stderr
        assert found_in(process.stdout + process.stderr) == []


def test_a_key_in_the_config_is_never_shown(cli: Cli) -> None:
    with open(cli.home / "config.toml", "a") as file:
        file.write(f'\n[endpoints.other]\nbase_url = "http://127.0.0.1:9/v1"\nkey = "{IN_A_FILE}"\n')
    result = cli.run("voices", code=2)
    assert "roundtable keys set OTHER_KEY" in result.stderr
    assert found_in(result.stderr) == []


@pytest.mark.parametrize("place", ["file", "keychain"])
def test_a_stored_key_that_was_never_used_is_still_redacted(cli: Cli, tmp_path: Path, place: str) -> None:
    if place == "keychain":
        cli.in_process = False  # a process chooses its keychain once
        cli.run("keys", "remove", "lab")
        backend = {"PYTHON_KEYRING_BACKEND": "tests.servers.keychain.FileKeychain", "TEST_KEYCHAIN": tmp_path / "chain"}
        cli.env |= {name: str(value) for name, value in backend.items()} | {"PYTHONPATH": str(ROOT)}
        assert "in the keychain" in cli.run("keys", "set", "lab", input=STORED).stderr
    table = ["--headless", *cli.script(a=HANGING_SEAT, b=HANGING_SEAT)]
    (cli.work / "notes.txt").write_text(f"The key is {STORED}.")
    with cli.started("discuss", f"May {STORED} stay?", "--json", *table) as running:
        running.until("turn.asked")
        cli.run("say", "last", f"The key is {STORED}.")
        refused = [["discuss", "Why?", "--file", "notes.txt", *table], ["amend", "last", "--add-file", "notes.txt"]]
        for command in refused:
            assert "contains what looks like a secret" in cli.run(*command, code=2).stderr
        cli.run("cancel", "last", "--reason", f"It says {STORED}.")
    output = cli.run("show", "last", "--format", "jsonl").stdout
    assert output.count("[redacted:known-key]") >= 3
    assert found_in(output + cli.run("list", "--json").stdout) == []
    for path in files_under(cli.home):
        assert found_in(path.read_bytes().decode("latin-1")) == [], path


def test_the_working_folder_is_not_redacted_as_a_secret(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "user1-code2" / "api2backend3")
    cli.env |= {"PWD": str(cli.work), "OLDPWD": str(cli.work.parent)}
    (cli.work / "note.md").write_text(f"It stands in {cli.work}/src.")
    question = f"Is {cli.work}/src fine?"
    cli.run(
        "discuss", question, "--headless", "--file", "note.md", *cli.script(a=council_seat("A"), b=council_seat("A"))
    )
    assert question in cli.run("show", "last").stdout
    (row,) = json.loads(cli.run("list", "--json").stdout)["sessions"]
    assert row["workspace"] == str(cli.work)


def test_a_session_is_found_in_a_folder_whose_name_looks_like_a_key(tmp_path: Path) -> None:
    cli = Cli(tmp_path / IN_A_PATH)
    cli.run("discuss", "Why?", "--headless", *cli.script(a=council_seat("A"), b=council_seat("A")))
    assert found_in(cli.run("show", "last").stdout + cli.run("list", "--json").stdout) == []
