//! Descriptions of the CLI for installers: krew, which installs plugins of kubectl, and Homebrew.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Options;
use super::archive::Archive;
use super::target::{Arch, Os};

/// Description of the CLI, in the length that both installers accept.
const DESCRIPTION: &str = "Render, check and watch queue-driven AI actors";

/// URL of an archive below the repository's releases.
fn url(options: &Options, archive: &Archive) -> String {
    let source = options.source.trim_end_matches('/');
    format!(
        "{source}/releases/download/v{}/{}",
        options.version, archive.name
    )
}

/// The plugin manifest of krew.
pub(super) fn krew(options: &Options, archives: &[Archive]) -> Result<String> {
    let platform = |archive: &Archive| -> Value {
        json!({
            "selector": {"matchLabels": {
                "os": archive.target.os.to_string(),
                "arch": archive.target.arch.to_string(),
            }},
            "uri": url(options, archive),
            "sha256": archive.digest,
            "files": [{"from": "asya", "to": "."}, {"from": "LICENSE", "to": "."}],
            "bin": "asya",
        })
    };
    let plugin = json!({
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "asya"},
        "spec": {
            "version": format!("v{}", options.version),
            "homepage": options.source,
            "shortDescription": DESCRIPTION,
            "description": "Renders, explains, compares, tests and checks AsyncActors of Asya for\n\
                Crossplane offline, with the functions that run in the cluster, and shows the\n\
                state of actors in a cluster.\n",
            "platforms": archives.iter().map(platform).collect::<Vec<_>>(),
        },
    });
    actor::yaml::write(&plugin).context("cannot write the plugin manifest of krew")
}

/// The formula of Homebrew. Systems without an archive are left out.
pub(super) fn homebrew(options: &Options, archives: &[Archive]) -> String {
    let systems: String = [(Os::Darwin, "on_macos"), (Os::Linux, "on_linux")]
        .into_iter()
        .filter_map(|(os, block)| {
            let processors: String = [(Arch::Arm64, "on_arm"), (Arch::Amd64, "on_intel")]
                .into_iter()
                .filter_map(|(arch, block)| {
                    let mut archives = archives.iter();
                    let archive = archives
                        .find(|archive| archive.target.os == os && archive.target.arch == arch)?;
                    Some(format!(
                        "    {block} do\n      url \"{}\"\n      sha256 \"{}\"\n    end\n",
                        url(options, archive),
                        archive.digest
                    ))
                })
                .collect();
            (!processors.is_empty()).then(|| format!("\n  {block} do\n{processors}  end\n"))
        })
        .collect();
    format!(
        "class Asya < Formula
  desc \"{DESCRIPTION}\"
  homepage \"{}\"
  version \"{}\"
  license \"Apache-2.0\"
{systems}
  def install
    bin.install \"asya\"
    bin.install_symlink \"asya\" => \"kubectl-asya\"
    generate_completions_from_executable(bin/\"asya\", \"completion\")
  end

  test do
    assert_match version.to_s, shell_output(\"#{{bin}}/asya --version\")
  end
end
",
        options.source, options.version
    )
}
