"""Each recipe of the how-to guides on proxies, logins, documents and pace, with real servers.

Law: the command of a guide runs as the guide shows it. The test only replaces its ports, provides
the files that it names, and adds options that lead to the servers and limit the crawl.
"""

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from minicrawl.cli import PROGRAM
from tests.crawl.rendering.sites import why_no_browser
from tests.readme import ROOT, blocks
from tests.real.daemons import free_port, needs, program, running, tinyproxy
from tests.real.nginx import TYPES, running_nginx, write_certificates
from tests.web.pdfs import pdf, words

GUIDES = (
    *("crawl-through-a-proxy", "log-in", "crawl-a-private-site", "crawl-slowly"),
    *("read-more-than-html", "crawl-pages-that-need-a-browser"),
)
LOGIN = "me:secret"
HOSTS = ("*.example.org", "example.org", "docs.example", "localhost", "127.0.0.1")
_PATIENCE_S = 240

pytestmark = [needs("nginx", "tinyproxy", "microsocks"), pytest.mark.timeout(600)]

_NGINX = """
    ssl_certificate {folder}/server.pem;
    ssl_certificate_key {folder}/server.key;
    root {folder}/pages;
    server {{ listen 127.0.0.1:{plain}; }}
    server {{ listen 127.0.0.1:{tls} ssl; }}
    server {{
        listen 127.0.0.1:{client} ssl;
        ssl_client_certificate {folder}/our-authority.pem;
        ssl_verify_client on;
    }}
    server {{
        listen 127.0.0.1:{expired} ssl;
        ssl_certificate {folder}/expired.pem;
        ssl_certificate_key {folder}/expired.key;
    }}
    server {{
        listen 127.0.0.1:{login} ssl;
        auth_basic docs;
        auth_basic_user_file {folder}/logins;
    }}
    server {{
        listen 127.0.0.1:{cookies} ssl;
        location = / {{
            if ($cookie_session = "") {{ return 302 /login; }}
            try_files /index.html =404;
        }}
        location = /login {{
            add_header Set-Cookie "session=1; Path=/" always;
            return 302 /;
        }}
    }}
"""
_LOG_FORMAT = "$server_port $server_protocol $request_uri $http_x_purpose $http_x_preview"
KINDS = ("plain", "tls", "client", "expired", "login", "cookies")
_SERVER_FOR = {
    "--client-cert": "client",
    "--insecure": "expired",
    "--auth": "login",
    "--cookies": "cookies",
    "localhost:8080": "plain",
}
"""Kind of server by a part of the recipe; all other recipes use "tls"."""
HOME = """<title>Home</title><p>Words.<a href=/paper.pdf>paper</a><a href=/notes.txt>notes</a>
<a href=/readme.md>readme</a><a href=/news.rss>news</a><a href=/feed.xml>feed</a>
<a href=/feed.json>json</a><a href=/data.json>data</a><a href=/sitemap.xml>map</a>
<a href=/map.xml.gz>packed</a><a href=/page.xhtml>xhtml</a><a href=/picture.png>picture</a>
<a href=/setup.exe>program</a>"""
RSS = "<rss><channel><title>News</title><item><link>/from-rss</link></item></channel></rss>"
ATOM = "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='/from-atom'/></entry></feed>"
JSON_FEED = (
    '{"version": "https://jsonfeed.org/version/1", "title": "J", '
    '"items": [{"url": "https://example.org/from-json"}]}'
)
MAP = "<urlset><url><loc>https://example.org/from-map</loc></url></urlset>"
XHTML = "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>X</title></head><body/></html>"


class Servers(NamedTuple):
    """Ports of nginx, by kind, and of the proxies, with their logs."""

    folder: Path
    ports: dict[str, int]
    proxies: dict[str, int]

    def asked(self, kind: str) -> list[str]:
        lines = (self.folder / "requests").read_text().splitlines()
        port = f"{self.ports[kind]} "
        return [line.removeprefix(port) for line in lines if line.startswith(port)]

    def passed(self, proxy: str) -> str:
        """Return the log of a proxy."""
        return (self.folder / f"{proxy}.log").read_text(errors="replace")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("servers")
    folder.chmod(0o755)
    proxies = {name: free_port() for name in ("open", "with-login", "socks")}
    found = Servers(folder, {kind: free_port() for kind in KINDS}, proxies)
    write_certificates(folder, *HOSTS)
    _write_pages(folder / "pages")
    hashing = ["openssl", "passwd", "-apr1", LOGIN.partition(":")[2]]
    hashed = subprocess.run(hashing, capture_output=True, text=True, check=True).stdout
    (folder / "logins").write_text(f"{LOGIN.partition(':')[0]}:{hashed}")
    with ExitStack() as stack:
        http = TYPES + _NGINX.format(folder=folder, **found.ports)
        stack.enter_context(running_nginx(http, _LOG_FORMAT, folder, found.ports.values()))
        for name, login in (("open", ""), ("with-login", LOGIN)):
            command = tinyproxy(folder / f"{name}.conf", proxies[name], login)
            stack.enter_context(running(command, [proxies[name]], folder / f"{name}.log"))
        socks = [str(program("microsocks")), "-i", "127.0.0.1", "-p", str(proxies["socks"])]
        stack.enter_context(running(socks, [proxies["socks"]], folder / "socks.log"))
        yield found


def _write_pages(folder: Path) -> None:
    folder.mkdir()
    paper = pdf(words("A paper"), title="Paper", links=["https://example.org/from-pdf"])
    texts = {
        "index.html": HOME,
        "page.xhtml": XHTML,
        "notes.txt": "Notes\nhttps://example.org/from-text",
        "readme.md": "# Read me\n[more](/from-markdown)",
        "news.rss": RSS,
        "feed.xml": ATOM,
        "feed.json": JSON_FEED,
        "data.json": '{"a": 1}',
        "sitemap.xml": MAP,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "paper.pdf").write_bytes(paper)
    (folder / "map.xml.gz").write_bytes(gzip.compress(MAP.replace("map<", "packed<").encode()))
    (folder / "picture.png").write_bytes(b"\x89PNG" + bytes(100))
    (folder / "setup.exe").write_bytes(b"MZ" + bytes(100))


class Recipe(NamedTuple):
    """Command of a guide: environment variables, then arguments."""

    text: str
    variables: dict[str, str]
    arguments: list[str]


def recipes() -> Iterator[Recipe]:
    for guide in GUIDES:
        text = (ROOT / "docs" / "how-to" / f"{guide}.md").read_text()
        for block in blocks(text):
            if block.language == "sh":
                yield from _recipes_in(block.body.replace("\\\n", " "))


def _recipes_in(body: str) -> Iterator[Recipe]:
    for line in body.splitlines():
        tokens = shlex.split(line, comments=True)
        if f"{PROGRAM} crawl " in line:
            at = tokens.index(PROGRAM)
            variables = dict(token.split("=", 1) for token in tokens[:at])
            yield Recipe(shlex.join(tokens), variables, tokens[at + 1 :])


ALL = {recipe.text: recipe for recipe in recipes()}


def run(recipe: Recipe, servers: Servers, folder: Path) -> dict[str, object]:
    """Run a recipe and return the JSON summary of its crawl."""
    kind = _server_for(recipe)
    ports = {
        "8080": servers.ports["plain"],
        "8443": servers.ports["tls"],
        "9050": servers.proxies["socks"],
    }
    arguments = [_with_ports(one, ports, servers) for one in recipe.arguments]
    store = ["--store", str(folder / "c.db")]
    arguments += [*store, "--json", "--quiet", "--for", "120s"]
    if "--delay" not in arguments:
        arguments += ["--delay", "0"]
    if kind != "plain" and "--resolve" not in arguments:
        arguments += ["--resolve", f"*=127.0.0.1:{servers.ports[kind]}"]
    _write_files(folder, servers)
    own = {"--ca", "--insecure"} & set(arguments)
    trust = {} if own else {"SSL_CERT_FILE": str(folder / "our-authority.pem")}
    clean = {name: value for name, value in os.environ.items() if not _configures_crawls(name)}
    environment = clean | {"TZ": _night_zone(), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", PROGRAM, *arguments],
        cwd=folder,
        env=environment | trust | recipe.variables,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, (arguments, done.stderr)
    assert "secret" not in done.stdout + done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def _server_for(recipe: Recipe) -> str:
    return next((kind for part, kind in _SERVER_FOR.items() if part in recipe.text), "tls")


def _with_ports(argument: str, ports: dict[str, int], servers: Servers) -> str:
    argument = argument.replace("proxy.example:3128", f"127.0.0.1:{servers.proxies['open']}")
    for written, port in ports.items():
        argument = re.sub(rf"(?<=:){written}\b", str(port), argument)
    return argument


def _write_files(folder: Path, servers: Servers) -> None:
    for name in ("our-authority.pem", "us.pem"):
        (folder / name).write_bytes((servers.folder / name).read_bytes())
    (folder / "seeds.txt").write_text("https://example.org/\n")
    (folder / "secret.txt").write_text(f"{LOGIN}\n")
    proxy = f"http://{LOGIN}@127.0.0.1:{servers.proxies['with-login']}\n"
    (folder / "proxies.txt").write_text(proxy)
    for name in ("secret.txt", "proxies.txt"):
        (folder / name).chmod(0o600)


def _configures_crawls(name: str) -> bool:
    return name.startswith("MINICRAWL_") or name.lower().endswith("_proxy")


def _night_zone() -> str:
    """Return a time zone where it is after 23:00 now, so that a crawl by night runs."""
    behind = (time.gmtime().tm_hour - 23) % 24
    return f"NIGHT+{behind}"


def test_the_guides_have_a_recipe_for_each_kind_of_server() -> None:
    assert len(ALL) >= 20
    assert all(any(part in text for text in ALL) for part in _SERVER_FOR)


@pytest.mark.documents
@pytest.mark.parametrize("text", ALL)
def test_a_recipe_of_the_guides_works(text: str, servers: Servers, tmp_path: Path) -> None:
    recipe = ALL[text]
    if "--render" in text and (why := why_no_browser()):
        pytest.skip(why)
    if not re.search("example|seeds|localhost", shlex.join(recipe.arguments)):
        # The recipe resumes a crawl.
        first = f"{PROGRAM} crawl https://example.org/ --scope host --types all"
        run(ALL[first], servers, tmp_path)
        run(recipe, servers, tmp_path)
        return
    before = {kind: len(servers.asked(kind)) for kind in KINDS}
    assert int(str(run(recipe, servers, tmp_path)["pages"])) >= 1
    kind = _server_for(recipe)
    asked = servers.asked(kind)[before[kind] :]
    assert asked
    if "--header" in text:
        assert all(line.endswith(" research 1") for line in asked)
    if "--proxy" in text:
        name = "with-login" if "@proxies" in text else "socks" if "socks" in text else "open"
        assert str(servers.ports["tls"]) in servers.passed(name)
