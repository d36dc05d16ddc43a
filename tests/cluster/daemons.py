"""A real Slurm of one node on this machine, without systemd and without a file in /etc."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil
from conftest import PATIENCE

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "srun")
INSTALL = "apt-get install --no-install-recommends slurmctld slurmd slurm-client munge"
SEARCHED = f"{os.environ['PATH']}:/usr/sbin"
SECONDS_UNTIL_NODE_IS_LOST = 10

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
# The node may claim more processors and memory than it has.
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
# A job that takes more memory than it asked for is killed; looked at every second.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
GresTypes=gpu
EnforcePartLimits=ALL
ReturnToService=2
SlurmdTimeout={node_timeout}
MinJobAge=3600
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=16000 Gres=gpu:1 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=1440 State=UP
"""
# The plugin takes SLURM_CONF out of the environment of the srun that it starts inside a job.
SRUN = """\
#!/bin/sh
SLURM_CONF={folder}/slurm.conf exec {srun} "$@"
"""


def why_not() -> str | None:
    """Why no Slurm can be brought up here, if so."""
    if os.geteuid() != 0:
        return "its daemons are started as root"
    absent = [name for name in PROGRAMS if not shutil.which(name, path=SEARCHED)]
    return f"there is no {', '.join(absent)} ({INSTALL})" if absent else None


class Job(NamedTuple):
    """What Slurm remembers of a job, also when it is over."""

    number: str
    state: str
    work: str
    """The comment that names rule and wildcards."""


class Slurm:
    """Munge, Slurm's controller and one node with 8 processors and a GPU by name."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        # Munge takes its socket only where others can reach it.
        self.folder.chmod(0o755)
        self.conf = self.folder / "slurm.conf"
        self.environment = {
            "SLURM_CONF": str(self.conf),
            "PATH": f"{self.folder}/bin:{SEARCHED}",
        }
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        host = socket.gethostname().split(".")[0]
        for name in ("state", "spool", "bin"):
            (self.folder / name).mkdir()
        self.conf.write_text(
            CONFIGURATION.format(
                host=host,
                folder=self.folder,
                controller_port=free_port(),
                node_port=free_port(),
                node_timeout=SECONDS_UNTIL_NODE_IS_LOST,
            )
        )
        (self.folder / "gres.conf").write_text(f"NodeName={host} Name=gpu File=/dev/null\n")
        wrapper = self.folder / "bin/srun"
        wrapper.write_text(
            SRUN.format(folder=self.folder, srun=shutil.which("srun", path=SEARCHED))
        )
        wrapper.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)

    def start(self) -> None:
        """Bring everything up and wait until the node takes jobs."""
        self._start(
            "munged",
            "--foreground",
            *(f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "pid", "seed")),
            f"--socket={self.folder}/munge.socket",
        )
        self._wait_until((self.folder / "munge.socket").exists, "munged makes its socket")
        self.start_controller()
        self.start_node()

    def start_controller(self) -> None:
        """Start Slurm's controller, which remembers its jobs if it ran before."""
        self._start("slurmctld", "-D", "-i", "-f", str(self.conf))

    def start_node(self) -> None:
        """Start the node and wait until it takes jobs."""
        self._start("slurmd", "-D", "-f", str(self.conf))
        usable = {"idle", "mixed", "allocated"}
        self._wait_until(
            lambda: self.ask("sinfo", "-h", "-o", "%T") in usable, "the node takes jobs"
        )

    def kill_controller(self) -> None:
        """Kill Slurm's controller outright."""
        self._kill("slurmctld")

    def kill_node(self) -> None:
        """What a power failure does: the node is gone with all that ran on it."""
        self._kill("slurmd")
        for process in self.processes_of_jobs():
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def stop(self) -> None:
        """End everything that was started, and forget it."""
        self.ask("scancel", "--user=root")
        with suppress(AssertionError):
            wait_until(lambda: not self.ask("squeue", "-h"), "its jobs end", 15)
        for daemon in reversed(list(self._daemons.values())):
            daemon.terminate()
        for name in list(self._daemons):
            with suppress(subprocess.TimeoutExpired):
                self._daemons[name].wait(10)
            self._kill(name)
        for process in self.processes_of_jobs():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        shutil.rmtree(self.folder)

    def ask(self, *command: str) -> str:
        """What a command of Slurm prints; nothing where it does not answer."""
        done = subprocess.run(
            command,
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip()

    def jobs(self, folder: Path) -> list[Job]:
        """All jobs that were submitted from a folder, in the order of their numbers."""
        table = self.ask("squeue", "--noheader", "--states=all", "--format=%i|%T|%k|%Z")
        rows = [line.split("|") for line in table.splitlines()]
        jobs = [Job(*row[:3]) for row in rows if row[3] == str(folder)]
        return sorted(jobs, key=lambda job: int(job.number))

    def processes_of_jobs(self) -> list[psutil.Process]:
        """What runs on the node, Slurm's own step daemons first."""
        own = f"SLURM_CONF={self.conf}\0".encode()
        found = []
        for process in psutil.process_iter(["name"]):
            with suppress(OSError):
                environment = Path(f"/proc/{process.pid}/environ").read_bytes()
                daemon = process.info["name"] == "slurmstepd"
                if own in environment and (daemon or b"\0SLURM_JOB_ID=" in environment):
                    found.append(process)
        return sorted(found, key=lambda process: process.info["name"] != "slurmstepd")

    def program(self, folder: str) -> psutil.Process | None:
        """A process of a job that makes a file in a folder."""
        for process in self.processes_of_jobs():
            with suppress(psutil.Error):
                name, *words = process.cmdline() or [""]
                is_python = Path(name).name.startswith("python")
                if (
                    is_python
                    and "--job" in words
                    and words[words.index("--job") + 2].startswith(folder)
                ):
                    return process
        return None

    def _start(self, name: str, *options: str) -> None:
        program = shutil.which(name, path=SEARCHED)
        assert program
        with (self.folder / f"{name}.log").open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                [program, *options],
                env=os.environ | self.environment,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
            )

    def _wait_until(self, condition: Callable[[], object], what: str) -> None:
        def holds() -> object:
            for name, daemon in self._daemons.items():
                said = (self.folder / f"{name}.log").read_text
                assert daemon.poll() is None, f"{name} has ended: {said()}"
            return condition()

        wait_until(holds, what)

    def _kill(self, name: str) -> None:
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()


@contextmanager
def running_slurm() -> Iterator[Slurm]:
    """A fresh Slurm that is taken down in the end, whatever happens."""
    slurm = Slurm()
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()


def free_port() -> int:
    """A port of this machine on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_until(condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Wait until something holds.

    Raises:
        AssertionError: if it does not in time.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain until {what}"
        time.sleep(0.05)
