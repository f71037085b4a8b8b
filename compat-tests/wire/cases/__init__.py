"""The cases, one module per area. An area's cases run in order on one fresh broker.

A case is `f(wire)`; a sweep is `f(wire, version)`, run for every version of its API. What they send through `wire` is
recorded and compared; requests of a preparation (wire.must, wire.topic ...) are not.
"""
import inspect
import pathlib


# Cases write records of the year 2020, which nobody may delete for their age meanwhile.
KEEP_OLD_RECORDS = {"log.retention.ms": "-1"}


class Area:
    """A named list of cases, with the broker configuration they need beyond the harness's."""

    def __init__(self, name, config=None):
        self.name = name
        self.config = {**KEEP_OLD_RECORDS, **(config or {})}
        self.file = pathlib.Path(inspect.stack()[1].filename)
        self.entries = []

    def case(self, name):
        def register(function):
            self.entries.append((name, None, function))
            return function
        return register

    def sweep(self, name, api, lowest=None, highest=None):
        """One case per version of the API, or of the part of its range that is named."""
        def register(function):
            self.entries.append((name, (api, lowest, highest), function))
            return function
        return register

    def expand(self, versions):
        """[(full name, function of one argument)]; versions: {api: [key, lowest, highest]}."""
        for name, sweep, function in self.entries:
            if sweep is None:
                yield f"{self.name}/{name}", function
                continue
            api, lowest, highest = sweep
            first = versions[api][1] if lowest is None else lowest
            last = versions[api][2] if highest is None else highest
            for version in range(first, last + 1):
                yield f"{self.name}/{name} v{version}", lambda wire, version=version, function=function: function(wire, version)
