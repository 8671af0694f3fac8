"""The site's navigation, and the pages that it takes from the root folder.

A page is found by its folder, so a new page needs no entry anywhere. ARCHITECTURE.md and its like
stay in the root, where people look for them, and are pages of the site as well. A link to a file of
the repository that is not a page of the site becomes plain text.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]

SECTIONS = {
    "Tutorial": "tutorial",
    "How-to": "how-to",
    "Reference": "reference",
    "Explanation": "explanation",
    "Decisions": "decisions",
}
FROM_ROOT = {
    "ARCHITECTURE.md": "explanation/architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}

_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages from the root folder, and find all pages by their folders."""
    for name, page in FROM_ROOT.items():
        if (ROOT / name).is_file():
            files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    pages = sorted(file.src_uri for file in files.documentation_pages())
    config.nav = _nav(pages)
    return files


def _nav(pages: list[str]) -> list[object]:
    """The start page, a section for each folder, and last what lies in no folder."""
    sections = {
        title: [page for page in pages if page.startswith(f"{folder}/")]
        for title, folder in SECTIONS.items()
    }
    placed = {"index.md"}.union(*sections.values())
    sections["More"] = [page for page in pages if page not in placed]
    return [{"Home": "index.md"}, *({title: found} for title, found in sections.items() if found)]


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links between docs/ and the root folder to the pages of the site."""
    del config, files
    shown_as = page.file.src_uri
    source = next((name for name, at in FROM_ROOT.items() if at == shown_as), f"docs/{shown_as}")
    return _LINK.sub(lambda link: _link(link, source, shown_as), markdown)


def _link(link: re.Match[str], source: str, shown_as: str) -> str:
    """The link as it must be in the page `shown_as`, which is written in the file `source`."""
    target, text = link["target"], link["text"]
    if ":" in target or target.startswith("/"):
        return link[0]
    file = normpath(str(PurePosixPath(source).parent / target))
    page = FROM_ROOT.get(file) or (file[len("docs/") :] if file.startswith("docs/") else "")
    if page:
        path = relpath(page, str(PurePosixPath(shown_as).parent))
        return f"[{text}]({path}{link['anchor'] or ''})"
    return text if (ROOT / file).exists() else link[0]
