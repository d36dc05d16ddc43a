"""Programs that start in a copy of a process which has their libraries at hand.

To import Snakemake, pandas or Matplotlib takes longer than what a program does with a small
project. What starts so behaves like a Python of its own: its folder, environment and output are
those it was given, and the project's own modules are imported anew, from its own folder.
"""

import contextlib
import gc
import importlib
import json
import logging
import os
import runpy
import select
import shutil
import signal
import socket
import sys
import tempfile
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from replication.base.process import FLAGS

OWN = {"replication", "transformer_dynamics"}
COMMON = (
    "matplotlib.backends.backend_pdf", "matplotlib.backends.backend_svg", "matplotlib.pyplot",
    "docutils.core", "docutils.parsers.rst.states", "jinja2", "pyarrow.parquet", "scipy.stats",
    "smart_open", "snakemake.benchmark", "snakemake.cli", "snakemake.profiles",
    "snakemake.report.html_reporter", "snakemake.workflow", "snakemake_logger_plugin_rich",
    "snakemake_storage_plugin_fs", "torch",
)  # fmt: skip
"""What is imported for all before the first program starts."""
OF_ENCODERS = (
    "safetensors.torch", "tokenizers", "transformers.models.auto.modeling_auto",
    "transformers.models.bert.modeling_bert", "transformers.models.dinov2.modeling_dinov2",
    "transformers.models.efficientnet.modeling_efficientnet",
)  # fmt: skip
"""What is imported, too, if it is installed. PyTorch chooses instructions at its first computation,
which is none of an import, so that every copy chooses its own."""
CLIENT = """\
#!{python} -IS
import json, os, socket, sys

flags = {flags}
words = sys.argv[1:]
if words[:len(flags)] == flags:
    words = words[len(flags):]
if words[:1] != ["-m"]:
    os.execv("{python}", ["{python}", *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect("{address}")
    told = [words[1:], os.getcwd(), dict(os.environ)]
    socket.send_fds(server, [b"-"], [0, 1, 2])
    server.sendall(json.dumps(told).encode())
    server.shutdown(socket.SHUT_WR)
    code = int(server.recv(9))
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


class Pythons:
    """Starts programs, and in place of `python` what they start, by a server in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "python"
        self._address = str(folder / "socket")

    def run(
        self, words: Sequence[str], folder: Path, environment: dict[str, str]
    ) -> tuple[int, str]:
        """Exit status and output of `python -m` with these words."""
        told = json.dumps([[*words], str(folder), environment])
        with (
            socket.socket(socket.AF_UNIX) as server,
            tempfile.TemporaryFile("w+") as stream,
            open(os.devnull) as nothing,
        ):
            server.connect(self._address)
            socket.send_fds(server, [b"-"], [nothing.fileno(), *[stream.fileno()] * 2])
            server.sendall(told.encode())
            server.shutdown(socket.SHUT_WR)
            code = int(server.recv(9))
            stream.seek(0)
            return code, stream.read()


class Server(Pythons):
    """A process that serves while its maker is there.

    It should begin before a test has changed what programs share.
    """

    def __init__(self) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="pythons-")))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self._address)
        listener.listen(64)
        text = CLIENT.format(python=sys.executable, address=self._address, flags=[*FLAGS])
        self.python.write_text(text)
        self.python.chmod(0o755)
        reader, self._open = os.pipe()  # ends with this process
        with warnings.catch_warnings():
            # Of threads: the copy has none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._server = os.fork()
        if not self._server:
            with contextlib.suppress(BaseException):
                os.close(self._open)
                for number in (0, 1, 2):
                    os.dup2(os.open(os.devnull, os.O_RDWR), number)
                _serve(listener, reader)
            os._exit(0)
        os.close(reader)
        listener.close()

    def end(self) -> None:
        """Wait for it, so that the time it took counts as that of the tests."""
        os.close(self._open)
        os.waitpid(self._server, 0)
        shutil.rmtree(self.folder)


def _serve(listener: socket.socket, end: int) -> None:
    warnings.simplefilter("ignore", DeprecationWarning)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    python = Path(str(listener.getsockname())).with_name("python")
    running: set[int] = set()
    while end not in select.select([listener, end], [], [])[0]:
        running -= {child for child in running if os.waitpid(child, os.WNOHANG)[0]}
        connection, _ = listener.accept()
        if not running:
            for name in COMMON:
                importlib.import_module(name)
            with contextlib.suppress(ModuleNotFoundError):
                for name in OF_ENCODERS:
                    importlib.import_module(name)
            gc.freeze()  # what is collected later is looked through, and so copied, no more
        if not (child := os.fork()):
            listener.close()
            _run_for(connection, python)
        running.add(child)
        connection.close()
    for child in running:
        os.waitpid(child, 0)


def _run_for(connection: socket.socket, python: Path) -> NoReturn:
    """Run one program and tell how it ended; it ends with the one that asked for it."""
    try:
        _, streams, *_ = socket.recv_fds(connection, 1, 3)
        told = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        words, folder, environment = json.loads(told)
        if not (child := os.fork()):
            sys.executable = str(python)
            _become(words, Path(folder), environment, streams)
        ends = select.poll()
        ended = os.pidfd_open(child)
        ends.register(ended, select.POLLIN)
        ends.register(connection, 0)  # a hang-up is told in any case
        if ended not in dict(ends.poll()):
            os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    finally:
        os._exit(0)


def _become(
    words: Sequence[str], folder: Path, environment: dict[str, str], streams: Sequence[int]
) -> NoReturn:
    """Be `python -m` with these words from here on."""
    code: object = 0
    module, *_ = words
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
        sys.argv = [*words]
        sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
        for name in [*sys.modules]:
            if name.partition(".")[0] in OWN:
                del sys.modules[name]
        importlib.invalidate_caches()
        logging.getLogger().handlers.clear()
        warnings.resetwarnings()
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else bool(code))
