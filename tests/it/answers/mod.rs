//! Grades of answers on sites that real servers make: nginx, Apache, and a small server of its own.
//!
//! Each kind of site gets the probes that scanners send and the requests of ordinary visitors. What is true of a request is what came
//! back: a planted secret, or what the site says to anything. No test here looks at how the grades are found.

mod apache;
mod bounded;
pub(crate) mod generated;
mod invariants;
mod nginx;
mod own;
pub(crate) mod probes;
mod site;

use site::Score;

/// Percent of rows called distinct that are real, of real rows that are not called a soft 404, and of rows called uncertain.
const PRECISION: f64 = 98.0;
const RECALL: f64 = 98.0;
const UNCERTAIN: f64 = 5.0;

/// Shows the table, and fails where all kinds together are worse than the goals, where one secret is lost, or where one kind of
/// site has more than a row in twenty that is called distinct and is not real.
#[expect(clippy::print_stdout, reason = "a failure shows what each kind of site came to")]
fn check(scores: &[(&'static str, Score)]) {
    if scores.is_empty() {
        return;
    }
    let mut total = Score::default();
    for (name, score) in scores {
        println!("{}", score.line(name));
        for wrong in &score.wrong {
            println!("    {wrong}");
        }
        total.add(score);
    }
    println!("{}", total.line("all"));
    assert!(total.precision() >= PRECISION, "precision: {}", total.line("all"));
    assert!(total.recall() >= RECALL, "recall: {}", total.line("all"));
    assert!(total.uncertain_share() <= UNCERTAIN, "uncertain: {}", total.line("all"));
    for (name, score) in scores {
        assert_eq!(score.missed, 0, "{name}: a secret is called a soft 404: {:?}", score.wrong);
        assert!(score.false_rows <= 1.max(score.rows / 20), "{name}: {:?}", score.wrong);
    }
}

#[test]
fn sites_of_nginx() {
    check(&nginx::scores("sites of nginx"));
}

#[test]
fn sites_of_apache() {
    check(&apache::scores("sites of Apache"));
}

#[test]
fn sites_of_a_small_server() {
    check(&own::scores());
}
