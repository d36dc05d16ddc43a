"""Verdicts on claims as the registry declares them."""

from importlib import import_module
from pathlib import Path

from replication.documents import read_yaml
from replication.registry import Claim
from replication.verification.judgement import Judged, judge
from transformer_dynamics import recurrent_attention

FOLDER = Path(str(recurrent_attention.__file__)).parent
MEASURES = "transformer_dynamics.recurrent_attention.claims"


def registered(number: str) -> Claim:
    (found,) = (
        claim
        for path in FOLDER.glob("registry*.yaml")
        for claim in read_yaml(path)["claims"]
        if claim["id"] == number
    )
    return Claim(**found)


def verdict_on(number: str, *measured) -> str:
    """What a claim's test says of tables, in a family of its own."""
    claim = registered(number)
    module, name = claim.measure.split(".")
    evidence = getattr(import_module(f"{MEASURES}.{module}"), name)(*measured)
    return judge([Judged(number, claim.test, evidence)])[number].verdict
