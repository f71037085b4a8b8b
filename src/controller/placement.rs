//! Where new replicas go: brokers in turn, racks in turn, each partition beginning one broker further, fenced brokers only where no
//! other is left (`StripedReplicaPlacer`).

use ottla_model::{BrokerId, ErrorCode};

use crate::api_error::ApiError;
use crate::context::Random;

/// A broker that may be given replicas.
#[derive(Clone, Debug)]
pub(crate) struct UsableBroker {
    pub id: BrokerId,
    pub rack: Option<String>,
    pub fenced: bool,
}

/// How many partitions and replicas to place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacementSpec {
    pub partitions: usize,
    pub replication_factor: i16,
}

/// Brokers that are taken in turn, each partition (`epoch`) beginning one further.
#[derive(Default)]
struct BrokerList {
    brokers: Vec<BrokerId>,
    index: usize,
    offset: usize,
    epoch: usize,
}

impl BrokerList {
    fn initialize(&mut self, random: Random<'_>) {
        if !self.brokers.is_empty() {
            self.brokers.sort_unstable();
            self.offset = below(random, self.brokers.len());
        }
    }

    fn next(&mut self, epoch: usize) -> Option<BrokerId> {
        if self.brokers.is_empty() {
            return None;
        }
        if self.epoch != epoch {
            self.epoch = epoch;
            self.index = 0;
            self.offset = (self.offset + 1) % self.brokers.len();
        }
        if self.index >= self.brokers.len() {
            return None;
        }
        let broker = self.brokers[(self.index + self.offset) % self.brokers.len()];
        self.index += 1;
        Some(broker)
    }
}

#[derive(Default)]
struct Rack {
    name: Option<String>,
    unfenced: BrokerList,
    fenced: BrokerList,
}

impl Rack {
    fn next(&mut self, epoch: usize) -> Option<BrokerId> {
        self.unfenced.next(epoch).or_else(|| self.fenced.next(epoch))
    }
}

struct RackList {
    racks: Vec<Rack>,
    unfenced_brokers: usize,
    total_brokers: usize,
    epoch: usize,
    offset: usize,
}

/// A number below `bound`, which is not 0.
fn below(random: Random<'_>, bound: usize) -> usize {
    (random() % bound as u64) as usize
}

fn shuffle<T>(items: &mut [T], random: Random<'_>) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(random, last + 1));
    }
}

impl RackList {
    fn new(brokers: &[UsableBroker], random: Random<'_>) -> RackList {
        let mut racks: Vec<Rack> = Vec::new();
        for broker in brokers {
            let index = racks.iter().position(|rack| rack.name == broker.rack).unwrap_or_else(|| {
                racks.push(Rack { name: broker.rack.clone(), ..Default::default() });
                racks.len() - 1
            });
            let rack = &mut racks[index];
            let list = if broker.fenced { &mut rack.fenced } else { &mut rack.unfenced };
            list.brokers.push(broker.id);
        }
        racks.sort_by(|a, b| a.name.cmp(&b.name));
        for rack in &mut racks {
            rack.fenced.initialize(random);
            rack.unfenced.initialize(random);
        }
        let offset = if racks.is_empty() { 0 } else { below(random, racks.len()) };
        let unfenced_brokers = brokers.iter().filter(|broker| !broker.fenced).count();
        RackList { racks, unfenced_brokers, total_brokers: brokers.len(), epoch: 0, offset }
    }

    fn check(&self, replication_factor: i16) -> Result<(), ApiError> {
        let invalid = |message| Err(ApiError::new(ErrorCode::InvalidReplicationFactor, message));
        if replication_factor <= 0 {
            return invalid(format!("Invalid replication factor {replication_factor}: the replication factor must be positive."));
        }
        if self.unfenced_brokers == 0 {
            return invalid("All brokers are currently fenced, or have all their log directories cordoned.".to_owned());
        }
        if replication_factor as usize > self.total_brokers {
            return invalid(format!(
                "The target replication factor of {replication_factor} cannot be reached because only {} broker(s) are registered or some \
                 brokers have all their log directories cordoned.",
                self.total_brokers
            ));
        }
        Ok(())
    }

    /// The replicas of the next partition. `check` has made sure that there are enough brokers, one of them unfenced.
    fn place(&mut self, replication_factor: usize, random: Random<'_>) -> Vec<BrokerId> {
        if self.epoch == self.unfenced_brokers && self.unfenced_brokers > 1 {
            shuffle(&mut self.racks, random);
            for rack in &mut self.racks {
                shuffle(&mut rack.fenced.brokers, random);
                shuffle(&mut rack.unfenced.brokers, random);
            }
            self.epoch = 0;
        }
        self.offset %= self.racks.len();
        let mut replicas = Vec::with_capacity(replication_factor);
        let mut leader_rack = self.offset;
        let leader = loop {
            if let Some(leader) = self.racks[leader_rack].unfenced.next(self.epoch) {
                break leader;
            }
            leader_rack = (leader_rack + 1) % self.racks.len();
        };
        replicas.push(leader);
        self.place_followers(&mut replicas, replication_factor, leader_rack);
        self.epoch += 1;
        self.offset += 1;
        replicas
    }

    /// The racks give one broker each in turn; the leader's rack is passed over the first time.
    fn place_followers(&mut self, replicas: &mut Vec<BrokerId>, replication_factor: usize, leader_rack: usize) {
        let mut passed_over = Some(leader_rack);
        let mut rack = self.offset;
        while replicas.len() < replication_factor {
            if passed_over == Some(rack) {
                passed_over = None;
            } else if let Some(broker) = self.racks[rack].next(self.epoch) {
                replicas.push(broker);
            }
            rack = (rack + 1) % self.racks.len();
        }
    }
}

/// The replicas of each new partition, the preferred leader first.
pub(crate) fn place(spec: PlacementSpec, brokers: &[UsableBroker], random: Random<'_>) -> Result<Vec<Vec<BrokerId>>, ApiError> {
    let mut racks = RackList::new(brokers, random);
    racks.check(spec.replication_factor)?;
    Ok((0..spec.partitions).map(|_| racks.place(spec.replication_factor as usize, random)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brokers(spec: &[(i32, Option<&str>, bool)]) -> Vec<UsableBroker> {
        spec.iter().map(|&(id, rack, fenced)| UsableBroker { id: BrokerId(id), rack: rack.map(Into::into), fenced }).collect()
    }

    fn placed(partitions: usize, replication_factor: i16, brokers: &[UsableBroker]) -> Result<Vec<Vec<i32>>, ApiError> {
        // Always 0: the lists begin at their first broker, as in a run without chance.
        let placed = place(PlacementSpec { partitions, replication_factor }, brokers, &mut || 0)?;
        Ok(placed.into_iter().map(|replicas| replicas.into_iter().map(|broker| broker.0).collect()).collect())
    }

    #[test]
    fn one_broker_gets_everything() {
        assert_eq!(placed(3, 1, &brokers(&[(1, None, false)])), Ok(vec![vec![1]; 3]));
    }

    #[test]
    fn each_partition_begins_one_broker_further() {
        let three = brokers(&[(0, None, false), (1, None, false), (2, None, false)]);
        assert_eq!(placed(3, 3, &three), Ok(vec![vec![0, 1, 2], vec![1, 2, 0], vec![2, 0, 1]]));
    }

    #[test]
    fn a_fenced_broker_does_not_lead_and_comes_last() {
        let some = brokers(&[(3, None, false), (1, None, false), (2, None, true)]);
        for replicas in placed(20, 3, &some).unwrap() {
            assert_eq!(replicas[2], 2);
        }
    }

    #[test]
    fn replicas_are_spread_over_racks() {
        let racks = brokers(&[
            (10, Some("1"), false),
            (11, Some("1"), false),
            (20, Some("2"), false),
            (21, Some("2"), false),
            (30, Some("3"), false),
            (31, Some("3"), false),
        ]);
        for replicas in placed(12, 3, &racks).unwrap() {
            let mut racks: Vec<_> = replicas.iter().map(|broker| broker / 10).collect();
            racks.sort_unstable();
            assert_eq!(racks, [1, 2, 3]);
        }
    }

    #[test]
    fn leaders_are_balanced() {
        let four = brokers(&[(0, None, false), (1, None, false), (2, None, false), (3, None, false)]);
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            seed >> 33
        };
        let placed = place(PlacementSpec { partitions: 200, replication_factor: 3 }, &four, &mut random).unwrap();
        for broker in 0..4 {
            assert_eq!(placed.iter().filter(|replicas| replicas[0] == BrokerId(broker)).count(), 50);
        }
    }

    #[test]
    fn too_few_brokers_are_told() {
        let message = |result: Result<Vec<Vec<i32>>, ApiError>| result.unwrap_err().message.unwrap();
        assert_eq!(
            message(placed(1, 2, &brokers(&[(1, None, false)]))),
            "The target replication factor of 2 cannot be reached because only 1 broker(s) are registered or some brokers have all their \
             log directories cordoned."
        );
        assert_eq!(
            message(placed(1, 1, &brokers(&[(1, None, true)]))),
            "All brokers are currently fenced, or have all their log directories cordoned."
        );
        assert_eq!(
            message(placed(1, 0, &brokers(&[(1, None, false)]))),
            "Invalid replication factor 0: the replication factor must be positive."
        );
    }
}
