//! Renders items in parallel and writes them in their order.
//!
//! Each thread renders a run of items into a buffer. The buffers of one round are in memory, not the whole output.

use std::io::{self, Write};

use rayon::prelude::*;

/// Items that one thread renders at a time: enough that a task costs nothing beside them, few enough that all threads have some.
const RUN: usize = 256;

/// Runs for each thread in a round: a thread whose runs are short takes those of another.
const RUNS_PER_THREAD: usize = 8;

/// Calls `render` for runs of items, with the number of the first one and an empty buffer, and writes the buffers to `out`.
///
/// # Errors
///
/// The first error of `render`, or one of `out`.
pub(crate) fn write_in_parallel<T: Sync, W: Write>(
    items: &[T],
    out: &mut W,
    render: impl Fn(usize, &[T], &mut Vec<u8>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let mut buffers = vec![Vec::new(); RUNS_PER_THREAD * rayon::current_num_threads()];
    for (round, items) in items.chunks(RUN * buffers.len()).enumerate() {
        let start = round * RUN * buffers.len();
        let runs = items.par_chunks(RUN).zip(&mut buffers).enumerate().with_max_len(1);
        runs.try_for_each(|(run, (items, buffer))| {
            buffer.clear();
            render(start + run * RUN, items, buffer)
        })?;
        buffers.iter().take(items.len().div_ceil(RUN)).try_for_each(|buffer| out.write_all(buffer))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::render::parallel::*;

    #[test]
    fn items_are_in_order_with_their_numbers() {
        for count in [0, 1, RUN, RUN + 1, 100 * RUN + 7] {
            let (items, mut out): (Vec<usize>, Vec<u8>) = ((0..count).collect(), Vec::new());
            let render = |start: usize, items: &[usize], out: &mut Vec<u8>| {
                (start..).zip(items).try_for_each(|(number, item)| writeln!(out, "{number} {item}"))
            };
            write_in_parallel(&items, &mut out, render).unwrap();
            let lines: Vec<_> = items.iter().map(|item| format!("{item} {item}")).collect();
            assert_eq!(String::from_utf8(out).unwrap().lines().collect::<Vec<_>>(), lines);
        }
    }

    #[test]
    fn an_error_ends_the_output() {
        let mut out = Vec::new();
        let render = |start, _: &[u8], _: &mut Vec<u8>| if start == 0 { Ok(()) } else { Err(io::Error::other("full")) };
        assert!(write_in_parallel(&[0; 2 * RUN], &mut out, render).is_err());
    }
}
