# The entry: one include per stage, and the targets that a user asks for.
from snakemake.utils import min_version

min_version("9.27")


# Used only with `--software-deployment-method apptainer`; otherwise the active environment runs.
# The image that docs/environments.md builds, as no published one has the packages of the lock.
container: f"{workflow.basedir}/transformer-dynamics.sif"


configfile: f"{workflow.basedir}/config/config.yaml"


include: "workflow/rules/common.smk"


wildcard_constraints:
    experiment="|".join(EXPERIMENTS),
    claim="|".join(PLAN.claims),
    variant="|".join(["", *(f"-{variant}" for variant in PLAN.variants)]),
    figure="|".join(PAPER.figures),
    corpus="|".join(WIKITEXT.corpora),
    text_experiment="|".join(WIKITEXT.experiments),
    text_figure="|".join(WIKITEXT.figures),
    text_claim="|".join(TEXT_PLAN.claims),
    text_metric="|".join(get_args(TextMetric)),
    run="|".join(map(re.escape, all_text_runs())),
    seeds=r"[0-9,-]+",
    metric="|".join(get_args(Metric)),
    kind="pdf|png|svg",


include: "workflow/rules/data.smk"
include: "workflow/rules/sequences.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/metrics.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/wikitext.smk"


onstart:
    if getattr(workflow.executor_plugin, "name", "") in {
        "slurm",
        "cluster-generic",
    }:
        checked(prepare_run, Path.cwd())
    CONFIGURATION.write(Path("results/config.yaml"))


rule figures:
    default_target: True
    input:
        expand("figures/{figure}.pdf", figure=PAPER.figures),
