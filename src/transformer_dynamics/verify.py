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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import pandas as pd
import yaml
from snakemake.utils import update_config

from transformer_dynamics.config import Configuration
from transformer_dynamics.errors import InputError
from transformer_dynamics.frames import write_csv
from transformer_dynamics.registry import Registry, read_registry
from transformer_dynamics.scan_and_snap.parts import PARTS, Part
from transformer_dynamics.storage import unreadable
from transformer_dynamics.verification.comparison import compare, missing, together
from transformer_dynamics.verification.lock import (
    EVIDENCE,
    EVIDENCE_COLUMNS,
    FINGERPRINTS,
    Expected,
    Lock,
    judge_again,
    read_lock,
    write_lock,
)
from transformer_dynamics.verification.scorecard import counts, scorecard

SHOWN = 30
"""Differences that are printed; the rest stands in the file."""


@dataclass(frozen=True)
class Project:
    """What is verified."""

    root: Path
    """Folder of the Snakefile and of the lock."""
    part: Part
    """Which of its results."""
    configuration: Configuration
    """What is computed."""
    default: Configuration
    """What is locked."""
    registry: Registry
    """What is claimed."""

    @property
    def plan(self) -> Any:
        """How claims are judged."""
        return self.part.plan(self.configuration, self.registry)

    @property
    def locked_plan(self) -> Any:
        """How the locked claims were judged."""
        return self.part.plan(self.default, self.registry)

    @property
    def is_default(self) -> bool:
        """Whether just what is locked is computed."""
        return bool(self.part.section(self.configuration) == self.part.section(self.default))

    def found(self, folder: Path) -> Lock:
        """What is computed in a folder."""
        return self.part.found(self.plan, folder, self.root)

    def snakemake(self, targets: list[str], *options: str, overlay: Any = None) -> None:
        """Make targets with this configuration, and an overlay of it.

        Raises:
            InputError: if Snakemake fails; it has said why.
        """
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("configuration.yaml", "overlay.yaml")]
            self.configuration.write(files[0])
            files[1].write_text(yaml.safe_dump(overlay or {}))
            command = [sys.executable, "-m", "snakemake", *targets, "--quiet", "progress"]
            command += ["--snakefile", str(self.root / "Snakefile"), *options]
            command += ["--configfile", *map(str, files)]
            if subprocess.run(command, check=False).returncode:
                raise InputError("computing the results again failed, see above")


@click.command(help=__doc__)
@click.option("--part", "part_name", type=click.Choice(list(PARTS)), default=next(iter(PARTS)))
@click.option("--level", type=click.Choice(["hash", "figure", "seed", "full"]), default="hash")
@click.option("--draw", type=int, help="Seed of the draw of seeds, to repeat one.")
@click.option("--root", type=click.Path(path_type=Path), default=Path(), help="Project's folder.")
@click.option("--configuration", type=click.Path(path_type=Path), help="Merged configuration.")
@click.option("--output", type=click.Path(path_type=Path), default=Path("results/differences.csv"))
@click.option("--found", type=click.Path(path_type=Path), help="New folder for what is found.")
@click.option("--lock", "locking", is_flag=True, help="Lock what is computed instead.")
def main(
    part_name: str,
    level: str,
    draw: int | None,
    root: Path,
    configuration: Path | None,
    output: Path,
    found: Path | None,
    locking: bool,
) -> None:
    """Print the scorecard and every difference; fail if there is one."""
    if found and found.exists():
        raise InputError(f"{found}: is there already; delete it or name another folder")
    part = PARTS[part_name]
    default = read_configuration(root / "config/config.yaml", part.overlay and root / part.overlay)
    given = read_configuration(configuration) if configuration else default
    project = Project(root, part, given, default, read_registry(root / part.registry))
    if locking:
        lock_results(project)
        return
    lock, changed = read_lock(root / part.lock)
    current = _known(project, _LEVELS[level](project, draw), lock)
    if found:
        _write_found(found, current)
    again = judge_again(lock.tables[EVIDENCE], project.locked_plan.families)
    rows = together(
        [
            missing("lock", lock, part.expected(project.locked_plan)),
            compare(current, lock, changed, again, part.counts),
            missing("results", current, _due(project, current, level)),
        ]
    )
    write_csv(output, rows)
    _report(project, current, lock, rows, output)


def read_configuration(path: Path, overlay: Path | None = None) -> Configuration:
    """Read a whole configuration from YAML, with an overlay.

    Raises:
        InputError: if a file cannot be read, or names what is wrong in it.
    """
    data: dict[str, Any] = {}
    for file in (path, overlay):
        if file is not None:
            try:
                update_config(data, yaml.safe_load(file.read_text()))
            except (OSError, yaml.YAMLError) as error:
                raise unreadable(file, error) from error
    return Configuration.parse(data, str(path))


def lock_results(project: Project) -> None:
    """Lock what is computed in the current folder.

    Raises:
        InputError: if something is not computed yet, or not with the default configuration.
    """
    if not project.is_default:
        raise InputError(
            "only results of the default configuration are locked; leave out overlays"
            + (f" other than {project.part.overlay}" if project.part.overlay else "")
        )
    absent = [name for name, path in project.plan.locked_files.items() if not path.is_file()]
    if absent:
        raise InputError(f"{absent[0]} is not computed yet; run `snakemake lock`")
    folder = project.root / project.part.lock
    write_lock(folder, project.found(Path()))
    click.echo(f"Locked in {folder}")


def _hash(project: Project, draw: int | None) -> Lock:
    return project.found(Path())


def _figure(project: Project, draw: int | None) -> Lock:
    """Figures and verdicts whose metrics are not cached are left out and named."""
    plan = project.plan
    needed = plan.needed
    cached = {name for name, paths in needed.items() if all(Path(path).is_file() for path in paths)}
    if left_out := [name for name in needed if name not in cached]:
        click.echo(f"Left out, as their metrics are not cached: {', '.join(left_out)}")
    targets = [str(plan.locked_files[name]) for name in needed if name in cached]
    project.snakemake(targets, "--forcerun", *project.part.rules)
    return project.found(Path())


def _seed(project: Project, draw: int | None) -> Lock:
    """The seeds are drawn per experiment."""
    draw = random.SystemRandom().randrange(10**6) if draw is None else draw
    click.echo(f"One seed of every experiment, drawn with --draw {draw}")
    plan = project.plan
    overlay = plan.one_seed(random.Random(draw))
    names = [
        str(path) for name, path in plan.locked_files.items() if name.startswith("experiment ")
    ]
    with tempfile.TemporaryDirectory() as folder:
        project.snakemake(names, "--directory", folder, overlay=overlay)
        return project.found(Path(folder))


def _full(project: Project, draw: int | None) -> Lock:
    targets = [str(path) for path in project.plan.locked_files.values()]
    with tempfile.TemporaryDirectory() as folder:
        project.snakemake(targets, "--directory", folder)
        return project.found(Path(folder))


_LEVELS = {"hash": _hash, "figure": _figure, "seed": _seed, "full": _full}


def _known(project: Project, current: Lock, lock: Lock) -> Lock:
    """Without what an overlay adds, as nothing of it is locked."""
    if project.is_default:
        return current
    settings = current.depends["settings"]
    added = [name for name in settings if name not in lock.depends["settings"]]
    if added:
        click.echo(f"Not locked: {', '.join(added)}")
    known = {name: digest for name, digest in settings.items() if name not in added}
    tables = {name: table for name, table in current.tables.items() if name in lock.tables}
    if FINGERPRINTS in tables:
        runs = tables[FINGERPRINTS]
        keep = [f"experiment {name}" not in added for name in runs["experiment"]]
        tables[FINGERPRINTS] = runs[keep].reset_index(drop=True)
    return replace(current, tables=tables, depends=current.depends | {"settings": known})


def _due(project: Project, current: Lock, level: str) -> Expected:
    """What must have been found: everything, or all runs of the experiments that were."""
    everything = project.part.expected(project.plan)
    if level == "full":
        return everything
    if level == "seed" or FINGERPRINTS not in current.tables:
        return Expected(set(), set(), everything.runs.head(0))
    there = everything.runs["experiment"].isin(current.tables[FINGERPRINTS]["experiment"])
    evidence = current.tables.get(EVIDENCE)
    claims = set() if evidence is None else set(evidence["claim"]) & set(current.verdicts)
    return Expected(set(), claims, everything.runs[there])


def _write_found(folder: Path, current: Lock) -> None:
    """Keep what was found as a lock, with an empty table in place of one that was not computed."""
    empty = {
        EVIDENCE: pd.DataFrame(columns=list(EVIDENCE_COLUMNS)),
        FINGERPRINTS: pd.DataFrame(columns=["seed", "mixture", "digest", "experiment"]),
    }
    write_lock(folder, replace(current, tables=empty | current.tables))


def _report(project: Project, current: Lock, lock: Lock, rows: pd.DataFrame, output: Path) -> None:
    card = scorecard(project.registry, list((lock.verdicts | current.verdicts).values()))
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
    runs = len(current.tables.get(FINGERPRINTS, ()))
    return f"{figures} figures, {len(current.verdicts)} verdicts, {runs} runs"


if __name__ == "__main__":
    main()
