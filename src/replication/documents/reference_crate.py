"""Pack the references of all studies as an RO-Crate: a zip file to deposit in an archive.

The crate holds numbers, evidence and verdicts as they stand in git, says of each study which paper
it is about and which processor computed it, and has the licence and the citation of the project.
"""

import hashlib
import json
import mimetypes
import zipfile
from collections import Counter
from pathlib import Path
from typing import IO, Any

import click
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from replication.base.citation_file import CITATION, licence_url, name_author, read_citation_file
from replication.base.errors import InputError
from replication.base.storage import write_atomically
from replication.bundle.bundle import Bundle, find_references, read_unchanged, reference_folder
from replication.study.datasets import find_datasets
from replication.study.registry import Registry, read_registry
from replication.study.studies import find_studies

METADATA = "ro-crate-metadata.json"
LICENCE = "LICENSE"
_BEGINNING = (1980, 1, 1, 0, 0, 0)
"""Time of every file of the zip: the same files give the same bytes."""


def describe_references(root: Path) -> tuple[dict[str, Any], list[Path]]:
    """Return the crate as JSON-LD, and the files that it describes, relative to `root`.

    Args:
        root: the project's folder.

    Raises:
        InputError: if there is no reference, or one is damaged or was changed by hand.
    """
    names = find_references(root)
    if not names:
        raise InputError("no study has a reference; make one with `snakemake reference`")
    citation = read_citation_file(root)
    crate = ROCrate(version="1.1")
    describe_root(crate, citation)
    files = [Path(name) for name in (CITATION, LICENCE) if (root / name).is_file()]
    for path in files:
        _add_file(crate, root, path)
    studies = find_studies()
    for name in names:
        folder = studies[name].folder
        registry = read_registry(folder / "registry.yaml")
        files += _add_study(crate, root, name, registry, _quotations(folder))
    return dict(crate.metadata.generate()), files


@click.command(help=__doc__)
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("references.crate.zip"),
    help="The zip file.", show_default=True,
)  # fmt: skip
def main(output: Path) -> None:
    """Write the zip file."""
    crate, files = describe_references(Path())

    def write(stream: IO[bytes]) -> None:
        with zipfile.ZipFile(stream, "w") as archive:
            _pack(archive, METADATA, json.dumps(crate, indent=1, sort_keys=True).encode() + b"\n")
            for path in files:
                _pack(archive, path.as_posix(), path.read_bytes())

    write_atomically(output, write)
    click.echo(f"{output}: {len(files)} files, {output.stat().st_size / 1e6:.1f} MB")


def _pack(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, _BEGINNING)
    member.external_attr = 0o644 << 16
    archive.writestr(member, content, zipfile.ZIP_DEFLATED)


def describe_root(crate: ROCrate, citation: dict[str, Any]) -> None:
    """Write title, licence, authors and keywords of the project into a crate.

    Args:
        crate: the crate.
        citation: content of `CITATION.cff`.
    """
    root = crate.root_dataset
    title = citation.get("title", Path().resolve().name)
    root["name"] = f"References of {title} {citation.get('version', '')}".strip()
    root["description"] = "Numbers, evidence and verdicts of replicated papers, as in git."
    url = licence_url(citation)
    root["license"] = _add(crate, url, "CreativeWork", name=url.rpartition("/")[2])
    if "date-released" in citation:
        root["datePublished"] = str(citation["date-released"])
    if "authors" in citation:
        root["author"] = [
            _add(
                crate,
                f"#{name_author(each)}",
                "Organization" if "name" in each else "Person",
                name=name_author(each),
            )
            for each in citation["authors"]
        ]
    if "keywords" in citation:
        root["keywords"] = ", ".join(citation["keywords"])


def _quotations(folder: Path) -> dict[str, str]:
    """Return the licences of tables that quote data, by name of the table's file."""
    quoted = [item.dataset.quoted for item in find_datasets([folder])]
    return {f"{name}.csv": each.licence for each in quoted if each for name in each.figures}


def _add_study(
    crate: ROCrate, root: Path, name: str, registry: Registry, quotations: dict[str, str]
) -> list[Path]:
    """Add a study's reference as a data set, and return the paths of its files."""
    folder = reference_folder(root, name)
    reference = read_unchanged(folder)
    paths = sorted(path.relative_to(root) for path in folder.rglob("*") if path.is_file())
    study = crate.add_dataset(dest_path=folder.relative_to(root).as_posix() + "/")
    study["name"] = f"Reference of {name}: {registry.title}"
    study["description"] = _in_words(reference)
    parts = {path: _add_file(crate, root, path) for path in paths}
    study["hasPart"] = [*parts.values()]
    for path, file in parts.items():
        if url := quotations.get(path.name):
            file["license"] = _add(crate, url, "CreativeWork", name=url)
    if registry.url:
        study["citation"] = _add(
            crate, registry.url, "ScholarlyArticle", name=registry.title,
            author=", ".join(registry.author_names),
        )  # fmt: skip
    return paths


def _in_words(reference: Bundle) -> str:
    """Return the verdicts by kind, and the processor and packages that computed them."""
    counted = Counter(verdict.verdict for verdict in reference.verdicts.values())
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counted.items()))
    place = ", ".join(f"{part} {value}" for part, value in reference.depends["machine"].items())
    return f"Verdicts on claims: {verdicts}. Computed with {place}."


def _add_file(crate: ROCrate, root: Path, path: Path) -> Any:
    content = (root / path).read_bytes()
    return crate.add_file(
        dest_path=path.as_posix(),
        properties={
            "name": path.name,
            "contentSize": str(len(content)),
            "encodingFormat": mimetypes.guess_type(path.name)[0] or "text/plain",
            "sha256": hashlib.sha256(content).hexdigest(),
        },
    )


def _add(crate: ROCrate, identifier: str, kind: str, **properties: Any) -> ContextEntity:
    identifier = identifier.replace(" ", "-")
    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **properties}))
