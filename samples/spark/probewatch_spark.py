#!/usr/bin/env python3
"""Scans logs with probewatch on a Spark cluster, and prints one report of all of them.

A task is a file, or a byte range of a large plain file. Partial reports are merged as a tree on the executors, so the driver gets
one. A task that fails or runs twice gives the same bytes. This program parses no log and counts nothing.
"""

import argparse
import os
import subprocess
import sys
import tempfile

from pyspark.sql import SparkSession

COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\x00")
# Everything was read, or some of the input was damaged; the report lists the damage.
FINISHED = (0, 3)


def tasks_of(path, size):
    """The tasks of a log: its path and the range, or None for the whole file."""
    if "://" in path or not os.path.isfile(path):
        return [(path, None)]
    with open(path, "rb") as log:
        is_compressed = log.read(8).startswith(COMPRESSED)
    length = os.path.getsize(path)
    if is_compressed or length <= size:
        return [(path, None)]
    starts = range(0, length, size)
    # The last range has no end: the log may grow until it is read.
    return [(path, f"{start}-{start + size if start + size < length else ''}") for start in starts]


def check(command, code):
    if code not in FINISHED:
        raise RuntimeError(f"{' '.join(command)}: exit code {code}")


def scan(probewatch, flags, cat):
    """Returns the function that scans a task into a partial report."""

    def run(task):
        path, part = task
        command = [probewatch, "scan", "-q", "-f", "partial", *flags]
        if "://" not in path:
            command += ["--range", part, path] if part else [path]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
            check(command, done.returncode)
            return done.stdout
        command += ["--source", path, "-"]
        with subprocess.Popen([*cat, path], stdout=subprocess.PIPE) as pipe:
            done = subprocess.run(command, stdin=pipe.stdout, stdout=subprocess.PIPE, check=False)
        if pipe.returncode != 0:
            raise RuntimeError(f"{' '.join(cat)} {path}: exit code {pipe.returncode}")
        check(command, done.returncode)
        return done.stdout

    return run


def merge(probewatch, flags):
    """Returns the function that merges partial reports into one."""

    def run(parts):
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for number, part in enumerate(parts):
                names.append(os.path.join(folder, str(number)))
                with open(names[-1], "wb") as file:
                    file.write(part)
            command = [probewatch, "merge", "-q", "-f", "partial", *flags, *names]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
            check(command[:6], done.returncode)
            return done.stdout

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", nargs="+", help="logs as executors open them, or URLs for --cat")
    parser.add_argument("-o", "--output", required=True, help="the partial report of all logs")
    parser.add_argument("--probewatch", default="probewatch", help="the program on the executors")
    parser.add_argument("--size", type=int, default=512 << 20, help="bytes of a range of a plain file")
    parser.add_argument("--fan-in", type=int, default=16, help="partial reports that one task merges")
    parser.add_argument("--cat", default="hdfs dfs -cat", help="the command that prints a URL")
    parser.add_argument("--flag", action="append", default=[], help="a flag for scan, such as --flag=--ipv6-prefix=64")
    args = parser.parse_args()

    tasks = [task for log in args.logs for task in tasks_of(log, args.size)]
    spark = SparkSession.builder.appName("probewatch").getOrCreate()
    numbered = spark.sparkContext.parallelize(list(enumerate(tasks)), len(tasks))
    parts = numbered.mapValues(scan(args.probewatch, args.flag, args.cat.split()))
    fan_in, merged = max(args.fan_in, 2), merge(args.probewatch, [])
    left = len(tasks)
    while left > 1:
        left = -(-left // fan_in)
        parts = parts.map(lambda part: (part[0] // fan_in, part[1])).groupByKey(left).mapValues(merged)
    [(_, whole)] = parts.collect()
    spark.stop()
    with open(args.output, "wb") as file:
        file.write(whole)


if __name__ == "__main__":
    sys.exit(main())
