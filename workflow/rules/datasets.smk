# Rules that fetch data sets. A job that needs a data set has its files as inputs.
from replication.study.datasets import dataset_folders, find_datasets

# Local rules, on a cluster, too: its other machines may have no network.
for fetched in checked(find_datasets, dataset_folders()):

    rule:
        name:
            f"dataset_{fetched.name}"
        output:
            fetched.outputs,
        log:
            f"logs/datasets/{fetched.name}.log",
        localrule: True
        params:
            python=python,
            code=code_digests(("replication.run.fetch",)),
            content=fetched.dataset.content.model_dump_json(exclude_defaults=True),
            folder=subpath(output[0], parent=True),
            offline=fetched.dataset.offline,
        message:
            "Fetching {output} (log: {log})"
        shell:
            "{params.python:q} -m replication.run.fetch --settings {params.content:q}"
            f" --folder {{params.folder:q}} --offline {{params.offline:q}}{LOGGED}"
