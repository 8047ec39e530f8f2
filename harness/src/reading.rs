//! What stands in a log of the small bus, read by the scanner that ships.

use gaia_bus::log::{Record, Scanner};

use crate::small::Tag;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Whose it is, as bytes of its tag: `a1`, `o0` for the record that was there before, `x0` for
    /// a foreign one.
    pub who: [u8; 2],
    /// `.`, or `<` and `>` of a batch.
    pub part: u8,
    /// Its id.
    pub id: u32,
}

/// The records of a log up to its first damage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The records.
    pub entries: Vec<Entry>,
    /// How many bytes they take.
    pub sound_bytes: usize,
    /// Whether something is damaged behind them.
    pub is_damaged: bool,
    /// Whether that is a last line without its newline, and nothing else.
    pub is_torn: bool,
}

impl Reading {
    /// Reads a log.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut reading = Reading::default();
        let mut scanner = Scanner::new();
        let entries = &mut reading.entries;
        let fed = scanner.feed(bytes, &mut |record: Record<'_>| {
            entries.extend(entry(record.kind()));
            Ok::<(), ()>(())
        });
        // A torn tail is the only damage that shows at the end alone.
        reading.is_torn = fed.is_ok() && scanner.finish().is_err();
        reading.is_damaged = fed.is_err() || reading.is_torn;
        reading.sound_bytes = usize::try_from(scanner.offset()).unwrap_or(usize::MAX);
        reading
    }

    /// The records that count for ids.
    pub fn counted(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.who[0] != b'x')
    }
}

impl Entry {
    /// Whether it is a record of this command.
    #[must_use]
    pub fn is_of(&self, tag: Tag) -> bool {
        self.who == [b'a' + tag.process, b'1' + tag.command]
    }
}

fn entry(kind: &str) -> Option<Entry> {
    let [process, command, part, id] = *<&[u8; 4]>::try_from(kind.as_bytes()).ok()?;
    Some(Entry { who: [process, command], part, id: char::from(id).to_digit(36)? })
}
