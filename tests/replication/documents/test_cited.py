"""Documents are made from their templates, with values of all studies."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import JOBS, ROOT

from replication.base.errors import InputError
from replication.bundle.bundle import read_bundle, reference_folder
from replication.documents.cited import Citable, fill_document, refuted_lines
from replication.documents.pages import StudyResults, claim_links
from replication.judge.templates import fill_template
from replication.judge.verdicts import Verdict
from replication.study.claims import SHOWN, THEORY, Statistical
from replication.study.registry import Abstract, Sentence


def test_a_document_is_made_from_its_template(tmp_path):
    path = tmp_path / "README.md.jinja"
    path.write_text("{% set n = seeds %}\n# Title\n\n{% set m = n %}\n\n{{ m }} seeds\n")
    first, _, text = fill_document(path, {"seeds": 10}).partition("\n")
    assert first == "<!-- Made from README.md.jinja by `python -m replication generate`. -->"
    assert text == "\n# Title\n\n10 seeds\n"
    with pytest.raises(InputError, match=r"README.md.jinja: cannot be cited: 'seeds' is undefined"):
        fill_document(path, {})


def test_metadata_stay_at_the_top_of_a_document(tmp_path):
    path = tmp_path / "paper.md.jinja"
    path.write_text("---\ntitle: T\n---\n\n{{ seeds }} seeds\n")
    shown = fill_document(path, {"seeds": 10})
    made = "# Made from paper.md.jinja by `python -m replication generate`.\n"
    assert shown == f"---\n{made}title: T\n---\n\n10 seeds\n"


@pytest.fixture(scope="module")
def studies():
    """Two studies with their references."""
    return [with_reference(name) for name in ("scan_and_snap", "example")]


def with_reference(name):
    return StudyResults(JOBS.studies[name], read_bundle(reference_folder(ROOT, name))[0])


def filled(template, studies, document="docs/example/notes.md"):
    known = Citable(document, studies, [], JOBS).by_name()
    return fill_template(template, document, known)


def test_a_verdict_is_of_the_own_study_or_of_the_one_that_is_named(studies):
    assert filled('{{ verdict("C").claim }}', studies) == "C"
    assert filled('{{ judged("C3", "scan_and_snap/T22d") }}', studies) == (
        "[C3](claims.md#C3): does not hold; [T22d](../scan_and_snap/claims.md#T22d): reproduced"
    )
    late = [with_reference("gradient_heterogeneity"), *studies]
    assert filled('{{ judged("gradient_heterogeneity/H3d") }}', late) == (
        "[H3d](../gradient_heterogeneity/claims.md#H3d): replicated, declared late"
    )
    both = 'E1 {{ judged("C1") }}'
    assert "../../../docs/example" in filled(both, studies, "src/papers/example/README.md")


def test_a_sentence_of_several_versions_that_does_not_hold_is_one_line_with_versions():
    sentences = [Sentence(words=words, claims=["A1"]) for words in ("It works.", "It does work.")]
    versions = {"v1": [sentences[0]], "v2": [sentences[0]], "v3": [sentences[1]]}
    abstracts = [Abstract(version=name, sentences=each) for name, each in versions.items()]
    failed = Verdict.without_evidence("A1", "no").model_copy(update={"verdict": "does not hold"})

    def refuted(abstracts):
        registry = JOBS.studies["scan_and_snap"].registry
        claims = [registry.claims[0].model_copy(update={"id": "A1"})]
        registry = registry.model_copy(update={"abstracts": abstracts, "claims": claims})
        told = SimpleNamespace(
            name="mine", jobs=SimpleNamespace(registry=registry), verdicts={"A1": failed}
        )
        return [*refuted_lines(told, claim_links("README.md", "mine"))]

    line = "* `mine`: “It works.” ([A1](docs/mine/claims.md#A1))"
    assert refuted(abstracts[:1]) == [line]
    assert refuted(abstracts) == [
        f"{line}, v1 and v2",
        "* `mine`: “It does work.” ([A1](docs/mine/claims.md#A1)), v3",
    ]


def test_a_study_that_a_document_names_must_be_there(studies):
    for name in ("counts", "cost", "abstract", "headlines", "pictures"):
        with pytest.raises(InputError, match=r"cannot be cited: there is no study nobody;"):
            filled(f'{{{{ {name}("nobody") }}}}', studies)


def test_the_cost_of_all_papers_leaves_out_what_is_no_paper(studies):
    assert filled("{{ cost() }}", studies) == filled('{{ cost("scan_and_snap") }}', studies)
    assert filled("{{ cost() }}", studies) != filled('{{ cost("example") }}', studies)


def test_pictures_of_the_home_study_lie_at_the_top(studies):
    shown = filled('{{ pictures("scan_and_snap", "fig6") }}', studies, "README.md")
    assert shown == "[`fig6`](docs/gallery/fig6.png)"


def test_a_readme_leads_to_every_picture():
    readmes = [ROOT / "README.md", *(ROOT / "src").rglob("README.md")]
    linked = "\n".join(path.read_text() for path in readmes)
    pictures = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs/gallery").rglob("*.png")]
    assert len(pictures) > 50
    assert [path for path in pictures if f"docs/{path.as_posix()})" not in linked] == []


def test_the_address_of_the_pages_is_that_of_the_citation_file(tmp_path, monkeypatch, studies):
    monkeypatch.chdir(tmp_path)
    assert filled("{{ site }}", studies) == ""
    Path("CITATION.cff").write_text("url: https://example.org/pages\n")
    assert filled("{{ site }}", studies) == "https://example.org/pages"


def test_open_claims_have_the_seeds_that_would_decide_them(studies):
    header, _, *rows = filled('{{ needed_seeds("scan_and_snap") }}', studies).splitlines()
    assert header.startswith("| claim | verdict | comparison |")
    home, _ = studies
    open_claims = {
        claim
        for claim, verdict in home.verdicts.items()
        if verdict.verdict != "not tested"
        and any(item.decision == "open" for item in verdict.counted)
        and isinstance(home.jobs.claims[claim].test, Statistical)
    }
    assert open_claims
    assert {row.split("]")[0].removeprefix("| [") for row in rows} == open_claims
    with pytest.raises(InputError, match="there is no study nothing"):
        filled('{{ needed_seeds("nothing") }}', studies)


def test_the_notes_count_every_claim_once_and_show_the_headlines():
    text = (ROOT / "docs/scan_and_snap/notes.md").read_text()
    tables = [part for part in text.split("\n\n") if part.startswith("|")]
    headlines, failing, counts = tables[:3]
    cells = (cell.strip() for row in counts.splitlines()[2:] for cell in row.split("|"))
    numbers = [int(cell) for cell in cells if cell.isdigit()]
    study = JOBS.studies["scan_and_snap"]
    claims = study.registry.claims
    assert sum(numbers) == len(claims)
    headed = [claim.headline for claim in claims if claim.headline]
    assert len(headed) == len(headlines.splitlines()) - 2 == 6
    assert all(words in headlines for words in headed)
    assert not any(claim.headline for claim in claims if claim.group not in (SHOWN, THEORY))
    verdicts = read_bundle(reference_folder(ROOT, study.study.name))[0].verdicts
    named = [row.split("|")[-2].strip() for row in failing.splitlines()[2:]]
    assert named == [
        f"[{claim.id}](claims.md#{claim.id})"
        for claim in claims
        if claim.group in (SHOWN, THEORY)
        and claim.id in verdicts
        and verdicts[claim.id].verdict in {"in part", "does not hold", "open"}
    ]
