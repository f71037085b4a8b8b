//! The README's table of APIs is the table that the broker serves. `UPDATE_README=1` rewrites it.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use ottla_broker::api::TABLE;

const BEGIN: &str = "<!-- api table: begin";
const END: &str = "<!-- api table: end -->";

fn table() -> String {
    let mut text = String::from("| key | API | versions |\n|---|---|---|\n");
    for row in TABLE.iter().filter(|row| row.advertised) {
        let versions = format!("{}-{}", row.lowest_advertised_version, row.highest_version);
        writeln!(text, "| {} | {} | {versions} |", row.key.code(), row.key).expect("writing to a string");
    }
    text
}

#[test]
fn the_readme_lists_what_is_served() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let begin = readme.find(BEGIN).expect("the table's begin");
    let table_start = begin + readme[begin..].find('\n').unwrap() + 1;
    let table_end = readme.find(END).expect("the table's end");
    if env::var_os("UPDATE_README").is_some() {
        let updated = format!("{}{}{}", &readme[..table_start], table(), &readme[table_end..]);
        return fs::write(&path, updated).unwrap();
    }
    assert_eq!(&readme[table_start..table_end], table(), "run UPDATE_README=1 cargo test -p ottla-broker readme");
}
