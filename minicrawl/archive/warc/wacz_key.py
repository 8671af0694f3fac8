"""Key that signs WACZ files (WACZ Signing and Verification 0.1, anonymous), for browsers to verify.

The algorithm is ECDSA on P-384 with SHA-256, the only one of the standard without a certificate.
It proves that two archives were signed with the same key, and that nobody has changed them since.
"""

from __future__ import annotations

import os
from base64 import b64encode
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

from minicrawl import __version__
from minicrawl.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey


_NUMBER_BYTES = 48
"""Length of each of the two numbers of a signature."""


class WaczKey:
    """Private key on the curve P-384."""

    def __init__(self, private: EllipticCurvePrivateKey) -> None:
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
            made = ec.generate_private_key(ec.SECP384R1())
            pem = made.private_bytes(
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
        return cls(made)

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
