//! A value that is shared between many states of an exploration and hashed once.
//!
//! A step changes one process or one file; the rest of the state is the same value as before.
//! Sharing it and remembering its hash makes a step cost what it changes. Two values that hash
//! alike and are different would be taken for one state, as anywhere in explicit-state search by
//! fingerprints.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// See the module header.
#[derive(Debug)]
pub struct Shared<T> {
    hash: u64,
    value: Arc<T>,
}

impl<T: Hash + Clone> Shared<T> {
    /// Takes a value.
    pub fn new(value: T) -> Self {
        Shared { hash: hash_of(&value), value: Arc::new(value) }
    }

    /// Changes a copy of the value, and is that copy from now on.
    pub fn update<R>(&mut self, change: impl FnOnce(&mut T) -> R) -> R {
        // A copy even when nobody shares it: what the value remembers of itself is not copied.
        let mut value = T::clone(&self.value);
        let result = change(&mut value);
        self.value = Arc::new(value);
        self.hash = hash_of(&*self.value);
        result
    }

    /// Whether it is the very same value: then nothing about it has changed.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.value, &other.value)
    }
}

/// `DefaultHasher::new` always starts from the same keys, so runs can be compared.
fn hash_of<T: Hash>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared { hash: self.hash, value: Arc::clone(&self.value) }
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && (Arc::ptr_eq(&self.value, &other.value) || self.value == other.value)
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<T> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}
