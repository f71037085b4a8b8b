"""Runs the compatibility scenarios against Apache Kafka and Ottla. `run` starts it; see README.md."""
import sys

sys.dont_write_bytecode = True

from harness.runner import main

sys.exit(main(sys.argv[1:]))
