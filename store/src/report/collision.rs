//! Workspace collisions: online actors that declare the same working tree, by a capability
//! `cwd=PATH`. A report, not a claim: nothing is refused because of it.

use gaia_bus_model::instant::Status;
use gaia_bus_model::json::Json;
use gaia_bus_model::text::Text;
use serde::Serialize;

/// What a report needs to know of one actor.
#[derive(Clone, Debug)]
pub struct Occupant {
    /// Its ref.
    pub actor_ref: Text,
    /// Whether it was seen lately.
    pub status: Status,
    /// When it was last seen, as the record says it.
    pub last_seen_at: Option<Json>,
    /// What it declares: an array of strings, unless something else stands in the log.
    pub declared_capabilities: Option<Json>,
}

/// Two or more online actors in one working tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Collision {
    /// The tree, normalised.
    pub cwd: String,
    /// Who declares it, in the order given.
    pub refs: Vec<Text>,
    /// The same actors, with what tells them apart.
    pub occupants: Vec<CollisionOccupant>,
    /// The distinct branches that they declare, in order of appearance.
    pub branches: Vec<String>,
}

/// One of the actors of a [`Collision`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CollisionOccupant {
    /// Its ref.
    #[serde(rename = "ref")]
    pub actor_ref: Text,
    /// `online`: only online actors collide.
    pub status: &'static str,
    /// When it was last seen.
    pub last_seen_at: Option<Json>,
    /// The first branch it declares, as declared.
    pub branch: Option<String>,
}

/// The groups, in the order in which their trees are first declared.
#[must_use]
pub fn find(actors: &[Occupant]) -> Vec<Collision> {
    let mut trees: Vec<Collision> = Vec::new();
    for actor in actors.iter().filter(|actor| actor.status == Status::Online) {
        let branches = declared(actor, "branch=");
        for cwd in declared(actor, "cwd=").iter().map(|path| normalise(path)) {
            let known = trees.iter_mut().find(|tree| tree.cwd == cwd);
            match known {
                Some(tree) => tree.enter(actor, &branches),
                None => {
                    let mut tree = Collision {
                        cwd,
                        refs: Vec::new(),
                        occupants: Vec::new(),
                        branches: Vec::new(),
                    };
                    tree.enter(actor, &branches);
                    trees.push(tree);
                }
            }
        }
    }
    trees.retain(|tree| tree.refs.len() > 1);
    trees
}

impl Collision {
    /// Adds an actor, once, however often it declares the tree.
    fn enter(&mut self, actor: &Occupant, branches: &[String]) {
        if self.refs.contains(&actor.actor_ref) {
            return;
        }
        self.refs.push(actor.actor_ref.clone());
        self.occupants.push(CollisionOccupant {
            actor_ref: actor.actor_ref.clone(),
            status: actor.status.as_str(),
            last_seen_at: actor.last_seen_at.clone(),
            branch: branches.first().cloned(),
        });
        for branch in branches {
            if !self.branches.contains(branch) {
                self.branches.push(branch.clone());
            }
        }
    }
}

/// The non-empty values that an actor declares under a key.
fn declared(actor: &Occupant, key: &str) -> Vec<String> {
    let capabilities = actor.declared_capabilities.as_ref().and_then(Json::as_array);
    capabilities
        .unwrap_or_default()
        .iter()
        .filter_map(|capability| {
            let capability = capability.as_text()?.to_str_lossy();
            capability.strip_prefix(key).filter(|value| !value.is_empty()).map(str::to_owned)
        })
        .collect()
}

/// One spelling for one tree, Windows first: backslashes are slashes, a drive letter is
/// lower-cased, trailing slashes go but a root keeps its own. Nothing else changes, so that two
/// trees are called one only where they are. Idempotent.
#[must_use]
pub fn normalise(path: &str) -> String {
    let mut path = path.replace('\\', "/");
    let drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    if let (true, Some(letter)) = (drive, path.get_mut(..1)) {
        letter.make_ascii_lowercase();
    }
    let stem = path.trim_end_matches('/');
    let is_root = stem.is_empty() || (drive && stem.len() == "c:".len());
    match (is_root, path.len() > stem.len()) {
        (true, true) => format!("{stem}/"),
        (true, false) | (false, _) => stem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn actor(number: u32, status: Status, capabilities: &[&str]) -> Occupant {
        Occupant {
            actor_ref: format!("act-{number:04}").into(),
            status,
            last_seen_at: Some("2026-09-15T23:41:09.954Z".into()),
            declared_capabilities: Some(Json::from(capabilities.to_vec())),
        }
    }

    #[test]
    fn spellings_of_one_tree_are_one_and_roots_keep_their_slash() {
        for (spelled, normal) in [
            ("/src/app", "/src/app"),
            ("/src/app/", "/src/app"),
            ("/src/app///", "/src/app"),
            ("C:\\src\\app\\", "c:/src/app"),
            ("c:/src/app", "c:/src/app"),
            ("C:\\", "c:/"),
            ("C:", "c:"),
            ("C:\\\\", "c:/"),
            ("/", "/"),
            ("\\\\", "/"),
            ("\\\\server\\share\\", "//server/share"),
            ("Src/App", "Src/App"),
            ("CD:/x", "CD:/x"),
            ("/src/../app", "/src/../app"),
            ("\u{e9}:\\x", "\u{e9}:/x"),
            (" /x ", " /x "),
            ("", ""),
        ] {
            assert_eq!(normalise(spelled), normal, "{spelled:?}");
        }
    }

    proptest! {
        #[test]
        fn normalising_twice_is_normalising_once(
            path in "([a-zA-Z]:)?[/\\\\a-cA-C:. \u{e9}]{0,12}",
        ) {
            let once = normalise(&path);
            prop_assert_eq!(normalise(&once), once);
        }

        #[test]
        fn any_text_is_normalised_idempotently(path: String) {
            let once = normalise(&path);
            prop_assert_eq!(normalise(&once), once);
        }
    }

    #[test]
    fn only_online_actors_that_declare_the_same_tree_collide() {
        let found = find(&[
            actor(1, Status::Online, &["cwd=C:\\app", "branch=main", "observe"]),
            actor(2, Status::Stale, &["cwd=c:/app", "branch=lost"]),
            actor(3, Status::Online, &["cwd=c:/app/", "branch=Fix\\7/", "branch=main"]),
            actor(4, Status::Online, &["cwd=c:/other"]),
            actor(5, Status::Online, &["cwd=", "branch=none"]),
            actor(6, Status::Online, &["cwd=c:/app", "cwd=C:/app/"]),
            actor(7, Status::Online, &["cwd="]),
        ]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].cwd, "c:/app");
        assert_eq!(found[0].refs, ["act-0001", "act-0003", "act-0006"].map(Text::from));
        assert_eq!(found[0].branches, ["main", "Fix\\7/"], "a branch is never normalised");
        let branches: Vec<_> = found[0].occupants.iter().map(|o| o.branch.as_deref()).collect();
        assert_eq!(branches, [Some("main"), Some("Fix\\7/"), None]);
    }

    #[test]
    fn one_actor_alone_never_collides_with_itself_and_odd_capabilities_claim_nothing() {
        let mut odd = actor(2, Status::Online, &[]);
        odd.declared_capabilities = Some(Json::from(vec![7_u64]));
        let mut missing = actor(3, Status::Online, &[]);
        missing.declared_capabilities = None;
        assert_eq!(find(&[actor(1, Status::Online, &["cwd=/a", "cwd=/a/"]), odd, missing]), []);
    }
}
