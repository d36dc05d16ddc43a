# Measure one metric on all runs of an experiment.


rule metrics:
    input:
        runs=lambda wildcards: run_files(wildcards.experiment),
    output:
        metrics_path("{experiment}", "{metric}"),
    log:
        "logs/scan_and_snap/{experiment}/metrics/{metric}.log",
    benchmark:
        "logs/scan_and_snap/{experiment}/metrics/{metric}.benchmark.tsv"
    resources:
        mem_mb=1000,
    params:
        *code(*METRIC_STAGES),
        settings=lambda wildcards: measure_job(
            wildcards.experiment, wildcards.metric
        ).model_dump_json(),
        seeds=lambda wildcards: all_seeds(wildcards.experiment),
        planned=lambda wildcards: one_word(run_files(wildcards.experiment)),
        runs=lambda wildcards, input: one_word(input.runs),
    message:
        "Measuring {wildcards.metric} of {wildcards.experiment} (log: {log})"
    shell:
        "python -m transformer_dynamics.scan_and_snap.stages.measure"
        " --settings {params.settings:q} --seeds {params.seeds:q} --output {output:q} {params.runs}"
        " > {log:q} 2>&1"
