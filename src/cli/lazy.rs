//! Arguments of a subcommand that are declared only if the subcommand is named: to declare those of
//! all subcommands takes a tenth of the time of a small scan. It parses nothing itself.

use clap::builder::Resettable::{Reset, Value};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id};

use super::help;

/// The arguments of a subcommand whose flags are settings; `--help` is the last of its flags.
#[derive(Debug, Clone)]
pub(super) struct Lazy<T>(Box<T>);

impl<T> Lazy<T> {
    pub(super) fn into_args(self) -> T {
        *self.0
    }
}

/// Declares the arguments. Their comments do not replace the description of the subcommand.
fn declare<T: Args>(command: Command) -> Command {
    let [about, long_about] = [command.get_about(), command.get_long_about()]
        .map(|text| text.cloned().map_or(Reset, Value));
    let declared = T::augment_args(command).about(about).long_about(long_about);
    declared.disable_help_flag(true).arg(help::flag())
}

impl<T: Args> Args for Lazy<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(declare::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }

    fn group_id() -> Option<Id> {
        T::group_id()
    }
}

impl<T: FromArgMatches> FromArgMatches for Lazy<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(Box::new(T::from_arg_matches(matches)?)))
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        Ok(Self(Box::new(T::from_arg_matches_mut(matches)?)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
