"""The wire comparer: exact request sequences, sent to both brokers, whose decoded answers are compared field by field."""
