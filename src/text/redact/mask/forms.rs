//! Finds secrets that their form alone shows: the keys and tokens of services, which begin with a
//! fixed text so that scanners find them, and private keys.
//!
//! A token is found wherever it is, and begins after no letter or digit.

use std::ops::Range;

/// What follows the fixed text of a token, so that an ordinary word is none.
#[derive(Clone, Copy)]
enum Rest {
    /// Any characters of base64url: the fixed text is in no ordinary word.
    Any,
    /// At least one digit.
    Digit,
    /// A digit, a small letter and a capital.
    Mixed,
    /// Letters and digits without `-` and `_`, at least as many as the minimum, and a digit among
    /// them. Words have none.
    Solid,
    /// Exactly the minimum number of hexadecimal digits.
    Hex,
    /// Exactly the minimum number of capitals and digits.
    Capitals,
    /// First a number, as in `ST-123-abc`.
    Number,
}

/// The fixed text of a token, what follows it, and how many characters of base64url that are at
/// least. The numbers are those of the services; where tokens of several lengths exist, or the
/// service names none, it is 16.
const TOKENS: [(&[u8], Rest, usize); 102] = [
    // Amazon Web Services: long-lived and temporary access keys.
    (b"AKIA", Rest::Capitals, 16),
    (b"ASIA", Rest::Capitals, 16),
    (b"ABIA", Rest::Capitals, 16),
    (b"ACCA", Rest::Capitals, 16),
    // GitHub.
    (b"ghp_", Rest::Any, 16),
    (b"gho_", Rest::Any, 16),
    (b"ghu_", Rest::Any, 16),
    (b"ghs_", Rest::Any, 16),
    (b"ghr_", Rest::Any, 16),
    (b"github_pat_", Rest::Any, 16),
    // GitLab.
    (b"glpat-", Rest::Any, 16),
    (b"gloas-", Rest::Any, 16),
    (b"gldt-", Rest::Any, 16),
    (b"glrt-", Rest::Any, 16),
    (b"glrtr-", Rest::Any, 16),
    (b"glcbt-", Rest::Any, 16),
    (b"glptt-", Rest::Any, 16),
    (b"glft-", Rest::Any, 16),
    (b"glimt-", Rest::Any, 16),
    (b"glagent-", Rest::Any, 16),
    (b"glsoat-", Rest::Any, 16),
    // Slack.
    (b"xoxb-", Rest::Digit, 10),
    (b"xoxa-", Rest::Digit, 10),
    (b"xoxp-", Rest::Digit, 10),
    (b"xoxr-", Rest::Digit, 10),
    (b"xoxs-", Rest::Digit, 10),
    (b"xoxe.", Rest::Digit, 16),
    (b"xoxc-", Rest::Digit, 10),
    (b"xoxd-", Rest::Any, 10),
    (b"xapp-", Rest::Digit, 10),
    // Stripe, Razorpay, Square, Shopify.
    (b"sk_live_", Rest::Any, 10),
    (b"sk_test_", Rest::Any, 10),
    (b"rk_live_", Rest::Any, 10),
    (b"rk_test_", Rest::Any, 10),
    (b"whsec_", Rest::Any, 10),
    (b"rzp_live_", Rest::Any, 10),
    (b"rzp_test_", Rest::Any, 10),
    (b"sq0atp-", Rest::Any, 16),
    (b"sq0csp-", Rest::Any, 16),
    (b"shpat_", Rest::Any, 16),
    (b"shpca_", Rest::Any, 16),
    (b"shppa_", Rest::Any, 16),
    (b"shpss_", Rest::Any, 16),
    // Google.
    (b"AIza", Rest::Any, 30),
    (b"GOCSPX-", Rest::Any, 16),
    (b"ya29.", Rest::Any, 16),
    // Packages: npm, PyPI, RubyGems, NuGet, Docker.
    (b"npm_", Rest::Solid, 16),
    (b"pypi-", Rest::Solid, 16),
    (b"rubygems_", Rest::Digit, 16),
    (b"oy2", Rest::Digit, 43),
    (b"dckr_pat_", Rest::Any, 16),
    // OpenAI, Anthropic and others of the kind.
    (b"sk-proj-", Rest::Digit, 16),
    (b"sk-ant-", Rest::Digit, 16),
    (b"sk-or-", Rest::Digit, 16),
    (b"sk-svcacct-", Rest::Digit, 16),
    (b"sk-admin-", Rest::Digit, 16),
    (b"sk-", Rest::Solid, 20),
    (b"hf_", Rest::Solid, 16),
    (b"hf_", Rest::Any, 34),
    (b"gsk_", Rest::Solid, 16),
    (b"xai-", Rest::Solid, 16),
    (b"r8_", Rest::Solid, 16),
    (b"nvapi-", Rest::Mixed, 16),
    (b"pplx-", Rest::Digit, 16),
    // Mail: SendGrid, Mailgun, Brevo.
    (b"SG.", Rest::Any, 16),
    (b"key-", Rest::Hex, 32),
    (b"xkeysib-", Rest::Digit, 16),
    // Twilio.
    (b"SK", Rest::Hex, 32),
    // Hosts and databases.
    (b"dop_v1_", Rest::Any, 16),
    (b"doo_v1_", Rest::Any, 16),
    (b"dor_v1_", Rest::Any, 16),
    (b"LTAI", Rest::Solid, 16),
    (b"sbp_", Rest::Digit, 16),
    (b"sb_secret_", Rest::Any, 16),
    (b"pscale_tkn_", Rest::Any, 16),
    (b"pscale_pw_", Rest::Any, 16),
    (b"dapi", Rest::Hex, 32),
    (b"tskey-", Rest::Digit, 10),
    (b"HRKU-", Rest::Digit, 30),
    (b"nfp_", Rest::Solid, 32),
    (b"sl.", Rest::Mixed, 100),
    // Vaults and settings: HashiCorp, Doppler, Terraform, age, 1Password.
    (b"hvs.", Rest::Any, 16),
    (b"hvb.", Rest::Any, 16),
    (b"hvr.", Rest::Any, 16),
    (b"dp.pt.", Rest::Any, 16),
    (b"dp.st.", Rest::Any, 16),
    (b"atlasv1.", Rest::Any, 16),
    (b"AGE-SECRET-KEY-1", Rest::Any, 16),
    // Tools of teams: Atlassian, Figma, Linear, Notion, Postman, Grafana, Sentry, New Relic.
    (b"ATATT3", Rest::Any, 16),
    (b"figd_", Rest::Any, 16),
    (b"lin_api_", Rest::Any, 16),
    (b"ntn_", Rest::Digit, 16),
    (b"secret_", Rest::Solid, 40),
    (b"PMAK-", Rest::Any, 16),
    (b"glsa_", Rest::Any, 16),
    (b"glc_", Rest::Mixed, 32),
    (b"sntrys_", Rest::Any, 16),
    (b"NRAK-", Rest::Any, 16),
    // Facebook.
    (b"EAA", Rest::Mixed, 40),
    // Tickets of the Central Authentication Service.
    (b"ST-", Rest::Number, 16),
    (b"PT-", Rest::Number, 16),
    (b"TGT-", Rest::Number, 16),
];

/// For each first byte of a token, the bytes that follow it.
const FIRST_PAIRS: [u128; 128] = {
    let mut pairs = [0; 128];
    let mut number = 0;
    while number < TOKENS.len() {
        let text = TOKENS[number].0;
        pairs[text[0] as usize] |= 1_u128 << text[1];
        number += 1;
    }
    pairs
};

/// Every token has a run of at least this many characters of base64url, which is quick to check.
pub(super) const MIN_RUN: usize = 15;

/// No token is longer before its first dot: those of Atlassian have 192 characters.
const LONGEST: usize = 256;

/// A token of the Telegram bot API is the number of the bot, a colon and 35 characters.
const BOT_NUMBER: Range<usize> = 8..11;
const BOT_SECRET: usize = 35;

/// A token of a Discord bot has three parts: its number in Base64, which begins with one of these,
/// the time, and a hash.
const DISCORD_FIRST: &[u8] = b"MNO";
const DISCORD_PARTS: [Range<usize>; 3] = [23..29, 6..7, 27..40];

/// Where a run of base64url characters is.
struct Runs<'t> {
    text: &'t [u8],
    at: usize,
}

impl Iterator for Runs<'_> {
    type Item = Range<usize>;

    /// The next run of at least [`MIN_RUN`]. Most bytes of shorter ones are not looked at.
    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let probed = self.text.get(self.at..self.at + MIN_RUN)?;
            if let Some(gap) = probed.iter().rposition(|&byte| !is_base64url(byte)) {
                self.at += gap + 1;
                continue;
            }
            let run = self.at..end_of_run(self.text, self.at + MIN_RUN);
            self.at = run.end;
            return Some(run);
        }
    }
}

/// Whether a text holds a token.
pub(super) fn has_keys(text: &[u8]) -> bool {
    Runs { text, at: 0 }.any(|run| token_of(text, &run).is_some())
}

/// Adds tokens of services.
pub(super) fn find_keys(text: &[u8], found: &mut Vec<Range<usize>>) {
    let mut runs = Runs { text, at: 0 };
    while let Some(run) = runs.next() {
        if let Some(token) = token_of(text, &run) {
            runs.at = token.end;
            found.push(token);
        }
    }
}

fn token_of(text: &[u8], run: &Range<usize>) -> Option<Range<usize>> {
    token_in(text, run)
        .or_else(|| dotted_token(text, run))
        .or_else(|| is_card(&text[run.clone()]).then(|| run.clone()))
}

/// Whether a run is the number of a payment card, with or without its dashes: the first digits are
/// those of a network that is in use, and the last one is the check digit (ISO/IEC 7812-1, annex
/// B).
fn is_card(run: &[u8]) -> bool {
    if !run[0].is_ascii_digit() || run.len() > 19 {
        return false;
    }
    let mut groups = [0; 5];
    for (length, group) in groups.iter_mut().zip(run.split(|byte| *byte == b'-')) {
        *length = group.len();
    }
    let is_of_network = match run {
        [b'4', ..]
        | [b'5', b'1'..=b'5', ..]
        | [b'2', b'2'..=b'7', ..]
        | [b'3', b'5', ..]
        | [b'6', b'0' | b'4' | b'5', ..] => {
            matches!(groups, [16, 0, ..] | [4, 4, 4, 4, 0])
        }
        [b'3', b'4' | b'7', ..] => matches!(groups, [15, 0, ..] | [4, 6, 5, 0, 0]),
        _ => false,
    };
    let digits = run.iter().rev().filter(|byte| **byte != b'-');
    let sum: u32 = digits
        .zip([1, 2].into_iter().cycle())
        .map(|(byte, weight)| u32::from(byte.wrapping_sub(b'0')) * weight)
        .map(|product| product / 10 + product % 10)
        .sum();
    is_of_network
        && run
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'-')
        && sum.is_multiple_of(10)
}

/// The first token that begins in a run.
fn token_in(text: &[u8], run: &Range<usize>) -> Option<Range<usize>> {
    let mut starts = run
        .clone()
        .filter(|&at| at == run.start || matches!(text[at - 1], b'_' | b'-'));
    starts
        .find(|&at| token_at(text, at, run.end))
        .map(|start| start..end_of_parts(text, run.end))
}

/// Whether one of the tokens begins here and ends with the run.
fn token_at(text: &[u8], start: usize, end: usize) -> bool {
    let [first, second, ..] = text[start..end] else {
        return false;
    };
    let is_pair = FIRST_PAIRS
        .get(usize::from(first))
        .is_some_and(|seconds| second < 128 && seconds & 1_u128 << second != 0);
    is_pair
        && TOKENS.iter().any(|(fixed, rest, min)| {
            text[start..end]
                .strip_prefix(*fixed)
                .is_some_and(|after| rest.fits(after, *min))
        })
}

/// A token that a dot or a colon divides: `SG.`, and those of bots.
fn dotted_token(text: &[u8], run: &Range<usize>) -> Option<Range<usize>> {
    let before = &text[..run.start];
    let begins_before = |(fixed, rest, min): &&(&[u8], Rest, usize)| {
        fixed.ends_with(b".") && before.ends_with(fixed) && rest.fits(&text[run.clone()], *min)
    };
    if let Some((fixed, ..)) = TOKENS.iter().find(begins_before) {
        return Some(run.start - fixed.len()..end_of_parts(text, run.end));
    }
    if let Some(number) = before.strip_suffix(b":") {
        let digits = number
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        return (BOT_NUMBER.contains(&digits) && run.len() >= BOT_SECRET).then(|| run.clone());
    }
    if !DISCORD_FIRST.contains(&text[run.start]) {
        return None;
    }
    let mut end = run.start;
    for (part, lengths) in DISCORD_PARTS.iter().enumerate() {
        if part > 0 && text.get(end) != Some(&b'.') {
            return None;
        }
        let start = end + usize::from(part > 0);
        end = end_of_run(text, start);
        if !lengths.contains(&(end - start)) {
            return None;
        }
    }
    Some(run.start..end_of_parts(text, end))
}

impl Rest {
    /// Whether this may be the rest of a token that has at least `min` characters.
    fn fits(self, rest: &[u8], min: usize) -> bool {
        // Looked for at its start only: a long run may have the fixed text of a token in thousands
        // of places.
        let any = |test: fn(&u8) -> bool| rest.iter().take(LONGEST).any(test);
        let only = |test: fn(&u8) -> bool| {
            rest[..min].iter().all(test) && !rest.get(min).is_some_and(u8::is_ascii_alphanumeric)
        };
        rest.len() >= min
            && match self {
                Self::Any => true,
                Self::Digit => any(u8::is_ascii_digit),
                Self::Mixed => {
                    any(u8::is_ascii_digit)
                        && any(u8::is_ascii_lowercase)
                        && any(u8::is_ascii_uppercase)
                }
                Self::Solid => {
                    rest[..min].iter().all(u8::is_ascii_alphanumeric) && any(u8::is_ascii_digit)
                }
                Self::Hex => only(u8::is_ascii_hexdigit),
                Self::Capitals => only(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()),
                Self::Number => rest[0].is_ascii_digit(),
            }
    }
}

/// Where the dotted parts of a token end, from the end of the first on.
fn end_of_parts(text: &[u8], mut end: usize) -> usize {
    while text.get(end) == Some(&b'.') && text.get(end + 1).copied().is_some_and(is_base64url) {
        end = end_of_run(text, end + 1);
    }
    end
}

/// Where the run of base64url characters that begins at `start` ends.
pub(super) fn end_of_run(text: &[u8], start: usize) -> usize {
    text[start..]
        .iter()
        .position(|&b| !is_base64url(b))
        .map_or(text.len(), |length| start + length)
}

pub(super) fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

const PEM_BEGIN: &[u8] = b"-----BEGIN";
const PEM_END: &[u8] = b"-----END";
const PEM_KIND: &[u8] = b"PRIVATE";

/// Adds private keys in PEM: from the first line, which names the kind, to the last, or to the end
/// of the text.
pub(super) fn find_private_keys(text: &[u8], found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(begin) = memchr::memmem::find(&text[at..], PEM_BEGIN) {
        let kind = at + begin + PEM_BEGIN.len();
        // The kind ends with a second row of dashes.
        let body = memchr::memmem::find(&text[kind..], b"-----")
            .map_or(text.len(), |dashes| kind + dashes + 5);
        at = body;
        if memchr::memmem::find(&text[kind..body], PEM_KIND).is_some() {
            let end =
                memchr::memmem::find(&text[body..], PEM_END).map_or(text.len(), |end| body + end);
            if end > body {
                found.push(body..end);
            }
            at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_has_a_long_run() {
        for (fixed, _, min) in TOKENS {
            let run = if fixed.ends_with(b".") {
                min
            } else {
                fixed.len() + min
            };
            assert!(run >= MIN_RUN, "{}", fixed.escape_ascii());
        }
    }
}
