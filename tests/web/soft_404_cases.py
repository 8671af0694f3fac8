"""Made sites with pages that say "not found" with status 200, and honest pages that look alike.

Each site has a language and a template: where its menu is, how its missing page says so, and what
else that page has (the URL that was asked for, a search form, suggestions, the time). Honest pages
are thin on purpose: empty lists, products without a text, galleries, quotes of the message.
"""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import NamedTuple

from minicrawl.web.references import plain_text
from minicrawl.web.soft_404 import missing_sibling

LANGUAGES = {
    "en": "Home|Shop|About us|Contact|Imprint|Page not found|Sorry, this page does not exist.|"
    "Maybe it was moved. Try a search.|No products found|Nothing matched your search terms|"
    "Add to cart|Out of stock|Please log in to see this page.|No comments yet|Popular",
    "de": "Start|Laden|Über uns|Kontakt|Impressum|Seite nicht gefunden|Diese Seite gibt es nicht.|"
    "Vielleicht hilft die Suche.|Keine Artikel gefunden|Kein Treffer für Ihre Suche|"
    "In den Warenkorb|Ausverkauft|Bitte melden Sie sich an.|Noch keine Kommentare|Beliebt",
    "fr": "Accueil|Boutique|À propos|Contact|Mentions légales|Page introuvable|"
    "Cette page n'existe pas ou plus.|Essayez une recherche.|Aucun produit|"
    "Aucun résultat pour votre recherche|Ajouter au panier|Épuisé|Veuillez vous connecter.|"
    "Aucun commentaire|Populaire",
    "es": "Inicio|Tienda|Quiénes somos|Contacto|Aviso legal|Página no encontrada|"
    "Lo sentimos, esta página no existe.|Pruebe a buscar.|No hay productos|"
    "Sin resultados para su búsqueda|Añadir al carrito|Agotado|Inicie sesión, por favor.|"
    "Sin comentarios|Popular",
    "pl": "Start|Sklep|O nas|Kontakt|Regulamin|Nie znaleziono strony|Ta strona nie istnieje.|"
    "Spróbuj wyszukać.|Brak produktów|Brak wyników wyszukiwania|Do koszyka|Wyprzedane|"
    "Zaloguj się, aby zobaczyć tę stronę.|Brak komentarzy|Popularne",
    "ru": "Главная|Магазин|О нас|Контакты|Условия|Страница не найдена|"  # noqa: RUF001
    "К сожалению, такой страницы нет.|Попробуйте поиск.|Товаров нет|"  # noqa: RUF001
    "По вашему запросу ничего не найдено|В корзину|Нет в наличии|Войдите на сайт.|"  # noqa: RUF001
    "Комментариев пока нет|Популярное",
    "ja": "ホーム|ショップ|会社案内|お問い合わせ|規約|ページが見つかりません|"
    "お探しのページは存在しません。|検索してみてください。|商品がありません|"
    "検索に一致する結果はありません|カートに入れる|品切れ|ログインしてください。|"
    "コメントはまだありません|人気",
}
THINGS = [
    "lamp",
    "chair",
    "table",
    "shelf",
    "clock",
    "mirror",
    "carpet",
    "vase",
    "basket",
    "candle",
    "pillow",
    "mug",
]

TEMPLATES = ("lists", "inline", "bare")
EXTRAS = ("plain", "echo", "search", "suggests", "time", "short", "home", "is a search")


class Case(NamedTuple):
    """One page of a site, the missing page of its folder, and some pages of its host."""

    name: str
    url: str
    text: str
    missing: str
    home: str
    others: tuple[str, ...]
    is_soft: bool


def cases(seed: int = 1) -> Iterator[Case]:
    """Yield all cases, the same ones for one seed."""
    random = Random(seed)
    for language, template, extra in product(LANGUAGES, TEMPLATES, EXTRAS):
        yield from _Site(language, template, extra, random).cases()


class _Site:
    def __init__(self, language: str, template: str, extra: str, random: Random) -> None:
        self.name = f"{language} {template} {extra}"
        self._words, self._template, self._extra = LANGUAGES[language].split("|"), template, extra
        self._random = random
        self._popular = random.sample(THINGS, 10)
        self._home = f"<h1>{self._words[0]}</h1>{self._suggestions()}{self._article()}"

    def cases(self) -> Iterator[Case]:
        folder = "http://a.example/shop/"
        usual = [self._page(title, self._article()) for title in self._words[:4]]
        usual += [self._page(f"{thing} 1", self._product(thing)) for thing in THINGS[:4]]
        usual.append(self._page(self._words[0], self._home))
        missing = self._missing(missing_sibling(folder))
        for name, url, markup, is_soft in self._pages(folder):
            text, said, home = map(plain_text, (markup, missing, usual[-1]))
            others = tuple(map(plain_text, usual))
            yield Case(f"{self.name}: {name}", url, text, said, home, others, is_soft)

    def _pages(self, folder: str) -> Iterator[tuple[str, str, str, bool]]:
        words, thing = self._words, self._random.choice(THINGS)
        for number in (1, 2, 3):
            url = f"{folder}{thing}-{number}"
            yield f"gone {number}", url, self._missing(url), True
        honest = {
            "empty category": f"<h1>{thing}</h1><p>{words[8]}</p>",
            "empty search": f"<h1>“{thing}”</h1><p>{words[9]}</p>",
            "thin product": f"<h1>{thing} 2</h1><p>12.90</p><p>{words[10]}</p>",
            "sold out": f"<h1>{thing} 3</h1><p>{words[11]}</p>",
            "log in": f"<h1>{thing}</h1><p>{words[12]}</p>",
            "no comments": f"<h1>{thing} 4</h1><p>{words[13]}</p>",
            "gallery": f"<h1>{thing}</h1>" + "<img src=x.png>" * 8,
            "popular": f"<h1>{words[14]}</h1>{self._suggestions()}",
            "some popular": f"<h1>{words[14]} 2</h1>{self._suggestions(8)}",
            "home": self._home,
            "404": f"<h1>{thing} 404</h1><p>404</p>",
            "one line": f"<p>{words[2]}: {thing}</p>",
            "quote": f"<h1>{words[5]}</h1>{self._article()}",
            "message in a text": f"<p>“{words[6]}” {self._article()}</p>",
        }
        for name, main in honest.items():
            yield name, f"{folder}{thing}", self._page(thing, main), False

    def _missing(self, url: str) -> str:
        words, name = self._words, url.rpartition("/")[2]
        if self._extra == "home":
            return self._page(words[0], self._home)
        if self._extra == "short":
            return self._page("404", f"<p>{words[5]}</p>")
        if self._extra == "is a search":
            return self._page(words[9], f"<h1>“{name}”</h1><p>{words[9]}</p><p>{words[7]}</p>")
        more = {
            "plain": "",
            "echo": f"<p>/shop/{name}</p>",
            "search": f"<p>{words[7]}</p><form><input name=q><button>OK</button></form>",
            "suggests": f"<p>{words[14]}</p>{self._suggestions()}",
            "time": f"<p>2026-11-{self._random.randint(1, 28)} {self._random.random():.6f}</p>",
        }[self._extra]
        return self._page(words[5], f"<h1>{words[5]}</h1><p>{words[6]}</p>{more}")

    def _suggestions(self, count: int = 10) -> str:
        return "<ul>" + "".join(f"<li>{thing} 1</li>" for thing in self._popular[:count]) + "</ul>"

    def _article(self) -> str:
        words = self._random.choices((*self._words[1:5], *THINGS), k=60)
        return f"<p>{('' if self._words[0] == 'ホーム' else ' ').join(words)}</p>"

    def _product(self, thing: str) -> str:
        return f"<h1>{thing} 1</h1>{self._article()}<p>{self._words[10]}</p>"

    def _page(self, title: str, main: str) -> str:
        menu = [f'<a href="/{number}">{word}</a>' for number, word in enumerate(self._words[:5])]
        around = {
            "lists": f"<ul><li>{'<li>'.join(menu)}</ul>{main}<footer>© Shop</footer>",
            "inline": f"<div>{' | '.join(menu)}</div><div>{main}</div>",
            "bare": main,
        }[self._template]
        return f"<title>{title} – Shop</title><body>{around}"
