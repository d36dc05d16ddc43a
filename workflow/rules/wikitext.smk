# Figures 7 and 10: from running text to the words' numbers, training runs, metrics, figures and
# verdicts.


rule text_tokens:
    input:
        unpack(lambda wildcards: corpus_files(wildcards.corpus)),
    output:
        TOKENS,
    log:
        "logs/scan_and_snap/wikitext/tokens/{corpus}.log",
    resources:
        mem_mb=1000,
    params:
        *code("scan_and_snap.wikitext.stages.tokenise"),
        settings=lambda wildcards: WIKITEXT.corpora[
            wildcards.corpus
        ].token_job.model_dump_json(),
    message:
        "Numbering the words of {wildcards.corpus} (log: {log})"
    shell:
        "python -m transformer_dynamics.scan_and_snap.wikitext.stages.tokenise"
        " --settings {params.settings:q} --train {input.train:q} --valid {input.valid:q}"
        " --output {output:q} > {log:q} 2>&1"


rule text_training:
    input:
        tokens=lambda wildcards: expand(TOKENS, corpus=wildcards.run.split("-")[0]),
    output:
        TEXT_RUN,
    log:
        "logs/scan_and_snap/wikitext/{text_experiment}/runs/{run}.log",
    benchmark:
        "logs/scan_and_snap/wikitext/{text_experiment}/runs/{run}.benchmark.tsv"
    resources:
        **ACCELERATOR,
        mem_mb=2000,
        runtime=1440,
    params:
        *code(*TEXT_RUN_STAGES),
        settings=lambda wildcards: text_train_job(
            wildcards.text_experiment, wildcards.run
        ).model_dump_json(),
        seed=lambda wildcards: text_run(wildcards.text_experiment, wildcards.run).seed,
        checkpoint="results/scan_and_snap/wikitext/{text_experiment}/runs/{run}.checkpoint",
    message:
        "Training {wildcards.text_experiment}, {wildcards.run}; progress: tail {log}"
    shell:
        "python -m transformer_dynamics.scan_and_snap.wikitext.stages.train"
        " --settings {params.settings:q} --seed {params.seed} --tokens {input.tokens:q}"
        " --checkpoint {params.checkpoint:q} --output {output:q} > {log:q} 2>&1"


rule text_fingerprints:
    input:
        lambda wildcards: text_runs(wildcards.text_experiment),
    output:
        "results/scan_and_snap/wikitext/{text_experiment}/fingerprints.csv",
    log:
        "logs/scan_and_snap/wikitext/{text_experiment}/fingerprints.log",
    params:
        *code("scan_and_snap.wikitext.stages.fingerprint", *TEXT_RUN_STAGES),
        settings=lambda wildcards: TEXT_PLAN.runs(
            wildcards.text_experiment
        ).model_dump_json(),
    message:
        "Describing the runs of {wildcards.text_experiment} (log: {log})"
    shell:
        "python -m transformer_dynamics.scan_and_snap.wikitext.stages.fingerprint"
        " --settings {params.settings:q} --output {output:q} {input:q} > {log:q} 2>&1"


rule text_metrics:
    input:
        tokens=lambda wildcards: expand(
            TOKENS,
            corpus=WIKITEXT.experiments[wildcards.text_experiment].corpora,
        ),
        runs=lambda wildcards: text_runs(wildcards.text_experiment),
    output:
        text_metrics_path("{text_experiment}", "{text_metric}"),
    log:
        "logs/scan_and_snap/wikitext/{text_experiment}/metrics/{text_metric}.log",
    benchmark:
        "logs/scan_and_snap/wikitext/{text_experiment}/metrics/{text_metric}.benchmark.tsv"
    resources:
        mem_mb=2000,
    params:
        *code(*TEXT_METRIC_STAGES),
        settings=lambda wildcards: TEXT_PLAN.measure_job(
            wildcards.text_experiment, wildcards.text_metric
        ).model_dump_json(),
        tokens=lambda wildcards, input: [f"--tokens={path}" for path in input.tokens],
    message:
        "Measuring {wildcards.text_metric} of {wildcards.text_experiment} (log: {log})"
    shell:
        "python -m transformer_dynamics.scan_and_snap.wikitext.stages.measure"
        " --settings {params.settings:q} {params.tokens:q} --output {output:q} {input.runs:q}"
        " > {log:q} 2>&1"


rule text_figure_table:
    input:
        lambda wildcards: TEXT_PLAN.sources_of_figure(wildcards.text_figure),
    output:
        table=TEXT_TABLE,
        checksum=TEXT_CHECKSUM,
    log:
        "logs/figures/{text_figure}.csv.log",
    benchmark:
        "logs/figures/{text_figure}.csv.benchmark.tsv"
    params:
        *code(*TEXT_TABLE_STAGES),
        settings=lambda wildcards: TEXT_PLAN.table_job(
            wildcards.text_figure
        ).model_dump_json(),
    message:
        "Tabulating {wildcards.text_figure} (log: {log})"
    shell:
        "python -m transformer_dynamics.scan_and_snap.wikitext.stages.tabulate"
        " --settings {params.settings:q} --output {output.table:q} {input:q} > {log:q} 2>&1"
        " && sha256sum {output.table:q} > {output.checksum:q}"


rule text_figure:
    input:
        table=TEXT_TABLE,
        checksum=TEXT_CHECKSUM,
    output:
        report(
            TEXT_FIGURE,
            caption="../report/figure.rst",
            category="Scan and Snap",
            labels={"figure": "{text_figure}", "format": "{kind}"},
        ),
    log:
        "logs/figures/{text_figure}.{kind}.log",
    benchmark:
        "logs/figures/{text_figure}.{kind}.benchmark.tsv"
    params:
        code=lambda wildcards: code(
            text_drawing(wildcards.text_figure), *TEXT_TABLE_STAGES
        ),
        program=lambda wildcards: text_drawing(wildcards.text_figure),
        figure=lambda wildcards: WIKITEXT.figures[
            wildcards.text_figure
        ].model_dump_json(),
        settings=lambda wildcards: TEXT_PLAN.table_job(
            wildcards.text_figure
        ).model_dump_json(),
    message:
        "Drawing {output} (log: {log})"
    shell:
        "sha256sum --check --status {input.checksum:q}"
        " || {{ echo 'Error: {input.table} was changed after it was made; delete it and run again'"
        " > {log:q}; exit 1; }};"
        " python -m transformer_dynamics.{params.program} --figure {params.figure:q}"
        " --settings {params.settings:q} --table {input.table:q} --output {output:q} > {log:q} 2>&1"


rule text_evidence:
    input:
        lambda wildcards: TEXT_PLAN.sources(wildcards.text_claim),
    output:
        TEXT_EVIDENCE,
    log:
        "logs/scan_and_snap/wikitext/evidence/{text_claim}.log",
    params:
        *code(*TEXT_EVIDENCE_STAGES),
        settings=lambda wildcards: TEXT_PLAN.evidence_job(
            wildcards.text_claim
        ).model_dump_json(),
    message:
        "Measuring claim {wildcards.text_claim} (log: {log})"
    shell:
        "python -m transformer_dynamics.scan_and_snap.wikitext.claims"
        " --settings {params.settings:q} --output {output:q} {input:q} > {log:q} 2>&1"


rule text_verdict:
    input:
        lambda wildcards: expand(
            TEXT_EVIDENCE,
            text_claim=TEXT_PLAN.family(wildcards.text_claim),
        ),
    output:
        TEXT_VERDICT,
    log:
        "logs/verdicts/{text_claim}.log",
    params:
        *code(*TEXT_VERDICT_STAGES),
        family=lambda wildcards: TEXT_PLAN.family_settings(
            wildcards.text_claim
        ).model_dump_json(),
    message:
        "Judging claim {wildcards.text_claim} (log: {log})"
    shell:
        "python -m transformer_dynamics.verification.judge --claim {wildcards.text_claim:q}"
        " --family {params.family:q} --output {output:q} {input:q} > {log:q} 2>&1"


rule text_verdicts:
    input:
        verdicts=expand(TEXT_VERDICT, text_claim=TEXT_PLAN.claims),
        registry=local(TEXT_REGISTRY_FILE),
    output:
        parquet="results/wikitext_verdicts.parquet",
        markdown="results/wikitext_verdicts.md",
    log:
        "logs/wikitext_verdicts.log",
    params:
        *code("verification.scorecard", *TEXT_VERDICT_STAGES),
        registry=contents([TEXT_REGISTRY_FILE]),
        families=lambda wildcards: [
            family.model_dump_json() for family in TEXT_PLAN.families
        ],
    message:
        "Bringing the verdicts on WikiText together (log: {log})"
    shell:
        "python -m transformer_dynamics.verification.scorecard --registry {input.registry:q}"
        " --parquet {output.parquet:q} --markdown {output.markdown:q} {input.verdicts:q}"
        " > {log:q} 2>&1"


rule text_report:
    input:
        verdicts=expand(TEXT_VERDICT, text_claim=TEXT_PLAN.claims),
        registry=local(TEXT_REGISTRY_FILE),
        pictures=[str(figure.picture) for figure in shown_text_figures().figures],
        tables=expand(TEXT_TABLE, text_figure=WIKITEXT.figures),
        checksums=expand(TEXT_CHECKSUM, text_figure=WIKITEXT.figures),
        templates=page_templates(),
    output:
        "results/report/wikitext.html",
    log:
        "logs/text_report.log",
    params:
        code=lambda wildcards: code(
            "report.page", *TEXT_VERDICT_STAGES, *text_picture_stages()
        ),
        contents=contents([TEXT_REGISTRY_FILE, *page_templates()]),
        packages=locked_versions(LOCK, ("jinja2", "markupsafe")),
        planned=shown_text_figures().model_dump_json(),
        figures=lambda wildcards, input: shown_text_figures(
            Path(input.tables[0]).parent
        ).model_dump_json(),
        commit=lambda wildcards: commit(PROJECT),
        digest=hashlib.sha256(CONFIGURATION.to_yaml().encode()).hexdigest(),
    message:
        "Writing the page {output} (log: {log})"
    shell:
        "cat {input.checksums:q} | sha256sum --check --quiet > {log:q} 2>&1"
        " || {{ echo 'Error: a table was changed after it was made; delete it and run again'"
        " >> {log:q}; exit 1; }};"
        " python -m transformer_dynamics.report.page --registry {input.registry:q}"
        " --figures {params.figures:q} --commit {params.commit:q}"
        " --digest {params.digest:q} --output {output:q} {input.verdicts:q} > {log:q} 2>&1"


localrules:
    wikitext,
    verify_wikitext,
    lock_wikitext,


rule wikitext:
    input:
        rules.text_report.output,
        expand(TEXT_FIGURE, text_figure=WIKITEXT.figures, kind="pdf"),
        rules.text_verdicts.output,


rule verify_wikitext:
    input:
        rules.text_verdicts.output,
        expand(TEXT_VERDICT, text_claim=TEXT_PLAN.claims),
    log:
        "logs/verify_wikitext.log",
    params:
        root=str(PROJECT),
    message:
        "Holding the results on WikiText against their lock"
    shell:
        "python -m transformer_dynamics.verify --part wikitext --root {params.root:q}"
        " --configuration results/config.yaml 2>&1 | tee {log:q}"


rule lock_wikitext:
    input:
        [str(path) for path in TEXT_PLAN.locked_files.values()],
    log:
        "logs/lock_wikitext.log",
    params:
        root=str(PROJECT),
    message:
        "Locking the results on WikiText"
    shell:
        "python -m transformer_dynamics.verify --part wikitext --lock --root {params.root:q}"
        " --configuration results/config.yaml 2>&1 | tee {log:q}"
