"""Where things are. Knows no tool and no broker."""
import pathlib

COMPAT = pathlib.Path(__file__).resolve().parent.parent
REPOSITORY = COMPAT.parent
CACHE = COMPAT / ".cache"
OTTLA_BINARY = REPOSITORY / "target" / "release" / "ottla"


def cache(*parts):
    """A folder below the cache, created when absent."""
    folder = CACHE.joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
