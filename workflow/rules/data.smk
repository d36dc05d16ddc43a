# Fetch data sets. Whatever needs one names its texts as inputs.
from transformer_dynamics.datasets import read_datasets

DATASETS = checked(read_datasets, PROJECT / "papers/datasets.yaml")


# On a cluster, too, this runs where the workflow was started: other machines may have no network.
rule dataset:
    output:
        train="results/data/{dataset}/train.txt",
        valid="results/data/{dataset}/valid.txt",
        test="results/data/{dataset}/test.txt",
    log:
        "logs/data/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(DATASETS),
    localrule: True
    params:
        *code("fetch"),
        settings=lambda wildcards: DATASETS[wildcards.dataset].archive.model_dump_json(),
        folder=subpath(output.train, parent=True),
        offline=lambda wildcards: without_network(wildcards.dataset),
    message:
        "Fetching {wildcards.dataset} (log: {log})"
    shell:
        "python -m transformer_dynamics.fetch --settings {params.settings:q}"
        " --folder {params.folder:q} --offline {params.offline:q} > {log:q} 2>&1"
