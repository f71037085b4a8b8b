//! Tests of the record crate through its public interface: against bytes and answers of Apache Kafka's own classes, against damage of
//! every kind, and by property.

mod damage;
mod golden_batches;
mod golden_validation;
mod limits;
mod properties;
mod support;
