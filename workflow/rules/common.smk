# Shared by all stages. The typed configuration, and what the result of a program depends on.
import hashlib
import os
import re
import shlex
from functools import cache
from typing import get_args
from pathlib import Path

from snakemake.exceptions import WorkflowError

from transformer_dynamics.config import Configuration
from transformer_dynamics.digest import SOURCE, locked_versions, reach
from transformer_dynamics.errors import InputError
from transformer_dynamics.registry import read_registry
from transformer_dynamics.report.sources import (
    Benchmarks,
    FigureSource,
    FigureSources,
)
from transformer_dynamics.scan_and_snap.claims.plan import Plan, metrics_path
from transformer_dynamics.scan_and_snap.claims.settings import Cell, Cells
from transformer_dynamics.scan_and_snap.experiments import Metric, SampleJob
from transformer_dynamics.scan_and_snap.wikitext.experiments import TextMetric
from transformer_dynamics.scan_and_snap.wikitext.plan import FOLDER, TextPlan
from transformer_dynamics.scan_and_snap.wikitext.plan import (
    metrics_path as text_metrics_path,
)
from transformer_dynamics.seeds import format_seeds
from transformer_dynamics.slurm import prepare_run

PROJECT = Path(os.path.relpath(workflow.basedir))
LOCK = PROJECT / "requirements.lock"
# Files that several rules name. `rules.X.output` is no pattern for `expand` where a default storage
# provider keeps the file.
SEQUENCES = "results/scan_and_snap/{experiment}/sequences/{seeds}.npz"
RUN = "results/scan_and_snap/{experiment}/runs/{seeds}.npz"
EVIDENCE = "results/scan_and_snap/evidence/{claim}{variant}.parquet"
VERDICT = "results/verdicts/{claim}{variant}.json"
TABLE = "figures/{figure}.csv"
CHECKSUM = "results/scan_and_snap/tables/{figure}.sha256"
TOKENS = f"{FOLDER}/tokens/{{corpus}}.npz"
TEXT_RUN = f"{FOLDER}/{{text_experiment}}/runs/{{run}}.npz"
TEXT_EVIDENCE = f"{FOLDER}/evidence/{{text_claim}}.parquet"
TEXT_VERDICT = "results/verdicts/{text_claim}.json"
TEXT_TABLE = "figures/{text_figure}.csv"
TEXT_CHECKSUM = "results/scan_and_snap/tables/{text_figure}.sha256"
TEXT_FIGURE = "figures/{text_figure}.{kind}"
REGISTRY_FILE = str(PROJECT / "papers/scan_and_snap.yaml")
TEXT_REGISTRY_FILE = str(PROJECT / "papers/scan_and_snap_wikitext.yaml")


def checked(read, *arguments):
    try:
        return read(*arguments)
    except InputError as error:
        raise WorkflowError(error.message)


CONFIGURATION = checked(Configuration.parse, config, "configuration")
COMPUTATION = CONFIGURATION.computation
PAPER = CONFIGURATION.scan_and_snap
WIKITEXT = CONFIGURATION.wikitext
REGISTRY = checked(read_registry, Path(REGISTRY_FILE))
TEXT_REGISTRY = checked(read_registry, Path(TEXT_REGISTRY_FILE))
# A caption of Snakemake's report sees nothing of the workflow but `config` and the params of its
# job; in the params a caption would redraw the figure.
config["captions"] = {
    name: text.caption
    for registry in (REGISTRY, TEXT_REGISTRY)
    for name, text in registry.figures.items()
}
PLAN = checked(Plan.of, PAPER, REGISTRY, COMPUTATION.device)
TEXT_PLAN = checked(TextPlan.of, WIKITEXT, TEXT_REGISTRY, COMPUTATION.device)
# What a job that trains asks a scheduler for, besides memory and time.
ACCELERATOR = {"gpu": 1} if COMPUTATION.device == "cuda" else {}
EXPERIMENTS = {**PAPER.experiments, **PAPER.varied_experiments}


# Programs get the paths of `input` and `output`, which a storage provider moves. Snakemake does not
# record params made from these; where such ones name what else a result depends on, `planned` does.
RUN_STAGES = ("scan_and_snap.stages.sample", "scan_and_snap.stages.train")
METRIC_STAGES = (*RUN_STAGES, "scan_and_snap.stages.measure")
TEXT_RUN_STAGES = (
    "scan_and_snap.wikitext.stages.tokenise",
    "scan_and_snap.wikitext.stages.train",
)
TEXT_METRIC_STAGES = (*TEXT_RUN_STAGES, "scan_and_snap.wikitext.stages.measure")
TEXT_TABLE_STAGES = (*TEXT_METRIC_STAGES, "scan_and_snap.wikitext.stages.tabulate")
TEXT_EVIDENCE_STAGES = (*TEXT_METRIC_STAGES, "scan_and_snap.wikitext.claims")
TEXT_VERDICT_STAGES = (*TEXT_EVIDENCE_STAGES, "verification.judge")


@cache
def code(*programs):
    """One string per module and per locked package that a result depends on.

    Besides the program that makes it these are the programs that made what it reads: Snakemake
    looks at the content of an input only if the file is newer, and after a clock was set back, or
    within one tick of a coarse one, what was made anew is not.
    """
    modules, packages = {}, set()
    for program in programs:
        reached = reach(f"transformer_dynamics.{program}")
        modules |= reached.modules
        packages |= {*reached.packages}
    versions = locked_versions(LOCK, tuple(sorted(packages)))
    return [
        *(f"{name}@{digest}" for name, digest in sorted(modules.items())),
        *(f"{name}=={version}" for name, version in versions.items()),
    ]


def own_code(program):
    """The program's own module, apart from what it shares, so that a reason line is short."""
    return next(item for item in code(program) if item.startswith(f"{program}@"))


def shared_code(program, *before):
    """The rest of the code, that of the stages before included."""
    own = own_code(program)
    return [item for item in code(program, *before) if item != own]


def contents(paths):
    """Digests of files that a person edits, for the same reason as in `code`."""
    files = [Path(path) for path in paths]
    return [hashlib.sha256(file.read_bytes()).hexdigest()[:12] for file in files]


@cache
def seed_batches(experiment):
    """The seeds of each job of an experiment, as file names write them."""
    seeds = EXPERIMENTS[experiment].seed_list
    varied = experiment not in PAPER.experiments
    size = PAPER.sensitivity.seeds_per_job if varied else COMPUTATION.seeds_per_job
    names = [format_seeds(seeds[i : i + size]) for i in range(0, len(seeds), size)]
    longest = max(names, key=len)
    if len(longest) > 200:
        raise WorkflowError(
            f"experiment {experiment}: the file name of a job's seeds, {longest[:20]}..., is too long;"
            " use successive seeds or a smaller computation.seeds_per_job"
        )
    return names


def run_files(experiment):
    """Files of all runs of an experiment."""
    return expand(RUN, experiment=experiment, seeds=seed_batches(experiment))


def one_word(files):
    """Files of one folder and kind as one word of the shell, `.../runs/{1,2,3}.npz`.

    Written out, they exceed what a command may have (128 KiB) beyond some 2,500 files.
    """
    first = Path(files[0])
    names = [Path(file).stem.replace(",", r"\,") for file in files]
    seeds = "{" + ",".join(names) + "}" if len(names) > 1 else names[0]
    return f"{shlex.quote(str(first.parent))}/{seeds}{first.suffix}"


@cache
def all_seeds(experiment):
    return format_seeds(EXPERIMENTS[experiment].seed_list)


@cache
def train_job(experiment):
    return PAPER.train_job(experiment, COMPUTATION.device)


def measure_job(experiment, metric):
    return PAPER.measure_job(experiment, metric, COMPUTATION.device)


def is_sensitivity(name):
    return PAPER.figures[name].drawing == "sensitivity"


def figure_inputs(name):
    """The metrics or verdicts that a figure shows; none if it follows from the theory alone."""
    if is_sensitivity(name):
        return [
            VERDICT.format(claim=claim, variant=baseline_of(claim, variant))
            for claim, variant in PLAN.varied_cells
        ]
    return [metrics_path(*source) for source in PLAN.sources_of_figure(name)]


def baseline_of(claim, variant):
    """The variant, or the baseline if the variant changes nothing for the claim."""
    same = PLAN.sources(claim, variant) == PLAN.sources(claim, "-baseline")
    return "-baseline" if same else variant


def sensitivity_cells():
    titles = {
        f"-{name}": variant.title
        for name, variant in PAPER.sensitivity.variants.items()
    }
    return Cells(
        cells=[
            Cell(
                claim=claim,
                statement=PLAN.claims[claim].statement,
                variant=titles.get(variant, "as published"),
                as_baseline=baseline_of(claim, variant) != variant,
            )
            for claim, variant in PLAN.varied_cells
        ]
    )


def figure_options(name):
    """Options that say what a figure's table depends on."""
    figure = PAPER.figures[name]
    options = ["--figure", figure.model_dump_json()]
    if figure.metric:
        job = measure_job(figure.experiment, figure.metric)
        options += [
            "--settings",
            job.model_dump_json(),
            "--seeds",
            all_seeds(figure.experiment),
        ]
    elif figure.drawing == "fig1":
        options += ["--settings", PAPER.mixtures[figure.mixture].model_dump_json()]
    return options


def table_options(name, inputs):
    """Options of the program that makes a figure's table from the files that it shows."""
    options = figure_options(name)
    if is_sensitivity(name):
        return [*options, "--cells", sensitivity_cells().model_dump_json(), *inputs]
    return [*options, "--metrics", *inputs] if inputs else options


def table_stages(name):
    """The programs that made what a figure's table is made of."""
    if is_sensitivity(name):
        return ("verification.judge", *evidence_stages(PLAN.varied))
    return METRIC_STAGES if PLAN.sources_of_figure(name) else ()


def evidence_stages(claims):
    """The programs that made the evidence of some claims, from the beginning."""
    programs = sorted({PLAN.program(claim) for claim in claims})
    trained = any(PLAN.claims[claim].data for claim in claims)
    return (*programs, *(METRIC_STAGES if trained else ()))


def verdict_stages():
    """The programs that made the verdicts, from the beginning."""
    return ("verification.judge", *evidence_stages(PLAN.claims))


def picture_stages():
    """The programs that made the figures from their metrics."""
    tables = {figure.program for figure in PAPER.figures.values()}
    return sorted(tables | {drawing_program(name) for name in PAPER.figures})


def drawing_program(name):
    return f"scan_and_snap.figures.{PAPER.figures[name].drawing}"


def published_table(name):
    published = getattr(PAPER.figures[name], "published", None)
    return [local(str(PROJECT / published))] if published else []


def released_mixtures():
    """The mixtures that the authors ran; of a job's other settings just any."""
    released = {
        name: mixture
        for name, mixture in PAPER.mixtures.items()
        if mixture.in_released_code
    }
    sampling = next(iter(PAPER.experiments.values())).sampling
    return SampleJob(mixtures=released, sampling=sampling)


def claim_tables(claim, variant):
    return [metrics_path(*source) for source in PLAN.sources(claim, variant)]


def claim_reference(claim):
    reference = PLAN.claims[claim].reference
    return [local(str(PROJECT / reference))] if reference else []


def picture_kind(name):
    """Heat maps are smaller as PNG, and without seams between their cells."""
    return "png" if PAPER.figures[name].drawing in {"fig4", "fig5"} else "svg"


def figure_benchmarks(name):
    """Run times of all jobs that make a figure from nothing; none where claims are among them."""
    if is_sensitivity(name):
        return []
    jobs = {f"logs/figures/{name}.{{}}": ["csv", picture_kind(name)]}
    for experiment, metric in PLAN.sources_of_figure(name):
        folder, seeds = f"logs/scan_and_snap/{experiment}", seed_batches(experiment)
        jobs |= {
            f"{folder}/sequences/{{}}": seeds,
            f"{folder}/runs/{{}}": seeds,
            f"{folder}/metrics/{{}}": [metric],
        }
    return [
        Benchmarks(pattern=f"{pattern}.benchmark.tsv", names=names)
        for pattern, names in jobs.items()
    ]


def shown_figures(folder="figures"):
    """What the page takes of each figure, whose files are in a folder."""
    return FigureSources(
        figures=[
            FigureSource(
                name=name,
                drawing=figure.drawing,
                picture=f"{folder}/{name}.{picture_kind(name)}",
                table=f"{folder}/{name}.csv",
                command=f"snakemake figures/{name}.pdf",
                benchmarks=figure_benchmarks(name),
            )
            for name, figure in PAPER.figures.items()
        ]
    )


def page_templates():
    """Digests of code follow Python's imports; the templates count as files."""
    files = (SOURCE / "report/templates").iterdir()
    kinds = {".html", ".css", ".js", ".svg"}
    return local(
        sorted(os.path.relpath(path) for path in files if path.suffix in kinds)
    )


def corpus_files(corpus):
    """The texts of a corpus, in the user's folder or as they are downloaded."""
    files = WIKITEXT.corpora[corpus]
    if files.folder is None:
        return {
            name: f"results/data/{corpus}/{name}.txt" for name in ("train", "valid")
        }
    folder = Path(files.folder)
    return {
        "train": local(str(folder / files.train.name)),
        "valid": local(str(folder / files.valid.name)),
    }


def without_network(dataset):
    """What a user can do who cannot fetch a data set, to end a sentence."""
    if dataset not in WIKITEXT.corpora:
        return ""
    files = WIKITEXT.corpora[dataset]
    return (
        f"set wikitext.corpora.{dataset}.folder to a folder that has {files.train.name} and"
        f" {files.valid.name}"
    )


def text_runs(experiment):
    """Files of all runs of an experiment on text."""
    names = (run.name for run in TEXT_PLAN.runs(experiment).runs)
    return expand(TEXT_RUN, text_experiment=experiment, run=names)


def text_run(experiment, name):
    (run,) = (run for run in TEXT_PLAN.runs(experiment).runs if run.name == name)
    return run


def text_train_job(experiment, name):
    return TEXT_PLAN.runs(experiment).train_job(text_run(experiment, name))


def text_drawing(figure):
    return f"scan_and_snap.wikitext.figures.{WIKITEXT.figures[figure].drawing}"


def text_picture_stages():
    """The programs that made the figures on text."""
    return (*TEXT_TABLE_STAGES, *sorted(map(text_drawing, WIKITEXT.figures)))


def all_text_runs():
    """Names of all runs on text."""
    runs = (run for name in WIKITEXT.experiments for run in TEXT_PLAN.runs(name).runs)
    return sorted({run.name for run in runs})


def shown_text_figures(folder="figures"):
    """What the page on WikiText takes of each figure, whose files are in a folder."""
    return FigureSources(
        figures=[
            FigureSource(
                name=name,
                drawing=figure.drawing,
                picture=f"{folder}/{name}.{'png' if figure.drawing == 'fig7' else 'svg'}",
                table=f"{folder}/{name}.csv",
                command=f"snakemake figures/{name}.pdf",
                benchmarks=[
                    Benchmarks(
                        pattern=f"logs/scan_and_snap/wikitext/{experiment}/runs/{{}}.benchmark.tsv",
                        names=[run.name for run in TEXT_PLAN.runs(experiment).runs],
                    )
                    for experiment in figure.experiments
                ],
            )
            for name, figure in WIKITEXT.figures.items()
        ]
    )
