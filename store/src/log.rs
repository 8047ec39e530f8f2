//! (another branch writes this)
/// Damage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Damage {}
