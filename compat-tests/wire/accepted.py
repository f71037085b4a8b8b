"""Differences between Ottla and Kafka that are meant, each with its reason. A run prints them; one that has vanished fails."""

TELEMETRY = "keys that no broker lists are not served"
LOG_DIRECTORIES = "moving a partition between log directories is not served yet, and its key is not advertised"

ACCEPTED = {
    "framing/telemetry without a reporter": TELEMETRY,
    "topics/move between log directories": LOG_DIRECTORIES,
}


def accepted_reason(case):
    """Why a case may differ; None when it may not."""
    return ACCEPTED.get(case)
