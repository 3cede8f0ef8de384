//! Goes through an Apache configuration in the order in which Apache reads it, and notes what is said of access logs.
//!
//! Resolves no nickname: Apache does so when it has read everything, and so does `resolve`.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::super::diagnostics::{ConfigLocation, ConfigNotices};
use super::super::{ServerConfigError, config_files};
use super::lexer::{lines, split, words};
use super::variables::{ApacheVariables, mask_parameters};
use super::{syntax, target};

/// Sections whose content need not hold.
const CONDITIONAL: [&[u8]; 7] = [b"ifmodule", b"ifdefine", b"ifversion", b"iffile", b"ifdirective", b"ifsection", b"macro"];

/// A site: the main server is 0, each `<VirtualHost>` one more.
type SiteIndex = usize;

/// A log, before all formats are known.
pub(super) struct ApacheLog {
    pub(super) path: PathBuf,
    /// The nickname or text; `None` for the format that the site has without a name.
    pub(super) format: Option<String>,
    pub(super) site: SiteIndex,
    pub(super) location: String,
    pub(super) note: Option<String>,
}

/// A section that is open.
struct OpenSection {
    name: Vec<u8>,
    line: usize,
    /// What was the site before it.
    before: SiteIndex,
    /// What is in it need not hold: a file that is included and not there is no error.
    is_conditional: bool,
    /// It is known not to hold.
    is_skipped: bool,
}

/// A reading under way.
pub(super) struct ApacheInterpreter {
    pub(super) logs: Vec<ApacheLog>,
    pub(super) notices: ConfigNotices,
    formats: HashMap<(SiteIndex, String), String>,
    default_format: HashMap<SiteIndex, String>,
    root: PathBuf,
    variables: ApacheVariables,
    sections: Vec<OpenSection>,
    parameters: Vec<Vec<u8>>,
    site: SiteIndex,
    sites: usize,
    depth: usize,
}

impl ApacheInterpreter {
    /// For a configuration in this folder.
    pub(super) fn new(folder: &Path) -> Self {
        // What a package or the sources were built with: the folder, or for PREFIX/conf the one above.
        let root = folder.parent().filter(|_| folder.ends_with("conf")).unwrap_or(folder).to_owned();
        Self {
            logs: Vec::new(),
            notices: ConfigNotices::default(),
            formats: HashMap::new(),
            default_format: HashMap::new(),
            root,
            variables: ApacheVariables::from_envvars(folder),
            sections: Vec::new(),
            parameters: Vec::new(),
            site: 0,
            sites: 0,
            depth: 0,
        }
    }

    /// What a nickname stands for in a site, or in the main server.
    pub(super) fn format(&self, name: &str, site: SiteIndex) -> Option<String> {
        [site, 0].iter().find_map(|site| self.formats.get(&(*site, name.to_owned()))).cloned()
    }

    /// The format that a site has without a name.
    pub(super) fn default_format(&self, site: SiteIndex) -> Option<String> {
        [site, 0].iter().find_map(|site| self.default_format.get(site)).map(|text| self.format(text, site).unwrap_or_else(|| text.clone()))
    }

    pub(super) fn file(&mut self, file: &Path, text: &[u8]) -> Result<(), ServerConfigError> {
        let open = self.sections.len();
        for line in lines(text) {
            let location = ConfigLocation { file, line: line.number };
            if line.text.starts_with(b"<") {
                self.section(location, &line.text, open)?;
            } else if !self.sections.iter().any(|section| section.is_skipped) {
                self.directive(location, &line.text)?;
            }
        }
        match self.sections.get(open..) {
            Some([section, ..]) => {
                let what = format!("a <{}> that does not end in this file", String::from_utf8_lossy(&section.name));
                Err(syntax(ConfigLocation { file, line: section.line }, &what))
            }
            _ => Ok(()),
        }
    }

    fn section(&mut self, location: ConfigLocation<'_>, text: &[u8], open: usize) -> Result<(), ServerConfigError> {
        let inner = text[1..].trim_ascii_end();
        let inner = inner.strip_suffix(b">").ok_or_else(|| syntax(location, "a section without its '>'"))?;
        match inner.strip_prefix(b"/") {
            Some(name) => self.end(location, &name.trim_ascii().to_ascii_lowercase(), open),
            None if self.sections.len() > open + config_files::MAX_DEPTH => {
                Err(syntax(location, "more than thirty sections in each other"))
            }
            None => {
                self.begin(location, inner.trim_ascii_start());
                Ok(())
            }
        }
    }

    fn begin(&mut self, location: ConfigLocation<'_>, text: &[u8]) {
        let (name, arguments) = split(text);
        let is_skipped = name == b"ifdefine" && arguments.trim_ascii().strip_prefix(b"!").is_some_and(|name| self.variables.has(name));
        let is_conditional = CONDITIONAL.contains(&name.as_slice());
        let before = self.site;
        if name == b"virtualhost" {
            self.sites += 1;
            self.site = self.sites;
        } else if name == b"macro" {
            self.parameters = words(arguments).into_iter().skip(1).collect();
        }
        self.sections.push(OpenSection { name, line: location.line, before, is_conditional, is_skipped });
    }

    /// `open` sections are of the files that include this one.
    fn end(&mut self, location: ConfigLocation<'_>, name: &[u8], open: usize) -> Result<(), ServerConfigError> {
        let is_inner = self.sections.len() > open;
        let section = self.sections.pop_if(|section| is_inner && section.name == name);
        let none = || syntax(location, &format!("</{}> ends no section that is open", String::from_utf8_lossy(name)));
        self.site = section.ok_or_else(none)?.before;
        if name == b"macro" {
            self.parameters.clear();
        }
        Ok(())
    }

    fn directive(&mut self, location: ConfigLocation<'_>, text: &[u8]) -> Result<(), ServerConfigError> {
        let (name, rest) = split(text);
        let rest = self.variables.expand(rest);
        let words = words(&rest);
        let word = |at: usize| words.get(at).map(Vec::as_slice);
        match (name.as_slice(), word(0)) {
            (b"define", Some(name)) => self.variables.define(name, word(1).unwrap_or_default().to_vec()),
            (b"undefine", Some(name)) => self.variables.undefine(name),
            (b"serverroot", Some(root)) => self.root = PathBuf::from(OsStr::from_bytes(root)),
            (b"include" | b"includeoptional", Some(path)) => return self.include(location, path, name == b"includeoptional"),
            (b"logformat", Some(text)) => self.log_format(text, word(1)),
            (b"customlog" | b"globallog", Some(path)) => self.log(location, path, Some(word(1).unwrap_or_default()), word(2)),
            (b"transferlog", Some(path)) => self.log(location, path, None, None),
            _ => {}
        }
        Ok(())
    }

    fn include(&mut self, location: ConfigLocation<'_>, name: &[u8], is_optional: bool) -> Result<(), ServerConfigError> {
        let path = self.root.join(OsStr::from_bytes(name));
        let refused =
            |path: &Path, source: io::Error| ServerConfigError::Include { location: location.to_string(), path: path.to_owned(), source };
        let files = if config_files::is_pattern(name) {
            config_files::matching(&path)
        } else if path.is_dir() {
            config_files::files_recursive(&path).map_err(|source| refused(&path, source))?
        } else {
            vec![path]
        };
        if self.depth == config_files::MAX_DEPTH {
            return Err(syntax(location, "includes that go round in a circle"));
        }
        self.depth += 1;
        let is_conditional = is_optional || self.sections.iter().any(|section| section.is_conditional);
        for path in files {
            match config_files::read(&path) {
                Ok(text) => self.file(&path, &text)?,
                Err(error) if is_conditional && error.kind() == io::ErrorKind::NotFound => {}
                // A pattern may mean folders too.
                Err(_) if path.is_dir() => {}
                Err(error) => return Err(refused(&path, error)),
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn log_format(&mut self, text: &[u8], name: Option<&[u8]>) {
        let text = String::from_utf8_lossy(text).into_owned();
        match name {
            Some(name) => {
                self.formats.insert((self.site, String::from_utf8_lossy(name).into_owned()), text);
            }
            None => {
                self.default_format.insert(self.site, text);
            }
        }
    }

    fn log(&mut self, location: ConfigLocation<'_>, path: &[u8], format: Option<&[u8]>, condition: Option<&[u8]>) {
        let path = mask_parameters(path, &self.parameters);
        let Some((path, mut note)) = target(&path, &self.root, location, &mut self.notices) else { return };
        if let Some(condition) = condition {
            let what = format!("{} holds only requests for which {} is true", path.display(), String::from_utf8_lossy(condition));
            self.notices.add(location, &what);
            note = Some(note.map_or(what.clone(), |note| format!("{note}; {what}")));
        }
        let format = format.map(|format| String::from_utf8_lossy(format).into_owned());
        self.logs.push(ApacheLog { path, format, site: self.site, location: location.to_string(), note });
    }
}
