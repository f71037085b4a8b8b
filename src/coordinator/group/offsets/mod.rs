//! Committed offsets: what consumers have read up to, transactional ones on hold until their transaction ends, and when they expire
//! (`OffsetMetadataManager`).

mod commit;
mod delete;
mod errors;
mod expiration;
mod fetch;
mod offset;
mod partition_map;
mod store;
mod transactional;
mod versions;

pub(super) use errors::{offset_commit_error, txn_offset_commit_error};
pub(super) use offset::OffsetAndMetadata;
pub(super) use store::OffsetStore;

pub use delete::DeletedTopic;
pub use store::TransactionResult;
pub use versions::{offset_fetch_error, offset_fetch_groups, offset_fetch_response};
