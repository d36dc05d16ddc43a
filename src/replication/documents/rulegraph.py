"""The rules behind a file, drawn as SVG: the programs that each runs, and how often."""

from collections.abc import Iterator
from html import escape

from replication.plan.cost import count_jobs
from replication.plan.jobs import Jobs
from replication.plan.tasks import Task

WIDTH, GAP, MARGIN, LINE = 150, 34, 16, 18
"""Width of a box, gap between boxes, margin around all and height of a line, in pixels."""


def rulegraph(jobs: Jobs, path: str) -> str:
    """Return an SVG of the rules behind one file, each reading the one on its left.

    Args:
        jobs: the table of jobs.
        path: path of the file in the table; a figure's has no ending.
    """
    boxes = _box_texts(jobs, path)
    width = 2 * MARGIN + len(boxes) * (WIDTH + GAP) - GAP
    height = (1 + max(map(len, boxes))) * LINE
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 2 * MARGIN}"'
            f' width="{width}" font-family="sans-serif" font-size="12" text-anchor="middle">',
            f"<title>The rules behind {escape(path)}</title>",
            '<rect width="100%" height="100%" fill="white"/>',
            *(
                line
                for number, box in enumerate(boxes)
                for line in _draw_box(box, MARGIN + number * (WIDTH + GAP), height)
            ),
            "</svg>\n",
        ]
    )


def _box_texts(jobs: Jobs, path: str) -> list[list[str]]:
    """Return the lines of each box, in the order of the flow: rule, programs and number of jobs."""
    tasks = dict(jobs.closure([path]))
    depths: dict[str, int] = {}
    # In the table a file stands after those that it is made from.
    for made, task in jobs.tasks.items():
        if made in tasks:
            depths[made] = 1 + max((depths.get(read, 0) for read in task.reads), default=0)
    rules: dict[str, list[Task]] = {}
    for made in sorted(depths, key=depths.__getitem__):
        rules.setdefault(tasks[made].stage, []).append(tasks[made])
    return [
        [
            rule,
            *sorted({_program_file(jobs, task.program) for task in made}),
            count_jobs(len(made)),
        ]
        for rule, made in rules.items()
    ]


def _program_file(jobs: Jobs, program: str) -> str:
    """Return a program's file, in the study's folder or the engine's."""
    folders = (f"{study.study.package}." for study in jobs.studies.values())
    folder = next((name for name in folders if program.startswith(name)), "")
    return program.removeprefix(folder).replace(".", "/") + ".py"


def _draw_box(box: list[str], x: int, height: int) -> Iterator[str]:
    rule, *lines = box
    middle = MARGIN + height // 2
    if x > MARGIN:
        yield f'<path d="M{x - GAP} {middle}H{x - 8}" stroke="#4a6785"/>'
        yield f'<path d="M{x} {middle}l-9 -4v8z" fill="#4a6785"/>'
    yield (
        f'<rect x="{x}" y="{MARGIN}" width="{WIDTH}" height="{height}" rx="6" fill="#eef3f8"'
        ' stroke="#4a6785"/>'
    )
    x, y = x + WIDTH // 2, MARGIN + LINE + 6
    yield f'<text x="{x}" y="{y}" font-size="14" font-weight="bold">{escape(rule)}</text>'
    for number, text in enumerate(lines, start=1):
        yield f'<text x="{x}" y="{y + number * LINE}">{escape(text)}</text>'
