#!/usr/bin/env python3
"""Scans logs with probewatch on a Spark cluster and writes one report, equal to that of one scan of all files.

A task is a file, or a byte range of a large plain file. Each task makes a partial report. Partial reports are merged as a tree on the
executors, and the driver renders the last one. This program parses no line and counts nothing: a task that runs twice gives the same
bytes, and Spark uses one result of each task.
"""

import argparse
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback

from pyspark import SparkContext, SparkFiles

COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\x00")
# How many times larger a compressed log usually is without compression. Used only to start large tasks first.
RATIO = 10
# Exit codes with a complete report: 1 means that --fail-on applies, 3 that a log is damaged, which the report lists.
FINISHED = (0, 1, 3)
# An age counts back from the start of each task, so tasks would differ.
AGE = re.compile(r"--(since|until|newer-than)[= ]\s*\d+[a-z]")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def is_url(path):
    return "://" in path and not path.startswith("file:")


def size(text):
    """A number of bytes, such as 512M."""
    return int(text[:-1]) * UNITS[text[-1]] if text[-1:] in UNITS else int(text)


def options(text):
    if AGE.search(text):
        raise argparse.ArgumentTypeError("give a date, not an age: an age is another time in each task")
    return shlex.split(text)


def files(arguments):
    """The files that paths, globs and folders lead to, each once."""
    found = {}
    for argument in arguments:
        path = os.path.abspath(argument.removeprefix("file://"))
        matches = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
        if not matches:
            raise FileNotFoundError(f"{argument}: no such file")
        for match in matches:
            below = [os.path.join(folder, name) for folder, _, names in os.walk(match) for name in names]
            for file in sorted(below) if os.path.isdir(match) else [match]:
                status = os.stat(file)
                found.setdefault((status.st_dev, status.st_ino), file)
    return found.values()


def remote_files(spark, url):
    """The sizes and names of the files that a URL, a glob or a folder of another store leads to."""
    path = spark._jvm.org.apache.hadoop.fs.Path(url)
    store = path.getFileSystem(spark._jsc.hadoopConfiguration())
    matches = store.globStatus(path)
    if not matches:
        raise FileNotFoundError(f"{url}: no such file")
    for match in matches:
        below = store.listFiles(match.getPath(), True)
        while below.hasNext():
            file = below.next()
            yield file.getLen(), file.getPath().toString()


def tasks_of(path, chunk):
    """The tasks of a file: the bytes to read, its path, and its range or None."""
    length = os.path.getsize(path)
    with open(path, "rb") as log:
        if log.read(8).startswith(COMPRESSED):
            return [(length * RATIO, path, None)]
    if length <= chunk:
        return [(length, path, None)]
    # The last range has no end: the log may grow before it is read.
    ends = [*range(chunk, length, chunk), None]
    return [(min(chunk, length - at * chunk), path, f"{at * chunk}-{end or ''}") for at, end in enumerate(ends)]


def run(name, command, **stdin):
    """The output of a command. If it fails, an error with `name` and what the command printed about it."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **stdin)
    errors = done.stderr.decode(errors="replace")
    if done.returncode not in FINISHED:
        raise RuntimeError(f"{name}: probewatch {command[1]} ended with {done.returncode}: {errors.strip()}")
    sys.stderr.write(errors)
    return done.stdout


class Probewatch:
    """What executors do. The program is a file that Spark sends to them."""

    def __init__(self, name, scan_options, cat):
        self.name, self.scan_options, self.cat = name, scan_options, cat

    def command(self, *words):
        return [SparkFiles.get(self.name), *words]

    def scan_command(self, *words):
        return self.command("scan", "-q", "--threads", "1", "-f", "partial", *self.scan_options, *words)

    def scan_file(self, task):
        """The partial report of a file or range that executors can open."""
        _, path, part = task
        # A scan reports a missing file and goes on. Here the task fails, and Spark runs it again, if possible on another host.
        with open(path, "rb"):
            return run(path, self.scan_command(*(["--range", part] if part else []), path))

    def scan_bytes(self, file):
        """The partial report of a file of another store, which Spark has read."""
        url, content = file
        return run(url, self.scan_command("--source", url, "-"), input=content)

    def scan_stream(self, task):
        """The partial report of a file of another store, which a command prints."""
        _, url = task
        with subprocess.Popen([*self.cat, url], stdout=subprocess.PIPE) as source:
            report = run(url, self.scan_command("--source", url, "-"), stdin=source.stdout)
        if source.returncode != 0:
            raise RuntimeError(f"{url}: {self.cat[0]} ended with {source.returncode}")
        return report

    def merge(self, reports):
        """One partial report of several, or nothing of nothing. Sorted, because they arrive in any order: above the limits of an
        exact report, the order decides which rows of few hits stay."""
        reports = sorted(reports)
        if len(reports) < 2:
            return reports
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, str(number)) for number in range(len(reports))]
            for name, report in zip(names, reports):
                with open(name, "wb") as file:
                    file.write(report)
            return [run(f"{len(names)} partial reports", self.command("merge", "-q", "-f", "partial", *names))]


def scanned(spark, probewatch, arguments):
    """The partial reports of all tasks, the largest tasks first: started last, they would run when the others have ended."""
    urls = [log for log in arguments.logs if is_url(log)]
    tasks = [task for path in files(log for log in arguments.logs if not is_url(log)) for task in tasks_of(path, arguments.chunk)]
    tasks.sort(key=lambda task: -task[0])
    parts = []
    if tasks:
        parts.append(spark.parallelize(tasks, len(tasks)).map(probewatch.scan_file))
    if urls and arguments.cat:
        remote = sorted({file for url in urls for file in remote_files(spark, url)}, reverse=True)
        parts.append(spark.parallelize(remote, len(remote)).map(probewatch.scan_stream))
    elif urls:
        parts.append(spark.binaryFiles(",".join(urls)).map(probewatch.scan_bytes))
    return spark.union(parts)


def merged(parts, probewatch, fan_in):
    """One partial report, by merges of at most `fan_in` partitions."""
    parts = parts.mapPartitions(probewatch.merge)
    while parts.getNumPartitions() > 1:
        left = -(-parts.getNumPartitions() // fan_in)
        numbered = parts.mapPartitionsWithIndex(lambda index, reports: [(index // fan_in, report) for report in reports])
        parts = numbered.partitionBy(left, int).values().mapPartitions(probewatch.merge)
    return parts.collect()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", nargs="+", help="files, globs and folders that all hosts can open, or URLs")
    parser.add_argument("-o", "--output", required=True, help="the report, a file of the driver")
    parser.add_argument("-f", "--format", default="json", help="json, csv, table, html, or partial [json]")
    parser.add_argument("--probewatch", default=shutil.which("probewatch"), help="the program, which executors get a copy of")
    parser.add_argument("--chunk", type=size, default="512M", help="size of the ranges of a large plain file [512M]")
    parser.add_argument("--fan-in", type=int, default=16, help="how many partial reports a task merges [16]")
    parser.add_argument("--cat", type=shlex.split, help="command that prints a URL; without it Spark reads the file into memory")
    parser.add_argument("--scan", type=options, default="", help="more options for scan: --scan='--trusted-proxy 10.0.0.0/8'")
    parser.add_argument("--merge", type=options, default="", help="more options for the last merge: --merge='--fail-on high'")
    arguments = parser.parse_args()
    if not arguments.probewatch:
        parser.error("probewatch is not in PATH; --probewatch names it")
    if arguments.chunk < 1 or arguments.fan_in < 2:
        parser.error("--chunk must be at least 1, --fan-in at least 2")
    return arguments


def main():
    arguments = parse_arguments()
    spark = SparkContext.getOrCreate()
    spark.addFile(os.path.abspath(arguments.probewatch))
    probewatch = Probewatch(os.path.basename(arguments.probewatch), arguments.scan, arguments.cat)
    [report] = merged(scanned(spark, probewatch, arguments), probewatch, arguments.fan_in)
    spark.stop()
    with tempfile.NamedTemporaryFile() as file:
        file.write(report)
        file.flush()
        command = [os.path.abspath(arguments.probewatch), "merge", "-f", arguments.format, "-o", arguments.output]
        return subprocess.call([*command, *arguments.merge, file.name])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:
        traceback.print_exc()
        # 1 is the exit code of --fail-on.
        sys.exit(2)
