//! Parses YAML as rules of other tools use it: texts, lists and maps.
//!
//! Every scalar is a text; tags are ignored. An alias is expanded to a copy, and the number of
//! nodes is limited: else a few lines of nested aliases would take gigabytes.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser};

/// The most nodes of a document, with copies for aliases.
const MAX_NODES: usize = 200_000;
/// The deepest nesting of lists and maps.
const MAX_DEPTH: usize = 64;

/// A node of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum YamlNode {
    Text(String),
    List(Vec<YamlNode>),
    /// In the order of the document.
    Map(Vec<(String, YamlNode)>),
}

impl YamlNode {
    /// The value of a key, if this is a map with that key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries()
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    pub(super) fn entries(&self) -> &[(String, Self)] {
        if let Self::Map(entries) = self {
            entries
        } else {
            &[]
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// The items of a list; any other node is a list of one.
    pub(super) fn items(&self) -> &[Self] {
        if let Self::List(items) = self {
            items
        } else {
            std::slice::from_ref(self)
        }
    }

    /// The texts of a list, or the one text.
    pub(super) fn texts(&self) -> Vec<&str> {
        self.items().iter().filter_map(Self::text).collect()
    }

    /// The text of a key.
    pub(super) fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Self::text)
    }

    fn size(&self) -> usize {
        match self {
            Self::Text(_) => 1,
            Self::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Self::Map(entries) => 1 + entries.iter().map(|(_, value)| value.size()).sum::<usize>(),
        }
    }
}

/// An unfinished node: a list, or a map with the key of the next value.
enum OpenNode {
    List(usize, Vec<YamlNode>),
    Map(usize, Vec<(String, YamlNode)>, Option<String>),
}

/// The documents of a text.
///
/// # Errors
///
/// The position and reason of a syntax error.
pub(super) fn documents(text: &str) -> Result<Vec<YamlNode>, String> {
    let mut reader = YamlReader::default();
    for event in Parser::new_from_str(text) {
        let (event, _) =
            event.map_err(|error| format!("line {}: {}", error.marker().line(), error.info()))?;
        reader.handle(event)?;
    }
    Ok(reader.documents)
}

#[derive(Default)]
struct YamlReader {
    open: Vec<OpenNode>,
    anchors: HashMap<usize, YamlNode>,
    nodes: usize,
    documents: Vec<YamlNode>,
}

impl YamlReader {
    fn handle(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(text, _, anchor, _) => {
                self.close(anchor, YamlNode::Text(text.into_owned()))?;
            }
            Event::Alias(anchor) => {
                let node = self
                    .anchors
                    .get(&anchor)
                    .cloned()
                    .ok_or("an alias of nothing")?;
                self.nodes += node.size();
                self.close(0, node)?;
            }
            Event::SequenceStart(anchor, _) => self.open.push(OpenNode::List(anchor, Vec::new())),
            Event::MappingStart(anchor, _) => {
                self.open.push(OpenNode::Map(anchor, Vec::new(), None));
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(OpenNode::List(anchor, items)) => self.close(anchor, YamlNode::List(items))?,
                Some(OpenNode::Map(anchor, entries, _)) => {
                    self.close(anchor, YamlNode::Map(entries))?;
                }
                None => {}
            },
            _ => {}
        }
        if self.open.len() > MAX_DEPTH {
            return Err(format!(
                "more than {MAX_DEPTH} lists and maps within one another"
            ));
        }
        Ok(())
    }

    /// Adds a finished node to its parent.
    fn close(&mut self, anchor: usize, node: YamlNode) -> Result<(), String> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(format!("more than {MAX_NODES} values"));
        }
        if anchor != 0 {
            self.nodes += node.size();
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.documents.push(node),
            Some(OpenNode::List(_, items)) => items.push(node),
            Some(OpenNode::Map(_, entries, key)) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => {
                    *key = Some(if let YamlNode::Text(text) = node {
                        text
                    } else {
                        String::new()
                    });
                }
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_texts_lists_and_maps() {
        let text = "a: 1\nb: [x, 'y z']\nc:\n  - d: |\n      line\n---\n- &n q\n- *n\n";
        let documents = documents(text).unwrap();
        assert_eq!(documents[0].text_of("a"), Some("1"));
        assert_eq!(documents[0].get("b").unwrap().texts(), ["x", "y z"]);
        assert_eq!(
            documents[0].get("c").unwrap().items()[0].text_of("d"),
            Some("line\n")
        );
        assert_eq!(documents[1].texts(), ["q", "q"]);
    }

    #[test]
    fn nested_aliases_and_lists_are_refused() {
        let nine = |item: String| format!("[{}]\n", vec![item; 9].join(", "));
        let lines = (1..12).map(|n| format!("- &a{n} {}", nine(format!("*a{}", n - 1))));
        let text: String = std::iter::once(format!("- &a0 {}", nine("x".into())))
            .chain(lines)
            .collect();
        assert!(documents(&text).unwrap_err().contains("values"));
        assert!(documents(&"[".repeat(10_000)).is_err());
        assert!(documents("a: 'b\n").unwrap_err().contains("line "));
    }
}
