//! Where a file may be written, and how.
//!
//! Contract. Nothing user-global is ever edited: a directory that is, or lies inside, one of
//! [`PROTECTED`] in the home directory is refused, and so is the home directory itself. The
//! judgement is about the place and not about its spelling. A path is first walked as the operating
//! system would walk it (links, `.`, `..`, doubled slashes), then compared by file identity where
//! there is a file, and by its resolved path where there is none yet. Where the system folds case,
//! names are compared so. After the directories are made, the judgement is repeated on what is
//! there now: that shows a folding file system that could not be told from outside. What is written
//! is the resolved path.
//!
//! A file appears whole or not at all, and a link at its place is never followed. `force` reaches
//! an existing regular file in an allowed place and nothing else.
//!
//! It cannot see a directory that another process swaps between the last look and the write.
//! `tests/config.rs` guards both directions: what is refused, and odd spellings of what is allowed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// What in a home directory belongs to the user's clients.
pub const PROTECTED: [&str; 5] = [".codex", ".claude", ".claude.json", ".agents", ".gemini"];

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
    #[error("{} exists, and nothing is overwritten unless --force asks for it", .0.display())]
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
    /// Judges a directory and the file to be written there. `home` is the user's home directory,
    /// where it is known. Touches nothing.
    ///
    /// # Errors
    /// Why the file may not be written there.
    pub fn judge(
        directory: &Path,
        file_name: &str,
        home: Option<&Path>,
        force: bool,
    ) -> Result<Self, Refusal> {
        let home = home.filter(|home| !home.as_os_str().is_empty()).ok_or(Refusal::HomeUnknown)?;
        let directory = resolve(directory, &mut 0, Dangling::Refused)?;
        is_allowed(&directory, home)?;
        let file = directory.join(file_name);
        is_free(&file, force)?;
        Ok(Destination { directory, file })
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Writes the file, making its directory where there is none.
    ///
    /// # Errors
    /// As [`judge`](Self::judge), which is repeated on what is there now. Directories that were
    /// made are then removed again.
    pub fn write(&self, bytes: &[u8], home: Option<&Path>, force: bool) -> Result<(), Refusal> {
        let mut made = Vec::new();
        let written = make_directories(&self.directory, &mut made).and_then(|()| {
            let name = self.file.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let now = Destination::judge(&self.directory, name, home, force)?;
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

/// `directory` is resolved.
fn is_allowed(directory: &Path, home: &Path) -> Result<(), Refusal> {
    let home = resolve(home, &mut 0, Dangling::Followed)?;
    if is_same_file(directory, &home) {
        return Err(Refusal::Home(directory.to_owned()));
    }
    for name in PROTECTED {
        let spelled = home.join(name);
        let root = resolve(&spelled, &mut 0, Dangling::Followed)?;
        let is_inside = directory.ancestors().any(|above| {
            // A root that does not exist yet is told by its name in the directory that does.
            is_same_file(above, &root)
                || above.file_name().is_some_and(|own| is_same_name(own, OsStr::new(name)))
                    && above.parent().is_some_and(|parent| is_same_file(parent, &home))
        });
        if is_inside {
            return Err(Refusal::Protected { path: directory.to_owned(), root: spelled });
        }
    }
    Ok(())
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
/// when it came into being at this very moment.
///
/// # Errors
/// It exists, or the operating system refused.
pub fn place(file: &Path, bytes: &[u8], force: bool) -> Result<(), Refusal> {
    is_free(file, force)?;
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let draft = directory.join(format!(".{name}.{}.draft", std::process::id()));
    let mut drafted = File::create_new(&draft).map_err(io_at(&draft))?;
    let placed = drafted
        .write_all(bytes)
        .and_then(|()| drafted.sync_all())
        .and_then(|()| if force { fs::rename(&draft, file) } else { fs::hard_link(&draft, file) });
    // It is ours: it was made by this very call. After a rename it is not there any more.
    let _ = fs::remove_file(&draft);
    match placed {
        Ok(()) => sync_directory(directory).map_err(io_at(directory)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Refusal::Exists(file.to_owned()))
        }
        Err(error) => Err(io_at(file)(error)),
    }
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// There a directory cannot be synced.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
