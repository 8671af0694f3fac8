import pytest

from minicrawl.config import Scope
from minicrawl.crawl.scope_and_traps import ScopeGate
from minicrawl.errors import UsageError
from minicrawl.model import State

SEED = "http://www.a.example/docs/index"


def refusal(url: str, depth: int = 0, pages: int = 0, scope: Scope | None = None) -> State | None:
    return ScopeGate(scope or Scope(), [SEED]).refusal(url, depth, pages)


@pytest.mark.parametrize(
    ("kind", "url", "state"),
    [
        ("host", "http://www.a.example/other", None),
        ("host", "http://a.example/", State.SCOPE),
        ("domain", "http://a.example/", None),
        ("domain", "http://b.example/", State.SCOPE),
        ("prefix", "http://www.a.example/docs/deep/page", None),
        ("prefix", "http://www.a.example/other", State.SCOPE),
    ],
)
def test_the_scope_follows_from_the_seeds(kind: str, url: str, state: State | None) -> None:
    assert refusal(url, scope=Scope(scope=kind)) is state


def test_denied_pages_and_pages_not_allowed_are_out_of_scope() -> None:
    scope = Scope(allow=("/docs/",), deny=("private",))
    assert refusal("http://a.example/docs/", scope=scope) is None
    assert refusal("http://a.example/docs/private", scope=scope) is State.SCOPE
    assert refusal("http://a.example/", scope=scope) is State.SCOPE


def test_the_ending_of_a_url_may_refuse_it_before_the_scope_does() -> None:
    assert refusal("http://a.example/cat.jpg") is State.TYPE
    assert refusal("http://b.example/cat.JPG", scope=Scope(scope="host")) is State.TYPE


def test_a_pattern_that_does_not_compile_is_named() -> None:
    with pytest.raises(UsageError, match=r"deny '\('"):
        ScopeGate(Scope(deny=("(",)), [])


def test_the_target_of_a_seed_that_redirects_widens_the_scope() -> None:
    gate = ScopeGate(Scope(scope="host", deny=("private",)), [SEED])
    assert gate.refusal("https://a.example/new", 0, 0) is State.SCOPE
    gate.widen("https://a.example/")
    gate.widen("https://a.example/twice")
    assert gate.refusal("https://a.example/new", 0, 0) is None
    assert gate.refusal("https://a.example/private", 0, 0) is State.SCOPE
    assert gate.refusal("https://b.example/", 0, 0) is State.SCOPE


def test_a_script_is_requested_only_as_a_seed() -> None:
    gate = ScopeGate(Scope(), ["http://a.example/app.js"])
    for url in ("http://a.example/app.js", "http://a.example/setup.exe"):
        assert gate.refusal(url, 0, 0) is State.TYPE
        assert gate.refusal(url, 0, 0, is_seed=True) is None
