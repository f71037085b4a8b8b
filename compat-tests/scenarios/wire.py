"""The wire comparer's areas as scenarios: on Kafka they record its answers, on Ottla they compare with them."""
import importlib
import json
import pkgutil

import wire.cases
from harness.brokers import KafkaBroker
from harness.registry import scenario
from wire.comparison import answers_file, compare, record

TIMEOUT_S = 900


def register(area):
    @scenario(f"wire/{area.name}", fresh=True, config=area.config, timeout_s=TIMEOUT_S)
    def run(address, broker):
        if broker.kind == "kafka":
            return record(area, broker)
        file = answers_file(area)
        if not file.exists():
            with KafkaBroker(area.config) as oracle:
                record(area, oracle)
        return compare(area, broker, json.loads(file.read_text()))


for module in sorted(pkgutil.iter_modules(wire.cases.__path__), key=lambda found: found.name):
    register(importlib.import_module(f"wire.cases.{module.name}").AREA)
