//! The shape of a path in a few numbers.

use xxhash_rust::xxh3::xxh3_64;

/// The hash of a path. It is stable across runs and hosts, as evidence is saved and merged by it.
#[must_use]
pub(crate) fn path_hash(path: &[u8]) -> u64 {
    xxh3_64(path)
}

/// The kind of a path by its name, which suggests what handles it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Extension {
    /// A file of another kind.
    #[default]
    None,
    /// `.php` and its variants.
    Php,
    /// Java: `.jsp`, `.do`, `.action` and similar.
    Java,
    /// ASP and ASP.NET.
    Asp,
    /// A part of the path begins with a dot.
    Dot,
    /// The name has no dot: the path may be a route of an application.
    Bare,
    /// Both: the name has no dot, and a folder begins with one.
    DotBare,
    /// In the folder of a version control system, such as `/.git/HEAD`: one leak, however many of
    /// its files were sent.
    Repository,
}

impl Extension {
    /// Whether a server platform handles such paths. A site seldom runs several.
    #[must_use]
    pub fn is_platform(self) -> bool {
        matches!(self, Self::Php | Self::Java | Self::Asp)
    }

    /// The extensions by which a server may handle the path.
    #[must_use]
    pub(super) fn handled_as(self) -> &'static [Self] {
        match self {
            Self::None => &[Self::None],
            Self::Php => &[Self::Php],
            Self::Java => &[Self::Java],
            Self::Asp => &[Self::Asp],
            Self::Dot | Self::Repository => &[Self::Dot],
            Self::Bare => &[Self::Bare],
            Self::DotBare => &[Self::Dot, Self::Bare],
        }
    }

    fn new(path: &[u8], name: &[u8]) -> Self {
        if repository_folder(path).is_some() {
            return Self::Repository;
        }
        if path
            .windows(2)
            .any(|pair| pair[0] == b'/' && pair[1] == b'.')
        {
            return if name.contains(&b'.') {
                Self::Dot
            } else {
                Self::DotBare
            };
        }
        let Some(dot) = name.iter().rposition(|&b| b == b'.') else {
            return Self::Bare;
        };
        match name[dot + 1..].to_ascii_lowercase().as_slice() {
            b"php" | b"php3" | b"php4" | b"php5" | b"php7" | b"phtml" | b"phar" => Self::Php,
            b"jsp" | b"jspx" | b"jspf" | b"do" | b"action" => Self::Java,
            b"asp" | b"aspx" | b"ashx" | b"asmx" | b"axd" => Self::Asp,
            _ => Self::None,
        }
    }

    /// The extension with this number; [`None`](Self::None) for unknown numbers.
    #[must_use]
    pub fn from_u8(number: u8) -> Self {
        match number {
            1 => Self::Php,
            2 => Self::Java,
            3 => Self::Asp,
            4 => Self::Dot,
            5 => Self::Bare,
            6 => Self::DotBare,
            7 => Self::Repository,
            _ => Self::None,
        }
    }
}

/// The shape of a path. Names are hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathShape {
    /// Bytes.
    pub len: u16,
    /// The first segment: `/a/b` and `/a` have the same.
    pub segment: u32,
    /// The first segment if more follow, else 0.
    pub folder: u32,
    /// The last segment, 0 if there is none. Files below the folders of a repository have none
    /// either: the same names occur in several folders of one repository, so they contradict
    /// nothing.
    pub name: u32,
    /// The kind of the path.
    pub extension: Extension,
    /// The last segment looks like a random name, which scanners use to test for soft 404s.
    pub is_random: bool,
}

impl PathShape {
    /// The shape of a normalised path.
    #[must_use]
    pub fn new(path: &[u8]) -> Self {
        let mut parts = path.split(|&b| b == b'/').filter(|part| !part.is_empty());
        let first = parts.next().unwrap_or_default();
        let last = parts.next_back();
        let name = last.unwrap_or(first);
        let segment = short_hash(first);
        let extension = Extension::new(path, name);
        let is_inside =
            extension == Extension::Repository && is_below_a_folder_of_a_repository(path);
        Self {
            len: u16::try_from(path.len()).unwrap_or(u16::MAX),
            segment,
            folder: last.map_or(0, |_| segment),
            name: if is_inside {
                0
            } else {
                last.map_or(segment, short_hash)
            },
            extension,
            is_random: !is_inside && is_random(name),
        }
    }

    /// Whether it is in a folder of a repository, such as `/.git/objects/00/47e92b`; scanners
    /// rarely ask for these, and clients that download a repository do.
    pub(super) fn is_below_repository(&self) -> bool {
        self.extension == Extension::Repository && self.name == 0
    }

    /// Whether one handler may answer both, by their kinds.
    #[must_use]
    pub(crate) fn is_handled_like(&self, other: &Self) -> bool {
        self.extension
            .handled_as()
            .iter()
            .any(|kind| other.extension.handled_as().contains(kind))
    }

    /// Whether both are files of one repository, so that neither is evidence against the other.
    #[must_use]
    pub(super) fn is_of_same_repository(&self, other: &Self) -> bool {
        self.extension == Extension::Repository
            && other.extension == Extension::Repository
            && self.folder == other.folder
    }
}

/// Whether a segment is the folder of a version control system.
fn is_repository(segment: &[u8]) -> bool {
    [&b".git"[..], b".svn", b".hg", b".bzr"]
        .iter()
        .any(|name| segment.eq_ignore_ascii_case(name))
}

/// The folder of the repository that a path is in, or is: `/a/.git` for `/a/.git/HEAD`.
#[must_use]
pub(crate) fn repository_folder(path: &[u8]) -> Option<&[u8]> {
    let mut end = 0;
    path.split(|&b| b == b'/').find_map(|part| {
        end += part.len();
        let folder = is_repository(part).then(|| &path[..end]);
        end += 1;
        folder
    })
}

/// Whether a path is deeper in a repository than its own files: `/.git/objects/00/47e92b`, not
/// `/.git/HEAD`.
fn is_below_a_folder_of_a_repository(path: &[u8]) -> bool {
    let within = repository_folder(path).map_or(&[][..], |folder| &path[folder.len()..]);
    within
        .split(|&b| b == b'/')
        .filter(|part| !part.is_empty())
        .nth(1)
        .is_some()
}

/// A shape as numbers, for a file: length, segment, folder, name, extension, and whether the name
/// is random.
pub(crate) type ShapeNumbers = (u16, u32, u32, u32, u8, bool);

impl From<PathShape> for ShapeNumbers {
    fn from(shape: PathShape) -> Self {
        let PathShape {
            len,
            segment,
            folder,
            name,
            extension,
            is_random,
        } = shape;
        (len, segment, folder, name, extension as u8, is_random)
    }
}

impl From<ShapeNumbers> for PathShape {
    fn from((len, segment, folder, name, extension, is_random): ShapeNumbers) -> Self {
        Self {
            len,
            segment,
            folder,
            name,
            extension: Extension::from_u8(extension),
            is_random,
        }
    }
}

/// A hash of a name, ignoring case; 0 only for an empty one.
fn short_hash(name: &[u8]) -> u32 {
    if name.is_empty() {
        0
    } else {
        (xxh3_64(&name.to_ascii_lowercase()) as u32).max(1)
    }
}

/// Shortest random name. Those of scanners have at least 12 letters and digits, most have 16.
const RANDOM_LENGTH: usize = 10;
/// Fewest changes from letter to digit or back. `phpmyadmin-4.8.5` has none, hashes and random
/// names have several.
const RANDOM_CHANGES: usize = 3;

fn is_random(name: &[u8]) -> bool {
    let name = name.strip_prefix(b".").unwrap_or(name);
    let stem = name.split(|&b| b == b'.').next().unwrap_or_default();
    let plain = stem
        .iter()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'));
    let is_change = |pair: &&[u8]| {
        pair.iter().any(u8::is_ascii_digit) && pair.iter().any(u8::is_ascii_lowercase)
    };
    let changes = stem.windows(2).filter(is_change).count();
    stem.len() >= RANDOM_LENGTH && plain && changes >= RANDOM_CHANGES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_path_shape() {
        let shape = |path: &str| PathShape::new(path.as_bytes());
        assert_eq!(shape("/A/b/.env").segment, shape("/a").segment);
        assert_eq!(
            (shape("/a").folder, shape("/").name, shape("/").segment),
            (0, 0, 0)
        );
        assert_eq!(shape("/a/b").folder, shape("/a/c/d").folder);
        assert_eq!(shape("/x/.env").name, shape("/.ENV").name);
        for (path, extension) in [
            ("/a/.git/config", Extension::Repository),
            ("/a/.SVN/entries", Extension::Repository),
            ("/a/.git-credentials", Extension::Dot),
            ("/a/.aws/config", Extension::DotBare),
            ("/a/.env", Extension::Dot),
            ("/a.PHP", Extension::Php),
            ("/x.do", Extension::Java),
            ("/x.aspx", Extension::Asp),
            ("/x.dot", Extension::None),
            ("/x.y/z/", Extension::Bare),
        ] {
            assert_eq!(shape(path).extension, extension, "{path}");
        }
    }

    #[test]
    fn random_names() {
        for path in [
            "/wsc8towcq1groh9d",
            "/2vjb98goo4nhrvcj/",
            "/.htaccess6g2f6e75de36dddb",
            "/a/.d9e8ovlolla1",
        ] {
            assert!(PathShape::new(path.as_bytes()).is_random, "{path}");
        }
        for path in [
            "/backup-2026-11-02.zip",
            "/phpmyadmin-4.8.5",
            "/wp-config.php",
            "/.env",
            "/",
            "/jquery-3.6.0.min.js",
            "/id_rsa2048",
        ] {
            assert!(!PathShape::new(path.as_bytes()).is_random, "{path}");
        }
    }

    #[test]
    fn a_random_name_has_ten_letters_and_digits_and_three_changes() {
        for (path, random) in [
            ("/ab1cdefgh2", true),
            ("/ab1cdefg2", false),
            ("/ab1cdefghi", false),
        ] {
            assert_eq!(PathShape::new(path.as_bytes()).is_random, random, "{path}");
        }
    }
}
