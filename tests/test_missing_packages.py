"""A command whose package is not installed names the extra that brings it."""

import subprocess
import sys
from pathlib import Path

import pytest

from minicrawl import Store
from minicrawl.errors import UsageError, needs
from tests.processes import run_python
from tests.stores import filled_store

_WITHOUT = """
import sys

sys.modules[sys.argv[1]] = None
from minicrawl.cli import main

sys.exit(main(sys.argv[2:]))
"""
_KEY = "about --new-key bot.pem --contact https://bot.example/"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "extra", "command"),
    [
        ("nkeys", "cluster", "crawl --cluster demo"),
        ("nats", "cluster", "status --cluster nats://127.0.0.1:4222"),
        ("nats", "cluster", "node --cluster nats://127.0.0.1:4222"),
        ("nats", "cluster", "cluster status --cluster nats://127.0.0.1:4222"),
        ("starlette", "dashboard", "dashboard"),
        ("uvicorn", "dashboard", "search --serve"),
        ("tantivy", "search", "crawl --index http://127.0.0.1/"),
        ("mcp", "mcp", "mcp"),
        ("matplotlib", "lab", "plot crawl.png"),
        ("scipy", "lab", "lab graphs a300"),
        ("duckdb", "parquet", "export pages.parquet"),
        ("py3langid", "text", "crawl --score language:en http://127.0.0.1/"),
        ("cryptography", "signing", _KEY),
    ],
)
def test_the_error_names_the_extra(package: str, extra: str, command: str, tmp_path: Path) -> None:
    filled_store(tmp_path / "data" / "crawl.db")
    done = run_python("-c", _WITHOUT, package, *command.split(), folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert f"minicrawl[{extra}]" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_crawl_in_a_cluster_needs_no_other_extra(tmp_path: Path) -> None:
    for module in ("commands.crawling", "child"):
        code = (
            "import sys; sys.modules.update(dict.fromkeys(sys.argv[2:])); "
            "__import__(f'minicrawl.cluster.{sys.argv[1]}')"
        )
        others = ("starlette", "uvicorn", "scipy", "selectolax", "tantivy", "py3langid")
        subprocess.run([sys.executable, "-c", code, module, *others], cwd=tmp_path, check=True)


def test_a_matrix_of_a_store_names_the_extra(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled_store(path)
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with (
        Store(path) as store,
        pytest.raises(UsageError, match=r"scipy.*minicrawl\[ranks\]"),
    ):
        store.graph.matrix()


def test_a_package_of_a_package_is_named_too() -> None:
    with (
        pytest.raises(UsageError, match=r"main text.* selectolax.*\[text\]"),
        needs("text", "main text"),
    ):
        raise ModuleNotFoundError(name="selectolax.lexbor")


def test_a_missing_module_of_our_own_is_a_bug() -> None:
    with pytest.raises(ModuleNotFoundError), needs("text", "main text"):
        raise ModuleNotFoundError(name="minicrawl.nothing")
