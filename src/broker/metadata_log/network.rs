//! The metadata log's side of the network: requests and answers of other replicas go in, requests and answers for them come out. The
//! bytes of records and snapshots stay in their files. How messages travel, and at which versions, is the business of whoever carries
//! them.

use ottla_io::OpenMode;
use ottla_log::ReadRequest;
use ottla_protocol::{FileRange, Records, RecordsPart};
use ottla_raft::{
    Action, Caller, CorrelationId, Event, FetchOutcome, FetchSnapshotAnswer, OffsetAndEpoch, Peer, Request, RequestFailure, RequestId,
    Response, ResponseBody, SnapshotPart,
};

use super::error::MetadataLogError;
use super::host::MetadataLog;
use super::listener::MetadataListener;
use super::snapshot_name::snapshot_file_name;

/// A message for another node.
#[derive(Clone, Debug, PartialEq)]
pub enum Outgoing {
    /// A request; its answer, or its failure, goes to [`MetadataLog::handle_response`].
    Request {
        /// The node.
        to: Peer,
        /// To be given back with the answer.
        correlation_id: CorrelationId,
        /// The request.
        request: Request,
    },
    /// An answer to a request that came in.
    Reply {
        /// The request that is answered.
        caller: Caller,
        /// The answer.
        response: Response,
        /// The records, or the part of a snapshot, that belong to it.
        records: Records,
    },
}

impl MetadataLog {
    /// Another replica, or an operator, asks.
    pub fn handle_request(
        &mut self,
        now_ms: i64,
        caller: Caller,
        request: Request,
        listener: &mut dyn MetadataListener,
    ) -> Result<(), MetadataLogError> {
        self.drive(now_ms, Event::Request { caller, request }, listener)
    }

    /// The caller of a request that waits for its answer has gone.
    pub fn cancel_request(&mut self, now_ms: i64, id: RequestId, listener: &mut dyn MetadataListener) -> Result<(), MetadataLogError> {
        self.drive(now_ms, Event::RequestCancelled(id), listener)
    }

    /// A node answers a request of this one, or cannot be asked.
    pub fn handle_response(
        &mut self,
        now_ms: i64,
        from: &Peer,
        correlation_id: CorrelationId,
        outcome: Result<Response, RequestFailure>,
        listener: &mut dyn MetadataListener,
    ) -> Result<(), MetadataLogError> {
        self.drive(now_ms, Event::Response { from: from.id, correlation_id, outcome }, listener)
    }

    /// What is to be sent, in this order. To be asked for after every call that lets something happen.
    pub fn take_outgoing(&mut self) -> Result<Vec<Outgoing>, MetadataLogError> {
        let actions = std::mem::take(&mut self.outgoing);
        actions.into_iter().filter_map(|action| self.outgoing(action).transpose()).collect()
    }

    fn outgoing(&self, action: Action) -> Result<Option<Outgoing>, MetadataLogError> {
        match action {
            Action::Send { to, correlation_id, request } => Ok(Some(Outgoing::Request { to, correlation_id, request })),
            Action::Reply { caller, response } => {
                let records = self.records_of(&response.body)?;
                Ok(Some(Outgoing::Reply { caller, response, records }))
            }
            // Everything else was performed.
            _ => Ok(None),
        }
    }

    fn records_of(&self, body: &ResponseBody) -> Result<Records, MetadataLogError> {
        match body {
            ResponseBody::Fetch(answer) => match answer.outcome {
                FetchOutcome::FromLog { offset, max_bytes } => self.log_part(offset, max_bytes),
                _ => Ok(Records::default()),
            },
            ResponseBody::FetchSnapshot(FetchSnapshotAnswer { snapshot_id: Some(id), size, position, part }) => match part {
                SnapshotPart::FromSnapshot { max_bytes } => {
                    self.snapshot_part(*id, *position, (*size - *position).min((*max_bytes).into()))
                }
                SnapshotPart::Empty | SnapshotPart::Bytes(_) => Ok(Records::default()),
            },
            _ => Ok(Records::default()),
        }
    }

    /// Whole batches from `offset` on; the first one is among them however large it is.
    fn log_part(&self, offset: i64, max_bytes: i32) -> Result<Records, MetadataLogError> {
        let request = ReadRequest {
            offset,
            max_bytes: usize::try_from(max_bytes).unwrap_or(0),
            end_offset: self.files.log.log_end_offset(),
            at_least_one_batch: true,
            include_aborted: false,
        };
        let fetched = self.files.log.read(request);
        let fetched = fetched.map_err(|error| MetadataLogError::Refused { operation: "a read", reason: error.to_string() })?;
        Ok(fetched.records.map_or_else(Records::default, |slice| Records::Parts(vec![slice.into()])))
    }

    fn snapshot_part(&self, id: OffsetAndEpoch, position: i64, length: i64) -> Result<Records, MetadataLogError> {
        let name = snapshot_file_name(id);
        let file = self.files.disk.open(&self.files.directory.join(&name), OpenMode::Existing).and_then(|file| file.pin());
        let file = file.map_err(self.files.at(&name))?;
        let range = FileRange { file, position: position.max(0) as u64, length: length.max(0) as usize };
        Ok(Records::Parts(vec![RecordsPart::File(range)]))
    }
}
