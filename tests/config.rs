//! Promise: `config` never touches what belongs to a client of the user, however the path is
//! spelled, and writes everywhere else, however oddly that is spelled; a file appears whole, is not
//! overwritten unless asked for, and a link is never followed.
//!
//! Method: a home directory of one's own with every kind of entrance into a protected place: links,
//! links to links, `..`, `.`, doubled slashes, roots that are links, roots that do not exist yet,
//! the home directory itself. Each refusal must leave every byte as it was. Each spelling of an
//! allowed place must lead to one file with the same content.
//!
//! Cannot see: a directory that is swapped between the last look and the write, and file systems
//! that fold case, of which there is none here; the repeated look after the directories are made is
//! for those.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod binary;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use gaia_bus::config::destination::{Destination, PROTECTED, Refusal, Territory, place, try_place};
use tempfile::TempDir;

/// A home directory in a directory of its own, which resolves to itself.
struct Scene {
    _dir: TempDir,
    base: PathBuf,
    home: PathBuf,
    territory: Territory,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let home = base.join("home");
        fs::create_dir(&home).unwrap();
        let territory = bare(Some(&home));
        Scene { _dir: dir, base, home, territory }
    }

    /// With every protected root there, and a file in each that is a directory.
    fn furnished() -> Self {
        let scene = Scene::new();
        for name in PROTECTED {
            let root = scene.home.join(name);
            if name.ends_with(".json") {
                fs::write(root, "{}").unwrap();
            } else {
                fs::create_dir_all(root.join("deep/er")).unwrap();
                fs::write(root.join("config.toml"), "precious").unwrap();
            }
        }
        scene
    }

    /// Everything there is, with contents and link targets.
    fn contents(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        let mut pending = vec![self.base.clone()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                let content = if kind.is_symlink() {
                    fs::read_link(&path).unwrap().display().to_string()
                } else if kind.is_dir() {
                    pending.push(path.clone());
                    "directory".into()
                } else {
                    fs::read_to_string(&path).unwrap()
                };
                found.push((path, content));
            }
        }
        found.sort();
        found
    }

    fn write(&self, out: &Path, force: bool) -> Result<PathBuf, Refusal> {
        let destination = Destination::judge(out, "config.toml", &self.territory, force)?;
        let warning = destination.write(b"ours", &self.territory, force)?;
        assert_eq!(warning, None);
        Ok(destination.file().to_owned())
    }

    /// Neither a look nor a forced write gets through, and nothing is touched.
    fn refuses(&self, out: impl AsRef<Path>) -> Refusal {
        let out = out.as_ref();
        let before = self.contents();
        let mut last = None;
        for force in [false, true] {
            match self.write(out, force) {
                Ok(file) => panic!("{} led to {}", out.display(), file.display()),
                Err(refusal) => {
                    assert_eq!(refusal.exit_code(), 1, "{}: {refusal}", out.display());
                    last = Some(refusal);
                }
            }
            assert_eq!(self.contents(), before, "{}", out.display());
        }
        last.unwrap()
    }

    /// The write gets through, to exactly this directory, and is then taken away again.
    fn allows(&self, out: impl AsRef<Path>, lands_in: impl AsRef<Path>) {
        let out = out.as_ref();
        let file = self.write(out, false).unwrap_or_else(|refusal| {
            panic!("{} is refused: {refusal}", out.display());
        });
        assert_eq!(file, lands_in.as_ref().join("config.toml"), "{}", out.display());
        assert_eq!(fs::read(&file).unwrap(), b"ours");
        fs::remove_file(file).unwrap();
    }
}

/// The territory of a home directory, and of an environment that moves nothing.
fn bare(home: Option<&Path>) -> Territory {
    Territory::of(home, &|_| None)
}

fn spelled(parts: &[&str]) -> PathBuf {
    PathBuf::from(parts.concat())
}

#[test]
fn every_protected_root_is_refused_in_every_spelling() {
    let scene = Scene::furnished();
    let (base, home) = (scene.base.to_str().unwrap(), scene.home.to_str().unwrap());
    symlink(&scene.home, scene.base.join("link-to-home")).unwrap();
    symlink("link-to-home", scene.base.join("link-to-link")).unwrap();
    fs::create_dir_all(scene.home.join("project/sub")).unwrap();
    for name in PROTECTED {
        symlink(scene.home.join(name), scene.base.join(format!("to{}", name.replace('/', "-"))))
            .unwrap();
        let link = name.replace('/', "-");
        for inside in ["", "/", "/.", "//", "/deep", "/deep/er", "/not/there/yet", "/deep/../deep"]
        {
            if name.ends_with(".json") && !["", "/", "/.", "//"].contains(&inside) {
                continue;
            }
            for out in [
                spelled(&[home, "/", name, inside]),
                spelled(&[home, "//", name, inside]),
                spelled(&[home, "/./", name, inside]),
                spelled(&[home, "/../home/", name, inside]),
                spelled(&[home, "/project/sub/../../", name, inside]),
                spelled(&[home, "/project/none/../../", name, inside]),
                spelled(&[base, "/link-to-home/", name, inside]),
                spelled(&[base, "/link-to-link/", name, inside]),
                spelled(&[base, "/to", &link, inside]),
                spelled(&["/..", base, "/none/../to", &link, inside]),
            ] {
                if name.ends_with(".json") && !inside.is_empty() {
                    // The root is a file here, so the operating system itself says no to a path in
                    // it.
                    assert!(scene.write(&out, true).is_err());
                    continue;
                }
                let refusal = scene.refuses(&out);
                let is_protected = matches!(refusal, Refusal::Protected { .. });
                assert!(is_protected, "{}: {refusal}", out.display());
            }
        }
    }
}

#[test]
fn roots_that_do_not_exist_yet_are_refused_and_not_created() {
    let scene = Scene::new();
    let home = scene.home.to_str().unwrap();
    symlink(&scene.home, scene.base.join("link-to-home")).unwrap();
    for name in PROTECTED {
        for out in [
            spelled(&[home, "/", name]),
            spelled(&[home, "//", name, "//a"]),
            spelled(&[home, "/none/../", name]),
            spelled(&[home, "/", name, "/a/../b"]),
            spelled(&[home, "/../link-to-home/", name]),
        ] {
            let refusal = scene.refuses(&out);
            assert!(matches!(refusal, Refusal::Protected { .. }), "{}: {refusal}", out.display());
        }
    }
}

#[test]
fn a_root_that_is_a_link_protects_what_it_leads_to() {
    let scene = Scene::new();
    fs::create_dir_all(scene.base.join("dotfiles/codex")).unwrap();
    symlink("../dotfiles/codex", scene.home.join(".codex")).unwrap();
    scene.refuses(scene.base.join("dotfiles/codex"));
    scene.refuses(scene.base.join("dotfiles/codex/inside"));
    // One that leads to what does not exist yet.
    symlink("../dotfiles/claude", scene.home.join(".claude")).unwrap();
    scene.refuses(scene.base.join("dotfiles/claude"));
    scene.refuses(scene.base.join("dotfiles/claude/inside"));
    scene.refuses(scene.home.join(".claude"));
    scene.allows(scene.base.join("dotfiles"), scene.base.join("dotfiles"));
}

#[test]
fn the_home_directory_itself_is_refused_and_what_is_beside_it_is_not() {
    let scene = Scene::furnished();
    let (base, home) = (scene.base.to_str().unwrap(), scene.home.to_str().unwrap());
    symlink(&scene.home, scene.base.join("link-to-home")).unwrap();
    for out in [
        spelled(&[home]),
        spelled(&[home, "/"]),
        spelled(&[home, "//."]),
        spelled(&[home, "/project/.."]),
        spelled(&[home, "/.codex/.."]),
        spelled(&[base, "/link-to-home"]),
        spelled(&[base, "/none/../home"]),
    ] {
        let refusal = scene.refuses(&out);
        assert!(matches!(refusal, Refusal::Home(_)), "{}: {refusal}", out.display());
    }
    scene.allows(&scene.base, &scene.base);
}

#[test]
fn odd_spellings_of_allowed_places_stay_writable() {
    let scene = Scene::furnished();
    let (base, home) = (scene.base.to_str().unwrap(), scene.home.to_str().unwrap());
    let project = scene.home.join("project");
    fs::create_dir(&project).unwrap();
    symlink(&project, scene.base.join("link")).unwrap();
    symlink("link", scene.base.join("link-to-link")).unwrap();
    symlink(&project, scene.home.join(".codex/way-out")).unwrap();
    for out in [
        spelled(&[home, "/project"]),
        spelled(&[home, "//project/"]),
        spelled(&[home, "/./project/."]),
        spelled(&[home, "/project/none/.."]),
        spelled(&[home, "/none/../project"]),
        spelled(&[home, "/.codex/../project"]),
        spelled(&[home, "/.codex/way-out"]),
        spelled(&[base, "/link"]),
        spelled(&[base, "/link-to-link"]),
        spelled(&["/..", home, "/project"]),
    ] {
        scene.allows(out, &project);
    }
    for name in [
        ".codexx",
        ".code",
        "codex",
        ".claude.json.d",
        ".gemini ",
        ".agents-2",
        "project/.codex",
        "project/.gemini/deep",
        ".config",
        ".config/opencode-2",
        "project/.config/opencode",
        "\u{e9}",
        "-x",
        "a b",
    ] {
        scene.allows(scene.home.join(name), scene.home.join(name));
    }
    // Case is not folded here, so this is another place.
    scene.allows(scene.home.join(".CODEX"), scene.home.join(".CODEX"));
}

#[test]
fn a_relative_path_is_judged_from_the_working_directory() {
    let relative = Path::new("some/where");
    let home = std::env::current_dir().unwrap().join("some");
    let judged = Destination::judge(relative, "config.toml", &bare(Some(&home)), false).unwrap();
    let here = std::env::current_dir().unwrap().canonicalize().unwrap();
    assert_eq!(judged.file(), here.join("some/where/config.toml"));
    let refused = Destination::judge(Path::new("some/.codex"), "x", &bare(Some(&home)), false);
    assert!(matches!(refused, Err(Refusal::Protected { .. })));
}

#[test]
fn without_a_home_directory_nothing_is_written() {
    let scene = Scene::new();
    for home in [None, Some(Path::new(""))] {
        let judged = Destination::judge(&scene.base, "config.toml", &bare(home), true);
        assert!(matches!(judged, Err(Refusal::HomeUnknown)));
    }
}

#[test]
fn force_reaches_an_existing_regular_file_and_nothing_else() {
    let scene = Scene::furnished();
    let place = scene.base.join("place");
    let file = place.join("config.toml");
    fs::create_dir(&place).unwrap();

    fs::write(&file, "theirs").unwrap();
    assert!(matches!(scene.write(&place, false), Err(Refusal::Exists(_))));
    assert_eq!(fs::read(&file).unwrap(), b"theirs");
    scene.write(&place, true).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"ours");

    // A second name of a protected file: the name is replaced, the file is not.
    fs::remove_file(&file).unwrap();
    fs::hard_link(scene.home.join(".codex/config.toml"), &file).unwrap();
    scene.write(&place, true).unwrap();
    assert_eq!(fs::read(scene.home.join(".codex/config.toml")).unwrap(), b"precious");

    for target in ["../home/.codex/config.toml", "../home/.codex/none", "elsewhere"] {
        fs::remove_file(&file).unwrap();
        symlink(target, &file).unwrap();
        assert!(matches!(scene.refuses(&place), Refusal::Link(_)));
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(matches!(scene.refuses(&place), Refusal::NotAFile(_)));
}

#[test]
fn a_link_that_leads_nowhere_is_not_followed() {
    let scene = Scene::new();
    symlink(scene.base.join("none"), scene.base.join("dangling")).unwrap();
    symlink("loop", scene.base.join("loop")).unwrap();
    assert!(matches!(scene.refuses(scene.base.join("dangling")), Refusal::DanglingLink(_)));
    assert!(scene.write(&scene.base.join("loop"), true).is_err());
    assert!(!scene.base.join("none").exists());
}

#[test]
fn a_write_that_fails_leaves_nothing_behind() {
    let scene = Scene::new();
    let before = scene.contents();
    let long = "x".repeat(300);
    let out = scene.base.join("made/by/us");
    let home = &scene.territory;
    // The name of the draft is longer than a file system allows, once the directories are there.
    let name = "x".repeat(250);
    let judged = Destination::judge(&out, &name, home, false).unwrap();
    let refusal = judged.write(b"ours", home, false).unwrap_err();
    assert_eq!(refusal.exit_code(), 3, "{refusal}");
    assert_eq!(scene.contents(), before);
    assert!(
        Destination::judge(&out, &long, home, false)
            .is_ok_and(|judged| { judged.write(b"ours", home, false).is_err() })
    );
    assert_eq!(scene.contents(), before);
}

#[test]
fn a_file_that_comes_into_being_meanwhile_is_not_overwritten() {
    let scene = Scene::new();
    let file = scene.base.join("receipt.json");
    place(&file, b"first", false).unwrap();
    for again in [place(&file, b"second", false).map(drop), try_place(&file)] {
        assert!(matches!(again, Err(Refusal::Exists(_))));
    }
    assert_eq!(fs::read(&file).unwrap(), b"first");
    assert_eq!(fs::read_dir(&scene.base).unwrap().count(), 2, "no draft is left");
}

#[test]
fn places_that_the_environment_gives_to_a_client_are_refused_too() {
    let mut scene = Scene::new();
    let base = scene.base.clone();
    fs::create_dir_all(base.join("xdg/opencode/deep")).unwrap();
    fs::create_dir(base.join("codex")).unwrap();
    symlink("codex", base.join("link-to-codex")).unwrap();
    let places = ["xdg/opencode", "xdg//opencode/deep", "codex", "link-to-codex/in", "claude/./x"];
    // The control: nothing is special about them until the environment says so.
    for place in places {
        assert!(Destination::judge(&base.join(place), "x", &scene.territory, false).is_ok());
    }
    let environment = |name: &str| match name {
        "XDG_CONFIG_HOME" => Some(base.join("xdg").into()),
        "CODEX_HOME" => Some(base.join("link-to-codex").into()),
        "CLAUDE_CONFIG_DIR" => Some(base.join("claude").into()),
        _ => None,
    };
    scene.territory = Territory::of(Some(&scene.home), &environment);
    for place in places {
        let refusal = scene.refuses(base.join(place));
        assert!(matches!(refusal, Refusal::Protected { .. }), "{place}: {refusal}");
    }
    // Moving a place frees nothing, and what is beside it stays writable.
    scene.refuses(scene.home.join(".config/opencode"));
    for place in ["xdg", "codex-2", "xdg/opencode2"] {
        scene.allows(base.join(place), base.join(place));
    }
    // A variable that is empty is none.
    let empty = Territory::of(Some(&scene.home), &|_| Some("".into()));
    assert_eq!(empty, bare(Some(&scene.home)));
}

#[test]
fn a_file_that_a_clients_own_settings_lead_to_is_refused() {
    let scene = Scene::furnished();
    let dotfiles = scene.base.join("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    let settings = scene.home.join(".codex/config.toml");
    // The control: as long as the settings are a file of their own.
    scene.allows(&dotfiles, &dotfiles);
    fs::rename(&settings, dotfiles.join("config.toml")).unwrap();
    symlink("../../dotfiles/config.toml", &settings).unwrap();
    symlink("dotfiles", scene.base.join("link")).unwrap();
    for out in ["dotfiles", "none/../dotfiles/.", "link"] {
        let refusal = scene.refuses(scene.base.join(out));
        assert!(matches!(refusal, Refusal::Settings { .. }), "{out}: {refusal}");
    }
    // One that leads to what is not there yet leads there all the same.
    fs::remove_file(dotfiles.join("config.toml")).unwrap();
    assert!(matches!(scene.refuses(&dotfiles), Refusal::Settings { .. }));
    let other = Destination::judge(&dotfiles, "opencode.json", &scene.territory, false);
    assert!(other.is_ok(), "only that file");
    scene.allows(dotfiles.join("in"), dotfiles.join("in"));
}

#[test]
fn a_place_that_is_tried_is_left_as_it_was() {
    let scene = Scene::new();
    let before = scene.contents();
    try_place(&scene.base.join("receipt.json")).unwrap();
    let refusal = try_place(&scene.base.join("none/receipt.json")).unwrap_err();
    assert_eq!(refusal.exit_code(), 3, "{refusal}");
    assert_eq!(scene.contents(), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_is_gone_is_named_in_no_configuration() {
    use std::os::fd::AsRawFd;
    use std::process::Command;

    let shipped = Path::new(env!("CARGO_BIN_EXE_gaia-bus"));
    // A second name of the program: a copy would be held open for writing by whoever forks now.
    let dir = tempfile::tempdir_in(shipped.parent().unwrap()).unwrap();
    let name = dir.path().join("gaia-bus");
    fs::hard_link(shipped, &name).unwrap();
    let program = fs::File::open(&name).unwrap();
    let run = || {
        let mut command = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()));
        command.args(["config", "--client", "codex", "--data-dir"]).arg(dir.path().join("data"));
        binary::Done::of(command.output().unwrap())
    };
    let there = run();
    assert_eq!(there.code, 0, "{there:?}");
    fs::remove_file(&name).unwrap();
    let gone = run();
    assert_eq!((gone.code, gone.stdout.as_slice()), (2, b"".as_slice()), "{gone:?}");
    assert!(gone.stderr.contains("removed or replaced"), "{gone:?}");
}
