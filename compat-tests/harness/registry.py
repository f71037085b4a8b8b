"""The list of scenarios. A scenario is a function `f(address, broker)` that raises when the broker disappoints it.

Modules in `scenarios/` register with the decorator and are found by their being there:

    from harness.registry import scenario

    @scenario("kcat/produce-consume", ci=True, needs=[lambda: install.debian("kcat")])
    def produce_consume(address, broker):
        ...

A scenario may return a list of Check values when it is made of many small comparisons; each is then counted by itself.
"""
import dataclasses
import importlib
import pkgutil
import typing


@dataclasses.dataclass
class Check:
    """One counted comparison inside a scenario; `problem` is empty when it passed."""

    name: str
    problem: str = ""


@dataclasses.dataclass
class Scenario:
    name: str
    function: typing.Callable
    ci: bool
    fresh: bool
    config: dict
    needs: list
    timeout_s: int

    @property
    def broker_group(self):
        """Scenarios with equal groups share a running broker."""
        return self.name if self.fresh else repr(sorted(self.config.items()))


SCENARIOS = {}


def scenario(name, ci=True, fresh=False, config=None, needs=(), timeout_s=300):
    """Registers a scenario.

    ci: part of the selection that runs without --all. fresh: gets a broker of its own. config: broker properties beyond
    the harness's defaults. needs: functions called once before, which install things. timeout_s: after that it fails.
    """
    def register(function):
        if name in SCENARIOS:
            raise ValueError(f"two scenarios are called {name}")
        SCENARIOS[name] = Scenario(name, function, ci, fresh, dict(config or {}), list(needs), timeout_s)
        return function
    return register


def discover():
    """Imports every module of `scenarios/` (also in sub-packages) and returns the scenarios in order of registration."""
    package = importlib.import_module("scenarios")
    for module in sorted(pkgutil.walk_packages(package.__path__, "scenarios."), key=lambda found: found.name):
        importlib.import_module(module.name)
    return list(SCENARIOS.values())
