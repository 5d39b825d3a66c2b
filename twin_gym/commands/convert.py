"""`twin-gym convert A B`: from one workload format to another, told by the files' names."""

from __future__ import annotations

from twin_gym.commands import progress, workload_files
from twin_gym.commands.tables import console
from twin_gym.commands.words import Parser


def run(name: str, words: list[str]) -> int:
    """Carry the command out."""
    parser = Parser(
        name,
        "Convert a job log; the files' names tell the formats: .swf, .swf.gz, .parquet (keeps everything), .csv.",
        "  twin-gym convert log.swf.gz log.parquet\n"
        "  twin-gym convert jobs.csv jobs.swf.gz --capacity 1024\n"
        "  twin-gym convert log.swf clean.swf --strict        refuse a log with any defect\n"
        "  twin-gym convert job_table.parquet pm100.parquet --loader pm100",
    )
    parser.add_argument("source", help="the log to read, or what --loader reads")
    parser.add_argument("target", help="the file to write")
    parser.add_argument("--capacity", type=int, help="machine size, where the log does not say it")
    workload_files.add_loader(parser)
    parser.add_argument("--strict", action="store_true", help="refuse a log with any defect instead of repairing it")
    parser.add_argument("--overwrite", action="store_true", help="replace the target if it exists")
    given = parser.parse_args(words)
    workload_files.check_target(given.target, overwrite=given.overwrite)
    options = {"capacity": given.capacity, "strict": given.strict or None}
    options |= workload_files.loader_options(given.set)
    with progress.bar(f"Reading {given.source}") as report:
        workload = workload_files.read(given.source, options, given.loader, report)
    workload_files.write(workload, given.target)
    out = console()
    out.print(f"{workload.report}", markup=False, soft_wrap=True)
    out.print(f"{len(workload):,} jobs written to {given.target}", markup=False, soft_wrap=True)
    return 0
