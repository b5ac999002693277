"""The system call filter of every sandbox: what no check needs and what has helped programs out of sandboxes."""

from __future__ import annotations

import os
import struct
from functools import cache
from pathlib import Path

_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_CLONE_NEWUSER = 0x10000000
_KILL_PROCESS, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_LOAD_WORD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _FIRST_ARGUMENT_OFFSET = 0, 4, 16
_X32_BIT = 0x40000000

ALLOWED_FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
"""The address families of sockets that programs may create."""

SYSTEM_CALLS: dict[str, dict[str, int]] = {
    "x86_64": {
        "add_key": 248, "bpf": 321, "clone": 56, "clone3": 435, "io_uring_enter": 426, "io_uring_register": 427,
        "io_uring_setup": 425, "kcmp": 312, "keyctl": 250, "open_by_handle_at": 304, "perf_event_open": 298,
        "pidfd_getfd": 438, "process_vm_readv": 310, "process_vm_writev": 311, "ptrace": 101, "request_key": 249,
        "sched_setaffinity": 203, "setns": 308, "socket": 41, "unshare": 272, "userfaultfd": 323,
    },
    "aarch64": {
        "add_key": 217, "bpf": 280, "clone": 220, "clone3": 435, "io_uring_enter": 426, "io_uring_register": 427,
        "io_uring_setup": 425, "kcmp": 272, "keyctl": 219, "open_by_handle_at": 265, "perf_event_open": 241,
        "pidfd_getfd": 438, "process_vm_readv": 270, "process_vm_writev": 271, "ptrace": 117, "request_key": 218,
        "sched_setaffinity": 122, "setns": 268, "socket": 198, "unshare": 97, "userfaultfd": 282,
    },
}  # fmt: skip
"""Numbers of the filtered system calls, by machine."""
_AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_FILTERED_BY_ARGUMENT = frozenset({"clone", "clone3", "socket", "unshare"})
_DENIED = tuple(name for name in SYSTEM_CALLS["x86_64"] if name not in _FILTERED_BY_ARGUMENT)

CONTAINER_PROFILE = Path(__file__).parent / "etc" / "seccomp.json"
"""The same filter for container engines. It replaces their own profiles, so it also denies what those deny."""


@cache
def build_seccomp_filter(machine: str = os.uname().machine) -> bytes:
    """Return the filter as the kernel reads it; empty for a machine whose system calls are not known here.

    A denied call fails with an error, as on a kernel that was built without it, so a program can do without it.
    `clone3` does not exist for the program, because a filter cannot read its flags: libraries then use `clone`.
    Programs of another architecture are killed, since their calls have other numbers.
    """
    if machine not in SYSTEM_CALLS:
        return b""
    numbers = SYSTEM_CALLS[machine]
    program = [
        _step(_LOAD_WORD, _ARCHITECTURE_OFFSET),
        _step(_JUMP_EQUAL, _AUDIT_ARCHITECTURES[machine], 1, 0),
        _step(_RETURN, _KILL_PROCESS),
        _step(_LOAD_WORD, _NUMBER_OFFSET),
    ]
    if machine == "x86_64":
        program += [_step(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1), _step(_RETURN, _ERRNO | _EPERM)]
    for name in _DENIED:
        program += _if_call(numbers[name], [_step(_RETURN, _ERRNO | _EPERM)])
    program += _if_call(numbers["clone3"], [_step(_RETURN, _ERRNO | _ENOSYS)])
    for name in ("clone", "unshare"):
        program += _if_call(
            numbers[name],
            [
                _step(_LOAD_WORD, _FIRST_ARGUMENT_OFFSET),
                _step(_JUMP_ANY_BIT, _CLONE_NEWUSER, 0, 1),
                _step(_RETURN, _ERRNO | _EPERM),
                _step(_RETURN, _ALLOW),
            ],
        )
    families = list(ALLOWED_FAMILIES.values())
    program += _if_call(
        numbers["socket"],
        [
            _step(_LOAD_WORD, _FIRST_ARGUMENT_OFFSET),
            *(_step(_JUMP_EQUAL, family, len(families) - place, 0) for place, family in enumerate(families)),
            _step(_RETURN, _ERRNO | _EAFNOSUPPORT),
            _step(_RETURN, _ALLOW),
        ],
    )
    return b"".join((*program, _step(_RETURN, _ALLOW)))


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _if_call(number: int, steps: list[bytes]) -> list[bytes]:
    """Return steps that are taken only for one system call, whose number is loaded."""
    return [_step(_JUMP_EQUAL, number, 0, len(steps)), *steps]
