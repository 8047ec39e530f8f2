//! Promise: the build sees every source of the crates that ship, and a source that opens a listener
//! or runs a shell is found by it.
//!
//! Method: the build script itself is compiled and run on planted crates, clean and with one fault
//! each. What it embeds is what `verify` judges; a finding there is red (`verify::product`).
//!
//! Cannot see: what a dependency does; `tests/tidy.rs` and `cargo deny` look at those.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The build script, compiled.
fn build_script(into: &Path) -> PathBuf {
    let script = into.join("build-script");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs");
    let done = Command::new(rustc)
        .args(["--edition", "2024", "-A", "warnings", "-o"])
        .args([&script, &source])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    script
}

/// Two clean crates that would ship.
struct Planted {
    dir: TempDir,
}

impl Planted {
    fn new(model: &str) -> Self {
        let planted = Planted { dir: tempfile::tempdir().unwrap() };
        for name in ["store/build.rs", "store/src/lib.rs", "store/src/main.rs"] {
            planted.write(name, "//! Nothing.\n");
        }
        planted.write(&format!("{model}/src/lib.rs"), "//! Nothing of std::net.\n");
        planted
    }

    fn write(&self, name: &str, source: &str) {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, source).unwrap();
    }

    /// What the build embeds.
    fn embedded(&self, script: &Path) -> String {
        let done = Command::new(script)
            .env("CARGO_MANIFEST_DIR", self.dir.path().join("store"))
            .env("CARGO_PKG_VERSION", "0.1.0")
            .env("OUT_DIR", self.dir.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        fs::read_to_string(self.dir.path().join("sources.rs")).unwrap()
    }
}

#[test]
fn a_planted_listener_or_shell_is_embedded_as_a_finding_with_file_and_line() {
    let tools = tempfile::tempdir().unwrap();
    let script = build_script(tools.path());
    let listener = "\n\nfn f() { let _ = TcpListener::bind(\"x\"); }\n";
    let shell = "use std::process::Command;\nfn f() { Command::new(\"/bin/sh\"); }\n";
    for model in ["model", "gaia-bus-model-0.1.0", "gaia-bus-model"] {
        let clean = Planted::new(model).embedded(&script);
        assert!(clean.contains("findings: &[] "), "{clean}");
        for file in ["model/src/lib.rs", "store/build.rs", "store/src/lib.rs"] {
            assert!(clean.contains(&format!("{file:?}")), "{file} in {clean}");
        }
        for (source, finding) in
            [(listener, "3, \"TcpListener\""), (shell, "2, \"a shell: /bin/sh\"")]
        {
            for (name, shown) in [
                ("store/src/deep/er/net.rs", "store/src/deep/er/net.rs"),
                ("store/src/main.rs", "store/src/main.rs"),
                ("store/build.rs", "store/build.rs"),
                (&format!("{model}/src/net.rs"), "model/src/net.rs"),
            ] {
                let planted = Planted::new(model);
                planted.write(name, source);
                let embedded = planted.embedded(&script);
                let expected = format!("findings: &[({shown:?}, {finding})]");
                assert!(embedded.contains(&expected), "{embedded}");
            }
        }
    }
}

#[test]
fn a_build_that_does_not_see_the_model_does_not_look_clean() {
    let tools = tempfile::tempdir().unwrap();
    let script = build_script(tools.path());
    let embedded = Planted::new("elsewhere").embedded(&script);
    assert!(embedded.contains("its sources are not there"), "{embedded}");
}
