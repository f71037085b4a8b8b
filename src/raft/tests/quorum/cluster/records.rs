//! Batches of the in-memory log, and their bytes for the way between nodes.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use ottla_model::LeaderEpoch;
use ottla_protocol::Message;
use ottla_protocol::messages::voters_record::VotersRecord;
use ottla_raft::{AppendedBatch, ControlRecord};

/// A batch: what the rules see of it, and a number that stands for what is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub base_offset: i64,
    pub end_offset: i64,
    pub epoch: LeaderEpoch,
    pub payload: u64,
    pub voters: Option<(i64, VotersRecord)>,
}

impl Batch {
    pub fn appended(&self) -> AppendedBatch {
        let voters = self.voters.iter().map(|(offset, record)| (*offset, ControlRecord::Voters(record.clone())));
        AppendedBatch { base_offset: self.base_offset, end_offset: self.end_offset, epoch: self.epoch, control_records: voters.collect() }
    }
}

pub fn to_bytes(batches: &[Batch]) -> Bytes {
    let mut bytes = BytesMut::new();
    for batch in batches {
        bytes.put_i64(batch.base_offset);
        bytes.put_i64(batch.end_offset);
        bytes.put_i32(batch.epoch.0);
        bytes.put_u64(batch.payload);
        let (offset, voters) = match &batch.voters {
            Some((offset, voters)) => (*offset, voters.to_bytes(0).expect("version 0")),
            None => (-1, Bytes::new()),
        };
        bytes.put_i64(offset);
        bytes.put_u32(voters.len() as u32);
        bytes.put_slice(&voters);
    }
    bytes.freeze()
}

pub fn from_bytes(mut bytes: Bytes) -> Vec<Batch> {
    let mut batches = Vec::new();
    while bytes.has_remaining() {
        let (base_offset, end_offset) = (bytes.get_i64(), bytes.get_i64());
        let (epoch, payload) = (LeaderEpoch(bytes.get_i32()), bytes.get_u64());
        let (offset, length) = (bytes.get_i64(), bytes.get_u32() as usize);
        let voters = bytes.split_to(length);
        let voters = (length > 0).then(|| (offset, VotersRecord::from_bytes(voters, 0).expect("as written")));
        batches.push(Batch { base_offset, end_offset, epoch, payload, voters });
    }
    batches
}
