"""Whom we believe: the authorities that browsers believe, or those of the environment.

SSL_CERT_FILE and SSL_CERT_DIR   name other authorities, as they do for OpenSSL
"""

import os
import ssl

import certifi


def default_tls() -> ssl.SSLContext:
    """Certificates are checked, and their hosts; HTTP/1.1 is all that is spoken."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not (file or folder):
        file = certifi.where()
    context = ssl.create_default_context(cafile=file, capath=folder)
    context.set_alpn_protocols(["http/1.1"])
    return context
