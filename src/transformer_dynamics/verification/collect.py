"""What is computed in a folder, brought into the form of a lock."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from transformer_dynamics.frames import read_table
from transformer_dynamics.verification.family import Family
from transformer_dynamics.verification.lock import (
    EVIDENCE,
    FINGERPRINTS,
    Lock,
    collect_evidence,
    read_numbers,
)
from transformer_dynamics.verification.scorecard import read_verdict


def collect(
    files: Mapping[str, Path],
    families: Iterable[Family],
    folder: Path,
    depends: dict[str, dict[str, str]],
) -> Lock:
    """What is computed in a folder, as far as it is.

    Args:
        files: paths below the folder, by `figure <name>`, `verdict <claim>`, `evidence <claim>` and
            `experiment <name>`.
        families: of all claims.
        folder: where the workflow ran.
        depends: see `Lock`.

    Raises:
        InputError: if a file is damaged or made by another configuration or code.
    """
    there = {name: folder / path for name, path in files.items() if (folder / path).is_file()}

    def named(kind: str) -> dict[str, Path]:
        return {
            name.removeprefix(kind): path for name, path in there.items() if name.startswith(kind)
        }

    tables = {figure_path(name): read_numbers(path) for name, path in named("figure ").items()}
    members = {member.claim: member for family in families for member in family.members}
    evidence = {
        claim: read_table(path, members[claim].provenance)
        for claim, path in named("evidence ").items()
    }
    if evidence:
        tables[EVIDENCE] = collect_evidence(evidence)
    fingerprints = [
        read_numbers(path).assign(experiment=name) for name, path in named("experiment ").items()
    ]
    if fingerprints:
        tables[FINGERPRINTS] = pd.concat(fingerprints, ignore_index=True)
    verdicts = {claim: read_verdict(path) for claim, path in named("verdict ").items()}
    return Lock(tables=tables, verdicts=verdicts, depends=depends)


def figure_path(figure: str) -> str:
    """Where the numbers of a figure stand in a lock."""
    return f"figures/{figure}.csv"
