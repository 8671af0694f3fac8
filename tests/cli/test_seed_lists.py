"""Seeds: URLs and files of URLs, and reports of lines that are no URLs."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from minicrawl.cli.crawl.seeds import seeds_of
from minicrawl.errors import UsageError
from tests.cli.calls import Captured


def seeds(*names: str) -> list[str]:
    with ExitStack() as leaving:
        return list(seeds_of(names, leaving))


def written(text: str | bytes, name: str = "seeds.txt") -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


class TestArguments:
    @pytest.mark.parametrize(
        "name", ["example.org", "www.example.co.uk/a?b", "localhost:8000", "127.0.0.1:8000/x"]
    )
    def test_a_url_needs_no_scheme(self, name: str) -> None:
        assert seeds(name) == [name]

    def test_an_existing_file_is_not_taken_for_a_url(self) -> None:
        written("a.example\n", "example.org")
        assert seeds("example.org") == ["https://a.example/"]
        with pytest.raises(UsageError, match="No such file"):
            seeds("seeds.txt")

    def test_urls_and_several_files_are_combined(self) -> None:
        one = written("a.example\n", "one.txt")
        two = written("\ufeffb.example\n", "two.txt")
        found = seeds(one, "http://c.example/", two)
        assert found == ["http://c.example/", "https://a.example/", "https://b.example/"]

    def test_invalid_bytes_spoil_only_their_own_line(self, capsys: Captured) -> None:
        file = written(b"a.example\n\xff\x00 \x1b[2J\nb.example\n")
        assert seeds(file) == ["https://a.example/", "https://b.example/"]
        assert capsys.readouterr().err == f"minicrawl: {file}:2: not a URL: \\udcff\\x00 \\x1b[2J\n"

    def test_ten_bad_lines_are_shown_and_the_others_counted(self, capsys: Captured) -> None:
        file = written("no url\n" * 1012 + "a.example\n" + "x" * 999 + " y")
        assert seeds(file) == ["https://a.example/"]
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 11
        assert lines[9] == f"minicrawl: {file}:10: not a URL: no url"
        assert lines[10] == f"minicrawl: {file}: 1,003 more lines are not URLs"

    @pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "no url\n"])
    def test_lists_without_a_url_are_refused_by_name(self, text: str) -> None:
        files = written(text, "one.txt"), written(text, "two.txt")
        with pytest.raises(UsageError, match=r"one\.txt, .*two\.txt: no URL to start from"):
            seeds(*files)
        assert seeds(*files, "http://a.example/") == ["http://a.example/"]

    @pytest.mark.parametrize(
        ("name", "why"), [("b.example", "No such file .*begins with https://"), ("/", "Is a dir")]
    )
    def test_all_files_are_opened_before_reading(self, name: str, why: str) -> None:
        with ExitStack() as leaving, pytest.raises(UsageError, match=f"^{name}: {why}"):
            seeds_of((written("a.example\n"), name), leaving)
