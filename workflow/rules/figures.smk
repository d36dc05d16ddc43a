# From metrics to the table of a figure, and from the table to the figure.


rule figure_table:
    input:
        metrics=lambda wildcards: expand(
            rules.metrics.output[0],
            experiment=figure_settings(wildcards).experiment,
            metric=figure_settings(wildcards).metric,
        ),
    output:
        "figures/{figure}.csv",
    log:
        "logs/figures/{figure}.csv.log",
    params:
        *code("scan_and_snap.stages.tabulate"),
        figure=lambda wildcards: figure_settings(wildcards).model_dump_json(),
        settings=lambda wildcards: figure_job(wildcards).model_dump_json(),
        seeds=figure_seeds,
    message:
        "Tabulating {wildcards.figure} (log: {log})"
    shell:
        "python -m transformer_dynamics.scan_and_snap.stages.tabulate"
        " --figure {params.figure:q} --settings {params.settings:q} --seeds {params.seeds:q}"
        " --metrics {input.metrics:q} --output {output:q} > {log:q} 2>&1"


rule figure:
    input:
        table=rules.figure_table.output[0],
        published=published_table,
    output:
        report(
            "figures/{figure}.{kind}",
            caption="../report/figure.rst",
            category="Scan and Snap",
            labels={"figure": "{figure}", "format": "{kind}"},
        ),
    log:
        "logs/figures/{figure}.{kind}.log",
    params:
        code=lambda wildcards: code(
            f"scan_and_snap.figures.{figure_settings(wildcards).drawing}"
        ),
        drawing=lambda wildcards: figure_settings(wildcards).drawing,
        figure=lambda wildcards: figure_settings(wildcards).model_dump_json(),
        settings=lambda wildcards: figure_job(wildcards).model_dump_json(),
        seeds=figure_seeds,
        reference=lambda wildcards, input: (
            ["--reference", str(input.published)] if input.published else []
        ),
    message:
        "Drawing {output} (log: {log})"
    shell:
        "python -m transformer_dynamics.scan_and_snap.figures.{params.drawing}"
        " --figure {params.figure:q} --settings {params.settings:q} --seeds {params.seeds:q}"
        " --table {input.table:q} {params.reference:q} --output {output:q} > {log:q} 2>&1"
