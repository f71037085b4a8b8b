//! Writes Rust for parsed messages: one module per message with its structs, their defaults and their codecs. The shape of the
//! codec follows Kafka's own generator (`MessageDataGenerator`): what is written, refused and defaulted is decided per version.

use std::fmt::Write;

use crate::schema::{Field, Message, SharedStruct, Type, Versions};

/// What a struct of a message needs to be written out.
struct Context<'a> {
    flexible: Versions,
    versions: Versions,
    fields: &'a [Field],
    shared: &'a [SharedStruct],
}

macro_rules! line {
    ($out:expr, $($argument:tt)*) => { writeln!($out, $($argument)*).expect("writing to a string") };
}

pub fn messages(messages: &[Message]) -> String {
    let mut out = String::new();
    for message in messages {
        emit_message(&mut out, message);
    }
    emit_golden_dispatch(&mut out, messages);
    out
}

fn emit_message(out: &mut String, message: &Message) {
    line!(out, "/// `{}`, versions {} to {}.", message.name, message.versions.first, message.versions.last);
    line!(out, "pub mod {} {{", snake_case(&message.name));
    line!(out, "use super::support::*;");
    emit_struct(
        out,
        &message.name,
        &Context { flexible: message.flexible, versions: message.versions, fields: &message.fields, shared: &message.shared },
    );
    emit_nested(out, message, &message.fields);
    for shared in &message.shared {
        let versions = message.versions.intersect(shared.versions);
        emit_struct(out, &shared.name, &Context { flexible: message.flexible, versions, fields: &shared.fields, shared: &message.shared });
        emit_nested(out, message, &shared.fields);
    }
    let name = &message.name;
    line!(out, "impl Message for {name} {{");
    line!(out, "const NAME: &'static str = \"{name}\";");
    line!(out, "const API_KEY: i16 = {};", message.api_key.unwrap_or(-1));
    line!(out, "const LOWEST_VERSION: i16 = {};", message.versions.first);
    line!(out, "const HIGHEST_VERSION: i16 = {};", message.versions.last);
    line!(
        out,
        "fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {{ Self::check_version(version)?; Self::read(r, version) }}"
    );
    line!(out, "fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {{");
    line!(out, "if !Self::supports(version) {{ return Err(EncodeError::UnsupportedVersion {{ message: Self::NAME, version }}); }}");
    line!(out, "self.write(w, version) }}");
    line!(out, "}}");
    if message.kind == "request" {
        let response = message.name.replace("Request", "Response");
        line!(out, "impl Request for {name} {{ type Response = super::{}::{response}; }}", snake_case(&response));
    }
    line!(out, "}}");
}

fn emit_nested(out: &mut String, message: &Message, fields: &[Field]) {
    for field in fields {
        let (Type::Struct(name), fields) = (
            match &field.kind {
                Type::Array(element) => (**element).clone(),
                other => other.clone(),
            },
            &field.fields,
        ) else {
            continue;
        };
        if fields.is_empty() {
            continue; // A shared struct, written once.
        }
        let versions = message.versions.intersect(field.versions);
        emit_struct(out, &name, &Context { flexible: message.flexible, versions, fields, shared: &message.shared });
        emit_nested(out, message, fields);
    }
}

fn emit_struct(out: &mut String, name: &str, context: &Context) {
    line!(out, "/// `{name}`.\n#[derive(Clone, Debug, PartialEq)]\npub struct {name} {{");
    for field in context.fields {
        line!(out, "/// `{}`{}", field.name, if field.is_key { ", part of the element's key." } else { "." });
        line!(out, "pub {}: {},", field_name(field), rust_type(field));
    }
    line!(out, "/// Tagged fields that this version of the schema does not know.\npub unknown_tagged_fields: Vec<RawTaggedField>,\n}}");
    line!(out, "impl Default for {name} {{ fn default() -> Self {{ {name} {{");
    for field in context.fields {
        line!(out, "{}: {},", field_name(field), default_value(field));
    }
    line!(out, "unknown_tagged_fields: Vec::new(), }} }} }}");
    line!(out, "impl {name} {{");
    emit_read(out, name, context);
    emit_write(out, name, context);
    emit_filled(out, context);
    line!(out, "}}");
}

fn emit_read(out: &mut String, name: &str, context: &Context) {
    line!(out, "pub(super) fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {{ let _ = version;");
    line!(out, "let mut message = {name}::default();");
    for field in context.fields {
        let untagged = untagged_condition(context, field);
        if untagged.is_never() {
            continue;
        }
        let read = read_expression(context, field, false);
        untagged.guard(out, &format!("message.{} = {read};", field_name(field)));
    }
    let flexible = condition(context.flexible, context.versions);
    if !flexible.is_never() {
        let mut arms = String::new();
        for field in tagged_fields(context) {
            let (tag, versions) = field.tag.expect("only tagged fields are listed");
            let present = condition(versions.intersect(field.versions), context.versions);
            let guard = match &present {
                Condition::When(expression) => format!(" if {expression}"),
                Condition::Always => String::new(),
                Condition::Never => continue,
            };
            line!(arms, "{tag}{guard} => message.{} = {},", field_name(field), read_expression(context, field, true));
        }
        flexible.guard(
            out,
            &format!(
                "for _ in 0..r.tagged_field_count()? {{ let (tag, size) = r.tag()?; match tag {{ {arms} \
                 _ => message.unknown_tagged_fields.push(r.raw_tagged_field(tag, size)?), }} }}"
            ),
        );
    }
    line!(out, "Ok(message) }}");
}

fn emit_write(out: &mut String, name: &str, context: &Context) {
    line!(out, "pub(super) fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {{ let _ = version;");
    for field in context.fields {
        let untagged = untagged_condition(context, field);
        if !untagged.is_never() {
            untagged.guard(out, &write_statement(context, field, false));
        }
        let present = condition(field.versions, context.versions);
        if !field.ignorable && !present.is_always() {
            let refuse = format!(
                "if {} {{ return Err(EncodeError::FieldNotInVersion {{ field: \"{name}.{}\", version }}); }}",
                differs_from_default(field),
                field.name
            );
            present.negate().guard(out, &refuse);
        }
    }
    let flexible = condition(context.flexible, context.versions);
    let refuse = "if !self.unknown_tagged_fields.is_empty() { return Err(EncodeError::TaggedFieldsNotInVersion { version }); }";
    flexible.clone().negate().guard(out, refuse);
    if !flexible.is_never() {
        flexible.guard(out, &write_tagged(context));
    }
    line!(out, "Ok(()) }}");
}

fn write_tagged(context: &Context) -> String {
    let mut body = String::new();
    line!(body, "let mut tagged = w.tagged_fields(&self.unknown_tagged_fields);");
    for field in tagged_fields(context) {
        let (tag, versions) = field.tag.expect("only tagged fields are listed");
        let present = condition(versions.intersect(field.versions), context.versions);
        if present.is_never() {
            continue;
        }
        let write = format!(
            "if {} {{ tagged.field({tag}, |w| {{ {} Ok(()) }})?; }}",
            differs_from_default(field),
            write_statement(context, field, true)
        );
        present.guard(&mut body, &write);
    }
    line!(body, "tagged.finish();");
    body
}

/// Fills every field with a value computed from its path, by the rule that the golden files follow.
fn emit_filled(out: &mut String, context: &Context) {
    line!(out, "#[cfg(test)] pub(super) fn filled(version: i16, path: &str) -> Self {{ let _ = (version, path);");
    line!(out, "let mut message = Self::default();");
    for field in context.fields {
        let tagged = field.tag.map_or(Versions::NONE, |(_, versions)| versions);
        let present = condition(field.versions, context.versions);
        if present.is_never() && tagged.is_empty() {
            continue;
        }
        let value = filled_value(&field.kind, field, context);
        let value = if field.nullable.is_empty() { value } else { format!("Some({value})") };
        present.guard(
            out,
            &format!("let path = format!(\"{{path}}.{}\"); let path = path.as_str(); message.{} = {value};", field.name, field_name(field)),
        );
    }
    line!(out, "message }}");
}

fn filled_value(kind: &Type, field: &Field, context: &Context) -> String {
    let default = field.default.as_deref().unwrap_or("");
    match kind {
        Type::Bool => format!("{}", default != "true"),
        Type::Struct(name) => format!("{name}::filled(version, path)"),
        Type::Array(element) => {
            let count = if has_keys(field, context) { 1 } else { 2 };
            format!("vec![{}; {count}]", filled_value(element, &Field { default: None, ..field.clone() }, context))
        }
        Type::String => format!("golden::string(path, {default:?})"),
        Type::Bytes => "golden::bytes(path)".to_owned(),
        Type::Records => "golden::records()".to_owned(),
        Type::Uuid => "golden::uuid(path)".to_owned(),
        Type::Int8 => format!("golden::int8(path, {})", number_default(default)),
        Type::Int16 => format!("golden::int16(path, {})", number_default(default)),
        Type::Uint16 => format!("golden::uint16(path, {})", number_default(default)),
        Type::Int32 => format!("golden::int32(path, {})", number_default(default)),
        Type::Uint32 => format!("golden::uint32(path, {})", number_default(default)),
        Type::Int64 => format!("golden::int64(path, {})", number_default(default)),
        Type::Float64 => format!("golden::float64(path, {}f64)", number_default(default)),
    }
}

fn has_keys(field: &Field, context: &Context) -> bool {
    let Type::Array(element) = &field.kind else { return false };
    let shared = context.shared.iter().find(|shared| Type::Struct(shared.name.clone()) == **element);
    shared.map_or(&field.fields, |shared| &shared.fields).iter().any(|field| field.is_key)
}

fn emit_golden_dispatch(out: &mut String, messages: &[Message]) {
    line!(out, "/// Messages by name, for the golden tests.\n#[cfg(test)] pub(crate) mod by_name {{ use super::support::*;");
    line!(out, "pub fn transcode(name: &str, version: i16, bytes: Bytes) -> Option<Result<Bytes, String>> {{ match name {{");
    for message in messages {
        let (module, name) = (snake_case(&message.name), &message.name);
        line!(out, "\"{name}\" => Some(golden::transcode::<super::{module}::{name}>(version, bytes)),");
    }
    line!(out, "_ => None }} }}");
    line!(out, "pub fn filled(name: &str, version: i16) -> Option<Result<Bytes, String>> {{ match name {{");
    for message in messages {
        let (module, name) = (snake_case(&message.name), &message.name);
        line!(out, "\"{name}\" => Some(golden::encode(&super::{module}::{name}::filled(version, name), version)),");
    }
    line!(out, "_ => None }} }}");
    line!(out, "pub const VERSIONS: &[(&str, i16, i16)] = &[");
    for message in messages {
        line!(out, "(\"{}\", {}, {}),", message.name, message.versions.first, message.versions.last);
    }
    line!(out, "]; }}");
}

/// The `ApiKey` enum and the table of versions.
pub fn api_keys(messages: &[Message]) -> String {
    let mut out = String::new();
    let mut requests: Vec<_> = messages.iter().filter(|message| message.kind == "request").collect();
    requests.sort_by_key(|message| message.api_key);
    line!(out, "api_keys! {{");
    for message in requests {
        line!(
            out,
            "{} = {} versions {} {} flexible {} unstable {} broker {} controller {};",
            message.name.trim_end_matches("Request"),
            message.api_key.expect("requests have keys"),
            message.versions.first,
            message.versions.last,
            if message.flexible.is_empty() { i16::MAX } else { message.flexible.first },
            message.latest_unstable,
            message.listeners.iter().any(|listener| listener == "broker"),
            message.listeners.iter().any(|listener| listener == "controller"),
        );
    }
    line!(out, "}}");
    out
}

fn tagged_fields<'a>(context: &Context<'a>) -> Vec<&'a Field> {
    let mut fields: Vec<_> = context.fields.iter().filter(|field| field.tag.is_some()).collect();
    fields.sort_by_key(|field| field.tag.map(|(tag, _)| tag));
    fields
}

/// When something applies, among the versions that are possible at all.
#[derive(Clone)]
enum Condition {
    Always,
    Never,
    When(String),
}

impl Condition {
    fn is_never(&self) -> bool {
        matches!(self, Condition::Never)
    }

    fn is_always(&self) -> bool {
        matches!(self, Condition::Always)
    }

    fn negate(self) -> Condition {
        match self {
            Condition::Always => Condition::Never,
            Condition::Never => Condition::Always,
            Condition::When(expression) => Condition::When(format!("!({expression})")),
        }
    }

    fn expression(&self) -> String {
        match self {
            Condition::Always => "true".to_owned(),
            Condition::Never => "false".to_owned(),
            Condition::When(expression) => expression.clone(),
        }
    }

    fn guard(&self, out: &mut String, body: &str) {
        match self {
            Condition::Always => line!(out, "{{ {body} }}"),
            Condition::Never => {}
            Condition::When(expression) => line!(out, "if {expression} {{ {body} }}"),
        }
    }
}

fn condition(versions: Versions, possible: Versions) -> Condition {
    let versions = Versions { last: if versions.last == i16::MAX { possible.last } else { versions.last }, ..versions };
    if versions.contains(possible) && !versions.is_empty() {
        return Condition::Always;
    }
    let both = versions.intersect(possible);
    if both.is_empty() {
        return Condition::Never;
    }
    let expression = if both.first == possible.first {
        format!("version <= {}", both.last)
    } else if both.last == possible.last {
        format!("version >= {}", both.first)
    } else {
        format!("({}..={}).contains(&version)", both.first, both.last)
    };
    Condition::When(expression)
}

/// When the field stands at its place in the struct, rather than among the tagged fields.
fn untagged_condition(context: &Context, field: &Field) -> Condition {
    match field.tag {
        None => condition(field.versions, context.versions),
        Some((_, tagged)) if tagged.contains(field.versions.intersect(context.versions)) => Condition::Never,
        Some((_, tagged)) => condition(Versions { first: field.versions.first, last: tagged.first - 1 }, context.versions),
    }
}

fn flexible_expression(context: &Context, field: &Field, tagged: bool) -> String {
    if tagged {
        return "true".to_owned();
    }
    if field.inflexible {
        return "false".to_owned();
    }
    condition(context.flexible, context.versions).expression()
}

fn read_expression(context: &Context, field: &Field, tagged: bool) -> String {
    let flexible = flexible_expression(context, field, tagged);
    let nullable = condition(field.nullable, context.versions);
    let name = format!("{:?}", field.name);
    let optional = !field.nullable.is_empty();
    let wrap = |read: String| if optional { format!("Some({read})") } else { read };
    let plain = match &field.kind {
        Type::String => format!("r.string({flexible}, {name})?"),
        Type::Bytes => format!("r.bytes({flexible}, {name})?"),
        Type::Records => format!("r.records({flexible}, {name})?"),
        Type::Struct(kind) => format!("{kind}::read(r, version)?"),
        Type::Array(element) => format!("r.array({flexible}, {name}, |r| Ok({}))?", read_element(element, &flexible, &name)),
        other => primitive_read(other),
    };
    let or_null = || match &field.kind {
        Type::String => format!("r.nullable_string({flexible}, {name})?"),
        Type::Bytes => format!("r.nullable_bytes({flexible})?"),
        Type::Records => format!("r.nullable_records({flexible})?"),
        Type::Struct(kind) => {
            let present = if tagged { "r.unsigned_varint()? > 0" } else { "r.i8()? >= 0" };
            format!("if {present} {{ Some({kind}::read(r, version)?) }} else {{ None }}")
        }
        Type::Array(element) => format!("r.nullable_array({flexible}, |r| Ok({}))?", read_element(element, &flexible, &name)),
        other => panic!("{other:?} cannot be null"),
    };
    match nullable {
        Condition::Never => wrap(plain),
        Condition::Always => or_null(),
        Condition::When(expression) => format!("if {expression} {{ {} }} else {{ {} }}", or_null(), wrap(plain)),
    }
}

fn read_element(kind: &Type, flexible: &str, name: &str) -> String {
    match kind {
        Type::String => format!("r.string({flexible}, {name})?"),
        Type::Bytes => format!("r.bytes({flexible}, {name})?"),
        Type::Struct(kind) => format!("{kind}::read(r, version)?"),
        other => primitive_read(other),
    }
}

fn primitive_read(kind: &Type) -> String {
    let method = match kind {
        Type::Bool => "bool",
        Type::Int8 => "i8",
        Type::Int16 => "i16",
        Type::Uint16 => "u16",
        Type::Int32 => "i32",
        Type::Uint32 => "u32",
        Type::Int64 => "i64",
        Type::Float64 => "f64",
        Type::Uuid => "uuid",
        other => panic!("{other:?} is not primitive"),
    };
    format!("r.{method}()?")
}

fn write_statement(context: &Context, field: &Field, tagged: bool) -> String {
    let flexible = flexible_expression(context, field, tagged);
    let place = format!("self.{}", field_name(field));
    if field.nullable.is_empty() {
        return write_value(&field.kind, &flexible, &place, false);
    }
    let nullable = condition(field.nullable, context.versions).expression();
    let null = match (&field.kind, tagged) {
        (Type::Struct(_), true) => "w.unsigned_varint(0);".to_owned(),
        (Type::Struct(_), false) => "w.i8(-1);".to_owned(),
        (Type::String, _) => format!("w.null_string({flexible});"),
        (Type::Bytes | Type::Records | Type::Array(_), _) => format!("w.null_length({flexible});"),
        (other, _) => panic!("{other:?} cannot be null"),
    };
    let present = match (&field.kind, tagged) {
        (Type::Struct(_), true) => format!("if {nullable} {{ w.unsigned_varint(1); }}"),
        (Type::Struct(_), false) => format!("if {nullable} {{ w.i8(1); }}"),
        _ => String::new(),
    };
    let write = write_value(&field.kind, &flexible, "value", true);
    format!(
        "match &{place} {{ Some(value) => {{ {present} {write} }} None if {nullable} => {{ {null} }} \
         None => return Err(EncodeError::Null {{ field: {:?}, version }}), }}",
        field.name
    )
}

fn write_value(kind: &Type, flexible: &str, place: &str, borrowed: bool) -> String {
    let reference = if borrowed { place.to_owned() } else { format!("&{place}") };
    match kind {
        Type::String => format!("w.string({flexible}, {reference})?;"),
        Type::Bytes => format!("w.bytes({flexible}, {reference})?;"),
        Type::Records => format!("w.records({flexible}, {reference})?;"),
        Type::Struct(_) => format!("{place}.write(w, version)?;"),
        Type::Array(element) => {
            let write = write_value(element, flexible, "element", true);
            format!("w.array_length({flexible}, {place}.len())?; for element in {reference} {{ {write} }}")
        }
        primitive => {
            let method = primitive_read(primitive).replace("r.", "w.").replace("()?", "");
            let value = if borrowed { format!("*{place}") } else { place.to_owned() };
            format!("{method}({value});")
        }
    }
}

fn differs_from_default(field: &Field) -> String {
    let place = format!("self.{}", field_name(field));
    let default_is_null = default_value(field) == "None";
    match &field.kind {
        _ if default_is_null => format!("{place}.is_some()"),
        Type::Array(_) | Type::String | Type::Bytes if field.nullable.is_empty() && default_is_empty(field) => {
            format!("!{place}.is_empty()")
        }
        Type::Bool if default_value(field) == "false" => place,
        Type::Bool => format!("!{place}"),
        _ => format!("{place} != {}", default_value(field)),
    }
}

fn default_is_empty(field: &Field) -> bool {
    field.default.is_none()
}

fn rust_type(field: &Field) -> String {
    let kind = plain_type(&field.kind);
    if field.nullable.is_empty() { kind } else { format!("Option<{kind}>") }
}

fn plain_type(kind: &Type) -> String {
    match kind {
        Type::Bool => "bool".to_owned(),
        Type::Int8 => "i8".to_owned(),
        Type::Int16 => "i16".to_owned(),
        Type::Uint16 => "u16".to_owned(),
        Type::Int32 => "i32".to_owned(),
        Type::Uint32 => "u32".to_owned(),
        Type::Int64 => "i64".to_owned(),
        Type::Float64 => "f64".to_owned(),
        Type::Uuid => "Uuid".to_owned(),
        Type::String => "String".to_owned(),
        Type::Bytes => "Bytes".to_owned(),
        Type::Records => "Records".to_owned(),
        Type::Struct(name) => name.clone(),
        Type::Array(element) => format!("Vec<{}>", plain_type(element)),
    }
}

/// Kafka's default: that of the schema, else zero, false, the empty value, or a struct of defaults; records are null.
fn default_value(field: &Field) -> String {
    let optional = !field.nullable.is_empty();
    if optional && (field.default.as_deref() == Some("null") || field.kind == Type::Records) {
        return "None".to_owned();
    }
    let default = field.default.as_deref().unwrap_or("");
    let value = match &field.kind {
        Type::Bool => (if default == "true" { "true" } else { "false" }).to_owned(),
        Type::Float64 => format!("{}f64", number_default(default)),
        Type::Uuid => "Uuid::ZERO".to_owned(),
        Type::String if !default.is_empty() => format!("String::from({default:?})"),
        Type::String => "String::new()".to_owned(),
        Type::Bytes => "Bytes::new()".to_owned(),
        Type::Records => "Records::default()".to_owned(),
        Type::Struct(name) => format!("{name}::default()"),
        Type::Array(_) => "Vec::new()".to_owned(),
        _ => number_default(default),
    };
    if optional { format!("Some({value})") } else { value }
}

fn number_default(default: &str) -> String {
    if default.is_empty() { "0".to_owned() } else { default.to_owned() }
}

/// `TopicId` as `topic_id`, `ISR` as `isr`.
fn snake_case(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (index, &character) in characters.iter().enumerate() {
        let after_lower = index > 0 && !characters[index - 1].is_ascii_uppercase();
        let before_lower = characters.get(index + 1).is_some_and(char::is_ascii_lowercase);
        if character.is_ascii_uppercase() && index > 0 && (after_lower || before_lower) {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

fn field_name(field: &Field) -> String {
    let name = snake_case(&field.name);
    match name.as_str() {
        "type" | "match" | "use" | "where" | "ref" => name + "_",
        _ => name,
    }
}
