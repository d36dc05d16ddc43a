"""This repository as a module of somebody else's workflow."""

SNAKEFILE = """
module td:
    snakefile:
        "{snakefile}"
    config:
        config

use rule * from td as td_*

rule mine:
    default_target: True
    input:
        "figures/example/fig1.csv",
    output:
        "rows.txt",
    shell:
        "wc -l < {{input}} > {{output}}"
"""


def test_a_rule_of_another_workflow_takes_a_figure(template):
    outside = template.folder / "outside"
    outside.mkdir()
    (outside / "Snakefile").write_text(SNAKEFILE.format(snakefile=template.folder / "Snakefile"))
    (outside / "config.yaml").write_text("example: {experiments: {printed: {seeds: {count: 3}}}}\n")
    words = ["snakemake", "--configfile", "config.yaml", "--cores", "1"]
    code, output = template.pythons.run(words, outside, template.environment)
    assert code == 0, output
    assert "localrules directive" not in output
    header, *rows = (outside / "figures/example/fig1.csv").read_text().splitlines()
    assert header.startswith("variance,update")
    assert int((outside / "rows.txt").read_text()) == 1 + len(rows)
    assert (outside / "results/example/runs/printed/1-3.npz").is_file()
