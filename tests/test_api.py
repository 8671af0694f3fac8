"""Python API: guides print what they show, names exist, a crawl leaves its process as it was."""

import doctest
import gc
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import minicrawl
from minicrawl import ext
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer, ServedWeb
from minicrawl.demo.web import DemoWeb
from minicrawl.graph.csr import Csr
from minicrawl.memory import allocator
from minicrawl.memory.garbage_collector import GC_THRESHOLDS

HOW_TO = Path(__file__).parents[1] / "docs" / "how-to"


class Quotes:
    """Site of quotations, as in tutorials: three pages of quotes, and a page for each author."""

    AUTHORS = ("Ann Otter", "Bo Heron")
    SAYINGS = ("A duck floats.", "Ponds are deep.", "Reeds bend.")

    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], visits: int, /
    ) -> DemoResponse:
        _, kind, name, *_ = *target.split("/"), "", ""
        if kind == "page" and name in "123":
            said = zip(self.AUTHORS, (self.SAYINGS * 2)[int(name) - 1 :], strict=False)
            quotes = "".join(
                f'<div class=quote><b class=text>{text}</b> <a class=author href="/author/{i}/">'
                f'{author}</a> <i class="tag">ducks</i><i class=tag>water</i></div>'
                for i, (author, text) in enumerate(said)
            )
            link = f'<a href="/page/{int(name) + 1}/">Next</a>' if name < "3" else ""
            return _html(f"Quotes, page {name}", quotes + link)
        if kind == "author":
            return _html(self.AUTHORS[int(name)], f'<a href="/page/1/">Quotes</a> {name * 40}')
        return DemoResponse(404, {})


def _html(title: str, body: str) -> DemoResponse:
    page = f"<!doctype html><title>{title}</title><body>{body}"
    return DemoResponse(200, {"Content-Type": "text/html"}, page.encode())


@pytest.mark.slow
@pytest.mark.documents
@pytest.mark.parametrize(
    ("name", "web"),
    [
        ("use-from-python", DemoWeb(200)),
        ("coming-from-scrapy", Quotes()),
        ("coming-from-crawlee", Quotes()),
    ],
)
def test_the_examples_of_a_guide_print_what_it_shows(
    name: str, web: ServedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with DemoServer(web) as server:
        ran = doctest.testfile(
            str(HOW_TO / f"{name}.md"),
            module_relative=False,
            globs={"address": server.address},
            optionflags=doctest.REPORT_NDIFF,
        )
    assert ran.attempted > 5
    assert ran.failed == 0


@pytest.mark.parametrize("module", [minicrawl, ext], ids=lambda module: module.__name__)
def test_every_name_of_the_api_exists(module: ModuleType) -> None:
    assert [name for name in module.__all__ if getattr(module, name, None) is None] == []
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match="no attribute 'Spider'"):
        _ = module.Spider


def test_guides_and_examples_import_public_names_only() -> None:
    root = HOW_TO.parents[1]
    written = [*(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.py")]
    imports = r"^\W*(?:from|import) (minicrawl\.(?!ext\b)\w+)"
    found = {
        file: re.findall(imports, file.read_text(encoding="utf-8"), re.MULTILINE)
        for file in (root / "README.md", *written)
        if "decisions" not in file.parts
    }
    assert {file: hidden for file, hidden in found.items() if hidden} == {}


def test_a_repr_names_sizes_and_settings_and_no_secret(filled: Path) -> None:
    with minicrawl.Store.open(filled) as store:
        assert all("6 pages" in repr(one) for one in (store, store.graph, store.pages()))
    assert "1 link" in repr(Csr.from_edges(2, np.array([0]), np.array([1])))
    settings = minicrawl.Settings.of(pages=3, auth=["a.example=me:secret"])
    assert "secret" not in repr(settings)
    assert "pages=3" in repr(settings)


def test_one_text_is_no_list_of_seeds() -> None:
    with pytest.raises(minicrawl.MinicrawlError, match=r"list of URLs: \['https://a\.example'\]"):
        minicrawl.Crawl("https://a.example")


def test_a_crawl_leaves_the_process_of_its_caller_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only commands may configure malloc; returning free memory changes no setting.
    libc = SimpleNamespace(malloc_trim=int, mallopt=lambda *_: pytest.fail("malloc is configured"))
    monkeypatch.setattr(allocator, "ctypes", SimpleNamespace(CDLL=lambda _: libc))
    web = DemoWeb(100)
    before, during = gc.get_threshold(), set()
    with DemoServer(web) as server:
        settings = minicrawl.Settings.of(
            pages=3, delay=0, store=str(path), resolve=[f"*={server.address}"]
        )
        crawl = minicrawl.Crawl(web.seeds, settings)
        crawl.subscribe(lambda _event: during.add(gc.get_threshold()))
        crawl.run()
    assert gc.get_threshold() == before
    assert during == {GC_THRESHOLDS}
