//! What a table needs that belongs to no report: a grid, and texts that fit a width.

use std::io::{self, Write};

use anstyle::Style;

use super::{Painter, WIDTH};
use crate::render::RenderOptions;
pub(crate) use crate::render::layout::{Cell, Column, Grid};
use crate::render::layout::{MIN_WIDTH, write_wrapped};

/// Where texts go, and how wide they may be.
#[derive(Debug)]
pub(crate) struct TextPage {
    pub(crate) width: usize,
    pub(crate) painter: Painter,
}

impl TextPage {
    pub(crate) fn new(options: &RenderOptions) -> Self {
        let width = if options.width == 0 { WIDTH } else { MIN_WIDTH.max(options.width.into()) };
        Self { width, painter: Painter { color: options.color } }
    }

    /// A text behind a margin, on as many lines as it takes.
    pub(crate) fn text<W: Write>(&self, text: &str, margin: usize, style: Style, out: &mut W) -> io::Result<()> {
        write_wrapped(text, margin, self.width, (self.painter, style), out)
    }
}
