//! A request's partitions as Kafka's maps hold them: every topic and every partition once, in the order in which they are named first, and
//! no topic without partitions. What is said of a partition that is named several times is kept, for each API has its own rule.

use std::hash::Hash;

use indexmap::IndexMap;
use smallvec::SmallVec;

/// What a request says of one partition, nearly always once; never empty.
pub type Said<V> = SmallVec<[V; 1]>;

/// What a request says of a topic's partitions.
pub type Partitions<V> = IndexMap<i32, Said<V>>;

/// Puts a request's topics and partitions into maps.
pub fn partition_map<K, P, V>(topics: impl IntoIterator<Item = (K, P)>) -> IndexMap<K, Partitions<V>>
where
    K: Eq + Hash,
    P: IntoIterator<Item = (i32, V)>,
{
    let mut map: IndexMap<K, Partitions<V>> = IndexMap::new();
    for (topic, partitions) in topics {
        let mut partitions = partitions.into_iter().peekable();
        if partitions.peek().is_none() {
            continue;
        }
        let of_topic = map.entry(topic).or_default();
        for (index, said) in partitions {
            of_topic.entry(index).or_default().push(said);
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_there_once_in_its_first_place() {
        let topics = [("b", vec![(1, 'x'), (0, 'y')]), ("empty", vec![]), ("a", vec![(0, 'z')]), ("b", vec![(2, 'v'), (1, 'w')])];
        let map = partition_map(topics);
        let seen: Vec<_> = map
            .iter()
            .map(|(topic, partitions)| (*topic, partitions.iter().map(|(index, said)| (*index, said.to_vec())).collect::<Vec<_>>()))
            .collect();
        assert_eq!(seen, [("b", vec![(1, vec!['x', 'w']), (0, vec!['y']), (2, vec!['v'])]), ("a", vec![(0, vec!['z'])])]);
    }
}
