"""The machinery of the compatibility tests: installing clients, starting brokers, running scenarios."""
