//! Grades of made-up sites. Each threshold of a grade has a test on either side of it, which fails
//! when the number moves.

#![expect(
    clippy::cast_sign_loss,
    reason = "sizes and small numbers of paths, none below zero"
)]

use std::collections::BTreeMap;

use super::*;
use crate::log::finding::RuleId;

/// Rules below look for a path, from here on for a page of one product, one each.
const PRODUCT: u16 = 100;
/// A name that a scanner made up: what answers it answers anything.
const RANDOM: &str = "/wsc8towcq1groh9d";
/// Far larger than any size that two files share by chance.
const LARGE: u64 = 50_000;

/// A site that answers as a test requires.
#[derive(Debug, Clone, Default)]
struct MadeUpSite {
    evidence: SiteEvidence,
    responses: BTreeMap<String, Response>,
}

fn site() -> MadeUpSite {
    MadeUpSite::default()
}

fn sent(response: Response) -> SentResponse {
    SentResponse {
        response,
        client: None,
        hours: None,
    }
}

impl MadeUpSite {
    fn response(mut self, path: &str, rule: u16, response: Response) -> Self {
        let bytes = path.as_bytes();
        self.evidence.record(
            path_hash(bytes),
            || PathShape::new(bytes),
            &[RuleId(rule)],
            &sent(response),
        );
        self.responses.insert(path.into(), response);
        self
    }

    /// GET of this path by one client after another got pages of these sizes.
    fn get_by_clients(mut self, path: &str, rule: u16, sizes: &[u64]) -> Self {
        for (client, bytes) in (0_u16..).zip(sizes) {
            let response = Response {
                method: MethodClass::Get,
                status: Some(200),
                bytes: Some(*bytes),
                extra: 0,
            };
            let shape = || PathShape::new(path.as_bytes());
            self.evidence.record(
                path_hash(path.as_bytes()),
                shape,
                &[RuleId(rule)],
                &SentResponse {
                    client: Some(client),
                    ..sent(response)
                },
            );
            self.responses.insert(path.into(), response);
        }
        self
    }

    /// A response to a target that is no longer than its path.
    fn probe(
        self,
        method: MethodClass,
        path: &str,
        rule: u16,
        status: u16,
        bytes: Option<u64>,
    ) -> Self {
        self.response(
            path,
            rule,
            Response {
                method,
                status: Some(status),
                bytes,
                extra: 0,
            },
        )
    }

    /// GET of this path, for which this rule looks, got a page of this size.
    fn get(self, path: &str, rule: u16, bytes: u64) -> Self {
        self.probe(MethodClass::Get, path, rule, 200, Some(bytes))
    }

    /// `/0`, `/1` and so on got these sizes, each of a rule of its own.
    fn sizes(self, sizes: impl IntoIterator<Item = u64>) -> Self {
        sizes
            .into_iter()
            .zip(0_u16..)
            .fold(self, |site, (bytes, n)| {
                site.get(&format!("/{n}"), n + 1, bytes)
            })
    }

    /// `/0`, `/1` and so on got sizes that are not similar.
    fn varied(self, count: i32) -> Self {
        self.sizes((0..count).map(unlike_size))
    }

    /// GET of this number of other paths was refused.
    fn refused(self, count: u16) -> Self {
        (0..count).fold(self, |site, n| {
            site.probe(
                MethodClass::Get,
                &format!("/refused-{n}"),
                50 + n,
                404,
                Some(153),
            )
        })
    }

    /// A made-up name was answered; its size is not known.
    fn answers_random(self) -> Self {
        self.probe(MethodClass::Get, RANDOM, 99, 200, None)
    }

    /// What decided about the answer to a path.
    fn reason(&self, path: &str) -> Reason {
        reason(std::slice::from_ref(self), false, path)
    }
}

/// What decided about the answer of the first of these sites to a path.
fn reason(sites: &[MadeUpSite], are_hosts: bool, path: &str) -> Reason {
    let subject = |rule| {
        if rule < PRODUCT {
            RuleSubject::Path
        } else {
            RuleSubject::Product
        }
    };
    let subjects = (0..2 * PRODUCT).map(subject).collect();
    let grader = Grader::new(
        sites
            .iter()
            .map(|site| (are_hosts, site.evidence.clone()))
            .collect(),
        subjects,
    );
    let known = sites[0].evidence.path(path_hash(path.as_bytes())).unwrap();
    let candidate = GradeCandidate {
        path: path_hash(path.as_bytes()),
        shape: known.shape,
        rules: known.rules(),
    };
    grader
        .grade(0, &candidate, None, &sites[0].responses[path])
        .reason
        .kind()
}

/// Sizes each a seventh larger than the one before: further apart than any that count as similar.
fn unlike_size(n: i32) -> u64 {
    (1_000.0 * 1.15_f64.powi(n)) as u64
}

const LIKE_THE_REST: Reason = Reason::LikeTheRest(0, 0);
const NEAR_THE_REST: Reason = Reason::NearTheRest(0, 0);
const STANDS_OUT: Reason = Reason::StandsOut(0, 0);

mod equal_sizes {
    use super::*;

    #[test]
    fn what_has_the_size_of_the_home_page_is_a_soft_404() {
        let mut site = site().get("/a", 1, 311);
        assert_eq!(site.reason("/a"), Reason::NoSoft404);
        site.evidence.home.insert(311);
        assert_eq!(site.reason("/a"), Reason::HomePage);
    }

    #[test]
    fn three_unlike_paths_of_one_size_are_a_soft_404_and_two_are_uncertain() {
        let two = site().get("/a", 1, LARGE).get("/b", 2, LARGE);
        assert_eq!(two.reason("/a"), Reason::SizeShared);
        assert_eq!(
            two.clone().get("/c", 3, LARGE).reason("/a"),
            Reason::SameSize
        );
        assert_eq!(
            two.get("/c", 2, LARGE).reason("/a"),
            Reason::SizeShared,
            "what one rule looks for may be copies"
        );
        assert_eq!(site().get("/a", 1, LARGE).reason("/a"), Reason::NoSoft404);
    }

    #[test]
    fn one_size_is_the_same_everywhere_where_three_places_have_it() {
        let one_place = site().get("/a/1", 1, LARGE).get("/a/2", 2, LARGE);
        assert_eq!(
            one_place.clone().get("/b", 3, LARGE).reason("/a/1"),
            Reason::SizeShared
        );
        assert_eq!(
            one_place
                .get("/b", 3, LARGE)
                .get("/c", 4, LARGE)
                .reason("/a/1"),
            Reason::SameSize
        );
    }

    #[test]
    fn one_name_in_five_folders_has_no_copies_in_all_of_them() {
        let folders = |count: u16| {
            (0..count).fold(site().refused(2), |site, n| {
                site.get(&format!("/{n}/x.env"), 1, LARGE)
            })
        };
        assert_eq!(folders(4).reason("/0/x.env"), Reason::NoSoft404);
        assert_eq!(folders(5).reason("/0/x.env"), Reason::SameSize);
    }

    #[test]
    fn five_names_of_one_rule_have_one_identifying_size() {
        let names = |count: u16, bytes| {
            (0..count).fold(site(), |site, n| site.get(&format!("/{n}"), 1, bytes))
        };
        assert_eq!(names(4, 128).reason("/0"), Reason::NoSoft404);
        assert_eq!(names(5, 128).reason("/0"), Reason::SameSize);
        assert_eq!(
            names(5, 127).reason("/0"),
            Reason::NoSoft404,
            "short files of one kind often have one size"
        );
    }

    #[test]
    fn short_content_of_one_size_may_be_chance() {
        // By chance 3 files in a few decades of sizes have one of 40 bytes on one of 9,000 sites,
        // and of 44 on one of 10,900.
        assert_eq!(site().sizes([40; 3]).reason("/0"), Reason::SizesAlike);
        assert_eq!(site().sizes([44; 3]).reason("/0"), Reason::SameSize);
    }

    #[test]
    fn a_pair_of_one_size_is_uncertain_unless_it_is_short() {
        // Two files have one size of 36 bytes more often than once in a hundred, and one of 45 less
        // often.
        assert_eq!(site().sizes([36; 2]).reason("/0"), Reason::NoSoft404);
        assert_eq!(site().sizes([45; 2]).reason("/0"), Reason::SizeShared);
    }

    #[test]
    fn a_client_pads_a_target_but_not_a_short_one() {
        let pair = |len: usize| {
            site()
                .get("/a", 1, LARGE)
                .get(&format!("/{}", "b".repeat(len - 1)), 2, LARGE)
        };
        assert_eq!(pair(64).reason("/a"), Reason::SizeShared);
        assert_eq!(pair(65).reason("/a"), Reason::NoSoft404);
    }
}

mod sizes_alike {
    use super::*;

    #[test]
    fn a_page_with_a_token_differs_by_no_more_than_sixteen_bytes() {
        assert_eq!(
            site().sizes([2_000, 1_984, 2_016]).reason("/0"),
            Reason::SameSize
        );
        assert_eq!(
            site().sizes([2_000, 1_983, 2_017]).reason("/0"),
            Reason::SizesAlike
        );
    }

    #[test]
    fn a_short_page_differs_by_no_more_than_four() {
        // Three files lie that near to 40 bytes by chance in less than one of a hundred sites, and
        // to 34 in more.
        assert_eq!(site().sizes([40, 36, 44]).reason("/0"), Reason::SizesAlike);
        assert_eq!(site().sizes([34, 30, 38]).reason("/0"), Reason::NoSoft404);
    }

    #[test]
    fn of_three_paths_those_within_a_tenth_are_similar() {
        assert_eq!(
            site()
                .sizes([LARGE, LARGE * 9 / 10, LARGE * 11 / 10])
                .reason("/0"),
            Reason::SizesAlike
        );
        assert_eq!(
            site()
                .sizes([LARGE, LARGE * 895 / 1_000, LARGE * 1_105 / 1_000])
                .reason("/0"),
            Reason::NoSoft404
        );
    }

    #[test]
    fn of_five_paths_those_within_a_twentieth_are_similar() {
        let five = |per_mille: u64| {
            site().sizes([
                LARGE,
                LARGE * (1_000 - per_mille) / 1_000,
                LARGE * (1_000 + per_mille) / 1_000,
                5,
                500,
            ])
        };
        assert_eq!(five(50).reason("/0"), Reason::SizesAlike);
        assert_eq!(five(55).reason("/0"), Reason::NoSoft404);
    }

    #[test]
    fn exact_sizes_are_one_coincidence_and_more_than_five_values_a_page_that_varies() {
        // Five paths have each of these sizes beside each other; another path has a size between
        // them.
        let beside = |sizes: u64| {
            let exact = (0..sizes * 5).map(|n| 10_000 + n / 5 * 100);
            site().refused(20).sizes(exact).get("/file", 90, 10_150)
        };
        assert_eq!(beside(4).reason("/file"), Reason::NoSoft404);
        assert_eq!(beside(5).reason("/file"), Reason::SameSize);
    }
}

/// Paths of these lengths, and the sizes of a page that prints its path `slope` times.
fn growing(slope: u64, lengths: impl IntoIterator<Item = usize>) -> Vec<(String, u64)> {
    let path = |len: usize| format!("/{}", "x".repeat(len - 1));
    lengths
        .into_iter()
        .map(|len| (path(len), 100 + slope * len as u64))
        .collect()
}

/// A site that gave these paths these sizes, each of a rule of its own.
fn answering(paths: &[(String, u64)]) -> MadeUpSite {
    (1..)
        .zip(paths)
        .fold(site(), |site, (rule, (path, bytes))| {
            site.get(path, rule, *bytes)
        })
}

mod growing_pages {
    use super::*;

    #[test]
    fn a_page_may_print_its_address_once_to_four_times() {
        for (slope, reason) in [
            (1, Reason::SameSize),
            (4, Reason::SameSize),
            (5, Reason::NoSoft404),
        ] {
            let paths = growing(slope, [10, 40, 70, 100, 130]);
            assert_eq!(answering(&paths).reason(&paths[2].0), reason, "{slope}");
        }
    }

    #[test]
    fn five_paths_show_that_it_does() {
        let paths = growing(4, [10, 40, 70, 100]);
        assert_eq!(answering(&paths).reason(&paths[2].0), Reason::NoSoft404);
    }

    #[test]
    fn paths_of_three_lengths_show_that_it_prints_them_without_their_queries() {
        let mut all = site();
        for (n, len) in (0_u8..).zip([20_usize, 20, 20, 50, 50, 80, 80]) {
            let bytes = Some(100 + 4 * len as u64);
            let page = Response {
                method: MethodClass::Get,
                status: Some(200),
                bytes,
                extra: 11 * n,
            };
            all = all.response(&format!("/{n}{}", "x".repeat(len - 2)), n.into(), page);
        }
        assert_eq!(
            all.reason(&format!("/3{}", "x".repeat(48))),
            Reason::SameSize
        );
    }

    #[test]
    fn it_prints_the_query_as_well() {
        let page = |n: u8| Response {
            method: MethodClass::Get,
            status: Some(200),
            bytes: Some(200 + 2 * u64::from(n) * 30),
            extra: n * 30,
        };
        let all = (0..5_u8).fold(site(), |site, n| {
            site.response(&format!("/{n}"), n.into(), page(n))
        });
        assert_eq!(all.reason("/2"), Reason::SameSize);
    }

    #[test]
    fn a_target_of_unknown_length_explains_any_larger_size() {
        let page = |bytes, extra| Response {
            method: MethodClass::Get,
            status: Some(200),
            bytes: Some(bytes),
            extra,
        };
        let all = (0..6_u8).fold(site().answers_random(), |site, n| {
            site.response(
                &format!("/{n}"),
                n.into(),
                page(2_000 + 30 * u64::from(n), 30 * n),
            )
        });
        let long = |extra| {
            all.clone()
                .response("/long", 90, page(9_000, extra))
                .reason("/long")
        };
        assert_eq!(long(255), LIKE_THE_REST);
        assert_eq!(long(254), STANDS_OUT);
    }

    #[test]
    fn such_pages_are_a_third_of_all() {
        let paths = growing(4, [10, 40, 70, 100, 130]);
        let of = |all: i32| {
            (5..all).fold(answering(&paths), |site, n| {
                site.get(&format!("/{n}"), 10 + n as u16, 1_000 * unlike_size(n))
            })
        };
        assert_eq!(of(14).reason(&paths[2].0), Reason::SameSize);
        assert_eq!(of(15).reason(&paths[2].0), Reason::NoSoft404);
    }

    #[test]
    fn more_than_twice_as_many_paths_have_one_size_without_the_address_as_with_it() {
        // Three files have one size: half of six pages that print their address, and less than half
        // of seven.
        let with_copies = |lengths: &[usize]| {
            let paths = growing(4, lengths.iter().copied());
            let copies = ["/copy-1", "/copy-2", "/copy-3"];
            let site = copies
                .iter()
                .zip(90..)
                .fold(answering(&paths), |site, (path, rule)| {
                    site.get(path, rule, LARGE)
                });
            site.reason(&paths[2].0)
        };
        assert_eq!(with_copies(&[10, 40, 70, 100, 130, 160]), Reason::NoSoft404);
        assert_eq!(
            with_copies(&[10, 40, 70, 100, 130, 160, 190]),
            Reason::SameSize
        );
    }
}

mod constant_answers {
    use super::*;

    /// A site that answers anything with a page that varies by 90 bytes; of its paths, this many
    /// got several clients.
    fn jitter(varying: u16) -> MadeUpSite {
        let one = |n: u16| 5_000 + u64::from(n * 37 % 90);
        let all = (0..40).fold(site().answers_random(), |site, n| {
            site.get(&format!("/{n}"), n + 1, one(n))
        });
        (40..40 + varying).fold(all, |site, n| {
            site.get_by_clients(&format!("/{n}"), n + 1, &[one(n), one(n + 1), one(n + 2)])
        })
    }

    #[test]
    fn what_three_clients_got_alike_is_a_file_where_five_paths_vary() {
        let with_file = |varying, clients: &[u64]| {
            jitter(varying)
                .get_by_clients("/file", 95, clients)
                .reason("/file")
        };
        assert_eq!(with_file(5, &[5_091; 3]), Reason::Constant);
        assert_eq!(
            with_file(4, &[5_091; 3]),
            Reason::SameSize,
            "four files may have changed"
        );
        assert_eq!(
            with_file(5, &[5_091; 2]),
            Reason::SameSize,
            "two clients may get one size by chance"
        );
        assert_eq!(
            with_file(5, &[5_091, 5_091, 5_092]),
            Reason::SameSize,
            "it varies"
        );
    }

    #[test]
    fn it_is_uncertain_if_another_path_got_the_same_or_a_fifth_is_constant() {
        let grade = |site: &MadeUpSite| {
            let subjects = (0..PRODUCT).map(|_| RuleSubject::Path).collect();
            let grader = Grader::new(vec![(false, site.evidence.clone())], subjects);
            let path = path_hash(b"/file");
            let candidate = GradeCandidate {
                path,
                shape: PathShape::new(b"/file"),
                rules: &[RuleId(95)],
            };
            grader
                .grade(0, &candidate, None, &site.responses["/file"])
                .answer
        };
        let file = |site: MadeUpSite| site.get_by_clients("/file", 95, &[5_091; 3]);
        assert_eq!(grade(&file(jitter(5))), Answer::Distinct);
        assert_eq!(
            grade(&file(jitter(5)).get("/other", 96, 5_091)),
            Answer::Uncertain
        );
        assert_eq!(
            grade(&file(jitter(5)).get_by_clients("/second", 96, &[5_093; 3])),
            Answer::Uncertain,
            "two of seven"
        );
        assert_eq!(
            grade(&file(jitter(10)).get_by_clients("/second", 96, &[5_093; 3])),
            Answer::Distinct,
            "two of twelve"
        );
    }
}

mod times {
    use super::*;

    impl MadeUpSite {
        /// A response to GET of this path in this hour.
        fn at(mut self, hour: u32, path: &str, rule: u16, status: u16, bytes: u64) -> Self {
            let response = Response {
                method: MethodClass::Get,
                status: Some(status),
                bytes: Some(bytes),
                extra: 0,
            };
            let sent = SentResponse {
                hours: Some(Hours(hour, hour)),
                ..sent(response)
            };
            self.evidence.record(
                path_hash(path.as_bytes()),
                || PathShape::new(path.as_bytes()),
                &[RuleId(rule)],
                &sent,
            );
            self.responses.insert(path.into(), response);
            self
        }
    }

    /// A file was given while this number of files beside it was refused; `later`, any file is
    /// answered with its size.
    fn deployed(refused: u16, later: u32) -> MadeUpSite {
        let name = |n: u16| format!("/file-{n}.zip");
        let before = (0..refused).fold(
            site().at(1_000, "/backup.zip", 90, 200, LARGE),
            |site, n| site.at(1_000, &name(n), n + 1, 404, 153),
        );
        (0..20).fold(before, |site, n| {
            site.at(1_000 + later, &name(n), n + 1, 200, LARGE)
        })
    }

    #[test]
    fn what_was_given_while_all_beside_it_was_refused_is_not_hidden_by_a_later_time() {
        assert_eq!(deployed(5, 25).reason("/backup.zip"), Reason::RefusedBeside);
        assert_eq!(
            deployed(5, 24).reason("/backup.zip"),
            Reason::SameSize,
            "within a day, the order is not known"
        );
        assert_eq!(
            deployed(4, 25).reason("/backup.zip"),
            Reason::SameSize,
            "four are few"
        );
        assert_eq!(
            deployed(5, 25).reason("/file-1.zip"),
            Reason::SameSize,
            "it was answered later only"
        );
    }
}

mod posts {
    use super::*;

    #[test]
    fn what_only_post_got_does_not_show_what_get_gets() {
        let posts = |n: u16| {
            (0..n).fold(site(), |site, n| {
                site.probe(
                    MethodClass::Post,
                    &format!("/{n}/_bulk"),
                    1,
                    200,
                    Some(unlike_size(n.into())),
                )
            })
        };
        let site = posts(6)
            .get("/_nodes", 2, 9_121)
            .get("/_cat/indices", 3, 1_200);
        assert_eq!(site.reason("/_cat/indices"), Reason::NoSoft404);
    }
}

mod empty_hosts {
    use super::*;

    #[test]
    fn hosts_that_give_nothing_but_empty_answers_are_one_server_that_answers_anything() {
        let empty = |n: u16| site().probe(MethodClass::Get, &format!("/{n}"), n + 1, 200, Some(0));
        let other = || site().get("/file", 90, 4_000);
        let hosts = |n: u16| (0..n).map(empty).chain([other()]).collect::<Vec<_>>();
        assert_eq!(reason(&hosts(3), true, "/0"), Reason::AnswersAnything);
        assert_eq!(reason(&hosts(2), true, "/0"), Reason::Empty);
        let has_content = [vec![empty(0).get("/page", 91, 500)], hosts(4)[1..].to_vec()].concat();
        assert_eq!(
            reason(&has_content, true, "/0"),
            Reason::Empty,
            "it gives content elsewhere"
        );
    }

    #[test]
    fn an_empty_answer_is_uncertain_where_others_have_sizes() {
        let empty = || site().probe(MethodClass::Get, "/wp-config.php", 1, 200, Some(0));
        assert_eq!(
            empty().get("/file", 2, 4_000).reason("/wp-config.php"),
            Reason::Empty
        );
        assert_eq!(
            empty().reason("/wp-config.php"),
            Reason::NoSoft404,
            "a log that writes 0 everywhere has no sizes"
        );
    }
}

mod saturated {
    use super::*;

    #[test]
    fn five_paths_are_enough_to_answer_anything_and_four_are_not() {
        assert_eq!(
            site().answers_random().varied(3).reason("/2"),
            Reason::NoSoft404
        );
        assert_eq!(
            site().answers_random().varied(4).reason("/2"),
            Reason::FewSizes,
            "four sizes are too few to compare with"
        );
        assert_eq!(
            site().answers_random().varied(5).reason("/2"),
            LIKE_THE_REST
        );
    }

    #[test]
    fn no_site_runs_three_products_or_platforms() {
        let products = |count: u16| {
            (0..count).fold(site().varied(5), |site, n| {
                site.get(
                    &format!("/product-{n}"),
                    PRODUCT + n,
                    10 + 90 * u64::from(n),
                )
            })
        };
        assert_eq!(products(2).reason("/2"), Reason::NoSoft404);
        assert_eq!(products(3).reason("/2"), LIKE_THE_REST);
        let two = site()
            .varied(5)
            .get("/x.php", 90, 10)
            .get("/x.jsp", 91, 100);
        assert_eq!(two.reason("/2"), Reason::NoSoft404);
        assert_eq!(two.get("/x.aspx", 92, 300).reason("/2"), LIKE_THE_REST);
    }

    #[test]
    fn no_site_has_one_file_in_three_folders() {
        let folders = |count: u16| {
            (0..count).fold(site().varied(5), |site, n| {
                site.get(&format!("/{n}{n}/.env"), 90, 10 + 90 * u64::from(n))
            })
        };
        assert_eq!(folders(2).reason("/2"), Reason::NoSoft404);
        assert_eq!(folders(3).reason("/2"), LIKE_THE_REST);
    }

    #[test]
    fn a_site_that_refuses_more_than_a_fifth_has_something_to_refuse_by() {
        let of_hundred = site().answers_random().varied(99);
        assert_eq!(of_hundred.clone().refused(20).reason("/2"), LIKE_THE_REST);
        assert_eq!(of_hundred.refused(21).reason("/2"), Reason::NoSoft404);
    }

    #[test]
    fn what_it_answers_is_unlike_or_one_name_in_five_folders() {
        let rules = |count: u16| {
            let answers = (0..10).map(|n| (format!("/{n}"), n % count, 1_000 + 50 * u64::from(n)));
            answers.fold(site().answers_random(), |site, (path, rule, bytes)| {
                site.get(&path, rule, bytes)
            })
        };
        assert_eq!(
            rules(1).reason("/2"),
            Reason::NoSoft404,
            "two rules, with that of the made-up name"
        );
        assert_eq!(rules(2).reason("/2"), LIKE_THE_REST);
        let folders = |count: i32| {
            (0..count).fold(site(), |site, n| {
                site.get(&format!("/{n}/x.env"), 1, unlike_size(n))
            })
        };
        assert_eq!(
            folders(4)
                .get("/other", 1, unlike_size(5))
                .reason("/2/x.env"),
            Reason::NoSoft404
        );
        assert_eq!(folders(5).reason("/2/x.env"), LIKE_THE_REST);
    }
}

mod standing_out {
    use super::*;

    /// A site that answers anything with these sizes, and its answer to `/0`, which has the first
    /// of them.
    fn grade_among(sizes: impl IntoIterator<Item = u64>) -> Reason {
        site().answers_random().sizes(sizes).reason("/0")
    }

    #[test]
    fn pages_of_one_template_differ_by_no_more_than_48_bytes() {
        // The third nearest size counts, as one or two files of about this size may be real.
        assert_eq!(grade_among([149, 100, 101, 102, 103]), LIKE_THE_REST);
        assert_eq!(grade_among([150, 100, 101, 102, 103]), STANDS_OUT);
    }

    #[test]
    fn pages_that_vary_differ_by_no_more_than_a_quarter() {
        assert_eq!(grade_among([1_000, 750, 751, 752, 753]), LIKE_THE_REST);
        assert_eq!(grade_among([1_002, 750, 751, 752, 753]), STANDS_OUT);
    }

    #[test]
    fn a_gap_is_another_one_when_it_is_eight_times_the_usual_one() {
        assert_eq!(
            grade_among([1_450, 1_000, 1_050, 1_100, 1_150]),
            NEAR_THE_REST
        );
        assert_eq!(grade_among([1_451, 1_000, 1_050, 1_100, 1_150]), STANDS_OUT);
    }

    #[test]
    fn the_usual_gap_is_that_of_the_twelve_nearest() {
        // Of the 11 gaps between these the median is 50; with one more or one less it would be 30.
        let gaps = [10, 50, 10, 10, 10, 10, 10, 50, 50, 50, 50, 50];
        let mut last = 1_000 - gaps.iter().sum::<u64>();
        let mut sizes = vec![1_280, last];
        for gap in gaps {
            last += gap;
            sizes.push(last);
        }
        assert_eq!(grade_among(sizes), NEAR_THE_REST);
    }

    #[test]
    fn four_files_that_one_rule_looks_for_may_be_similar_and_real() {
        let of_one_rule = |count: u64| {
            let others = site()
                .answers_random()
                .get("/a", 2, 10_000)
                .get("/b", 3, 11_500);
            (0..=count)
                .fold(others, |site, n| {
                    site.get(
                        &format!("/{n}"),
                        1,
                        if n == 0 { 1_000 } else { 1_200 + 8 * n },
                    )
                })
                .reason("/0")
        };
        assert_eq!(of_one_rule(4), STANDS_OUT);
        assert_eq!(of_one_rule(5), LIKE_THE_REST);
    }

    /// A size is exact, so that another one beside it stands out, where enough paths have it in
    /// enough folders.
    #[test]
    fn five_unlike_paths_in_three_folders_have_an_exact_size() {
        let exact = |paths: u16, folders: u16| {
            let paths = (0..paths).map(|n| (n, format!("/{}/{n}", n % folders)));
            paths
                .fold(site().answers_random(), |site, (n, path)| {
                    site.get(&path, n + 1, 500)
                })
                .get("/file", 90, 517)
                .reason("/file")
        };
        assert_eq!(exact(4, 4), Reason::SameSize);
        assert_eq!(exact(5, 5), STANDS_OUT);
        assert_eq!(exact(8, 2), Reason::SameSize);
        assert_eq!(exact(8, 3), STANDS_OUT);
    }

    #[test]
    fn one_name_in_five_folders_has_an_exact_size() {
        let exact = |folders: u16| {
            let site = site().answers_random().get("/file", 2, 517);
            (0..folders).fold(site, |site, n| site.get(&format!("/{n}/x.env"), 1, 500))
        };
        assert_eq!(
            exact(4).get("/other", 1, 500).reason("/file"),
            LIKE_THE_REST
        );
        assert_eq!(exact(5).reason("/file"), STANDS_OUT);
    }

    /// A site that gives one size to 8 paths, and another one to `/0`.
    fn beside_exact(exact: u64, bytes: u64) -> Reason {
        grade_among([bytes].into_iter().chain([exact; 8]))
    }

    #[test]
    fn beside_exact_sizes_four_bytes_are_jitter_and_sixteen_may_be() {
        assert_eq!(beside_exact(100, 104), LIKE_THE_REST);
        assert_eq!(beside_exact(100, 105), NEAR_THE_REST);
        assert_eq!(beside_exact(500, 516), NEAR_THE_REST);
        assert_eq!(beside_exact(500, 517), STANDS_OUT);
    }

    #[test]
    fn beside_exact_sizes_and_others_that_vary_sixteen_bytes_are_jitter() {
        let vary = [4_000, 4_750, 5_550, 6_400, 7_300];
        let beside = |exact: u64| grade_among([500].into_iter().chain(vary).chain([exact; 5]));
        assert_eq!(beside(484), LIKE_THE_REST);
        assert_eq!(beside(483), NEAR_THE_REST);
    }

    #[test]
    fn beside_exact_sizes_half_a_percent_may_be_jitter() {
        assert_eq!(beside_exact(9_950, 10_000), NEAR_THE_REST);
        assert_eq!(beside_exact(9_950, 10_001), STANDS_OUT);
    }

    /// A site that gives one size to most paths, sizes that vary to three, and another one to `/0`.
    fn mostly_exact(exact: usize, varying: [u64; 3], bytes: u64) -> Reason {
        grade_among(
            [bytes]
                .into_iter()
                .chain(varying)
                .chain(std::iter::repeat_n(1_000, exact)),
        )
    }

    #[test]
    fn where_nearly_all_sizes_are_exact_the_others_differ_by_a_twentieth() {
        let varying = [9_998, 9_999, 10_000];
        assert_eq!(mostly_exact(12, varying, 10_524), NEAR_THE_REST);
        assert_eq!(mostly_exact(12, varying, 10_525), STANDS_OUT);
    }

    #[test]
    fn where_nearly_all_sizes_are_exact_the_others_have_four_bytes_of_jitter() {
        let varying = [198, 199, 200];
        assert_eq!(mostly_exact(12, varying, 202), LIKE_THE_REST);
        assert_eq!(mostly_exact(12, varying, 203), NEAR_THE_REST);
    }

    #[test]
    fn nearly_all_sizes_are_exact_where_a_fifth_varies() {
        let varying = [9_998, 9_999, 10_000];
        assert_eq!(
            mostly_exact(10, varying, 12_000),
            LIKE_THE_REST,
            "three of 14"
        );
        assert_eq!(mostly_exact(11, varying, 12_000), STANDS_OUT, "three of 15");
    }

    #[test]
    fn sizes_that_an_address_explains_do_not_vary() {
        // Seven pages print their address, others do not, and a file has a size between those of
        // the seven.
        let with_others = |others: i32| {
            let pages = growing(4, (2..9).map(|n| 10 * n));
            let site = answering(&pages).answers_random().get("/f", 80, 320);
            (0..others)
                .fold(site, |site, n| {
                    site.get(&format!("/{n}"), 20 + n as u16, 100 * unlike_size(2 * n))
                })
                .reason("/f")
        };
        // The file itself is one that no address explains: 6 of 13, and 7 of 14.
        assert_eq!(with_others(5), STANDS_OUT);
        assert_eq!(with_others(6), LIKE_THE_REST);
    }
}

mod without_a_size {
    use super::*;

    fn answered(site: MadeUpSite, method: MethodClass, count: u16) -> MadeUpSite {
        (0..count).fold(site, |site, n| {
            site.probe(method, &format!("/{n}"), n + 1, 200, None)
        })
    }

    #[test]
    fn a_log_without_sizes_shows_a_soft_404_by_twenty_paths() {
        let random = site().probe(MethodClass::Get, RANDOM, 99, 200, None);
        assert_eq!(
            answered(random.clone(), MethodClass::Get, 18).reason("/1"),
            Reason::NoSize
        );
        assert_eq!(
            answered(random, MethodClass::Get, 19).reason("/1"),
            Reason::AnswersAnything
        );
    }

    #[test]
    fn three_unlike_paths_where_nothing_is_refused_are_uncertain() {
        assert_eq!(
            answered(site(), MethodClass::Get, 2).reason("/1"),
            Reason::NoSoft404
        );
        assert_eq!(
            answered(site(), MethodClass::Get, 3).reason("/1"),
            Reason::NoSize
        );
        assert_eq!(
            answered(site().refused(1), MethodClass::Get, 3).reason("/1"),
            Reason::NoSoft404
        );
    }

    #[test]
    fn a_site_that_refuses_a_fifth_of_head_may_answer_any() {
        let head = |answered_paths: u16, refused: u16| {
            let site = (0..refused).fold(site(), |site, n| {
                site.probe(MethodClass::Head, &format!("/no-{n}"), 50 + n, 404, None)
            });
            answered(site, MethodClass::Head, answered_paths).reason("/1")
        };
        assert_eq!(head(5, 1), Reason::NoSize);
        assert_eq!(head(9, 2), Reason::NoSoft404);
        assert_eq!(head(10, 2), Reason::NoSize);
    }

    #[test]
    fn a_site_gives_nothing_to_anything_where_it_does_to_more_than_half() {
        let empty = |count: u16, rules: u16, others: i32| {
            let site = site().answers_random().varied(others);
            let empty = |site: MadeUpSite, n| {
                site.probe(
                    MethodClass::Get,
                    &format!("/empty-{n}"),
                    60 + n % rules,
                    204,
                    None,
                )
            };
            (0..count).fold(site, empty).reason("/empty-1")
        };
        assert_eq!(empty(5, 3, 3), Reason::AnswersAnything, "5 of 9");
        assert_eq!(empty(5, 3, 4), Reason::NoSize, "5 of 10");
        assert_eq!(empty(4, 4, 1), Reason::NoSize, "too few");
        assert_eq!(empty(5, 2, 3), Reason::NoSize, "too similar");
    }
}

mod hosts {
    use super::*;

    #[test]
    fn three_hosts_that_give_one_size_are_one_server() {
        // Enough paths that none of them is judged together with others.
        let host = |n: u16| site().get(&format!("/{n}"), n, LARGE).refused(8);
        assert_eq!(reason(&[host(1), host(2)], true, "/1"), Reason::NoSoft404);
        assert_eq!(
            reason(&[host(1), host(2), host(3)], true, "/1"),
            Reason::SameOnOtherHosts
        );
        assert_eq!(
            reason(&[host(1), host(2), host(3)], false, "/1"),
            Reason::NoSoft404,
            "logs do not share a server"
        );
        let other = site().get("/4", 4, 2 * LARGE).refused(8);
        assert_eq!(
            reason(&[host(1), host(2).get("/3", 3, LARGE), other], true, "/1"),
            Reason::NoSoft404,
            "two hosts have the size"
        );
        let same_path = |rule: u16| site().get("/x", rule, LARGE).refused(8);
        assert_eq!(
            reason(&[host(1), same_path(2), same_path(3)], true, "/1"),
            Reason::NoSoft404,
            "one path of two hosts is one file"
        );
    }

    #[test]
    fn hosts_are_compared_whenever_their_evidence_has_grown_by_an_eighth() {
        let mut grader = Grader::empty((0..2).map(|_| RuleSubject::Path).collect());
        let mut compared: Vec<usize> = Vec::new();
        for host in 0..300 {
            grader.set(host, true, site().get("/1", 1, LARGE).evidence);
            compared.push(grader.compared_changes());
        }
        assert_eq!(
            compared[..16],
            (1..=16).collect::<Vec<_>>(),
            "the first ones at once"
        );
        compared.dedup();
        assert!(compared.len() < 48, "{}", compared.len());
        grader.compare_hosts();
        assert_eq!(grader.compared_changes(), 300);
    }

    /// A host whose answers have these of a row of unlike sizes.
    fn host(sizes: std::ops::Range<i32>) -> MadeUpSite {
        sizes.fold(site(), |site, n| {
            site.get(&format!("/{n}"), n as u16 + 1, unlike_size(n))
        })
    }

    #[test]
    fn three_hosts_of_few_paths_are_judged_as_one() {
        assert_eq!(
            reason(&[host(0..3), host(3..5).answers_random()], true, "/2"),
            Reason::NoSoft404
        );
        assert_eq!(
            reason(
                &[host(0..3), host(3..4), host(4..5).answers_random()],
                true,
                "/2"
            ),
            LIKE_THE_REST
        );
        let large = host(5..6).refused(8);
        assert_eq!(
            reason(
                &[host(0..3), host(3..5).answers_random(), large],
                true,
                "/2"
            ),
            Reason::NoSoft404
        );
    }

    #[test]
    fn a_host_of_eight_paths_is_judged_alone() {
        let others = [host(8..9), host(9..10), host(10..11).answers_random()];
        let with = |first: MadeUpSite| reason(&[&[first][..], &others].concat(), true, "/2");
        assert_eq!(with(host(0..7)), LIKE_THE_REST);
        assert_eq!(with(host(0..8)), Reason::NoSoft404);
    }
}

mod bounds {
    use super::*;

    fn path(evidence: &mut SiteEvidence, path: &str, rule: u16, status: u16, bytes: u64) {
        let response = Response {
            method: MethodClass::Get,
            status: Some(status),
            bytes: Some(bytes),
            extra: 0,
        };
        evidence.record(
            path_hash(path.as_bytes()),
            || PathShape::new(path.as_bytes()),
            &[RuleId(rule)],
            &sent(response),
        );
    }

    #[test]
    fn evidence_keeps_1024_paths_of_each_kind_and_they_do_not_depend_on_the_order() {
        let of = |numbers: &mut dyn Iterator<Item = u32>| {
            let mut evidence = SiteEvidence::default();
            for n in numbers {
                path(&mut evidence, &format!("/{n}"), 0, 200, 1);
                path(&mut evidence, &format!("/refused/{n}"), 0, 404, 1);
            }
            evidence.trim();
            evidence
        };
        let evidence = of(&mut (0..1_100));
        assert_eq!(
            (evidence.answered_len(), evidence.refused_len(), MAX_PATHS),
            (1_024, 1_024, 1_024)
        );
        assert_eq!(evidence, of(&mut (0..1_100).rev()));
        let mut merged = of(&mut (500..1_100));
        merged.merge(&of(&mut (0..500)));
        merged.trim();
        assert_eq!(evidence, merged);
    }

    #[test]
    fn a_path_has_four_sizes_and_six_rules_and_a_home_page_256_sizes() {
        let mut evidence = SiteEvidence::default();
        for n in 0..300 {
            path(&mut evidence, "/", n as u16, 200, n + 1);
            evidence.home.insert(n);
        }
        let known = evidence.path(path_hash(b"/")).unwrap();
        assert_eq!(
            (
                known.get_sizes().len(),
                known.rules().len(),
                evidence.home.iter().count()
            ),
            (4, 6, 256)
        );
    }
}

/// Of many paths only those of lowest hash are stored, and each represents the others: a site that
/// answered a hundred times as many paths as it refused answers anything, however many were
/// refused.
#[test]
fn known_paths_stand_for_all() {
    let answered = 20 * MAX_PATHS as u16;
    let site = (0..answered).fold(site(), |site, n| {
        site.get(
            &format!("/given-{n}"),
            PRODUCT + n % PRODUCT,
            9_000 + u64::from(n),
        )
    });
    let [of_answered, of_refused] = site.evidence.weights();
    assert!((18.0..22.0).contains(&of_answered), "{of_answered}");
    assert!((of_refused - 1.0).abs() < f64::EPSILON, "{of_refused}");
}

mod parts_of_a_site {
    use super::*;

    /// A site that answers any path with pages of these sizes.
    fn answers_any() -> MadeUpSite {
        site().answers_random().varied(12)
    }

    /// Files of a repository: each has a size far from those of [`answers_any`].
    fn repository(site: MadeUpSite, folder: &str, count: u64) -> MadeUpSite {
        (0..count).fold(site, |site, n| {
            site.get(
                &format!("{folder}/.git/objects/{n:02x}/0e1f2a3b4c5d6e{n}"),
                50,
                LARGE + 2 * n,
            )
        })
    }

    #[test]
    fn the_files_of_one_repository_are_no_evidence_against_each_other() {
        let site = repository(answers_any(), "", 20);
        assert_eq!(site.reason("/.git/objects/03/0e1f2a3b4c5d6e3"), STANDS_OUT);
        let alone = repository(site.clone(), "", 0).get("/.git/config", 50, LARGE + 4);
        assert_eq!(alone.reason("/.git/config"), STANDS_OUT);
        assert_eq!(
            repository(site.clone(), "", 20)
                .get("/dump.sql", 51, LARGE + 5)
                .reason("/dump.sql"),
            STANDS_OUT,
            "nor against others"
        );
        let other = answers_any()
            .get("/a.bak", 50, LARGE)
            .get("/b.bak", 51, LARGE + 1)
            .get("/c.bak", 52, LARGE + 2);
        assert_eq!(
            other.get("/d.bak", 53, LARGE + 3).reason("/a.bak"),
            Reason::SameSize,
            "other files are"
        );
    }

    #[test]
    fn names_of_objects_are_not_made_up_and_names_of_references_contradict_nothing() {
        let refused = repository(site().varied(5), "", 20);
        assert_eq!(refused.reason("/2"), Reason::NoSoft404);
        let heads = [
            "/.git/logs/HEAD",
            "/.git/refs/remotes/a/HEAD",
            "/.git/logs/refs/remotes/a/HEAD",
            "/.git/HEAD",
        ];
        let heads = heads
            .iter()
            .zip(0..)
            .fold(site().varied(5), |site, (path, n)| {
                site.get(path, 50, 100 + 50 * n)
            });
        assert_eq!(heads.reason("/2"), Reason::NoSoft404);
        let folders = (0..3).fold(site().varied(5), |site, n| {
            site.get(&format!("/{n}{n}/.git/HEAD"), 50, 100 + 50 * n)
        });
        assert_eq!(
            folders.reason("/2"),
            LIKE_THE_REST,
            "no site has a repository in each of three folders"
        );
    }

    #[test]
    fn a_file_that_looks_like_a_soft_404_follows_a_repository_of_which_three_files_and_most_stand_out()
     {
        let with = |distinct: u64, alike: i32| {
            let site = repository(answers_any(), "", distinct);
            let path = |n: i32| format!("/.git/{n}");
            (0..alike)
                .fold(site, |site, n| site.get(&path(n), 50, unlike_size(n + 3)))
                .reason(&path(0))
        };
        assert_eq!(with(3, 1), Reason::PartOfRepository);
        assert_eq!(with(2, 1), LIKE_THE_REST);
        assert_eq!(with(4, 3), Reason::PartOfRepository);
        assert_eq!(with(3, 3), LIKE_THE_REST);
    }

    #[test]
    fn a_route_may_answer_any_name_that_is_in_no_folder() {
        let names = site().answers_random().varied(12);
        let refuses_folders = |site: MadeUpSite| {
            (0..80).fold(site, |site, n| {
                site.probe(
                    MethodClass::Get,
                    &format!("/folder-{n}/x.php"),
                    50 + n,
                    404,
                    Some(153),
                )
            })
        };
        assert_eq!(refuses_folders(names.clone()).reason("/2"), LIKE_THE_REST);
        let refuses_names = (0..13).fold(names, |site, n| {
            site.probe(
                MethodClass::Get,
                &format!("/name-{n}"),
                50 + n,
                404,
                Some(153),
            )
        });
        assert_eq!(
            refuses_folders(refuses_names).reason("/2"),
            Reason::NoSoft404
        );
    }

    #[test]
    fn where_five_paths_of_a_kind_are_refused_for_one_answered_a_soft_404_elsewhere_decides_nothing()
     {
        let made_up = || site().get("/a/wsc8towcq1groh9d.php", 99, 2_990);
        let scripts = |site: MadeUpSite| {
            (0..40).fold(site, |site, n| {
                site.get(&format!("/a/{n}.php"), n, 3_001 + 25 * u64::from(n))
            })
        };
        let site = |refused: u16, answered: u16| {
            let refused = (0..refused).fold(made_up(), |site, n| {
                site.probe(MethodClass::Get, &format!("/{n}.old"), 50 + n, 404, None)
            });
            let answered = (0..answered).fold(refused, |site, n| {
                site.get(&format!("/{n}.bak"), 50 + n, 3_500 + 7 * u64::from(n))
            });
            scripts(answered).reason("/0.bak")
        };
        assert_eq!(site(5, 1), Reason::RefusedBeside);
        assert_eq!(site(4, 1), LIKE_THE_REST);
        assert_eq!(site(10, 2), Reason::RefusedBeside);
        assert_eq!(site(9, 2), Reason::SameSize);
    }

    #[test]
    fn a_log_of_several_sites_has_answers_for_eight_products() {
        let log = |products: u16| {
            let products = (0..products).fold(site(), |site, n| {
                site.get(
                    &format!("/product-{n}"),
                    PRODUCT + n,
                    unlike_size(i32::from(n)),
                )
            });
            products.refused(40).get("/.env", 49, 1_100).reason("/.env")
        };
        assert_eq!(log(7), Reason::NoSoft404);
        assert_eq!(log(8), Reason::InPart);
    }
}

mod sizes_of_decades {
    use super::*;

    /// A page whose size grows by this factor from one answer to the next, and a far larger answer.
    fn outlier(count: i32, factor: f64) -> Reason {
        let sizes = (0..count).map(|n| (200.0 * factor.powi(n)) as u64);
        site()
            .answers_random()
            .sizes(std::iter::once(90_000_000).chain(sizes))
            .reason("/0")
    }

    #[test]
    fn nothing_stands_out_where_sizes_span_a_decade() {
        // Without the tenth at either end, 18 of 20 steps.
        assert_eq!(outlier(20, 1.1), STANDS_OUT);
        assert_eq!(outlier(20, 1.2), NEAR_THE_REST);
        assert_eq!(
            (outlier(9, 1.6), outlier(10, 1.6)),
            (STANDS_OUT, NEAR_THE_REST),
            "ten sizes show it"
        );
    }
}

mod partial_content {
    use super::*;

    /// Ranges of these paths got this many bytes.
    fn parts(site: MadeUpSite, sizes: &[u64]) -> MadeUpSite {
        let path = |n: u16| format!("/part-{n}");
        sizes.iter().zip(0..).fold(site, |site, (bytes, n)| {
            site.probe(MethodClass::Get, &path(n), PRODUCT + n, 206, Some(*bytes))
        })
    }

    #[test]
    fn it_is_compared_with_partial_content_where_the_site_answers_any_range() {
        let any = parts(site(), &[402, 455, 455, 455, 455, 455]);
        assert_eq!(
            (any.reason("/part-0"), any.reason("/part-1")),
            (STANDS_OUT, NEAR_THE_REST),
            "a client may have requested 455 bytes of each"
        );
        let few = parts(site(), &[402, 455, 455, 455]);
        assert_eq!(few.reason("/part-0"), Reason::NoSize, "four are too few");
        let refused = parts(site().refused(5), &[402, 455, 455, 455, 455, 455]);
        assert_eq!(
            refused.reason("/part-1"),
            Reason::NoSoft404,
            "a limit of the range is no soft 404"
        );
    }

    #[test]
    fn it_is_not_compared_with_whole_pages() {
        let pages = site().answers_random().sizes([455; 9]).probe(
            MethodClass::Get,
            "/part",
            50,
            206,
            Some(455),
        );
        assert_eq!(pages.reason("/part"), Reason::NoSize);
    }
}
