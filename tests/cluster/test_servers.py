"""nats-server comes from the system, or else from a wheel whose program has a known checksum."""

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
    monkeypatch.setattr(servers, "SYSTEM", str(tmp_path / "system"))
    # A process looks for the program once.
    servers._program_of_wheel.cache_clear()
    yield tmp_path / "system"
    servers._program_of_wheel.cache_clear()


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the program of another wheel of the same name, which lacks it so far."""
    package = tmp_path / "site-packages" / WHEEL
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(package.parent))
    return package / "bin" / PROGRAM


def written(program: Path, version: str = "2.11.0") -> str:
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho nats-server: v{version}\n")
    program.chmod(0o755)
    return str(program)


def test_the_program_of_the_system_comes_first(system: Path) -> None:
    assert written(system / PROGRAM) == server_program()


@needs_wheel
def test_a_program_of_the_system_that_is_too_old_is_passed_over(system: Path) -> None:
    written(system / PROGRAM, "2.10.29")
    assert WHEEL in str(server_program())


@needs_wheel
async def test_without_one_the_program_of_the_wheel_runs(tmp_path: Path) -> None:
    assert WHEEL in str(server_program())
    async with local_servers(tmp_path / "servers", 1) as started:
        assert started.servers[0].pid is not None


def test_a_program_with_another_checksum_is_refused(wheel: Path) -> None:
    with pytest.raises(UsageError, match=rf"{written(wheel)} .*[0-9a-f]{{64}}"):
        server_program()


@pytest.mark.usefixtures("wheel")
async def test_with_neither_the_error_names_the_program_and_the_version_of_the_wheel(
    tmp_path: Path,
) -> None:
    assert server_program() is None
    with pytest.raises(UsageError, match=f"install {PROGRAM}.* {WHEEL_VERSION}"):
        async with local_servers(tmp_path / "servers", 1):
            raise AssertionError
