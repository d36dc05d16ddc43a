"""A run that somebody interrupts ends in order, and says so last."""

import logging
import os
import pty
import shlex
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import FIGURE, PATIENCE, Template
from faults.evidence import interruptible

from replication.plan.interruption import FAILED, LAST_WORDS, SIGNALS, Interruption

GENTLE = tuple({*SIGNALS} - {signal.SIGINT})


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, function in before.items():
        signal.signal(number, function)


def listening(scheduler: object = None) -> Interruption:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    interruption = Interruption(lambda: scheduler)
    interruption.listen()
    return interruption


def last_words(interruption: Interruption) -> str:
    record = logging.LogRecord("", logging.ERROR, "", 0, f"WorkflowError:\n{FAILED}", (), None)
    assert interruption.filter(record)
    return str(record.msg)


@pytest.mark.parametrize("number", SIGNALS)
def test_planning_ends_at_once(number):
    interruption, before = listening(), sys.unraisablehook
    with pytest.raises(SystemExit, match=LAST_WORDS):
        signal.raise_signal(number)
    assert last_words(interruption) == LAST_WORDS
    # Python tells of a coroutine that nobody awaits, unless it is silent by now.
    warnings.warn("never awaited", RuntimeWarning, stacklevel=1)
    assert sys.unraisablehook is not before


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_a_line_is_printed_is_not_lost(number):
    """Snakemake's handler ends at an exception of this kind, and says nothing."""

    class Printing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with suppress(SystemExit):
                signal.raise_signal(number)

    interruption = listening()
    Printing().handle(logging.LogRecord("", logging.INFO, "", 0, "Building DAG", (), None))
    with pytest.raises(SystemExit, match=LAST_WORDS):
        time.sleep(PATIENCE)
    assert interruption.has_come


@pytest.mark.parametrize("number", GENTLE)
def test_running_jobs_may_finish_wherever_the_signal_comes(number):
    """Snakemake takes a lock that the interrupted code may have: in this thread, that is no end."""
    asked, lock = threading.Event(), threading.Lock()

    def exit_gracefully() -> None:
        with lock:
            asked.set()

    interruption = listening(SimpleNamespace(exit_gracefully=exit_gracefully))
    assert last_words(interruption) != LAST_WORDS
    with lock:
        signal.raise_signal(number)
    assert asked.wait(60)
    assert last_words(interruption) == LAST_WORDS


def test_the_function_of_the_scheduler_is_replaced_and_an_error_of_the_end_is_no_error():
    found = []
    interruption = Interruption(lambda: found and found[0])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    last_words(interruption)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    found.append(SimpleNamespace(exit_gracefully=lambda: None))
    assert last_words(interruption) != LAST_WORDS
    signal.raise_signal(signal.SIGTERM)
    said = f"InputFunctionException:\n  SystemExit: {LAST_WORDS}\nWildcards:"
    record = logging.LogRecord("", logging.ERROR, "", 0, said, (), None)
    assert interruption.filter(record)
    assert record.msg == LAST_WORDS


def test_ctrl_c_does_not_wait_for_jobs():
    listening(SimpleNamespace())
    with pytest.raises(SystemExit):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", SIGNALS)
def test_what_nohup_has_ignored_stays_ignored(number):
    signal.signal(number, signal.SIG_IGN)
    interruption = Interruption(lambda: None)
    interruption.listen()
    assert signal.getsignal(number) == signal.SIG_IGN
    signal.raise_signal(number)
    assert not interruption.has_come


def test_another_thread_cannot_listen_and_goes_on():
    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=Interruption(lambda: None).listen)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("SIGHUP", "Training "),
        *(
            pytest.param(name, line, marks=pytest.mark.campaign)
            for name in ("SIGINT", "SIGTERM", "SIGHUP")
            for line in ("extended by", "Building DAG", "Job stats", "Execute", "Training ")
        ),
    ],
)
def test_a_signal_to_all_processes_leaves_no_lock(template: Template, name: str, line: str):
    template.one_seed_per_job()
    with interruptible():
        process = template.start(FIGURE)
    assert process.stdout
    while line not in process.stdout.readline():
        assert process.poll() is None
    os.killpg(process.pid, signal.Signals[name])
    output, _ = process.communicate()
    assert output.strip().endswith(LAST_WORDS), output
    assert process.returncode == 1
    assert not list(template.folder.glob(".snakemake/locks/*"))


@pytest.mark.campaign
def test_a_terminal_that_closes_ends_a_run_in_order(template: Template):
    """The shell of the terminal tells its jobs; messages cannot be written any more."""
    template.one_seed_per_job()
    command = shlex.join(template.command(FIGURE))
    process, terminal = pty.fork()
    if not process:
        os.chdir(template.folder)
        os.execvpe("bash", ["bash", "--norc", "-ic", f"{command}; true"], template.environment)
    while b"Job " not in os.read(terminal, 4096):
        pass
    os.close(terminal)
    os.waitpid(process, 0)
    log = wait_for(lambda: next(template.folder.glob(".snakemake/log/*.log"), None))
    wait_for(lambda: LAST_WORDS in log.read_text())
    wait_for(lambda: not list(template.folder.glob(".snakemake/locks/*")))
    template.run(FIGURE)


@pytest.mark.campaign
def test_nohup_has_a_run_go_on(template: Template):
    process = subprocess.Popen(
        ["nohup", *template.command(FIGURE)],
        cwd=template.folder,
        env=template.environment,
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout
    while "Job " not in process.stdout.readline():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGHUP)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert (template.folder / FIGURE).is_file()


def wait_for(condition: Callable[[], Any]) -> Any:
    """What a condition returns when it comes true."""
    for _ in range(6000):
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError("waited in vain")
