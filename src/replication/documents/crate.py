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
from typing import Any

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
WORKFLOW = "Snakefile"
CONFIGURATION = "results/config.yaml"
OUTPUT = "ro-crate-metadata.json"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_MODULE = re.compile(r"([\w.]+)@([0-9a-f]{12})")
_PACKAGE = re.compile(r"([\w-]+)==([\w.]+)")
Job = tuple[MetadataRecord, list[str]]
"""Snakemake's record of a job, and those of its outputs that are still there."""


def read_jobs(records: Path) -> list[Job]:
    """Return all jobs of which an output is still there, in the order of their outputs.

    `records` is Snakemake's folder of records, below the folder of the outputs. Raises an
    InputError if a record cannot be read, or there is none.
    """
    found: dict[tuple[str, float], Job] = {}
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
    jobs = [(record, sorted(outputs)) for record, outputs in found.values()]
    return sorted(jobs, key=lambda job: job[1])


def describe_jobs(jobs: list[Job], name: str) -> dict[str, Any]:
    """Return the crate of some jobs and of all files that they read or made, as JSON-LD."""
    crate = ROCrate(version="1.1")
    root = crate.root_dataset
    root["name"] = name
    root["description"] = "Everything that a run of the workflow made, and what it was made by."
    url = licence_url(read_citation_file(Path()))
    root["license"] = _add(crate, url, "CreativeWork", name=url.rpartition("/")[2])
    root["conformsTo"] = [
        _add(crate, profile, "CreativeWork", name=title, version=profile.rpartition("/")[2])
        for profile, title in PROFILES.items()
    ]
    actions, tools, steps = [], {}, {}
    for record, outputs in jobs:
        tool = _add_tool(crate, record)
        tools[tool.id] = tool
        step = f"#{record.rule}:{tool.id[1:]}"
        steps[step] = _add(crate, step, "HowToStep", name=record.rule, workExample=tool)
        actions.append(_add_action(crate, record, outputs, tool))
    whole = _add(
        crate,
        "#run",
        "CreateAction",
        name="The run of the workflow",
        description="snakemake, with the configuration that is the object",
        instrument=_add_workflow(crate, tools, steps),
        object=[_add_file(crate, CONFIGURATION)] if Path(CONFIGURATION).is_file() else [],
        result=[file for action in actions for file in action["result"]],
        startTime=min(action["startTime"] for action in actions),
        endTime=max(action["endTime"] for action in actions),
    )
    root["datePublished"] = whole["endTime"]
    root["mentions"] = [whole, *actions]
    return dict(crate.metadata.generate())


def _add_tool(crate: ROCrate, record: MetadataRecord) -> ContextEntity:
    """Add the version of the program that ran, with the packages that its result depends on."""
    depends = json.dumps(record.params)
    program = _find_program(record)
    version = dict(_MODULE.findall(depends)).get(program, "unknown")
    packages = [
        _add(
            crate,
            f"https://pypi.org/project/{package}/{release}/",
            "SoftwareApplication",
            name=package,
            softwareVersion=release,
        )
        for package, release in sorted(set(_PACKAGE.findall(depends)))
    ]
    return _add(
        crate,
        f"#{program}@{version}",
        "SoftwareApplication",
        name=program,
        softwareVersion=version,
        softwareRequirements=packages,
    )


def _find_program(record: MetadataRecord) -> str:
    """Return the module that ran; one program runs all jobs, and its orders name the module."""
    if orders := _read_orders(record):
        return str(json.loads(orders)["orders"][0]["program"])
    found = re.search(r" -m ([\w.]+)(?: --edited \S+ ([\w.]+))?", record.shellcmd or "")
    return found[2] or found[1] if found else str(record.rule)


def _read_orders(record: MetadataRecord) -> str:
    """Return the orders among the parameters as JSON; empty if there are none."""
    params = (text for text in record.params or () if text[1:].startswith('{"orders":'))
    return str(ast.literal_eval(next(params, "''")))


def _add_action(
    crate: ROCrate, record: MetadataRecord, outputs: list[str], tool: ContextEntity
) -> ContextEntity:
    inputs = sorted(path for path in record.input or () if Path(path).is_file())
    return _add(
        crate,
        f"#{outputs[0]}",
        "CreateAction",
        name=f"{record.rule} of {outputs[0]}",
        description="\n".join(filter(None, (record.shellcmd, _read_orders(record)))),
        instrument=tool,
        object=[_add_file(crate, path) for path in inputs],
        result=[_add_file(crate, path) for path in outputs],
        startTime=_format_time(record.starttime),
        endTime=_format_time(record.endtime),
    )


def _add_workflow(
    crate: ROCrate, tools: dict[str, ContextEntity], steps: dict[str, ContextEntity]
) -> Any:
    """Add the Snakefile, with its steps and the machine that it ran on."""
    place = machine()
    return crate.add_workflow(
        dest_path=WORKFLOW,
        main=True,
        lang="snakemake",
        properties={
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
            "name": "The workflow",
            "version": commit_name(Path()),
            "hasPart": [*tools.values()],
            "step": [*steps.values()],
            "runtimePlatform": f"processor {place['processor']}, python {place['python']}",
        },
    )


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


def _format_time(seconds: float | None) -> str:
    return datetime.fromtimestamp(seconds or 0, UTC).isoformat(timespec="seconds")


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
