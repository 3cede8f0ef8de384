//! `probewatch man`, `completions` and `schema`: print a man page, shell completions, and what each
//! column and key of the outputs means. Installs nothing.
//!
//! One man page describes all subcommands; packagers can print a page for each subcommand. The page
//! `finds` is about no command: it states what to do with each kind of find.

use std::io::{self, Write};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use super::message::sanitized;
use super::{Exit, message, stdout};
use crate::render::schema::{self, Topic};
use crate::rules::{CLASSES, Class};

/// Prints the page of `command`, or of its subcommand `only`.
#[must_use]
pub(crate) fn run_man(command: &Command, only: Option<&str>) -> Exit {
    if only == Some(FINDS) {
        return stdout::print(&finds_page(command.get_version().unwrap_or_default()));
    }
    let subject = match only {
        None => Some(command),
        Some(name) => visible_subcommands(command).find(|c| c.get_name() == name),
    };
    let Some(subject) = subject else {
        return unknown_subcommand(command, only.unwrap_or_default());
    };
    match page(subject, command.get_version().unwrap_or_default()) {
        Ok(page) => stdout::print(&page),
        Err(error) => stdout::failed(&error),
    }
}

fn unknown_subcommand(command: &Command, name: &str) -> Exit {
    let names: Vec<_> = visible_subcommands(command)
        .map(Command::get_name)
        .collect();
    message::error(&format!("no subcommand is called '{}'", sanitized(name)));
    message::hint(&format!(
        "type one of {}, or {FINDS}, or none for the whole manual",
        names.join(", ")
    ));
    Exit::Usage
}

/// All subcommands except hidden ones and `help`, which adds nothing to the page.
fn visible_subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|c| !c.is_hide_set() && c.get_name() != "help")
}

/// The page of a command, with its subcommands as chapters.
fn page(command: &Command, version: &str) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone()).source(format!("probewatch {version}"));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    // No hyphenation or filling: readers copy names of variables and flags.
    writeln!(page, ".nh\n.ad l")?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for subcommand in visible_subcommands(command) {
        chapter(subcommand, &mut page)?;
    }
    notes(command, "SH", &mut page)?;
    Ok(page)
}

/// A subcommand as a section, with its own sections as subsections. A command that only groups
/// others is replaced by these.
fn chapter(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    if command.has_subcommands() {
        return visible_subcommands(command).try_for_each(|c| chapter(c, page));
    }
    let man = Man::new(command.clone());
    let mut sections = Vec::new();
    man.render_description_section(&mut sections)?;
    man.render_synopsis_section(&mut sections)?;
    man.render_options_section(&mut sections)?;
    let name = command
        .get_bin_name()
        .unwrap_or(command.get_name())
        .to_uppercase();
    writeln!(page, ".SH \"{name}\"")?;
    for line in String::from_utf8_lossy(&sections).lines() {
        match line.strip_prefix(".SH ") {
            Some("DESCRIPTION") => {}
            Some(title) => writeln!(page, ".SS {title}")?,
            None => writeln!(page, "{line}")?,
        }
    }
    notes(command, "SS", page)
}

/// The name of the page about finds.
const FINDS: &str = "finds";

/// What to do with each kind of find.
const FINDS_TEXT: &str = include_str!("finds.txt");

/// The page about finds.
fn finds_page(version: &str) -> Vec<u8> {
    let title = format!(".TH probewatch-{FINDS} 7 \"\" \"probewatch {version}\"\n.nh\n.ad l\n");
    let name = format!(".SH NAME\nprobewatch\\-{FINDS} \\- what to do with each kind of find\n");
    let of_class = |class: &Class| format!("{}\n  {}\n  {}\n", class.id, class.wants, class.remedy);
    let classes = format!(
        "Classes of rules:\n{}",
        CLASSES.iter().map(of_class).collect::<String>()
    );
    [
        title,
        name,
        lines(FINDS_TEXT, "SH"),
        lines(&classes, "SH"),
        ".fi\n".to_owned(),
    ]
    .concat()
    .into_bytes()
}

/// The text after the options.
fn notes(command: &Command, level: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let text = command
        .get_after_long_help()
        .or(command.get_after_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    writeln!(page, "{}.fi", lines(&text, level))
}

/// A text line by line, because examples and tables must not be filled. An unindented line that
/// ends in a colon is a heading.
fn lines(text: &str, level: &str) -> String {
    let line = |line: &str| match line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
        Some(title) => format!(".fi\n.{level} \"{}\"\n.nf\n", title.to_uppercase()),
        None => format!("\\&{}\n", escaped(line)),
    };
    text.lines()
        .filter(|text| !text.is_empty())
        .map(line)
        .collect()
}

fn escaped(line: &str) -> String {
    line.replace('\\', "\\e").replace('-', "\\-")
}

/// Prints the completions of `command` for `shell`.
#[must_use]
pub(crate) fn run_completions(mut command: Command, shell: Shell) -> Exit {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    stdout::print(&script)
}

/// Describes one output, all of them where `topic` is `None`.
#[must_use]
pub(crate) fn run_schema(topic: Option<Topic>) -> Exit {
    let mut text = Vec::new();
    match schema::write(topic, &mut text) {
        Ok(()) => stdout::print(&text),
        Err(error) => stdout::failed(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    fn page_of(name: Option<&str>) -> String {
        let command = cli::documented_command();
        let subject = name.map_or(&command, |name| {
            command.find_subcommand(name).expect("a subcommand")
        });
        String::from_utf8(page(subject, "1.2.3").expect("a page")).expect("UTF-8")
    }

    #[test]
    fn the_page_contains_every_flag_and_subcommand() {
        let page = page_of(None);
        let command = cli::complete_command();
        let scan = command.find_subcommand("scan").expect("scan");
        for long in scan
            .get_arguments()
            .filter(|arg| !arg.is_hide_set())
            .filter_map(clap::Arg::get_long)
        {
            assert!(
                page.contains(&format!("\\-\\-{}", long.replace('-', "\\-"))),
                "{long}"
            );
        }
        let chapters = [
            "PROBEWATCH SCAN",
            "PROBEWATCH EXPLAIN",
            "PROBEWATCH RULES LIST",
            "PROBEWATCH MAN",
            "EXAMPLES",
        ];
        let positions =
            chapters.map(|title| page.find(&format!(".SH \"{title}\"\n")).expect(title));
        assert!(positions.is_sorted(), "{positions:?}");
        assert!(
            page.contains(".SS \"EXIT CODES\"") && page.contains("[env: PROBEWATCH_MIN_SEVERITY]"),
            "{page}"
        );
    }

    #[test]
    fn the_page_of_finds_has_each_class_once() {
        let listed = FINDS_TEXT
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("Classes: "));
        let mut classes: Vec<&str> = listed.flat_map(|classes| classes.split(", ")).collect();
        classes.sort_unstable();
        assert!(classes.into_iter().eq(Class::ids()));
        assert!(FINDS_TEXT.lines().all(|line| line.chars().count() <= 80));
        let page = String::from_utf8(finds_page("1.2.3")).expect("UTF-8");
        assert!(
            page.starts_with(".TH probewatch-finds 7")
                && page.contains(".SH \"NOTHING ANSWERED\"\n"),
            "{page}"
        );
    }

    #[test]
    fn a_subcommand_has_its_own_page() {
        let page = page_of(Some("scan"));
        assert!(
            page.contains(".TH probewatch-scan 1")
                && page.contains("1.2.3")
                && page.contains("min\\-severity"),
            "{page}"
        );
        assert!(page_of(Some("rules")).contains("PROBEWATCH RULES TEST"));
    }
}
