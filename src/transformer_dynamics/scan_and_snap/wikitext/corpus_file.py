"""The file of a numbered corpus."""

from pathlib import Path

from transformer_dynamics.scan_and_snap.wikitext.settings import TokenJob
from transformer_dynamics.scan_and_snap.wikitext.tokens import Corpus
from transformer_dynamics.storage import read_arrays


def read_corpus(path: Path, job: TokenJob) -> Corpus:
    """Read what `stages.tokenise` wrote; errors as in `read_arrays`."""
    arrays = read_arrays(path, job.provenance())
    return Corpus(**arrays | {"words": arrays["words"].tolist()})
