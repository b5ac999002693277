"""Every voice that can be pointed at the fault server passes this kit by subclassing `FaultKit`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from typing import ClassVar

import pytest

from roundtable.core.faults import Fault
from roundtable.core.ports import Voice
from roundtable.voices.fault_server import FaultServer
from roundtable.voices.fault_server.expectations import EXPECTATIONS, GOOD_ANSWER, FaultExpectation
from roundtable.voices.registry import ask_voice_outside_meeting
from tests.kits.voice_kit import make_request

SECRET = "sk-kit-0123456789-never-told"


class FaultStage(ABC):
    """One kind of voice and its server, which accepts only requests with `SECRET`."""

    server: FaultServer
    agent: bool = False
    patience: float = 1.0
    """Seconds after which a call that never ends is given up."""
    bound: float = 30.0
    """Seconds within which every other call must have ended by itself."""

    @abstractmethod
    def voice(self, behaviour: str) -> Voice:
        """Return a new voice for this behaviour, without state from other tests."""


class FaultKit(ABC):
    """Every fault is reported by its kind in bounded time, and nothing runs on afterwards."""

    expectations: ClassVar[tuple[FaultExpectation, ...]] = EXPECTATIONS
    """What this kind of voice is put through."""

    @pytest.fixture
    @abstractmethod
    def fault_stage(self) -> FaultStage | AsyncGenerator[FaultStage, None]:
        """The implementation under test."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Create one test for each fault that applies to this kind of voice."""
        if "expected" in metafunc.fixturenames:
            metafunc.parametrize(
                "expected", self.expectations, ids=[expectation.behaviour for expectation in self.expectations]
            )

    async def test_every_provider_failure_becomes_a_fault_of_its_kind(
        self, fault_stage: FaultStage, expected: FaultExpectation
    ) -> None:
        limit = fault_stage.patience if expected.is_endless else fault_stage.bound
        end = await ask_voice_outside_meeting(fault_stage.voice(expected.behaviour), make_request(timeout=limit))
        assert expected.find_objection(end, SECRET, fault_stage.agent) == "", end
        assert await fault_stage.server.is_left_alone()

    async def test_a_voice_works_again_after_a_fault(self, fault_stage: FaultStage) -> None:
        assert isinstance(
            await ask_voice_outside_meeting(fault_stage.voice("500"), make_request(timeout=fault_stage.bound)), Fault
        )
        end = await ask_voice_outside_meeting(fault_stage.voice("normal"), make_request(timeout=fault_stage.bound))
        assert GOOD_ANSWER.find_objection(end) == ""

    async def test_cancelling_during_an_answer_closes_the_connection(self, fault_stage: FaultStage) -> None:
        call = asyncio.create_task(
            ask_voice_outside_meeting(fault_stage.voice("hang"), make_request(timeout=fault_stage.bound))
        )
        async with asyncio.timeout(fault_stage.bound):
            while not fault_stage.server.at_once:  # noqa: ASYNC110 (the call may come from another process)
                await asyncio.sleep(0.02)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await fault_stage.server.is_left_alone()
