"""How much is measured: the three sizes of a run."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Scale:
    """rounds: of most groups. long_rounds: of those in which Kafka takes minutes."""

    rounds: int
    long_rounds: int
    seconds: int
    warm_up: int
    client_records: int
    topics_of_1000: int
    connections: int


QUICK = Scale(rounds=1, long_rounds=1, seconds=3, warm_up=3, client_records=500_000, topics_of_1000=1, connections=2_000)
NORMAL = Scale(rounds=3, long_rounds=1, seconds=5, warm_up=10, client_records=3_000_000, topics_of_1000=10, connections=10_000)
FULL = Scale(rounds=5, long_rounds=3, seconds=8, warm_up=15, client_records=5_000_000, topics_of_1000=10, connections=10_000)
