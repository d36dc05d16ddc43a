"""Verdicts on claims as the registry declares them."""

from conftest import DEFAULTS, STUDIES
from evidence_of_claims import evidence_of

from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.study.registry import read_registry

STUDY = STUDIES["recurrent_attention"]
SETTINGS = DEFAULTS.section(STUDY.name)
CLAIMS = {claim.id: claim for claim in read_registry(STUDY.folder / "registry.yaml").claims}


def verdict(number: str, evidence) -> str:
    """What a claim's test says of evidence, in a family of its own."""
    return judge([Judged(number, CLAIMS[number].test, evidence)])[number].verdict


def verdict_in(number: str, world) -> str:
    """The same of the tables that the registry names, by experiment and metric in a world."""
    return verdict_on(
        number, *(world[item.experiment, item.metric] for item in CLAIMS[number].data)
    )


def verdict_on(number: str, *measured) -> str:
    """The same of what the claim's row makes of tables, and of settings of the defaults."""
    return verdict(number, evidence(number, *measured))


def evidence(number: str, *measured):
    """What the claim's row makes of tables, and of settings of the defaults."""
    uses = {key: getattr(SETTINGS, key) for key in CLAIMS[number].uses}
    return evidence_of(STUDY, CLAIMS[number], *measured, **uses)
