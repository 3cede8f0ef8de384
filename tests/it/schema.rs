//! `schema` describes what the commands write: every output of the samples is checked against it.
//!
//! The validator knows the keywords that the schemas use, fails on any other, and is stricter than
//! they are: a key that a schema does not describe is an error.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::harness::Harness;

fn schema(topic: &str) -> Value {
    serde_json::from_str(&Harness::new().run(["schema", topic]).text()).unwrap()
}

fn sample_folder() -> String {
    format!("{}/samples", env!("CARGO_MANIFEST_DIR"))
}

/// Errors of a value, each with the path to it.
fn check(root: &Value, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
    let parts = parts(root, schema);
    let properties: Vec<(&String, &Value)> = parts
        .iter()
        .filter_map(|part| part["properties"].as_object())
        .flat_map(serde_json::Map::iter)
        .collect();
    if let Value::Object(object) = value {
        for (name, inner) in object {
            match properties.iter().find(|(known, _)| *known == name) {
                Some((_, schema)) => check(root, schema, inner, &format!("{at}.{name}"), errors),
                None if properties.is_empty() => {}
                None => errors.push(format!("{at}.{name} is not described")),
            }
        }
    }
    check_one(root, schema, value, at, errors);
}

/// What one schema requires of a value, without the values of its properties.
fn check_one(root: &Value, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
    for (keyword, rule) in schema.as_object().into_iter().flatten() {
        match keyword.as_str() {
            "$schema"
            | "$defs"
            | "title"
            | "description"
            | "format"
            | "default"
            | "properties"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "contentEncoding"
            | "contentMediaType" => {}
            "$ref" => check_one(root, referred(root, rule), value, at, errors),
            "type" => {
                let types: Vec<&str> = rule.as_array().map_or_else(
                    || rule.as_str().into_iter().collect(),
                    |all| all.iter().filter_map(Value::as_str).collect(),
                );
                if !types.iter().any(|name| is_of(value, name)) {
                    errors.push(format!("{at} is {value}, not {types:?}"));
                }
            }
            "minimum" if value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()) => {}
            "maximum" if value.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap()) => {}
            "minItems"
                if value
                    .as_array()
                    .is_none_or(|all| all.len() as u64 >= rule.as_u64().unwrap()) => {}
            "maxItems"
                if value
                    .as_array()
                    .is_none_or(|all| all.len() as u64 <= rule.as_u64().unwrap()) => {}
            "const" if value == rule => {}
            "enum" if rule.as_array().unwrap().contains(value) => {}
            "required" => {
                let missing = rule
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(Value::as_str)
                    .find(|name| value.is_object() && value.get(name).is_none());
                errors.extend(missing.map(|name| format!("{at} lacks {name}")));
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{at}[{number}]"), errors);
                }
            }
            "prefixItems" => {
                for (number, (item, rule)) in value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .zip(rule.as_array().unwrap())
                    .enumerate()
                {
                    check(root, rule, item, &format!("{at}[{number}]"), errors);
                }
            }
            "allOf" => rule
                .as_array()
                .unwrap()
                .iter()
                .for_each(|one| check_one(root, one, value, at, errors)),
            "anyOf" | "oneOf" => {
                let fits = |one: &&Value| {
                    let mut errors = Vec::new();
                    check_one(root, one, value, at, &mut errors);
                    errors.is_empty()
                };
                if !rule.as_array().unwrap().iter().any(|one| fits(&one)) {
                    errors.push(format!("{at} is {value}, which fits none of {rule}"));
                }
            }
            "minimum" | "maximum" | "minItems" | "maxItems" | "const" | "enum" => {
                errors.push(format!("{at} is {value}: {keyword} {rule}"));
            }
            other => panic!("{at}: the validator does not know the keyword {other}"),
        }
    }
}

fn referred<'a>(root: &'a Value, path: &Value) -> &'a Value {
    root.pointer(path.as_str().unwrap().strip_prefix('#').unwrap())
        .unwrap()
}

/// A schema, those it refers to, and those that it allows beside it.
fn parts<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let further = schema.get("$ref").map(|path| referred(root, path));
    let inner = ["anyOf", "allOf", "oneOf"]
        .into_iter()
        .filter_map(|key| schema[key].as_array())
        .flatten();
    std::iter::once(schema)
        .chain(
            further
                .into_iter()
                .chain(inner)
                .flat_map(|one| parts(root, one)),
        )
        .collect()
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

fn errors(schema: &Value, value: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    check(schema, schema, value, "", &mut errors);
    errors
}

/// Fails on a value that does not fit the schema of this output.
pub(crate) fn assert_described(topic: &str, value: &Value) {
    assert_eq!(errors(&schema(topic), value), Vec::<String>::new());
}

#[test]
fn reports_fit_their_schema() {
    let harness = Harness::new();
    let (schema, samples) = (schema("json"), sample_folder());
    let (run, report) = harness.json(["-q", samples.as_str()]);
    assert_eq!(
        (run.code, errors(&schema, &report)),
        (0, vec![]),
        "{}",
        run.stderr
    );
    for list in ["answered", "clients", "paths", "rules", "pairs", "soft_404"] {
        assert!(
            !report[list].as_array().unwrap().is_empty(),
            "{list} shows nothing"
        );
    }
    let top = harness
        .run([
            "scan",
            "-q",
            "-f",
            "json",
            "--top",
            "1",
            "--anonymize",
            "truncate",
            samples.as_str(),
        ])
        .text();
    assert_eq!(
        errors(&schema, &serde_json::from_str(&top).unwrap()),
        Vec::<String>::new()
    );
    let (_, empty) = harness.json(["-q", "/dev/null"]);
    assert_eq!(errors(&schema, &empty), Vec::<String>::new());
}

#[test]
fn hits_fit_their_schema() {
    let schema = schema("ndjson");
    let hits = Harness::new()
        .run(["scan", "-q", "-f", "ndjson", sample_folder().as_str()])
        .objects();
    assert!(hits.len() > 50);
    for hit in &hits {
        assert_eq!(errors(&schema, hit), Vec::<String>::new());
    }
}

#[test]
fn rule_files_fit_their_schema() {
    let schema = schema("rules");
    let mut files = 0;
    for entry in fs::read_dir(format!("{}/rules", env!("CARGO_MANIFEST_DIR"))).unwrap() {
        let path = entry.unwrap().path();
        // They have no rules: the build embeds them, and no other can be read.
        let is_table = ["classes.toml", "exceptions.toml"]
            .iter()
            .any(|table| path.ends_with(table));
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
            && !is_table
        {
            let file: Value = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            assert_eq!(
                errors(&schema, &file),
                Vec::<String>::new(),
                "{}",
                path.display()
            );
            files += 1;
        }
    }
    assert!(files > 20);
}

#[test]
fn a_wrong_value_does_not_fit() {
    let schema = schema("ndjson");
    let mut hit = Harness::new()
        .run(["scan", "-q", "-f", "ndjson", sample_folder().as_str()])
        .objects()
        .remove(0);
    hit["line"] = "7".into();
    hit["severity"] = "dire".into();
    hit["more"] = 1.into();
    hit.as_object_mut().unwrap().remove("rules");
    let errors = errors(&schema, &hit);
    for part in [
        "line is",
        "severity is",
        "more is not described",
        "lacks rules",
    ] {
        assert!(
            errors.iter().any(|error| error.contains(part)),
            "{part}: {errors:?}"
        );
    }
}

#[test]
fn csv_columns_are_described_in_their_order() {
    let harness = Harness::new();
    let text = harness.run(["schema", "csv"]).text();
    let tables: Vec<Vec<&str>> = text
        .split("\n\n")
        .map(|table| {
            table
                .lines()
                .skip(1)
                .map(|line| line.split_whitespace().next().unwrap())
                .collect()
        })
        .collect();
    for by in ["pair", "client", "path", "rule", "answer"] {
        let csv = harness
            .run([
                "scan",
                "-q",
                "-f",
                "csv",
                "--by",
                by,
                sample_folder().as_str(),
            ])
            .text();
        let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        // The table of clients also has the columns that only `report` writes.
        let known = tables.iter().any(|table| {
            let kept: Vec<&str> = table
                .iter()
                .copied()
                .filter(|name| header.contains(name))
                .collect();
            kept == header
                && table.iter().all(|name| {
                    header.contains(name)
                        || name.starts_with("block_")
                        || name.starts_with("network")
                })
        });
        assert!(known, "{by}: {header:?} is in none of {tables:?}");
    }
    let names: BTreeSet<&str> = tables.iter().flatten().copied().collect();
    assert!(
        names.contains("block_candidate")
            && names.contains("hits_before")
            && names.contains("probers")
    );
}

#[test]
fn without_an_argument_everything_is_listed() {
    let text = Harness::new().run(["schema"]).text();
    for title in ["CSV: ", "JSON: ", "NDJSON: ", "Rule files"] {
        assert!(text.lines().any(|line| line.starts_with(title)), "{title}");
    }
}
