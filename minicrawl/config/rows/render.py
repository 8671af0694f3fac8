"""The rows that say which pages a browser renders, and how much one of them may cost."""

from minicrawl.config.setting import RENDER, Setting, differs, is_higher
from minicrawl.config.values import kinds

RENDER_MODES = ("never", "auto", "always")
MOST_RENDER_WORKERS = 64

RENDER_ROWS = (
    Setting(
        RENDER,
        "render",
        "render",
        kinds.choice(*RENDER_MODES),
        "Which pages a browser renders. auto: those that are scripts and little else, and those "
        "that look like pages of the same host that gained links when they were rendered. Needs "
        "minicrawl[render] and a chromium.",
    ),
    Setting(
        RENDER,
        "workers",
        "render-workers",
        kinds.whole(1, MOST_RENDER_WORKERS),
        "Browsers; each renders one page at a time.",
        weakens=is_higher,
    ),
    Setting(
        RENDER,
        "browser",
        "browser",
        kinds.optional(kinds.FILE),
        "The chromium that renders pages; none for the one that is installed.",
        weakens=differs,
    ),
    Setting(
        RENDER,
        "max_s",
        "max-rendering",
        kinds.TIME,
        "Time limit for rendering a page, without the time for which its requests wait for their "
        "hosts. What is there by then is read.",
    ),
    Setting(
        RENDER,
        "max_requests",
        "max-render-requests",
        kinds.whole(0),
        "A page that is rendered may send N requests of its own.",
    ),
    Setting(
        RENDER,
        "max_memory",
        "max-render-memory",
        kinds.SIZE,
        "End a browser that takes more memory than this.",
        weakens=is_higher,
    ),
)
