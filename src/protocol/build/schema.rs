//! The schema's grammar: see `schema/import.py` for its shape. Owns parsing only; what becomes of it is `emit`'s business.

use std::path::Path;

/// An inclusive range of versions; empty when `first > last`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Versions {
    pub first: i16,
    pub last: i16,
}

impl Versions {
    pub const NONE: Versions = Versions { first: 0, last: -1 };

    fn parse(text: &str) -> Versions {
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("'{text}' is not a version"));
        match text {
            "none" => Versions::NONE,
            _ => match (text.strip_suffix('+'), text.split_once('-')) {
                (Some(first), _) => Versions { first: number(first), last: i16::MAX },
                (None, Some((first, last))) => Versions { first: number(first), last: number(last) },
                (None, None) => Versions { first: number(text), last: number(text) },
            },
        }
    }

    pub fn is_empty(self) -> bool {
        self.first > self.last
    }

    pub fn intersect(self, other: Versions) -> Versions {
        Versions { first: self.first.max(other.first), last: self.last.min(other.last) }
    }

    pub fn contains(self, other: Versions) -> bool {
        self.first <= other.first && self.last >= other.last
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    Bool,
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Float64,
    Uuid,
    String,
    Bytes,
    Records,
    Struct(String),
    Array(Box<Type>),
}

impl Type {
    fn parse(text: &str) -> Type {
        match text {
            "bool" => Type::Bool,
            "int8" => Type::Int8,
            "int16" => Type::Int16,
            "uint16" => Type::Uint16,
            "int32" => Type::Int32,
            "uint32" => Type::Uint32,
            "int64" => Type::Int64,
            "float64" => Type::Float64,
            "uuid" => Type::Uuid,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "records" => Type::Records,
            _ => match text.strip_prefix("[]") {
                Some(element) => Type::Array(Box::new(Type::parse(element))),
                None => Type::Struct(text.to_owned()),
            },
        }
    }
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub kind: Type,
    pub versions: Versions,
    pub nullable: Versions,
    pub tag: Option<(u32, Versions)>,
    pub inflexible: bool,
    pub default: Option<String>,
    pub ignorable: bool,
    pub is_key: bool,
    pub fields: Vec<Field>,
}

#[derive(Debug)]
pub struct SharedStruct {
    pub name: String,
    pub versions: Versions,
    pub fields: Vec<Field>,
}

#[derive(Debug)]
pub struct Message {
    pub kind: String,
    pub api_key: Option<i16>,
    pub name: String,
    pub versions: Versions,
    pub flexible: Versions,
    pub listeners: Vec<String>,
    pub latest_unstable: bool,
    pub fields: Vec<Field>,
    pub shared: Vec<SharedStruct>,
}

/// The messages of one schema file.
pub fn parse(text: &str, file: &Path) -> Vec<Message> {
    text.split("\n\n").map(|block| parse_message(block, file)).collect()
}

fn parse_message(block: &str, file: &Path) -> Message {
    let mut lines = block.lines().filter(|line| !line.trim().is_empty()).peekable();
    let header: Vec<_> = lines.next().unwrap_or_else(|| panic!("{}: an empty block", file.display())).split(' ').collect();
    let option = |key: &str| header.iter().find_map(|word| word.strip_prefix(key));
    let mut message = Message {
        kind: header[0].to_owned(),
        api_key: header[1].parse().ok(),
        name: header[2].to_owned(),
        versions: Versions::parse(option("versions=").expect("versions")),
        flexible: Versions::parse(option("flexible=").expect("flexible versions")),
        listeners: option("listeners=").map(|list| list.split(',').map(str::to_owned).collect()).unwrap_or_default(),
        latest_unstable: header.contains(&"unstable"),
        fields: Vec::new(),
        shared: Vec::new(),
    };
    message.fields = parse_fields(&mut lines, 1);
    while let Some(line) = lines.next() {
        let words: Vec<_> = line.trim().split(' ').collect();
        assert_eq!(words[0], "struct", "{}: {line}", file.display());
        let fields = parse_fields(&mut lines, 2);
        message.shared.push(SharedStruct { name: words[1].to_owned(), versions: Versions::parse(words[2]), fields });
    }
    message
}

fn parse_fields<'a>(lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>, depth: usize) -> Vec<Field> {
    let mut fields = Vec::new();
    while let Some(line) = lines.peek() {
        let words: Vec<_> = line.trim_start().split(' ').collect();
        if line.len() - line.trim_start().len() != depth * 2 || words[0] == "struct" {
            break;
        }
        let option = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
        let mut field = Field {
            name: words[0].to_owned(),
            kind: Type::parse(words[1]),
            versions: Versions::parse(words[2]),
            nullable: option("nullable=").map_or(Versions::NONE, Versions::parse),
            tag: option("tag=").map(|text| {
                let (tag, versions) = text.split_once(':').expect("tag=NUMBER:VERSIONS");
                (tag.parse().expect("a tag number"), Versions::parse(versions))
            }),
            inflexible: words[3..].contains(&"inflexible"),
            default: option("default=").map(str::to_owned),
            ignorable: words[3..].contains(&"ignorable"),
            is_key: words[3..].contains(&"key"),
            fields: Vec::new(),
        };
        lines.next();
        field.fields = parse_fields(lines, depth + 1);
        fields.push(field);
    }
    fields
}
