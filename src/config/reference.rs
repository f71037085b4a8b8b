//! `config/REFERENCE.md`, written from the tables of keys.

use std::fmt::Write;

use crate::key::{ConfigKey, KeyDefault, Scope, UpdateMode};
use crate::load::NODE_DEFAULTS;
use crate::table;

/// The whole page, as Markdown.
pub fn reference() -> String {
    let mut page = String::from(INTRODUCTION);
    for (key, value) in NODE_DEFAULTS {
        row(&mut page, &[code(key), code(value)]);
    }
    page.push_str("\n## Broker and controller keys that Ottla uses\n\n");
    broker_table(&mut page, |key| key.is_used);
    page.push_str(
        "\n## Broker and controller keys that are accepted without effect\n\n\
         Kafka knows them, so that a Kafka configuration works unchanged; a start names those that are set in one warning.\n\n",
    );
    broker_table(&mut page, |key| !key.is_used);
    for (title, scope, synonyms) in [
        ("Topic keys", Scope::Topic, "Broker key of the default"),
        ("Group keys", Scope::Group, "Broker key of the default"),
        ("Client metrics keys", Scope::ClientMetrics, ""),
    ] {
        write!(page, "\n## {title}\n\n").expect("writing to a string");
        resource_table(&mut page, scope, synonyms);
    }
    page
}

const INTRODUCTION: &str = "\
# Configuration reference

Written from the tables in `src/config/keys/` by a test; do not edit it by hand. Names, types, defaults and limits are those of Apache
Kafka 4.4.

A node reads, the weakest first: the file of `--config` (`server.properties`, or TOML with the same keys), environment variables
(`KAFKA_NUM_PARTITIONS` is `num.partitions`, two underscores stand for one, three for a dash), `--override key=value`.
In TOML a key may be written `log.retention.ms = 1`, in a table `[log.retention]`, or in quotes; quotes are needed where one key is
the beginning of another, as `\"max.connections\"` and `\"max.connections.per.ip\"`. Lists may be written as lists.
A key may be set for one listener with `listener.name.<name>.` before it.

\"Run time\" says whether `kafka-configs` can change a key on a running broker: for one broker only, or also for the whole cluster.

## What a node takes that nobody configured

Where Kafka demands that a key is set, Ottla takes these values. The last five apply where neither `controller.quorum.voters` nor
`controller.quorum.bootstrap.servers` is set: the cluster is this one node.

| Key | Value |
|---|---|
";

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

fn row(page: &mut String, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    writeln!(page, "| {} |", cells.join(" | ")).expect("writing to a string");
}

fn heading(page: &mut String, titles: &[&str]) {
    writeln!(page, "| {} |\n|{}", titles.join(" | "), "---|".repeat(titles.len())).expect("writing to a string");
}

fn default(key: &ConfigKey) -> String {
    match &key.default {
        KeyDefault::Required => "must be set".to_owned(),
        KeyDefault::Null => "not set".to_owned(),
        KeyDefault::Value(value) if value.to_string().is_empty() => "empty".to_owned(),
        KeyDefault::Value(value) => code(&value.to_string()),
    }
}

fn accepts(key: &ConfigKey) -> String {
    format!("{}{}", key.kind.name(), key.validator)
}

fn broker_table(page: &mut String, is_wanted: fn(&ConfigKey) -> bool) {
    heading(page, &["Key", "Value", "Default", "Run time", "Meaning"]);
    for key in table::keys(Scope::Broker).values().filter(|key| is_wanted(key) && !key.is_internal) {
        let run_time = match key.update_mode {
            UpdateMode::ReadOnly => "",
            UpdateMode::PerBroker => "one broker",
            UpdateMode::ClusterWide if key.is_dynamic_only => "cluster (only)",
            UpdateMode::ClusterWide => "cluster",
        };
        row(page, &[code(key.name), accepts(key), default(key), run_time.to_owned(), key.documentation.to_owned()]);
    }
}

fn resource_table(page: &mut String, scope: Scope, synonyms: &str) {
    let titles = ["Key", "Value", "Default", "Used", "Meaning", synonyms];
    heading(page, if synonyms.is_empty() { &titles[..5] } else { &titles });
    for key in table::keys(scope).values().filter(|key| !key.is_internal) {
        let used = if key.is_used { "yes" } else { "not yet" };
        let mut cells = vec![code(key.name), accepts(key), default(key), used.to_owned(), key.documentation.to_owned()];
        if !synonyms.is_empty() {
            cells.push(key.synonyms.iter().map(|synonym| code(synonym)).collect::<Vec<_>>().join(", "));
        }
        row(page, &cells);
    }
}
