"""What is refused of the settings, and in which words."""

import pytest
from conftest import changed

from replication.base.errors import InputError
from replication.plan.configuration import configuration_type
from replication.study.studies import find_studies

TYPE = configuration_type(find_studies())
EXPERIMENT = "scan_and_snap.experiments.syn_medium"
ADAM, MEASURES = "scan_and_snap.experiments.syn_small_adam.training.adam", "scan_and_snap.metrics"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("scan_and_snap.experimnts", {}, "unknown key 'experimnts'; did you mean 'experiments'?"),
        (f"{EXPERIMENT}.training.eta_zz", [1], "unknown key 'eta_zz'; did you mean 'eta_z'?"),
        (f"{EXPERIMENT}.nonsense", 1, "unknown key 'nonsense'; known keys: mixtures, seeds"),
        (f"{EXPERIMENT}.training.eta_z", [0.5, -1], "greater than 0 (given: -1)"),
        (f"{EXPERIMENT}.training.eta_z", [0.5, 0.5], "0.5 is repeated"),
        (f"{EXPERIMENT}.training.ratio", [], "should have at least 1"),
        (f"{EXPERIMENT}.training.momentum", 1, "less than 1"),
        (f"{EXPERIMENT}.training.recorded", [101], "training.recorded asks for update 101"),
        (f"{EXPERIMENT}.training.optimizer", "adam", "optimizer adam needs the key adam: {beta_1,"),
        (f"{ADAM}.beta_1", 1, "less than 1 (given: 1)"),
        (f"{ADAM}.beta_2", -0.1, "greater than or equal to 0 (given: -0.1)"),
        (f"{ADAM}.epsilon", 0, "greater than or equal to 0.000000000001 (given: 0)"),
        (f"{MEASURES}.small_error.updates", 0, "greater than or equal to 1 (given: 0)"),
        (f"{MEASURES}.small_error.largest", 0, "greater than 0 (given: 0)"),
        (f"{MEASURES}.learnt", 1, "greater than 1 (given: 1)"),
        (f"{MEASURES}.parts", 0, "greater than or equal to 1 (given: 0)"),
        (f"{MEASURES}.turn.slope", 1, "greater than or equal to 1.05 (given: 1)"),
        (f"{MEASURES}.turn.parabola", 4, "less than or equal to 3 (given: 4)"),
        (f"{MEASURES}.least_t_0", 0, "greater than 0 (given: 0)"),
        (f"{EXPERIMENT}.seeds", [], "should have at least 1"),
        (f"{EXPERIMENT}.seeds", [1, 2, 1], "1 is repeated"),
        (f"{EXPERIMENT}.seeds", {"first": 1, "count": 0}, "greater than or equal to 1"),
        (f"{EXPERIMENT}.sampling.stream", "author", "'authors' or 'independent'"),
        (f"{EXPERIMENT}.sampling.sequence_length", 1, "greater than or equal to 2"),
        (
            "scan_and_snap.experiments.syn_small_sgd.mixtures",
            ["syn_smal"],
            "unknown key 'syn_smal'; did you mean 'syn_small'?",
        ),
        (f"{EXPERIMENT}.recall_thresholds", {}, "has no recall_thresholds for 'syn_medium_1'"),
        (
            f"{EXPERIMENT}.recall_thresholds.syn_medum",
            {"first": 0.1, "last": 0.2, "count": 3},
            "unknown key 'syn_medum'; did you mean 'syn_medium",
        ),
        (f"{EXPERIMENT}.seeds", [True, 2], "seeds > list > 0: Input should be a valid integer"),
        (f"{EXPERIMENT}.seeds", {"first": 2**32 - 4, "count": 8}, "first: Input should be less"),
        ("scan_and_snap.mixtures.syn_small.distinct_weights", [1e-300, 1e300], "vanishes"),
        ("scan_and_snap.figures.fig6.kind", "fig66", "Input tag 'fig66' found using 'kind'"),
        ("scan_and_snap.figures.new", {"experiment": "syn_medium"}, "key 'kind' is missing"),
        (
            "scan_and_snap.figures.fig6.next_tokens_per_query",
            3,
            "fig6 > next_tokens_per_query to 2",
        ),
        ("scan_and_snap.figures.findings.eta_z", 7, "has no eta_z 7"),
        (
            f"{EXPERIMENT}.recall_thresholds.syn_medium_1",
            {"first": 0.2, "last": 0.1, "count": 3},
            "last (0.1) must be above first (0.2)",
        ),
        ("scan_and_snap.mixtures.syn_small.num_last", 0, "greater than or equal to 1"),
        ("scan_and_snap.mixtures.syn_small.distinct_weights", [], "should have at least 1"),
        ("scan_and_snap.mixtures.syn_small.distinct_weights", [0, 1], "greater than 0"),
        ("scan_and_snap.mixtures.syn_small.distinct_weights", [float("nan")], "finite number"),
        ("scan_and_snap.mixtures.syn_small.distinct_weights", [1e308, 1e308], "sum overflows"),
        (
            "scan_and_snap.mixtures.syn_medium_3.common_weights",
            [1.0] * 9,
            "stream 'authors' is not defined for mixture 'syn_medium_3'",
        ),
        ("scan_and_snap.figures.fig4.seed", 7, "has no seed 7"),
        ("scan_and_snap.figures.fig4.iterations", [0, 3], "does not record update 3"),
        ("scan_and_snap.figures.fig4.sequence_classes", [3], "sequence_classes to 2 at most"),
        ("scan_and_snap.experiments.syn_small_adam.training.ratio", [2], "training > ratio: [1]"),
        ("scan_and_snap.mixtures.syn_medium_10.num_last", 1, "each num_last, whatever"),
        ("scan_and_snap.figures.fig1.num_classes", 7, "set num_classes to 6 at most"),
        ("scan_and_snap.figures.fig4.iterations", [0, 101], "leave 101 out of figures > fig4"),
        ("scan_and_snap.figures.fig4.experiment", "syn_medium", "with one mixture"),
    ],
)
def test_wrong_value_is_named(path, value, message):
    with pytest.raises(InputError) as error:
        TYPE.parse(changed(path, value), "configuration")
    assert message in error.value.message
    assert error.value.message.startswith("configuration: ")


def test_no_next_tokens_per_query_is_advised_where_none_fits():
    data = changed("scan_and_snap.mixtures.syn_medium_10.next_tokens_per_query", 1)
    with pytest.raises(InputError) as error:
        TYPE.parse(data, "configuration")
    assert "1 and 2 next tokens per query" in error.value.message
    assert "give the others an experiment and a figure of their own" in error.value.message
    assert "set figures" not in error.value.message


def test_message_names_the_path_of_keys():
    with pytest.raises(InputError, match="scan_and_snap > mixtures > syn_small > num_last: "):
        TYPE.parse(changed("scan_and_snap.mixtures.syn_small.num_last", 0), "x")


def test_an_experiment_may_leave_mixtures_out():
    data = changed(f"{EXPERIMENT}.mixtures", ["syn_medium_1"])
    job = TYPE.parse(data, "x").scan_and_snap.metric_job("syn_medium", "recall", "cpu")
    assert list(job.recall_thresholds) == ["syn_medium_1"]


def test_any_mixture_can_be_written():
    data = changed(
        "scan_and_snap.mixtures.own",
        {
            "num_last": 4,
            "next_tokens_per_query": 3,
            "common_weights": [],
            "distinct_weights": [2, 1, 5],
        },
    )
    mixture = TYPE.parse(data, "x").scan_and_snap.mixtures["own"]
    assert (mixture.num_classes, mixture.vocabulary_size) == (12, 36 + 4 + 12)
