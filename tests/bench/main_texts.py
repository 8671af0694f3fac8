"""Quality and cost of main text on pages with known text.

`python -m tests.bench.main_texts` prints the mean F1 of words for each kind of page of WCXB, and
precision, recall and F of passages on trafilatura's pages, with the processor time of a page. It
reads both sets from the folders that `SHARED_WCXB` and `SHARED_EXTRACTION` name.
"""

import gc
import io
import json
import re
import tarfile
import time
from collections import Counter, defaultdict
from os import environ
from pathlib import Path
from statistics import mean

import click
import zstandard

from minicrawl.text.main import MAIN
from minicrawl.web.encoding.detection import decode
from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.shared import find
from tests.text.test_main import folded, known_pages

_WORDS = re.compile(r"\w+")


def f1_of_words(text: str, truth: str) -> float:
    """Return the F1 of the words of two texts, as bags; 1 if both are empty."""
    own, known = Counter(_WORDS.findall(text.lower())), Counter(_WORDS.findall(truth.lower()))
    common = (own & known).total()
    return 2 * common / ((own.total() + known.total()) or 1) if own or known else 1.0


def unpacked(name: str) -> bytes:
    """Return the content of a file of WCXB."""
    with find("wcxb", name, environ).open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read()


def of_kinds() -> tuple[dict[str, list[float]], float]:
    """Return the F1 of the pages of each kind, and the processor time of a page."""
    with tarfile.open(fileobj=io.BytesIO(unpacked("html.tar.zst"))) as archive:
        markups = {
            Path(file.name).stem: decode(content.read(), None)[0]
            for file in archive
            if (content := archive.extractfile(file)) is not None
        }
    scores, times = defaultdict[str, list[float]](list), list[float]()
    for line in filter(None, unpacked("pages.jsonl.zst").decode().split("\n")):
        page = json.loads(line)
        began = time.process_time()
        text = MAIN(markups[page["id"]], page["url"])
        times.append(time.process_time() - began)
        scores[page["kind"]].append(f1_of_words(text, page["main_content"] or ""))
    return scores, mean(times)


def of_passages() -> tuple[float, float, float]:
    """Return precision, recall and F of the passages of trafilatura's pages."""
    found = missed = extra = 0
    for markup, wanted, unwanted in known_pages(environ):
        text = folded(MAIN(markup, ""))
        has = sum(folded(passage) in text for passage in wanted)
        found, missed = found + has, missed + len(wanted) - has
        extra += sum(folded(passage) in text for passage in unwanted)
    precision, recall = found / (found + extra), found / (found + missed)
    return precision, recall, 2 * precision * recall / (precision + recall)


@click.command()
@into_document
def main(into: Path | None) -> None:
    gc.disable()  # as in the process that makes the texts of pages
    scores, page_s = of_kinds()
    lines = [circumstances(), "", *head("pages", "number", "F1 of words")]
    lines += [row(kind, f"{len(some)}", f"{mean(some):.3f}") for kind, some in scores.items()]
    whole = [score for some in scores.values() for score in some]
    lines.append(row("all", f"{len(whole)}", f"{mean(whole):.4f}"))
    precision, recall, f = of_passages()
    lines += [
        "",
        f"{1000 * page_s:.1f} ms a page. On trafilatura's pages, precision is {precision:.3f}, "
        f"recall {recall:.3f}, F {f:.4f}.",
    ]
    tell(lines, "main_texts", into)


if __name__ == "__main__":
    main()
