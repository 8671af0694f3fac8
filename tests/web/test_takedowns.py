"""A URL that was taken down is recognized by a digest, which does not tell what it was."""

import pytest

from minicrawl.web.takedowns import NO_TAKEDOWNS, Takedowns, what_of
from minicrawl.web.urls import posted

URL, OTHER = "http://a.example/private/ann?x=1", "http://a.example/public"


@pytest.mark.parametrize("pattern", [URL, "http://a.example/private/*", "http://a.example/*"])
def test_what_was_taken_down_is_concealed(pattern: str) -> None:
    gone = Takedowns([what_of("http://b.example/"), what_of(pattern)])
    concealed = gone.conceal(URL)
    assert gone
    assert gone.covers(URL)
    assert gone.covers(concealed)
    assert concealed.startswith("http://a.example/#taken-down-")
    assert "private" not in concealed + what_of(pattern)
    assert gone.conceal(concealed) == concealed
    assert gone.covers(posted(URL, b"body"))
    assert gone.conceal(posted(URL, b"body")) != concealed


def test_other_urls_stay() -> None:
    for gone in (NO_TAKEDOWNS, Takedowns([what_of(URL), what_of(f"{OTHER}/*")])):
        assert not gone.covers(OTHER)
        assert gone.conceal(OTHER) == OTHER
    assert not NO_TAKEDOWNS


def test_urls_in_texts_are_concealed() -> None:
    gone = Takedowns([what_of(URL)])
    text = f'[a]({URL}) "{URL}", {OTHER}. http://[ {URL}.'
    assert gone.conceal_in(text) == text.replace(URL, gone.conceal(URL))
    assert NO_TAKEDOWNS.conceal_in(text) == text
