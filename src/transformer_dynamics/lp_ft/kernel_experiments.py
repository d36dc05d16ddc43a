"""Experiments at the start of fine-tuning: explicit kernels, and heads by direction and norm."""

from collections.abc import Sequence

from replication.study.contract import Experiment, Job
from transformer_dynamics.lp_ft.kernel_settings import (
    HeadControlJob,
    KernelJob,
    MeasureHeadControl,
    MeasureKernels,
    Regression,
    RegressionJob,
)

KERNEL_METRICS = (
    "kernel_sizes", "kernel_spectra", "kernel_blocks", "ft_ratio", "adapters",
)  # fmt: skip
"""Tables of kernels besides their regression and their fingerprint."""


def kernel_experiment(
    job: KernelJob, regression: Regression, seeds: Sequence[int], data: dict[str, Job]
) -> Experiment:
    """Kernels of one set of texts.

    Args:
        job: what is computed.
        regression: how kernels are fitted.
        seeds: one job each.
        data: tokens, features and the encoder by name, in the order in which they are read.
    """
    # Gradients, their sums for every drawn A, and what PyTorch and the encoder take.
    memory = 2 * job.megabytes + 2000
    measured = MeasureKernels(runs=job)
    metrics = {name: Job(f"measures.{name}", measured) for name in KERNEL_METRICS}
    metrics["kernel_regression"] = Job(
        "measures.kernel_regression",
        RegressionJob(runs=job, **dict(regression)),
        minutes=240,
    )
    return Experiment(
        data=data,
        runs={
            str(seed): Job("kernels", job, (seed,), tuple(data), memory=memory, minutes=600)
            for seed in seeds
        },
        metrics=metrics | {"fingerprint": Job("measures.kernel_fingerprint", measured)},
    )


def head_control_experiment(
    job: HeadControlJob, seeds: Sequence[int], data: dict[str, Job]
) -> Experiment:
    """Heads by direction and norm on one set of texts.

    Args:
        job: what is computed.
        seeds: one job each.
        data: tokens, features and the encoder by name, in the order in which they are read.
    """
    measured = MeasureHeadControl(runs=job)
    return Experiment(
        data=data,
        runs={
            str(seed): Job("head_control", job, (seed,), tuple(data), memory=3000, minutes=240)
            for seed in seeds
        },
        metrics={
            "head_control": Job("measures.head_control", measured),
            "fingerprint": Job("measures.head_control_fingerprint", measured),
        },
    )
