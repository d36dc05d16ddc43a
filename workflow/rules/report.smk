# From verdicts and figures to the one page that shows them all.
import hashlib

from transformer_dynamics.report.commit import commit


rule report:
    input:
        verdicts=expand(VERDICT, claim=PLAN.claims, variant=""),
        registry=local(REGISTRY_FILE),
        pictures=[str(figure.picture) for figure in shown_figures().figures],
        tables=expand(TABLE, figure=PAPER.figures),
        checksums=expand(CHECKSUM, figure=PAPER.figures),
        templates=page_templates(),
    output:
        "results/report/index.html",
    log:
        "logs/report.log",
    params:
        code=lambda wildcards: code("report.page", *verdict_stages(), *picture_stages()),
        contents=contents([REGISTRY_FILE, *page_templates()]),
        packages=locked_versions(LOCK, ("jinja2", "markupsafe")),
        planned=shown_figures().model_dump_json(),
        figures=lambda wildcards, input: shown_figures(
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
    provenance,


rule provenance:
    log:
        "logs/provenance.log",
    message:
        "Describing everything that is computed here as an RO-Crate"
    shell:
        "python -m transformer_dynamics.crate 2>&1 | tee {log:q}"
