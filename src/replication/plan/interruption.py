"""Ctrl-C, `kill` and a lost connection end a run in order: no lock stays, the same command goes on.

While a run is planned, each of them ends Snakemake at once. Later Ctrl-C cancels the jobs of a
cluster, and SIGTERM or SIGHUP lets running jobs finish and starts no others. A signal to the whole
group, such as that of a terminal that closes, ends the jobs of this machine by itself.
"""

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LAST_WORDS = "Interrupted. Give the same command again: it goes on from what is finished."
FAILED = "At least one job did not complete successfully."
"""Last words of Snakemake about every run that does not succeed."""
A_MOMENT = 0.05
"""Seconds in which a line is printed."""


class Interruption(logging.Filter):
    """Filter of the last words of a run that somebody interrupts."""

    def __init__(self, scheduler: Callable[[], Any]) -> None:
        """Take what returns Snakemake's scheduler, or None until there is one."""
        super().__init__()
        self.scheduler = scheduler
        self.has_come = False

    def listen(self) -> None:
        """Set what the signals do, except those that `nohup` or a shell has had ignored."""
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    signal.signal(number, self._heed)

    def _heed(self, number: int, frame: FrameType | None) -> None:
        self.has_come = True
        if _is_printing(frame):
            # Snakemake's printing swallows the end of a program: the signal comes once more.
            again = threading.Timer(A_MOMENT, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
            return
        scheduler = self.scheduler()
        if scheduler is None or number == signal.SIGINT:
            # Python would have the last words, of coroutines that nobody awaits any more.
            warnings.simplefilter("ignore")
            sys.unraisablehook = lambda _: None
            raise SystemExit(LAST_WORDS)
        # It takes a lock that this thread may have.
        threading.Thread(target=scheduler.exit_gracefully).start()

    def filter(self, record: logging.LogRecord) -> bool:
        """Say in the last words that the run was interrupted.

        Snakemake makes an error of its own of the end of a function that it has called. Its
        scheduler heeds SIGTERM by a function that waits for ever if it comes while jobs are
        counted; so listen again when there is a scheduler.
        """
        if self.has_come and any(words in str(record.msg) for words in (FAILED, LAST_WORDS)):
            record.msg = LAST_WORDS
        elif not self.has_come and self.scheduler():
            self.listen()
        return True


def _is_printing(frame: FrameType | None) -> bool:
    """Say whether a handler of `logging` is at work in a frame, or in one that called it."""
    while frame:
        if frame.f_code.co_name == logging.Handler.emit.__name__:
            return True
        frame = frame.f_back
    return False
