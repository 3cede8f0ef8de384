//! Documents the outputs: each column and key with its type, its unit and its meaning.
//!
//! Everything here comes from the types and tables that write the outputs, so it cannot be out of
//! date. It prints JSON Schema (draft 2020-12) for JSON, NDJSON and rule files, and aligned text
//! for CSV, which has no schema language of its own.

use std::io::{self, Write};

use clap::ValueEnum;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::{csv, json, ndjson};
use crate::report::verify::Verification;

/// What to document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Topic {
    /// Columns of every CSV table.
    Csv,
    /// JSON Schema of a report.
    Json,
    /// JSON Schema of a hit.
    Ndjson,
    /// JSON Schema of a rule file.
    Rules,
    /// JSON Schema of a result of `verify`.
    Verified,
}

/// Prints the documentation of one output, or a list of all columns and keys where `topic` is
/// `None`.
///
/// # Errors
///
/// Errors of `out`, as they came.
pub(crate) fn write<W: Write>(topic: Option<Topic>, mut out: W) -> io::Result<()> {
    match topic {
        Some(Topic::Csv) => write_tables(&mut out),
        Some(topic) => {
            serde_json::to_writer_pretty(&mut out, &schema(topic))?;
            out.write_all(b"\n")
        }
        None => {
            write_tables(&mut out)?;
            for (title, topic) in [
                ("JSON: -f json", Topic::Json),
                ("NDJSON: -f ndjson", Topic::Ndjson),
                ("Rule files", Topic::Rules),
                ("JSON: verify", Topic::Verified),
            ] {
                out.write_all(b"\n")?;
                write_lines(&mut out, title, &keys(&schema(topic)))?;
            }
            Ok(())
        }
    }
}

/// The schema of a document; that of anything for CSV, which has none.
fn schema(topic: Topic) -> Schema {
    match topic {
        Topic::Csv => Schema::default(),
        Topic::Json => serialized::<json::ReportDocument<'_>>(),
        Topic::Ndjson => serialized::<ndjson::HitObject<'_>>(),
        Topic::Rules => crate::rules::schema(),
        Topic::Verified => serialized::<Verification>(),
    }
}

/// The schema of what a type writes, which differs from that of what it reads in which keys are
/// required.
fn serialized<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
}

/// A name, its type, and its meaning.
type Line = [String; 3];

fn write_tables<W: Write>(out: &mut W) -> io::Result<()> {
    for (number, (title, columns)) in csv::tables().into_iter().enumerate() {
        if number > 0 {
            out.write_all(b"\n")?;
        }
        let lines: Vec<Line> = columns
            .into_iter()
            .map(|column| column.map(str::to_owned))
            .collect();
        write_lines(out, &format!("CSV: {title}"), &lines)?;
    }
    Ok(())
}

fn write_lines<W: Write>(out: &mut W, title: &str, lines: &[Line]) -> io::Result<()> {
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].len())
            .max()
            .unwrap_or_default()
    };
    let (name, kind) = (width(0), width(1));
    writeln!(out, "{title}")?;
    for [key, value, meaning] in lines {
        writeln!(out, "  {key:name$}  {value:kind$}  {meaning}")?;
    }
    Ok(())
}

/// Every key of a document, those of inner objects as `outer.inner`, those of lists as
/// `outer[].inner`.
fn keys(schema: &Schema) -> Vec<Line> {
    let mut lines = Vec::new();
    let root = schema.as_value();
    collect(root, root, "", &mut Vec::new(), &mut lines);
    lines
}

/// `open` are the definitions that enclose this one: a definition that contains itself is not
/// repeated.
fn collect<'a>(
    root: &'a Value,
    schema: &'a Value,
    prefix: &str,
    open: &mut Vec<&'a Value>,
    lines: &mut Vec<Line>,
) {
    for part in parts(root, schema) {
        for (name, property) in part["properties"].as_object().into_iter().flatten() {
            let types: Vec<&Value> = parts(root, property);
            let meaning = property["description"].as_str().or_else(|| {
                types
                    .iter()
                    .find_map(|schema| schema["description"].as_str())
            });
            let key = format!("{prefix}{name}");
            lines.push([
                key.clone(),
                kind(&types, root),
                meaning.unwrap_or_default().to_owned(),
            ]);
            let items = types
                .iter()
                .filter_map(|schema| schema.get("items"))
                .map(|items| (items, "[]."));
            for (inner, separator) in items.chain([(property, ".")]) {
                if !open.iter().any(|known| std::ptr::eq(*known, inner)) {
                    open.push(inner);
                    collect(root, inner, &format!("{key}{separator}"), open, lines);
                    open.pop();
                }
            }
        }
    }
}

/// A schema without its references, and those that it allows beside it.
fn parts<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let referred = schema["$ref"]
        .as_str()
        .and_then(|path| root.pointer(path.strip_prefix('#')?));
    let inner = ["anyOf", "allOf", "oneOf"]
        .into_iter()
        .filter_map(|key| schema[key].as_array())
        .flatten();
    let further = referred
        .into_iter()
        .chain(inner)
        .flat_map(|one| parts(root, one));
    std::iter::once(schema).chain(further).collect()
}

/// The types in words: `integer or null`, `list of string`.
fn kind(types: &[&Value], root: &Value) -> String {
    let mut words: Vec<String> = Vec::new();
    for one in types {
        let named = match &one["type"] {
            Value::String(name) => vec![name.as_str()],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ if one.get("const").is_some() => vec!["string"],
            _ => vec![],
        };
        for name in named {
            let word = match one.get("items") {
                Some(items) if name == "array" => {
                    format!("list of {}", kind(&parts(root, items), root))
                }
                _ => name.to_owned(),
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    words.sort_by_key(|word| word == "null");
    words.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(topic: Option<Topic>) -> String {
        let mut out = Vec::new();
        write(topic, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_key_has_a_type_and_a_meaning() {
        for (name, schema) in [
            ("json", schema(Topic::Json)),
            ("ndjson", schema(Topic::Ndjson)),
            ("rules", crate::rules::schema()),
            ("verified", schema(Topic::Verified)),
        ] {
            let keys = keys(&schema);
            assert!(keys.len() > 20, "{name}: {keys:?}");
            for [key, kind, meaning] in keys {
                assert!(
                    !kind.is_empty() && meaning.ends_with('.'),
                    "{name}: {key}: {kind:?}, {meaning:?}"
                );
            }
        }
    }

    #[test]
    fn the_list_has_keys_of_inner_objects() {
        let text = text(None);
        for start in [
            "  totals.outcomes.answered ",
            "  pairs[].sample.line ",
            "  hits ",
            "CSV: ",
            "  rule[].id ",
        ] {
            assert!(text.contains(start), "{start}: {text}");
        }
        assert_eq!(text.matches("  totals.outcomes.answered ").count(), 1);
    }
}
