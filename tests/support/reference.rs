//! The reference state as a fold under test.

use gaia_bus_model::integrity;
use gaia_bus_model::json::Object;
use gaia_bus_model::state::State;

use super::checks::Fold;

impl Fold for State {
    fn fold(&mut self, record: &Object, _line: &[u8]) -> Result<(), String> {
        self.apply(record).map_err(|unreplayable| unreplayable.to_string())
    }

    fn snapshot(&self) -> Object {
        State::snapshot(self)
    }

    fn counters(&self) -> Object {
        State::counters(self).to_object()
    }

    fn integrity(&self) -> Object {
        integrity::report(&State::integrity(self))
    }

    fn correlation(&self) -> Object {
        State::correlation(self).to_object()
    }
}
