# Rules of all stages, from data to pages. One program makes all files; its steps come from the table of
# jobs. The key of a file alone says whether the file is current: so current inputs are ancient, and
# Snakemake looks at no times.
from replication.plan.rules import RuleFunctions, all_rules

for RULE in all_rules(JOBS):
    DOES = RuleFunctions(RULE, JOBS, SITE.add, mark, look_at_results)
    KEEP = kept if RULE.is_restored else str

    rule:
        name:
            RULE.name
        input:
            DOES.inputs,
        output:
            [
                KEEP(path) if Path(path).suffix else directory(path)
                for path in RULE.outputs
            ],
        log:
            f"{RULE.log}.log",
        benchmark:
            f"{RULE.log}.benchmark.tsv"
        localrule: RULE.is_local
        resources:
            gpu=DOES.gpus,
            mem_mb=DOES.memory,
            runtime=DOES.minutes,
        params:
            python=python,
            key=DOES.key,
            steps=DOES.steps,
        message:
            f"{RULE.message} (log: {{log}})"
        shell:
            f"{{params.python:q}} -m replication.run.program {{params.steps:q}}{LOGGED}"
