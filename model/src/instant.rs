//! Which timestamps are readable, and ageing.
//!
//! A timestamp is what a record says, so it may be anything. *Readable* is the interchange format
//! of ECMA-262 (section "Date Time String Format") as far as it does not depend on a time zone of
//! the reader: `YYYY-MM-DD`, or that with `Thh:mm[:ss[.digits]]` and `Z` or an offset. Everything
//! else ages nobody.
//!
//! Absent on purpose: a clock, leap seconds, local time, expanded years, lower-case `t` and `z`.
//! The tables `ageing` and `ageing-log` of the vectors pin the rule; the unit tests below its
//! edges.

use crate::text::Text;
use crate::vocabulary::STALE_AFTER_MS;

/// Whether an actor was seen lately, judged against the newest readable time of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Seen lately, or nobody can tell.
    Online,
    /// Unseen for more than [`STALE_AFTER_MS`]. Still registered and addressable.
    Stale,
}

impl Status {
    /// The wire name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Online => "online",
            Status::Stale => "stale",
        }
    }
}

/// The status of an actor last seen at one time (nothing when it is missing or unreadable), at
/// another; both in milliseconds since the epoch.
#[must_use]
pub fn status_at(last_seen_ms: Option<i64>, now_ms: i64) -> Status {
    match last_seen_ms {
        Some(seen_ms) if now_ms.saturating_sub(seen_ms) > STALE_AFTER_MS => Status::Stale,
        Some(_) | None => Status::Online,
    }
}

/// Milliseconds since the epoch of a readable timestamp; nothing for any other text. Digits beyond
/// the millisecond are cut off. `24:00` is the end of its day, as in ECMA-262.
#[must_use]
pub fn readable_ms(text: &Text) -> Option<i64> {
    let mut rest = Cursor(text.as_bytes());
    let year = rest.digits(4)?;
    rest.expect(b'-')?;
    let month = rest.digits(2)?;
    rest.expect(b'-')?;
    let day = rest.digits(2)?;
    if !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
        return None;
    }
    let midnight_ms = days_since_epoch(year, month, day) * MS_PER_DAY;
    if rest.is_at_end() {
        return Some(midnight_ms);
    }
    rest.expect(b'T')?;
    let time_ms = rest.time_of_day_ms()?;
    let offset_ms = rest.offset_ms()?;
    rest.is_at_end().then_some(midnight_ms + time_ms - offset_ms)
}

const MS_PER_SECOND: i64 = 1_000;
const MS_PER_MINUTE: i64 = 60 * MS_PER_SECOND;
const MS_PER_HOUR: i64 = 60 * MS_PER_MINUTE;
const MS_PER_DAY: i64 = 24 * MS_PER_HOUR;

/// What is left to read.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the next byte when it is a certain one.
    fn expect(&mut self, wanted: u8) -> Option<()> {
        let (&first, rest) = self.0.split_first()?;
        (first == wanted).then(|| self.0 = rest)
    }

    /// Takes one decimal digit.
    fn digit(&mut self) -> Option<i64> {
        let (&first, rest) = self.0.split_first()?;
        first.is_ascii_digit().then(|| {
            self.0 = rest;
            i64::from(first - b'0')
        })
    }

    /// Takes exactly so many decimal digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        (0..count).try_fold(0, |value, _| Some(value * 10 + self.digit()?))
    }

    /// Takes `hh:mm[:ss[.digits]]`, at most `24:00:00.000`.
    fn time_of_day_ms(&mut self) -> Option<i64> {
        let hour = self.digits(2)?;
        self.expect(b':')?;
        let minute = self.digits(2)?;
        let mut second = 0;
        let mut fraction_ms = 0;
        if self.expect(b':').is_some() {
            second = self.digits(2)?;
            if self.expect(b'.').is_some() {
                fraction_ms = self.fraction_ms()?;
            }
        }
        let ms = hour * MS_PER_HOUR + minute * MS_PER_MINUTE + second * MS_PER_SECOND + fraction_ms;
        (minute < 60 && second < 60 && ms <= MS_PER_DAY).then_some(ms)
    }

    /// Takes one digit or more; the first three are tenths, hundredths and thousandths.
    fn fraction_ms(&mut self) -> Option<i64> {
        let mut ms = self.digit()? * 100;
        let mut unit = 10;
        while let Some(digit) = self.digit() {
            ms += digit * unit;
            unit /= 10;
        }
        Some(ms)
    }

    /// Takes `Z`, or how far local time is ahead: `+hh:mm` or `-hh:mm`, less than a day.
    fn offset_ms(&mut self) -> Option<i64> {
        if self.expect(b'Z').is_some() {
            return Some(0);
        }
        let sign = if self.expect(b'-').is_some() {
            -1
        } else {
            self.expect(b'+')?;
            1
        };
        let hour = self.digits(2)?;
        self.expect(b':')?;
        let minute = self.digits(2)?;
        (hour < 24 && minute < 60).then_some(sign * (hour * MS_PER_HOUR + minute * MS_PER_MINUTE))
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar. A year is counted from March, so that
/// the leap day is its last day and the months before it have a regular length (153 days in five).
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    const DAYS_FROM_MARCH_OF_YEAR_0_TO_EPOCH: i64 = 719_468;
    let (year, month_from_march) =
        if month >= 3 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    365 * year + leap_days + day_of_year - DAYS_FROM_MARCH_OF_YEAR_0_TO_EPOCH
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> Option<i64> {
        readable_ms(&text.into())
    }

    #[test]
    fn readable_forms_have_their_known_instants() {
        for (text, expected) in [
            ("1970-01-01", 0),
            ("1970-01-01T00:00Z", 0),
            ("1969-12-31T23:59:59.999Z", -1),
            ("0000-01-01", -62_167_219_200_000),
            ("0000-02-29", -62_167_219_200_000 + 59 * MS_PER_DAY),
            ("9999-12-31T24:00Z", 253_402_300_800_000),
            ("2000-02-29", 951_782_400_000),
            ("2026-09-15T23:41:09.954Z", 1_789_515_669_954),
            ("2026-09-15T21:41:09.954-02:00", 1_789_515_669_954),
            ("2026-09-16T05:11:09.954+05:30", 1_789_515_669_954),
            ("2026-09-15T23:41:09.9549999Z", 1_789_515_669_954),
            ("2026-09-15T23:41:09.9Z", 1_789_515_669_900),
            ("2026-09-15T24:00:00.000Z", 1_789_516_800_000),
            ("1970-01-01T00:00+23:59", -(23 * MS_PER_HOUR + 59 * MS_PER_MINUTE)),
            ("1970-01-01T00:00-00:00", 0),
        ] {
            assert_eq!(ms(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn every_other_form_is_unreadable() {
        for text in [
            "",
            "garbage",
            "2026",
            "2026-09",
            "2026-9-15",
            "2026-00-10",
            "2026-13-01",
            "2026-09-00",
            "2026-09-31",
            "2026-02-29",
            "1900-02-29",
            "+002026-09-15",
            "-000001-09-15",
            "2026-09-15Z",
            "2026-09-15T",
            "2026-09-15T23Z",
            "2026-09-15T23:41",
            "2026-09-15t23:41Z",
            "2026-09-15T23:41z",
            "2026-09-15 23:41Z",
            "2026-09-15T23:60Z",
            "2026-09-15T23:41:60Z",
            "2026-09-15T24:00:00.001Z",
            "2026-09-15T24:01Z",
            "2026-09-15T25:00Z",
            "2026-09-15T23:41:09.Z",
            "2026-09-15T23:41:09,954Z",
            "2026-09-15T23:41:Z",
            "2026-09-15T23:41Z ",
            " 2026-09-15T23:41Z",
            "2026-09-15T23:41ZZ",
            "2026-09-15T23:41+2:00",
            "2026-09-15T23:41+0200",
            "2026-09-15T23:41+24:00",
            "2026-09-15T23:41+02:60",
            "2026-09-15T23:41+02",
            "\u{0662}026-09-15",
        ] {
            assert_eq!(ms(text), None, "{text}");
        }
    }

    #[test]
    fn days_are_consecutive_over_four_centuries() {
        let mut expected = days_since_epoch(1800, 1, 1);
        for year in 1800..2200 {
            for month in 1..=12 {
                for day in 1..=days_in_month(year, month) {
                    assert_eq!(days_since_epoch(year, month, day), expected);
                    expected += 1;
                }
            }
        }
    }

    #[test]
    fn stale_begins_one_millisecond_after_the_limit() {
        assert_eq!(status_at(Some(0), STALE_AFTER_MS), Status::Online);
        assert_eq!(status_at(Some(0), STALE_AFTER_MS + 1), Status::Stale);
        assert_eq!(status_at(Some(STALE_AFTER_MS + 1), 0), Status::Online, "time went back");
        assert_eq!(status_at(None, i64::MAX), Status::Online);
        assert_eq!(status_at(Some(i64::MIN), i64::MAX), Status::Stale);
    }

    #[test]
    fn any_number_of_fraction_digits_is_read() {
        let text = format!("1970-01-01T00:00:00.{}Z", "9".repeat(10_000));
        assert_eq!(ms(&text), Some(999));
    }
}
