//! `ottla dump-log`: prints what is in the files of a log directory, with the options and the facts of `kafka-dump-log.sh`
//! (`org.apache.kafka.tools.DumpLogSegments`). It reads files only, those of a running node too, and changes none.

mod batches;
mod decoder;
mod index;
mod producers;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ottla_broker::metadata_log::SnapshotName;
use ottla_io::{Disk, HandleLimit, RealDisk};
use ottla_record::{BatchesError, RecordsError};

use decoder::Decoder;

/// Arguments of `ottla dump-log`.
#[derive(Debug, Args)]
pub struct DumpLogArgs {
    /// The files to be dumped, comma separated: logs, snapshots, indexes, producer snapshots.
    #[arg(long, required = true, value_delimiter = ',')]
    files: Vec<PathBuf>,
    /// Print the records' contents too; a decoder option implies it.
    #[arg(long)]
    print_data_log: bool,
    /// Print the records of every batch; --print-data-log implies it.
    #[arg(long)]
    deep_iteration: bool,
    /// Read no more than so many bytes of each log.
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true)]
    max_bytes: u64,
    /// Print contents without the records' offsets, timestamps and sizes, and no control records.
    #[arg(long)]
    skip_record_metadata: bool,
    #[command(flatten)]
    decoders: DecoderArgs,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
struct DecoderArgs {
    /// Read the records as those of __consumer_offsets.
    #[arg(long)]
    offsets_decoder: bool,
    /// Read the records as those of __transaction_state.
    #[arg(long)]
    transaction_log_decoder: bool,
    /// Read the records as those of __cluster_metadata.
    #[arg(long)]
    cluster_metadata_decoder: bool,
    /// Read the records as those of __share_group_state.
    #[arg(long)]
    share_group_state_decoder: bool,
}

/// Why a file cannot be dumped.
#[derive(Debug, thiserror::Error)]
enum DumpError {
    #[error("{source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    #[error("{}: the batch at offset {offset}: {error}", .path.display())]
    Records { path: PathBuf, offset: i64, error: RecordsError },
    #[error("{}: {error}", .path.display())]
    Batches { path: PathBuf, error: BatchesError },
    #[error("{}: a damaged producer snapshot: {reason}", .path.display())]
    ProducerSnapshot { path: PathBuf, reason: String },
}

/// Dumps the files to standard output; what is wrong with them goes to standard error.
pub fn run(args: DumpLogArgs) -> ExitCode {
    let disk = RealDisk::new(HandleLimit::of_process());
    let mut out = BufWriter::new(io::stdout().lock());
    let dumped = dump_all(&args, &disk, &mut out).and_then(|()| Ok(out.flush()?));
    match dumped {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn dump_all(args: &DumpLogArgs, disk: &dyn Disk, out: &mut dyn Write) -> Result<(), DumpError> {
    let decoder = Decoder::of(&args.decoders);
    let depth = Depth {
        contents: args.print_data_log || decoder != Decoder::Text,
        records: args.deep_iteration || args.print_data_log || decoder != Decoder::Text,
        metadata: !args.skip_record_metadata,
        max_bytes: args.max_bytes,
    };
    for path in &args.files {
        writeln!(out, "Dumping {}", path.display())?;
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("log" | "checkpoint") => {
                print_title(path, out)?;
                batches::dump(disk, path, depth, decoder, out)?;
            }
            Some("index") => index::dump_offsets(disk, path, out)?,
            Some("timeindex") => index::dump_times(disk, path, out)?,
            Some("txnindex") => index::dump_aborted(disk, path, out)?,
            Some("snapshot") => producers::dump(disk, path, out)?,
            Some(_) | None => eprintln!("Ignoring unknown file {}", path.display()),
        }
    }
    Ok(())
}

/// How much of a log is printed.
#[derive(Clone, Copy, Debug)]
struct Depth {
    records: bool,
    contents: bool,
    metadata: bool,
    max_bytes: u64,
}

fn print_title(path: &Path, out: &mut dyn Write) -> Result<(), DumpError> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match SnapshotName::parse(name) {
        Some(SnapshotName::Whole(id)) => writeln!(out, "Snapshot end offset: {}, epoch: {}", id.offset, id.epoch)?,
        Some(SnapshotName::Leftover) => writeln!(out, "An unfinished snapshot")?,
        None if name == "bootstrap.checkpoint" => writeln!(out, "KRaft bootstrap snapshot")?,
        None => writeln!(out, "Log starting offset: {}", base_offset(path))?,
    }
    Ok(())
}

/// The offset that the file's name begins with; 0 if it does not.
fn base_offset(path: &Path) -> i64 {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split('.').next().and_then(|stem| stem.parse().ok()).unwrap_or(0)
}

/// The content of one of the small files.
fn read_whole(disk: &dyn Disk, path: &Path) -> Result<Vec<u8>, DumpError> {
    let failed = |source| DumpError::Read { path: path.to_path_buf(), source };
    let content = ottla_io::read_file(disk, path).map_err(failed)?;
    content.ok_or_else(|| failed(io::Error::from(io::ErrorKind::NotFound)))
}

#[cfg(test)]
mod tests;
