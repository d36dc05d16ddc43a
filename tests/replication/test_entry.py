"""What is made where no target is named, from the root and from where the catalog looks."""

ENTRIES = {"Snakefile": "figures", "workflow/Snakefile": "all"}
"""Each with its default target."""


def test_a_plain_run_draws_all_figures(project):
    expected = project.planned("figures")
    del expected["figures"]
    for entry, target in ENTRIES.items():
        planned = project.planned("--snakefile", entry, "--cores", "1")
        assert planned == {**expected, target: 1}
