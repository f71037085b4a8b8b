//! Work that comes round by time: `flush.ms`, removals, checkpoints, retention, expiry of producers. Each call does what is due and a
//! bounded share of what concerns all logs.

use std::collections::{HashSet, VecDeque};

use ottla_model::TopicPartition;

use super::directory::LogDirectory;
use super::{LogManager, LogManagerConfig, ManagedLog};
use crate::checkpoint::OffsetCheckpoint;
use crate::log::{Log, Upkeep};

/// How often logs that were written to are looked after.
const UPKEEP_INTERVAL_MS: i64 = 1000;
/// How many logs of a round through all of them are handled in one call.
const SWEEP_LOGS_MAX: usize = 256;

/// What is done to every log from time to time.
#[derive(Clone, Copy, Debug)]
enum Sweep {
    Retention,
    ProducerExpiration,
}

/// When what is due. Times in milliseconds.
#[derive(Debug)]
pub(super) struct Schedule {
    upkeep_at: i64,
    retention_at: i64,
    producer_expiration_at: i64,
    recovery_points_at: i64,
    log_start_offsets_at: i64,
    high_watermarks_at: i64,
    /// Logs that were written to and want to be looked after.
    watched: HashSet<TopicPartition>,
    /// What is left of rounds through all logs.
    sweeps: VecDeque<(Sweep, TopicPartition)>,
    /// Something changed since the checkpoint was last written: recovery points, log start offsets, high watermarks.
    stale: [bool; 3],
}

impl Schedule {
    pub(super) fn starting_at(now_ms: i64, config: &LogManagerConfig) -> Schedule {
        Schedule {
            upkeep_at: now_ms,
            retention_at: now_ms.saturating_add(config.retention_check_interval_ms.min(30_000)),
            producer_expiration_at: now_ms.saturating_add(config.producer_id_expiration_check_interval_ms),
            recovery_points_at: now_ms.saturating_add(config.recovery_point_checkpoint_interval_ms),
            log_start_offsets_at: now_ms.saturating_add(config.log_start_offset_checkpoint_interval_ms),
            high_watermarks_at: now_ms.saturating_add(config.high_watermark_checkpoint_interval_ms),
            watched: HashSet::new(),
            sweeps: VecDeque::new(),
            stale: [false; 3],
        }
    }

    fn next_deadline_ms(&self, now_ms: i64) -> i64 {
        if !self.sweeps.is_empty() {
            return now_ms;
        }
        let times = [
            self.upkeep_at,
            self.retention_at,
            self.producer_expiration_at,
            self.recovery_points_at,
            self.log_start_offsets_at,
            self.high_watermarks_at,
        ];
        times.into_iter().min().unwrap_or(now_ms)
    }
}

/// Moves a time on when it has come.
fn due(at: &mut i64, interval_ms: i64, now_ms: i64) -> bool {
    let due = *at <= now_ms;
    if due {
        *at = now_ms.saturating_add(interval_ms.max(1));
    }
    due
}

impl LogManager {
    /// Does what is due; returns when it wants to be called again. A failure takes its directory offline and is logged there.
    pub fn tick(&self, now_ms: i64) -> i64 {
        // One tick at a time; another caller has nothing to add.
        let Some(mut schedule) = self.schedule.try_lock() else { return now_ms.saturating_add(UPKEEP_INTERVAL_MS) };
        if due(&mut schedule.upkeep_at, UPKEEP_INTERVAL_MS.min(self.config.flush_check_interval_ms), now_ms) {
            self.look_after_dirty_logs(&mut schedule, now_ms);
            self.remove_deleted_dirs(now_ms);
        }
        self.write_due_checkpoints(&mut schedule, now_ms);
        if due(&mut schedule.retention_at, self.config.retention_check_interval_ms, now_ms) {
            self.begin_sweep(&mut schedule, Sweep::Retention);
        }
        if due(&mut schedule.producer_expiration_at, self.config.producer_id_expiration_check_interval_ms, now_ms) {
            self.begin_sweep(&mut schedule, Sweep::ProducerExpiration);
        }
        self.go_on_sweeping(&mut schedule, now_ms);
        schedule.next_deadline_ms(now_ms)
    }

    fn look_after_dirty_logs(&self, schedule: &mut Schedule, now_ms: i64) {
        let dirty = self.dirty_logs.take();
        if !dirty.is_empty() {
            schedule.stale = [true; 3];
        }
        schedule.watched.extend(dirty);
        let watched: Vec<TopicPartition> = schedule.watched.iter().cloned().collect();
        for partition in watched {
            let Some(log) = self.get(&partition) else {
                schedule.watched.remove(&partition);
                continue;
            };
            let upkeep = log.lock().upkeep(now_ms);
            match upkeep {
                Ok(Upkeep::Waiting) => {}
                Ok(Upkeep::Writeback(writeback)) => {
                    // Only a hint: the flush that makes the records durable is where a failure counts.
                    if let Err(error) = writeback.start() {
                        tracing::debug!(%partition, %error, "cannot begin to write back");
                    }
                }
                Ok(Upkeep::Flush(task)) => {
                    if task.run().is_ok() {
                        log.lock().flushed(&task, now_ms);
                        schedule.stale[0] = true;
                    }
                }
                Ok(Upkeep::Idle) | Err(_) => {
                    schedule.watched.remove(&partition);
                }
            }
        }
    }

    fn write_due_checkpoints(&self, schedule: &mut Schedule, now_ms: i64) {
        let config = &self.config;
        if due(&mut schedule.recovery_points_at, config.recovery_point_checkpoint_interval_ms, now_ms)
            && std::mem::take(&mut schedule.stale[0])
        {
            self.write_recovery_points();
        }
        if due(&mut schedule.log_start_offsets_at, config.log_start_offset_checkpoint_interval_ms, now_ms)
            && std::mem::take(&mut schedule.stale[1])
        {
            self.write_log_start_offsets();
        }
        if due(&mut schedule.high_watermarks_at, config.high_watermark_checkpoint_interval_ms, now_ms)
            && std::mem::take(&mut schedule.stale[2])
        {
            self.write_high_watermarks();
        }
    }

    pub(super) fn write_recovery_points(&self) {
        self.write_checkpoints(|directory| &directory.recovery_points, |log| Some(log.recovery_point()));
    }

    /// Only log start offsets that the segments do not tell are written down.
    pub(super) fn write_log_start_offsets(&self) {
        self.write_checkpoints(
            |directory| &directory.log_start_offsets,
            |log| (log.log_start_offset() > log.first_segment_base_offset()).then(|| log.log_start_offset()),
        );
    }

    pub(super) fn write_high_watermarks(&self) {
        self.write_checkpoints(|directory| &directory.high_watermarks, |log| Some(log.high_watermark()));
    }

    fn write_checkpoints(&self, checkpoint: impl Fn(&LogDirectory) -> &OffsetCheckpoint, offset: impl Fn(&Log) -> Option<i64>) {
        let mut by_directory: Vec<Vec<(TopicPartition, i64)>> = vec![Vec::new(); self.directories.len()];
        for (partition, ManagedLog { log, directory }) in self.logs_where(|_, _| true) {
            if let Some(offset) = offset(&log.lock()) {
                by_directory[directory].push((partition, offset));
            }
        }
        for (directory, mut offsets) in self.directories.iter().zip(by_directory) {
            if !directory.is_online() {
                continue;
            }
            if let Err(error) = directory.write_checkpoint(self.disk.as_ref(), checkpoint(directory), &mut offsets) {
                tracing::error!(%error, "cannot write a checkpoint");
            }
        }
    }

    fn begin_sweep(&self, schedule: &mut Schedule, sweep: Sweep) {
        schedule.sweeps.extend(self.logs.read().keys().map(|partition| (sweep, partition.clone())));
    }

    fn go_on_sweeping(&self, schedule: &mut Schedule, now_ms: i64) {
        for _ in 0..SWEEP_LOGS_MAX {
            let Some((sweep, partition)) = schedule.sweeps.pop_front() else { break };
            let Some(log) = self.get(&partition) else { continue };
            match sweep {
                Sweep::ProducerExpiration => log.lock().remove_expired_producers(now_ms),
                Sweep::Retention => {
                    if let Err(error) = log.lock().delete_old_segments(now_ms) {
                        tracing::error!(%partition, %error, "retention failed");
                    }
                }
            }
        }
    }
}
