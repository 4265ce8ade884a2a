# The formula for Homebrew. VERSION and SHA256, of the release's source archive,
# are filled in when a release is made:
#
#   sed -e "s/VERSION/1.2.3/" -e "s/SHA256/$(sha256sum mcptap-1.2.3.tar.gz | cut -d' ' -f1)/" packaging/mcptap.rb
class Mcptap < Formula
  desc "Record, replay and compare Model Context Protocol sessions"
  homepage "https://github.com/mcptap/mcptap"
  url "https://github.com/mcptap/mcptap/archive/refs/tags/vVERSION.tar.gz"
  sha256 "SHA256"
  license "Apache-2.0"

  depends_on "go" => :build

  def install
    ENV["CGO_ENABLED"] = "0"
    system "go", "build", *std_go_args(ldflags: "-s -w -X main.version=#{version}"), "./cmd/mcptap"
    system "go", "run", "-tags", "manual", "./cmd/mcptap", "manual"
    man1.install Dir["manual/man/*.1"]
    bash_completion.install "manual/completions/mcptap.bash" => "mcptap"
    zsh_completion.install "manual/completions/_mcptap"
    fish_completion.install "manual/completions/mcptap.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mcptap version")
    assert_match "tools/call", shell_output("#{bin}/mcptap demo --dir #{testpath}")
  end
end
