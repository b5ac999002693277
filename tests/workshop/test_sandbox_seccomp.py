"""The system call filter: its numbers are those of the kernel, and containers get the same rules."""

from __future__ import annotations

import json
import os
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from roundtable.core.sandbox import Bounds
from roundtable.workshop.sandbox.container import sandbox_container_isolation_options
from roundtable.workshop.sandbox.engines import ContainerEngine
from roundtable.workshop.sandbox.seccomp import ALLOWED_FAMILIES, CONTAINER_PROFILE, SYSTEM_CALLS, build_seccomp_filter

HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}
FILTERED_BY_ARGUMENT = {"clone", "clone3", "socket", "unshare"}


def profile_rules() -> list[dict[str, Any]]:
    return json.loads(CONTAINER_PROFILE.read_text())["syscalls"]


@pytest.mark.parametrize("machine", SYSTEM_CALLS)
def test_the_numbers_of_system_calls_are_those_of_the_kernel(machine: str) -> None:
    header = next((Path(path) for path in HEADERS[machine] if Path(path).exists()), None)
    if header is None:
        pytest.skip("The headers of the kernel are not installed.")
    numbers = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)\n", header.read_text())}
    assert SYSTEM_CALLS[machine].items() <= numbers.items()


@pytest.mark.parametrize("machine", SYSTEM_CALLS)
def test_every_jump_of_the_filter_stays_inside_it(machine: str) -> None:
    program = build_seccomp_filter(machine)
    steps = list(struct.iter_unpack("=HBBI", program))
    assert 0 < len(steps) < 4096, "the longest filter that the kernel takes"
    for place, (_, if_true, if_false, _) in enumerate(steps):
        assert place + 1 + max(if_true, if_false) <= len(steps)


def test_a_machine_with_unknown_system_calls_has_no_filter() -> None:
    assert build_seccomp_filter("pdp11") == b""


def test_the_profile_of_containers_refuses_what_the_filter_refuses() -> None:
    rules = profile_rules()
    denied = {name for rule in rules if not rule.get("args") for name in rule["names"]}
    assert denied >= SYSTEM_CALLS["x86_64"].keys() - FILTERED_BY_ARGUMENT | {"clone3"}
    by_argument = {name for rule in rules if rule.get("args") for name in rule["names"]}
    assert by_argument == FILTERED_BY_ARGUMENT - {"clone3"}
    compared = [rule["args"][0] for rule in rules if rule["names"] == ["socket"]]
    refused = {
        family
        for family in range(64)
        if any(family == it["value"] if it["op"] == "SCMP_CMP_EQ" else family > it["value"] for it in compared)
    }
    assert refused == {*range(64)} - set(ALLOWED_FAMILIES.values())


def test_every_container_gets_the_profile() -> None:
    options = sandbox_container_isolation_options(ContainerEngine("docker", "/usr/bin/docker"), Bounds())
    assert options[options.index(f"seccomp={CONTAINER_PROFILE}") - 1] == "--security-opt"
    assert os.access(CONTAINER_PROFILE, os.R_OK)
