"""What mkdocs does not know of this repository: called by it while it builds the site (`mkdocs.yml`, `hooks`).

Navigation is the index, `docs/README.md`: a section for each bold line, an entry for each link below it (above all: for beginners). Links lead
out of `docs/` to pages and files of the repository, as they do on a code host. Those pages become pages of the site,
and other files that are linked are copied beside them, so that no link leads out of the site.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
INDEX = ROOT / "docs/README.md"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("examples/*.md")])  # besides those of `docs/`
README = "about.md"  # where the README of the repository is in the site; the index has its name
_ENTRY = re.compile(r"^\*\*(?P<section>.+)\*\*$|\[(?P<title>[^\]]+)\]\((?P<path>[^)]+)\)", re.M)
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = [{"Fairlead": [{"Documentation": "README.md"}, {"README": README}]}]
    for found in _ENTRY.finditer(INDEX.read_text()):
        if found["section"]:
            config.nav.append({found["section"]: []})
        else:
            (entries,) = config.nav[-1].values()
            entries.append({found["title"].replace("`", ""): in_site("docs/" + found["path"])})
    placed = {ROOT / "README.md", *(ROOT / path for path in links_of(INDEX))}
    others = [page.relative_to(ROOT).as_posix() for page in PAGES if page not in placed]
    config.nav.append({"The project": [in_site(path) for path in others]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds pages and files that are outside of `docs/`."""
    pages = {page.relative_to(ROOT).as_posix() for page in PAGES}
    linked = {path for page in (*PAGES, *ROOT.glob("docs/**/*.md")) for path in links_of(page)}
    for path in sorted(pages | linked):
        if not path.startswith("docs/") and (ROOT / path).is_file():
            files.append(File.generated(config, in_site(path), abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    here = in_repository(page.file.src_uri)

    def moved(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), link[1]))
        return posixpath.relpath(in_site(target), posixpath.dirname(page.file.src_uri) or ".")

    return _LINK.sub(moved, markdown)


def links_of(page: Path) -> set[str]:
    """Paths from the root of the repository."""
    folder = page.parent.relative_to(ROOT).as_posix()
    return {posixpath.normpath(posixpath.join(folder, link)) for link in _LINK.findall(page.read_text())}


def in_site(path: str) -> str:
    """Where a file of the repository is in the site."""
    path = posixpath.normpath(path)
    return README if path == "README.md" else path.removeprefix("docs/")


def in_repository(path: str) -> str:
    """The inverse."""
    if path == README:
        return "README.md"
    return path if (ROOT / path).is_file() and path != "README.md" else f"docs/{path}"
