"""Print the merged settings of an experiment, or list the experiments of a study.

Settings that all runs of the experiment share come first, then the ones in which a run differs.
With --schema, print the keys of all studies with type, limits and meaning, as a JSON schema.
"""

import ast
import inspect
import json
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import yaml
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DictSchema, ModelSchema, TaggedUnionSchema, union_schema

from replication.base.errors import InputError
from replication.base.strict import unknown_key
from replication.plan.configuration import configuration_type, configure, read_overlays
from replication.plan.jobs import Jobs
from replication.study.contract import Experiment
from replication.study.seeds import format_seeds
from replication.study.studies import find_studies

Settings = Mapping[str, Any]


def experiment_settings(experiment: Experiment) -> dict[str, Any]:
    """Return the settings of an experiment's runs and metrics as plain data.

    They are `seeds`; `runs`, the settings that all runs share; `differences`, by names of runs that
    are alike, the settings in which they differ from others; `metrics`, by name, their settings
    without those of runs.
    """
    runs = {name: job.settings.model_dump(mode="json") for name, job in experiment.runs.items()}
    shared = reduce(lambda one, other: _split(one, other)[0], runs.values()) if runs else {}
    alike: dict[str, list[str]] = {}
    for name, settings in runs.items():
        if own := _split(settings, shared)[1]:
            alike.setdefault(json.dumps(own), []).append(name)
    metrics = {}
    for name, job in experiment.metrics.items():
        own = _split(job.settings.model_dump(mode="json"), shared)[1]
        metrics[name] = {key: value for key, value in own.items() if value != shared}
    found = {
        "seeds": format_seeds(
            sorted({seed for job in experiment.runs.values() for seed in job.seeds})
        ),
        "runs": shared,
        "differences": {", ".join(names): json.loads(own) for own, names in alike.items()},
        "metrics": metrics,
    }
    return {key: value for key, value in found.items() if value}


def _split(one: Settings, other: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of one that are the same in the other, and the rest of them."""
    same: dict[str, Any] = {}
    different: dict[str, Any] = {}
    for key, value in one.items():
        if isinstance(value, Mapping) and isinstance(other.get(key), Mapping):
            alike, unlike = _split(value, other[key])
            same |= {key: alike} if alike else {}
            different |= {key: unlike} if unlike else {}
        else:
            (same if key in other and other[key] == value else different)[key] = value
    return same, different


class OverlaySchema(GenerateJsonSchema):
    """The JSON schema of an overlay, by which an editor completes its keys."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Return false, as an overlay may leave out every key."""
        return False

    def tagged_union_schema(self, schema: TaggedUnionSchema) -> JsonSchemaValue:
        """Return the models as ones of which several may fit an overlay that names no kind."""
        return self.union_schema(union_schema([*schema["choices"].values()]))

    def dict_schema(self, schema: DictSchema) -> JsonSchemaValue:
        """Return a mapping by name in which null removes a name."""
        found = super().dict_schema(schema)
        # The names are of some pattern, or any.
        values = found.get("patternProperties", found)
        for key in ["additionalProperties"] if values is found else [*values]:
            values[key] = {"anyOf": [values.get(key, {}), {"type": "null"}]}
        return found

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """Return a model with docstrings, which pydantic would read at every start."""
        found = super().model_schema(schema)
        fields = found.get("properties", {})
        for each in schema["cls"].__mro__:
            # A function may have made a model, and then there is no source.
            with suppress(OSError, TypeError):
                (definition,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
                assert isinstance(definition, ast.ClassDef)
                for pair in pairwise(definition.body):
                    match pair:
                        case (
                            ast.AnnAssign(target=ast.Name(id=name)),
                            ast.Expr(value=ast.Constant(value=str(text))),
                        ) if name in fields:
                            fields[name].setdefault("description", inspect.cleandoc(text))
        return found


@click.command(help=__doc__)
@click.option(
    "--configfile", "overlays", multiple=True, type=click.Path(path_type=Path),
    help="An overlay, as Snakemake takes it; several are merged in their order.",
)  # fmt: skip
@click.option("--schema", is_flag=True, help="By the schema an editor completes and checks keys.")
@click.argument("study", required=False)
@click.argument("experiment", required=False)
def main(
    overlays: tuple[Path, ...], schema: bool, study: str | None, experiment: str | None
) -> None:
    """Print the settings as YAML, or the schema of an overlay as JSON."""
    studies = find_studies()
    if schema:
        whole = configuration_type(studies).model_json_schema(schema_generator=OverlaySchema)
        click.echo(json.dumps(whole, indent=2))
        return
    if study not in studies:
        raise InputError(unknown_key(study or "", [*studies], "study", "studies"))
    changes = read_overlays(overlays)
    # Overlays may name the studies that Snakemake makes.
    changes.pop("study", None)
    jobs = Jobs.of(configure(changes, studies), studies).studies[study]
    if experiment is None:
        for name, found in jobs.experiments.items():
            seeds = format_seeds(jobs.seeds(name))
            click.echo(f"{name}: seeds {seeds}, {len(found.runs)} file(s) of runs")
        return
    if experiment not in jobs.experiments:
        raise InputError(f"{study}: {unknown_key(experiment, [*jobs.experiments], 'experiment')}")
    told = experiment_settings(jobs.experiments[experiment])
    click.echo(yaml.safe_dump(told, sort_keys=False, default_flow_style=None, width=100))
