# The table of errata: printed, corrected, evidence.
rule errata:
    input:
        JOBS.tasks["figures/errata.csv"].reads,
    output:
        "results/scan_and_snap/errata.md",
    log:
        "logs/scan_and_snap/errata.log",
    benchmark:
        "logs/scan_and_snap/errata.benchmark.tsv"
    params:
        python=python,
        code=JOBS.code(
            LOCK,
            ["figures/errata.csv"],
            "transformer_dynamics.scan_and_snap.errata_report",
        ),
        job=JOBS.order("figures/errata.csv").model_dump_json(),
        mixtures=CONFIGURATION.scan_and_snap.model_dump_json(include={"mixtures"}),
    message:
        "Computing the evidence of every erratum (log: {log})"
    shell:
        "{params.python:q} -m transformer_dynamics.scan_and_snap.errata_report --job {params.job:q}"
        " --mixtures {params.mixtures:q} --output {output:q} {input:q} > {log:q} 2>&1"
