# Train every mixture and every cell of an experiment.


rule training:
    input:
        sequences=SEQUENCES,
    output:
        RUN,
    log:
        "logs/scan_and_snap/{experiment}/runs/{seeds}.log",
    benchmark:
        "logs/scan_and_snap/{experiment}/runs/{seeds}.benchmark.tsv"
    resources:
        **ACCELERATOR,
        mem_mb=1500,
    params:
        *code("scan_and_snap.stages.train"),
        settings=lambda wildcards: train_job(wildcards.experiment).model_dump_json(),
    message:
        "Training {wildcards.experiment}, seeds {wildcards.seeds} (log: {log})"
    shell:
        "python -m transformer_dynamics.scan_and_snap.stages.train"
        " --settings {params.settings:q} --seeds {wildcards.seeds:q}"
        " --sequences {input.sequences:q} --output {output:q} > {log:q} 2>&1"


rule fingerprints:
    input:
        lambda wildcards: run_files(wildcards.experiment),
    output:
        "results/scan_and_snap/{experiment}/fingerprints.csv",
    log:
        "logs/scan_and_snap/{experiment}/fingerprints.log",
    params:
        *code("scan_and_snap.stages.fingerprint", *RUN_STAGES),
        settings=lambda wildcards: train_job(wildcards.experiment).model_dump_json(),
        planned=lambda wildcards: one_word(run_files(wildcards.experiment)),
        runs=lambda wildcards, input: one_word(input),
    message:
        "Describing the runs of {wildcards.experiment} (log: {log})"
    shell:
        "python -m transformer_dynamics.scan_and_snap.stages.fingerprint"
        " --settings {params.settings:q} --output {output:q} {params.runs} > {log:q} 2>&1"
