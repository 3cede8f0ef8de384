//! What a table needs that belongs to no report: a grid, and texts that fit a width.

use std::io::{self, Write};

use anstyle::Style;

use super::{Pen, WIDTH};
use crate::render::View;
pub(crate) use crate::render::layout::{Cell, Column, Grid};
use crate::render::layout::{NARROWEST, write_wrapped};

/// Where texts go, and how wide they may be.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) width: usize,
    pub(crate) pen: Pen,
}

impl Leaf {
    pub(crate) fn new(view: &View) -> Self {
        let width = if view.width == 0 { WIDTH } else { NARROWEST.max(view.width.into()) };
        Self { width, pen: Pen { color: view.color } }
    }

    /// A text behind a margin, on as many lines as it takes.
    pub(crate) fn text<W: Write>(&self, text: &str, margin: usize, style: Style, out: &mut W) -> io::Result<()> {
        write_wrapped(text, margin, self.width, (self.pen, style), out)
    }
}
