"""The notebook in docs/how-to/from-crawl-to-plot.md runs, and prints what the page shows."""

import re
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from minicrawl.demo.server import DemoServer
from minicrawl.demo.web import DemoWeb

pytestmark = pytest.mark.documents

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "from-crawl-to-plot.md"
CELL = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```text\n(?P<output>.*?)\n```)?", re.DOTALL)


@pytest.mark.slow
def test_the_notebook_runs_from_the_crawl_to_the_plots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    cells = list(CELL.finditer(PAGE.read_text(encoding="utf-8")))
    assert len(cells) > 5
    shell: Any = InteractiveShell.instance()
    try:
        with DemoServer(DemoWeb(300)) as server:
            shell.push({"address": server.address})
            for cell in cells:
                with capture_output():
                    ran = shell.run_cell(cell["code"])
                ran.raise_error()
                assert cell["output"] in (None, repr(ran.result)), cell["code"]
    finally:
        InteractiveShell.clear_instance()
    for name in ("degrees.png", "gathered.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
