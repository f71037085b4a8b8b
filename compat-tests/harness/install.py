"""Brings what scenarios need onto the machine: Debian packages, Kafka's jars, compiled Java tools.

Everything but Debian packages lands in the git-ignored cache folder, and what is there already is not fetched again.
A failed installation raises InstallError, which fails every scenario that asked for it.
"""
import fcntl
import hashlib
import os
import shutil
import subprocess

from .paths import COMPAT, OTTLA_BINARY, REPOSITORY, cache

KAFKA_VERSION = "4.4.0"
# In the order of preference: newer Debian releases have no Java 17.
JAVA = ("openjdk-17-jdk-headless", "openjdk-21-jdk-headless", "default-jdk-headless")
_apt_updated = False


class InstallError(Exception):
    """Something a scenario needs could not be installed; the text says what and why."""


def run(command, **options):
    """Runs a command to its end; raises InstallError with the tail of its output when it fails."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", **options)
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-25:])
        raise InstallError(f"`{' '.join(map(str, command))}` ended with {done.returncode}:\n{tail}")
    return done.stdout


class Lock:
    """One installation at a time, also between several runs of the harness."""

    def __init__(self, name):
        self.path = cache() / f"{name}.lock"

    def __enter__(self):
        self.file = open(self.path, "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


def debian(*packages):
    """Installs those Debian packages that are missing (as root, or with sudo)."""
    missing = [name for name in packages if not _debian_installed(name)]
    if missing:
        with Lock("apt"):
            _apt_update()
            _apt_get("install", "--no-install-recommends", *missing)


def debian_first(*packages):
    """Installs the first of these Debian packages that this release has."""
    with Lock("apt"):
        _apt_update()
    for name in packages:
        known = subprocess.run(["apt-cache", "show", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if known.returncode == 0 and known.stdout:
            return debian(name)
    raise InstallError(f"this release has none of {', '.join(packages)}")


def _apt_update():
    global _apt_updated
    if not _apt_updated:
        _apt_get("update")
        _apt_updated = True


def _apt_get(*arguments):
    root = [] if os.geteuid() == 0 else ["sudo", "-n", "-E"]
    run([*root, "apt-get", "-q", "-y", *arguments], env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))


def _debian_installed(name):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.returncode == 0 and done.stdout.endswith("ok installed")


def java():
    """Makes sure that `java` and `javac` exist."""
    if not (shutil.which("java") and shutil.which("javac")):
        debian_first(*JAVA)


def maven_class_path(name, pom):
    """The runtime class path (`folder/*`) of a Maven project file, resolved once per content of that file."""
    java()
    if not shutil.which("mvn"):
        debian("maven")
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    folder = cache("jars", f"{name}-{digest}")
    done = folder / ".complete"
    with Lock(f"maven-{name}"):
        if not done.exists():
            run(["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"])
            done.touch()
    return f"{folder}/*"


def kafka_class_path():
    """The class path of Apache Kafka's broker, tools and clients at KAFKA_VERSION."""
    return maven_class_path("kafka", COMPAT / "pom.xml")


def java_classes(name, sources, class_path):
    """Compiles Java files against a class path; returns the class path to run them with."""
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources) + class_path.encode()).hexdigest()[:12]
    folder = cache("classes", f"{name}-{digest}")
    done = folder / ".complete"
    with Lock(f"javac-{name}"):
        if not done.exists():
            run(["javac", "-nowarn", "-cp", class_path, "-d", folder, *sources])
            done.touch()
    return f"{folder}:{class_path}"


def ottla():
    """The release binary of this checkout, built when it does not exist (or OTTLA_BINARY names another)."""
    binary = os.environ.get("OTTLA_BINARY")
    if binary:
        return binary
    if not OTTLA_BINARY.exists():
        run(["cargo", "build", "--release", "--locked"], cwd=REPOSITORY)
    return str(OTTLA_BINARY)
