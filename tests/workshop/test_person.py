"""Whoever runs this has a name, or at least a number."""

from __future__ import annotations

import os

import pytest

from roundtable.workshop.identity import current_user_name

NOBODYS = 54321
"""A number that no machine has a name for."""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_who_has_no_name_on_this_machine_goes_by_their_number() -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(NOBODYS)
        os.environ.clear()
        os.write(write, current_user_name().encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        assert told.read() == str(NOBODYS)
    os.waitpid(child, 0)
