//! `--from-nginx` and `--from-apache`: from the flag to the logs that the server's configuration names.

use std::path::{Path, PathBuf};

use super::Error;
use crate::cli::scan::InputArgs;
use crate::commands::message::sanitized;
use crate::server_config::{self, ConfiguredLogs, ServerConfigError};

/// The word for wherever packages put the configuration.
pub(super) const AUTO: &str = "auto";

/// The logs of all servers that are named.
pub(super) fn logs(asked: &InputArgs) -> Result<ConfiguredLogs, Error> {
    let mut all = ConfiguredLogs::default();
    if let Some(conf) = &asked.from_nginx {
        take(&mut all, server_config::read_nginx(&place(conf, &server_config::NGINX_CONFIG_PATHS)))?;
    }
    if let Some(conf) = &asked.from_apache {
        take(&mut all, server_config::read_apache(&place(conf, &server_config::APACHE_CONFIG_PATHS)))?;
    }
    Ok(all)
}

fn take(all: &mut ConfiguredLogs, logs: Result<ConfiguredLogs, ServerConfigError>) -> Result<(), Error> {
    let logs = logs.map_err(|error| Error::Server(sanitized(&error.to_string())))?;
    all.found.extend(logs.found);
    all.error_logs.extend(logs.error_logs);
    all.notices.extend(logs.notices);
    Ok(())
}

/// The configuration that is meant; where there is none, the place where most have it, for the message.
fn place(conf: &Path, places: &[&str]) -> PathBuf {
    if conf.as_os_str() != AUTO {
        return conf.to_owned();
    }
    server_config::first_existing(places).unwrap_or_else(|| places.first().map(PathBuf::from).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_is_missing_is_named_with_the_flag() {
        for (input, part) in [
            (InputArgs { from_nginx: Some("gone\u{1b}.conf".into()), ..InputArgs::default() }, "--from-nginx=CONF"),
            (InputArgs { from_apache: Some("gone\u{1b}.conf".into()), ..InputArgs::default() }, "--from-apache=CONF"),
        ] {
            let text = logs(&input).expect_err("missing").to_string();
            assert!(text.contains(part) && text.contains("gone\\x1b.conf: cannot read"), "{text}");
        }
        assert_eq!(logs(&InputArgs::default()).expect("nothing"), ConfiguredLogs::default());
        assert_eq!(place(Path::new(AUTO), &["/nowhere/a", "/dev/null/b"]), Path::new("/nowhere/a"));
    }
}
