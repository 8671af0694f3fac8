"""Rules of WCAG that need a browser: axe-core judges a page of each template, from the archive.

Each rule becomes a check of its own, such as axe-color-contrast, and each element that breaks it a
cause: a button of a header is one change, whichever pages have it. A page whose styles were not
kept would be judged by colors that nobody sees, and is left out. Nothing is requested.

template   pages whose elements have the same classes, or the same tags if there are none
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minicrawl.archive.replay import ReplayedArchive
from minicrawl.audit.causes import by_name
from minicrawl.audit.checks import ERROR, NOTICE, RULES, WARNING, Check
from minicrawl.audit.detectors import Detector
from minicrawl.audit.site import AuditedSite
from minicrawl.errors import needs
from minicrawl.report.archived.page_versions import kept_pages
from minicrawl.wording import counted

_SEVERITIES = {"critical": ERROR, "serious": WARNING}
"""Severity of the impacts of a rule; others are notices."""
_MOST_TEMPLATES, _MOST_READ = 50, 2000
_CLASS = re.compile(r"""<(\w++)[^<>]*?\sclass\s*=\s*(?:"([^"<>]*+)"|'([^'<>]*+)')""")
_TAG = re.compile(r"<(\w++)")
_NUMBER = re.compile(r"wcag(\d)(\d)(\d+)")


def judged(site: AuditedSite, names: Sequence[str]) -> tuple[list[Check], str]:
    """Return a check for each rule, or for those with these names, and what was not judged."""
    from minicrawl.crawl.rendering.pool import find_browser

    program, chosen = find_browser(None), {*names} - {RULES}
    with needs("axe", "audit --render"):
        from minicrawl.crawl.rendering.replay import judgements
    rules, broken = dict[str, Mapping[str, Any]](), defaultdict[str, list[tuple[str, int]]](list)
    sample, judged_pages, drawn = dict(_sample(site)), 0, 0
    with kept_pages(site.seen) as reader:
        archive = ReplayedArchive(reader)
        pages = filter(None, map(archive.page, sample))
        for url, lost, results in judgements(program, pages, archive):
            drawn += 1
            if "stylesheet" in lost.values():
                continue
            judged_pages += 1
            for kind in ("violations", "passes", "inapplicable"):
                for rule in results[kind]:
                    name = f"{RULES}-{rule['id']}"
                    rules[name] = rule if kind == "violations" else rules.get(name, rule)
                    for node in rule["nodes"] if kind == "violations" else ():
                        element = f"{node['html'].partition('>')[0]}> at {node['target'][0]}"
                        broken[name].append((element, sample[url]))
    checks = [
        _check(name, rule, broken[name])
        for name, rule in sorted(rules.items())
        if not chosen or name in chosen
    ]
    why = f"one page of each template: {judged_pages} of {counted(int(site.html.sum()), 'page')}"
    if judged_pages < drawn:
        why += f", {drawn - judged_pages} without their styles: crawl with --requisites"
    return checks, why


def _sample(site: AuditedSite) -> Iterator[tuple[str, int]]:
    """Yield the URL and number of the most important page of each template."""
    best = site.seen.best
    pages = best[(site.html & site.chosen)[best]][:_MOST_READ]
    templates = set[frozenset[tuple[str, ...]]]()
    for page, url, markup in zip(
        pages.tolist(), site.urls(pages), site.markups(pages), strict=True
    ):
        tags = _CLASS.findall(markup) or map(tuple, _TAG.findall(markup))
        if (template := frozenset(tags)) not in templates:
            templates.add(template)
            yield url, page
        if len(templates) == _MOST_TEMPLATES:
            return


def _check(name: str, rule: Mapping[str, Any], elements: Sequence[tuple[str, int]]) -> Check:
    """Return the check of a rule; for a page it shows the number of elements that break it."""
    pages = np.array([page for _, page in elements], np.int64)
    detector = Detector(
        lambda site: site.of(pages),
        "",
        lambda site: np.bincount(pages, minlength=len(site)),
        by_name("element", lambda _: elements),
    )
    numbers = ", ".join(map(".".join, _NUMBER.findall(" ".join(rule["tags"]))))
    text = f"{rule['help']} (WCAG {numbers}): see {rule['helpUrl']}"
    return Check(name, _SEVERITIES.get(rule["impact"], NOTICE), text, detector)
