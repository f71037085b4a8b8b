#!/usr/bin/env python3
"""Derives the schema files beside this program from the message definitions inside Kafka's published jars.

usage: import.py FOLDER...    (each folder holds the unpacked *.json of one jar)

A definition becomes one block: a header line, then one line per field, nested by indentation:

    request 1 FetchRequest versions=4-18 flexible=12+ listeners=broker,controller
      ClusterId string 12+ nullable=12+ tag=0:12+ default=null ignorable
      Topics []FetchTopic 0+
        Topic string 0-12 ignorable

Struct types that several fields share follow as `struct NAME VERSIONS` blocks.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
FOLDER = {"request": "api", "response": "api", "metadata": "metadata", "coordinator-key": "coordinator",
          "coordinator-value": "coordinator", "header": "data", "data": "data"}


def load(path):
    text = path.read_text()
    text = "\n".join(re.sub(r"(^|\s)//.*", "", line) for line in text.split("\n"))
    return json.loads(text)


def field_lines(fields, depth):
    for field in fields:
        words = [field["name"], field["type"], field.get("versions") or field["taggedVersions"]]
        if "nullableVersions" in field and field["nullableVersions"] != "none":
            words.append(f"nullable={field['nullableVersions']}")
        if "tag" in field:
            words.append(f"tag={field['tag']}:{field['taggedVersions']}")
        if field.get("flexibleVersions") == "none":
            words.append("inflexible")
        default = field.get("default")
        if default not in (None, ""):
            words.append(f"default={str(default).lower() if isinstance(default, bool) else default}")
        if field.get("ignorable") in (True, "true"):
            words.append("ignorable")
        if field.get("mapKey") in (True, "true"):
            words.append("key")
        yield "  " * depth + " ".join(words)
        yield from field_lines(field.get("fields", []), depth + 1)


def block(definition):
    words = [definition["type"], str(definition.get("apiKey", "-")), definition["name"],
             f"versions={definition['validVersions']}", f"flexible={definition['flexibleVersions']}"]
    if "listeners" in definition:
        words.append(f"listeners={','.join(definition['listeners'])}")
    if definition.get("latestVersionUnstable"):
        words.append("unstable")
    yield " ".join(words)
    yield from field_lines(definition["fields"], 1)
    for struct in definition.get("commonStructs", []):
        yield f"  struct {struct['name']} {struct['versions']}"
        yield from field_lines(struct["fields"], 2)


def main():
    files = {}
    for folder in sys.argv[1:]:
        for path in sorted(pathlib.Path(folder).rglob("*.json")):
            definition = load(path)
            if definition.get("validVersions", "none") == "none" or definition["name"].startswith("Remote"):
                continue
            kind = definition["type"]
            stem = re.sub(r"(Request|Response|Key|Value)$", "", definition["name"]) if kind not in ("metadata", "data", "header") else definition["name"]
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower()
            if FOLDER[kind] == "api":
                name = f"{definition['apiKey']:02}_{name}"
            order = {"response": 1, "coordinator-value": 1}.get(kind, 0)
            files.setdefault(f"{FOLDER[kind]}/{name}.txt", []).append((order, "\n".join(block(definition))))
    for name, blocks in sorted(files.items()):
        path = HERE / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n\n".join(text for _, text in sorted(blocks)) + "\n")
    print(f"{len(files)} files")


main()
