//! What the operating system says of the broker's process.

use std::{fs, io};

/// Clock ticks a second, which Linux has fixed for user space.
const TICKS_PER_SECOND: f64 = 100.0;

/// The processor time that a process has used, in seconds.
pub fn cpu_seconds(process_id: u32) -> io::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process_id}/stat"))?;
    // The command's name may contain spaces; the fields after it do not.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    Ok((ticks(11) + ticks(12)) / TICKS_PER_SECOND)
}

/// The memory that a process has resident, in bytes.
pub fn resident_bytes(process_id: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process_id}/status"))?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kilobytes.unwrap_or(0) * 1024)
}
