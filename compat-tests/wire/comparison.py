"""Runs an area's cases on a broker, keeps Kafka's transcripts, and finds the differences of Ottla's."""
import hashlib
import json
import time
import traceback

from harness.paths import COMPAT, cache
from harness.registry import Check
from wire.accepted import accepted_reason
from wire.masking import Masker
from wire.session import Wire
from wire.tool import SOURCES, WireTool

DIFFERENCES_SHOWN = 8
AREA_LIMIT_S = 600
ABSENT = "(absent)"
ELEMENT_KEYS = ("name", "apiKey", "topic", "partitionIndex", "index", "groupId", "memberId", "baseOffset", "offset", "nodeId", "key")


def transcripts(area, broker):
    """{case name: masked transcript} of all of an area's cases; a case that broke off ends with an `error` entry."""
    tool = WireTool()
    deadline = time.monotonic() + AREA_LIMIT_S
    try:
        return {name: transcript(tool, broker, name, function, deadline) for name, function in area.expand(tool.versions)}
    finally:
        tool.close()


def transcript(tool, broker, name, function, deadline):
    wire = Wire(tool, broker, name)
    if time.monotonic() > deadline:
        wire.note("error", {"text": f"not run: the area has taken {AREA_LIMIT_S} s"})
        return wire.transcript
    try:
        function(wire)
    except Exception as error:  # whatever breaks a case is that case's outcome; the others still run
        where = traceback.extract_tb(error.__traceback__)[-1]
        wire.note("error", {"text": f"{type(error).__name__} at {where.filename.rsplit('/', 1)[-1]}:{where.lineno}: {error}"})
    finally:
        wire.close()
    result = Masker(broker).mask(wire.transcript)
    if broker.process.poll() is not None:
        result.append(["error", {"text": f"the broker process ended with {broker.process.returncode}:\n{broker.log_tail(8)}"}])
        broker.start()
    return result


def broke_off(transcript_of_case):
    return next((outcome["text"] for label, outcome in transcript_of_case if label == "error"), None)


def answers_file(area):
    """Where Kafka's transcripts of an area are kept; another file when the cases, the tool or the masks changed."""
    wire = [COMPAT / "wire" / name for name in ("session.py", "masking.py", "tool.py", "cases/__init__.py")]
    sources = [area.file, *SOURCES, *wire, COMPAT / "pom.xml", COMPAT / "harness" / "brokers.py"]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    return cache("answers") / f"{area.name.replace('/', '.')}-{digest}.json"


def record(area, broker):
    """Runs an area on Kafka and keeps its answers; a case passes when it ran through and answered as in earlier runs."""
    file = answers_file(area)
    earlier = json.loads(file.read_text()) if file.exists() else {}
    now = transcripts(area, broker)
    checks = []
    for name, lines in now.items():
        problem = broke_off(lines) or (describe(differences(earlier[name], lines), "before", "now") if name in earlier else "")
        checks.append(Check(name, problem))
    file.write_text(json.dumps(now, indent=1))
    return checks


def compare(area, broker, recorded):
    """Runs an area on Ottla and compares with Kafka's transcripts."""
    checks = []
    for name, lines in transcripts(area, broker).items():
        problem = "\n".join(filter(None, (broke_off(lines), describe(differences(recorded[name], lines), "Kafka", broker.kind))))
        reason = accepted_reason(name)
        if reason and problem:
            print(f"     accepted difference in {name}: {reason}", flush=True)
            problem = ""
        elif reason:
            problem = "does not differ any more: take it out of wire/accepted.py"
        checks.append(Check(name, problem))
    return checks


def differences(left, right, path=""):
    """All places where two JSON values differ, as (path, left, right)."""
    if isinstance(left, dict) and isinstance(right, dict):
        found = []
        for key in [*left, *(key for key in right if key not in left)]:
            found += differences(left.get(key, ABSENT), right.get(key, ABSENT), f"{path}.{key}")
        return found
    if isinstance(left, list) and isinstance(right, list):
        found = []
        for label, one, other in pairs(left, right, top=path == ""):
            found += differences(one, other, f"{path}[{label}]")
        return found
    return [] if left == right and type(left) is type(right) else [(path, left, right)]


def pairs(left, right, top):
    """(label, left, right) of the elements that belong together: by their own key where they have one, else by position."""
    for key in ELEMENT_KEYS:
        lefts, rights = ({each.get(key): each for each in side if isinstance(each, dict)} for side in (left, right))
        if None not in {*lefts, *rights} and len(lefts) == len(left) and len(rights) == len(right):
            for value in [*lefts, *(value for value in rights if value not in lefts)]:
                yield f"{key} {value}", lefts.get(value, ABSENT), rights.get(value, ABSENT)
            return
    for index in range(max(len(left), len(right))):
        one = left[index] if index < len(left) else ABSENT
        other = right[index] if index < len(right) else ABSENT
        label = next((side[index][0] for side in (left, right) if top and index < len(side)), "")
        yield f"{index}: {label}" if label else str(index), one, other


def describe(found, left_name, right_name):
    lines = [f"{path}: {left_name} {shorten(left)}, {right_name} {shorten(right)}" for path, left, right in found[:DIFFERENCES_SHOWN]]
    if len(found) > DIFFERENCES_SHOWN:
        lines.append(f"... and {len(found) - DIFFERENCES_SHOWN} more differences")
    return "\n".join(lines)


def shorten(value):
    text = json.dumps(value)
    return text if len(text) <= 160 else text[:157] + "..."
