"""WARC, WACZ and CDXJ files of any program are verified: right ones pass, damage is named."""

import gzip
import io
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest

from minicrawl.cli import main

warcwriter = pytest.importorskip("warcio.warcwriter")
headers_of = pytest.importorskip("warcio.statusandheaders").StatusAndHeaders

HTML = [("Content-Type", "text/html")]


def foreign(*, packed: bool = True) -> tuple[bytes, list[dict[str, str]]]:
    """Return a file that warcio writes, and the fields of its index."""
    out, lines = io.BytesIO(), []
    writer = warcwriter.WARCWriter(out, gzip=packed)
    about = writer.create_warcinfo_record("a.warc", {"software": "another"})
    writer.write_record(about)
    about.raw_stream.close()
    dates = iter(("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z"))
    for name, body in (("a", b"page a"), ("b", b"page b" * 99), ("c", b"page c")):
        head = headers_of("200 OK", HTML, protocol="HTTP/1.1")
        record = writer.create_warc_record(
            f"http://x.example/{name}",
            "response",
            payload=io.BytesIO(body),
            http_headers=head,
            warc_headers_dict={"WARC-Date": next(dates)},
        )
        begin = out.tell()
        writer.write_record(record)
        record.raw_stream.close()  # else nobody closes it
        digest = record.rec_headers.get_header("WARC-Payload-Digest")
        fields = {"url": f"http://x.example/{name}", "digest": digest, "offset": str(begin)}
        lines.append(fields | {"length": str(out.tell() - begin), "filename": "a.warc.gz"})
        if name == "a":
            again = writer.create_revisit_record(
                "http://x.example/again",
                digest,
                "http://x.example/a",
                "2026-11-01T00:00:00Z",
                http_headers=headers_of("200 OK", HTML, protocol="HTTP/1.1"),
            )
            writer.write_record(again)
            again.raw_stream.close()
    return out.getvalue(), lines


def cdxj(lines: list[dict[str, str]]) -> str:
    return "".join(
        f"example,x)/{one['url'][-1]} 20261101000000 {json.dumps(one)}\n" for one in lines
    )


def verified(place: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the problems of files, none if they are right."""
    code = main(["archive", "--verify", str(place), "--json"])
    verdict = json.loads(capsys.readouterr().out)
    assert (code == 0) == verdict["ok"] == (not verdict["wrong"])
    return list(verdict["wrong"])


@pytest.mark.parametrize("name", ["a.warc.gz", "a.warc"])
def test_a_foreign_file_and_its_index_are_right(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, lines = foreign(packed=name.endswith(".gz"))
    (tmp_path / name).write_bytes(content)
    (tmp_path / "a.cdxj").write_text(cdxj([one | {"filename": name} for one in lines]))
    assert verified(tmp_path, capsys) == []
    assert verified(tmp_path / name, capsys) == []
    assert main(["archive", "--verify", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "ok: 5 records\n"
    assert main(["archive", str(tmp_path)]) != 0


def members(content: bytes) -> list[bytes]:
    """Return the records of a packed file, unpacked."""
    return [part for part in gzip.decompress(content).split(b"WARC/1.0") if part]


def packed(records: list[bytes]) -> bytes:
    return b"".join(gzip.compress(b"WARC/1.0" + one) for one in records)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda one: one[:-40], "the file ends within it"),
        (lambda one: one[:400] + b"\0" * 30 + one[430:], "lost"),
        (
            lambda one: packed([part.replace(b"page c", b"page d") for part in members(one)]),
            "the response of http://x.example/c has a payload with another digest",
        ),
        (
            lambda one: packed([part.replace(b"page a", b"page aa") for part in members(one)]),
            "the response of http://x.example/a has a wrong length",
        ),
        (
            lambda one: packed(
                [
                    part.replace(b"WARC-Payload-Digest: sha1:", b"WARC-Payload-Digest: sha1:A")
                    if b"revisit" in part
                    else part
                    for part in members(one)
                ]
            ),
            "refers to a response with another payload",
        ),
    ],
)
def test_damage_to_records_is_named(
    change: Callable[[bytes], bytes],
    expected: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    content, _ = foreign()
    (tmp_path / "a.warc.gz").write_bytes(change(content))
    found = verified(tmp_path / "a.warc.gz", capsys)
    assert any(expected in line for line in found), found


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: [lines[1], lines[0], lines[2]], "line 2 is not in order"),
        (lambda lines: [lines[0] | {"offset": "7"}], "no record of http://x.example/a begins"),
        (lambda lines: [lines[0] | {"url": "http://x.example/z"}], "the record is not of"),
        (lambda lines: [lines[0] | {"digest": "sha1:ABC"}], "has another digest"),
        (lambda _lines: [{"url": "http://x.example/a"}], "line 1 cannot be read"),
    ],
)
def test_lines_of_an_index_that_lead_astray_are_named(
    change: Callable[[list[dict[str, str]]], list[dict[str, str]]],
    expected: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    content, lines = foreign()
    (tmp_path / "a.warc.gz").write_bytes(content)
    (tmp_path / "a.cdxj").write_text(cdxj(change(lines)))
    (line,) = verified(tmp_path, capsys)
    assert expected in line


def test_a_package_is_compared_with_its_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, lines = foreign()
    files = {"archive/a.warc.gz": content, "indexes/index.cdx": cdxj(lines).encode()}
    resources = [
        {"path": name, "bytes": len(part), "hash": f"sha256:{sha256(part).hexdigest()}"}
        for name, part in files.items()
    ]
    manifest = json.dumps({"resources": resources}).encode()
    digest = json.dumps({"hash": f"sha256:{sha256(manifest).hexdigest()}"}).encode()
    files |= {"datapackage.json": manifest, "datapackage-digest.json": digest}
    for other in (b"", b"\n"):
        with ZipFile(tmp_path / "a.wacz", "w", ZIP_STORED) as package:
            for name, part in files.items():
                package.writestr(name, part + other if name == "indexes/index.cdx" else part)
        found = verified(tmp_path / "a.wacz", capsys)
        wrong = (
            f"{tmp_path}/a.wacz: indexes/index.cdx is not the file that datapackage.json describes"
        )
        assert found == [wrong] * len(other)
