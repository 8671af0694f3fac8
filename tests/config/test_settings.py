"""Settings: precedence of their sources, the Python API, stores, and files of strangers."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from minicrawl.config import Budget, Network, Order, Politeness, Scope, Settings, Storing, load
from minicrawl.config.removed import GONE
from minicrawl.config.settings import DEFAULT, STORE, Loaded, told_ignored
from minicrawl.config.sources import from_store
from minicrawl.config.table import BY_NAME, STORED, TABLE
from minicrawl.errors import UsageError


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    file = tmp_path / "minicrawl.toml"
    file.write_text("[budget]\npages = 3\n[politeness]\ndelay = 3\nagent = 'three'\n", "utf-8")
    return file


class TestPrecedence:
    def test_none_lifts_a_limit_that_a_weaker_source_sets(self, toml: Path) -> None:
        assert load({"pages": "none"}, {}, toml).settings.budget.pages is None

    def test_a_bad_value_is_refused_only_if_it_counts(self) -> None:
        bad = {"MINICRAWL_PAGES": "-5"}
        with pytest.raises(UsageError, match=r"^MINICRAWL_PAGES=-5: must be a whole number above"):
            load({}, bad, None)
        assert load({"pages": "5"}, bad, None).settings.budget.pages == 5


class TestShares:
    @pytest.mark.parametrize(
        ("flags", "environ", "share", "origin"),
        [
            ({}, {}, 0.0, "default"),
            ({"refresh": "0.3"}, {"MINICRAWL_REFRESH": "0.4"}, 0.3, "--refresh"),
            ({"continuous": True}, {}, 0.5, "--continuous"),
            ({"continuous": False}, {}, 0.0, "default"),
            ({"continuous": True}, {"MINICRAWL_REFRESH": "0.8"}, 0.8, "MINICRAWL_REFRESH"),
        ],
    )
    def test_refresh_overrides_continuous(
        self, flags: dict[str, object], environ: dict[str, str], share: float, origin: str
    ) -> None:
        found = load(flags, environ, None)
        assert (found.settings.order.refresh, found.origins["refresh"]) == (share, origin)

    @given(st.floats(0, 1))
    def test_new_pages_get_the_rest(self, share: float) -> None:
        order = Settings.of(refresh=share).order
        assert order.refresh == share
        assert math.isclose(order.discovery + order.refresh, 1, abs_tol=1e-9)


class TestPython:
    def test_settings_are_made_of_flat_names(self) -> None:
        settings = Settings.of(
            pages=100, for_="2h", delay=0, store="x.db", scope="host", deny=["a"], score=["url:b"]
        )
        assert settings == Settings(
            budget=Budget(pages=100, seconds=7200),
            order=Order(score=("url:b",)),
            scope=Scope(scope="host", deny=("a",)),
            politeness=Politeness(delay_s=0),
            storing=Storing(store=Path("x.db")),
        )

    def test_a_flat_name_is_refused_like_a_flag(self) -> None:
        with pytest.raises(UsageError, match=r"^pages=-5: must be a whole number above 0$"):
            Settings.of(pages=-5)

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            ({"budget": Budget(pages=0)}, "budget.pages=0: "),
            ({"scope": Scope(scope="all")}, "scope.scope=all: must be one of any, domain, host, p"),
            ({"scope": Scope(deny=("b(",))}, "scope.deny=b(: "),
            ({"network": Network(timeout_s=math.inf)}, "network.timeout_s=Infinity: "),
            ({"politeness": Politeness(concurrency=0)}, "politeness.concurrency=0: "),
            # A part holds values and no text to be parsed.
            ({"storing": Storing(store="x.db")}, "storing.store='x.db': must be PosixPath('x.db')"),  # type: ignore[arg-type]
            ({"scope": Scope(allow="ab")}, "scope.allow='ab': must be ('ab',)"),  # type: ignore[arg-type]
            ({"budget": Budget(seconds="2h")}, "budget.seconds='2h': must be 7200.0"),  # type: ignore[arg-type]
        ],
    )
    def test_settings_with_a_wrong_value_are_refused(
        self, parts: dict[str, object], message: str
    ) -> None:
        with pytest.raises(UsageError) as refused:
            Settings(**parts)  # type: ignore[arg-type]
        assert str(refused.value).startswith(message)


class TestResumed:
    STORED = from_store(
        Path("a.db"),
        {"scope": "prefix", "deny": ["/x"], "max-depth": 2, "delay": 3, "score": ["url:a"]},
    )

    def test_settings_that_no_source_gives_come_from_the_store(self) -> None:
        found = load({}, {}, None).resumed(self.STORED)
        assert found.settings == Settings.of(
            scope="prefix", deny=["/x"], max_depth=2, delay=3, score=["url:a"]
        )
        assert found.origins["scope"] == found.origins["score"] == STORE
        assert found.origins["contact"] == DEFAULT

    def test_every_other_source_overrides_the_store(self, tmp_path: Path) -> None:
        file = tmp_path / "minicrawl.toml"
        file.write_text("[politeness]\ndelay = 1\n", encoding="utf-8")
        given = load({"scope": "any", "deny": "none"}, {"MINICRAWL_MAX_DEPTH": "none"}, file)
        found = given.resumed(self.STORED)
        assert found.settings == Settings.of(score=["url:a"])
        assert found.origins["scope"] == "--scope"
        assert found.origins["max-depth"] == "MINICRAWL_MAX_DEPTH"
        assert found.origins["delay"] == f"{file}:politeness.delay"

    def test_a_kept_value_that_does_not_count_is_not_validated(self) -> None:
        kept = from_store(Path("a.db"), {"scope": "planet"})
        assert load({"scope": "any"}, {}, None).resumed(kept).settings == Settings()
        with pytest.raises(UsageError, match=r"^a\.db:scope = planet: must be one of any, "):
            load({}, {}, None).resumed(kept)

    def test_settings_made_in_python_count_if_they_differ_from_the_defaults(self) -> None:
        made = Settings(
            scope=Scope(scope="any", max_depth=7), budget=Budget(pages=9, continuous=True)
        )
        found = Loaded.of(made).resumed(self.STORED).settings
        assert found == Settings(
            scope=Scope(scope="prefix", deny=("/x",), max_depth=7),
            budget=made.budget,
            order=Order(score=("url:a",)),
            politeness=Politeness(delay_s=3),
        )
        assert Loaded.of(made).origins["max-depth"] == "max_depth"
        assert Loaded.of(made).origins["scope"] == DEFAULT


WEAK: dict[str, object] = {
    "score": ["words:sea", "likeness:/home/diary.html"],
    "browser": "/evil.sh",
    "render-workers": 64,
    "store": "/etc/x.db",
    "warc": "/etc/w",
    "objects": "s3://evil/pages",
    "dedupe-with": "/etc/w",
    "auth": ["a.example=@/key"],
    "bearer": ["b.example=token", "a.example=@/key"],
    "netrc": "on",
    "cookies": "/key",
    "proxy": ["@/key"],
    "ca": "/ca.pem",
    "client-cert": ["/cert.pem"],
    "keep-credentials": True,
    "sign-requests": "/key.pem",
    "insecure": ["*.example"],
    "notify": "https://hook.example/",
    "bind-address": ["127.0.0.1"],
    "name-server": ["192.0.2.1"],
    "resolve": ["*=127.0.0.1:80"],
    "allow-private": True,
    "robots": False,
    "delay": 0,
    "address-delay": 0,
    "per-host": 9,
    "per-address": 99,
    "max-body": "1TB",
    "max-file": "1TB",
    "workers": 200,
    "cluster": "nats://127.0.0.1:1",
}
"""A harmful value of each setting that a stranger must not choose."""
HARMLESS: dict[str, object] = {
    "score": ["words:sea"],
    "auth": ["a.example=user:password"],
    "bearer": ["a.example=token"],
    "cookies": "on",
    "robots": True,
    "delay": 5,
    "allow-private": False,
    "max-body": 1000,
    "max-file": 1000,
    "workers": 0,
    "warc": "none",
    "objects": "none",
    "dedupe-with": "none",
    "proxy": "environment",
    "browser": "none",
}


def written(folder: Path, values: Mapping[str, object]) -> Path:
    """Write values to a minicrawl.toml."""
    file = folder / "minicrawl.toml"
    lines = (
        f"[{BY_NAME[name].section.name}]\n{name} = {json.dumps(values[name])}\n" for name in values
    )
    file.write_text("".join(lines), encoding="utf-8")
    return file


class TestStrangers:
    def test_each_harmful_setting_has_a_case_here(self) -> None:
        assert {setting.name for setting in TABLE if setting.weakens is not None} == WEAK.keys()

    @pytest.mark.parametrize("name", WEAK)
    def test_a_harmful_value_counts_only_from_a_named_file(self, name: str, tmp_path: Path) -> None:
        file = written(tmp_path, {name: WEAK[name]})
        found = load({}, {}, file, is_file_named=False)
        assert found.settings == Settings()
        assert found.origins[name] == DEFAULT
        assert list(found.ignored) == [name]
        assert str(file) in told_ignored(found.ignored.values())
        assert name in told_ignored(found.ignored.values())
        named = load({}, {}, file)
        assert named.settings != Settings()
        assert (named.origins[name] == DEFAULT, dict(named.ignored)) == (False, {})

    @pytest.mark.parametrize("name", HARMLESS)
    def test_a_harmless_value_counts_from_any_file(self, name: str, tmp_path: Path) -> None:
        file = written(tmp_path, {name: HARMLESS[name]})
        assert load({}, {}, file, is_file_named=False) == load({}, {}, file)

    def test_flags_and_variables_count_beside_a_file_of_a_stranger(self, tmp_path: Path) -> None:
        file = written(tmp_path, {"delay": 0.2, "browser": "/evil.sh"})
        own = {"MINICRAWL_DELAY": "0.1"}
        found = load({"browser": "/usr/bin/chromium"}, own, file, is_file_named=False)
        assert found.settings.politeness.delay_s == 0.1
        assert found.settings.rendering.browser == Path("/usr/bin/chromium")
        assert found.ignored == {}

    @pytest.mark.parametrize("name", [row.name for row in STORED if row.weakens is not None])
    def test_a_harmful_value_never_counts_from_a_store(self, name: str) -> None:
        kept = from_store(Path("a.db"), {name: WEAK[name], "scope": "host"})
        found = load({}, {}, None).resumed(kept)
        assert found.settings == Settings.of(scope="host")
        assert found.ignored == {name: f"a.db:{name}"}

    @pytest.mark.parametrize(("is_named", "delay_s"), [(False, 10.0), (True, 1.5)])
    def test_a_file_of_a_stranger_does_not_weaken_what_a_store_keeps(
        self, is_named: bool, delay_s: float, tmp_path: Path
    ) -> None:
        file = written(tmp_path, {"delay": 1.5, "max-depth": 3})
        kept = from_store(Path("a.db"), {"delay": 10, "max-depth": 5})
        found = load({}, {}, file, is_file_named=is_named).resumed(kept)
        assert found.settings.politeness.delay_s == delay_s
        assert found.settings.scope.max_depth == 3
        assert list(found.ignored) == ([] if is_named else ["delay"])

    def test_a_store_may_be_as_weak_as_the_user_is(self) -> None:
        kept = from_store(Path("a.db"), {"delay": 0.5, "robots": False})
        found = load({"delay": "0.2", "robots": "false"}, {}, None).resumed(kept)
        assert (found.settings.politeness.delay_s, found.settings.politeness.robots) == (0.2, False)
        assert found.ignored == {}

    def test_removed_settings_of_a_store_are_ignored_and_reported_if_they_differ(self) -> None:
        kept = {"max-delay": 90, "min-delay": 0.5, "scope": "host", "delay": 0}
        found = load({}, {}, None).resumed(from_store(Path("a.db"), kept))
        assert found.settings == Settings.of(scope="host")
        assert found.ignored == {"delay": "a.db:delay", "max-delay": "a.db:max-delay"}
        line = told_ignored(found.ignored.values())
        assert line.startswith("a.db: ignored delay: only an option, a variable or a file ")
        assert line.endswith(f"; max-delay: {GONE['max-delay'].why}")
