//! Room for texts that do not stand in a line as they are to be read.
//!
//! One for each thread, kept between lines, so that reading a line allocates nothing once the buffers have grown. It
//! knows nothing of what is put into it.

use super::json::{Keys, Layouts};

/// Buffers of a reader, one for each field that may have to be put together. What is in them holds for one line.
#[derive(Debug, Default, Clone)]
pub struct Room {
    /// The address that asked.
    pub client: Vec<u8>,
    /// The field that names the real client.
    pub forwarded: Vec<u8>,
    /// The virtual host.
    pub host: Vec<u8>,
    /// When.
    pub time: Vec<u8>,
    /// The request line.
    pub request: Vec<u8>,
    /// `GET`.
    pub method: Vec<u8>,
    /// Path and query, or the path alone.
    pub target: Vec<u8>,
    /// The query, where it stands apart.
    pub query: Vec<u8>,
    /// `HTTP/1.1`.
    pub protocol: Vec<u8>,
    /// The status code.
    pub status: Vec<u8>,
    /// Bytes sent.
    pub bytes: Vec<u8>,
    /// The `Referer` header.
    pub referer: Vec<u8>,
    /// The `User-Agent` header.
    pub user_agent: Vec<u8>,
    /// A line that was written down again.
    pub(super) line: Vec<u8>,
    /// Which field of it is the client is unknown.
    pub(super) is_without_client: bool,
    /// The names of the JSON line before.
    pub(super) keys: Keys,
    /// The layouts of JSON lines before.
    pub(super) layouts: Layouts,
}
