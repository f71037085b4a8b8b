//! Tests. Expected answers are those of Kafka's `TransactionCoordinatorTest` and of a live 4.4.0.

mod end_transaction;
mod harness;
mod init_producer_id;
mod properties;
mod recovery;
mod timers;
