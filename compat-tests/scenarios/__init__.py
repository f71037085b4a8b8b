"""The scenarios, one module per client or area."""
