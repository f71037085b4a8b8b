"""Collects what was measured and makes the table of it. Knows no broker."""
import collections
import datetime
import os
import platform
import shlex
import statistics
import subprocess

from harness.paths import REPOSITORY


class Samples:
    """Values by group, figure and kind of broker, in the order in which they first came."""

    def __init__(self):
        self.groups = collections.defaultdict(dict)

    def add(self, group, kind, figures):
        for name, value in figures.items():
            self.groups[group].setdefault(name, collections.defaultdict(list))[kind].append(value)


def markdown(groups, samples, failures, arguments, seconds):
    command = shlex.join(["benches/versus-kafka", *arguments])
    lines = [
        "# Ottla and Apache Kafka 4.4.0 on one machine",
        "",
        f"Made by `{command}` on {datetime.date.today().isoformat()}, commit {commit()}, in {seconds / 60:.0f} minutes, on {machine()}.",
        "Both brokers ran in turns on the same disk, each round on an empty directory, with their default settings (Kafka with the Java options of its",
        "start scripts). A cell is the median, with the least and the greatest of several rounds in brackets. The ratio is Kafka's median divided by",
        "Ottla's: above 1, Ottla needs less; for records/s, below 1, Ottla does more.",
        "",
    ]
    for group in groups:
        lines += [f"## {group.title}", "", "| figure | Kafka | Ottla | Kafka / Ottla |", "|---|---:|---:|---:|"]
        lines += [row(name, kinds) for name, kinds in samples.groups[group.name].items()] + [""]
    if failures:
        lines += ["## What failed", ""] + [f"- {line.splitlines()[0]}" for line in failures] + [""]
    return "\n".join(lines)


def row(name, kinds):
    kafka, ottla = kinds.get("kafka"), kinds.get("ottla")
    ratio = "-"
    if kafka and ottla and statistics.median(ottla) > 0:
        ratio = number(statistics.median(kafka) / statistics.median(ottla))
    return f"| {name} | {cell(kafka)} | {cell(ottla)} | {ratio} |"


def cell(values):
    if not values:
        return "failed"
    if len(values) == 1:
        return number(values[0])
    return f"{number(statistics.median(values))} ({number(min(values))} - {number(max(values))})"


def number(value):
    """Three digits that mean something, thousands set apart."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3g}"


def commit():
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip() or "unknown"


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{os.cpu_count()} cores of {model}, {memory_gb:.0f} GB of memory, Linux {platform.release()}"
