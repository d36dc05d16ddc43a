# Draw the training sequences.


rule sequences:
    output:
        SEQUENCES,
    log:
        "logs/scan_and_snap/{experiment}/sequences/{seeds}.log",
    benchmark:
        "logs/scan_and_snap/{experiment}/sequences/{seeds}.benchmark.tsv"
    resources:
        mem_mb=1000,
    params:
        *code("scan_and_snap.stages.sample"),
        settings=lambda wildcards: train_job(
            wildcards.experiment
        ).sample_job.model_dump_json(),
    message:
        "Drawing sequences of {wildcards.experiment}, seeds {wildcards.seeds} (log: {log})"
    shell:
        "python -m transformer_dynamics.scan_and_snap.stages.sample"
        " --settings {params.settings:q} --seeds {wildcards.seeds:q} --output {output:q} > {log:q} 2>&1"
