//! The MITRE ATT&CK techniques of a hit: those that its rules list, with their names and tactics.
//!
//! Lists the techniques that the built-in rules use, not the whole matrix. A technique that only a
//! user's rule lists keeps its number and has no name.

use crate::log::finding::RuleId;
use crate::rules::{Class, RuleSet};

/// A technique or a sub-technique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Technique<'r> {
    /// Its number, such as `T1595.002`.
    pub id: &'r str,
    /// Its own name, without that of the technique it belongs to; empty where it is not in the
    /// table.
    pub name: &'static str,
    /// Its tactic, if it is in the table.
    pub tactic: Option<Tactic>,
}

/// The goal of a technique: its number, such as `TA0043`, and its name.
type Tactic = (&'static str, &'static str);

const RECONNAISSANCE: Tactic = ("TA0043", "Reconnaissance");
const INITIAL_ACCESS: Tactic = ("TA0001", "Initial Access");
const EXECUTION: Tactic = ("TA0002", "Execution");
const PERSISTENCE: Tactic = ("TA0003", "Persistence");
const DEFENSE_EVASION: Tactic = ("TA0005", "Defense Evasion");
const CREDENTIAL_ACCESS: Tactic = ("TA0006", "Credential Access");
const DISCOVERY: Tactic = ("TA0007", "Discovery");
const LATERAL_MOVEMENT: Tactic = ("TA0008", "Lateral Movement");
const COLLECTION: Tactic = ("TA0009", "Collection");
const COMMAND_AND_CONTROL: Tactic = ("TA0011", "Command and Control");
const IMPACT: Tactic = ("TA0040", "Impact");

/// Techniques sorted by number, with their names and first tactics as in ATT&CK for Enterprise,
/// version 17 (<https://attack.mitre.org/versions/v17/techniques/enterprise/>).
const TECHNIQUES: [(&str, &str, Tactic); 61] = [
    ("T1003", "OS Credential Dumping", CREDENTIAL_ACCESS),
    (
        "T1003.008",
        "/etc/passwd and /etc/shadow",
        CREDENTIAL_ACCESS,
    ),
    ("T1005", "Data from Local System", COLLECTION),
    ("T1021", "Remote Services", LATERAL_MOVEMENT),
    ("T1021.001", "Remote Desktop Protocol", LATERAL_MOVEMENT),
    ("T1027", "Obfuscated Files or Information", DEFENSE_EVASION),
    ("T1036", "Masquerading", DEFENSE_EVASION),
    (
        "T1036.005",
        "Match Legitimate Resource Name or Location",
        DEFENSE_EVASION,
    ),
    ("T1059", "Command and Scripting Interpreter", EXECUTION),
    ("T1059.001", "PowerShell", EXECUTION),
    ("T1059.003", "Windows Command Shell", EXECUTION),
    ("T1059.004", "Unix Shell", EXECUTION),
    ("T1059.006", "Python", EXECUTION),
    ("T1059.007", "JavaScript", EXECUTION),
    ("T1078", "Valid Accounts", INITIAL_ACCESS),
    ("T1078.001", "Default Accounts", INITIAL_ACCESS),
    ("T1083", "File and Directory Discovery", DISCOVERY),
    ("T1087", "Account Discovery", DISCOVERY),
    ("T1090", "Proxy", COMMAND_AND_CONTROL),
    ("T1105", "Ingress Tool Transfer", COMMAND_AND_CONTROL),
    ("T1110", "Brute Force", CREDENTIAL_ACCESS),
    ("T1110.001", "Password Guessing", CREDENTIAL_ACCESS),
    ("T1110.003", "Password Spraying", CREDENTIAL_ACCESS),
    ("T1110.004", "Credential Stuffing", CREDENTIAL_ACCESS),
    ("T1133", "External Remote Services", INITIAL_ACCESS),
    ("T1136", "Create Account", PERSISTENCE),
    (
        "T1140",
        "Deobfuscate/Decode Files or Information",
        DEFENSE_EVASION,
    ),
    ("T1187", "Forced Authentication", CREDENTIAL_ACCESS),
    ("T1190", "Exploit Public-Facing Application", INITIAL_ACCESS),
    ("T1202", "Indirect Command Execution", DEFENSE_EVASION),
    ("T1203", "Exploitation for Client Execution", EXECUTION),
    ("T1213", "Data from Information Repositories", COLLECTION),
    ("T1213.003", "Code Repositories", COLLECTION),
    ("T1218", "System Binary Proxy Execution", DEFENSE_EVASION),
    ("T1220", "XSL Script Processing", DEFENSE_EVASION),
    ("T1496", "Resource Hijacking", IMPACT),
    ("T1505", "Server Software Component", PERSISTENCE),
    ("T1505.003", "Web Shell", PERSISTENCE),
    ("T1539", "Steal Web Session Cookie", CREDENTIAL_ACCESS),
    ("T1552", "Unsecured Credentials", CREDENTIAL_ACCESS),
    ("T1552.001", "Credentials In Files", CREDENTIAL_ACCESS),
    ("T1552.003", "Bash History", CREDENTIAL_ACCESS),
    ("T1552.004", "Private Keys", CREDENTIAL_ACCESS),
    (
        "T1552.005",
        "Cloud Instance Metadata API",
        CREDENTIAL_ACCESS,
    ),
    ("T1552.007", "Container API", CREDENTIAL_ACCESS),
    ("T1559", "Inter-Process Communication", EXECUTION),
    ("T1559.002", "Dynamic Data Exchange", EXECUTION),
    ("T1566", "Phishing", INITIAL_ACCESS),
    ("T1566.002", "Spearphishing Link", INITIAL_ACCESS),
    ("T1574", "Hijack Execution Flow", PERSISTENCE),
    ("T1574.006", "Dynamic Linker Hijacking", PERSISTENCE),
    (
        "T1589",
        "Gather Victim Identity Information",
        RECONNAISSANCE,
    ),
    ("T1589.003", "Employee Names", RECONNAISSANCE),
    ("T1592", "Gather Victim Host Information", RECONNAISSANCE),
    ("T1592.002", "Software", RECONNAISSANCE),
    ("T1595", "Active Scanning", RECONNAISSANCE),
    ("T1595.001", "Scanning IP Blocks", RECONNAISSANCE),
    ("T1595.002", "Vulnerability Scanning", RECONNAISSANCE),
    ("T1595.003", "Wordlist Scanning", RECONNAISSANCE),
    ("T1606", "Forge Web Credentials", CREDENTIAL_ACCESS),
    ("T1610", "Deploy Container", EXECUTION),
];

impl<'r> Technique<'r> {
    /// The technique with this number.
    fn new(id: &'r str) -> Self {
        let row = TECHNIQUES
            .binary_search_by_key(&id, |row| row.0)
            .ok()
            .map(|at| TECHNIQUES[at]);
        Self {
            id,
            name: row.map_or("", |row| row.1),
            tactic: row.map(|row| row.2),
        }
    }

    /// The technique that a sub-technique belongs to; itself where it is none.
    pub(crate) fn parent(self) -> Self {
        self.id
            .split_once('.')
            .map_or(self, |(parent, _)| Self::new(parent))
    }

    /// Whether it is a sub-technique.
    pub(crate) fn is_sub_technique(self) -> bool {
        self.id.contains('.')
    }
}

/// The techniques of these rules, sorted by number. For rules without any, a request with a payload
/// is an attempt to exploit (`T1190`), any other a scan by a list of words (`T1595.003`).
pub(crate) fn techniques<'r>(set: &'r RuleSet, rules: &[RuleId]) -> Vec<Technique<'r>> {
    let rules = || rules.iter().map(|&rule| set.rule(rule));
    let mut ids: Vec<&str> = rules()
        .flat_map(|rule| &rule.notes().attack)
        .map(String::as_str)
        .collect();
    if ids.is_empty() {
        ids.push(if rules().any(|rule| Class::is_payload(&rule.class)) {
            "T1190"
        } else {
            "T1595.003"
        });
    }
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(Technique::new).collect()
}

#[cfg(test)]
mod tests {
    use crate::render::attack::*;
    use crate::report::fixture;
    use crate::rules::{RuleChoice, load};

    #[test]
    fn the_table_is_sorted_and_has_every_technique_of_the_built_in_rules() {
        assert!(TECHNIQUES.is_sorted_by(|one, other| one.0 < other.0));
        let rules = load(&RuleChoice::default()).unwrap();
        for rule in rules.rules() {
            for id in &rule.notes().attack {
                let technique = Technique::new(id);
                assert!(
                    technique.tactic.is_some() && technique.parent().tactic.is_some(),
                    "{} of {}",
                    id,
                    rule.id
                );
            }
        }
    }

    #[test]
    fn rules_without_techniques_have_those_of_their_class() {
        let of = |number| {
            techniques(fixture::rules(), &[RuleId(number)])
                .iter()
                .map(|technique| technique.id)
                .collect::<Vec<_>>()
        };
        assert_eq!((of(5), of(6)), (vec!["T1190"], vec!["T1595.003"]));
        let unknown = Technique::new("T9999.001");
        assert_eq!(
            (unknown.name, unknown.tactic, unknown.parent().id),
            ("", None, "T9999")
        );
    }
}
