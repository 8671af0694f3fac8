"""The answers that the search page and the dashboard get."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.testclient import TestClient

from minicrawl.search.serving import SearchAnswers


def test_a_store_without_an_index_is_named_in_the_command_that_makes_one(tmp_path: Path) -> None:
    client = TestClient(Starlette(routes=SearchAnswers(tmp_path / "my site.db").routes("/api")))
    response = client.get("/api/search", params={"q": "harbour"})
    assert response.status_code == 422
    assert "`minicrawl index --store 'my site.db'`" in response.json()["error"]
