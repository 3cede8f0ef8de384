//! What a table needs that belongs to no report: a grid, and texts that fit a width.

use std::io::{self, Write};

use anstyle::Style;

pub(in crate::report) use super::layout::{Cell, Column, Grid};
use super::layout::{NARROWEST, write_wrapped};
use super::{Pen, WIDTH};
use crate::report::View;

/// Where texts go, and how wide they may be.
#[derive(Debug)]
pub(in crate::report) struct Leaf {
    pub(in crate::report) width: usize,
    pub(in crate::report) pen: Pen,
}

impl Leaf {
    pub(in crate::report) fn new(view: &View) -> Self {
        let width = if view.width == 0 { WIDTH } else { NARROWEST.max(view.width.into()) };
        Self { width, pen: Pen { color: view.color } }
    }

    /// A text behind a margin, on as many lines as it takes.
    pub(in crate::report) fn text<W: Write>(&self, text: &str, margin: usize, style: Style, out: &mut W) -> io::Result<()> {
        write_wrapped(text, margin, self.width, (self.pen, style), out)
    }
}
