//! Draws the live view on a screen of any size: a line on top, a line of keys at the bottom, and the page between.
//!
//! Draws what it is given; counts and sorts nothing.

mod bars;
mod canvas;
mod details;
mod overview;
mod pages;
mod rows;
mod title;

use ratatui::Frame;
use ratatui::layout::Rect;

use self::canvas::Canvas;
use super::view::{ScreenPage, ViewState};
use super::visible_rows::VisibleRows;

/// Draws everything. `since` is how many hits came since the snapshot was frozen, if it is.
pub(super) fn draw(shown: &VisibleRows<'_>, view: &mut ViewState, since: Option<u64>, color: bool, frame: &mut Frame<'_>) {
    let area = frame.area();
    let canvas = &mut Canvas { buffer: frame.buffer_mut(), color };
    let rows = [area.height.min(1), u16::from(area.height >= 3)];
    let body = Rect { y: area.y + rows[0], height: area.height - rows[0] - rows[1], ..area };
    title::draw(shown, since, Rect { height: rows[0], ..area }, canvas);
    match view.page.clone() {
        ScreenPage::Overview => overview::draw(shown, view, body, canvas),
        ScreenPage::Details(subject) => details::draw(&subject, shown, view, body, canvas),
        ScreenPage::Logs => pages::draw_logs(shown, view, body, canvas),
        ScreenPage::Help => pages::draw_help(body, canvas),
    }
    title::draw_keys(shown, view, since.is_some(), Rect { y: body.bottom(), height: rows[1], ..area }, canvas);
}
