"""Whatever stands in an overlay: it is refused in words, before anything runs."""

import importlib
import resource
import shutil
from functools import wraps
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import torch
from click.testing import CliRunner
from conftest import JOBS, ROOT, STUDIES

from replication.base.errors import InputError
from replication.plan.configuration import configure, read_overlay
from replication.plan.jobs import Jobs
from replication.plan.steps import StepsFile
from replication.run import program as run
from replication.study.published_tables import check_published_table
from replication.study.studies import Study

EXAMPLE = {"example": STUDIES["example"]}
RUN = "example: {experiments: {printed: {%s}}}"
TRAIN = RUN % "training: {%s}"
PROBLEM = TRAIN % "problem: {%s}"
NEW = (
    "example: {experiments: {%s: {seeds: {first: 1, count: 1}, training: {learning_rate: 0.1,"
    " updates: 3, problem: {variances: [2, 1], samples: 3, noise: 0}}}}}"
)
FIGURE = "example: {figures: {%s}}"
OWN = (
    "example: {claims: {U1: {statement: S, quantity: Q, expected: E, why: W,"
    " evidence: learning.last_over_first, data: [{experiment: printed, metric: half_life}],"
    " test: {kind: interval, lower: 1}, %s}}}"
)
COMPUTED = (
    "scan_and_snap: {claims: {U1: {statement: S, quantity: Q, expected: E, why: W,"
    " test: {kind: bounds, lower: 1}, evidence: %s}}}"
)
PUBLISHED = FIGURE % "fig1: {published: %s}"
SWEEP = "scan_and_snap: {experiments: {syn_medium: {%s}}}"
RATES = SWEEP % "training: {%s}"
RECORDED = "scan_and_snap: {experiments: {%s: {training: {recorded: %s}}}}"
MIXTURE = "scan_and_snap: {mixtures: {syn_small: {%s}}}"
DRAWN = "scan_and_snap: {figures: {%s}}"
VARIANT = "scan_and_snap: {sensitivity: {variants: {%s}}}"
READING = "scan_and_snap_text: {variants: {%s}}"
TEXT = "scan_and_snap_text: {experiments: {wikitext_maps: {%s}}}"
BOMB = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i + 1}: &a{i + 1} {{p: *a{i}, q: *a{i}, r: *a{i}}}\n" for i in range(30)
)
OVERLAYS = {
    # No YAML, or none that means what it looks like
    "": "my.yaml: has no sections",
    "- a": "my.yaml: has no sections",
    "a: [1": "my.yaml: cannot be read (while parsing a flow sequence",
    "a: b: c": "my.yaml: cannot be read (mapping values are not allowed",
    "\ta: 1": "my.yaml: cannot be read (while scanning",
    "a: \x80": "my.yaml: cannot be read (unacceptable character",
    "a: 1\na: 2": "my.yaml: cannot be read (the key a stands twice in the mapping of line 1)",
    "a: !!python/object/apply:os.system ['touch executed']": "tag:yaml.org,2002:python/object",
    "a: !!python/name:os.system": "tag:yaml.org,2002:python/name",
    "a: !include x": "could not determine a constructor for the tag '!include'",
    "{? [a] : 1}": "found unhashable key",
    BOMB: "unknown key 'a0'",
    f"a: {'[' * 2000}{']' * 2000}": "my.yaml: cannot be read (maximum recursion depth",
    f"a: {'{a: ' * 300}1{'}' * 300}": "my.yaml: cannot be read (maximum recursion depth",
    TRAIN % "updates: 1:30": "training > updates: Input should be a valid integer",
    TRAIN % f"updates: {'9' * 5000}": "my.yaml: cannot be read (Exceeds the limit",
    # Types
    "example: 3": "example: Input should be a valid dictionary or instance of",
    "example: null": "example: Input should be a valid dictionary or instance of",
    "example: []": "example: Input should be a valid dictionary or instance of",
    "computation: {device: CPU}": "computation > device: Input should be 'cpu' or 'cuda'",
    "computation: {seeds_per_job: '5'}": "computation > seeds_per_job: Input should be a valid int",
    RUN % "seeds: 5": "printed > seeds: Input should be a valid dictionary",
    RUN % "seeds: {first: '1'}": "printed > seeds > first: Input should be a valid integer",
    TRAIN % "learning_rate: [0.1]": "training > learning_rate: Input should be a valid number",
    TRAIN % "learning_rate: .nan": "training > learning_rate: Input should be a finite number",
    TRAIN % "learning_rate: 1e400": "training > learning_rate: Input should be a finite number",
    TRAIN % "updates: 2020-01-01": "training > updates: Input should be a valid integer",
    TRAIN % "updates: 1.5": "training > updates: Input should be a valid integer",
    TRAIN % "no: 2": "training: unknown key 'no'",
    PROBLEM % "variances: {a: 1}": "problem > variances: Input should be a valid list",
    PROBLEM % "variances: [1, -1]": "problem > variances > 1: Input should be greater than 0",
    PROBLEM % f"variances: [{'x, ' * 1000}1]": "and 990 more",
    PROBLEM % "variances: [1, 1.0]": "problem > variances: every value may stand only once, but 1",
    PROBLEM % "variances: [1, 2]": "problem > variances: the largest stands first, the smallest",
    RATES % "residual: yes": "training > residual: Input should be a valid boolean",
    RATES % "residual: 1": "training > residual: Input should be a valid boolean",
    RATES % "eta_z: [1, 1.0]": "training > eta_z: every value may stand only once",
    RATES % "eta_y: [1]": "training: unknown key 'eta_y'; set ratio, as eta_Y = ratio x eta_Z",
    # Sizes
    RUN % "seeds: {count: 100000000000}": "printed > seeds > count: Input should be less than",
    SWEEP % "sampling: {steps: 1000000000000000}": "syn_medium: makes more than 1,000,000,000",
    SWEEP % "sampling: {batch_size: 100000000000}": "lower sampling > steps, batch_size",
    SWEEP % "seeds: {count: 1000000}": "lower training > recorded, eta_z or ratio, or the seeds",
    "computation: {seeds_per_job: 1000000}\n" + SWEEP
    % "seeds: {count: 1000000}": "lower computation.seeds_per_job, or sampling > steps or batch",
    MIXTURE % "num_last: 1000000000": "mixtures > syn_small: K M, classes times tokens",
    "scan_and_snap: {sensitivity: {variants: {batch_16: {sampling: {batch_size: 1000000000000}}}}}":
        "experiments > fig4_replication, as variant batch_16: makes more than",
    DRAWN % "fig3: {points: 1000000000}": "figures > fig3 > points: Input should be less than",
    TEXT % "training: {updates: 1000000000000000}": "lower training > updates",
    TEXT % "models: {one_layer: {layers: 1000000000}}": "lower models > one_layer > layers",
    TEXT % "evaluation: {batch_size: 1000000000}": "lower evaluation > batch_size",
    # Names
    NEW % "../../etc": "'results/example/data/../../etc/1.npz' cannot be made",
    NEW % "/tmp/x": "'results/example/data//tmp/x/1.npz' cannot be made",
    NEW % "'$(touch executed)'": "/$(touch executed)/1.npz' cannot be made",
    NEW % "a;b": "/a;b/1.npz' cannot be made",
    NEW % "'{x}'": "/{x}/1.npz' cannot be made",
    NEW % "'{{ 7*7 }}'": "/{{ 7*7 }}/1.npz' cannot be made",
    NEW % "''": "'results/example/data//1.npz' cannot be made",
    NEW % "ünï": "/ünï/1.npz' cannot be made",
    NEW % '"a\\nb"': r"/a\nb/1.npz' cannot be made",
    NEW % ("xy" * 150): "xy...: a name has at most 80 characters",
    NEW % "PRINTED": "cannot be told from results/example/metrics/printed/error.parquet",
    FIGURE % "'x{kind}': {kind: fig1, experiment: printed}": (
        "figures > x{kind} > [key]: String should match"
    ),
    FIGURE % "FIG1: {kind: fig1, experiment: printed}": "cannot be told from figures/example/",
    FIGURE % f"{'n' * 30}: {{kind: fig1, experiment: printed}}": "a name has at most 80",
    DRAWN % "fig7: {kind: fig6, experiment: syn_medium}": "cannot be told from figures/fig7.csv",
    "scan_and_snap_text: {corpora: {wikitext2: {folder: '/x{y}'}}}": "the path '/x{y}/wiki.train",
    '"\\e[31m": {}': r"unknown key '\x1b[31m'",
    # Figures
    FIGURE % "x: {}": "figures: unknown figure 'x'; known figures: ",
    FIGURE % "x: {kind: fig1, experiment: ''}": "figures > x: experiment: unknown key ''",
    DRAWN % "x: {kind: heatmap}": "Input tag 'heatmap' found using 'kind' does not match any",
    DRAWN % "x: {kind: fig12, experiment: random_start}":
        "add experiments > random_start > recall_thresholds > syn_medium_5: {first: ",
    DRAWN % "x: {kind: fig12, experiment: fig4_replication-baseline, next_tokens_per_query: 1}":
        "add experiments > fig4_replication > recall_thresholds > syn_small: {first: ",
    DRAWN % ("x: {kind: fig4, experiment: fig4_replication, seed: 1, sequence_classes: [1],"
             " iterations: [0, 7, 8]}"):
        "add 7, 8 to experiments > fig4_replication > training > recorded",
    RECORDED % ("phase_transition", []):
        "add 0 to experiments > phase_transition > training > recorded",
    RECORDED % ("four_stages", [14, 41]):
        "figures > fig2: experiment 'four_stages' does not record update 0; add 0 to experiments >",
    # Variants
    VARIANT % "baseline: {title: T}": "every value may stand only once, but baseline is",
    VARIANT % "a: {title: T}, b: {title: T}": "every value may stand only once, but T is repeated",
    VARIANT % "a: {title: as published}": "only once, but as published is repeated",
    READING % "baseline: {title: T, experiments: {}}": "only once, but baseline is repeated",
    READING % "a: {title: as published, experiments: {}}": "but as published is repeated",
    # Claims and texts of one's own
    OWN.replace("U1", "C1") % "note: N": "claims > C1: the registry already has a claim with this",
    OWN.replace("U1", "mine") % "note: N": "claims > mine > [key]: String should match pattern",
    OWN.replace("statement: S, ", "") % "note: N": "claims > U1 > statement: Field required",
    OWN.replace(" why: W,", "") % "note: N": "claims > U1: a claim has quantity, expected, evi",
    OWN.replace(".last_over", ".lst_over") % "note: N":
        "has no function lst_over_first of its own; it has as_printed, last_over_first, over",
    OWN.replace("last_over_first", "_by_variance") % "note: N": "has no function _by_variance",
    OWN.replace("last_over_first", "Measured") % "note: N": "has no function Measured of its own",
    OWN.replace("[{", "[{experiment: printed, metric: error}, {") % "note: N":
        "claims > U1: learning.last_over_first takes the tables (half_lives) and uses (); the claim"
        " gives 2 under `data`",
    OWN.replace("last_over_first", "as_printed") % "note: N":
        "learning.as_printed takes the tables (errors, printed) and uses (); the claim gives 1",
    OWN % "published_table: fig1.csv": "(half_lives) and uses (); the claim gives 2 under",
    OWN % "uses: [figures]": "`published_table`, and uses (figures)",
    OWN % "uses: [figurs]": "claims > U1: uses: unknown key 'figurs'; did you mean 'figures'?",
    COMPUTED % "model.gradient": "U1: model.gradient takes the tables () and uses (mixtures)",
    COMPUTED % "decoder.crossing, data: [{experiment: four_stages, metric: loss}]":
        "claims > U1: decoder.crossing takes the tables () and uses (); the claim gives 1",
    OWN.replace("learning.", "os.") % "note: N": "example: has no module claims.os, which a job or",
    OWN.replace("learning.", "../x.") % "note: N": "evidence: String should match pattern",
    OWN.replace("printed", "prnted") % "note: N": "claims > U1: experiment: unknown key 'prnted'",
    OWN.replace("half_life", "halflife") % "note: N": "unknown key 'halflife'; did you mean 'half_",
    OWN.replace("interval", "bound") % "note: N": "Input tag 'bound' found using",
    OWN % "figure: fig9": "claims > U1 > figure: unknown key 'fig9'; did you mean 'fig2'?",
    OWN % "kind: finding": "claims > U1: unknown key 'kind'; known keys: where, figure,",
    OWN % "sensitivity: true": "claims > U1: unknown key 'sensitivity'",
    OWN.replace("last_over_first", "as_printed") % "published_table: none.csv":
        "claims > U1 > published_table: src/transformer_dynamics/",
    "example: {claims: [{id: U1}]}": "example > claims: Input should be a valid dictionary",
    "example: {texts: {fig3: {label: L, title: T, drawn: D, caption: C}}}":
        "example > texts > fig3: unknown key 'fig3'; did you mean",
    "example:\n  figures: {mine: {kind: fig1, experiment: printed}}\n"
    "  texts: {mine: {label: L, title: T, drawn: D, caption: 'Of {{ n_seeds.'}}":
        "example > texts > mine > caption: line 1 cannot be read: expected name",
    "example:\n  figures: {mine: {kind: fig1, experiment: printed}}\n"
    "  texts: {mine: {label: L, title: T, drawn: D, caption: '{{ 1 | centred(9) }}'}}":
        "mine > caption: line 1 cannot be read: No filter named 'centred'",
    "example: {texts: {fig2: {label: L, title: T, drawn: D, caption: C}}}":
        "example > texts > fig2: the registry already describes this figure; choose another",
    # Tables as printed
    PUBLISHED % "/etc/passwd": "fig1 > published: ",
    PUBLISHED % ROOT: "is no file; name or correct a CSV that has numbers or gaps as variance,",
    PUBLISHED % "''": "is no file; name or correct a CSV",
    PUBLISHED % "/dev/zero": "is no file; name or correct a CSV",
    PUBLISHED % ("n" * 5000): "nnn..., line 1: File name too long; name or",
    PUBLISHED % "none.csv": "published/none.csv, line 1: is no file; name",
    PUBLISHED % "../config.yaml": "../config.yaml is not in src/transformer_dynamics/",
    PUBLISHED % "'{x}.csv'": "{x}.csv' has characters that mean something else to Snakemake",
    PUBLISHED % f"{ROOT}/README.md": "README.md, line 1: lacks rows or a column",
}  # fmt: skip


def studies_of(overlay: str) -> dict[str, Study]:
    """Those that an overlay names, or the template: it takes long to plan all of them.

    Studies of one paper draw into one folder.
    """
    lines = overlay.splitlines()
    named = [name for name in STUDIES if any(line.startswith(f"{name}:") for line in lines)]
    if any(STUDIES[name].figures == "figures" for name in named) and "figures:" in overlay:
        named = [name for name, study in STUDIES.items() if study.figures == "figures"]
    return {name: STUDIES[name] for name in named} or EXAMPLE


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_refused_in_words(tmp_path, monkeypatch, overlay):
    monkeypatch.chdir(ROOT)
    path = tmp_path / "my.yaml"
    path.write_text(overlay)
    studies = studies_of(overlay)
    with pytest.raises(InputError) as error:
        Jobs.of(configure(read_overlay(path), studies), studies)
    assert OVERLAYS[overlay] in error.value.message
    assert error.value.message.startswith(("configuration: ", str(path)))
    assert max(map(len, error.value.message.splitlines())) < 500
    assert "delete" not in error.value.message
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "overlay",
    [
        RATES % "eta_z: [1e-3, 2]",
        TRAIN % "updates: 010",
        PUBLISHED % STUDIES["example"].folder.joinpath("published/fig1.csv"),
    ],
)
def test_what_is_plain_is_taken(tmp_path, overlay):
    (tmp_path / "my.yaml").write_text(overlay)
    studies = studies_of(overlay)
    Jobs.of(configure(read_overlay(tmp_path / "my.yaml"), studies), studies)


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        (
            "example: {experiments: {prnted: {training: {updates: 3}}}}",
            "experiments: unknown experiment 'prnted'; did you mean 'printed'?; a new one",
        ),
        (
            "example: {experiments: {replicate: {seeds: {first: 1, count: 2}}}}",
            "unknown experiment 'replicate'; did you mean 'replication'?; a new one needs all keys",
        ),
        (
            "example: {figures: {fg2: {experiment: printed}}}",
            "figures: unknown figure 'fg2'; did you mean 'fig2'?; a new one needs all keys",
        ),
    ],
)
def test_an_unknown_experiment_or_figure_is_told_the_nearest(tmp_path, overlay, message):
    with pytest.raises(InputError) as error:
        configure(read_overlay_text(tmp_path, overlay), EXAMPLE)
    assert message in error.value.message.splitlines()[-1]


@pytest.mark.parametrize("samples", [10**15, 10**18])
@pytest.mark.parametrize("limit", [None, 1536])
def test_what_does_not_fit_into_memory_is_named_by_its_keys(tmp_path, monkeypatch, samples, limit):
    set_limit = resource.RLIM_INFINITY if limit is None else limit << 20
    monkeypatch.setattr(resource, "getrlimit", lambda _: (set_limit, resource.RLIM_INFINITY))
    changes = read_overlay_text(tmp_path, PROBLEM % f"samples: {samples}")
    jobs = Jobs.of(configure(changes, EXAMPLE), EXAMPLE)
    output = tmp_path / "out/1-5.npz"
    order = jobs.ready("results/example/data/printed/1-5.npz", [str(output)])
    told = str(StepsFile([order], tmp_path))
    done = CliRunner().invoke(run.main, [told])
    assert done.exit_code == 1
    raised = "raise the limit of memory, which `ulimit -v` sets to 1,536 MiB here, or "
    wanted = f"{raised if limit else ''}lower the largest of its settings, samples ({samples}), "
    assert f"does not fit into memory; {wanted}" in done.output
    assert not output.parent.exists()


NO_MATRIX = "a matrix is not finite any more"
NO_DECOMPOSITION = "a decomposition of a matrix fails ("


@pytest.mark.parametrize(
    ("decompose", "said"),
    [
        (lambda matrix: torch.linalg.matrix_norm(torch.from_numpy(matrix), ord=2), NO_MATRIX),
        (scipy.linalg.eigh, NO_MATRIX),
        (lambda matrix: torch.linalg.eigh(torch.from_numpy(matrix)), NO_DECOMPOSITION),
        (lambda matrix: torch.linalg.cholesky(torch.from_numpy(matrix)), NO_DECOMPOSITION),
        (np.linalg.svd, NO_DECOMPOSITION),
        (np.linalg.eigvalsh, NO_DECOMPOSITION),
        (lambda matrix: np.linalg.inv(np.zeros_like(matrix)), NO_DECOMPOSITION),
    ],
)
def test_matrices_of_a_diverged_training_are_one_sentence(tmp_path, monkeypatch, decompose, said):
    order = JOBS.ready("results/example/data/printed/1-5.npz", [str(tmp_path / "1-5.npz")])
    program = importlib.import_module(order.program)
    diverged = wraps(program.sample)(lambda *_: decompose(np.full((3, 3), np.nan)))
    monkeypatch.setattr(program, "sample", diverged)
    told = str(StepsFile([order], tmp_path))
    done = CliRunner().invoke(run.main, [told])
    assert isinstance(done.exception, SystemExit), done.exception
    assert f"1-5.npz: {said}" in done.output
    assert ", as after a training that diverged; lower the learning rate" in done.output


def read_overlay_text(folder: Path, text: str) -> dict[str, object]:
    (folder / "my.yaml").write_text(text)
    return read_overlay(folder / "my.yaml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"seed\n1\n", "f.csv, line 1: lacks rows or a column, or has one twice; name or"),
        (b"seed,entropy\n", "f.csv, line 1: lacks rows or a column"),
        (b"", "numbers or gaps as seed, entropy"),
        (b"seed,entropy\n1,2\n1,n/k\n", "f.csv, line 3: entropy is no number; name or"),
        (b"seed,entropy\n1,1_0\n", "f.csv, line 2: entropy is no number"),
        (b"seed,entropy\n1,2,3\n", "f.csv, line 2: has 3 values for 2 columns"),
        (b"seed,entropy\n1,\xff\n", "f.csv, line 1: 'utf-8' codec"),
        (b"seed,entropy\n1,nan\n", "f.csv, line 2: entropy is no number"),
        (b"seed,entropy\n1,-inf\n", "f.csv, line 2: entropy is no number"),
        (b"seed,entropy,seed\n1,2,3\n", "or a column, or has one twice"),
        (b'seed,entropy\n1,"2\n', "f.csv, line 1: unexpected end of data"),
    ],
)
def test_a_wrong_table_as_printed_is_to_be_corrected(tmp_path, content, message):
    (tmp_path / "f.csv").write_bytes(content)
    with pytest.raises(InputError) as error:
        check_published_table(tmp_path / "f.csv", ("seed", "entropy"))
    assert message in error.value.message


@pytest.mark.parametrize(
    "content", [b"seed,entropy\n1,\n", b"\xef\xbb\xbfseed,entropy,x,,\n1,2,nan,,\n"]
)
def test_gaps_signatures_and_other_columns_are_no_fault(tmp_path, content):
    (tmp_path / "f.csv").write_bytes(content)
    check_published_table(tmp_path / "f.csv", ("seed", "entropy"))


def test_a_table_that_was_spoilt_after_planning_is_not_to_be_deleted(tmp_path):
    table = tmp_path / "printed.csv"
    shutil.copy(STUDIES["example"].folder / "published/fig1.csv", table)
    changes = read_overlay_text(tmp_path, PUBLISHED % table)
    files = [tmp_path / "fig1.pdf", tmp_path / "fig1.csv", tmp_path / "fig1.sha256", table]
    jobs = Jobs.of(configure(changes, EXAMPLE), EXAMPLE)
    order = jobs.ready("figures/example/fig1", [str(files[0])], [*map(str, files[1:])])
    table.write_text("\0")
    told = str(StepsFile([order], tmp_path))
    done = CliRunner().invoke(run.main, [told])
    assert done.exit_code == 1
    assert "printed.csv" in done.output
    assert "delete" not in done.output
    assert not files[0].exists()


def test_the_overlay_of_the_documentation_takes_few_jobs_and_trains_nothing_anew(tmp_path):
    (block,) = (
        part.partition("```")[0]
        for part in (ROOT / "config/README.md").read_text(encoding="utf-8").split("```yaml\n")[1:]
    )
    jobs = Jobs.of(configure(read_overlay_text(tmp_path, block), STUDIES), STUDIES)
    assert len(list(jobs.closure(["figures/rare"]))) <= 15
    anew = [path for path, task in JOBS.steps.items() if jobs.steps.get(path) != task]
    assert [path for path in anew if JOBS.steps[path].stage in {"data", "runs", "metrics"}] == []
