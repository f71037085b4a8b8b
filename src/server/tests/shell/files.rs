//! Parts of answers that are ranges of files.

use std::path::Path;
use std::sync::Arc;

use crate::support::{TestServer, framed};
use bytes::Bytes;
use ottla_broker::{Reply, Responder};
use ottla_io::{Disk, HandleLimit, MemoryDisk, OpenMode, PinnedFile, RealDisk};
use ottla_protocol::{FileRange, Part};

const FILE_BYTES: usize = 3_000_000;

fn content() -> Vec<u8> {
    (0..FILE_BYTES).map(|index| (index % 251) as u8).collect()
}

fn pinned(disk: &dyn Disk, directory: &Path) -> Arc<PinnedFile> {
    let file = disk.open(&directory.join("segment"), OpenMode::CreateEmpty).unwrap();
    file.write_all_at(&mut [std::io::IoSlice::new(&content())], 0).unwrap();
    file.pin().unwrap()
}

fn range(file: &Arc<PinnedFile>, position: usize, length: usize) -> Part {
    Part::File(FileRange { file: file.clone(), position: position as u64, length })
}

/// Two answers of memory and file ranges, pipelined, to a client that reads slowly enough to fill the socket.
fn check(file: Arc<PinnedFile>) {
    let server = TestServer::start(move |_, responder: Responder| {
        let length = 4 + 100_000 + 3 + 2_500_000;
        let head = Bytes::from([&(length as u32).to_be_bytes()[..], b"head"].concat());
        let parts = vec![
            Part::Memory(head),
            range(&file, 7, 100_000),
            range(&file, 0, 0),
            Part::Memory("mid".into()),
            range(&file, 500_000, 2_500_000),
        ];
        responder(Reply::Send(parts));
    });
    let mut client = server.connect();
    let expected = [b"head", &content()[7..100_007], b"mid", &content()[500_000..]].concat();
    client.send(b"1");
    client.send(b"2");
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(client.receive() == expected);
    assert!(client.receive() == expected);
}

#[test]
fn ranges_of_files_are_sent_by_the_kernel() {
    let directory = tempfile::tempdir().unwrap();
    let file = pinned(&RealDisk::new(HandleLimit(16)), directory.path());
    assert!(file.descriptor().is_some());
    check(file);
}

#[test]
fn ranges_that_are_only_on_the_disk_are_sent_too() {
    let directory = tempfile::tempdir().unwrap();
    let file = pinned(&RealDisk::new(HandleLimit(16)), directory.path());
    let descriptor = file.descriptor().unwrap();
    rustix::fs::fsync(descriptor).unwrap();
    rustix::fs::fadvise(descriptor, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    check(file);
}

#[test]
fn ranges_of_files_without_descriptor_are_copied() {
    let disk = MemoryDisk::default();
    disk.create_dir_all(Path::new("/data")).unwrap();
    let file = pinned(&disk, Path::new("/data"));
    assert!(file.descriptor().is_none());
    check(file);
}

#[test]
fn a_file_that_ends_too_early_closes_the_connection() {
    let directory = tempfile::tempdir().unwrap();
    let file = pinned(&RealDisk::new(HandleLimit(16)), directory.path());
    let server = TestServer::start(move |frame, responder: Responder| {
        let head = Bytes::from(framed(&[0; 100])).slice(..4);
        let position = if frame == b"good".as_slice() { 0 } else { FILE_BYTES - 50 };
        responder(Reply::Send(vec![Part::Memory(head), range(&file, position, 100)]));
    });
    let mut client = server.connect();
    client.send(b"good");
    assert_eq!(client.receive(), content()[..100]);
    client.send(b"bad");
    let error = client.try_receive().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
}
