//! Imports the requested paths of nuclei templates.
//!
//! A template also has headers, bodies and expected responses, which a log does not contain, so
//! templates with ordinary requests are skipped. `{{BaseURL}}` is the root of a site; requests with
//! other variables are skipped.

use super::yaml::YamlNode;
use super::{Import, class, cves, in_query, is_ordinary, reference_urls, severity};
use crate::rules::builder::{ExampleRequest, RuleBuilder, slug};
use crate::rules::path_list;
use crate::text::normalize::Normalizer;

/// Paths that many applications have: a request for one is no probe.
const GENERIC: [&str; 30] = [
    "/admin",
    "/admin/login",
    "/admin/index.php",
    "/api",
    "/api/login",
    "/auth/login",
    "/console",
    "/dashboard",
    "/download",
    "/health",
    "/home",
    "/index.asp",
    "/index.aspx",
    "/index.jsp",
    "/login.aspx",
    "/login.html",
    "/login.jsp",
    "/login.php",
    "/main",
    "/register.php",
    "/search.php",
    "/signin",
    "/test",
    "/ui",
    "/upload",
    "/user/login",
    "/users",
    "/users/login",
    "/version",
    "/web",
];

/// The fewest bytes of a query, or of an unusual path, that is a probe on any site.
const MIN_PROBE_LEN: usize = 8;

pub(super) fn rules(stem: &str, documents: &[YamlNode]) -> Import {
    let mut import = Import::default();
    for document in documents {
        import_template(stem, document, &mut import);
    }
    import
}

fn import_template(stem: &str, document: &YamlNode, import: &mut Import) {
    let requests: Vec<&YamlNode> = ["http", "requests"]
        .iter()
        .filter_map(|key| document.get(key))
        .flat_map(YamlNode::items)
        .collect();
    if requests.is_empty() {
        import.skipped.push(
            "it has no HTTP request",
            document.text_of("id").unwrap_or(stem),
        );
        return;
    }
    let metadata = metadata(stem, document);
    let mut drafts: Vec<RuleBuilder> = Vec::new();
    for (method, target) in requests
        .iter()
        .flat_map(|request| methods_and_targets(request))
    {
        match build_rule(&metadata, &method, &target) {
            Ok(draft) => match drafts.iter_mut().find(|d| differ_only_in_paths(d, &draft)) {
                Some(same)
                    if same
                        .paths
                        .iter()
                        .any(|path| path.eq_ignore_ascii_case(&draft.paths[0])) => {}
                Some(same) => same.paths.extend(draft.paths),
                None => drafts.push(draft),
            },
            Err(why) => import.skipped.push(why, format!("{method} {target}")),
        }
    }
    for draft in &mut drafts {
        add_cases(draft);
    }
    drafts.dedup_by(|a, b| a.to_toml() == b.to_toml());
    import.drafts.extend(drafts);
}

/// The metadata of a template.
fn metadata(stem: &str, document: &YamlNode) -> RuleBuilder {
    let empty = YamlNode::Map(Vec::new());
    let info = document.get("info").unwrap_or(&empty);
    let classification = info.get("classification").unwrap_or(&empty);
    let texts = |node: &YamlNode, key: &str| -> Vec<String> {
        let all = node.get(key).map(YamlNode::texts).unwrap_or_default();
        all.iter()
            .flat_map(|text| text.split(','))
            .map(|text| text.trim().to_owned())
            .collect()
    };
    let id = document.text_of("id").unwrap_or(stem);
    let name = info.text_of("name").unwrap_or(id);
    let ids = texts(classification, "cve-id");
    let cve = cves(ids.iter().map(String::as_str).chain([id]));
    let fallback = if cve.is_empty() { "exposure" } else { "cve" };
    let about = format!("{} {name}", texts(info, "tags").join(" "));
    let level = severity(info.text_of("severity").unwrap_or_default());
    let mut draft = RuleBuilder::new(
        format!("nuclei/{}", slug(id, "template")),
        name,
        class(&about, fallback),
        level,
    );
    let cwe = texts(classification, "cwe-id");
    draft.cwe = cwe
        .iter()
        .filter_map(|text| text.to_ascii_uppercase().strip_prefix("CWE-")?.parse().ok())
        .filter(|n| *n > 0)
        .collect();
    draft.cve = cve;
    draft.references = reference_urls(
        info.get("reference")
            .map(YamlNode::texts)
            .unwrap_or_default(),
    );
    draft
}

/// Methods and targets of a request of a template.
fn methods_and_targets(request: &YamlNode) -> Vec<(String, String)> {
    let method = request
        .text_of("method")
        .unwrap_or("GET")
        .trim()
        .to_ascii_uppercase();
    let paths = request.get("path").map(YamlNode::texts).unwrap_or_default();
    let mut all: Vec<_> = paths
        .into_iter()
        .map(|path| (method.clone(), path.trim().to_owned()))
        .collect();
    for raw in request.get("raw").map(YamlNode::texts).unwrap_or_default() {
        let line = raw
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with('@'));
        if let Some((method, rest)) = line.and_then(|line| line.split_once(' ')) {
            let target = rest
                .rsplit_once(" HTTP/")
                .map_or(rest, |(target, _)| target);
            all.push((method.to_owned(), target.trim().to_owned()));
        }
    }
    all
}

/// Whether two rules differ only in their paths.
fn differ_only_in_paths(draft: &RuleBuilder, other: &RuleBuilder) -> bool {
    let rest = |d: &RuleBuilder| {
        (
            d.methods.clone(),
            d.words.clone(),
            d.regex.clone(),
            d.fields.clone(),
        )
    };
    !draft.paths.is_empty() && !other.paths.is_empty() && rest(draft) == rest(other)
}

fn build_rule(metadata: &RuleBuilder, method: &str, target: &str) -> Result<RuleBuilder, String> {
    let stripped = ["{{BaseURL}}", "{{RootURL}}"]
        .iter()
        .find_map(|start| target.strip_prefix(start))
        .unwrap_or(target);
    if stripped.contains("{{") || stripped.contains('§') || method.contains("{{") {
        return Err("it holds a variable".into());
    }
    if method.is_empty() || !method.bytes().all(|b| b.is_ascii_uppercase()) {
        return Err("its method is none".into());
    }
    let stripped = stripped.split('#').next().unwrap_or_default();
    let target = if stripped.is_empty() { "/" } else { stripped };
    if !target.starts_with('/') {
        return Err("it does not begin with '/'".into());
    }
    let mut draft = metadata.clone();
    draft.methods = if method == "GET" {
        Vec::new()
    } else {
        vec![method.to_owned()]
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if is_changed_by_normalization(path) {
        add_target(&mut draft, target)?;
    } else {
        add_path(&mut draft, path, query)?;
    }
    Ok(draft)
}

/// Whether normalization changes a path, so that its spelling is part of the probe.
fn is_changed_by_normalization(path: &str) -> bool {
    let mut normalizer = Normalizer::default();
    let views = normalizer.views(path.as_bytes());
    views.target != views.resolved
}

/// A rule on the decoded target.
fn add_target(draft: &mut RuleBuilder, target: &str) -> Result<(), String> {
    let decoded = super::condition::decoded(target).ok_or("it ends within an escape")?;
    if decoded.len() < MIN_PROBE_LEN {
        return Err("it is too short to be a rule".into());
    }
    draft.fields = vec!["target"];
    draft.words = vec![decoded];
    Ok(())
}

/// A rule on a path, and on all parameters of a query in order.
fn add_path(draft: &mut RuleBuilder, path: &str, query: &str) -> Result<(), String> {
    let mut normalizer = Normalizer::default();
    let target = format!("/?{query}");
    let query = String::from_utf8_lossy(normalizer.views(target.as_bytes()).query).into_owned();
    let mut parameters: Vec<&str> = query.split('&').filter(|p| !p.is_empty()).collect();
    if path == "/" {
        if parameters.is_empty() {
            return Err("every client requests '/'".into());
        }
        if query.len() < MIN_PROBE_LEN {
            return Err("'/' and a short query are no rule".into());
        }
    } else {
        let path = path_list::parse_path(path)
            .map_err(|why| why.rsplit("': ").next().unwrap_or_default().to_owned())?;
        let bare = path.trim_end_matches('/');
        if parameters.is_empty()
            && (is_ordinary(bare)
                || GENERIC
                    .iter()
                    .any(|generic| generic.eq_ignore_ascii_case(bare)))
        {
            return Err("ordinary clients request it too".into());
        }
        draft.paths = vec![path];
    }
    if parameters.len() > 1 {
        draft.regex = Some(
            parameters
                .iter()
                .map(|p| regex::escape(p))
                .collect::<Vec<_>>()
                .join(".*"),
        );
    }
    parameters.sort_by_key(|p| p.len());
    if let Some(longest) = parameters.last() {
        draft.fields = vec!["query"];
        draft.words = vec![(*longest).to_owned()];
    }
    Ok(())
}

fn add_cases(draft: &mut RuleBuilder) {
    let method = draft
        .methods
        .first()
        .cloned()
        .unwrap_or_else(|| "GET".into());
    if draft.words.is_empty() {
        path_list::add_cases(draft);
        return;
    }
    let mut must_match = Vec::new();
    if draft.fields == ["target"] {
        let target = path_list::percent_encoded(&draft.words[0], b"/-._~?=&;");
        must_match.extend([target.clone(), format!("{target}x")]);
    } else {
        let query = draft
            .regex
            .as_ref()
            .map_or(draft.words[0].clone(), |regex| unescaped(regex));
        let query = query
            .split('&')
            .map(|p| p.split('=').map(in_query).collect::<Vec<_>>().join("="))
            .collect::<Vec<_>>()
            .join("&");
        let path = draft
            .paths
            .first()
            .map_or_else(|| "/".into(), |path| path_list::encode_path(path));
        must_match.extend([format!("{path}?{query}"), format!("/app{path}?{query}&x=1")]);
        draft
            .must_not_match
            .push(ExampleRequest::new(format!("{method} {path}?lang=de")));
    }
    draft.must_match = must_match
        .into_iter()
        .map(|target| ExampleRequest::new(format!("{method} {target}")))
        .collect();
    draft.must_not_match.extend(
        ["GET /about", "GET /search?q=red+shoes"]
            .map(|request| ExampleRequest::new(request.into())),
    );
    draft.must_not_match.truncate(2);
}

/// The parameters that a regex was built from.
fn unescaped(regex: &str) -> String {
    let mut out = String::new();
    let mut rest = regex.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\\', Some(_)) => out.extend(rest.next()),
            ('.', Some('*')) => {
                rest.next();
                out.push('&');
            }
            _ => out.push(c),
        }
    }
    out
}
