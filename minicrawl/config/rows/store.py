"""The rows that say what is stored, and what is done when a crawl ends."""

from minicrawl.config.setting import STORE, Setting
from minicrawl.config.values import kinds

KEEPS = ("pages", "text", "links", "none")

STORE_ROWS = (
    Setting(STORE, "store", "store", kinds.FILE, "The file that holds the crawl."),
    Setting(
        STORE, "links", "links", kinds.SWITCH, "Store the links of the pages.", off="--no-links"
    ),
    Setting(
        STORE,
        "strip_marks",
        "strip-marks",
        kinds.SWITCH,
        "Remove session ids and campaign parameters from URLs. The original URL is stored as well.",
        off="--keep-marks",
    ),
    Setting(
        STORE,
        "converge",
        "converge",
        kinds.SWITCH,
        "Compute the converged importance of all known pages when the crawl ends, for at most a "
        "tenth of its time or 5 seconds, and also while it is idle.",
        off="--no-converge",
    ),
    Setting(
        STORE,
        "keep",
        "keep",
        kinds.choice(*KEEPS),
        "What is kept of the pages that are read. In the folder FILE-pages beside the store, pages "
        "keeps all of each answer, and text only the text. In the store, links keeps how each link "
        "is written, with its text and rel. none keeps nothing.",
    ),
    Setting(
        STORE,
        "keep_versions",
        "keep-versions",
        kinds.either("all", kinds.either("changed", kinds.whole(1))),
        "Which versions of a page that is read again are kept: all, the last N, or only those that "
        "have changed. A version that has not changed takes a few bytes. Of more than N the older "
        "ones go as soon as that frees a quarter of the archive.",
    ),
    Setting(
        STORE,
        "warc",
        "warc",
        kinds.optional(kinds.FOLDER),
        "Write every answer that is read to WARC files in this folder as well, a new file at about "
        "1 GB. none for no files.",
    ),
    Setting(
        STORE,
        "check_external",
        "check-external",
        kinds.SWITCH,
        "When the crawl ends, ask once for each link that leaves the scope or leads to a file, by "
        "HEAD, or by GET where HEAD is refused. Nothing of it is crawled.",
        off="--no-check-external",
    ),
    Setting(
        STORE,
        "check_assets",
        "check-assets",
        kinds.SWITCH,
        "The same for images, styles, scripts and media of the pages that are kept (--keep pages), "
        "and look for the anchors that links name by fragments.",
        off="--no-check-assets",
    ),
)
