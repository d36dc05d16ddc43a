"""The site: the page of each study with its folder, and an index of all papers."""

import base64
import hashlib
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from replication.base.errors import InputError
from replication.base.stamp import FOLDER_MARK, files_beside, stamped
from replication.base.storage import write_atomically
from replication.bundle.bundle import read_verdicts, reference_folder
from replication.figures.typeset import number, typeset, typeset_svg
from replication.judge.abstract import decided_sentences
from replication.judge.verdicts import Verdict
from replication.report.context import claim_views, contested_claims, verdict_counts
from replication.report.shown import RelatedPage, Site
from replication.study.registry import Registry, read_registry, without_latex
from replication.study.studies import Study, find_studies

TEMPLATES = Path(__file__).parent / "templates"
KINDS = {".svg", ".png", ".csv"}
"""Endings of the files in a page's folder."""
KICKER = b'<p class="kicker">Replication report</p>'
"""Line that every page has above its title, see `base.html`."""


@cache
def page_environment() -> Environment:
    """Return the templates of the site, with their filters; each is compiled once."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["policy_hash"] = policy_hash
    environment.filters |= {
        "number": number,
        "plain": without_latex,
        "typeset": typeset,
        "typeset_svg": typeset_svg,
    }
    return environment


def policy_hash(text: Markup) -> str:
    """Return the hash by which a page's security policy knows its own style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def asset(name: str, added: str = "") -> Markup:
    """Return a style or script of the site, by the name of its file, with what a page adds."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8") + added)


def registry_of(study: Study) -> Registry:
    """Return the registry of a study."""
    return read_registry(study.folder / "registry.yaml")


def site_links(site: Site) -> list[tuple[str, str]]:
    """Return the name of every study of the project, and the link to it; papers come first."""
    studies = find_studies()
    names = sorted(studies, key=lambda name: not registry_of(studies[name]).url)
    return [(name.replace("_", " "), site.link(name)) for name in names]


def studies_of_paper(study: str) -> list[Study]:
    """Return the other studies of a study's paper."""
    studies = find_studies()
    url = registry_of(studies[study]).url if study in studies else None
    return [
        other
        for name, other in studies.items()
        if name != study and url and registry_of(other).url == url
    ]


def related_pages(root: Path, study: str, site: Site) -> list[RelatedPage]:
    """Return the pages of the other studies of a paper, with the verdicts of their references."""
    return [_related_page(root, other, site) for other in studies_of_paper(study)]


def _related_page(root: Path, study: Study, site: Site) -> RelatedPage:
    registry, name = registry_of(study), study.name
    known = RelatedPage(registry.title, site.link(name), name in site.pages)
    labels = {figure: text.label for figure, text in registry.figures.items()}
    try:
        verdicts = read_verdicts(reference_folder(root, name))
        claims = claim_views(registry, list(verdicts.values()), labels)
    except InputError:
        return known
    titles = [f"{text.label} {text.title}".lower() for text in registry.figures.values()]
    marks = decided_sentences([(registry, verdicts)])
    return known._replace(
        counts=verdict_counts(claims),
        contested=contested_claims(claims),
        marks={words: found.mark for words, found in marks.items()},
        search="\n".join([*titles, *(view.search for view in claims)]),
    )


def known_verdicts(root: Path, study: str) -> dict[str, Verdict]:
    """Return the verdicts of a study's reference; none if there is no whole reference."""
    try:
        return read_verdicts(reference_folder(root, study))
    except InputError:
        return {}


def refuse_other_page(page: Path) -> None:
    """Refuse to overwrite a file that is no page of the site.

    Raises:
        InputError: if there is such a file.
    """
    try:
        is_ours = not page.exists() or KICKER in page.read_bytes()
    except OSError:
        is_ours = False
    if not is_ours:
        raise InputError(
            f"{page}: is no page of a replication, and would be overwritten; move it, or choose"
            " another folder"
        )


def folder_of_page(page: Path) -> Path:
    """Return the folder with the pictures and tables of a page.

    Raises:
        InputError: if another thing has this name, or the folder has files that no page wrote.
    """
    folder = page.with_suffix("")
    if folder.exists():
        other = [folder] if not folder.is_dir() else _other_files(folder)
        if other:
            raise InputError(
                f"{other[0]}: is not part of a page, and {folder} will be overwritten;"
                " move the file, or choose another folder"
            )
    return folder


def _other_files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.iterdir()
        if not path.is_file() or not (path.suffix in KINDS or path.name == FOLDER_MARK)
    )


def write_page(
    page: Path,
    html: str,
    files: Mapping[str, Path],
    texts: Mapping[str, str],
    key: str | None = None,
) -> None:
    """Write a page, and beside it a folder of files and texts by name, and nothing else in it.

    Empty texts are not written. Without a key the page has no stamp.

    Raises:
        InputError: if the folder has other files, or the file system refuses.
    """
    folder = folder_of_page(page)
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, path in files.items():
            shutil.copyfile(path, folder / name)
        for name, text in texts.items():
            if text:
                (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written ({error.strerror or error}); make room or allow writing"
            " there, then run the same command again"
        ) from error
    content = html.encode()
    whole = stamped(content, ".html", key, files_beside(page)) if key else content
    write_atomically(page, lambda stream: stream.write(whole))
