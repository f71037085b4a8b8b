//! Reading transaction markers out of control batches (`EndTransactionMarker`).

use ottla_record::{Batch, BatchHeader, DECOMPRESSED_SIZE_MAX, DecompressionBuffers, RecordReader};

use crate::producer::TransactionMarker;

const ABORT: [u8; 2] = [0, 0];
const COMMIT: [u8; 2] = [0, 1];

/// The marker in a control batch, given its header and the bytes behind it; `None` when the batch holds another kind of control record,
/// or nothing any more.
pub(crate) fn transaction_marker(header: &BatchHeader, records: &[u8]) -> Option<TransactionMarker> {
    let bytes = [&header.to_bytes(), records].concat();
    let batch = Batch { position: 0, header: *header, bytes: &bytes };
    let mut buffers = DecompressionBuffers::new(DECOMPRESSED_SIZE_MAX);
    let mut reader = RecordReader::new(&batch, &mut buffers).ok()?;
    let record = reader.next_record().ok()??;
    // Key: version, type. Value: version, coordinator epoch.
    let is_abort = match *record.key?.get(2..4)?.first_chunk::<2>()? {
        ABORT => true,
        COMMIT => false,
        _ => return None,
    };
    let coordinator_epoch = i32::from_be_bytes(*record.value?.get(2..6)?.first_chunk()?);
    Some(TransactionMarker { coordinator_epoch, is_abort, timestamp: record.timestamp })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_batches::{TestBatch, to_append};

    #[test]
    fn markers_are_read() {
        for is_abort in [true, false] {
            let bytes = TestBatch::at(7).producer(1, 0, -1).marker(is_abort, 5).bytes();
            let batch = to_append(&bytes);
            let marker = transaction_marker(&batch.header, batch.records).unwrap();
            assert_eq!(marker, TransactionMarker { coordinator_epoch: 5, is_abort, timestamp: 1000 });
        }
        let data = TestBatch::at(7).bytes();
        let batch = to_append(&data);
        assert_eq!(transaction_marker(&batch.header, batch.records), None);
    }
}
