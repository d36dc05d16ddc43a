"""Inputs, key and resources of the workflow's rules, from the table of jobs."""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from os.path import splitext
from typing import Any

from replication.plan.jobs import Jobs
from replication.plan.orders import DocumentFile, Orders
from replication.plan.tasks import Task


@dataclass(frozen=True)
class RuleFunctions:
    """The functions of one rule, which take the wildcards of a job."""

    jobs: Jobs
    """Table of jobs."""
    keys: list[str]
    """Patterns of the paths that the table has for the job's outputs."""
    pattern: str | list[str]
    """Patterns of the rule's outputs."""
    mark: Callable[[str, bool], Any]
    """Function that marks an input for Snakemake, if the outputs may stay or not."""
    look: Callable[[dict[str, str]], bool]
    """Function that says by their paths in the table whether planned outputs may stay."""

    def inputs(self, wildcards: Any) -> list[Any]:
        """Return the files that the job reads, each once, tables as printed last."""
        patterns = [self.pattern] if isinstance(self.pattern, str) else self.pattern
        outputs = zip(_fill(patterns, wildcards), self._paths(wildcards), strict=True)
        may_stay = self.look(dict(outputs))
        return [self.mark(path, may_stay) for path in dict.fromkeys(self._read(wildcards))]

    def key(self, wildcards: Any) -> list[str]:
        """Return the keys of the job's outputs, which alone decide what is current."""
        return [self.jobs.key(path) for path in self._paths(wildcards)]

    def orders(self, wildcards: Any, input: Any, output: Any) -> DocumentFile:
        """Return the document for the program, with the files where a storage has put them."""
        read = dict.fromkeys(self._read(wildcards))
        places = dict(zip(read, map(str, input.get("shown", input)), strict=True))
        orders = [
            self.jobs.order(path, str(file), [places[each] for each in self._reads_of(path)])
            for path, file in zip(self._paths(wildcards), output, strict=False)
        ]
        # Of a figure's table; the rule of a picture reads it, that of the table writes it.
        if checksum := input.get("checksum") or output.get("checksum"):
            orders = [each.model_copy(update={"checksum": str(checksum)}) for each in orders]
        return DocumentFile(Orders(orders=orders).to_json())

    def memory(self, wildcards: Any, attempt: int) -> int:
        """Return the memory of the job in MB; more after every failure."""
        return max(task.memory for task in self._tasks(wildcards)) * attempt

    def minutes(self, wildcards: Any, attempt: int) -> int:
        """Return the limit of the run time in minutes; more after every failure."""
        return max(task.minutes for task in self._tasks(wildcards)) * attempt

    def gpus(self, wildcards: Any) -> int | None:
        """Return the number of GPUs that the job needs; none, not 0, if schedulers get no word."""
        return 1 if any(task.device == "cuda" for task in self._tasks(wildcards)) else None

    def _paths(self, wildcards: Any) -> list[str]:
        return _fill(self.keys, wildcards)

    def _tasks(self, wildcards: Any) -> list[Task]:
        return [self.jobs.tasks[path] for path in self._paths(wildcards)]

    def _read(self, wildcards: Any) -> list[str]:
        """Return the files that each program reads, one after the other."""
        return [each for path in self._paths(wildcards) for each in self._reads_of(path)]

    def _reads_of(self, path: str) -> Sequence[str]:
        task = self.jobs.tasks[path]
        return (*task.reads, *task.published)


def in_script(document: str) -> str:
    """Return the same JSON without `<`: Snakemake's report has parameters within a script."""
    return document.replace("<", r"\u003c")


def shell_words(paths: Iterable[str]) -> str:
    """Return paths as words of the shell, neighbours of a folder and kind as `runs/{1,2,3}.npz`.

    Written out, thousands of files exceed what a command may have.
    """

    def folder_and_kind(path: str) -> tuple[str, str]:
        return path[: path.rfind("/") + 1], splitext(path)[1]

    return " ".join(
        _quote(folder)
        + _braces([path.removeprefix(folder).removesuffix(kind) for path in group])
        + _quote(kind)
        for (folder, kind), group in groupby(paths, folder_and_kind)
    )


def _fill(patterns: Iterable[str], wildcards: Any) -> list[str]:
    return [pattern.format_map(dict(wildcards.items())) for pattern in patterns]


def name_pattern(names: Iterable[str]) -> str:
    """Return a pattern that matches exactly some names."""
    return "|".join(map(re.escape, names)) or "(?!)"


def _braces(stems: list[str]) -> str:
    if len(stems) == 1:
        return _quote(stems[0])
    # A comma within quotes separates nothing.
    quoted = [f"'{stem}'" if "," in stem and "'" not in stem else _quote(stem) for stem in stems]
    return "{" + ",".join(quoted) + "}"


def _quote(part: str) -> str:
    return part and shlex.quote(part)
