"""The rows that say what is stored, and what is done when a crawl ends."""

from minicrawl.config.setting import STORE, Setting, differs
from minicrawl.config.values import kinds

KEEPS = ("pages", "text", "links", "none")

STORE_ROWS = (
    Setting(
        STORE,
        "store",
        "store",
        kinds.FILE,
        "The file that holds the crawl.",
        weakens=differs,
    ),
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
        "What to keep of each page that is read. In the folder FILE-pages beside the store, pages "
        "keeps the whole answer, and text only its text. In the store, links keeps how each link "
        "is written, with its text and rel. none keeps nothing, and is the default in a cluster.",
    ),
    Setting(
        STORE,
        "keep_versions",
        "keep-versions",
        kinds.either("all", kinds.either("changed", kinds.whole(1))),
        "Which versions to keep of a page that is read again: all, the last N, or only those that "
        "have changed. A version that has not changed takes a few bytes. With N, older versions "
        "are removed once that frees a quarter of the archive.",
    ),
    Setting(
        STORE,
        "warc",
        "warc",
        kinds.optional(kinds.FOLDER),
        "Also write every answer to WARC files in this folder, a 404 as well. A new file begins at "
        "about 1 GB. none for no files.",
        weakens=differs,
    ),
    Setting(
        STORE,
        "check_external",
        "check-external",
        kinds.SWITCH,
        "When the crawl ends, check each link that leaves the scope or leads to a file: with HEAD, "
        "or with GET if HEAD is refused. What it leads to is not crawled, and --deny holds.",
        off="--no-check-external",
    ),
    Setting(
        STORE,
        "check_assets",
        "check-assets",
        kinds.SWITCH,
        "Do the same for images, styles, scripts and media of the pages that are kept (--keep "
        "pages), and check that the anchors exist that links name, such as /page#anchor.",
        off="--no-check-assets",
    ),
    Setting(
        STORE,
        "requisites",
        "requisites",
        kinds.SWITCH,
        "When the crawl ends, keep what the pages that are kept (--keep pages) need to be shown: "
        "images, styles, scripts, fonts and media, of any host that allows it, but for --deny.",
        off="--no-requisites",
    ),
)
