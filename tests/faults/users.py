"""Several people, or one in several windows, run the same targets at the same time."""

from conftest import Project

from faults.evidence import FIGURE, NOTHING_LEFT, Ledger, Run, forget, scale, undisturbed
from faults.outcome import Outcome

REFUSAL = "Directory cannot be locked."


def two_users(project: Project, times: int = 3, quick: bool = True) -> Outcome:
    """A second run of the same targets in the same folder, while the first one works."""
    return beside(project, times, quick, others=[])


def three_users(project: Project, times: int = 3, quick: bool = False) -> Outcome:
    """As `two_users`, but between them a run of another target came and went."""
    return beside(project, times, quick, others=["figures/fig1.csv"])


def beside(project: Project, times: int, quick: bool, others: list[str]) -> Outcome:
    """Start the same command again while it runs, after runs of other targets."""
    ledger = Ledger(project.folder, undisturbed(quick))
    recoveries = []
    for _ in range(times):
        first = Run(project, FIGURE, quick=quick)
        first.wait_for_a_job()
        for other in others:
            Run(project, other, quick=quick).succeed()
            for path in project.folder.glob("**/fig1.*"):
                path.unlink()
        second = Run(project, FIGURE, quick=quick)
        second.wait_for_a_step()
        assert first.process.poll() is None, "the first run was too fast to be met"
        for run in (first, second):
            run.ended()
        recoveries.append(settle(project, ledger, [first, second], quick))
    what = "same targets, same folder, one after the other"
    if others:
        what += ", another target in between"
    where = f"{FIGURE}, {scale(quick)}: while its jobs run"
    return ledger.outcome(what, where, times, recoveries)


def same_instant(project: Project, times: int = 10, quick: bool = True) -> Outcome:
    """Two runs of the same targets in the same folder that start at the same moment."""
    ledger = Ledger(project.folder, undisturbed(quick))
    recoveries = []
    for _ in range(times):
        both = [Run(project, FIGURE, quick=quick) for _ in range(2)]
        for run in both:
            run.ended()
        recoveries.append(settle(project, ledger, both, quick))
    where = f"{FIGURE}, small: the same command twice at once"
    return ledger.outcome("same targets, same folder, same moment", where, times, recoveries)


def settle(project: Project, ledger: Ledger, runs: list[Run], quick: bool) -> float:
    """Count runs that have ended; then the refused one starts again and has nothing to do."""
    refused = [run for run in runs if run.process.returncode]
    assert all(REFUSAL in run.text for run in refused), refused[0].text
    ledger.enter(*runs)
    again = Run(project, FIGURE, quick=quick).succeed()
    ledger.enter(again)
    ledger.complete()
    if refused:
        assert NOTHING_LEFT in again.text
    forget(project)
    ledger.start_over()
    assert again.goes_on
    return again.goes_on - again.began


def two_clones(project: Project, quick: bool = True) -> Outcome:
    """The same targets at the same time in two copies of the project, side by side."""
    expected = undisturbed(quick)
    clones = [Project(project.folder / name).one_seed_per_job() for name in ("one", "other")]
    runs = [Run(clone, FIGURE, quick=quick) for clone in clones]
    ledgers = [Ledger(clone.folder, expected) for clone in clones]
    recoveries = []
    for clone, run, ledger in zip(clones, runs, ledgers, strict=True):
        ledger.enter(run.succeed())
        again = Run(clone, FIGURE, quick=quick).succeed()
        ledger.enter(again)
        ledger.complete()
        assert again.goes_on
        recoveries.append(again.goes_on - again.began)
    counts = [sum(column) for column in zip(*map(counted, ledgers), strict=True)]
    where = f"{FIGURE}, small: two copies"
    return Outcome("same targets, two clones, same moment", where, 1, *counts, max(recoveries))


def counted(ledger: Ledger) -> tuple[int, int, int]:
    """What a ledger has counted so far."""
    return ledger.lost, ledger.duplicated, ledger.corrupt
