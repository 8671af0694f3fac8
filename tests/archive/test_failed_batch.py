"""WARC files after a batch that failed, and after a kill while files are completed."""

from http import HTTPStatus
from pathlib import Path

import pytest

from minicrawl.archive.codec import PLAIN
from minicrawl.archive.packing import pack_any
from minicrawl.archive.warc import series
from minicrawl.archive.warc.series import WarcFiles, WarcSeries
from minicrawl.errors import StoreError
from minicrawl.model import KeptAnswer, Response


def answer(number: int) -> KeptAnswer:
    body = f"page {number}".encode()
    record = pack_any(
        f"http://a.example/{number}", Response(HTTPStatus.OK, {"content-type": "text/html"}, body)
    )
    assert record is not None
    return KeptAnswer(record, 1_700_000_000.0 + number)


def test_a_file_is_completed_without_the_lines_of_a_batch_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = WarcSeries.of(tmp_path / "warcs", tmp_path / "crawl.db", 1_700_000_000.0)
    files = WarcFiles(own, PLAIN, dict, 1 << 30)
    files.append([answer(1), answer(2)])
    files.confirm()

    def fail(*_: object) -> None:
        raise StoreError("the disk fails")

    monkeypatch.setattr(series, "write_at", fail)
    with pytest.raises(StoreError):
        files.append([answer(3)])
    files.close()
    (index,) = (tmp_path / "warcs").glob("*.cdxj")
    urls = [line.split(" ")[0] for line in index.read_text().splitlines()]
    assert urls == ["example,a)/1", "example,a)/2"]


def test_a_kill_while_files_are_completed_leaves_none_of_them_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = WarcSeries.of(tmp_path / "warcs", tmp_path / "crawl.db", 1_700_000_000.0)
    files = WarcFiles(own, PLAIN, dict, 1)
    files.append([answer(number) for number in range(4)])  # each in a file of its own
    files.confirm()
    renamed: list[Path] = []

    def rename_one(self: Path, target: Path) -> Path:
        if self.suffix == series.OPEN:
            if renamed:
                raise KeyboardInterrupt
            renamed.append(target)
        return self.replace(target)

    with monkeypatch.context() as killed:
        killed.setattr(Path, "rename", rename_one)
        with pytest.raises(KeyboardInterrupt):
            files.append([answer(4)])
    WarcFiles(files.series, PLAIN, dict, 1).close()
    paths = sorted(path.name for path in (tmp_path / "warcs").glob("*.warc.gz*"))
    assert paths == [own.path(number).name for number in range(1, 5)]
