# Rules of each study: scorecard, page, comparison with the reference, renewal of the reference, and
# an RO-Crate of all results; and the targets that a user asks for.
from replication.plan.collecting import Scorecards
from replication.plan.orders import DocumentFile
from replication.base.commit import commit_name
from replication.report.page_rule import SiteRules, folder_of
from replication.plan.rule_inputs import shell_words
from replication.verify.todo_marks import refuse_marks

SCORECARD = "results/{study}/verdicts.md"
# Studies that `--config study=...` names, or those of a plain run.
SELECTED = checked(JOBS.selected_studies, CHOICE)
# Pages link to those that are there, and to those that are asked for; rules know these once they are asked.
SITE = SiteRules(JOBS, PROJECT, SELECTED, lambda: workflow.dag_settings.targets)
SCORECARDS = Scorecards(JOBS)
# End of a command whose output the user reads. If it fails, Snakemake shows the log itself.
SHOWN = f"{LOGGED}; cat {{log:q}}"


rule scorecard:
    input:
        verdicts=looked(
            SCORECARD,
            lambda wildcards: verdicts_on(wildcards.study),
            lambda wildcards: not SCORECARDS.stale(wildcards.study),
        ),
        registry=registry,
    output:
        markdown=report(
            SCORECARD,
            caption="../report/verdicts.rst",
            category="Verdicts",
            labels={"figure": "{study}", "format": "md"},
        ),
        parquet="results/{study}/verdicts.parquet",
    log:
        "logs/{study}/scorecard.log",
    benchmark:
        "logs/{study}/scorecard.benchmark.tsv"
    params:
        python=python,
        told=lambda wildcards, input: DocumentFile(own(wildcards)),
        verdicts=lambda wildcards, input: shell_words(input.verdicts),
        edited=lambda wildcards, input: SCORECARDS.edited(wildcards.study).document,
        key=lambda wildcards: SCORECARDS.key(wildcards.study),
    message:
        "Bringing the verdicts of {wildcards.study} together (log: {log})"
    shell:
        "{params.python:q} -m replication.run.start --edited {params.edited:q}"
        " replication.judge.scorecard --registry {input.registry:q}"
        " --own {params.told:q} --key {params.key}"
        f" --parquet {{output.parquet:q}} --markdown {{output.markdown:q}} {{params.verdicts}}{LOGGED}"


rule page:
    input:
        verdicts=looked(
            "results/report/{study}.html",
            lambda wildcards: verdicts_on(wildcards.study),
            lambda wildcards: SITE.is_page_current(wildcards.study),
        ),
        figures=lambda wildcards: SITE.page_files(wildcards.study),
        read=lambda wildcards: map(local, SITE.page_reads(wildcards.study)),
    output:
        html="results/report/{study}.html",
        figures=directory("results/report/{study}"),
    log:
        "logs/report/{study}.log",
    benchmark:
        "logs/report/{study}.benchmark.tsv"
    # Where the targets are known. To write a page takes seconds.
    localrule: True
    params:
        python=python,
        links=lambda wildcards: SITE.page_links(wildcards.study),
        key=lambda wildcards: SITE.page_key(wildcards.study),
        configuration=lambda wildcards, input: SITE.configuration(),
        folder=lambda wildcards, input: folder_of(
            input.figures, SITE.page_files(wildcards.study)
        ),
        edited=lambda wildcards, input: SITE.page_edited(wildcards.study).document,
        root=str(PROJECT),
        commit=lambda wildcards: commit_name(PROJECT),
        digest=lambda wildcards: CONFIGURATION.digest,
    message:
        "Writing the page {output.html} (log: {log})"
    shell:
        "{params.python:q} -m replication.run.start --edited {params.edited:q}"
        " replication.report.page --study {wildcards.study:q} --root {params.root:q}"
        " --configuration {params.configuration:q} --folder {params.folder:q} {params.links}"
        " --commit {params.commit:q} --digest {params.digest:q} --key {params.key}"
        f" --output {{output.html:q}}{LOGGED}"


rule index:
    input:
        verdicts=looked(
            "results/report/index.html",
            lambda wildcards: SITE.index_verdicts(),
            lambda wildcards: SITE.is_index_current(),
        ),
        pictures=lambda wildcards: SITE.index_pictures(),
        read=lambda wildcards: map(local, SITE.index_reads()),
    output:
        "results/report/index.html",
    log:
        "logs/report/index.log",
    localrule: True
    params:
        python=python,
        key=lambda wildcards: SITE.index_key(),
        configuration=lambda wildcards, input: SITE.configuration(),
        folder=lambda wildcards, input: folder_of(input.verdicts, SITE.index_verdicts()),
        links=lambda wildcards, input: SITE.index_links(),
        edited=lambda wildcards, input: SITE.index_edited().document,
        root=str(PROJECT),
    message:
        "Writing the index of all papers (log: {log})"
    shell:
        "{params.python:q} -m replication.run.start --edited {params.edited:q}"
        " replication.report.index --root {params.root:q} --key {params.key}"
        " --configuration {params.configuration:q} --folder {params.folder:q} {params.links}"
        f" --output {{output:q}}{LOGGED}"


# Before anything is planned for it.
if workflow.is_main_process and not IS_STORED and "verify" in sys.argv[1:]:
    checked(refuse_other_settings, JOBS, SELECTED)


rule verify:
    input:
        asked(
            *expand(SCORECARD, study=SELECTED),
            *(path for study in SELECTED for path in verdicts_on(study)),
        ),
    log:
        "logs/verify.log",
    localrule: True
    params:
        python=python,
        root=str(PROJECT),
        studies=[f"--study={study}" for study in SELECTED],
    message:
        "Comparing the results with the reference"
    shell:
        "{params.python:q} -m replication verify {params.studies:q} --root {params.root:q}"
        f" --configuration results/config.yaml{SHOWN}"


# Before anything is computed for it.
if workflow.is_main_process and "reference" in sys.argv[1:]:
    for study in SELECTED:
        checked(refuse_marks, STUDIES[study])


rule reference:
    input:
        asked(*(path for study in SELECTED for path in JOBS.studies[study].files.all)),
    log:
        "logs/reference.log",
    localrule: True
    params:
        python=python,
        root=str(PROJECT),
        studies=[f"--study={study}" for study in SELECTED],
    message:
        "Keeping the results as the reference"
    shell:
        "{params.python:q} -m replication verify --write {params.studies:q} --root {params.root:q}"
        f" --configuration results/config.yaml{SHOWN}"


rule provenance:
    log:
        "logs/provenance.log",
    localrule: True
    params:
        python=python,
    message:
        "Describing everything that is computed here as an RO-Crate"
    shell:
        f"{{params.python:q}} -m replication.documents.crate{SHOWN}"


rule targets:
    log:
        "logs/targets.log",
    localrule: True
    params:
        python=python,
    message:
        "Listing the targets of all studies"
    shell:
        f"{{params.python:q}} -m replication targets{SHOWN}"


rule verdicts:
    input:
        asked(*expand(SCORECARD, study=SELECTED)),


rule figures:
    input:
        asked(*(f"figures/{f}.pdf" for s in SELECTED for f in JOBS.figure_paths(s))),


rule report:
    input:
        asked(rules.index.output[0], *(STUDIES[study].page for study in SELECTED)),


rule everything:
    input:
        rules.figures.input,
        rules.verdicts.input,
        rules.report.input,


# A target per study: its figures, its scorecard and its page.
for name, found in STUDIES.items():

    rule:
        name:
            name
        input:
            asked(
                *expand("figures/{figure}.pdf", figure=JOBS.figure_paths(name)),
                *expand(SCORECARD, study=name),
                found.page,
            ),
