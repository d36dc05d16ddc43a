"""The evidence of a claim, as the workflow makes it from its tables."""

from importlib import import_module

from replication.study.vocabulary import contrast, stack


def evidence_of(study, claim, *tables, **uses):
    """What the claim's function and the words of its row make of tables."""
    row = claim.evidence
    module, _, name = (row.table or "").partition(".")
    folder = f"{study.package}.claims"
    measure = getattr(import_module(f"{folder}.{module}"), name) if row.table else stack
    return contrast(row, measure(*tables, **uses, **row.given))
