# Rules that fetch data sets. A job that needs a data set has its files as inputs.
from replication.study.datasets import dataset_folders, find_datasets

# Local rules, on a cluster, too: its other machines may have no network. Checksums say what the files
# hold, so no other code of the download brings others.
for name, dataset in checked(find_datasets, dataset_folders()).items():

    rule:
        name:
            f"dataset_{name}"
        output:
            dataset.paths(name),
        log:
            f"logs/datasets/{name}.log",
        localrule: True
        params:
            python=python,
            content=dataset.model_dump_json(
                include={"archive", "files", "offline"}, exclude_defaults=True
            ),
            folder=subpath(output[0], parent=True),
        message:
            "Fetching {output} (log: {log})"
        shell:
            "{params.python:q} -m replication.run.fetch --settings {params.content:q}"
            f" --folder {{params.folder:q}}{LOGGED}"
