import pytest

from minicrawl.config import Scope
from minicrawl.crawl.schedule.scope_gate import ScopeGate
from minicrawl.errors import UsageError
from minicrawl.model import State

SEED = "http://www.a.example/docs/index"


def refusal(url: str, depth: int = 0, pages: int = 0, scope: Scope | None = None) -> State | None:
    return ScopeGate(scope or Scope(), [SEED]).refusal(url, depth, pages)


def test_by_default_any_page_may_be_fetched() -> None:
    assert refusal("https://elsewhere.example/?q=1", depth=99, pages=10**6) is None


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
def test_the_scope_is_what_the_seeds_share(kind: str, url: str, state: State | None) -> None:
    assert refusal(url, scope=Scope(scope=kind)) is state


def test_what_is_denied_or_not_allowed_is_out_of_scope() -> None:
    scope = Scope(allow=("/docs/",), deny=("private",))
    assert refusal("http://a.example/docs/", scope=scope) is None
    assert refusal("http://a.example/docs/private", scope=scope) is State.SCOPE
    assert refusal("http://a.example/", scope=scope) is State.SCOPE


def test_what_is_no_page_by_its_name_is_of_the_wrong_type_wherever_it_is() -> None:
    assert refusal("http://a.example/cat.jpg") is State.TYPE
    assert refusal("http://b.example/cat.JPG", scope=Scope(scope="host")) is State.TYPE


def test_pages_are_fetched_down_to_the_depth_and_not_below() -> None:
    scope = Scope(max_depth=2)
    assert refusal(SEED, depth=2, scope=scope) is None
    assert refusal(SEED, depth=3, scope=scope) is State.DEPTH


def test_a_host_may_have_as_many_pages_as_its_budget() -> None:
    scope = Scope(per_host_pages=2)
    assert refusal(SEED, pages=1, scope=scope) is None
    assert refusal(SEED, pages=2, scope=scope) is State.HOST_BUDGET


def test_a_pattern_that_does_not_compile_is_named() -> None:
    with pytest.raises(UsageError, match=r"deny '\('"):
        ScopeGate(Scope(deny=("(",)), [])


def test_where_a_seed_leads_is_in_scope_as_the_seed_is() -> None:
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
