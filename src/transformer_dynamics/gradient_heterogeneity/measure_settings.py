"""What a metric is given."""

from replication.base.strict import Count, Strict
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.gradient_heterogeneity.head_settings import HeadsJob
from transformer_dynamics.gradient_heterogeneity.run_settings import Limit, RunJob


class MeasureJob(Strict):
    """One metric of all runs of an experiment."""

    runs: dict[str, RunJob]
    """What they were made by; the name of a run is one of these, a hyphen and its seed."""


class MeasureEndpoint(MeasureJob):
    """Losses in the end."""

    parts: Count
    """Of all batches; the mean loss of the last part is the training loss."""


class MeasureCoordinates(MeasureJob):
    """What coordinates make of gradients and curvature."""

    limit: Limit
    """How far a rate by curvature may be above that of the median block."""


class MeasureHeads(Strict):
    """One metric of all heads on features that stay."""

    runs: dict[str, HeadsJob]
    """What they were made by; the name of a run is one of these, a hyphen and its seeds. A name
    has no hyphen itself."""

    @property
    def texts(self) -> tuple[TextName, ...]:
        """The sets that they are trained on, each once."""
        return tuple(dict.fromkeys(job.texts for job in self.runs.values()))
