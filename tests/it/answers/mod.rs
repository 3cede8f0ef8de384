//! Grades of answers on sites of real servers: nginx, Apache, and a small server in the test.
//!
//! Each kind of site gets the probes of scanners and the requests of normal visitors. The truth
//! about a request is its answer: a planted file, or what the site answers to anything. No test
//! here depends on how grades are determined.

mod apache;
mod bounded;
pub(crate) mod generated;
mod invariants;
mod nginx;
mod own;
pub(crate) mod probes;
mod site;

use site::Score;

/// Percentages: rows called distinct that are real, real rows that are not called a soft 404, and
/// rows called uncertain.
const PRECISION: f64 = 98.0;
const RECALL: f64 = 98.0;
const UNCERTAIN: f64 = 5.0;

/// Prints the table. Fails if all kinds together miss the goals, if one planted file is missed, or
/// if one kind of site has more than one row in twenty that is wrongly called distinct.
#[expect(
    clippy::print_stdout,
    reason = "a failure shows what each kind of site came to"
)]
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
    assert!(
        total.precision() >= PRECISION,
        "precision: {}",
        total.line("all")
    );
    assert!(total.recall() >= RECALL, "recall: {}", total.line("all"));
    assert!(
        total.uncertain_share() <= UNCERTAIN,
        "uncertain: {}",
        total.line("all")
    );
    for (name, score) in scores {
        assert_eq!(
            score.missed, 0,
            "{name}: a secret is called a soft 404: {:?}",
            score.wrong
        );
        assert!(
            score.false_rows <= 1.max(score.rows / 20),
            "{name}: {:?}",
            score.wrong
        );
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
