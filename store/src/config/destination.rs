//! Where a file may be written, and how.
//!
//! Contract. Nothing user-global is ever edited: a directory that is, or lies inside, one of
//! [`PROTECTED`] in the home directory, or a place that the environment gives to a client instead
//! ([`Territory`]), is refused, and so is the home directory itself, and so is the very file that
//! one of the clients' own settings files is a link to. The judgement is about the place and not
//! about its spelling. A path is first walked as the operating system would walk it (links, `.`,
//! `..`, doubled slashes), then compared by file identity where there is a file, and by its
//! resolved path where there is none yet. Where the system folds case, names are compared so. After
//! the directories are made, the judgement is repeated on what is there now: that shows a folding
//! file system that could not be told from outside. What is written is the resolved path.
//!
//! A file appears whole or not at all, and a link at its place is never followed. `force` reaches
//! an existing regular file in an allowed place and nothing else.
//!
//! It cannot see a directory that another process swaps between the last look and the write.
//! `tests/config.rs` guards both directions: what is refused, and odd spellings of what is allowed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// What in a home directory belongs to the user's clients.
pub const PROTECTED: [&str; 6] =
    [".codex", ".claude", ".claude.json", ".agents", ".gemini", ".config/opencode"];

/// The environment variables that move a client's directory, with what they lead to inside.
const MOVED: [(&str, &str); 3] =
    [("CODEX_HOME", ""), ("CLAUDE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "opencode")];

/// The clients' own settings files in such a directory. One that is a link, as a collection of
/// dotfiles has it, leads out of it.
const SETTINGS: [&str; 6] = [
    "config.toml",
    "settings.json",
    ".claude.json",
    "opencode.json",
    "opencode.jsonc",
    "config.json",
];

/// What belongs to the user's clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Territory {
    home: PathBuf,
    moved: Vec<PathBuf>,
}

impl Territory {
    /// Of a home directory, where it is known, and an environment.
    #[must_use]
    pub fn of(home: Option<&Path>, environment: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let moved = MOVED.iter().filter_map(|(name, inside)| {
            let root = environment(name).filter(|value| !value.is_empty())?;
            Some(PathBuf::from(root).join(inside))
        });
        Territory { home: home.unwrap_or(Path::new("")).to_owned(), moved: moved.collect() }
    }
}

/// How many links are followed one after another: as many as Linux follows.
const LINKS_MAX: usize = 40;

/// Why a file is not written. Nothing was.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Without a home directory nobody knows what is protected.
    #[error("the home directory is not known, so what must not be touched is not either: set HOME")]
    HomeUnknown,
    /// The directory is the home directory.
    #[error("{} is the home directory: name a directory of a project", .0.display())]
    Home(PathBuf),
    /// The file is one that a client's own settings lead to.
    #[error(
        "{} is what {} leads to, which belongs to a client of this user: name a directory of a \
         project",
        file.display(), settings.display()
    )]
    Settings {
        /// The file.
        file: PathBuf,
        /// The client's name for it.
        settings: PathBuf,
    },
    /// The directory is protected.
    #[error(
        "{} is, or is inside, {}, which belongs to a client of this user: name a directory of a \
         project",
        path.display(), root.display()
    )]
    Protected {
        /// Where the file would land.
        path: PathBuf,
        /// What is protected.
        root: PathBuf,
    },
    /// A link leads nowhere.
    #[error("{} is a link that leads nowhere: name the directory itself", .0.display())]
    DanglingLink(PathBuf),
    /// A link stands at the place of the file.
    #[error("{} is a link, and a link is never followed or replaced: remove it", .0.display())]
    Link(PathBuf),
    /// Something that is no regular file stands at the place of the file.
    #[error("{} exists and is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The file exists.
    #[error(
        "{} exists. Add the block to it by hand, or replace the whole file, with all else in it, \
         by --force",
        .0.display()
    )]
    Exists(PathBuf),
    /// The operating system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// What was touched.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
}

impl Refusal {
    /// 1 where the answer is no, 3 where the operating system failed.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Refusal::Io { .. } => 3,
            Refusal::HomeUnknown
            | Refusal::Home(_)
            | Refusal::Protected { .. }
            | Refusal::Settings { .. }
            | Refusal::DanglingLink(_)
            | Refusal::Link(_)
            | Refusal::NotAFile(_)
            | Refusal::Exists(_) => 1,
        }
    }
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> Refusal + '_ {
    |error| Refusal::Io { path: path.to_owned(), error }
}

/// A place that is allowed: resolved, without links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    directory: PathBuf,
    file: PathBuf,
}

impl Destination {
    /// Judges a directory and the file to be written there. Touches nothing.
    ///
    /// # Errors
    /// Why the file may not be written there.
    pub fn judge(
        directory: &Path,
        file_name: &str,
        territory: &Territory,
        force: bool,
    ) -> Result<Self, Refusal> {
        if territory.home.as_os_str().is_empty() {
            return Err(Refusal::HomeUnknown);
        }
        let directory = resolve(directory, &mut 0, Dangling::Refused)?;
        let file = directory.join(file_name);
        is_allowed(&directory, &file, territory)?;
        is_free(&file, force)?;
        Ok(Destination { directory, file })
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Writes the file, making its directory where there is none. What comes back is a warning.
    ///
    /// # Errors
    /// As [`judge`](Self::judge), which is repeated on what is there now. Directories that were
    /// made are then removed again.
    pub fn write(
        &self,
        bytes: &[u8],
        territory: &Territory,
        force: bool,
    ) -> Result<Option<String>, Refusal> {
        let mut made = Vec::new();
        let written = make_directories(&self.directory, &mut made).and_then(|()| {
            let name = self.file.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let now = Destination::judge(&self.directory, name, territory, force)?;
            if now != *self {
                return Err(Refusal::Link(self.directory.clone()));
            }
            place(&self.file, bytes, force)
        });
        if written.is_err() {
            for directory in made.iter().rev() {
                // Only what is empty goes, so this cannot take what somebody else put there.
                let _ = fs::remove_dir(directory);
            }
        }
        written
    }
}

/// What becomes of a link that leads nowhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dangling {
    Refused,
    Followed,
}

/// The path that the operating system would reach, without a link in it. What does not exist is
/// kept as it is spelled, and a `..` behind it takes it back.
fn resolve(path: &Path, links: &mut usize, dangling: Dangling) -> Result<PathBuf, Refusal> {
    let absolute = std::path::absolute(path).map_err(io_at(path))?;
    let mut resolved = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => resolved.push(component),
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Normal(name) => {
                let next = resolved.join(name);
                let is_link = match fs::symlink_metadata(&next) {
                    Ok(found) => found.file_type().is_symlink(),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                    Err(error) => return Err(io_at(&next)(error)),
                };
                resolved = if is_link { follow(&next, links, dangling)? } else { next };
            }
        }
    }
    Ok(resolved)
}

fn follow(link: &Path, links: &mut usize, dangling: Dangling) -> Result<PathBuf, Refusal> {
    match fs::canonicalize(link) {
        Ok(target) => return Ok(target),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_at(link)(error)),
        Err(_) => {}
    }
    *links += 1;
    if dangling == Dangling::Refused || *links > LINKS_MAX {
        return Err(Refusal::DanglingLink(link.to_owned()));
    }
    let target = fs::read_link(link).map_err(io_at(link))?;
    resolve(&link.parent().unwrap_or(link).join(target), links, dangling)
}

/// What tells two spellings of one existing file from two files.
#[cfg(unix)]
fn identity(path: &Path) -> Option<impl PartialEq> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Elsewhere the canonical path has to do; it folds case as the system does.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<impl PartialEq> {
    fs::canonicalize(path).ok()
}

fn is_same_file(left: &Path, right: &Path) -> bool {
    match (identity(left), identity(right)) {
        (Some(left), Some(right)) => left == right,
        (None, _) | (_, None) => is_same_path(left, right),
    }
}

/// Whether names that differ in case only are one name, as far as the system says.
const FOLDS_CASE: bool = cfg!(any(windows, target_os = "macos"));

fn is_same_path(left: &Path, right: &Path) -> bool {
    is_same_name(left.as_os_str(), right.as_os_str())
}

fn is_same_name(left: &OsStr, right: &OsStr) -> bool {
    left == right
        || (FOLDS_CASE
            && left.to_string_lossy().to_lowercase() == right.to_string_lossy().to_lowercase())
}

/// `directory` is resolved, and `file` lies in it.
fn is_allowed(directory: &Path, file: &Path, territory: &Territory) -> Result<(), Refusal> {
    let home = resolve(&territory.home, &mut 0, Dangling::Followed)?;
    if is_same_file(directory, &home) {
        return Err(Refusal::Home(directory.to_owned()));
    }
    let in_home = PROTECTED.iter().map(|name| home.join(name));
    for spelled in in_home.chain(territory.moved.iter().cloned()) {
        let root = resolve(&spelled, &mut 0, Dangling::Followed)?;
        if directory.ancestors().any(|above| is_same_place(above, &root, &spelled)) {
            return Err(Refusal::Protected { path: directory.to_owned(), root: spelled });
        }
        // Told by the place and not by the file there: a second name of the same file may be
        // replaced without touching the first.
        let inside = SETTINGS.map(|name| spelled.join(name));
        for settings in inside.into_iter().chain([spelled.clone()]) {
            // What cannot be resolved, as inside of a root that is a file, leads nowhere.
            let Ok(place) = resolve(&settings, &mut 0, Dangling::Followed) else { continue };
            let is_named_so = place
                .file_name()
                .is_some_and(|name| file.file_name().is_some_and(|own| is_same_name(own, name)));
            if is_named_so && place.parent().is_some_and(|parent| is_same_file(parent, directory)) {
                return Err(Refusal::Settings { file: file.to_owned(), settings });
            }
        }
    }
    Ok(())
}

/// Whether a resolved path is a root. One that does not exist yet is told by its name in the
/// directory that does.
fn is_same_place(path: &Path, root: &Path, spelled: &Path) -> bool {
    is_same_file(path, root)
        || match (path.file_name(), spelled.file_name(), path.parent(), spelled.parent()) {
            (Some(own), Some(name), Some(parent), Some(above)) => {
                is_same_name(own, name) && is_same_file(parent, above)
            }
            _ => false,
        }
}

fn is_free(file: &Path, force: bool) -> Result<(), Refusal> {
    match fs::symlink_metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io_at(file)(error)),
        Ok(found) if found.file_type().is_symlink() => Err(Refusal::Link(file.to_owned())),
        Ok(found) if !found.is_file() => Err(Refusal::NotAFile(file.to_owned())),
        Ok(_) if !force => Err(Refusal::Exists(file.to_owned())),
        Ok(_) => Ok(()),
    }
}

fn make_directories(directory: &Path, made: &mut Vec<PathBuf>) -> Result<(), Refusal> {
    let mut above: Vec<_> = directory.ancestors().collect();
    above.reverse();
    for directory in above {
        match fs::create_dir(directory) {
            Ok(()) => made.push(directory.to_owned()),
            // Also where it may not be made, as for the root: what matters is that it is there.
            Err(_) if directory.is_dir() => {}
            Err(error) => return Err(io_at(directory)(error)),
        }
    }
    Ok(())
}

/// Writes a file that appears whole or not at all. Without `force` one that is there stays, also
/// when it came into being at this very moment. What comes back is a warning: the file is there,
/// and it is not known whether it outlasts a power cut.
///
/// # Errors
/// It exists, or the operating system refused. Nothing was written.
pub fn place(file: &Path, bytes: &[u8], force: bool) -> Result<Option<String>, Refusal> {
    place_and_sync(file, bytes, force, Directory::sync)
}

/// Whether [`place`] would find a place for a new file, as far as it can be told beforehand: by
/// making the draft and taking it away again.
///
/// # Errors
/// As for [`place`].
pub fn try_place(file: &Path) -> Result<(), Refusal> {
    is_free(file, false)?;
    Directory::of(file)?;
    let draft = draft_of(file);
    File::create_new(&draft).map_err(io_at(&draft))?;
    fs::remove_file(&draft).map_err(io_at(&draft))
}

fn place_and_sync(
    file: &Path,
    bytes: &[u8],
    force: bool,
    sync: impl FnOnce(&Directory) -> io::Result<()>,
) -> Result<Option<String>, Refusal> {
    is_free(file, force)?;
    // Opened before anything is written: one that may be written to and not opened would only be
    // found out behind the fact.
    let directory = Directory::of(file)?;
    let draft = draft_of(file);
    let mut drafted = File::create_new(&draft).map_err(io_at(&draft))?;
    let placed = drafted
        .write_all(bytes)
        .and_then(|()| drafted.sync_all())
        .and_then(|()| if force { fs::rename(&draft, file) } else { fs::hard_link(&draft, file) });
    // It is ours: it was made by this very call. After a rename it is not there any more.
    let _ = fs::remove_file(&draft);
    match placed {
        Ok(()) => Ok(sync(&directory).err().map(|error| {
            format!(
                "{} is written, but its directory could not be synced: {error}. A power cut may \
                 still take the file",
                file.display()
            )
        })),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Refusal::Exists(file.to_owned()))
        }
        Err(error) => Err(io_at(file)(error)),
    }
}

fn directory_of(file: &Path) -> &Path {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}

fn draft_of(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    directory_of(file).join(format!(".{name}.{}.draft", std::process::id()))
}

/// The directory of a file, open.
struct Directory {
    #[cfg(unix)]
    opened: File,
}

impl Directory {
    #[cfg(unix)]
    fn of(file: &Path) -> Result<Self, Refusal> {
        let directory = directory_of(file);
        Ok(Directory { opened: File::open(directory).map_err(io_at(directory))? })
    }

    #[cfg(unix)]
    fn sync(&self) -> io::Result<()> {
        self.opened.sync_all()
    }

    /// There a directory cannot be opened or synced.
    #[cfg(not(unix))]
    fn of(_: &Path) -> Result<Self, Refusal> {
        Ok(Directory {})
    }

    #[cfg(not(unix))]
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_synced_is_a_warning_beside_a_file_that_is_there() {
        let dir = tempfile::tempdir().unwrap();
        for (force, name) in [(false, "new"), (true, "forced")] {
            let file = dir.path().join(name);
            let failing = |_: &Directory| Err(io::ErrorKind::Other.into());
            let warning = place_and_sync(&file, b"ours", force, failing).unwrap();
            assert!(warning.unwrap().contains("could not be synced"));
            assert_eq!(fs::read(&file).unwrap(), b"ours");
            // The control: one that can be synced is no reason for a word.
            fs::remove_file(&file).unwrap();
            assert_eq!(place(&file, b"ours", force).unwrap(), None);
        }
    }
}
