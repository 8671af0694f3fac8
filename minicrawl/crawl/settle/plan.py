"""Decides how a turn ends, from what was looked up. Pure: tables of cases test it.

Example: /a, /b and /c have the same content, and were read in this order. The canonical URL of /a
is /, which is not read yet, and that of /b is /d.

    /a   no page has its content, and / does not lead back: CANONICAL, stands for /
    /b   /a has its content: ALIAS, stands for /a. Its canonical URL does not count
    /c   on another site, and gets more cash than /a: read as if no page had its content. Then /a,
         had it been an original, would stand for /c

If canonical URLs form a cycle, the page read last stands for itself.
"""

from minicrawl.model import PageId
from minicrawl.states import State
from minicrawl.web.responses.challenges import COOKIE_WALL

MOST_REDIRECTS = 10
"""Most redirects in a row. Browsers follow 20, but a chain of five is a mistake already."""


def plan_of_reading(
    page: PageId,
    original: PageId | None,
    canonical: PageId | None,
    *,
    is_better: bool,
    leads_back: bool,
) -> tuple[State, PageId]:
    """Return the state of a page that was read, and the page that it stands for.

    `original` has the same content, and `is_better` says that this page is to have it instead. Its
    `canonical` page is one within the scope; `leads_back` says that this stands for the page.
    """
    if original is not None and not is_better:
        return State.ALIAS, original
    if canonical is not None and not leads_back:
        return State.CANONICAL, canonical
    return State.FETCHED, page


def why_endless(*, sets_cookies: bool, was_tried: bool, target: State) -> str | None:
    """Return why redirects that lead back to the page end there, or None.

    If one of them has set a cookie, the pages that lead back are requested once more. They are not
    if the `target` has another state than MOVED: then it stands for the page for another reason.
    """
    if sets_cookies and not was_tried and target is State.MOVED:
        return None
    return f"that leads back here; {COOKIE_WALL}" if sets_cookies else "that leads back here"
