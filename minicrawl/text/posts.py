"""Posts of a forum and other siblings that repeat, and have most of the text of a page.

What the pages of a site teach of each other (see `site_places`), the posts of one page do, too:

    div class=thread              no frame, whatever it is called: it has most of the page
      div class="post reply"      so do its posts, together
        ul                        "Joined 2009", "Senior member": in many posts, dropped
        div class=reply-text
        p "Quote, reply"          in many posts: dropped
      div class="post reply"
        ...

Posts are boxes of one kind, a tag with a class, that are not inside each other. Numbers do not
count, neither in names nor in short texts: post-17, 4,032 messages.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate, chain

from minicrawl.text import hints
from minicrawl.text.boxes import Box, runs
from minicrawl.text.main_box import SENTENCE, SHORT, drop_frames

_TAGS = hints.words("article dd details div li section table td tr")
_FEWEST, _SHORTEST = 3, 40
"""Posts of a thread, and worth of each."""
_LITTLE = 300
"""Worth of an article beside a thread."""
_MOST, _NEARLY_ALL, _OF_ONE = 0.5, 0.8, 0.6
"""Shares of worth: of the page, in posts; for their names not to count; of all posts, in one."""
_SHARED = 0.34
"""Share of the posts that have a text in common."""
NAME_OF_FORUM = re.compile(r"(?i)forum|message|thread|topic")
"""Names of posts of a forum, which may call itself an article."""
_NO_LETTERS = re.compile(r"[\d\W_]+")


def posts_of(boxes: list[Box]) -> list[range]:
    """Return where the posts of a page are, or nothing if no siblings have most of its text."""
    drop_frames(boxes, hints.SURE_NAME)
    total, of_kind = boxes[0].worth, defaultdict[tuple[str, str], list[range]](list)
    for at, box in enumerate(boxes):
        if box.kind and box.tag in _TAGS and box.worth >= _SHORTEST:
            siblings = of_kind[box.tag, box.kind]
            if not siblings or at >= siblings[-1].stop:
                siblings.append(range(at, at + box.size))

    def is_thread(posts: list[range]) -> bool:
        worths = [boxes[post.start].worth for post in posts]
        whole = sum(worths)
        return len(posts) >= _FEWEST and whole >= _MOST * total and max(worths) <= _OF_ONE * whole

    return max(filter(is_thread, of_kind.values()), key=len, default=[])


def ignore_names(boxes: list[Box], posts: Sequence[range]) -> None:
    """Ignore that posts, what is around them, and what has most of one, are named as frames."""
    if sum(boxes[post.start].worth for post in posts) < _NEARLY_ALL * boxes[0].worth:
        return
    starts = {post.start for post in posts}
    before = [0, *accumulate(at in starts for at in range(len(boxes)))]
    around = [box for at, box in enumerate(boxes) if before[at + box.size] > before[at]]
    inside = [
        boxes[at]
        for post in posts
        for at in post
        if boxes[at].worth > _MOST * boxes[post.start].worth
    ]
    for box in (*around, *inside):
        if box.hint in (hints.TEASER, hints.FRAME_NAME):
            box.hint = hints.NONE


def has_article(boxes: list[Box], posts: Sequence[range]) -> bool:
    """Return True if the page has an article besides, which is not around the posts either."""
    return any(
        (box.tag == "article" or box.hint == hints.NAMED_MAIN)
        and box.worth >= _LITTLE
        and (at + box.size <= posts[0].start or at >= posts[-1].stop)
        for at, box in enumerate(boxes)
    )


def has_cards(boxes: list[Box]) -> bool:
    """Return True if siblings with links, such as the cards of an index, have most of the text."""
    total = sum(run.letters for run in runs(boxes))
    for box in boxes:
        cards = defaultdict[str, list[int]](list)
        for child in box.boxes:
            is_card = child.tag in _TAGS and child.linked and child.letters >= SHORT
            if is_card and not child.is_dropped:
                cards[child.tag].append(child.letters)
        for letters in cards.values():
            whole = sum(letters)
            if len(letters) > _FEWEST and _MOST * total <= whole <= total:
                return True
    return False


def drop_shared(boxes: list[Box], posts: Sequence[range]) -> None:
    """Drop what the posts of a thread have in common: labels, buttons; and the cards of users.

    These differ in their words, but are short in each post at their place.
    """
    if not hints.NAME_OF_POST.search(boxes[posts[0].start].kind):
        return
    texts, places, long = Counter[str](), Counter[int](), set[int]()
    runs_by_post = [[boxes[at] for at in post if not boxes[at].tag] for post in posts]
    for of_post in runs_by_post:
        texts.update({_folded(run) for run in of_post})
        places.update({run.place for run in of_post})
        long |= {run.place for run in of_post if run.letters - run.linked >= _SHORTEST}
    least = max(_FEWEST, _SHARED * len(posts))
    for run in chain.from_iterable(runs_by_post):
        is_short = run.place not in long and places[run.place] >= least
        run.is_dropped = run.is_dropped or is_short or texts[_folded(run)] >= least


def _folded(run: Box) -> str:
    """Return the text of a run; sentences that differ in numbers alone are not the same."""
    return run.text if run.letters >= SENTENCE else _NO_LETTERS.sub(" ", run.text.lower())
