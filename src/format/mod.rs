//! Log formats: which bytes of a line are which field.
//!
//! Nothing here fails or allocates: a line that no format explains is `None`.

/// A format of access logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// nginx `combined`, Apache `combined`.
    #[default]
    Combined,
    /// Apache `common`, the Common Log Format.
    Common,
    /// Apache `vhost_combined`: host and port, then combined.
    VhostCombined,
}
