"""Recorded honest pages: the manuals of this machine, and pages of many sites.

The frame of a manual is the lines that most of its pages share. The frame of any other page is its
short lines. A frame with the message of a generated site is the missing page, and a soft 404.
"""

import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import compress, cycle, islice
from operator import not_
from pathlib import Path

from minicrawl.web.encoding.detection import decode
from minicrawl.web.html.page_text import plain_text
from minicrawl.web.responses.soft_404 import missing_siblings
from tests.real.nginx import SITES
from tests.shared import find
from tests.web.soft_404.made import FOLDER, Case, Host, MadeSite, sites

_GONE = f"{FOLDER}green-lamp-7"
_MOST_FRAME_WORDS = 6
_THIN, _USUAL = 60, 9
"""Number of the shortest pages of a manual, which are judged, and of pages that give its frame."""


def manuals(half: str) -> Iterator[Case]:
    """Yield cases of the manuals that are installed."""
    for name, folder in SITES.items():
        files = sorted(folder.rglob("*.html"), key=lambda one: (one.stat().st_size, one))
        thin, usual = map(_texts, (files[:_THIN], files[_THIN :: len(files) // _USUAL + 1]))
        counts = Counter(line for text in usual.values() for line in set(text.split("\n")))
        frame = [line for line, count in counts.items() if 2 * count > len(usual)]
        makers = _with_message(half) if files else []
        hosts = [_host(made, frame, usual) for made in makers]
        for made, host in zip(makers, hosts, strict=True):
            yield _soft("manual", f"{name}, {made.name}", host, made, frame)
        for (url, text), host in zip(thin.items(), cycle(hosts), strict=False):
            yield Case("manual", f"{name}, {url}", host, url, text, is_soft=False)


def pages(half: str, environment: Mapping[str, str]) -> Iterator[Case]:
    """Yield cases of every other page of many sites; raise `Absent` if they are not here."""
    known = _known_pages(find("extraction", "pages.tar.xz", environment))
    parts = [_parted(text) for _, text in known]
    makers = cycle(_with_message(half))
    for number in range(int(half), len(known), 2):
        (name, text), (frame, _), made = known[number], parts[number], next(makers)
        proses = [parts[number - other][1] for other in (1, 2, 3)]
        others = {f"{FOLDER}{other}": "\n".join([*frame, *one]) for other, one in enumerate(proses)}
        host = _host(made, frame, others)
        yield _soft("page", f"{name}, {made.name}", host, made, frame)
        yield Case("page", name, host, f"{FOLDER}page", text, is_soft=False)


@cache
def _known_pages(path: Path) -> list[tuple[str, str]]:
    """Return names and texts of every other page."""
    with tarfile.open(path) as archive:
        opened = ((file.name, archive.extractfile(file)) for file in islice(archive, 0, None, 2))
        return [
            (name, plain_text(decode(file.read(), None)[0]))
            for name, file in opened
            if file is not None and name.endswith(".html")
        ]


def _texts(files: list[Path]) -> dict[str, str]:
    return {f"{FOLDER}{one.name}": plain_text(one.read_text("utf-8", "replace")) for one in files}


def _parted(text: str) -> tuple[list[str], list[str]]:
    """Return the short lines and the others."""
    lines = text.split("\n")
    is_short = [len(line.split()) <= _MOST_FRAME_WORDS for line in lines]
    return list(compress(lines, is_short)), list(compress(lines, map(not_, is_short)))


def _with_message(half: str) -> list[MadeSite]:
    return [site for site in sites(half) if site.kind not in ("home", "shell")]


def _host(made: MadeSite, frame: list[str], others: dict[str, str]) -> Host:
    missing = {url: _gone(made, frame, url) for url in missing_siblings(FOLDER)}
    return Host(missing, "\n".join(frame), [others])


def _soft(kind: str, name: str, host: Host, made: MadeSite, frame: list[str]) -> Case:
    return Case(kind, name, host, _GONE, _gone(made, frame, _GONE), is_soft=True)


def _gone(made: MadeSite, frame: list[str], url: str) -> str:
    middle = len(frame) // 2
    return "\n".join([*frame[:middle], plain_text(made.missing(url)), *frame[middle:]])
