//! The layers hold: no crate depends on one above it, and what is pure names no clock, no randomness, no file, no socket, no lock and no
//! runtime. `src/ARCHITECTURE.md` draws what this checks.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates, lowest first. Those of one layer may use each other as far as Cargo lets them; nobody uses a higher layer.
const LAYERS: &[(&str, &[&str])] = &[
    ("pure", &["model", "protocol", "record", "config", "metadata", "raft", "controller", "coordinator"]),
    ("blocking I/O", &["io", "log"]),
    ("the synchronous broker", &["broker"]),
    ("the async shell", &["server"]),
];

/// What may be named only from a layer on. Each was once the way in which a decision stopped being repeatable.
const FORBIDDEN: &[(&str, usize)] = &[
    ("tokio", 3),
    ("std::net::TcpStream", 3),
    ("std::net::TcpListener", 3),
    // Scoped threads only: a start and a clean stop go through many logs at once, and nothing outlives the call.
    ("std::thread", 1),
    ("SystemTime::now", 3),
    ("Instant::now", 3),
    ("std::fs", 3),
    ("rustix::fs", 3),
    ("getrandom", 3),
    ("rand::", 3),
    ("parking_lot", 1),
    ("std::sync::Mutex", 1),
    ("std::sync::RwLock", 1),
];

/// `io` is where files, time and randomness come in, hence the exception to the rules above.
const SOURCE_OF_EFFECTS: &str = "io";

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn layer_of(name: &str) -> usize {
    LAYERS.iter().position(|(_, crates)| crates.contains(&name)).unwrap_or_else(|| panic!("'{name}' is in no layer"))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The part of a file that ships: tests may use what they like.
fn shipped(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap()
}

#[test]
fn no_crate_uses_a_layer_above_its_own() {
    for (layer, (_, crates)) in LAYERS.iter().enumerate() {
        for name in *crates {
            let manifest = fs::read_to_string(source_folder().join(name).join("Cargo.toml")).unwrap();
            let dependencies = manifest.split("[dependencies]").nth(1).unwrap();
            let shipped = dependencies.split("[dev-dependencies]").next().unwrap();
            for used in shipped.lines().filter_map(|line| line.strip_prefix("ottla-")?.split(['.', ' ']).next()) {
                assert!(layer_of(used) <= layer, "{name} uses {used}, which is in a layer above it");
            }
        }
    }
}

#[test]
fn every_crate_has_a_layer() {
    for entry in fs::read_dir(source_folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.join("Cargo.toml").exists() {
            layer_of(path.file_name().unwrap().to_str().unwrap());
        }
    }
}

#[test]
fn effects_stay_in_their_layers() {
    let mut violations = Vec::new();
    for (layer, (_, crates)) in LAYERS.iter().enumerate() {
        for name in crates.iter().filter(|&&name| name != SOURCE_OF_EFFECTS) {
            for file in rust_files(&source_folder().join(name)) {
                if file.components().any(|part| matches!(part.as_os_str().to_str(), Some("build" | "tests" | "benches"))) {
                    continue;
                }
                if matches!(file.file_stem().and_then(|stem| stem.to_str()), Some("golden" | "tests")) {
                    continue;
                }
                let text = fs::read_to_string(&file).unwrap();
                for (number, line) in shipped(&text).lines().enumerate() {
                    let code = line.split("//").next().unwrap();
                    for (word, first_layer) in FORBIDDEN {
                        if code.contains(word) && layer < *first_layer {
                            violations.push(format!("{}:{}: {word}", file.display(), number + 1));
                        }
                    }
                }
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}
