//! Why a text is no format, in words that say what to type instead.

/// Why a format string cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// No field in it.
    #[error(
        "'{0}' is no log format: it names no field; paste the text of an nginx log_format ($remote_addr ...) or of an Apache LogFormat (%h ...)"
    )]
    NoField(String),
    /// A directive that `mod_log_config` does not have.
    #[error(
        "{found}: Apache's LogFormat has no such directive; it has %h %a %l %u %t %r %m %U %q %H %s %>s %b %B %O %I %D %T %v %V %p %{{Header}}i and others; for HAProxy's usual log type haproxy_http"
    )]
    Unknown {
        /// As written.
        found: String,
    },
    /// A brace or a quote that nothing closes.
    #[error("'{found}' is not closed: '{expected}' is missing behind it")]
    Unclosed {
        /// As written, from what opens it.
        found: String,
        /// What would close it.
        expected: char,
    },
    /// A dollar sign without a name.
    #[error("a '$' without the name of a variable, at '{found}'")]
    NoName {
        /// From the dollar sign on.
        found: String,
    },
    /// An `escape=` that nginx does not have.
    #[error("escape={found}: nginx has escape=default, escape=json and escape=none")]
    Escape {
        /// What stands behind the equals sign.
        found: String,
    },
    /// Two fields with nothing between them.
    #[error("between {first} and {second} stands nothing, so no line tells where one ends; put a space or a quote between them")]
    Adjacent {
        /// As written.
        first: String,
        /// As written.
        second: String,
    },
    /// Nothing that says what was asked for.
    #[error("this format does not log what was asked for; it needs $request or $request_uri (nginx), %r or %U (Apache)")]
    NoRequest,
}

impl FormatError {
    /// The same, where it is about a whole format.
    pub(super) fn about(self, format: &str) -> Self {
        if matches!(self, Self::NoField(_)) { Self::NoField(format.chars().take(80).collect()) } else { self }
    }
}
