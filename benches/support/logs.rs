//! Logs of any size, as this build writes them.

use gaia_bus_model::event::{self, Message, Party};
use gaia_bus_model::identifier::Series;
use gaia_bus_model::text::Text;

/// All actors register, then each in turn sends, polls, acknowledges and says that it is there.
pub(crate) fn log(events: u64, actors: u64) -> Vec<u8> {
    let mut log = Vec::new();
    let mut sent = 0;
    for event in 0..events {
        let at = Text::from(format!("2026-09-15T{:02}:{:02}:09.954Z", event / 60 % 24, event % 60));
        let actor = Series::Actor.id(event % actors + 1);
        let record = match event {
            _ if event < actors => {
                let name = format!("agent-{event}").into();
                let capabilities = ["cwd=/srv/repos/bus".into(), "branch=main".into()];
                let party = Party { actor_ref: actor, name };
                event::actor_registered(&at, &party, true, &"claude-code".into(), &capabilities)
            }
            _ if event % 4 == 0 || sent == 0 => {
                sent += 1;
                event::message_sent(&at, &message(sent, actor, Series::Actor.id(sent % actors + 1)))
            }
            _ if event % 4 == 1 => event::inbox_polled(&at, &actor, vec![Series::Message.id(sent)]),
            _ if event % 4 == 2 => {
                event::message_acked(&at, &actor, &Series::Message.id(sent), Some(&"read".into()))
            }
            _ => event::actor_heartbeat(&at, &actor, None),
        };
        log.extend(record.to_line());
        log.push(b'\n');
    }
    log
}

fn message(number: u64, from: Text, to: Text) -> Message {
    let text = "Candidate ready on feat/voicings; please run the cancellation test and review. ";
    let named = |actor_ref: Text| Party { name: format!("agent-{actor_ref}").into(), actor_ref };
    let from = named(from);
    Message {
        message_id: Series::Message.id(number),
        correlation_id: "cor-voicings".into(),
        reply_to: from.clone(),
        from,
        to: named(to),
        expects_reply: false,
        kind: "note".into(),
        text: text.repeat(3).into(),
        granted: vec!["draft".into()],
        denied: Vec::new(),
        is_flagged: false,
        idempotency_key: None,
    }
}
