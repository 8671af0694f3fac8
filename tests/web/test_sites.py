import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path

import idna
import pytest
from tldextract import TLDExtract

from minicrawl.web import sites
from minicrawl.web.sites import domains, has_public_suffix, site


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("example.com", "example.com"),
        ("www.docs.example.com", "example.com"),
        ("www.example.co.uk", "example.co.uk"),
        ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("www.example.com.", "example.com"),
        ("www.example.intranet", "example.intranet"),
        ("www.example.intranet.", "example.intranet"),
        # a host without a registrable domain is its own site
        *(
            (host, host)
            for host in ("localhost", "com", "com.", "co.uk", ".", "a.9", "1.2.3", "[x]")
        ),
        # the site of an address is its network
        ("192.0.2.7", "192.0.2.0/24"),
        ("192.0.2.255", "192.0.2.0/24"),
        ("192.0.3.7", "192.0.3.0/24"),
        ("[2001:db8:0:1::1]", "[2001:db8:0:1::]/64"),
        ("[2001:db8:0:1:ffff:1:2:3]", "[2001:db8:0:1::]/64"),
        ("[2001:db8:0:2::1]", "[2001:db8:0:2::]/64"),
        ("[::ffff:192.0.2.9]", "192.0.2.0/24"),
        ("[2002:c000:209::1]", "192.0.2.0/24"),
    ],
)
def test_the_site_of_a_host_is_its_registrable_domain_or_its_network(
    host: str, expected: str
) -> None:
    assert site(host) == expected
    assert "/" not in expected or site(expected) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("a.b.github.io", ("io", "github.io", "github.io", "b.github.io")),
        ("www.example.co.uk", ("co.uk", "example.co.uk", "co.uk", "example.co.uk")),
        ("localhost", (None, None, None, None)),
        ("192.0.2.7", None),
    ],
)
def test_domains_are_those_of_registries_and_of_private_suffixes(
    host: str, expected: tuple[str | None, ...] | None
) -> None:
    assert domains(host) == expected


EXTRACT = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


def test_sites_are_those_of_tldextract() -> None:
    """Checked for every suffix of the list without a wildcard."""
    plain = [idna.encode(suffix).decode() for suffix in EXTRACT.tlds if suffix[0] not in "*!"]
    assert len(plain) > 9000
    assert any("xn--" in suffix for suffix in plain)
    for suffix in plain:
        for host in (f"a.{suffix}", f"www.b.a.{suffix}"):
            assert site(host) == (EXTRACT.extract_str(host).top_domain_under_public_suffix or host)


def test_the_list_that_is_read_directly_is_that_of_tldextract(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The two sources of the list are compared, of which a crawl takes one.
    assert sites.has_public_suffix("example.org")  # loads tldextract, before it is hidden
    suffixes = sites._suffixes.__wrapped__()
    assert suffixes.issuperset(EXTRACT.tlds)
    elsewhere = ModuleSpec("tldextract", None, is_package=True)
    elsewhere.submodule_search_locations = ["/nowhere"]
    for hidden in (None, module_from_spec(elsewhere)):
        # Without the file, the list is that of the extractor.
        monkeypatch.setitem(sys.modules, "tldextract", hidden)
        assert sites._suffixes.__wrapped__() == suffixes


@pytest.mark.parametrize(
    ("host", "has_one"),
    [
        ("example.org", True),
        ("www.example.co.uk", True),
        ("co.uk", False),
        ("localhost", False),
        ("crawl.db", False),
    ],
)
def test_has_public_suffix_is_true_below_suffixes_of_the_list(host: str, *, has_one: bool) -> None:
    assert has_public_suffix(host) == has_one


# A name with a leading dot has no address, so its site does not matter.
LEADING_DOT = {".example.com", ".example.example"}


def test_sites_are_those_of_the_vectors(
    shared_vector: Callable[[str], Path],
) -> None:
    count, wrong = 0, set()
    for line in shared_vector("psl_tests.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("//"):
            host, domain = line.split()
            expected = host if domain == "null" else domain
            if site(host.lower()) != expected.lower():
                wrong.add(host)
            count += 1
    assert count >= 78
    assert wrong == LEADING_DOT
