"""The paper's settings: the defaults of this paper's section of the configuration."""

from transformer_dynamics.scan_and_snap.config import (
    Experiment,
    SamplingChange,
    ScanAndSnap,
    SeedRange,
    Sensitivity,
    TrainingChange,
    Variant,
)
from transformer_dynamics.scan_and_snap.experiments import Mixture, Sampling, Thresholds, Training
from transformer_dynamics.scan_and_snap.figure_settings import (
    Errata,
    Fig1,
    Fig2,
    Fig3,
    Fig4,
    Fig5,
    Fig6,
    Fig8,
    Fig8Panel,
    Fig9,
    Fig9Panel,
    Fig11,
    Fig12,
    PhaseTransition,
    SensitivityTable,
    TheoryVsTraining,
)

_DISTINCT_WEIGHTS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
_FIRST_UPDATES = [0, 2, 4, 6, 8, 10, 48]
_SAMPLING = Sampling(stream="authors", steps=100, batch_size=128, sequence_length=128)
_INDEPENDENT = _SAMPLING.model_copy(update={"stream": "independent"})
_GROWING_STEPS = sorted({round(1.06**power) for power in range(110)} | {0})
_TEN_SEEDS = SeedRange(first=1, count=10)
_SWEEP = Training(
    optimizer="sgd",
    momentum=0.9,
    eta_z=[0.5, 1.0, 2.0, 3.0],
    ratio=[1.0, 2.0, 5.0, 10.0],
    initialization="uniform",
)
_RECALL_THRESHOLDS = {
    "syn_medium_1": Thresholds(first=0.028, last=0.038, count=11),
    "syn_medium_3": Thresholds(first=0.012, last=0.016, count=11),
    "syn_medium_5": Thresholds(first=0.0075, last=0.0105, count=11),
    "syn_medium_10": Thresholds(first=0.004, last=0.0053, count=11),
}
_RATES = [0.5, 1.0, 2.0, 4.0, 8.0]


def _mixture(num_last: int, next_tokens_per_query: int) -> Mixture:
    return Mixture(
        num_last=num_last,
        next_tokens_per_query=next_tokens_per_query,
        common_weights=[1.0] * 10,
        distinct_weights=_DISTINCT_WEIGHTS,
    )


PAPER = ScanAndSnap(
    mixtures={
        "syn_small": _mixture(2, 1),
        "syn_medium_1": _mixture(1, 2),
        "syn_medium_3": _mixture(3, 2),
        "syn_medium_5": _mixture(5, 2),
        "syn_medium_10": _mixture(10, 2),
        # K and M apart: the K of syn_medium_1 with the M of syn_medium_5, and the other way about.
        "two_wide_classes": Mixture(
            num_last=1,
            next_tokens_per_query=2,
            common_weights=[1.0] * 10,
            distinct_weights=[round(0.1 + 0.9 * i / 55, 3) for i in range(56)],
        ),
        "ten_narrow_classes": Mixture(
            num_last=5,
            next_tokens_per_query=2,
            common_weights=[1.0] * 8,
            distinct_weights=[1.0],
        ),
    },
    experiments={
        "syn_small_sgd": Experiment(
            mixtures=["syn_small"],
            seeds=[2],
            sampling=_SAMPLING,
            training=Training(
                optimizer="sgd",
                momentum=0.9,
                eta_z=[1.0],
                ratio=[1.0, 10.0],
                initialization="zero",
                recorded=_FIRST_UPDATES,
            ),
        ),
        "syn_small_adam": Experiment(
            mixtures=["syn_small"],
            seeds=[2],
            sampling=_SAMPLING,
            training=Training(
                optimizer="adam",
                eta_z=[0.1, 0.5, 1.0],
                ratio=[1.0],
                initialization="zero",
                recorded=_FIRST_UPDATES,
            ),
        ),
        "four_stages": Experiment(
            mixtures=["syn_medium_1"],
            seeds=[1],
            sampling=_INDEPENDENT.model_copy(update={"steps": 163}),
            training=Training(
                optimizer="sgd",
                momentum=0,
                eta_z=[1.0],
                ratio=[0.5],
                initialization="zero",
                recorded=[0, 14, 41],
            ),
        ),
        "theory_comparison": Experiment(
            mixtures=["syn_medium_1"],
            seeds=_TEN_SEEDS,
            sampling=_INDEPENDENT.model_copy(update={"steps": 500}),
            training=Training(
                optimizer="sgd",
                momentum=0,
                eta_z=[0.2],
                ratio=[1.0, 3.0, 10.0],
                initialization="zero",
                recorded=[*range(0, 40, 2), *range(40, 120, 5), *range(120, 500, 20)],
            ),
        ),
        "phase_transition": Experiment(
            mixtures=[
                "syn_medium_1",
                "syn_medium_3",
                "syn_medium_5",
                "syn_medium_10",
                "two_wide_classes",
                "ten_narrow_classes",
            ],
            seeds=_TEN_SEEDS,
            sampling=_INDEPENDENT.model_copy(update={"steps": 600, "sequence_length": 2048}),
            training=Training(
                optimizer="sgd",
                momentum=0,
                eta_z=[0.5],
                ratio=[1.0, 2.0, 4.0],
                initialization="zero",
                recorded=_GROWING_STEPS,
            ),
        ),
        "long_training": Experiment(
            mixtures=["syn_medium_5"],
            seeds=_TEN_SEEDS,
            sampling=_SAMPLING.model_copy(update={"steps": 1000}),
            training=Training(
                optimizer="sgd",
                momentum=0.9,
                eta_z=[0.5, 1.0, 3.0],
                ratio=[1.0, 2.0, 5.0, 10.0],
                initialization="uniform",
                recorded=[50, 100, 200, 300, 500, 700],
            ),
        ),
        "syn_medium": Experiment(
            mixtures=["syn_medium_1", "syn_medium_3", "syn_medium_5", "syn_medium_10"],
            seeds=_TEN_SEEDS,
            sampling=_SAMPLING,
            training=_SWEEP,
            recall_thresholds=_RECALL_THRESHOLDS,
        ),
        "fig4_replication": Experiment(
            mixtures=["syn_small"],
            seeds=_TEN_SEEDS,
            sampling=_INDEPENDENT,
            training=Training(
                optimizer="sgd",
                momentum=0.9,
                eta_z=[1.0],
                ratio=[1.0, 10.0],
                initialization="zero",
                recorded=[0],
            ),
        ),
        "fig5_replication": Experiment(
            mixtures=["syn_small"],
            seeds=_TEN_SEEDS,
            sampling=_INDEPENDENT,
            training=Training(
                optimizer="adam",
                momentum=0,
                eta_z=[0.1, 0.5, 1.0],
                ratio=[1.0],
                initialization="zero",
                recorded=[0],
            ),
        ),
        "fig6_replication": Experiment(
            mixtures=["syn_medium_1", "syn_medium_3", "syn_medium_5", "syn_medium_10"],
            seeds=_TEN_SEEDS,
            sampling=_INDEPENDENT,
            training=_SWEEP,
            recall_thresholds=_RECALL_THRESHOLDS,
        ),
        "random_start": Experiment(
            mixtures=["syn_medium_5"],
            seeds=_TEN_SEEDS,
            sampling=_INDEPENDENT,
            training=Training(
                optimizer="sgd",
                momentum=0.9,
                eta_z=[1.0],
                ratio=[2.0, 10.0],
                initialization="uniform",
                recorded=[0],
            ),
        ),
    },
    sensitivity=Sensitivity(
        experiments=["fig4_replication", "fig5_replication", "fig6_replication"],
        seeds=SeedRange(first=101, count=100),
        variants={
            "zero_start": Variant(
                title="zero start", training=TrainingChange(initialization="zero")
            ),
            "random_start": Variant(
                title="random start", training=TrainingChange(initialization="uniform")
            ),
            "no_momentum": Variant(title="no momentum", training=TrainingChange(momentum=0)),
            "updates_1000": Variant(title="1,000 updates", sampling=SamplingChange(steps=1000)),
            "length_1024": Variant(
                title="T = 1,024", sampling=SamplingChange(sequence_length=1024)
            ),
            "batch_16": Variant(title="batches of 16", sampling=SamplingChange(batch_size=16)),
            "batch_512": Variant(title="batches of 512", sampling=SamplingChange(batch_size=512)),
            "query_among_keys": Variant(
                title="query among keys", training=TrainingChange(query_among_keys=True)
            ),
            "residual": Variant(title="residual", training=TrainingChange(residual=True)),
        },
    ),
    figures={
        "fig1": Fig1(drawing="fig1", mixture="syn_small"),
        "fig2": Fig2(drawing="fig2", experiment="four_stages", seed=1, sequence_class=1),
        "fig3": Fig3(
            drawing="fig3",
            num_classes=10,
            vocabulary_size=1000,
            eta_z=0.5,
            eta_y=[0.5, 1.0, 2.0, 5.0],
            c0=0.00625,
            last_time=700,
        ),
        "fig4": Fig4(
            drawing="fig4",
            experiment="syn_small_sgd",
            seed=2,
            iterations=_FIRST_UPDATES,
            boundaries=[10, 20],
            sequence_classes=[1, 2],
        ),
        "fig5": Fig5(
            drawing="fig5",
            experiment="syn_small_adam",
            seed=2,
            iterations=_FIRST_UPDATES,
            boundaries=[10],
            sequence_class=1,
        ),
        "fig6": Fig6(
            drawing="fig6",
            experiment="syn_medium",
            published="papers/scan_and_snap/fig6_published.csv",
        ),
        "fig8": Fig8(
            drawing="fig8",
            panels=[
                Fig8Panel(vocabulary_size=50, eta_y=[0.1, 0.2, 0.5, 1.0, 2.0], last_step=80),
                Fig8Panel(vocabulary_size=1000, eta_y=[0.2, 0.5, 1.0, 2.0, 4.0], last_step=70),
            ],
        ),
        "fig9": Fig9(
            drawing="fig9",
            num_classes=1,
            c0=1,
            panels=[
                Fig9Panel(vocabulary_size=100, nu=10, eta_z=_RATES, last_time=5),
                Fig9Panel(vocabulary_size=10000, nu=1, eta_z=_RATES, last_time=50),
            ],
        ),
        "fig11": Fig11(drawing="fig11", experiment="syn_medium"),
        "fig12": Fig12(drawing="fig12", experiment="syn_medium"),
        "theory_vs_training": TheoryVsTraining(
            drawing="theory_vs_training", experiment="theory_comparison"
        ),
        "phase_transition": PhaseTransition(
            drawing="phase_transition", experiment="phase_transition"
        ),
        "errata": Errata(
            drawing="errata",
            experiment="long_training",
            num_classes=10,
            vocabulary_size=1000,
            correlations=[0.1, 0.5],
            passes=25,
            num_last=[1, 3, 5, 10],
            eta_z=1.0,
        ),
        "sensitivity": SensitivityTable(drawing="sensitivity"),
    },
)
