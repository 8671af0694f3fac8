"""For an archive, a browser opens details and scrolls lists, whatever scripts seem to do."""

from pathlib import Path

import pytest

from tests.crawl.rendering.sites import crawled, data, needs_browser, page, script, served

pytestmark = [needs_browser, pytest.mark.timeout(600)]

WORDS = "many words of an article that has enough to say. " * 10
ANCHORS = "".join(f'<a href="/{number}.pdf">page {number}</a>' for number in range(10))
FOLDED = "<details ontoggle='fetch(\"/api/told\")'><summary>more</summary>text</details>"
LIST = (
    "<div id='list' style='height: 100px; overflow: auto'><p style='height: 900px'>first</p></div>"
)
APP = """let pages = 1;
const list = document.getElementById("list");
list.addEventListener("scroll", () => { if (pages < 3) fetch(`/api/page${++pages}`)
  .then(() => { list.lastChild.style.height = `${900 * pages}px`; }); });
fetch("/posted", { method: "POST", body: "x" })
  .catch(() => document.body.insertAdjacentHTML("beforeend", "<a href=/refused>r</a>"));"""


@pytest.mark.slow
@pytest.mark.parametrize("is_for_replay", [True, False])
def test_what_unfolds_and_what_scripts_post_is_requested_for_an_archive_only(
    tmp_path: Path, is_for_replay: bool
) -> None:
    answers = {
        "/": page(f"<p>{WORDS}{ANCHORS}{FOLDED}{LIST}<script src='/app.js'></script>"),
        "/app.js": script(APP),
        "/api/told": data({}),
        "/api/page2": data({}),
        "/api/page3": data({}),
    }
    with served(answers) as (web, origin):
        warc = tmp_path / "warcs" if is_for_replay else None
        render = "auto" if is_for_replay else "always"
        pages = crawled(f"{origin}/", tmp_path / "c.db", render=render, warc=warc)
    unfolded = {"/api/told", "/api/page2", "/api/page3"}
    assert unfolded & {*web.paths} == (unfolded if is_for_replay else set())
    assert ("/refused" in pages) is not is_for_replay
