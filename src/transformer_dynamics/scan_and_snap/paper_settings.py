"""The paper's settings: the defaults of this paper's section of the configuration."""

from transformer_dynamics.scan_and_snap.config import Experiment, ScanAndSnap, SeedRange
from transformer_dynamics.scan_and_snap.experiments import Mixture, Sampling, Thresholds, Training
from transformer_dynamics.scan_and_snap.figure_settings import Fig4, Fig5, Fig6, Fig11, Fig12

_DISTINCT_WEIGHTS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
_FIRST_UPDATES = [0, 2, 4, 6, 8, 10, 48]
_SAMPLING = Sampling(stream="authors", steps=100, batch_size=128, sequence_length=128)


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
        "syn_medium": Experiment(
            mixtures=["syn_medium_1", "syn_medium_3", "syn_medium_5", "syn_medium_10"],
            seeds=SeedRange(first=1, count=10),
            sampling=_SAMPLING,
            training=Training(
                optimizer="sgd",
                momentum=0.9,
                eta_z=[0.5, 1.0, 2.0, 3.0],
                ratio=[1.0, 2.0, 5.0, 10.0],
                initialization="uniform",
            ),
            recall_thresholds={
                "syn_medium_1": Thresholds(first=0.028, last=0.038, count=11),
                "syn_medium_3": Thresholds(first=0.012, last=0.016, count=11),
                "syn_medium_5": Thresholds(first=0.0075, last=0.0105, count=11),
                "syn_medium_10": Thresholds(first=0.004, last=0.0053, count=11),
            },
        ),
    },
    figures={
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
        "fig11": Fig11(drawing="fig11", experiment="syn_medium"),
        "fig12": Fig12(drawing="fig12", experiment="syn_medium"),
    },
)
