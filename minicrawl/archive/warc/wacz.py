"""WACZ 1.1.1: a ZIP of a WARC, its index and its pages, for replay in a browser.

Laws: the pages are listed with their ranks, most important first. The manifest has the SHA-256 of
each file in the ZIP, and a digest of its own.
"""

import json
import os
import shutil
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from minicrawl import __version__
from minicrawl.archive.warc.capture import Capture
from minicrawl.archive.warc.cdxj import CdxLine, cdxj
from minicrawl.archive.warc.writer import NOTHING_KNOWN, WarcWriter
from minicrawl.errors import UsageError
from minicrawl.own_files import scratch
from minicrawl.wording import iso

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey


_WARC = "data.warc.gz"
_INDEX = "indexes/index.cdx"
"""Path of the CDXJ index. Some programs find it under no other name."""
_VERSION = "1.1.1"
_FIRST_FAILURE = 400
"""First status of responses that are failures."""
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # earliest time of a file in a ZIP
_PIECE_BYTES = 1 << 20


def write_wacz(
    captures: Iterable[Capture],
    file: BinaryIO,
    made_at: float,
    about: Mapping[str, str] = NOTHING_KNOWN,
    key: "WaczKey | None" = None,
) -> None:
    """Write the captures as a WACZ file, signed if there is a key."""
    with scratch("wacz") as folder, ZipFile(file, "w") as package:
        warc = folder / _WARC
        with warc.open("wb") as out:
            written = WarcWriter(out.write, _WARC).write(captures, made_at, about)
            lines = [
                line._replace(capture=line.capture._replace(body=line.capture.body[:1]))
                for line in written
            ]
        resources = [
            _add(package, f"archive/{_WARC}", warc, ZIP_STORED),
            _add(package, _INDEX, _text(folder, cdxj(lines, _WARC))),
            _add(package, "pages/pages.jsonl", _text(folder, _pages(lines))),
        ]
        document = {
            "profile": "data-package",
            "wacz_version": _VERSION,
            "software": f"minicrawl/{__version__}",
            "created": iso(made_at),
            "resources": resources,
        }
        manifest = _text(folder, [json.dumps(document, indent=2)])
        listed = _add(package, "datapackage.json", manifest)
        digest = {"path": "datapackage.json", "hash": listed["hash"]}
        if key is not None:
            digest["signedData"] = key.signed(str(listed["hash"]), iso(made_at))
        _add(package, "datapackage-digest.json", _text(folder, [json.dumps(digest)]))


def _pages(lines: Iterable[CdxLine]) -> Iterator[str]:
    """Yield a line for each page's last capture with a page; failures are omitted."""
    yield json.dumps({"format": "json-pages-1.0", "id": "pages", "title": "All pages"})
    captures = (line.capture for line in lines)
    ranked = (capture for capture in captures if capture.rank and capture.has_page)
    last = {capture.url: capture for capture in ranked if capture.status < _FIRST_FAILURE}
    for capture in sorted(last.values(), key=lambda capture: capture.rank):
        fields: dict[str, object] = {"id": str(capture.rank), "url": capture.url}
        fields |= {"ts": iso(capture.at), "title": capture.title}
        yield json.dumps(fields | {"rank": capture.rank, "importance": capture.importance})


def _text(folder: Path, lines: Iterable[str]) -> Path:
    path = folder / "next"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path


def _add(
    package: ZipFile, name: str, content: Path, method: int = ZIP_DEFLATED
) -> dict[str, object]:
    info = ZipInfo(name, _EARLIEST)
    info.compress_type = method
    # With the size known, zipfile writes ZIP64 fields for large files only: wabac.js would take the
    # fields of a small file for its content.
    info.file_size = content.stat().st_size
    with content.open("rb") as source, package.open(info, "w") as target:
        shutil.copyfileobj(source, target, _PIECE_BYTES)
    with content.open("rb") as source:
        checksum = f"sha256:{file_digest(source, 'sha256').hexdigest()}"
    short = name.rpartition("/")[2]
    return {"name": short, "path": name, "hash": checksum, "bytes": info.file_size}


_NUMBER_BYTES = 48
"""Length of each of the two numbers of a signature."""


class WaczKey:
    """Private key on the curve P-384 (WACZ Signing and Verification 0.1, anonymous).

    ECDSA on P-384 with SHA-256 is the only algorithm of the standard without a certificate. It
    proves that two archives were signed with the same key, and that nobody has changed them since.
    """

    def __init__(self, private: "EllipticCurvePrivateKey") -> None:
        self._private = private

    @classmethod
    def opened(cls, file: Path) -> Self:
        """Read the key from a PEM file. If it is missing, create it, readable by its owner only."""
        if find_spec("cryptography") is None:
            raise UsageError("--sign needs the package cryptography: install minicrawl[signing]")
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        try:
            if file.exists():
                private = serialization.load_pem_private_key(file.read_bytes(), password=None)
                if not isinstance(private, ec.EllipticCurvePrivateKey):
                    raise TypeError
                if not isinstance(private.curve, ec.SECP384R1):
                    raise TypeError
                return cls(private)
            key = ec.generate_private_key(ec.SECP384R1())
            pem = key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as written:
                written.write(pem)
        except OSError as error:
            raise UsageError(f"--sign {file}: {error.strerror}") from None
        except (TypeError, ValueError, UnsupportedAlgorithm):
            raise UsageError(
                f"--sign {file}: not a private P-384 key in PEM without a password; name a file "
                "that does not exist to create a key"
            ) from None
        return cls(key)

    def signed(self, digest: str, created: str) -> dict[str, str]:
        """Return the digest of a package with its signature, as `signedData`."""
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        numbers = decode_dss_signature(
            self._private.sign(digest.encode(), ec.ECDSA(hashes.SHA256()))
        )
        public = self._private.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        signature = b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in numbers)
        return {
            "hash": digest,
            "created": created,
            "software": f"minicrawl/{__version__}",
            "signature": b64encode(signature).decode(),
            "publicKey": b64encode(public).decode(),
        }
