"""A short form of `python -m tests.proofs.doors`: each attack on the servers, without times."""

from itertools import cycle
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("tantivy")
pytest.importorskip("selectolax")
pytest.importorskip("mcp")

from tests.proofs import IS_LONG
from tests.proofs.doors.crowds import CATALOGUE
from tests.proofs.doors.servers import DOORS, serving
from tests.proofs.doors.smuggling import misled
from tests.proofs.doors.trial import attacked, filled_store, measured
from tests.real.daemons import program

pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]
SECONDS = 8.0 if IS_LONG else 1.0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled_store(tmp_path_factory.mktemp("doors"))


def attacks_of(door: str) -> list[str]:
    """Return all attacks, or the part of them that falls to this server in the short form."""
    shares = zip(CATALOGUE, cycle(DOORS), strict=False)
    return [name for name, share in shares if IS_LONG or share == door]


@pytest.mark.parametrize("door", DOORS)
def test_our_client_is_answered_beside_each_attack(store: Path, door: str) -> None:
    with serving(door, store) as server:
        for name in attacks_of(door):
            with attacked(server.port, name):
                figures = measured(server, SECONDS)
            assert figures.broken() == [], (name, figures)


@pytest.mark.parametrize("door", DOORS if IS_LONG else ["dashboard"])
def test_a_server_with_few_descriptors_answers(store: Path, door: str) -> None:
    with serving(door, store, 64) as server, attacked(server.port, "half heads"):
        figures = measured(server, SECONDS)
    assert figures.broken() == []


@pytest.mark.skipif(program("nginx") is None, reason="no nginx")
@pytest.mark.parametrize("door", DOORS if IS_LONG else ["MCP"])
def test_no_ambiguous_request_reaches_another_client(
    store: Path, door: str, tmp_path: Path
) -> None:
    with serving(door, store) as server:
        assert misled(tmp_path, server) == []
