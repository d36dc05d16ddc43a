# Rules from data to runs, metrics, evidence and verdicts, and from metrics to tables and figures. One
# program makes all files; its orders for each file come from the table of jobs.
MADE_BY_STUDY = {
    "data": ("data/{name}.npz", "Making data {wildcards.name}"),
    "runs": ("runs/{name}.npz", "Training {wildcards.name}"),
    "metrics": ("metrics/{name}.parquet", "Measuring {wildcards.name}"),
}
IN_BATCHES = {"evidence": "Measuring", "verdict": "Judging"}
TABLE = stage("figures/{figure}.csv")
FIGURE = stage("figures/{figure}", pattern="figures/{figure}.{kind}")
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
            program=FILE.program,
            code=FILE.code,
            job=FILE.job,
            told=FILE.document,
            files=FILE.files,
        message:
            f"{doing} of {{wildcards.study}} (log: {{log}})"
        shell:
            "{params.python:q} -m replication.run.program --job {params.told:q} {output:q}"
            f" {{params.files}}{LOGGED}"


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
            program=FILE.program,
            code=FILE.code,
            job=FILE.job,
            told=FILE.document,
            outputs=FILE.outputs,
            files=FILE.files,
        message:
            f"{IN_BATCHES[made]} the claims {batch} of {name} (log: {{log}})"
        shell:
            f"{{params.python:q}} -m replication.run.program --job {{params.told:q}} {{params.outputs}} {{params.files}}{LOGGED}"


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
        program=TABLE.program,
        code=TABLE.code,
        job=TABLE.job,
        told=TABLE.document,
        files=TABLE.files,
    message:
        "Tabulating {wildcards.figure} (log: {log})"
    shell:
        "{params.python:q} -m replication.run.program --job {params.told:q} --checksum {output.checksum:q}"
        f" {{output.table:q}} {{params.files}}{LOGGED}"


rule figure:
    input:
        shown=FIGURE.inputs,
        checksum=CHECKSUM,
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
        program=FIGURE.program,
        code=FIGURE.code,
        job=FIGURE.job,
        told=FIGURE.document,
        files=FIGURE.files,
    message:
        "Drawing {output} (log: {log})"
    shell:
        "{params.python:q} -m replication.run.program --job {params.told:q} --checksum {input.checksum:q}"
        f" {{output:q}} {{params.files}}{LOGGED}"
