//! Decides by the name of a parameter whether its value is secret.
//!
//! A name is read as words: it is split at punctuation (`_ - . [ ]`), at changes of case and at
//! digits. So `user[password]`, `newPassword`, `password_confirmation`, `PASSWORD2` and `pass[0]`
//! are secret, and `passenger`, `keyword`, `compass`, `monkey` and `country_code` are not. Only
//! names in the lists are known: a secret under a harmless name is missed.

use std::borrow::Cow;

use super::decoded_bytes;

/// A name that contains one of these is secret, also within a word: no ordinary word contains them.
const ANYWHERE: [&[u8]; 23] = [
    b"password",
    b"passwd",
    b"passwrd",
    b"psswd",
    b"pswd",
    b"passphrase",
    b"passcode",
    b"passkey",
    b"passwort",
    b"motdepasse",
    b"kennwort",
    b"wachtwoord",
    b"pwd",
    b"credential",
    b"sessid",
    b"sessionid",
    b"jwt",
    b"csrf",
    b"xsrf",
    b"wordpressloggedin",
    b"wordpresssec",
    b"clientsecret",
    b"apisecret",
];

/// A name that contains one of these as a word is secret: `secret_id`, `token_hint`, but not
/// `secretary` and `tokenizer`.
const WORDS: [&[u8]; 3] = [b"secret", b"secrets", b"token"];

/// A name that is secret by one of these two lists is not if its last word is one of these:
/// `token_type`, `password_min_length`.
const ABOUT: [&[u8]; 22] = [
    b"type",
    b"length",
    b"len",
    b"count",
    b"expires",
    b"expiry",
    b"expire",
    b"expiration",
    b"policy",
    b"strength",
    b"min",
    b"max",
    b"size",
    b"limit",
    b"version",
    b"format",
    b"name",
    b"url",
    b"uri",
    b"required",
    b"enabled",
    b"label",
];

/// A name that ends in one of these is secret, also within a word: `csrftoken`, `dbpass`.
const ENDINGS: [&[u8]; 14] = [
    b"token",
    b"secret",
    b"apikey",
    b"accesskey",
    b"secretkey",
    b"privatekey",
    b"privkey",
    b"signature",
    b"pass",
    b"wpnonce",
    b"authtkt",
    b"rememberme",
    b"codeverifier",
    b"oauthverifier",
];

/// Words that end in `pass` and name no password.
const NOT_PASS: [&[u8]; 7] = [
    b"bypass",
    b"compass",
    b"encompass",
    b"trespass",
    b"overpass",
    b"underpass",
    b"surpass",
];

/// A name that ends in one of these, written as one word or as several, is secret: `api_key`,
/// `userPin`, `authcode`, but not `monkey`, `spin` and `country_code`.
const LAST_WORDS: [&[u8]; 91] = [
    b"key",
    b"authkey",
    b"appkey",
    b"masterkey",
    b"sesskey",
    b"sessionkey",
    b"consumerkey",
    b"accountkey",
    b"encryptionkey",
    b"sharedkey",
    b"signingkey",
    b"sshkey",
    b"licensekey",
    b"activationkey",
    b"passw",
    b"passhash",
    b"pword",
    b"creds",
    b"streamkey",
    b"securityanswer",
    b"psw",
    b"pw",
    b"userpw",
    b"dbpw",
    b"adminpw",
    b"mdp",
    b"senha",
    b"auth",
    b"basicauth",
    b"httpauth",
    b"proxyauth",
    b"aspxauth",
    b"authorization",
    b"sig",
    b"hmac",
    b"nonce",
    b"bearer",
    b"samlresponse",
    b"samlart",
    b"assertion",
    b"sid",
    b"sess",
    b"session",
    b"csrftestname",
    b"pin",
    b"userpin",
    b"mypin",
    b"newpin",
    b"oldpin",
    b"simpin",
    b"cardpin",
    b"loginpin",
    b"pincode",
    b"pinnumber",
    b"otp",
    b"totp",
    b"hotp",
    b"mfa",
    b"tfa",
    b"2fa",
    b"authcode",
    b"authorizationcode",
    b"verificationcode",
    b"verifycode",
    b"confirmationcode",
    b"confirmcode",
    b"securitycode",
    b"secretcode",
    b"activationcode",
    b"accesscode",
    b"logincode",
    b"smscode",
    b"emailcode",
    b"otpcode",
    b"totpcode",
    b"mfacode",
    b"2facode",
    b"recoverycode",
    b"backupcode",
    b"resetcode",
    b"devicecode",
    b"oauthcode",
    b"invitecode",
    b"unlockcode",
    b"cvv",
    b"cvc",
    b"ccv",
    b"ssn",
    b"cardnumber",
    b"ccnumber",
    b"ccnum",
];

/// These are secret only as the whole name: `?code=` is that of OAuth, and many forms have a
/// `country_code`.
const NAMES: [&[u8]; 1] = [b"code"];

/// These are not secret with a number: `key1` and `key2` are the parameters of many pages.
const UNNUMBERED: [&[u8]; 1] = [b"key"];

/// These may follow the word that decides: `pass_confirm`, `pin_again`, `user[pass][first]`.
const REPETITIONS: [&[u8]; 13] = [
    b"confirm",
    b"confirmation",
    b"confirmed",
    b"again",
    b"repeat",
    b"repeated",
    b"retype",
    b"verify",
    b"new",
    b"old",
    b"current",
    b"first",
    b"second",
];

/// A name that ends in one of these words, written as one word or as several, names a person. The
/// guide has the list.
const PERSON_WORDS: [&[u8]; 33] = [
    b"user",
    b"username",
    b"userid",
    b"uname",
    b"usr",
    b"login",
    b"loginid",
    b"loginname",
    b"logname",
    b"account",
    b"email",
    b"mail",
    b"emailaddress",
    b"mailaddress",
    b"phone",
    b"phonenumber",
    b"tel",
    b"telephone",
    b"mobile",
    b"msisdn",
    b"firstname",
    b"lastname",
    b"surname",
    b"fullname",
    b"givenname",
    b"familyname",
    b"realname",
    b"displayname",
    b"nickname",
    b"birthday",
    b"birthdate",
    b"dob",
    b"passport",
];

/// These name a person only as the whole name: `WordPress` has `log`, and many pages have an
/// `error_log`.
const PERSON_NAMES: [&[u8]; 3] = [b"log", b"nick", b"iban"];

/// Every secret name has one of these pairs of letters, and few other names do: a quick check.
const TELLING_PAIRS: Pairs = Pairs::new(&[
    b"ss", b"wd", b"pw", b"sw", b"wo", b"cr", b"jw", b"sr", b"ok", b"ey", b"ig", b"nc", b"tk",
    b"mb", b"au", b"hm", b"be", b"ml", b"si", b"pi", b"tp", b"fa", b"od", b"cv", b"cn", b"dp",
    b"nh",
]);

/// The first letters of the words that are secret anywhere, and the last of those that are at the
/// end: quick checks.
const FIRST_PAIRS: Pairs = Pairs::of_words(&ANYWHERE, true).with(Pairs::of_words(&WORDS, true));
const LAST_PAIRS: Pairs = Pairs::of_words(&ENDINGS, false)
    .with(Pairs::of_words(&LAST_WORDS, false))
    .with(Pairs::of_words(&NAMES, false));

/// Pairs of letters: for each first letter, the second ones as bits.
#[derive(Clone, Copy)]
struct Pairs([u32; 26]);

impl Pairs {
    const fn new(pairs: &[&[u8]]) -> Self {
        let mut bits = [0; 26];
        let mut number = 0;
        while number < pairs.len() {
            bits[(pairs[number][0] - b'a') as usize] |= 1 << (pairs[number][1] - b'a');
            number += 1;
        }
        Self(bits)
    }

    /// The first or the last two letters of each word.
    const fn of_words(words: &[&[u8]], first: bool) -> Self {
        let mut bits = [0; 26];
        let mut number = 0;
        while number < words.len() {
            let word = words[number];
            let at = if first { 0 } else { word.len() - 2 };
            bits[(word[at] - b'a') as usize] |= 1 << (word[at + 1] - b'a');
            number += 1;
        }
        Self(bits)
    }

    const fn with(mut self, other: Self) -> Self {
        let mut letter = 0;
        while letter < 26 {
            self.0[letter] |= other.0[letter];
            letter += 1;
        }
        self
    }

    /// Whether these two bytes are one of the pairs. Case does not matter.
    fn has(self, pair: &[u8]) -> bool {
        let &[first, second] = pair else { return false };
        let [first, second] = [first, second].map(|byte| (byte | 0x20).wrapping_sub(b'a'));
        first < 26 && second < 26 && self.0[usize::from(first)] & 1 << second != 0
    }
}

/// Longer names are read on the heap; hardly any is.
const SHORT_NAME: usize = 64;

/// Whether the value of this name is secret. The name may contain escapes.
pub(super) fn is_secret_name(escaped: &[u8]) -> bool {
    has_words(escaped, has_telling_pair, is_secret)
}

/// Whether the value of this name names a person. The name may contain escapes.
pub(super) fn is_person_name(escaped: &[u8]) -> bool {
    has_words(
        escaped,
        |_| true,
        |words| {
            let stem = without_repetitions(words);
            let names_person = |stem: &[u8]| {
                PERSON_WORDS.iter().any(|word| ends_in_word(stem, word))
                    || PERSON_NAMES
                        .iter()
                        .any(|name| stem.eq_ignore_ascii_case(name))
            };
            // `users`, but `address` is no plural.
            names_person(stem) || stem.strip_suffix(b"s").is_some_and(names_person)
        },
    )
}

/// Whether the words of a name are as wanted; `may_be` is a quick check of the name without
/// escapes.
fn has_words(escaped: &[u8], may_be: fn(&[u8]) -> bool, is_wanted: fn(&[u8]) -> bool) -> bool {
    let name: Cow<'_, [u8]> = if memchr::memchr2(b'%', b'\\', escaped).is_none() {
        Cow::Borrowed(escaped)
    } else {
        decoded_bytes(escaped, 0)
            .map(|decoded| decoded.byte)
            .collect()
    };
    // `password[$ne]` is the password, compared by an operator of a query language.
    let name = match memchr::memmem::find(&name, b"[$") {
        Some(operator) => &name[..operator],
        None => &name,
    };
    if !may_be(name) {
        return false;
    }
    if name.len() <= SHORT_NAME {
        let mut words = [0; SHORT_NAME];
        let length = split_words(name, &mut words);
        is_wanted(&words[..length])
    } else {
        let mut words = vec![0; name.len()];
        let length = split_words(name, &mut words);
        is_wanted(&words[..length])
    }
}

fn has_telling_pair(name: &[u8]) -> bool {
    name.windows(2).any(|pair| TELLING_PAIRS.has(pair))
}

/// Writes the letters and digits of a name, the first letter of each word in upper case and the
/// others in lower case. Returns how many. `words` has room for all.
fn split_words(name: &[u8], words: &mut [u8]) -> usize {
    let (mut length, mut before) = (0, b' ');
    for (at, &byte) in name.iter().enumerate() {
        if byte.is_ascii_alphanumeric() {
            // `apiKey`, and the `K` of `APIKey`.
            let is_capital = byte.is_ascii_uppercase()
                && (before.is_ascii_lowercase()
                    || before.is_ascii_uppercase()
                        && name.get(at + 1).is_some_and(u8::is_ascii_lowercase));
            let starts_word = !before.is_ascii_alphabetic() || is_capital;
            words[length] = if starts_word {
                byte.to_ascii_uppercase()
            } else {
                byte.to_ascii_lowercase()
            };
            length += 1;
        }
        before = byte;
    }
    length
}

/// Whether a name is secret, by its words.
fn is_secret(words: &[u8]) -> bool {
    let stem = without_repetitions(words);
    let is_numbered_only = stem.len() < words.len()
        && UNNUMBERED
            .iter()
            .any(|word| stem.eq_ignore_ascii_case(word));
    !is_numbered_only
        && (ends_secret(words, stem)
            || contains_secret(words) && !ABOUT.iter().any(|word| ends_in_word(stem, word)))
}

/// Whether the end of a name makes it secret.
fn ends_secret(words: &[u8], stem: &[u8]) -> bool {
    LAST_PAIRS.has(&stem[stem.len().saturating_sub(2)..])
        && (LAST_WORDS.iter().any(|word| ends_in_word(stem, word))
            || ENDINGS.iter().any(|word| ends_in(stem, word)) && !ends_in_ordinary_pass(stem)
            || NAMES.iter().any(|word| words.eq_ignore_ascii_case(word)))
}

/// Whether a name contains a word that is secret anywhere.
fn contains_secret(words: &[u8]) -> bool {
    words
        .windows(2)
        .enumerate()
        .any(|(at, pair)| FIRST_PAIRS.has(pair) && tells_secret(words, at))
}

/// Whether the last word ends in `pass` and names no password.
fn ends_in_ordinary_pass(words: &[u8]) -> bool {
    !ends_in_word(words, b"pass") && NOT_PASS.iter().any(|word| ends_in_word(words, word))
}

/// Whether a word that is secret anywhere begins here.
fn tells_secret(words: &[u8], at: usize) -> bool {
    let begins = |word: &[u8]| {
        words[at..]
            .get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    ANYWHERE.iter().any(|word| begins(word))
        || WORDS.iter().any(|word| {
            begins(word) && is_word_start(words, at) && is_word_start(words, at + word.len())
        })
}

/// The words without the numbers and repetitions at the end.
fn without_repetitions(mut words: &[u8]) -> &[u8] {
    loop {
        let digits = words
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let shorter = &words[..words.len() - digits];
        let repetition = REPETITIONS
            .iter()
            .find(|word| ends_in_word(shorter, word))
            .map_or(0, |word| word.len());
        let shorter = &shorter[..shorter.len() - repetition];
        if shorter.len() == words.len() || shorter.is_empty() {
            return words;
        }
        words = shorter;
    }
}

fn ends_in(words: &[u8], ending: &[u8]) -> bool {
    words
        .len()
        .checked_sub(ending.len())
        .is_some_and(|start| words[start..].eq_ignore_ascii_case(ending))
}

fn ends_in_word(words: &[u8], ending: &[u8]) -> bool {
    ends_in(words, ending) && is_word_start(words, words.len() - ending.len())
}

/// Whether a word begins here, or the last one ends.
fn is_word_start(words: &[u8], at: usize) -> bool {
    at == 0
        || words.get(at).is_none_or(|byte| {
            byte.is_ascii_uppercase() || byte.is_ascii_digit() && !words[at - 1].is_ascii_digit()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_secret_word_has_a_telling_pair() {
        let words = ANYWHERE
            .iter()
            .chain(&WORDS)
            .chain(&ENDINGS)
            .chain(&LAST_WORDS)
            .chain(&NAMES);
        for word in words {
            assert!(has_telling_pair(word), "{}", word.escape_ascii());
            assert!(is_secret_name(word), "{}", word.escape_ascii());
            assert!(
                is_secret_name(&word.to_ascii_uppercase()),
                "{}",
                word.escape_ascii()
            );
        }
    }

    #[test]
    fn words_are_split() {
        for (name, words) in [
            ("user[password]", "UserPassword"),
            ("APIKey", "ApiKey"),
            ("PHPSESSID", "Phpsessid"),
            ("otp2fa", "Otp2Fa"),
            ("x-Amz_sig.v4", "XAmzSigV4"),
            ("[]", ""),
        ] {
            let mut buffer = [0; 20];
            let length = split_words(name.as_bytes(), &mut buffer);
            assert_eq!(std::str::from_utf8(&buffer[..length]).unwrap(), words);
        }
    }

    #[test]
    fn a_long_name_is_read_wholly() {
        assert!(is_secret_name(
            format!("{}password", "x".repeat(200)).as_bytes()
        ));
        assert!(is_secret_name(
            format!("password_{}", "x".repeat(200)).as_bytes()
        ));
        assert!(!is_secret_name(
            format!("keyword_{}", "x".repeat(200)).as_bytes()
        ));
    }
}
