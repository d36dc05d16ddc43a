# Rules from data to runs, metrics, evidence and verdicts, and from metrics to tables and figures. One
# program makes all files; its orders for each file come from the table of jobs. The key of a file alone
# says whether the file is current: so current inputs are ancient, and Snakemake looks at no times.
MADE_BY_STUDY = {
    "data": ("data/{name}.npz", "Making data {wildcards.name}"),
    "runs": ("runs/{name}.npz", "Training {wildcards.name}"),
    "metrics": ("metrics/{name}.parquet", "Measuring {wildcards.name}"),
}
IN_BATCHES = {"evidence": "Measuring", "verdict": "Judging"}
TABLE = stage("figures/{figure}.csv")
FIGURE = stage("figures/{figure}", pattern="figures/{figure}.{kind}")
RUN = f"{{params.python:q}} -m replication.run.program {{params.orders:q}}{LOGGED}"
CHECKSUM = str(checksum_file(Path("figures/{figure}.csv")))

for made, (path, doing) in MADE_BY_STUDY.items():
    FILE = stage(f"results/{{study}}/{path}")
    LOG = f"logs/{{study}}/{Path(path).with_suffix('')}"

    rule:
        name:
            made
        input:
            FILE.inputs,
        output:
            kept(FILE.pattern),
        log:
            f"{LOG}.log",
        benchmark:
            f"{LOG}.benchmark.tsv"
        resources:
            gpu=FILE.gpus,
            mem_mb=FILE.memory,
            runtime=FILE.minutes,
        params:
            python=python,
            key=FILE.key,
            orders=FILE.orders,
        message:
            f"{doing} of {{wildcards.study}} (log: {{log}})"
        shell:
            RUN


# Starting Python takes longer than most claims. So the claims of one module are measured together, and
# the claims of one figure, or of one module, are judged together.
for (made, name, batch), paths in JOBS.batches.items():
    FILE = stage(*paths)
    LOG = f"logs/{name}/{made}/{batch}"

    rule:
        name:
            f"{made}_{name}_{batch}"
        input:
            FILE.inputs,
        output:
            FILE.pattern,
        log:
            f"{LOG}.log",
        benchmark:
            f"{LOG}.benchmark.tsv"
        resources:
            mem_mb=FILE.memory,
            runtime=FILE.minutes,
        params:
            python=python,
            key=FILE.key,
            orders=FILE.orders,
        message:
            f"{IN_BATCHES[made]} the claims {batch} of {name} (log: {{log}})"
        shell:
            RUN


rule table:
    input:
        TABLE.inputs,
    output:
        table=kept(TABLE.pattern),
        checksum=kept(CHECKSUM),
    log:
        "logs/figures/{figure}.csv.log",
    benchmark:
        "logs/figures/{figure}.csv.benchmark.tsv"
    resources:
        mem_mb=TABLE.memory,
        runtime=TABLE.minutes,
    params:
        python=python,
        key=TABLE.key,
        orders=TABLE.orders,
    message:
        "Tabulating {wildcards.figure} (log: {log})"
    shell:
        RUN


rule figure:
    input:
        shown=FIGURE.inputs,
        checksum=ancient(CHECKSUM),
    output:
        report(
            kept(FIGURE.pattern),
            caption="../report/figure.rst",
            category=category,
            labels={"figure": "{figure}", "format": "{kind}"},
        ),
    log:
        "logs/figures/{figure}.{kind}.log",
    benchmark:
        "logs/figures/{figure}.{kind}.benchmark.tsv"
    resources:
        mem_mb=FIGURE.memory,
        runtime=FIGURE.minutes,
    params:
        python=python,
        key=FIGURE.key,
        orders=FIGURE.orders,
    message:
        "Drawing {output} (log: {log})"
    shell:
        RUN
