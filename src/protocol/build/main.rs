//! Generates the protocol's messages from `schema/`: parses each definition and writes its Rust structs and codecs.

mod emit;
mod schema;

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let schema_folder = root.join("schema");
    println!("cargo::rerun-if-changed=schema");
    println!("cargo::rerun-if-changed=build");
    let mut files = Vec::new();
    for kind in ["api", "metadata", "coordinator", "data"] {
        files.extend(text_files(&schema_folder.join(kind)));
    }
    let messages: Vec<_> = files.iter().flat_map(|file| schema::parse(&fs::read_to_string(file).expect("readable schema"), file)).collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("messages.rs"), emit::messages(&messages)).expect("writable output folder");
    fs::write(out.join("api_key.rs"), emit::api_keys(&messages)).expect("writable output folder");
}

fn text_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("schema folder")
        .map(|entry| entry.expect("readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    files
}
