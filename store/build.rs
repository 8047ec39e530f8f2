//! Scans the sources of the crates that ship, and embeds which files were read and what was found.
//!
//! The sources of the model stand beside this crate: in the workspace as `../model`, and where
//! cargo unpacks packages as `../gaia-bus-model-VERSION`. When they are not there, that is a
//! finding too: a scan that saw half of the product must not look clean.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[path = "src/verify/scan.rs"]
#[allow(unreachable_pub, reason = "in the library it is public")]
mod scan;

fn main() -> io::Result<()> {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let packaged = format!("../gaia-bus-model-{}", variable("CARGO_PKG_VERSION")?);
    let model =
        ["../model", &packaged, "../gaia-bus-model"].map(|name| here.join(name).join("src"));
    let mut files = Vec::new();
    let mut findings = Vec::new();
    sources(&here.join("src"), "store/src", &mut files)?;
    files.push((here.join("build.rs"), "store/build.rs".into()));
    match model.iter().find(|path| path.is_dir()) {
        Some(path) => sources(path, "model/src", &mut files)?,
        None => findings.push(("model/src".into(), 0, "its sources are not there".into())),
    }
    files.sort();
    for (path, name) in &files {
        for finding in scan::findings(&fs::read_to_string(path)?) {
            findings.push((name.clone(), finding.line, finding.what));
        }
    }
    let names: Vec<_> = files.iter().map(|(_, name)| name).collect();
    let embedded = format!("Sources {{ files: &{names:?}, findings: &{findings:?} }}\n");
    fs::write(Path::new(&variable("OUT_DIR")?).join("sources.rs"), embedded)
}

fn variable(name: &'static str) -> io::Result<String> {
    std::env::var(name).map_err(|error| io::Error::other(format!("{name}: {error}")))
}

/// All Rust sources below a directory, with the names that they are shown under.
fn sources(directory: &Path, name: &str, files: &mut Vec<(PathBuf, String)>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", directory.display());
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let leaf = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{name}/{leaf}");
        if path.is_dir() {
            sources(&path, &name, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push((path, name));
        }
    }
    Ok(())
}
