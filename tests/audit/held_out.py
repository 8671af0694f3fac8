"""A site with several faults of each kind; no check was written for it or tuned on it.

Three layouts take turns: HTML 5, XHTML with single quotes, and old HTML in capital letters without
quotes. `truth` has each fault as issue and path, including those that follow from others: a page
that links to a planted redirect has an issue of its own. Other pages are clean, but look faulty.
"""

import gzip
import random
import re
from dataclasses import dataclass, field
from typing import Any

import httpx

HOST, PARTNER = "https://www.brauhaus.example", "https://partner.example"
_NOUNS = """
Malz Hopfen Sud Fass Keller Maische Treber Gerste Weizen Wasser Kessel Flasche Krug Schaum Würze
Brauer Lager Ernte Acker Rezept Geschmack Bitterkeit Süße Farbe Klarheit Reife Kälte Herbst Winter
Frühling Sommer Region Quelle Handwerk Tradition Braumeister Gasthaus Markt
"""
_WORDS, _VERBS = _NOUNS.split(), ("prägt", "begleitet", "bestimmt", "braucht", "zeigt", "ergänzt")
_KEPT_HEADERS = {
    "cache-control": "public, max-age=3600",
    "strict-transport-security": "max-age=31536000",
    "content-security-policy": "default-src https:",
}
_HUBS = ("/verzeichnis-1/", "/verzeichnis-2/")
_MISSING = "Leider ist diese Seite in unserem Keller nicht zu finden. Bitte suchen Sie weiter."


@dataclass
class Page:
    """Parts of a page; None stands for the part of a clean page."""

    path: str
    title: str | None = None
    titles: str = ""
    description: str | None = None
    h1: str | None = None
    head: str = ""
    body: str = ""
    text: str | None = None
    lang: str = ' lang="de"'
    doctype: str | None = None
    viewport: bool = True
    charset: bool = True
    canonical: bool = True
    links: list[str] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    without: str = ""
    zipped: bool = True
    listed: bool = True
    raw: bytes | None = None
    lastmod: str = "2023-05-04T10:00:00+02:00"


class HeldOutSite:
    """Site of pages by path with its true faults, and a handler for `httpx.MockTransport`."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self.pages: dict[str, Page] = {}
        self.plain: dict[str, Page] = {}
        self.truth: set[tuple[str, str]] = set()
        self.copies: tuple[str, ...] = ()  # two equal pages
        self.forbidden: list[str] = []
        self.sitemaps = ["/index.xml"]
        self.extra_listed: list[str] = []
        self._hubs = [self.add(path) for path in _HUBS]
        self._number = 0
        home = self.add("/")
        sections = [f"/{name}/" for name in ("biere", "brauerei", "gasthaus", "termine", "wissen")]
        home.links += [*sections, *(hub.path for hub in self._hubs)]
        for section in sections:
            items = [f"{section}eintrag-{number}.html" for number in range(6)]
            self.add(section).links += ["/", *sections, *items]
            for place, item in enumerate(items):
                near = [items[place - 1], items[(place + 1) % len(items)]]
                self.add(item).links += ["/", section, *near]

    def add(self, path: str, **said: Any) -> Page:
        """Add a page that nothing links to yet."""
        page = self.pages[path] = Page(path, **said)
        page.links += ["/"]
        return page

    def item(self, path: str = "", **said: Any) -> Page:
        """Add a page that two hubs link to, and that links to both."""
        self._number += 1
        page = self.add(path or f"/archiv/beitrag-{self._number}.html", **said)
        for hub in self._hubs:
            hub.links.append(page.path)
            page.links.append(hub.path)
        return page

    def fault(self, issue: str, path: str = "", **said: Any) -> Page:
        """Add a page with a fault."""
        page = self.item(path, **said)
        self.truth.add((issue, page.path))
        return page

    def leads(self, issue: str, *targets: str, **said: Any) -> Page:
        """Add a page whose fault is where it links to."""
        page = self.fault(issue, **said)
        page.links += targets
        return page

    def moved(self, target: str, status: int = 301) -> str:
        """Add a redirect that only one page links to, and return its path."""
        self._number += 1
        path = f"/alt/umzug-{self._number}"
        self.pages[path] = Page(path, status=status, headers={"location": target}, listed=False)
        return path

    def sentence(self) -> str:
        """Return a sentence that no other page has."""
        words = self._random.sample(_WORDS, 5)
        verb = self._random.choice(_VERBS)
        return f"{words[0]} {verb} {words[1]}, {words[2]} und {words[3]} vor {words[4]}."

    def __call__(self, request: httpx.Request) -> httpx.Response:  # noqa: PLR0911
        """Answer a request."""
        path = request.url.raw_path.decode()
        is_file = path.endswith((".png", ".css", ".js", ".mp4")) and path not in self.pages
        if request.url.host == "ohne-laenge.example":  # says of every file that it has 0 bytes
            return httpx.Response(200, headers={"content-type": "image/png"}, content=b"")
        if request.url.host != "www.brauhaus.example" and not is_file:
            return httpx.Response(410 if "weg" in path else 200, html="<title>Partner</title>")
        if path == "/robots.txt":
            rules = "".join(f"Disallow: {one}\n" for one in self.forbidden)
            named = "".join(f"Sitemap: {HOST}{one}\n" for one in self.sitemaps)
            return httpx.Response(200, text=f"User-agent: *\n{rules}{named}")
        if path == "/index.xml":
            entry = f"<sitemap><loc>{HOST}/karte.xml.gz</loc></sitemap>"
            return httpx.Response(200, text=f"<sitemapindex>{entry}</sitemapindex>")
        if path == "/karte.xml.gz":
            return httpx.Response(200, content=gzip.compress(self._sitemap().encode()))
        if is_file and "fehlt" not in path:
            kind = {"png": "image/png", "css": "text/css"}.get(path[-3:], "application/javascript")
            content = b"x" * 700_000 if "plakat" in path else b"/* x */"
            return httpx.Response(200, headers={"content-type": kind}, content=content)
        pages = self.plain if request.url.scheme == "http" else self.pages
        page = pages.get(path)
        if page is None and path.startswith("/laden/"):
            page = Page(path, text=_MISSING, title="Nicht gefunden", h1="Hoppla")
        if page is None:
            return httpx.Response(404, html="<title>Fehler</title>")
        return self._answer(page)

    def _answer(self, page: Page) -> httpx.Response:
        headers = {k: v for k, v in _KEPT_HEADERS.items() if k != page.without} | page.headers
        headers.setdefault("content-type", "text/html")
        if page.status >= 300:
            return httpx.Response(page.status, headers=headers)
        body = page.raw if page.raw is not None else self.markup(page).encode()
        if page.zipped:
            body, headers["content-encoding"] = gzip.compress(body), "gzip"
        return httpx.Response(page.status, headers=headers, content=body)

    def _sitemap(self) -> str:
        paths = [one.path for one in self.pages.values() if one.listed and one.status == 200]
        entries = "".join(
            f"<url><loc>{HOST}{path.replace('&', '&amp;')}</loc>"
            f"<lastmod>{self.pages[path].lastmod if path in self.pages else '2023'}</lastmod></url>"
            for path in [*paths, *self.extra_listed]
        )
        return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'

    def markup(self, page: Page) -> str:
        """Write a page, in one of three layouts."""
        self._random.seed(page.path)
        words = " ".join(self._random.sample(_WORDS, 3))
        name = page.path.strip("/").replace("/", " ")[-24:] or "Start"
        title = f"{words} – {name} &amp; mehr" if page.title is None else page.title
        title = f"<title>{title}</title>" if title else ""
        said = " ".join(self.sentence() for _ in range(2)) + f" ({name})"
        said = said if page.description is None else page.description
        h1 = f"<h1>{words}: <em>{name}</em></h1>" if page.h1 is None else page.h1
        text = " ".join(self.sentence() for _ in range(8)) if page.text is None else page.text
        links = "".join(f'<li><a href="{one}">{one[-20:]}</a></li>' for one in page.links)
        head = "".join(
            (
                '<meta charset="utf-8">' if page.charset else "",
                title + page.titles,
                f'<meta name="description" content="{said}">' if said else "",
                '<meta name="viewport" content="width=device-width, initial-scale=1">'
                if page.viewport
                else "",
                f'<link rel="canonical" href="{page.path}">' if page.canonical else "",
                '<link rel="stylesheet" href="/stil.css">',
                page.head,
            )
        )
        image = '<img src="/bilder/krug.png" alt="Ein Krug" width=9 height=9>'
        image += '<img src="/bilder/rand.png" alt="" width="100%">'
        body = f"<nav><ul>{links}</ul></nav><article>{h1}<h2>Dazu</h2><p>{text}</p>{image}"
        body += f"{page.body}</article><footer><p>Brauhaus am Markt</p></footer>"
        if "without-size" not in body:
            body = re.sub(r"<(img)\b(?![^>]*width)", r"<\1 width=9", body, flags=re.IGNORECASE)
        layout = len(page.path) % 3
        doctype = (
            "<!DOCTYPE html>",
            '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN">',
            "<!-- alt -->\n<!doctype HTML>",
        )[layout]
        doctype = doctype if page.doctype is None else page.doctype
        whole = f"<html{page.lang}><head>{head}</head><body>{body}</body></html>"
        if layout == 1:
            whole = whole.replace(
                '<meta charset="utf-8">',
                "<meta http-equiv='Content-Type' content='text/html; charset=utf-8'/>",
            ).replace("<img ", "<img\n ")
        if layout == 2:
            for tag in ("title", "meta", "link", "img", "h2", "html", "head", "body", "p"):
                whole = (
                    whole.replace(f"<{tag} ", f"<{tag.upper()} ")
                    .replace(f"<{tag}>", f"<{tag.upper()}>")
                    .replace(f"</{tag}>", f"</{tag.upper()}>")
                )
            whole = whole.replace('name="description"', "NAME=description").replace(
                'rel="canonical"', "REL=Canonical"
            )
        return doctype + whole


def _texts(site: HeldOutSite) -> None:
    for title in ("", "   ", "&nbsp;"):
        site.fault("title-missing", title=title)
    for issue, parts in (
        ("title-long", {"title": "Bier &amp; Brot " * 8}),
        ("title-short", {"title": "Bier"}),
        ("title-short", {"title": "M&auml;rzen"}),
        ("title-several", {"titles": "<title>Ein zweiter Titel der Seite</title>"}),
        ("description-missing", {"description": ""}),
        ("description-missing", {"description": "", "head": "<meta name=description content>"}),
        ("description-long", {"description": "Sehr viele Worte &uuml;ber Bier. " * 9}),
        ("description-short", {"description": "Nur das hier."}),
        ("description-several", {"head": "<meta name='Description' content='Noch eine davon'>"}),
        ("h1-missing", {"h1": ""}),
        ("h1-missing", {"h1": "<div class=h1>Kein h1</div>"}),
        ("h1-missing", {"h1": "<h1><span> </span></h1>"}),
        ("h1-long", {"h1": f"<H1>{'Ein langes Wort nach dem anderen ' * 4}</H1>"}),
        ("h1-short", {"h1": "<h1>a</h1>"}),
        ("h1-several", {"body": "<section><h1 class=x>Noch eine</h1></section>"}),
        ("heading-order", {"body": "<h3>drei</h3><h5>fünf</h5>"}),
        ("heading-order", {"body": "<H4>vier</H4>"}),
    ):
        site.fault(issue, **parts)
    said = "Was die Brauerei im Herbst anbietet, und wo. Fragen Sie uns."
    for name, same in (
        ("title", ("Unser Sortiment im Herbst", "Unser  sortiment im Herbst")),
        ("description", (said, said)),
        ("h1", ("<h1>Alle Sorten im Keller</h1>", "<h1>Alle <b>Sorten</b> im Keller</h1>")),
    ):
        for one in same:
            site.fault(f"{name}-duplicate", **{name: one})


def _markup(site: HeldOutSite) -> None:
    for issue, said in (
        ("image-without-alt", {"body": "<p><IMG SRC=/bilder/fass.png></p>"}),
        ("image-without-alt", {"body": "<picture><img src='/bilder/fass.png' width=9></picture>"}),
        ("language-missing", {"lang": ""}),
        ("language-missing", {"lang": ' lang=""'}),
        ("viewport-missing", {"viewport": False}),
        ("charset-missing", {"charset": False}),
        ("doctype-missing", {"doctype": ""}),
        ("structured-data-broken", {"head": '<script type="application/ld+json">[1,]</script>'}),
        ("structured-data-broken", {"body": "<script type='application/LD+JSON'>['a']</script>"}),
        ("meta-refresh", {"head": "<meta content='9;URL=/biere/' http-equiv=Refresh>"}),
        ("text-filler", {"text": "Lorem  ipsum dolor sit amet, consectetur. " * 5}),
        (
            "noindex-meta",
            {"head": '<meta content="NOINDEX, follow" name="Robots">', "listed": False},
        ),
        ("noindex-meta", {"head": "<meta name=robots content=none>", "listed": False}),
        ("noindex-header", {"headers": {"x-robots-tag": "noarchive, noindex"}, "listed": False}),
        ("nofollow-links", {"body": "<a rel='ugc nofollow' href='/biere/'>Biere</a>"}),
        ("mixed-content", {"body": "<img alt='' src='http://www.brauhaus.example/bilder/x.png'>"}),
        (
            "mixed-content",
            {"body": "<iframe src=http://partner.example/karte title=Karte></iframe>"},
        ),
        ("mixed-content", {"head": "<link href='http://partner.example/a.css' rel=stylesheet>"}),
        ("mixed-content", {"head": "<script defer src='http://partner.example/a.js'></script>"}),
        (
            "mixed-content",
            {"body": "<img alt='' srcset='http://partner.example/a.png 2x' src=/bilder/krug.png>"},
        ),
        ("mixed-content", {"body": "<object data='http://partner.example/a.png'></object>"}),
        ("form-insecure", {"body": "<FORM method=post ACTION='http://partner.example/f'></FORM>"}),
        ("hsts-missing", {"without": "strict-transport-security"}),
        ("csp-missing", {"without": "content-security-policy"}),
        ("uncached", {"without": "cache-control"}),
        ("page-large", {"body": f"<p>{'Noch ein Absatz zum Bier. ' * 25_000}</p>"}),
        ("uncompressed", {"zipped": False, "body": f"<p>{'Noch ein Absatz zum Bier. ' * 200}</p>"}),
    ):
        page = site.fault(issue, **said)
        if issue.startswith("noindex"):
            site.truth |= {("link-to-noindex", hub) for hub in _HUBS}
    for value in ("none", "nofollow"):
        page = site.fault("nofollow-page", head=f"<meta name=robots content={value}>", listed=False)
        if value == "none":
            site.truth.add(("noindex-meta", page.path))
        page.listed = value == "nofollow"
    site.truth.add(
        ("nofollow-page", next(p for p in site.pages.values() if "content=none" in p.head).path)
    )
    thin = site.fault("text-thin", text="Kurz.", h1="<h1>Kurz</h1>", links=["/"])
    thin.raw = (
        b"<!doctype html><html lang=de><meta charset=utf-8><title>Eine kurze Seite</title>"
        b"<meta name=viewport content='width=device-width'><meta name=description content='"
        b"Eine Beschreibung, die lang genug ist, damit sie niemandem als zu kurz erscheint.'>"
        b"<h1>Kurz</h1><a href='/'>Start</a> <a href='/biere/'>Biere</a>"
    )
    same = [" ".join(f"{place}. {one}" for place, one in enumerate(_WORDS * 3))] * 2
    for text in same:
        site.fault("duplicate-near", text=text)
    body = site.markup(Page("/archiv/doppelt", canonical=False)).encode()
    site.copies = tuple(site.item(raw=body).path for _ in range(2))
    site.truth |= {(issue, site.copies[0]) for issue in ("duplicate", "links-none")}


def _indexing(site: HeldOutSite) -> None:
    def names(issue: str, target: str, **said: Any) -> Page:
        head = f"<link href='{target}' rel=canonical>"
        return site.fault(issue, head=head, canonical=False, listed=False, **said)

    names("canonical-dead", "/archiv/nie-da.html")
    names("canonical-redirect", site.moved("/biere/eintrag-1.html"))
    hidden = site.add("/intern/plan.html", head="<meta name=robots content=noindex>", listed=False)
    names("canonical-noindex", hidden.path)
    site.truth.add(("noindex-meta", hidden.path))
    site.forbidden.append("/gesperrt/")
    names("canonical-blocked", "/gesperrt/seite.html")
    middle = site.item(
        head="<link rel=canonical href=/biere/eintrag-2.html>", canonical=False, listed=False
    )
    names("canonical-chain", middle.path)
    one, other = "/archiv/kreis-a.html", "/archiv/kreis-b.html"
    for path, target in ((one, other), (other, one)):
        head = f"<link rel=canonical href={target}>"
        site.fault("canonical-loop", path, head=head, canonical=False, listed=False)
    names("canonical-elsewhere", f"{PARTNER}/bier")
    site.fault("canonical-several", head="<link rel='canonical' href='/biere/'>")
    site.leads("link-to-blocked", "/gesperrt/liste.html")


def _versions(site: HeldOutSite) -> None:
    def head(*pairs: tuple[str, str]) -> str:
        return "".join(f"<link hreflang={code} rel=alternate href='{to}'>" for code, to in pairs)

    def fault(issue: str, path: str, own: str, *others: tuple[str, str]) -> None:
        site.fault(issue, path, head=head((own, path), *others))

    fault("hreflang-unknown", "/sprache/a.html", "de-EN")
    fault("hreflang-unknown", "/sprache/b.html", "deutsch")
    fault("hreflang-twice", "/sprache/c.html", "de", ("DE", "/sprache/c.html"))
    site.fault("hreflang-without-self", "/sprache/d.html", head=head(("en", "/wissen/")))
    site.truth.add(("hreflang-without-return", "/sprache/d.html"))
    fault("hreflang-without-return", "/sprache/e.html", "de", ("fr", "/biere/"))
    fault("hreflang-dead", "/sprache/f.html", "de", ("it", "/sprache/weg.html"))
    fault("hreflang-redirect", "/sprache/g.html", "de", ("nl", site.moved("/biere/")))
    for issue, name, more in (
        ("hreflang-not-canonical", "h", "<link rel=canonical href=/biere/eintrag-3.html>"),
        ("hreflang-noindex", "i", "<meta name=robots content=noindex>"),
    ):
        both = head(("de", f"/sprache/{name}.html"), ("pl", f"/sprache/{name}-pl.html"))
        site.fault(issue, f"/sprache/{name}.html", head=both)
        other = site.item(
            f"/sprache/{name}-pl.html", head=both + more, listed=False, canonical="noindex" in more
        )
        if "noindex" in more:
            site.truth.add(("noindex-meta", other.path))
    site.fault("pagination-dead-next", head="<link rel=next href='/blatt/9'>")
    site.fault("pagination-dead-prev", head="<link rel=prev href='/blatt/8'>")
    site.fault("pagination-without-return", head="<link href='/termine/' rel=next>")
    good = [f"/sprache/gut-{code}.html" for code in ("de", "en-gb", "zh-hans-cn")]
    for path in good:
        codes = [(one[len("/sprache/gut-") : -len(".html")], one) for one in good]
        site.item(path, head=head(*codes, ("x-default", good[0])))
    series = [f"/serie/{number}.html" for number in range(3)]
    for place, path in enumerate(series):
        near = f"<link rel=prev href={series[place - 1]}>" if place else ""
        near += f"<link rel=next href={series[place + 1]}>" if place < 2 else ""
        site.item(path, head=near)


def _links(site: HeldOutSite) -> None:
    site.leads("link-dead", "/kaputt/1", "/kaputt/2")
    site.truth |= {("page-missing", f"/kaputt/{number}") for number in (1, 2)}
    site.leads("link-dead-outside", f"{PARTNER}/weg")
    site.leads("link-to-redirect", site.moved("/biere/eintrag-1.html", 308))
    head = "<link rel=canonical href=/biere/eintrag-4.html>"
    copy = site.add("/archiv/kopie.html", head=head, canonical=False, listed=False)
    site.leads("link-to-copy", copy.path)
    lonely = site.add("/archiv/einsam.html")
    site.item().links.append(lonely.path)
    site.truth.add(("link-single", lonely.path))
    site.leads("anchor-missing", "/biere/#nirgends")
    site.fault("image-missing", body="<img src='/bilder/fehlt.png' alt=Fehlt>")
    site.fault(
        "image-missing", body="<img src=/bilder/krug.png srcset='/bilder/fehlt2.png 2x' alt=x>"
    )
    site.fault("manifest-missing", head="<link rel=manifest href=/fehlt.png>")
    site.fault("link-dead-unfollowed", body="<a rel='ugc nofollow' href=/archiv/fehlt9.png>a</a>")
    site.truth.add(
        (
            "nofollow-links",
            next(p.path for p in site.pages.values() if "ugc" in p.body and "fehlt9" in p.body),
        )
    )
    site.fault("image-large", body="<img src='/bilder/plakat.png' alt=Plakat>")
    site.fault("style-missing", head="<link rel=stylesheet href=/fehlt.css>")
    site.fault("script-missing", body="<script async src=/fehlt.js></script>")
    site.fault("media-missing", body="<video><source src=/fehlt.mp4></video>")
    for number, status in enumerate((500, 503)):
        path = f"/fehler/{number}"
        site.pages[path] = Page(path, status=status, listed=False)
        site.leads("link-dead", path)
        site.truth.add(("server-error", path))
    for number in range(3):
        site.item(f"/laden/ware-{number}.html")
    soft = "/laden/vergriffen.html"
    site.fault("soft-404", soft, text=_MISSING, h1="<h1>Hoppla</h1>", canonical=False)
    site.truth |= {("link-dead", hub) for hub in _HUBS}
    site.truth.add(("sitemap-dead", soft))

    loop = site.moved("/alt/schleife")
    site.pages["/alt/schleife"] = Page(
        "/alt/schleife", status=301, headers={"location": loop}, listed=False
    )
    site.truth |= {("redirect-loop", loop), ("redirect-loop", "/alt/schleife")}
    site.leads("link-dead", loop)
    second = site.moved(site.moved("/biere/"))
    chain = site.moved(second)
    site.truth |= {("redirect-chain", chain), ("redirect-chain", second)}
    site.leads("link-to-redirect", chain)
    for status in (302, 307):
        passing = site.moved("/wissen/", status)
        site.truth.add(("redirect-temporary", passing))
        site.leads("link-to-redirect", passing)
    lost = site.moved("/kaputt/3")
    site.truth |= {("redirect-to-dead", lost), ("page-missing", "/kaputt/3")}
    site.leads("link-dead", lost)

    for number in range(2):
        site.truth.add(("orphan", site.add(f"/archiv/vergessen-{number}.html").path))
    # Not in the sitemap, so that its depth does not depend on whether that is read first.
    before = site.fault("sitemap-without", listed=False)
    for number in range(6):
        path = f"/tief/{number}.html"
        before.links.append(path)
        before = site.add(path, listed=False)
        site.truth |= {("link-single", path), ("sitemap-without", path)}
        if number > 2:
            site.truth.add(("deep", path))

    site.plain["/alt/unsicher.html"] = Page("/alt/unsicher.html", canonical=False, listed=False)
    site.leads("link-to-http", "http://www.brauhaus.example/alt/unsicher.html")
    for issue in ("page-on-http", "link-single", "links-none", "sitemap-without"):
        site.truth.add((issue, "http://www.brauhaus.example/alt/unsicher.html"))


def _sitemaps_and_urls(site: HeldOutSite) -> None:
    moved = site.moved("/termine/")
    site.extra_listed += ["/karte/weg.html", moved, "/gesperrt/karte.html"]
    site.truth |= {
        ("sitemap-dead", "/karte/weg.html"),
        ("page-missing", "/karte/weg.html"),
        ("sitemap-redirect", moved),
        ("sitemap-blocked", "/gesperrt/karte.html"),
    }
    hidden = site.fault("sitemap-noindex", head="<meta name=robots content=noindex>")
    site.truth.add(("noindex-meta", hidden.path))
    site.fault(
        "sitemap-copy", head="<link rel=canonical href=/biere/eintrag-5.html>", canonical=False
    )
    for _ in range(2):
        site.fault("sitemap-without", listed=False)
    site.fault("sitemap-future", lastmod="2098-02-01T00:00:00Z")
    site.fault("sitemap-future", lastmod="2098-02-01")
    for issue, path in (
        ("url-upper-case", "/archiv/Fest-Programm.html"),
        ("url-upper-case", "/Archiv/index.html"),
        ("url-long", f"/archiv/{'ein-sehr-langer-name-' * 5}ende.html"),
        ("url-non-ascii", "/archiv/m%C3%A4rzen.html"),
        ("url-double-slash", "/archiv//doppelt.html"),
        ("url-space", "/archiv/zwei%20worte.html"),
        ("url-parameters", "/liste?farbe=rot&jahr=2&ort=3&seite=4&sorte=5&art=6"),
    ):
        site.fault(issue, path)


def site_of_controls_and_leaks() -> HeldOutSite:
    """Return a site with faults of pages, and next to them what looks like them and is none."""
    site = HeldOutSite()
    product = '<script type="application/ld+json">{"@type": "Product", "name": "Bier"%s}</script>'
    post, password = "<form method=post action=/in>", "<input type=password aria-label=Wort>"
    log = "Warning: include(x.php): failed in /srv/www/kopf.php on line 12"
    listing = "<h1>Index of /bilder</h1>"
    german = "Das Bier ist nicht von hier, und auch die Gerste ist für uns nicht zu haben. " * 9
    for issue, said in (
        ("link-malformed", {"body": "<a href='htp://partner.example/'>Partner</a>"}),
        ("link-malformed", {"body": "<a href='http://[partner/'>Partner</a>"}),
        ("link-malformed", {"body": "<a href=www.partner.example>Partner</a>"}),
        ("contact-malformed", {"body": "<a href='mailto:brauer'>Brauer</a>"}),
        ("contact-malformed", {"body": "<a href='tel:anruf'>Anruf</a>"}),
        ("", {"body": "<a href='mailto:?subject=Bier'>Empfehlen</a>"}),
        ("", {"body": "<a href='mailto:a@b.example,%20c@d.example'>Brauer</a>"}),
        ("link-by-script", {"body": "<a href='javascript:oeffne()'>Karte</a>"}),
        ("link-by-script", {"body": "<a onclick='oeffne()'>Karte</a>"}),
        ("", {"body": "<button onclick='oeffne()'>Karte</button>"}),
        ("link-with-campaign", {"body": "<a href='/biere/?utm_source=kopf'>Biere</a>"}),
        ("", {"body": f"<a rel=nofollow href='{PARTNER}/?utm_source=brauhaus'>Partner</a>"}),
        ("link-text-vague", {"body": "<a href='/biere/'>Hier klicken</a>"}),
        ("link-text-vague", {"body": "<a href='/biere/'><b>mehr …</b></a>"}),
        ("", {"body": "<a href='/biere/' aria-label='Mehr zum Bier'>mehr</a>"}),
        ("control-without-name", {"body": "<a href='/biere/'><i class=bier></i></a>"}),
        ("control-without-name", {"body": "<button type=button> </button>"}),
        ("", {"body": "<a href='/biere/'><img src=/bilder/krug.png alt=Biere></a>"}),
        ("", {"body": "<a href='/biere/'><svg><title>Biere</title></svg></a>"}),
        ("input-without-label", {"body": "<form><input name=wort></form>"}),
        ("input-without-label", {"body": "<select name=sorte></select>"}),
        ("", {"body": "<label>Wort <input name=wort></label>"}),
        ("", {"body": "<label for=sorte>Sorte</label><select id=sorte></select>"}),
        ("", {"body": "<input type=hidden name=nummer><input type=submit value=Suche>"}),
        ("frame-without-title", {"body": "<iframe src='/biere/'></iframe>"}),
        ("", {"body": "<iframe src='/biere/' title=Biere></iframe>"}),
        ("", {"body": "<iframe src='/biere/' hidden></iframe>"}),
        (
            "zoom-disabled",
            {
                "viewport": False,
                "head": "<meta content='width=device-width, user-scalable=no' name=viewport>",
            },
        ),
        ("", {"viewport": False, "head": "<meta name=viewport content='maximum-scale=10'>"}),
        ("image-without-size", {"body": "<img src=/bilder/krug.png alt=without-size>"}),
        ("id-duplicate", {"body": "<p id=fass>a</p><p id='fass'>b</p>"}),
        ("", {"body": "<p id=fass>a</p><script>'<p id=fass>'</script><p id=krug></p>"}),
        ("meta-refresh-now", {"head": "<meta http-equiv=refresh content='0; url=/biere/'>"}),
        ("charset-conflict", {"headers": {"content-type": "text/html; charset=iso-8859-1"}}),
        ("", {"headers": {"content-type": "text/html; charset=UTF8"}}),
        (
            "canonical-in-body",
            {"canonical": False, "body": "<link rel=canonical href='/biere/'>", "listed": False},
        ),
        ("structured-data-incomplete", {"head": product % ""}),
        ("", {"head": product % ', "offers": {"price": 3}'}),
        ("error-text", {"body": f"<b>{log.replace('12', '<b>12</b>')}</b>"}),
        ("error-text", {"body": "<p>You have an error in your SQL syntax; check the manual</p>"}),
        ("", {"body": f"<p>So sieht das aus:</p><pre>{log}</pre>"}),
        ("directory-listing", {"h1": listing}),
        ("", {"h1": "<h1>Index of terms</h1>"}),
        ("error-page", {"title": "404 Not Found – Brauhaus"}),
        ("error-page", {"h1": "<h1>Seite nicht gefunden</h1>"}),
        ("", {"title": "Was tun, wenn eine Seite nicht gefunden wird"}),
        ("", {"title": "404 Not Found – Brauhaus: ein Lexikon", "text": "Ein Wort. " * 100}),
        ("password-exposed", {"body": f"<form action=/in>{password}</form>"}),
        ("", {"body": f"{post}{password}</form>"}),
        ("cookie-weak", {"headers": {"set-cookie": "a=1; Path=/; Secure"}}),
        ("", {"headers": {"set-cookie": "a=1; Secure; HttpOnly; SameSite=Lax"}}),
        ("url-underscore", {"path": "/archiv/fest_programm.html"}),
        ("", {"path": "/archiv/fest?nur_hier=%20a"}),
        ("", {"head": "<meta http-equiv=refresh content=0>"}),
        ("language-other", {"lang": " lang=en", "text": german}),
        ("", {"lang": " lang=de-AT", "text": german * 2}),
    ):
        site.fault(issue, **said) if issue else site.item(**said)
    for path in ("/archiv/zwilling", "/archiv/Zwilling/"):
        page = site.fault("url-twin", path)
        if path.endswith("/"):
            site.truth.add(("url-upper-case", page.path))
    site.truth |= {(issue, hub) for hub in _HUBS for issue in ("link-to-copy", "link-to-redirect")}
    for page in site.pages.values():
        if "0; url=" in page.head:
            site.truth.add(("sitemap-redirect", page.path))
        if "=www." in page.body:
            site.truth |= {
                ("link-dead", page.path),
                ("page-missing", "/archiv/www.partner.example"),
            }
        if "canonical" in page.body:
            site.truth.add(
                ("sitemap-copy", page.path) if page.listed else ("link-to-copy", _HUBS[0])
            )
    return site


def site_of_files() -> HeldOutSite:
    """Return a site with faults of files, and next to them files that look faulty and are not."""
    site = HeldOutSite()
    site.forbidden.append("/gesperrt/")
    site.sitemaps += ["/fehlt.xml", "/seite.xml"]
    site.truth |= {("sitemap-missing", "/"), ("sitemap-mistyped", "/")}

    def file(path: str, kind: str, size: int) -> None:
        raw, headers = b"x" * size, {"content-type": kind, "content-length": str(size)}
        site.add(path, raw=raw, headers=headers, zipped=False, listed=False)

    file("/stil.txt", "text/html", 9)
    file("/stil-utf8.css", "text/css;charset=utf-8", 9)
    file("/seite.js", "text/html; charset=utf-8", 9)
    file("/alt.js", "text/javascript", 9)
    file("/seite.png", "text/html", 9)
    file("/seite.xml", "text/html", 9)
    file("/leer.png", "image/png", 0)
    file("/karte.svg", "image/svg+xml", 900)
    file("/seite.webmanifest", "text/html", 9)
    file("/knapp.png", "image/png", 3_999)
    file("/genug.png", "image/png", 4_000)
    for number in range(13):
        file(f"/gross-{number}.jpg", "image/jpeg", 499_000)
        file(f"/wahl-{number}.jpg", "image/jpeg", 499_000)
    images = [f"<img src=/gross-{number}.jpg alt=a width=9>" for number in range(13)]
    sizes = ", ".join(f"/wahl-{number}.jpg {number + 1}x" for number in range(13))
    preview = "<meta property=og:image content='%s'>"
    for issue, said in (
        ("style-mistyped", {"head": "<link rel=stylesheet href=/stil.txt>"}),
        ("", {"head": "<link rel=stylesheet href=/stil-utf8.css>"}),
        ("script-mistyped", {"body": "<script src=/seite.js></script>"}),
        ("", {"body": "<script src=/alt.js></script>"}),
        ("image-mistyped", {"body": "<img src=/seite.png alt=a width=9>"}),
        ("", {"body": "<img src=/karte.svg alt=a width=9>"}),
        ("", {"body": "<object data=/seite.png></object>"}),
        ("manifest-mistyped", {"head": "<link rel=manifest href=/seite.webmanifest>"}),
        ("image-empty", {"body": "<img src=/leer.png alt=a width=9>"}),
        ("", {"body": "<img src=https://ohne-laenge.example/a.png alt=a width=9>"}),
        ("page-heavy", {"body": "".join(images[:11])}),
        ("", {"body": "".join(images[:10])}),
        ("", {"body": f"<img srcset='{sizes}' alt=a width=9>"}),
        ("preview-missing", {"head": preview % "/fehlt.png"}),
        ("preview-missing", {"head": "<meta name=twitter:image content=/fehlt2.png>"}),
        ("preview-mistyped", {"head": preview % "/seite.png"}),
        ("preview-small", {"head": preview % f"{HOST}/knapp.png"}),
        ("", {"head": preview % "/genug.png"}),
        ("style-blocked", {"head": "<link rel=stylesheet href=/gesperrt/stil.css>"}),
        ("script-blocked", {"body": "<script src=/gesperrt/a.js></script>"}),
        ("", {"body": "<img src=/gesperrt/krug.png alt=a width=9>"}),
        ("", {"links": ["/LIES-MICH", "/worte.txt"]}),
    ):
        site.fault(issue, **said) if issue else site.item(**said)
    plain = {"content-type": "text/plain"}
    for path in ("/LIES-MICH", "/worte.txt"):
        site.add(path, raw=b"<p>a", headers=plain, zipped=False, listed=False)
    site.fault("page-as-text", "/als-text.html", headers=plain, zipped=False, listed=False)
    return site


def _lookalikes(site: HeldOutSite) -> None:
    """Clean pages that look like faults."""
    for said in (
        {"title": "Bier &amp; Br&ouml;tchen: was der Herbst uns alles &uuml;brig l&auml;sst (2)"},
        {"body": "<svg viewBox='0 0 1 1'><title>Zeichnung</title></svg>"},
        {"h1": "<h1><img src=/bilder/krug.png alt='Der Krug des Jahres'></h1>"},
        {"body": "<!-- <img src=x.png> <h1>alt</h1> <h6>x</h6> -->"},
        {"body": "<script>var s = '<h1>nein</h1><img src=x>';</script>"},
        {"body": "<template><h1>Vorlage</h1><img src=leer.png></template>"},
        {"head": '<script type="application/ld+json">[{"@type": "Brewery"}]</script>'},
        {"body": "<h3>a</h3><h4>b</h4><h2>c</h2><h3>d</h3>"},
        {
            "body": "<p id=stelle>Hier</p><a href='#stelle'>dort</a><a href='#top'>oben</a>"
            "<a href='#'>x</a>"
        },
        {"body": "<a name=alt></a><a href='#alt'>alt</a><a href='tel:+491'>ruf an</a>"},
        {"body": "<a rel=nofollow href='https://partner.example/bier'>Partner</a>"},
        {"body": "<a href='http://partner.example/bier'>Partner</a>"},
        {"body": "<form action='/suche'><input name=q aria-label=Suche></form>"},
        {"body": "<img alt='' src='data:image/png;base64,AAAA'>"},
        {"body": "<img src=/bilder/rand.png role=presentation>"},
        {"body": "<noscript><img src='/bilder/krug.png' alt='x'></noscript>"},
        {"head": "<meta name=robots content='index, follow, max-snippet:-1'>"},
        {"head": "<meta http-equiv=refresh content=3600>"},
        {"headers": {"content-type": "text/html; charset=UTF-8"}, "charset": False},
        {"without": "cache-control", "headers": {"etag": '"a1"'}},
        {
            "without": "content-security-policy",
            "head": '<meta http-equiv=Content-Security-Policy content="default-src https:">',
        },
        {"lang": " class='js' lang='de-AT' dir=ltr"},
    ):
        site.item(**said)


_FOLLOWING = {
    "canonical-dead": ("page-missing", "/archiv/nie-da.html"),
    "hreflang-dead": ("page-missing", "/sprache/weg.html"),
    "pagination-dead-next": ("page-missing", "/blatt/9"),
    "pagination-dead-prev": ("page-missing", "/blatt/8"),
}
_LINKED_BY_HEAD = {
    "hreflang-dead": "link-dead",
    "pagination-dead-next": "link-dead",
    "pagination-dead-prev": "link-dead",
    "hreflang-redirect": "link-to-redirect",
    "hreflang-noindex": "link-to-noindex",
    "hreflang-not-canonical": "link-to-copy",
}
"""Issues that follow from others, because a crawl treats references in the head as links."""


def planted_site() -> HeldOutSite:
    """Return the site with all faults."""
    site = HeldOutSite()
    for plant in (
        _texts,
        _markup,
        _indexing,
        _versions,
        _links,
        _sitemaps_and_urls,
        _lookalikes,
    ):
        plant(site)
    for issue, path in tuple(site.truth):
        if issue in _FOLLOWING:
            site.truth.add(_FOLLOWING[issue])
        if issue in _LINKED_BY_HEAD:
            site.truth.add((_LINKED_BY_HEAD[issue], path))
    site.truth |= {("link-to-copy", hub) for hub in _HUBS}
    for page in site.pages.values():
        codes = set(re.findall(r"hreflang=([\w-]+)", page.head.lower()))
        if len(codes) > 1 and "x-default" not in codes:
            site.truth.add(("hreflang-without-default", page.path))
    return site
