"""`minicrawl about`: what it tells the owner of a server, and its keys."""

import json
from pathlib import Path

import pytest

from minicrawl import __version__
from minicrawl.cli import main
from tests.cli.calls import Captured, printed

CONTACT = ("--contact", "https://bot.example/about")
DIRECTORY = "https://bot.example/.well-known/http-message-signatures-directory"


def about(capsys: Captured, *arguments: str) -> str:
    return printed(capsys, "about", *arguments)


def test_the_owner_of_a_server_learns_who_asks_and_how_to_block_it(capsys: Captured) -> None:
    shown = about(capsys, "--agent", "garden-bot", "--delay", "2", *CONTACT)
    assert f"garden-bot/{__version__} (+https://bot.example/about)" in shown
    assert "\n    User-agent: garden-bot\n    Disallow: /\n" in shown
    assert "at least 2 s" in shown
    assert "does not sign" in shown


def test_a_crawler_that_ignores_robots_txt_does_not_say_that_it_obeys(capsys: Captured) -> None:
    assert "Disallow" not in about(capsys, "--ignore-robots", *CONTACT)


def test_a_key_is_made_and_shown_with_its_directory(capsys: Captured) -> None:
    made = json.loads(about(capsys, "--new-key", "bot.pem", "--json", *CONTACT))
    signs = ("--sign-requests", "bot.pem", *CONTACT)
    assert json.loads(about(capsys, "--json", *signs)) == made
    assert made["key_directory"] == DIRECTORY
    (key,) = json.loads(about(capsys, "--directory", *signs))["keys"]
    assert (key["kid"], key["crv"]) == (made["key_id"], "Ed25519")
    assert "d" not in key
    shown = about(capsys, *signs)
    assert made["key_id"] in shown
    assert "signs its requests" in shown
    asked = about(capsys, "--sign-requests", "asked=bot.pem", *CONTACT)
    assert "signs requests to servers that ask" in asked
    assert DIRECTORY in shown


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640, 0o604, 0o660, 0o644, 0o620])
def test_a_key_that_others_can_use_is_warned_of(capsys: Captured, mode: int) -> None:
    about(capsys, "--new-key", "bot.pem", *CONTACT)
    Path("bot.pem").chmod(mode)
    crawl = ("crawl", "--demo", "--demo-pages", "100", "--pages", "1", "--store", "c.db")
    for command in (("about",), crawl):
        assert main([*command, *CONTACT, "--sign-requests", "bot.pem"]) == 0
        told = capsys.readouterr().err
        assert (f"bot.pem (mode {mode:04o})" in told) == bool(mode & 0o066)
