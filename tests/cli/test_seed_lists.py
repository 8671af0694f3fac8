"""Seeds: URLs and files of URLs, and reports of lines that are no URLs."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from minicrawl.cli.crawl_command import seeds_of
from minicrawl.errors import UsageError
from tests.cli.calls import Captured


@pytest.fixture
def leaving() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def written(folder: Path, text: str | bytes, name: str = "seeds.txt") -> str:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(file)


class TestArguments:
    @pytest.mark.parametrize(
        "name", ["example.org", "www.example.co.uk/a?b", "localhost:8000", "127.0.0.1:8000/x"]
    )
    def test_a_url_needs_no_scheme(self, name: str, leaving: ExitStack) -> None:
        assert list(seeds_of((name,), leaving)) == [name]

    def test_an_existing_file_is_not_taken_for_a_url(
        self, tmp_path: Path, leaving: ExitStack, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written(tmp_path, "a.example\n", "example.org")
        assert list(seeds_of(("example.org",), leaving)) == ["https://a.example/"]
        with pytest.raises(UsageError, match="No such file"):
            list(seeds_of(("seeds.txt",), leaving))

    def test_urls_and_several_files_are_combined(self, tmp_path: Path, leaving: ExitStack) -> None:
        one = written(tmp_path, "a.example\n", "one.txt")
        two = written(tmp_path, "\ufeffb.example\n", "two.txt")
        found = list(seeds_of((one, "http://c.example/", two), leaving))
        assert found == ["http://c.example/", "https://a.example/", "https://b.example/"]

    def test_invalid_bytes_spoil_only_their_own_line(
        self, tmp_path: Path, leaving: ExitStack, capsys: Captured
    ) -> None:
        file = written(tmp_path, b"a.example\n\xff\x00 \x1b[2J\nb.example\n")
        assert list(seeds_of((file,), leaving)) == ["https://a.example/", "https://b.example/"]
        assert capsys.readouterr().err == f"minicrawl: {file}:2: not a URL: \\udcff\\x00 \\x1b[2J\n"

    def test_ten_bad_lines_are_shown_and_the_others_counted(
        self, tmp_path: Path, leaving: ExitStack, capsys: Captured
    ) -> None:
        file = written(tmp_path, "no url\n" * 1012 + "a.example\n" + "x" * 999 + " y")
        assert list(seeds_of((file,), leaving)) == ["https://a.example/"]
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 11
        assert lines[9] == f"minicrawl: {file}:10: not a URL: no url"
        assert lines[10] == f"minicrawl: {file}: 1,003 more lines are not URLs"

    @pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "no url\n"])
    def test_lists_without_a_url_are_refused_by_name(
        self, tmp_path: Path, leaving: ExitStack, text: str
    ) -> None:
        files = written(tmp_path, text, "one.txt"), written(tmp_path, text, "two.txt")
        with pytest.raises(UsageError, match=r"one\.txt, .*two\.txt: no URL to start from"):
            list(seeds_of(files, leaving))
        assert list(seeds_of((*files, "http://a.example/"), leaving)) == ["http://a.example/"]

    def test_all_files_are_opened_before_reading(self, tmp_path: Path, leaving: ExitStack) -> None:
        file = written(tmp_path, "a.example\n")
        with pytest.raises(UsageError, match=r"^b\.example: No such file .*begins with https://$"):
            seeds_of((file, "b.example"), leaving)
        with pytest.raises(UsageError, match=r"Is a directory$"):
            seeds_of((file, str(tmp_path)), leaving)
