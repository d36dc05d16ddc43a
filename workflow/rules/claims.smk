# From metrics to the evidence of a claim, from evidence to its verdict, and all verdicts together.


rule evidence:
    input:
        tables=lambda wildcards: claim_tables(wildcards.claim, wildcards.variant),
        reference=lambda wildcards: claim_reference(wildcards.claim),
    output:
        EVIDENCE,
    log:
        "logs/scan_and_snap/evidence/{claim}{variant}.log",
    params:
        code=lambda wildcards: own_code(PLAN.program(wildcards.claim)),
        shared=lambda wildcards: shared_code(*evidence_stages([wildcards.claim])),
        published=lambda wildcards: contents(claim_reference(wildcards.claim)),
        program=lambda wildcards: PLAN.program(wildcards.claim),
        settings=lambda wildcards: PLAN.evidence_job(
            wildcards.claim, wildcards.variant
        ).model_dump_json(),
        reference=lambda wildcards, input: (
            ["--reference", str(input.reference)] if input.reference else []
        ),
    message:
        "Measuring claim {wildcards.claim}{wildcards.variant} (log: {log})"
    shell:
        "python -m transformer_dynamics.{params.program} --settings {params.settings:q}"
        " {params.reference:q} --output {output:q} {input.tables:q} > {log:q} 2>&1"


rule verdict:
    input:
        lambda wildcards: expand(
            EVIDENCE,
            claim=PLAN.family(wildcards.claim, wildcards.variant),
            variant=wildcards.variant,
        ),
    output:
        VERDICT,
    log:
        "logs/verdicts/{claim}{variant}.log",
    params:
        code=lambda wildcards: code(
            "verification.judge",
            *evidence_stages(PLAN.family(wildcards.claim, wildcards.variant)),
        ),
        family=lambda wildcards: PLAN.family_settings(
            wildcards.claim, wildcards.variant
        ).model_dump_json(),
    message:
        "Judging claim {wildcards.claim}{wildcards.variant} (log: {log})"
    shell:
        "python -m transformer_dynamics.verification.judge --claim {wildcards.claim:q}"
        " --family {params.family:q} --output {output:q} {input:q} > {log:q} 2>&1"


rule verdicts:
    input:
        verdicts=expand(VERDICT, claim=PLAN.claims, variant=""),
        registry=local(REGISTRY_FILE),
    output:
        parquet="results/verdicts.parquet",
        markdown=report(
            "results/verdicts.md",
            caption="../report/verdicts.rst",
            category="Scan and Snap",
            labels={"figure": "verdicts", "format": "md"},
        ),
    log:
        "logs/verdicts.log",
    params:
        code=lambda wildcards: code("verification.scorecard", *verdict_stages()),
        registry=contents([REGISTRY_FILE]),
        families=lambda wildcards: [
            family.model_dump_json() for family in PLAN.families
        ],
    message:
        "Bringing all verdicts together (log: {log})"
    shell:
        "python -m transformer_dynamics.verification.scorecard --registry {input.registry:q}"
        " --parquet {output.parquet:q} --markdown {output.markdown:q} {input.verdicts:q}"
        " > {log:q} 2>&1"


localrules:
    verify,
    lock,


rule verify:
    input:
        rules.verdicts.output,
        expand(VERDICT, claim=PLAN.claims, variant=""),
    log:
        "logs/verify.log",
    params:
        root=str(PROJECT),
    message:
        "Holding the results against the lock"
    shell:
        "python -m transformer_dynamics.verify --root {params.root:q}"
        " --configuration results/config.yaml 2>&1 | tee {log:q}"


rule lock:
    input:
        [str(path) for path in PLAN.locked_files.values()],
    log:
        "logs/lock.log",
    params:
        root=str(PROJECT),
    message:
        "Locking the results"
    shell:
        "python -m transformer_dynamics.verify --lock --root {params.root:q}"
        " --configuration results/config.yaml 2>&1 | tee {log:q}"
