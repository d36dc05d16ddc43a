"""Metrics of all runs of an experiment.

The name of a run is the name of one of these jobs, a hyphen and the seeds of the run.
"""

from replication.base.strict import Count, Strict
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.gradient_heterogeneity.settings.heads import HeadsJob
from transformer_dynamics.gradient_heterogeneity.settings.measuring import MeasuredJob, PairJob
from transformer_dynamics.gradient_heterogeneity.settings.training import Limit, RunJob


class MetricJob(Strict):
    """A metric of trained networks."""

    runs: dict[str, RunJob]
    """Jobs of the runs by name."""


class EndpointMetricJob(MetricJob):
    """The metric of losses at the end."""

    parts: Count
    """Number of equal parts of all batches; the mean loss of the last part is the training loss."""


class CoordinatesMetricJob(MetricJob):
    """The metric of gradients and curvature in coordinates of blocks."""

    limit: Limit
    """Largest rate of a block by curvature, in units of the median block's."""


class HeadsMetricJob(Strict):
    """A metric of heads on features that stay."""

    runs: dict[str, HeadsJob]
    """Jobs of the runs by name; a name has no hyphen."""

    @property
    def texts(self) -> tuple[TextName, ...]:
        """Names of the sets that heads are trained on, each once."""
        return tuple(dict.fromkeys(job.texts for job in self.runs.values()))


class MeasuredMetricJob(Strict):
    """A metric of measured networks."""

    runs: dict[str, MeasuredJob | PairJob]
    """Jobs of the runs by name."""


class FingerprintJob(Strict):
    """The metric that tells runs of any kind apart."""

    runs: dict[str, RunJob | HeadsJob | MeasuredJob | PairJob]
    """Jobs of the runs by name."""
