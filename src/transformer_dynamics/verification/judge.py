"""Judge one claim by its evidence and that of the claims that it shares its correction with."""

import hashlib
import json
from pathlib import Path

import click

from transformer_dynamics.frames import read_table
from transformer_dynamics.storage import write_text
from transformer_dynamics.verification.family import Family
from transformer_dynamics.verification.judgement import Judged, judge


@click.command(help=__doc__)
@click.option("--claim", required=True, help="Number of the claim.")
@click.option("--family", "family_text", required=True, help="Family as JSON.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
@click.argument("evidence", nargs=-1, required=True, type=click.Path(path_type=Path))
def main(claim: str, family_text: str, output: Path, evidence: tuple[Path, ...]) -> None:
    """Write the verdict as JSON, with what its evidence came from."""
    members = Family.parse_json(family_text, "--family").members
    family = [
        Judged(member.claim, member.test, read_table(path, member.provenance))
        for member, path in zip(members, evidence, strict=True)
    ]
    (own,) = [member for member in members if member.claim == claim]
    made_by = own.provenance
    settings = json.dumps(made_by.pop("settings"), sort_keys=True)
    record = {
        **judge(family)[claim].model_dump(mode="json"),
        "provenance": {
            "stage": made_by["stage"],
            "settings": hashlib.sha256(settings.encode()).hexdigest()[:16],
            "code": made_by["code"],
            "packages": made_by["packages"],
        },
    }
    write_text(output, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
