"""Tables and facts show hosts as people read them."""

import pytest

from minicrawl.cli.output import show_facts, show_list


def test_a_host_is_shown_readable_and_a_look_alike_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_list(("n", "url"), [("1", "https://xn--mnchen-3ya.de/a")], texts=1)
    show_facts([("url", "https://xn--80ak6aa92e.com/")])
    shown = capsys.readouterr().out
    assert "https://münchen.de/a" in shown
    assert "https://xn--80ak6aa92e.com/" in shown
