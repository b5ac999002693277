"""The name of the user: the login name, or else the user id."""

from __future__ import annotations

import os

import pytest

from roundtable.workshop.identity import os_user_name

UNKNOWN_USER_ID = 54321
"""A number that no machine has a name for."""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_user_without_a_login_name_is_named_by_the_user_id() -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(UNKNOWN_USER_ID)
        os.environ.clear()
        os.write(write, os_user_name().encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        assert file.read() == str(UNKNOWN_USER_ID)
    os.waitpid(child, 0)
