# The targets that a user asks for.

PAGE, CARD = "results/report/{study}.html", "results/{study}/verdicts.md"
CARDS = expand(CARD, study=SELECTED)
# End of a command whose output the user reads. If it fails, Snakemake shows the log itself.
SHOWN = f"{LOGGED}; cat {{log:q}}"
COMPARE = [
    "replication",
    "verify",
    *(f"--study={study}" for study in SELECTED),
    f"--root={PROJECT}",
    "--configuration=results/config.yaml",
]

# Before anything is planned or computed for them.
if workflow.is_main_process and not IS_STORED:
    if "verify" in sys.argv[1:]:
        checked(refuse_other_settings, JOBS, SELECTED)
    if "reference" in sys.argv[1:]:
        from replication.verify.reference import refuse_marks

        for study in SELECTED:
            checked(refuse_marks, STUDIES[study])

# Targets that a program of the engine answers, with their inputs.
for target, read, doing, words in (
    (
        "verify",
        [*CARDS, *(path for study in SELECTED for path in verdicts_on(study))],
        "Comparing the results with the reference",
        COMPARE,
    ),
    (
        "reference",
        [path for study in SELECTED for path in JOBS.studies[study].files.all],
        "Keeping the results as the reference",
        [*COMPARE, "--write"],
    ),
    (
        "provenance",
        [],
        "Describing everything that is computed here as an RO-Crate",
        ["replication.documents.crate"],
    ),
    (
        "targets",
        [],
        "Listing the targets of all studies",
        ["replication", "targets"],
    ),
):

    rule:
        name:
            target
        input:
            asked(*read),
        log:
            f"logs/{target}.log",
        localrule: True
        params:
            python=python,
            words=words,
        message:
            doing
        shell:
            f"{{params.python:q}} -m {{params.words:q}}{SHOWN}"


rule verdicts:
    input:
        asked(*CARDS),


rule figures:
    input:
        asked(*(f"figures/{f}.pdf" for s in SELECTED for f in JOBS.figure_paths(s))),


rule report:
    input:
        asked(INDEX, *expand(PAGE, study=SELECTED)),


rule everything:
    input:
        rules.figures.input,
        rules.verdicts.input,
        rules.report.input,


# A target per study: its figures, its scorecard and its page.
for name in STUDIES:

    rule:
        name:
            name
        input:
            asked(
                *expand("figures/{figure}.pdf", figure=JOBS.figure_paths(name)),
                *expand([CARD, PAGE], study=name),
            ),
