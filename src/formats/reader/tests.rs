//! Every built-in format write_as its example, and lines of all formats cut anywhere.

use std::sync::LazyLock;

use proptest::prelude::*;

use crate::formats::clf_writer;
use crate::formats::reader::*;

static FORMATS: LazyLock<Formats> = LazyLock::new(|| Formats::builtin().unwrap());

const W3C_LOG: &str = "#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status\n\
    2026-11-02 08:01:00 192.0.2.7 GET /.env - 404\n\
    #Fields: date time cs-method cs-uri-stem c-ip sc-status\n\
    2026-11-02 08:01:01 GET /.git/config 192.0.2.8 200\n";

fn context(header: W3cHeader) -> LineContext<'static> {
    LineContext { formats: &FORMATS, preferred: &[], header, clients: ClientPosition::Unknown, max_line: 1000 }
}

fn from_log_start(lines: &[u8]) -> LineContext<'static> {
    context(W3cHeader::from_log_start(lines, 1000))
}

/// Lines as the engine gets them, and as what each was read.
fn rewrite(lines: &[u8], context: &LineContext<'_>) -> (Vec<u8>, Vec<LineKind>) {
    let mut out = RewrittenLines::default();
    if LogReader::default().rewrite(lines, context, &mut out) {
        let read = out.lines.iter().map(|line| line.read).collect();
        return (out.text, read);
    }
    (lines.to_vec(), each(lines).map(|_| LineKind::AsIs).collect())
}

/// The same lines, seen one write_as one.
fn see(lines: &[u8], context: &LineContext<'_>) -> (Vec<u8>, Vec<LineKind>) {
    let (mut log_reader, mut buffer, mut header) = (LogReader::default(), FrameBuffer::default(), context.header.clone());
    let first_quote = |line: &'_ [u8], from| Some(from + memchr(b'"', line.get(from..)?)?);
    each(lines).for_each(|(_, line, _)| log_reader.read_into(line, context, &mut header, |from| first_quote(line, from), &mut buffer));
    let mut text = Vec::new();
    for (number, ((_, line, is_ended), read)) in each(lines).zip(buffer.read()).enumerate() {
        let nuls = leading_nuls(line);
        match read {
            LineKind::AsIs => text.extend(line),
            LineKind::Directive => text.extend([&line[..nuls], DIRECTIVE].concat()),
            LineKind::As(_) | LineKind::WithoutClient => {
                text.extend(&line[..nuls]);
                match buffer.frame(number, line) {
                    Some(frame) => clf_writer::write_frame(&frame, &mut text),
                    None => text.extend(buffer.rewritten_line(number).unwrap()),
                }
            }
        }
        text.extend(is_ended.then_some(b'\n'));
    }
    (text, buffer.read().to_vec())
}

/// Lines of one format that differ in a few bytes, and the format where it is to be asked for.
fn alike() -> impl Strategy<Value = (Option<FormatId>, Vec<Vec<u8>>)> {
    let ids: Vec<FormatId> = FORMATS.ids().filter(|id| FORMATS.format(*id).example.is_some()).collect();
    let piece =
        prop::sample::select(vec!["\"", "\\", "\\x22", "-", " ", "", "\0", "\u{e9}", "[", "}", ",", ":", "9", "\r", "/.env", ".0", "_"]);
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0_usize..4, piece), 0..3);
    (prop::sample::select(ids), prop::collection::vec(edits, 1..8)).prop_map(|(id, lines)| {
        let format = FORMATS.format(id);
        let example = format.example.as_deref().and_then(|example| example.lines().last()).unwrap_or_default();
        let edited = lines.into_iter().map(|edits| {
            let mut line = example.as_bytes().to_vec();
            for (at, length, piece) in edits {
                let at = at.index(line.len() + 1);
                line.splice(at..line.len().min(at + length), piece.bytes());
            }
            line
        });
        (matches!(format.reader, FormatReader::Strings(_) | FormatReader::Json).then_some(id), edited.collect())
    })
}

#[test]
fn every_example_is_read_as_its_format() {
    for id in FORMATS.ids() {
        let format = FORMATS.format(id);
        let Some(example) = &format.example else { continue };
        let (text, read) = rewrite(example.as_bytes(), &from_log_start(example.as_bytes()));
        let text = text.rsplit(|&b| b == b'\n').next().unwrap().to_vec();
        let shown = String::from_utf8_lossy(&text);
        let frame = Frame::locate(&text, None).unwrap_or_else(|| panic!("{}: {shown}", format.name));
        let expected = match &format.reader {
            _ if format.is_clf => LineKind::AsIs,
            FormatReader::Json => LineKind::As(JSON),
            FormatReader::W3c => LineKind::As(W3C),
            _ => LineKind::As(id),
        };
        assert_eq!(read.last(), Some(&expected), "{}: {shown}", format.name);
        assert_eq!(Client::parse(frame.client), Client::parse(b"192.0.2.7"), "{}: {shown}", format.name);
        assert!(LogTime::parse_clf(frame.time).is_some_and(|time| time.rfc3339().starts_with("2026-11-02T08:01:00")), "{shown}");
        assert!(frame.status().is_some() && frame.bytes().is_some(), "{shown}");
    }
}

#[test]
fn every_plan_reads_its_example_when_it_is_asked_for() {
    for id in FORMATS.ids() {
        let format = FORMATS.format(id);
        let (FormatReader::Strings(_), Some(example)) = (&format.reader, &format.example) else { continue };
        let (text, read) = rewrite(example.as_bytes(), &LineContext { preferred: &[id], ..from_log_start(b"") });
        assert_eq!(read, [LineKind::As(id)], "{}: {}", format.name, String::from_utf8_lossy(&text));
    }
}

#[test]
fn columns_hold_from_where_they_are_named() {
    let (text, read) = rewrite(W3C_LOG.as_bytes(), &from_log_start(W3C_LOG.as_bytes()));
    assert_eq!(read, [LineKind::Directive, LineKind::Directive, LineKind::As(W3C), LineKind::Directive, LineKind::As(W3C)]);
    let clients: Vec<_> = text.split(|&b| b == b'\n').filter_map(|line| Some(Frame::locate(line, None)?.client)).collect();
    assert_eq!(clients, [b"192.0.2.7", b"192.0.2.8"]);
    let plain = "192.0.2.7 and no log\n".to_owned() + W3C_LOG;
    let (_, read) = rewrite(plain.as_bytes(), &from_log_start(plain.as_bytes()));
    assert!(read.iter().all(|read| *read == LineKind::AsIs), "in a log that does not begin with them they say nothing: {read:?}");
}

#[test]
fn other_lines_are_left_alone() {
    for line in [
        "",
        "hello",
        "2026/11/02 08:01:00 [error] 12#12: *1 open() \"/srv/x\" failed (2: No such file), client: 192.0.2.7, request: \"GET /x HTTP/1.1\", host: \"h\"",
        "[Mon Nov 02 08:01:00.1 2026] [core:error] [pid 1] [client 192.0.2.7:1] AH00126: Invalid URI in request GET /../ HTTP/1.1",
        r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTT"#,
        "Nov  2 08:01:00 web sshd[12]: Failed password for root from 192.0.2.7 port 22 ssh2",
        "# a heading",
        "#Fields: date time",
    ] {
        assert_eq!(rewrite(line.as_bytes(), &from_log_start(b"x")).0, line.as_bytes());
    }
}

#[test]
fn what_stands_behind_a_prefix_is_read() {
    let clf = r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x""#;
    let haproxy = FORMATS.format(FORMATS.get("haproxy_http").unwrap()).example.clone().unwrap();
    for (line, name) in [
        (format!("<190>Nov  2 08:01:00 web nginx: {clf}"), "combined"),
        (format!("2026-11-02T08:01:00.6Z stdout F {clf}"), "combined"),
        (format!("Nov  2 08:01:00 lb haproxy[14389]: {haproxy}"), "haproxy_http"),
    ] {
        let (text, read) = rewrite(line.as_bytes(), &from_log_start(b""));
        assert_eq!(read, [LineKind::As(FORMATS.get(name).unwrap())], "{line}");
        assert_eq!(Frame::locate(&text, None).unwrap().client, b"192.0.2.7");
    }
}

/// A line of any format, of none, or broken.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let examples: Vec<String> =
        FORMATS.all().filter_map(|format| format.example.as_deref()).chain([W3C_LOG]).flat_map(str::lines).map(str::to_owned).collect();
    let whole = prop::sample::select(examples).prop_map(String::into_bytes);
    let cut = (whole.clone(), 0_usize..200).prop_map(|(mut line, length)| {
        line.truncate(length);
        line
    });
    let prefixed = whole.clone().prop_map(|line| [b"<190>Nov  2 08:01:00 web nginx: ", &line[..]].concat());
    let nuls = whole.clone().prop_map(|line| [&[0; 3], &line[..]].concat());
    let other = prop::collection::vec(any::<u8>().prop_filter("one line", |b| *b != b'\n'), 0..80);
    let long = Just([&b"#Fields: date time c-ip cs-uri-stem "[..], &[b'x'; 2000]].concat());
    let ended = whole.clone().prop_map(|line| [&line[..], b"\r"].concat());
    prop_oneof![6 => whole, 1 => cut, 1 => prefixed, 1 => nuls, 1 => other, 1 => long, 1 => ended]
}

proptest! {
    #[test]
    fn where_lines_are_cut_does_not_matter(lines in prop::collection::vec(any_line(), 0..12), is_w3c: bool, cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
        let start: &[u8] = if is_w3c { b"#Version: 1.0\n" } else { b"" };
        let lines: Vec<Vec<u8>> = [start.to_vec()].into_iter().filter(|s| !s.is_empty()).chain(lines.into_iter().map(|mut line| { line.push(b'\n'); line })).collect();
        let whole = lines.concat();
        let expected = rewrite(&whole, &from_log_start(&whole));
        prop_assert_eq!(memchr::memchr_iter(b'\n', &expected.0).count(), lines.len());
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(lines.len() + 1)).collect();
        places.extend([0, lines.len()]);
        places.sort_unstable();
        let (mut text, mut read, mut header) = (Vec::new(), Vec::new(), W3cHeader::from_log_start(&whole, 1000));
        for part in places.windows(2) {
            let part = lines[part[0]..part[1]].concat();
            let done = rewrite(&part, &context(header.clone()));
            header = header.after(&part, 1000);
            text.extend(done.0);
            read.extend(done.1);
        }
        prop_assert_eq!((text, read), expected);
    }

    #[test]
    fn what_is_seen_is_what_would_be_written(lines in prop::collection::vec(any_line(), 0..12), is_w3c: bool) {
        let start: &[u8] = if is_w3c { b"#Version: 1.0\n" } else { b"" };
        let whole = [start, &lines.join(&b'\n')].concat();
        prop_assert_eq!(see(&whole, &from_log_start(&whole)), rewrite(&whole, &from_log_start(&whole)));
    }

    #[test]
    fn a_line_like_the_one_before_is_read_like_any_other((id, lines) in alike(), is_asked_for: bool) {
        let whole = lines.join(&b'\n');
        let context = LineContext { preferred: if is_asked_for { id.as_slice() } else { &[] }, ..from_log_start(&whole) };
        let shown = |(text, read): (Vec<u8>, Vec<LineKind>)| (String::from_utf8_lossy(&text).into_owned(), read);
        prop_assert_eq!(shown(see(&whole, &context)), shown(rewrite(&whole, &context)));
    }

    #[test]
    fn what_the_engine_reads_is_left_to_it(lines in prop::collection::vec(any_line(), 1..6)) {
        let whole = lines.join(&b'\n');
        let mut findings = (0, 0);
        for (_, line, _) in each(&whole) {
            let text = line.strip_suffix(b"\r").unwrap_or(line);
            if text.len() <= 1000 && text.first().is_some_and(|b| *b != 0) && Frame::locate(text, None).is_some() {
                findings.0 += 1;
                findings.1 += usize::from(rewrite(line, &from_log_start(b"")).0 == line);
            }
        }
        prop_assert_eq!(findings.0, findings.1);
    }
}
