# From data to runs, metrics, evidence and verdicts, and from metrics to the tables of figures and the
# figures. One program makes all of them; what it is told for a file stands in the table of jobs.


rule data:
    input:
        DATA.inputs,
    output:
        DATA.pattern,
    log:
        "logs/{study}/data/{data}.log",
    benchmark:
        "logs/{study}/data/{data}.benchmark.tsv"
    resources:
        mem_mb=DATA.memory,
        runtime=DATA.minutes,
    params:
        python=python,
        program=DATA.program,
        code=DATA.code,
        job=DATA.job,
        files=DATA.files,
    message:
        "Making data {wildcards.data} of {wildcards.study} (log: {log})"
    shell:
        "{params.python:q} -m replication.run --job {params.job:q} --output {output:q} {params.files}"
        " > {log:q} 2>&1"


use rule data as runs with:
    input:
        RUNS.inputs,
    output:
        RUNS.pattern,
    log:
        "logs/{study}/runs/{runs}.log",
    benchmark:
        "logs/{study}/runs/{runs}.benchmark.tsv"
    resources:
        **ACCELERATOR,
        mem_mb=RUNS.memory,
        runtime=RUNS.minutes,
    params:
        python=python,
        program=RUNS.program,
        code=RUNS.code,
        job=RUNS.job,
        files=RUNS.files,
    message:
        "Training {wildcards.runs} of {wildcards.study}; progress: tail {log}"


use rule data as metrics with:
    input:
        METRICS.inputs,
    output:
        METRICS.pattern,
    log:
        "logs/{study}/metrics/{metrics}.log",
    benchmark:
        "logs/{study}/metrics/{metrics}.benchmark.tsv"
    resources:
        mem_mb=METRICS.memory,
        runtime=METRICS.minutes,
    params:
        python=python,
        program=METRICS.program,
        code=METRICS.code,
        job=METRICS.job,
        files=METRICS.files,
    message:
        "Measuring {wildcards.metrics} of {wildcards.study} (log: {log})"


use rule data as evidence with:
    input:
        EVIDENCE.inputs,
    output:
        EVIDENCE.pattern,
    log:
        "logs/{study}/evidence/{claim}.log",
    benchmark:
        "logs/{study}/evidence/{claim}.benchmark.tsv"
    resources:
        mem_mb=EVIDENCE.memory,
        runtime=EVIDENCE.minutes,
    params:
        python=python,
        program=EVIDENCE.program,
        code=EVIDENCE.code,
        job=EVIDENCE.job,
        published=EVIDENCE.published,
        files=EVIDENCE.files,
    message:
        "Measuring claim {wildcards.claim} of {wildcards.study} (log: {log})"


use rule data as verdict with:
    input:
        VERDICT.inputs,
    output:
        VERDICT.pattern,
    log:
        "logs/{study}/verdicts/{claim}.log",
    benchmark:
        "logs/{study}/verdicts/{claim}.benchmark.tsv"
    resources:
        mem_mb=VERDICT.memory,
        runtime=VERDICT.minutes,
    params:
        python=python,
        program=VERDICT.program,
        code=VERDICT.code,
        job=VERDICT.job,
        files=VERDICT.files,
    message:
        "Judging claim {wildcards.claim} of {wildcards.study} (log: {log})"


rule table:
    input:
        TABLE.inputs,
    output:
        table=TABLE.pattern,
        checksum=CHECKSUM,
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
        files=TABLE.files,
    message:
        "Tabulating {wildcards.figure} (log: {log})"
    shell:
        "{params.python:q} -m replication.run --job {params.job:q} --output {output.table:q}"
        " --checksum {output.checksum:q} {params.files} > {log:q} 2>&1"


rule figure:
    input:
        shown=FIGURE.inputs,
        checksum=CHECKSUM,
    output:
        report(
            FIGURE.pattern,
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
        published=FIGURE.published,
        files=FIGURE.shown,
    message:
        "Drawing {output} (log: {log})"
    shell:
        "{params.python:q} -m replication.run --job {params.job:q} --output {output:q}"
        " --checksum {input.checksum:q} {params.files} > {log:q} 2>&1"
