"""Describe what was computed in this folder as an RO-Crate: which job made which file from which.

Snakemake keeps a record of each file that a job made: its command, its inputs, the code and the
packages it depends on, and when it ran. Here they become a Provenance Run Crate
(https://w3id.org/ro/wfrun/provenance/0.5), which archives and other tools read.
"""

import ast
import json
import mimetypes
import re
from base64 import urlsafe_b64decode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate
from snakemake.persistence import MetadataRecord

from replication.base.citation_file import licence_url, read_citation_file
from replication.base.commit import commit_name
from replication.base.errors import InputError
from replication.base.storage import unreadable_error, write_text
from replication.bundle.machine import machine
from replication.study.registry import read_registry
from replication.study.studies import find_studies

RECORDS = Path(".snakemake/metadata")
WORKFLOW = Path("Snakefile")
CONFIGURATION = Path("results/config.yaml")
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
RUN_MODULE = "replication.run.program"
_PROGRAM = re.compile(r" -m ([\w.]+)")
_MODULE = re.compile(r"([\w.]+)@([0-9a-f]{12})")
_PACKAGE = re.compile(r"([\w-]+)==([\w.]+)")


class Job(NamedTuple):
    """One job that ran."""

    rule: str
    """Name of the job's rule."""
    command: str
    """Command that ran."""
    orders: str
    """Orders of the job as JSON; empty if the command reads none."""
    program: str
    """Full name of the module that ran."""
    version: str
    """Digest of the module that ran."""
    packages: dict[str, str]
    """Version by name of the packages that the job's result depends on."""
    inputs: tuple[str, ...]
    """Paths of files that the job read."""
    outputs: tuple[str, ...]
    """Paths of files that the job made."""
    started: float
    """Start of the job, in seconds since 1970."""
    ended: float
    """End of the job, in seconds since 1970."""

    @property
    def tool(self) -> str:
        """Name of this version of the program in the crate."""
        return f"#{self.program}@{self.version}"


def read_jobs(records: Path) -> list[Job]:
    """Read all jobs of which an output is still there, in the order of their outputs.

    Args:
        records: Snakemake's folder of records, below the folder of the outputs.

    Raises:
        InputError: if a record cannot be read, or there is none.
    """
    found: dict[tuple[str, float], tuple[MetadataRecord, list[str]]] = {}
    for path in sorted(path for path in records.rglob("*") if path.is_file()):
        # The name of the file that a record is of is encoded, a long one over several folders.
        encoded = "".join(part.removeprefix("@") for part in path.relative_to(records).parts)
        try:
            output = urlsafe_b64decode(encoded).decode()
            if not Path(output).is_file():
                continue
            record = MetadataRecord.model_validate(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise unreadable_error(path, error) from error
        if record.shellcmd and not record.incomplete:
            key = (record.shellcmd, record.starttime or 0)
            found.setdefault(key, (record, []))[1].append(output)
    if not found:
        raise InputError("nothing is computed here yet; run a target such as `snakemake figures`")
    jobs = [_to_job(record, sorted(outputs)) for record, outputs in found.values()]
    return sorted(jobs, key=lambda job: job.outputs)


def describe_jobs(jobs: list[Job], name: str) -> dict[str, Any]:
    """Return the crate of some jobs and of all files that they read or made, as JSON-LD.

    Args:
        jobs: the jobs.
        name: name of the crate.
    """
    crate = ROCrate(version="1.1")
    root = crate.root_dataset
    root["name"] = name
    root["description"] = "Everything that a run of the workflow made, and what it was made by."
    url = licence_url(read_citation_file(Path()))
    root["license"] = _add_entity(crate, url, "CreativeWork", name=url.rpartition("/")[2])
    root["conformsTo"] = [
        _add_entity(crate, profile, "CreativeWork", name=title, version=profile.rpartition("/")[2])
        for profile, title in PROFILES.items()
    ]
    paths = {path for job in jobs for path in (*job.inputs, *job.outputs)}
    files = {path: _add_file(crate, path) for path in sorted(paths)}
    tools = _add_tools(crate, jobs)
    whole = _add_entity(
        crate,
        "#run",
        "CreateAction",
        name="The run of the workflow",
        description="snakemake, with the configuration that is the object",
        instrument=_add_workflow(crate, jobs, tools),
        object=[_add_file(crate, str(CONFIGURATION))] if CONFIGURATION.is_file() else [],
        result=[files[path] for job in jobs for path in job.outputs],
        startTime=_format_time(min(job.started for job in jobs)),
        endTime=_format_time(max(job.ended for job in jobs)),
    )
    root["datePublished"] = whole["endTime"]
    root["mentions"] = [whole, *(_add_action(crate, job, tools, files) for job in jobs)]
    return dict(crate.metadata.generate())


@click.command(help=__doc__)
@click.option("--output", type=click.Path(path_type=Path), default=Path("ro-crate-metadata.json"))
def main(output: Path) -> None:
    """Write the crate's metadata beside the files that it describes."""
    if not WORKFLOW.is_file():
        raise InputError("the crate holds the workflow, too; run this in the project's folder")
    studies = [study for study in find_studies().values() if study.is_default]
    titles = [read_registry(study.folder / "registry.yaml").title for study in studies]
    crate = describe_jobs(read_jobs(RECORDS), f"Replication of {', '.join(titles)}")
    write_text(output, json.dumps(crate, indent=1, sort_keys=True) + "\n")
    click.echo(f"{output}: {len(crate['@graph'])} entities")


def _to_job(record: MetadataRecord, outputs: list[str]) -> Job:
    depends = json.dumps(record.params)
    orders = _read_orders(record)
    program = _program_of_record(record, orders)
    return Job(
        rule=str(record.rule),
        command=str(record.shellcmd),
        orders=orders,
        program=program,
        version=dict(_MODULE.findall(depends)).get(program, "unknown"),
        packages=dict(_PACKAGE.findall(depends)),
        inputs=tuple(sorted(path for path in record.input or () if Path(path).is_file())),
        outputs=tuple(outputs),
        started=record.starttime or 0,
        ended=record.endtime or 0,
    )


def _read_orders(record: MetadataRecord) -> str:
    """Return the orders among the params; empty if there are none."""
    params = (text for text in record.params or () if text[1:].startswith('{"orders":'))
    return str(ast.literal_eval(next(params, "''")))


def _program_of_record(record: MetadataRecord, orders: str) -> str:
    """Return the module that ran; for the program that runs all jobs, that of the first order."""
    found = _PROGRAM.search(record.shellcmd or "")
    if found and found[1] == RUN_MODULE and orders:
        return str(json.loads(orders)["orders"][0]["program"])
    return found[1] if found else str(record.rule)


def _add_tools(crate: ROCrate, jobs: list[Job]) -> dict[str, ContextEntity]:
    """Add every version of a program that ran, with its packages, and return them by name."""
    tools: dict[str, ContextEntity] = {}
    for job in sorted(jobs, key=lambda job: job.tool):
        if job.tool not in tools:
            packages = [
                _add_entity(
                    crate,
                    f"https://pypi.org/project/{package}/{version}/",
                    "SoftwareApplication",
                    name=package,
                    softwareVersion=version,
                )
                for package, version in sorted(job.packages.items())
            ]
            tools[job.tool] = _add_entity(
                crate,
                job.tool,
                "SoftwareApplication",
                name=job.program,
                softwareVersion=job.version,
                softwareRequirements=packages,
            )
    return tools


def _add_workflow(crate: ROCrate, jobs: list[Job], tools: dict[str, ContextEntity]) -> Any:
    """Add the Snakefile, with a step per rule and program and the machine that it ran on."""
    pairs = sorted({(job.rule, job.tool) for job in jobs})
    steps = [
        _add_entity(crate, f"#{rule}:{tool[1:]}", "HowToStep", name=rule, workExample=tools[tool])
        for rule, tool in pairs
    ]
    place = {name: value for name, value in machine().items() if name in {"processor", "python"}}
    return crate.add_workflow(
        dest_path=str(WORKFLOW),
        main=True,
        lang="snakemake",
        properties={
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
            "name": "The workflow",
            "version": commit_name(Path()),
            "hasPart": list(tools.values()),
            "step": steps,
            "runtimePlatform": ", ".join(f"{name} {value}" for name, value in place.items()),
        },
    )


def _add_action(
    crate: ROCrate, job: Job, tools: dict[str, ContextEntity], files: dict[str, Any]
) -> ContextEntity:
    return _add_entity(
        crate,
        f"#{job.outputs[0]}",
        "CreateAction",
        name=f"{job.rule} of {job.outputs[0]}",
        description="\n".join(filter(None, (job.command, job.orders))),
        instrument=tools[job.tool],
        object=[files[path] for path in job.inputs],
        result=[files[path] for path in job.outputs],
        startTime=_format_time(job.started),
        endTime=_format_time(job.ended),
    )


def _add_file(crate: ROCrate, path: str) -> Any:
    if path.startswith(("/", "..")):
        return _add_entity(crate, f"#{path}", "CreativeWork", name=path)
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    size = str(Path(path).stat().st_size)
    return crate.add_file(
        dest_path=path, properties={"name": path, "contentSize": size, "encodingFormat": kind}
    )


def _add_entity(crate: ROCrate, identifier: str, kind: str, **properties: Any) -> ContextEntity:
    """Add an entity with its properties, except empty ones."""
    known = {name: value for name, value in properties.items() if value not in ([], "")}
    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **known}))


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


if __name__ == "__main__":
    main()
