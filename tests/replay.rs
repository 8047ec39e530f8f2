//! Promise: reading warm is reading cold. Whatever a process keeps between calls, each call ends
//! where a first read of the same file would end; and a validated prefix that changed in any byte,
//! shrank or was replaced is seen before anything is decided.
//!
//! Method: a fold that remembers every record it was given, driven through random histories of
//! appends, torn tails, foreign changes and cuts, against a cold read of the same bytes; exhaustive
//! single-byte changes of a small log. Controls: a digest that forgets the order of bytes, and one
//! that forgets everything, each let a change through that the real one sees.
//!
//! Cannot see: two files with the same 128-bit digest.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use gaia_bus::log::{DamageKind, Record};
use gaia_bus::replay::{Digest, Fold, LogFault, Replay, Unreplayable, Xxh3};
use gaia_bus_model::event::{Identity, RecordType, Shape};
use proptest::prelude::*;

/// Remembers every record. A record of the type `bad` does not fold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Remember(Vec<(u64, u64, Vec<u8>)>);

const BAD: Unreplayable = Unreplayable {
    record_type: RecordType::InboxPolled,
    field: Identity { path: "messageIds", shape: Shape::TextList },
};

impl Fold for Remember {
    fn apply(&mut self, record: &Record<'_>) -> Result<(), Unreplayable> {
        if record.kind() == "bad" {
            return Err(BAD);
        }
        self.0.push((record.line(), record.span().offset, record.bytes().to_vec()));
        Ok(())
    }
}

type Reader<D = Xxh3> = Replay<Remember, D>;

fn call<D: Digest>(
    replay: &mut Reader<D>,
    file: &[u8],
    chunk_bytes: usize,
) -> Result<(), LogFault> {
    replay.begin();
    for chunk in file.chunks(chunk_bytes) {
        replay.feed(chunk)?;
    }
    replay.finish()
}

fn cold(file: &[u8]) -> (Reader, Result<(), LogFault>) {
    let mut replay = Replay::new(Remember::default());
    let result = call(&mut replay, file, usize::MAX >> 1);
    (replay, result)
}

fn known(replay: &Reader) -> (u64, u64, &Remember) {
    (replay.length(), replay.lines(), replay.fold())
}

const LOG: &[u8] = b"{\"type\":\"a\"}\n{\"type\":\"b\",\"x\":1}\n{\"type\":\"c\"}\n";

fn warm() -> Reader {
    let (replay, result) = cold(LOG);
    assert_eq!(result, Ok(()));
    assert!(replay.is_warm() && replay.is_proven());
    replay
}

#[test]
fn a_changed_byte_anywhere_in_the_prefix_is_rewritten_history() {
    for place in 0..LOG.len() {
        for bit in 0..8 {
            let mut file = LOG.to_vec();
            file[place] ^= 1 << bit;
            file.extend_from_slice(b"{\"type\":\"new\"}\n");
            for chunk_bytes in [1, 5, file.len()] {
                let mut replay = warm();
                let before = replay.fold().clone();
                let length = LOG.len() as u64;
                assert_eq!(
                    call(&mut replay, &file, chunk_bytes),
                    Err(LogFault::Rewritten { known: length, found: length })
                );
                assert_eq!(replay.fold(), &before, "nothing behind an unproven prefix is applied");
                assert!(!replay.is_proven());
            }
        }
    }
}

#[test]
fn a_log_that_shrank_anywhere_is_rewritten_history() {
    for length in 0..LOG.len() {
        let mut replay = warm();
        assert_eq!(
            call(&mut replay, &LOG[..length], 7),
            Err(LogFault::Rewritten { known: LOG.len() as u64, found: length as u64 })
        );
        // The fault stands, and nothing can be committed behind it.
        assert!(replay.finish().is_err() && replay.feed(b"").is_err());
        assert!(replay.committed(b"{\"type\":\"a\"}\n").is_err());
        // The same prefix is compared again by the next call.
        assert_eq!(call(&mut replay, LOG, 7), Ok(()));
        assert_eq!(known(&replay), known(&warm()));
    }
}

#[test]
fn a_replaced_log_is_rewritten_history_also_when_it_is_longer_and_sound() {
    let file = b"{\"type\":\"b\",\"x\":1}\n{\"type\":\"a\"}\n{\"type\":\"c\"}\n{\"type\":\"d\"}\n";
    let mut replay = warm();
    let fault = call(&mut replay, file, 4096);
    assert!(matches!(fault, Err(LogFault::Rewritten { .. })), "{fault:?}");
}

#[test]
fn the_prefix_is_not_proven_before_its_last_byte_was_compared() {
    let mut replay = warm();
    replay.begin();
    for byte in &LOG[..LOG.len() - 1] {
        replay.feed(&[*byte]).unwrap();
        assert!(!replay.is_proven());
        assert!(replay.clone().committed(b"{\"type\":\"a\"}\n").is_err());
    }
    replay.feed(&LOG[LOG.len() - 1..]).unwrap();
    assert!(replay.is_proven());
}

#[test]
fn after_damage_the_sound_lines_before_it_stay_known() {
    for (tail, kind) in [
        (&b"{\"type\":\"d\"}\nnope\n"[..], DamageKind::NotJson),
        (b"{\"type\":\"d\"}\n{\"type\"", DamageKind::TornTail),
    ] {
        for chunk_bytes in 1..20 {
            let mut replay = warm();
            let file = [LOG, tail].concat();
            let fault = call(&mut replay, &file, chunk_bytes).unwrap_err();
            let LogFault::Damaged(damage) = &fault else { panic!("{fault}") };
            assert_eq!((damage.line, damage.kind), (5, kind));
            let sound = &file[..LOG.len() + 13];
            assert_eq!(known(&replay), known(&cold(sound).0));
            // Again the same, and once it is whole again, everything.
            assert_eq!(call(&mut replay, &file, chunk_bytes), Err(fault));
            assert_eq!(call(&mut replay, sound, chunk_bytes), Ok(()));
            assert_eq!(replay, {
                let mut again = cold(sound).0;
                call(&mut again, sound, 9).unwrap();
                again
            });
        }
    }
}

#[test]
fn a_record_that_does_not_fold_is_named_and_not_applied() {
    let file = [LOG, b"{\"type\":\"bad\"}\n{\"type\":\"d\"}\n"].concat();
    let mut replay = warm();
    let fault = call(&mut replay, &file, 10).unwrap_err();
    assert_eq!(fault, LogFault::Unreplayable { line: 4, offset: LOG.len() as u64, reason: BAD });
    assert_eq!(known(&replay), known(&warm()));
}

#[test]
fn own_lines_that_lack_their_newline_are_damage_and_not_kept() {
    let mut replay = warm();
    let fault = replay.committed(b"{\"type\":\"d\"}\n{\"type\":\"e\"}").unwrap_err();
    assert!(matches!(&fault, LogFault::Damaged(damage) if damage.kind == DamageKind::TornTail));
    assert_eq!(replay.lines(), 4);
}

/// Control: a sum of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Sum(u128);

impl Digest for Sum {
    fn update(&mut self, bytes: &[u8]) {
        self.0 += bytes.iter().map(|byte| u128::from(*byte)).sum::<u128>();
    }
    fn value(&self) -> u128 {
        self.0
    }
}

/// Control: no digest at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Nothing;

impl Digest for Nothing {
    fn update(&mut self, _: &[u8]) {}
    fn value(&self) -> u128 {
        0
    }
}

#[test]
fn control_a_weak_digest_lets_rewritten_history_through() {
    let swapped = [b"{\"type\":\"c\"}\n", &LOG[13..LOG.len() - 13], b"{\"type\":\"a\"}\n"].concat();
    fn sees<D: Digest>(file: &[u8]) -> bool {
        let mut replay = Replay::<Remember, D>::new(Remember::default());
        call(&mut replay, LOG, 10).unwrap();
        call(&mut replay, file, 10).is_err()
    }
    assert!(!sees::<Nothing>(&swapped));
    assert!(!sees::<Sum>(&swapped));
    assert!(sees::<Xxh3>(&swapped));
}

/// What may happen to the file between two calls.
#[derive(Clone, Debug)]
enum Change {
    Append(Vec<u8>),
    Commit(Vec<u8>),
    Cut(prop::sample::Index),
    Flip(prop::sample::Index),
}

fn lines() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(
        prop_oneof![
            8 => "[a-z]{0,20}".prop_map(|text| format!("{{\"type\":\"a\",\"x\":\"{text}\"}}\n")),
            1 => Just("{\"type\":\"bad\"}\n".to_owned()),
            1 => Just("{\"type\":\"to".to_owned()),
            1 => Just("\n".to_owned()),
        ],
        0..4,
    )
    .prop_map(|lines| lines.concat().into_bytes())
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => lines().prop_map(Change::Append),
        4 => lines().prop_map(Change::Commit),
        1 => any::<prop::sample::Index>().prop_map(Change::Cut),
        1 => any::<prop::sample::Index>().prop_map(Change::Flip),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn warm_is_cold_or_says_that_history_was_rewritten(
        changes in proptest::collection::vec((change(), 1..70_usize), 1..10),
    ) {
        let mut file = Vec::new();
        let mut replay: Reader = Replay::new(Remember::default());
        for (change, chunk_bytes) in changes {
            let held = usize::try_from(replay.length()).unwrap();
            let validated = file.get(..held).map(<[u8]>::to_vec);
            match change {
                Change::Append(bytes) => file.extend_from_slice(&bytes),
                Change::Commit(bytes) => {
                    // Only a process that has read the file without fault gets to append.
                    if replay.finish().is_ok() && replay.length() == file.len() as u64 {
                        let _ = replay.committed(&bytes);
                        file.extend_from_slice(&bytes);
                        let (fresh, _) = cold(&file);
                        prop_assert_eq!(known(&replay), known(&fresh));
                        prop_assert_eq!(replay.clone().finish().is_ok(), cold(&file).1.is_ok());
                        continue;
                    }
                }
                Change::Cut(at) => file.truncate(at.index(file.len() + 1)),
                Change::Flip(at) if !file.is_empty() => {
                    let place = at.index(file.len());
                    file[place] ^= 1;
                }
                Change::Flip(_) => {}
            }
            let known_before = replay.length();
            let held = usize::try_from(known_before).unwrap();
            let before = replay.fold().clone();
            let warm_result = call(&mut replay, &file, chunk_bytes);
            let kept = validated.is_none_or(|validated| file.get(..held) == Some(&validated[..]));
            if kept {
                let (fresh, cold_result) = cold(&file);
                prop_assert_eq!(&warm_result, &cold_result);
                prop_assert_eq!(known(&replay), known(&fresh));
            } else {
                let rewritten = matches!(warm_result, Err(LogFault::Rewritten { .. }));
                prop_assert!(rewritten, "{:?}", warm_result);
                prop_assert_eq!(replay.fold(), &before);
                prop_assert_eq!(replay.length(), known_before);
                // As after a restart.
                replay = Replay::new(Remember::default());
            }
        }
    }

    #[test]
    fn how_bytes_are_cut_does_not_matter_to_the_digest(
        bytes in proptest::collection::vec(any::<u8>(), 0..2000),
        size in 1..600_usize,
    ) {
        let mut whole = Xxh3::default();
        whole.update(&bytes);
        let mut pieces = Xxh3::default();
        bytes.chunks(size).for_each(|piece| pieces.update(piece));
        prop_assert_eq!(&whole, &pieces);
        prop_assert_eq!(whole.value(), twox_hash::XxHash3_128::oneshot(&bytes));
    }
}
