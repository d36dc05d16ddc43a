# From metrics to the table of a figure, from the table to the figure, and the table of errata.


rule figure_table:
    input:
        lambda wildcards: figure_inputs(wildcards.figure),
    output:
        table=TABLE,
        checksum=CHECKSUM,
    log:
        "logs/figures/{figure}.csv.log",
    benchmark:
        "logs/figures/{figure}.csv.benchmark.tsv"
    params:
        code=lambda wildcards: own_code(PAPER.figures[wildcards.figure].program),
        shared=lambda wildcards: shared_code(
            PAPER.figures[wildcards.figure].program, *table_stages(wildcards.figure)
        ),
        program=lambda wildcards: PAPER.figures[wildcards.figure].program,
        planned=lambda wildcards: table_options(
            wildcards.figure, figure_inputs(wildcards.figure)
        ),
        options=lambda wildcards, input: table_options(wildcards.figure, input),
    message:
        "Tabulating {wildcards.figure} (log: {log})"
    shell:
        "python -m transformer_dynamics.{params.program} {params.options:q}"
        " --output {output.table:q} > {log:q} 2>&1"
        " && sha256sum {output.table:q} > {output.checksum:q}"


rule figure:
    input:
        table=TABLE,
        checksum=CHECKSUM,
        published=lambda wildcards: published_table(wildcards.figure),
    output:
        report(
            "figures/{figure}.{kind}",
            caption="../report/figure.rst",
            category="Scan and Snap",
            labels={"figure": "{figure}", "format": "{kind}"},
        ),
    log:
        "logs/figures/{figure}.{kind}.log",
    benchmark:
        "logs/figures/{figure}.{kind}.benchmark.tsv"
    params:
        code=lambda wildcards: own_code(drawing_program(wildcards.figure)),
        shared=lambda wildcards: shared_code(
            drawing_program(wildcards.figure),
            PAPER.figures[wildcards.figure].program,
            *table_stages(wildcards.figure),
        ),
        published=lambda wildcards: contents(published_table(wildcards.figure)),
        drawing=lambda wildcards: PAPER.figures[wildcards.figure].drawing,
        options=lambda wildcards: figure_options(wildcards.figure),
        reference=lambda wildcards, input: (
            ["--reference", str(input.published)] if input.published else []
        ),
    message:
        "Drawing {output} (log: {log})"
    shell:
        "sha256sum --check --status {input.checksum:q}"
        " || {{ echo 'Error: {input.table} was changed after it was made; delete it and run again'"
        " > {log:q}; exit 1; }};"
        " python -m transformer_dynamics.scan_and_snap.figures.{params.drawing} {params.options:q}"
        " --table {input.table:q} {params.reference:q} --output {output:q} > {log:q} 2>&1"


rule errata:
    input:
        metrics=figure_inputs("errata"),
    output:
        "results/scan_and_snap/errata.md",
    log:
        "logs/scan_and_snap/errata.log",
    params:
        *code("scan_and_snap.stages.errata", *METRIC_STAGES),
        options=figure_options("errata"),
        mixtures=released_mixtures().model_dump_json(),
    message:
        "Computing the evidence of every erratum (log: {log})"
    shell:
        "python -m transformer_dynamics.scan_and_snap.stages.errata {params.options:q}"
        " --metrics {input.metrics:q} --mixtures {params.mixtures:q} --output {output:q}"
        " > {log:q} 2>&1"
