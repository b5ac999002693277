"""Choosing a sandbox that works, and the escape attempts that would reveal a leak."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from roundtable.app.machine.isolation import Isolation, run_machine_sandbox_check
from roundtable.core.sandbox import Bounds, Limit, Resource
from roundtable.workshop.identity import is_temp_name_of_dead_process, make_temp_name_of_process
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox
from roundtable.workshop.sandbox.bubblewrap import BubblewrapSandbox, LimitTools
from roundtable.workshop.sandbox.cgroups import ControlGroup, remove_orphaned_cgroups
from roundtable.workshop.sandbox.escape_attempts import EXHAUSTION_ATTEMPTS, QUICK_ESCAPE_ATTEMPTS, run_escape_attempts
from roundtable.workshop.sandbox.visible_files import find_sandbox_toolchain_paths, resolve_shim_for_sandbox
from tests.ordinary_user import ordinary_users_folder, run_as_ordinary_user, run_without_control_groups
from tests.repository import sandbox, write

FAKE_ENGINE = """#!/bin/sh
echo "$*" >>"$0.asked"
case "$*" in
  context*) echo unix:///nowhere;;
  *) echo "Cannot connect to the engine" >&2; exit 1;;
esac
"""
LIMITS_SCRIPT = """
import asyncio, json, sys
import msgspec
from roundtable.app.machine.isolation import run_machine_sandbox_check
from roundtable.core.sandbox import Bounds, Job
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox, run_sandbox_job

settings = SandboxSettings(use="bubblewrap")
refused = asyncio.run(find_sandbox(SandboxSettings(use="bubblewrap", require="enforced")))

async def main():
    isolation = await run_machine_sandbox_check(settings, deep=True)
    sandbox = await find_sandbox(settings)
    achieved = {}
    for resource, program in json.loads(sys.argv[1]).items():
        bounds = Bounds(seconds=20, memory=96 << 20, processes=20, disk=4 << 20)
        job = Job((sys.executable, "-I", "-S", "-c", program), sys.argv[2], bounds=bounds)
        words = (await run_sandbox_job(sandbox, job)).output.removesuffix(b"Killed\\n").split()
        achieved[resource] = float(words[-1]) if words else 0.0
    print(json.dumps({"isolation": msgspec.to_builtins(isolation), "achieved": achieved,
                      "refused": refused if isinstance(refused, str) else ""}))

asyncio.run(main())
"""
POLLED_SCRIPT = """
import asyncio, sys
from roundtable.core.sandbox import Bounds, Job
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox, run_sandbox_job

async def main():
    sandbox = await find_sandbox(SandboxSettings(use="bubblewrap"))
    memfd = "import os, time; to = os.memfd_create('x'); [os.write(to, bytes(1 << 20)) for n in range(150)]"
    for argv, bounds in (
        (("sh", "-c", "while :; do sleep 60 & done"), Bounds(seconds=60, processes=40)),
        ((sys.executable, "-c", "x = bytearray(300 << 20); import time; time.sleep(60)"), Bounds(memory=100 << 20)),
        ((sys.executable, "-c", f"{memfd}; time.sleep(60)"), Bounds(memory=100 << 20)),
    ):
        end = await run_sandbox_job(sandbox, Job(argv, sys.argv[1], bounds=bounds))
        print(end.code, end.limit)

asyncio.run(main())
"""
GREEDY_PROGRAMS = {
    "memory": """
import os, socket
near, far = socket.socketpair()
for number in range(1, 80):
    file = os.memfd_create("x")
    os.write(file, bytes(4 << 20))
    socket.send_fds(near, [b"x"], [file])
    os.close(file)
    os.write(1, b"%d\\n" % (number * 4))
""",
    "processes": """
import os, threading, time
try:
    for number in range(1, 400):
        threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        os.write(1, b"%d\\n" % (number + 1))
except RuntimeError:
    pass
os._exit(0)
""",
    "processors": """
import os, time
try:
    os.sched_setaffinity(0, range(os.cpu_count()))
except OSError:
    pass
begun = time.monotonic()
for child in [os.fork(), os.fork()]:
    while child == 0 and time.monotonic() < begun + 1:
        pass
    if child == 0:
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
print(sum(os.times()[2:4]) / (time.monotonic() - begun))
""",
    "affinity": """
import os
try:
    os.sched_setaffinity(0, range(os.cpu_count()))
except OSError:
    pass
print(len(os.sched_getaffinity(0)))
""",
    "files": """
import os
try:
    for number in range(400_000):
        os.close(os.open(f"/tmp/{number}", os.O_CREAT))
        if number % 1000 == 0:
            os.write(1, b"%d\\n" % number)
except OSError:
    pass
""",
}
ALLOWED = {"memory": 96, "processes": 28, "processors": 1.4, "files": 9216}
"""What the limits of LIMITS_SCRIPT allow, in megabytes, threads, processors and files."""
FILES_IN_MEMORY = 200_000
"""How many empty files have room in the memory that LIMITS_SCRIPT allows, if only memory bounds them."""


async def test_an_engine_that_does_not_answer_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await sandbox()
    for name in ("docker", "podman"):
        (tmp_path / name).write_text(FAKE_ENGINE)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    box = await find_sandbox()
    assert not isinstance(box, str)
    assert box.name.startswith("bubblewrap")
    commands = (tmp_path / "docker.asked").read_text()
    assert await find_sandbox() is box
    assert (tmp_path / "docker.asked").read_text() == commands, "what works is found out once"
    for use in ("docker", "podman"):
        wanted = await find_sandbox(SandboxSettings(use=use))
        assert isinstance(wanted, str)
        assert wanted.startswith(f"The {use.capitalize()} engine does not answer (Cannot connect to the engine).")
        assert "programs are never run without a sandbox" in wanted
    assert len((tmp_path / "docker.asked").read_text()) > len(commands), "what does not work may work next time"


async def test_without_a_sandbox_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    box = await find_sandbox()
    assert isinstance(box, str)
    assert "Docker is not installed. Podman is not installed. Bubblewrap is not installed. Install bubblewrap" in box


async def test_the_doctor_tests_the_sandbox_with_escape_attempts() -> None:
    await sandbox()
    isolation = await run_machine_sandbox_check(SandboxSettings(use="bubblewrap"), deep=False)
    assert isolation.sandbox.startswith("bubblewrap, limits ")
    assert isolation.held == tuple(attempt.name for attempt in QUICK_ESCAPE_ATTEMPTS)
    assert (isolation.broken, isolation.untried) == ({}, {})


async def test_a_leaking_sandbox_is_detected() -> None:
    await sandbox()
    program = shutil.which("bwrap")
    assert program is not None
    leaky = BubblewrapSandbox(program, ("--share-net", "--proc", "/proc"), LimitTools.find())
    outcomes = {outcome.attempt: outcome for outcome in await run_escape_attempts(leaky, QUICK_ESCAPE_ATTEMPTS)}
    assert outcomes["reach servers on this machine"].blocked is False
    assert outcomes["reach servers on this machine"].note == "a server of the machine"
    assert outcomes["read files outside the sandbox"].blocked is True
    if os.getuid() == 0:
        assert outcomes["reach the kernel through /proc, /sys and /dev"].blocked is False


async def test_an_escape_attempt_that_could_not_run_proves_nothing() -> None:
    await sandbox()
    program = shutil.which("bwrap")
    assert program is not None
    outcomes = await run_escape_attempts(
        BubblewrapSandbox(program, ("--no-such-option",), LimitTools.find()),
        (QUICK_ESCAPE_ATTEMPTS[0], EXHAUSTION_ATTEMPTS[0]),
    )
    assert [outcome.blocked for outcome in outcomes] == [None, False]


class LimitsReport(msgspec.Struct):
    """What the doctor says about the limits, what greedy programs achieved, and the refusal of an enforced sandbox."""

    isolation: Isolation
    achieved: dict[str, float]
    refused: str


def read_report(done: subprocess.CompletedProcess[str]) -> LimitsReport:
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout, type=LimitsReport)


def limits_command(folder: str) -> list[str]:
    return [sys.executable, "-c", LIMITS_SCRIPT, json.dumps(GREEDY_PROGRAMS), folder]


def check_words(report: LimitsReport) -> None:
    """Check that the doctor's words about unenforced limits agree with what the programs achieved."""
    isolation = report.isolation
    affinity = report.achieved.pop("affinity")
    assert affinity == 1 or Resource.PROCESSORS in isolation.unenforced
    unenforced = ", ".join(isolation.unenforced)
    assert isolation.sandbox == f"bubblewrap, limits not enforced: {unenforced}"
    assert (isolation.broken, isolation.untried) == ({}, {})
    exceeded = {resource for resource, amount in report.achieved.items() if amount > ALLOWED[resource]}
    assert exceeded <= set(isolation.unenforced), report.achieved
    assert "memory" in exceeded
    assert isolation.exceeded["hold memory in unnamed files"] == "384 MB of memory"
    assert len({*isolation.held, *isolation.exceeded}) == len((*QUICK_ESCAPE_ATTEMPTS, *EXHAUSTION_ATTEMPTS))
    refusal = f'`require` in [sandbox] is "enforced", but bubblewrap cannot enforce these limits here: {unenforced}.'
    assert report.refused.startswith(refusal)


def test_with_control_groups_the_doctor_says_that_all_limits_are_enforced(tmp_path: Path) -> None:
    group = ControlGroup.create(Bounds())
    if group is None:
        pytest.skip("This user cannot create control groups.")
    group.remove()
    report = read_report(subprocess.run(limits_command(str(tmp_path)), capture_output=True, text=True, timeout=300))
    assert report.isolation.sandbox == "bubblewrap, limits enforced by the kernel"
    assert (report.isolation.exceeded, report.isolation.unenforced, report.refused) == ({}, (), "")
    files = report.achieved.pop("files")
    assert files < FILES_IN_MEMORY
    report.achieved.pop("affinity")
    assert {resource for resource, amount in report.achieved.items() if amount > ALLOWED[resource]} == set()


def test_root_without_control_groups_is_told_which_limits_are_not_enforced(tmp_path: Path) -> None:
    report = read_report(run_without_control_groups(limits_command(str(tmp_path))))
    check_words(report)
    assert {Resource.MEMORY, Resource.PROCESSES} <= set(report.isolation.unenforced)


def test_an_ordinary_user_is_told_which_limits_are_not_enforced() -> None:
    with ordinary_users_folder() as folder:
        report = read_report(run_as_ordinary_user(limits_command(folder), folder))
    if not report.isolation.unenforced:
        pytest.skip("This user may create control groups.")
    check_words(report)


def test_without_control_groups_greedy_programs_are_stopped_by_polling(tmp_path: Path) -> None:
    done = run_without_control_groups([sys.executable, "-c", POLLED_SCRIPT, str(tmp_path)])
    assert done.stdout.splitlines() == [f"None {Limit.PROCESSES}", f"None {Limit.MEMORY}", f"None {Limit.MEMORY}"], (
        done.stderr
    )


async def test_a_sandbox_that_must_enforce_limits_is_refused_in_one_sentence() -> None:
    await sandbox()
    box = await find_sandbox(SandboxSettings(require="enforced", use="bubblewrap"))
    if isinstance(box, str):
        assert box.count(". ") == 1
        assert box.startswith('`require` in [sandbox] is "enforced", but bubblewrap cannot enforce these limits here: ')
        assert box.endswith(
            'Start Docker or Podman, or set `require` to "isolated"; programs are never run without a sandbox.'
        )
    else:
        assert box.unenforced == ()


def test_leftovers_of_killed_processes_are_recognized_by_name_and_removed() -> None:
    mine = make_temp_name_of_process()
    assert not is_temp_name_of_dead_process(mine)
    assert not is_temp_name_of_dead_process("roundtable-empty")
    orphan_name = mine.replace(f"-{os.getpid()}-", "-4194305-")
    assert is_temp_name_of_dead_process(orphan_name)
    assert is_temp_name_of_dead_process(f"{orphan_name}-web-1")
    group = ControlGroup.create(Bounds())
    if group is None:
        pytest.skip("Nobody lets us make control groups here.")
    folder = Path(group.join_paths()[0]).parent
    orphan = folder.with_name(orphan_name)
    orphan.mkdir()
    try:
        remove_orphaned_cgroups()
        assert not orphan.exists()
        assert folder.exists(), "one that is in use stays"
    finally:
        group.remove()
    assert not folder.exists()


def test_the_program_behind_a_version_manager_script_is_found(tmp_path: Path) -> None:
    root = tmp_path / ".anyenv"
    for name, says in {"shims/tool": "exit 1", "bin/anyenv": 'echo "/opt/versions/$2"'}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"#!/bin/sh\n{says}\n")
        (root / name).chmod(0o755)
    assert resolve_shim_for_sandbox(root / "shims" / "tool") == "/opt/versions/tool"
    (root / "bin/anyenv").write_text("#!/bin/sh\nexit 1\n")
    assert resolve_shim_for_sandbox(root / "shims" / "tool") == str(root / "shims" / "tool"), (
        "it does not know it either"
    )
    assert resolve_shim_for_sandbox(Path("/usr/bin/env")) == "/usr/bin/env"


@pytest.mark.parametrize("how", ["symlink_to", "hardlink_to"])
def test_the_program_behind_a_rustup_link_is_found(tmp_path: Path, how: str) -> None:
    rustup = tmp_path / "rustup"
    rustup.write_text('#!/bin/sh\necho "/opt/toolchain/bin/$2"\n')
    rustup.chmod(0o755)
    getattr(tmp_path / "cargo", how)(rustup)
    (tmp_path / "other").write_text("#!/bin/sh\n")
    assert resolve_shim_for_sandbox(tmp_path / "cargo") == "/opt/toolchain/bin/cargo"
    assert resolve_shim_for_sandbox(tmp_path / "other") == str(tmp_path / "other")
    assert resolve_shim_for_sandbox(rustup) == str(rustup)


def test_a_link_next_to_a_program_does_not_expose_other_folders(tmp_path: Path) -> None:
    secret = tmp_path / "home" / "secret"
    secret.mkdir(parents=True)
    root = tmp_path / "project" / ".venv"
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "python").write_text("#!/bin/sh\n")
    (root / "lib64").mkdir()
    (root / "lib").symlink_to(secret)
    paths = find_sandbox_toolchain_paths(str(root / "bin" / "python"), tmp_path / "tree")
    assert str(root / "lib64") in paths
    assert str(root / "lib") not in paths


def test_a_program_directly_in_a_home_folder_does_not_show_the_folders_next_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bin/tool", "lib/secret", "tools/bin/tool", "tools/lib/shown"):
        write(tmp_path, {name: "#!/bin/sh\n"})
    monkeypatch.setenv("HOME", str(tmp_path))
    shown = [
        find_sandbox_toolchain_paths(str(tmp_path / path), tmp_path / "tree") for path in ("bin/tool", "tools/bin/tool")
    ]
    assert [path for path in shown[0] if path.startswith(str(tmp_path))] == [str(tmp_path / "bin/tool")]
    assert {str(tmp_path / "tools" / name) for name in ("bin", "lib")} <= set(shown[1])
