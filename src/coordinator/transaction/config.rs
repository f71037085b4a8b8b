//! What of the broker's configuration the transaction coordinator goes by.

/// See the configuration keys of the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionCoordinatorConfig {
    /// `transaction.max.timeout.ms`: the longest timeout that a producer may ask for.
    pub transaction_max_timeout_ms: i32,
    /// `transactional.id.expiration.ms`: how long an idle transactional id is remembered.
    pub transactional_id_expiration_ms: i32,
    /// `transaction.abort.timed.out.transaction.cleanup.interval.ms`
    pub abort_timed_out_interval_ms: i32,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`
    pub remove_expired_interval_ms: i32,
}

impl Default for TransactionCoordinatorConfig {
    fn default() -> TransactionCoordinatorConfig {
        TransactionCoordinatorConfig {
            transaction_max_timeout_ms: 15 * 60 * 1000,
            transactional_id_expiration_ms: 7 * 24 * 60 * 60 * 1000,
            abort_timed_out_interval_ms: 10_000,
            remove_expired_interval_ms: 60 * 60 * 1000,
        }
    }
}
