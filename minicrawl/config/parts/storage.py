"""Settings of what is kept of the pages: rendered or not, in which store, on which machines."""

from dataclasses import dataclass
from pathlib import Path

from minicrawl.config.declaration import differs, is_higher, setting
from minicrawl.config.values import kinds, networks

DEMO_STORE = Path("data/demo.db")
DEMO_USUAL = {"delay": 0, "endowment": 100}
"""Settings of a demo crawl: the server is local and needs no delay."""
DEMO_PAGES, FEWEST_DEMO_PAGES = 2000, 100
"""Default and minimum size of the demo web, in pages; its odd hosts dominate smaller ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """Pages to render in a browser, and limits per page."""

    render: str = setting(
        "never",
        kinds.choice("never", "auto", "always"),
        "Render pages in a browser; auto renders pages that are mostly scripts, and pages similar "
        "to those on the same host that gained links by rendering. With --requisites or --warc, it "
        "renders all pages whose scripts may fetch. Needs minicrawl[render] and Chromium.",
        stored=True,
    )
    workers: int = setting(
        1,
        kinds.whole(1, 64),
        "Number of browsers; each renders one page at a time.",
        name="render-workers",
        weakens=is_higher,
    )
    browser: Path | None = setting(
        None,
        kinds.optional(kinds.FILE),
        "Chromium executable that renders pages; none for the installed one.",
        weakens=differs,
    )

    screenshots: bool = setting(
        False,
        kinds.SWITCH,
        "Keep two pictures of each rendered page, of its top and of the whole (--keep pages or "
        "--warc). Its images, styles and fonts are then requested when it is rendered.",
        stored=True,
    )

    # Not settings:
    max_s: float = 20.0
    """Time limit per page, not counting waiting requests. The page is then read as it stands."""
    max_requests: int = 50
    """Limit of requests per page. Each waits for its host's turn."""
    max_memory: int = 1_000_000_000
    """Memory limit of a browser; a usual page takes 200 to 400 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storing:
    """Store of a crawl, and the data to keep in it."""

    store: Path = setting(
        Path("data/crawl.db"), kinds.FILE, "SQLite file that holds the crawl.", weakens=differs
    )
    links: bool = setting(True, kinds.SWITCH, "Store the links between pages.", stored=True)
    strip_marks: bool = setting(
        True,
        kinds.SWITCH,
        "Remove session IDs and campaign parameters from URLs. The original URL is stored too.",
        off="--keep-marks",
        stored=True,
    )
    keep: str = setting(
        "pages",
        kinds.choice("pages", "text", "links", "none"),
        "Keep whole responses (pages) or only text (text) in FILE-pages beside the store, the "
        "text, rel and href of each link in the store (links), or nothing (none). In a cluster, "
        "the default is none.",
        stored=True,
    )
    keep_versions: int | str = setting(
        "all",
        kinds.either("all", kinds.either("changed", kinds.whole(1))),
        "Versions to keep of a page that is fetched again: all, the last N, or only changed ones. "
        "With N, older versions are removed once that frees a quarter of the archive; an "
        "unchanged version takes only the space of its heads.",
        stored=True,
    )
    warc: Path | str | None = setting(
        None,
        kinds.optional(kinds.WARC_PLACE),
        "Also write every response, including a 404, to WARC files in this folder, with their "
        "indexes (CDXJ). File names begin with NAME, or with that of the store. A new "
        "file begins after SIZE (1GB); none for no files.",
        weakens=differs,
        stored=True,
    )
    objects: str | None = setting(
        None,
        kinds.optional(kinds.OBJECT_STORE),
        "Move full files of kept pages and WARC to an object store: s3://BUCKET/PATH, gs://..., "
        "az://... or file:///FOLDER. Commands read ranges of them. Credentials come from the "
        "environment; none keeps files here.",
        weakens=differs,
        stored=True,
    )
    converge: bool = setting(
        True,
        kinds.SWITCH,
        "Compute converged importance for all known pages when the crawl ends, for at most a "
        "tenth of its time or 5 seconds, and while it is idle.",
    )
    dedupe_with: Path | None = setting(
        None,
        kinds.optional(kinds.FOUND_FILE),
        "Write responses whose body an earlier archive has, at any URL, as revisits without a "
        "body: in --warc, and in exported WARC and WACZ files. FILE is its index (CDXJ, plain or "
        "gzip), or a folder with those of many archives; none for no file. If it is the folder of "
        "--warc, its later crawls do so unasked.",
        weakens=differs,
    )
    check: tuple[str, ...] = setting(
        (),
        kinds.some_of("external", "assets", or_none=True),
        "After the crawl, check links that leave the scope or lead to files, with HEAD, or GET if "
        "HEAD is refused (external), or the images, styles, scripts and media of kept pages, the "
        "anchors in links such as /page#anchor, and whether missing pages are reported as such, by "
        "one request per folder (assets). Targets are not crawled, and --deny applies.",
    )
    requisites: bool = setting(
        False,
        kinds.SWITCH,
        "After the crawl, keep the images, styles, scripts, fonts and media of kept pages (--keep "
        "pages), from any host that allows it. --deny applies.",
        stored=True,
    )

    @property
    def keeps_answers(self) -> bool:
        """True if responses or their texts are archived beside the store."""
        return self.keep in ("pages", "text")

    @property
    def keeps_failures(self) -> bool:
        """True if whole responses are kept, including failures."""
        return self.keep == "pages" or self.warc is not None

    @property
    def is_for_replay(self) -> bool:
        """True if an archive of the pages is to show them again, with what their scripts fetch."""
        return self.requisites or self.warc is not None

    @property
    def may_converge(self) -> bool:
        """True if converged importance is to be computed, which needs links."""
        return self.converge and self.links


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    url: str | None = setting(
        None,
        kinds.optional(networks.NATS_SERVERS),
        "Crawl with other machines through these NATS servers: nats://host:4222, comma-separated, "
        "then /NAME if they serve several crawls. demo starts servers and nodes on this machine; "
        "none crawls on this machine alone.",
        name="cluster",
        weakens=differs,
    )
