package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLabelFor(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"npx -y @modelcontextprotocol/server-everything", "server-everything"},
		{"npx -y @modelcontextprotocol/server-filesystem@2025.1.14 /srv", "server-filesystem"},
		{"npx --yes --package=@acme/tools acme-mcp", "tools"},
		{"npx -p @acme/tools acme-mcp", "tools"},
		{"npm exec -- @acme/x", "x"},
		{"pnpm dlx weather-mcp@latest", "weather-mcp"},
		{"bunx weather-mcp", "weather-mcp"},
		{"uvx mcp-server-git --repository .", "mcp-server-git"},
		{"uvx --from git+https://github.com/acme/notes-mcp.git@v1 notes", "notes-mcp"},
		{"uvx --python 3.12 mcp-server-time[cli]==1.0", "mcp-server-time"},
		{"uv run --directory /srv/notes notes_server.py", "notes_server"},
		{"uv --directory /srv/notes run main.py", "main"},
		{"uv tool run mcp-server-fetch", "mcp-server-fetch"},
		{"pipx run mcp-server-x", "mcp-server-x"},
		{"python -m mcp_server_fetch", "mcp_server_fetch"},
		{"python3.12 -u /srv/notes/server.py", "notes"},
		{"/usr/bin/python3 server.py", "server"},
		{"node /home/me/weather/dist/index.js --stdio", "weather"},
		{"node --import tsx src/index.ts", "index"},
		{"tsx weather.ts", "weather"},
		{"deno run -A npm:@acme/mcp-x", "mcp-x"},
		{"deno run --allow-net https://deno.land/x/weather@1.0/mod.ts", "mod"},
		{"docker run -i --rm -e TOKEN mcp/github", "github"},
		{"docker run -i --rm ghcr.io/github/github-mcp-server:latest stdio", "github-mcp-server"},
		{"docker run --rm --mount type=bind,src=/a,dst=/b -i mcp/filesystem:1.0@sha256:0123abc /b", "filesystem"},
		{"java -Xmx1g -jar /opt/weather-1.2.jar", "weather-1.2"},
		{"dotnet run --project src/Weather.csproj", "Weather"},
		{"go run ./cmd/weather", "weather"},
		{"cargo run --bin weather-mcp", "weather-mcp"},
		{"env -u X API_KEY=1 npx -y weather-mcp", "weather-mcp"},
		{"timeout 60 weather-mcp", "weather-mcp"},
		{"/usr/local/bin/github-mcp-server stdio", "github-mcp-server"},
		{`C:\tools\weather.exe --stdio`, "weather"},
		{`cmd /c npx -y @acme/weather`, "weather"},
		{"/opt/weather/bin/server", "weather"},
		{"./server", "server"},
		{"npx", "npx"},
		{"node --version", "node"},
		{"../../../x\x1b[2J", "x"},
		{"", "server"},
		{"///", "server"},
		{"é", "server"},
		{"very-" + strings.Repeat("long-", 30) + "name", "very-long-long-long-long-long-long-long"},
	} {
		if got := labelFor(strings.Fields(c.command)); got != c.want {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
	for want, command := range map[string][]string{
		"true":   {"sh", "-c", "API_KEY=s3cret true server.js"},
		"python": {"python", "-c", `key="s3cret";pass`},
		"node":   {"node", "-e", `let k="s3cret"`},
	} {
		if got := labelFor(command); got != want {
			t.Errorf("%q is named %q, want %q", command, got, want)
		}
	}
	if got := labelFor([]string{"sh", "-c", `cd /srv && exec "npx" -y @acme/weather`}); got != "weather" {
		t.Errorf("sh -c: %q", got)
	}
}

func FuzzLabelFor(f *testing.F) {
	f.Add("npx -y @a/b@1", " ")
	f.Add("sh\x00-c\x00a && b", "\x00")
	f.Fuzz(func(t *testing.T, line, sep string) {
		got := labelFor(strings.Split(line, sep))
		if got == "" || len(got) > maxLabel || strings.ContainsAny(got, `/\ `) || !clean(got) {
			t.Errorf("%q: %q", line, got)
		}
	})
}

func TestDataDir(t *testing.T) {
	home := func() (string, error) { return "/home/me", nil }
	none := func() (string, error) { return "", errors.New("no home") }
	for _, c := range []struct {
		flag, goos string
		env        map[string]string
		home       func() (string, error)
		want       string
	}{
		{"flag", "linux", map[string]string{"MCPTAP_DIR": "env", "XDG_STATE_HOME": "/xdg"}, home, "flag"},
		{"", "linux", map[string]string{"MCPTAP_DIR": "env", "XDG_STATE_HOME": "/xdg"}, home, "env"},
		{"", "linux", map[string]string{"XDG_STATE_HOME": "/xdg"}, home, "/xdg/mcptap"},
		{"", "linux", map[string]string{"XDG_STATE_HOME": "relative"}, home, "/home/me/.local/state/mcptap"},
		{"", "linux", nil, home, "/home/me/.local/state/mcptap"},
		{"", "freebsd", nil, home, "/home/me/.local/state/mcptap"},
		{"", "linux", map[string]string{"XDG_STATE_HOME": "/xdg"}, none, "/xdg/mcptap"},
		{"", "linux", nil, none, ""},
		{"", "darwin", map[string]string{"XDG_STATE_HOME": "/xdg"}, home, "/home/me/Library/Application Support/mcptap"},
		{"", "windows", map[string]string{"LocalAppData": "/local"}, home, "/local/mcptap"},
		{"", "windows", nil, home, "/home/me/AppData/Local/mcptap"},
	} {
		got, err := findDataDir(c.flag, c.goos, func(k string) string { return c.env[k] }, c.home)
		if filepath.ToSlash(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q %s %v: %q, %v, want %q", c.flag, c.goos, c.env, got, err, c.want)
		}
	}
}

func TestUnits(t *testing.T) {
	for in, want := range map[string]int64{
		"4096": 4096, "64MiB": 64 << 20, "64 MiB": 64 << 20, "1.5k": 1536, "2kb": 2000, "1GB": 1e9, "0": 0, "10B": 10, "1g": 1 << 30,
	} {
		if got, err := parseSize(in); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "MiB", "-1", "1e9", "0x10", "NaN", "Inf", "64 apples", "1_000", "9999999999999GiB"} {
		if got, err := parseSize(in); err == nil {
			t.Errorf("parseSize(%q) = %d, want an error", in, got)
		}
	}
	for in, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 10 << 10: "10 KiB", 1<<20 - 1: "1 MiB",
		64 << 20: "64 MiB", 5<<30 + 1<<29: "5.5 GiB", 3 << 40: "3 TiB",
	} {
		if got := formatSize(in); got != want {
			t.Errorf("formatSize(%d) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[time.Duration]string{
		0: "0µs", 85 * time.Microsecond: "85µs", 999900: "1.0ms", 1234 * time.Microsecond: "1.2ms", 99960 * time.Microsecond: "100ms",
		999600 * time.Microsecond: "1.00s", 9996 * time.Millisecond: "10.0s", 59960 * time.Millisecond: "1m00s",
		65 * time.Second: "1m05s", 2*time.Hour + 3*time.Minute: "2h03m", 76 * time.Hour: "3d04h", -time.Second: "-1.00s",
	} {
		if got := formatDuration(in); got != want {
			t.Errorf("formatDuration(%d) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[time.Duration]string{0: "0.000s", 12345 * time.Millisecond: "12.345s", 62 * time.Second: "1m02.000s",
		time.Hour + 61*time.Second + 5*time.Millisecond: "1h01m01.005s"} {
		if got := formatOffset(in); got != want {
			t.Errorf("formatOffset(%d) = %q, want %q", in, got, want)
		}
	}
}
