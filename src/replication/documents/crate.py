"""Describe what was computed in this folder as an RO-Crate: which job made which file from which.

Snakemake keeps a record of each file that a job made: its command, its inputs, the code and the
packages it depends on, and when it ran. Here they become a Process Run Crate
(https://w3id.org/ro/wfrun/process/0.5), which archives and other tools read.
"""

import json
import mimetypes
from base64 import urlsafe_b64decode
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate
from snakemake.persistence import MetadataRecord

from replication.base.errors import InputError
from replication.base.keys import KEY
from replication.base.project import commit_name, licence_url, read_citation_file
from replication.base.storage import read_record, unreadable_error, write_text
from replication.study.registry import read_registry
from replication.study.studies import find_studies

RECORDS = Path(".snakemake/metadata")
WORKFLOW = "Snakefile"
OUTPUT = "ro-crate-metadata.json"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
Job = tuple[MetadataRecord, list[str]]
"""Snakemake's record of a job, and those of its outputs that are still there."""


def read_jobs(records: Path) -> list[Job]:
    """Return all jobs of which an output is still there, in the order of their outputs.

    `records` is Snakemake's folder of records. An `InputError` if a record cannot be read, or there
    is none.
    """
    found: dict[str, Job] = {}
    for path in sorted(path for path in records.rglob("*") if path.is_file()):
        # The name of the file that a record is of is encoded, a long one over several folders.
        encoded = "".join(part.removeprefix("@") for part in path.relative_to(records).parts)
        try:
            output = urlsafe_b64decode(encoded).decode()
            if not Path(output).is_file():
                continue
            record = MetadataRecord.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise unreadable_error(path, error) from error
        if record.shellcmd and not record.incomplete:
            # Its orders, or its outputs, are in the command of a job.
            found.setdefault(record.shellcmd, (record, []))[1].append(output)
    if not found:
        raise InputError("nothing is computed here yet; run a target such as `snakemake figures`")
    jobs = [(record, sorted(outputs)) for record, outputs in found.values()]
    return sorted(jobs, key=lambda job: job[1])


def describe_jobs(jobs: list[Job], name: str) -> dict[str, Any]:
    """Return the crate of some jobs and of all files that they read or made, as JSON-LD."""
    crate = ROCrate(version="1.1")
    licence = licence_url(read_citation_file(Path()))
    actions = [_add_action(crate, record, outputs) for record, outputs in jobs]
    _add_file(crate, WORKFLOW)
    about = {
        "name": name,
        "description": "Everything that a run of the workflow made, and what it was made by.",
        "license": _add(crate, licence, "CreativeWork", name=licence.rpartition("/")[2]),
        "conformsTo": _add(crate, PROFILE, "CreativeWork", name="Process Run Crate", version="0.5"),
        "version": commit_name(Path()),
        "datePublished": max(action["endTime"] for action in actions),
        "mentions": actions,
    }
    for key, value in about.items():
        crate.root_dataset[key] = value
    return dict(crate.metadata.generate())


def _add_action(crate: ROCrate, record: MetadataRecord, outputs: list[str]) -> ContextEntity:
    made_by = _provenance(outputs)
    told = {name: made_by[name] for name in ("settings", "seeds", KEY) if name in made_by}
    started, ended = (
        datetime.fromtimestamp(seconds or 0, UTC).isoformat(timespec="seconds")
        for seconds in (record.starttime, record.endtime)
    )
    inputs = [path for path in sorted(record.input or ()) if Path(path).is_file()]
    return _add(
        crate,
        f"#{outputs[0]}",
        "CreateAction",
        name=f"{record.rule} of {outputs[0]}",
        description="\n".join([record.shellcmd or "", json.dumps(told, sort_keys=True)]),
        instrument=_add_tool(crate, made_by, str(record.rule)),
        object=[_add_file(crate, path) for path in inputs],
        result=[_add_file(crate, path) for path in outputs],
        startTime=started,
        endTime=ended,
    )


def _provenance(outputs: list[str]) -> dict[str, Any]:
    """Return what an output says of its making, a picture by its table; empty if none says it."""
    for path in map(Path, outputs):
        for told in (path, path.with_suffix(".csv")):
            with suppress(Exception):
                return read_record(told)
    return {}


def _add_tool(crate: ROCrate, made_by: dict[str, Any], rule: str) -> ContextEntity:
    """Add the version of the program that ran, with the packages that its result depends on."""
    program, kind = made_by.get("program", rule), "SoftwareApplication"
    version = made_by.get("code", {}).get(program, "unknown")
    packages = [
        _add(
            crate, f"https://pypi.org/project/{name}/{each}/", kind, name=name, softwareVersion=each
        )
        for name, each in made_by.get("packages", {}).items()
    ]
    about = {"name": program, "softwareVersion": version, "softwareRequirements": packages}
    return _add(crate, f"#{program}@{version}", kind, **about)


def _add_file(crate: ROCrate, path: str) -> Any:
    if path.startswith(("/", "..")):
        return _add(crate, f"#{path}", "CreativeWork", name=path)
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    size = str(Path(path).stat().st_size)
    return crate.add_file(
        dest_path=path, properties={"name": path, "contentSize": size, "encodingFormat": kind}
    )


def _add(crate: ROCrate, identifier: str, kind: str, **properties: Any) -> ContextEntity:
    """Add an entity with its properties, except empty ones; another one of this name goes."""
    known = {name: value for name, value in properties.items() if value not in ([], "")}
    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **known}))


@click.command(help=__doc__)
def main() -> None:
    """Write the crate's metadata beside the files that it describes."""
    if not Path(WORKFLOW).is_file():
        raise InputError("the crate holds the workflow, too; run this in the project's folder")
    studies = [study for study in find_studies().values() if study.is_default]
    titles = [read_registry(study.folder / "registry.yaml").title for study in studies]
    crate = describe_jobs(read_jobs(RECORDS), f"Replication of {', '.join(titles)}")
    write_text(Path(OUTPUT), json.dumps(crate, indent=1, sort_keys=True) + "\n")
    click.echo(f"{OUTPUT}: {len(crate['@graph'])} entities")


if __name__ == "__main__":
    main()
