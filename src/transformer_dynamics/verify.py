r"""Hold results against the lock: do they still come out as they did?

\b
hash    the lock is whole, its verdicts follow from its evidence, settings and code are those that
        were locked, and what is cached equals it; takes seconds
figure  computes every figure and verdict again whose metrics are cached, then as hash
seed    computes one seed of every experiment from nothing, drawn at random; takes minutes
full    computes everything from nothing, in a folder of its own
"""

import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pandas as pd
import yaml

from transformer_dynamics.config import Configuration
from transformer_dynamics.errors import InputError
from transformer_dynamics.frames import write_csv
from transformer_dynamics.registry import Registry, read_registry
from transformer_dynamics.scan_and_snap import locked
from transformer_dynamics.scan_and_snap.claims.plan import Plan, metrics_path
from transformer_dynamics.scan_and_snap.config import SeedRange
from transformer_dynamics.storage import unreadable
from transformer_dynamics.verification.comparison import compare
from transformer_dynamics.verification.lock import Lock, judge_again, read_lock, write_lock
from transformer_dynamics.verification.scorecard import counts, scorecard

LOCK = Path("results/reference")
SHOWN = 30
"""Differences that are printed; the rest stands in the file."""


@dataclass(frozen=True)
class Project:
    """What is verified."""

    root: Path
    """Folder of the Snakefile and of the lock."""
    configuration: Configuration
    """What is computed."""
    registry: Registry
    """What is claimed."""

    @property
    def plan(self) -> Plan:
        """How claims are judged."""
        device = self.configuration.computation.device
        return Plan.of(self.configuration.scan_and_snap, self.registry, device)

    def snakemake(self, targets: list[str], *options: str) -> None:
        """Make targets with this configuration.

        Raises:
            InputError: if Snakemake fails; it has said why.
        """
        command = [sys.executable, "-m", "snakemake", *targets, "--snakefile"]
        command += [str(self.root / "Snakefile"), "--quiet", "progress", *options]
        if subprocess.run(command, check=False).returncode:
            raise InputError("computing the results again failed, see above")


@click.command(help=__doc__)
@click.option("--level", type=click.Choice(["hash", "figure", "seed", "full"]), default="hash")
@click.option("--draw", type=int, help="Seed of the draw of seeds, to repeat one.")
@click.option("--root", type=click.Path(path_type=Path), default=Path(), help="Project's folder.")
@click.option("--configuration", type=click.Path(path_type=Path), help="Merged configuration.")
@click.option("--output", type=click.Path(path_type=Path), default=Path("results/differences.csv"))
@click.option("--lock", "locking", is_flag=True, help="Lock what is computed instead.")
def main(
    level: str,
    draw: int | None,
    root: Path,
    configuration: Path | None,
    output: Path,
    locking: bool,
) -> None:
    """Print the scorecard and every difference; fail if there is one."""
    project = Project(
        root,
        read_configuration(configuration or root / "config/config.yaml"),
        read_registry(root / "papers/scan_and_snap.yaml"),
    )
    if locking:
        lock_results(project)
        return
    lock, changed = read_lock(root / LOCK)
    current = _LEVELS[level](project, lock, draw)
    again = judge_again(lock.tables["evidence.csv"], project.plan.families)
    rows = compare(current, lock, changed, again, locked.COUNTS)
    write_csv(output, rows)
    _report(project, current, lock, rows, output)


def read_configuration(path: Path) -> Configuration:
    """Read a whole configuration from YAML.

    Raises:
        InputError: if it cannot be read, or names what is wrong in it.
    """
    try:
        data = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise unreadable(path, error) from error
    return Configuration.parse(data, str(path))


def lock_results(project: Project) -> None:
    """Lock what is computed in the current folder.

    Raises:
        InputError: if something is not computed yet.
    """
    absent = [name for name, path in project.plan.locked_files.items() if not path.is_file()]
    if absent:
        raise InputError(f"{absent[0]} is not computed yet; run `snakemake lock`")
    write_lock(project.root / LOCK, locked.found(project.plan, Path()))
    click.echo(f"Locked in {project.root / LOCK}")


def _hash(project: Project, lock: Lock, draw: int | None) -> Lock:
    return locked.found(project.plan, Path())


def _figure(project: Project, lock: Lock, draw: int | None) -> Lock:
    """Figures whose metrics are not cached are left out and named."""
    plan, paths = project.plan, project.plan.locked_files
    needed = {
        **{f"figure {name}": plan.sources_of_figure(name) for name in plan.paper.figures},
        **{f"verdict {claim}": plan.sources(claim, "") for claim in plan.claims},
    }
    targets = [
        str(paths[name])
        for name, sources in needed.items()
        if all(Path(metrics_path(*source)).is_file() for source in sources)
    ]
    left_out = len(needed) - len(targets)
    if left_out:
        click.echo(f"{left_out} figures and verdicts have no cached metrics and are left out")
    project.snakemake(targets, "--forcerun", "figure_table", "evidence", "verdict")
    return locked.found(plan, Path())


def _seed(project: Project, lock: Lock, draw: int | None) -> Lock:
    """The seeds are drawn per experiment."""
    draw = random.SystemRandom().randrange(10**6) if draw is None else draw
    click.echo(f"One seed of every experiment, drawn with --draw {draw}")
    generator, paper = random.Random(draw), project.configuration.scan_and_snap
    seeds = {
        name: {"seeds": _one_of(experiment.seeds, generator)}
        for name, experiment in paper.experiments.items()
        if isinstance(experiment.seeds, SeedRange)
    }
    variants = {"seeds": _one_of(paper.sensitivity.seeds, generator)}
    overlay = {"scan_and_snap": {"experiments": seeds, "sensitivity": variants}}
    plan = project.plan
    names = [str(plan.locked_files[f"experiment {name}"]) for name in plan.locked_experiments]
    with tempfile.TemporaryDirectory() as folder:
        extra = Path(folder) / "one_seed.yaml"
        extra.write_text(yaml.safe_dump(overlay))
        project.snakemake(names, "--directory", folder, "--configfile", str(extra))
        return locked.found(plan, Path(folder))


def _full(project: Project, lock: Lock, draw: int | None) -> Lock:
    targets = [str(path) for path in project.plan.locked_files.values()]
    with tempfile.TemporaryDirectory() as folder:
        project.snakemake(targets, "--directory", folder)
        return locked.found(project.plan, Path(folder))


_LEVELS = {"hash": _hash, "figure": _figure, "seed": _seed, "full": _full}


def _one_of(seeds: SeedRange, generator: random.Random) -> dict[str, Any]:
    return {"first": seeds.first + generator.randrange(seeds.count), "count": 1}


def _report(project: Project, current: Lock, lock: Lock, rows: pd.DataFrame, output: Path) -> None:
    card = scorecard(project.registry, list((current.verdicts or lock.verdicts).values()))
    for claim in card.to_dict("records"):
        click.echo(f"{claim['claim']:5} {claim['verdict']:13} {claim['summary']}")
    totals = ", ".join(f"{number} {name}" for name, number in counts(card).items() if number)
    click.echo(f"\n{totals}")
    for kind, mine in current.depends["machine"].items():
        theirs = lock.depends["machine"].get(kind)
        if mine != theirs:
            click.echo(f"{kind}: {mine}, locked with {theirs}")
    if rows.empty:
        click.echo(f"Equal to the lock: {_computed(current)}.")
        return
    for row in rows.head(SHOWN).to_dict("records"):
        gap = "" if pd.isna(row["difference"]) else f", {row['difference']:.3g} apart"
        said = f"{row['place']}: {row['quantity']} is {row['found']}, locked {row['locked']}{gap}"
        click.echo(f"{said} (tolerance: {row['tolerance']})", err=True)
    raise InputError(f"{len(rows)} differences from the lock; all of them are in {output}")


def _computed(current: Lock) -> str:
    figures = sum(name.startswith("figures/") for name in current.tables)
    return f"{figures} figures, {len(current.verdicts)} verdicts"


if __name__ == "__main__":
    main()
