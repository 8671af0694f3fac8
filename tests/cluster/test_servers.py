"""nats-server comes from the system, or else from a wheel whose program has a known checksum."""

import asyncio
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from minicrawl.cluster import servers
from minicrawl.cluster.servers import PROGRAM, WHEEL, WHEEL_VERSION, local_servers, server_program
from minicrawl.errors import UsageError

pytestmark = pytest.mark.anyio
needs_wheel = pytest.mark.skipif(find_spec(WHEEL) is None, reason=f"no wheel of {WHEEL} here")


@pytest.fixture(autouse=True)
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the only folder of the system's programs, which does not exist yet."""
    monkeypatch.setenv("PATH", str(tmp_path / "system"))
    monkeypatch.setattr(servers, "_SYSTEM", str(tmp_path / "system"))
    servers._program_of_wheel.cache_clear()
    yield tmp_path / "system"
    servers._program_of_wheel.cache_clear()


def written(program: Path) -> Path:
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_the_program_of_the_system_comes_first(system: Path) -> None:
    program = written(system / PROGRAM)
    assert server_program() == str(program)


@needs_wheel
async def test_without_one_the_program_of_the_wheel_runs(tmp_path: Path) -> None:
    program = server_program()
    assert program is not None
    assert WHEEL in program

    async with local_servers(tmp_path / "servers", 1) as started:
        assert started.servers[0].pid is not None


def test_a_program_with_another_checksum_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = written(tmp_path / "other_wheel" / "bin" / PROGRAM)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(servers, "WHEEL", "other_wheel")
    with pytest.raises(UsageError, match=r"SHA-256 [0-9a-f]{64}") as refused:
        server_program()
    assert str(program) in str(refused.value)


def test_with_neither_the_error_names_the_program_and_the_version_of_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "WHEEL", "no_such_wheel")
    assert server_program() is None

    async def work() -> None:
        async with local_servers(tmp_path / "servers", 1):
            raise AssertionError

    with pytest.raises(UsageError, match=f"install {PROGRAM}") as refused:
        asyncio.run(work())
    assert WHEEL_VERSION in str(refused.value)
