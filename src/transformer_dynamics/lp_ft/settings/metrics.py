"""Settings of metrics: numbers that all experiments share, and the job of every metric."""

from typing import Annotated

from pydantic import Field

from replication.base.strict import Count, Positive, Strict
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.lp_ft.settings.runs import RunJob
from transformer_dynamics.lp_ft.settings.start import HeadControlJob, KernelJob, Regression


class Metrics(Strict):
    """Numbers of metrics and claims, in all experiments."""

    ridge: Positive
    """Ridge of FDR, over the mean eigenvalue of the scatter within classes."""
    bins: Count
    """Number of bins of confidence, for calibration errors."""
    resamples: Count
    """Number of bootstrap samples of the test samples, for the interval of MCE."""
    rank_tolerance: Annotated[float, Field(gt=0, lt=1)]
    """Least singular value of kernels that counts, over the largest."""
    long_probe: Annotated[float, Field(gt=1)]
    """Least ratio of ||V||, probe over random head, that makes a probe long."""


class MetricJob(Strict):
    """One metric of all runs of an experiment."""

    runs: dict[str, RunJob]
    """Jobs of the runs; the name of a run is one of these keys, a hyphen and its seed."""
    sets: list[TextName]
    """Sets whose tokens and test features are given, in this order."""


class FeatureMetricJob(MetricJob):
    """Statistics of features."""

    ridge: Positive
    """Ridge of FDR."""


class CalibrationMetricJob(MetricJob):
    """Calibration errors."""

    bins: Count
    """Number of bins of confidence."""
    resamples: Count
    """Number of bootstrap samples for the interval of MCE."""


class TsneMetricJob(MetricJob):
    """Features and heads of one set in the plane."""

    texts: TextName
    """Set whose test samples are shown."""
    perplexity: Positive
    """About how many neighbours a sample has."""


class KernelMetricJob(Strict):
    """One table of all kernels."""

    runs: KernelJob
    """Job of the kernels."""


class SpectrumMetricJob(KernelMetricJob):
    """One table of singular values of kernels."""

    rank_tolerance: Positive
    """Least singular value that counts, over the largest."""


class RegressionMetricJob(Regression):
    """Table of kernel regression."""

    runs: KernelJob
    """Job of the kernels."""


class HeadMetricJob(Strict):
    """Table of FT ratios of heads."""

    runs: HeadControlJob
    """Job of the heads."""
    long_probe: Positive
    """Least ratio of norms, over the random head's, that makes a probe long for claims."""


class StartFingerprintJob(Strict):
    """Fingerprint of kernels or of heads."""

    runs: KernelJob | HeadControlJob
    """Job of the kernels or heads."""
