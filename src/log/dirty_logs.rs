//! Which logs have been written to: they put themselves down here, so that nobody has to ask all of them.

use ottla_model::TopicPartition;
use parking_lot::Mutex;

/// The logs that became dirty since they were last taken.
#[derive(Debug, Default)]
pub struct DirtyLogs {
    partitions: Mutex<Vec<TopicPartition>>,
}

impl DirtyLogs {
    pub(crate) fn push(&self, partition: TopicPartition) {
        self.partitions.lock().push(partition);
    }

    pub(crate) fn take(&self) -> Vec<TopicPartition> {
        std::mem::take(&mut *self.partitions.lock())
    }
}
