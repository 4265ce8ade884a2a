package labels

import (
	"strings"
	"testing"

	safe "github.com/mcptap/mcptap/internal/term/escape"
)

func TestFor(t *testing.T) {
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
		if got := For(strings.Fields(c.command)); got != c.want {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
}

// Nothing that may be secret becomes part of a label.
func TestLabelHoldsNoSecret(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"uvx weather==1.0", "weather"},
		{"uv run --with httpx weather.py --port 80", "weather"},
		{"uvx --from git+https://s3cret@github.com/acme/server notes", "server"},
		{"uvx --from git+https://me:s3cret@github.com/acme/notes-mcp?token=s3cret#s3cret notes", "notes-mcp"},
		{"deno run -qA https://host/s3cret/main.ts", "main"},
		{"docker run -itd -eTOKEN=s3cret -p8080:80 mcp/github", "github"},
		{"docker run -ite TOKEN mcp/github", "github"},
		{"python -um notes_mcp", "notes_mcp"},
		{"python -Wignore -X utf8 notes_mcp.py", "notes_mcp"},
		{"java -Xmx1g -Dkey=s3cret -cp /opt/a.jar com.acme.Weather", "com.acme.Weather"},
		{"nice -5 stdbuf -oL timeout --foreground 60 weather-mcp", "weather-mcp"},
		{"sudo -u me KEY=s3cret weather-mcp", "weather-mcp"},
		{"KEY=s3cret weather-mcp", "weather-mcp"},
		{"npm exec -- @acme/x --token s3cret", "x"},

		// After an unknown flag only a program file is certain.
		{"node --inspect-port 9 server.js", "server"},
		{"node --frob s3cret /srv/weather/index.js", "weather"},
		{"node --frob=s3cret weather", "weather"},
		{"node --frob --watch weather", "weather"},
		{"python3 --token s3cret -m server", "python3"},
		{"npx --frob s3cret weather", "npx"},
		{"npx --frob weather s3cret", "npx"},
		{"npx --no-frob weather", "weather"},
		{"docker run --frob s3cret mcp/github", "docker"},
		{"timeout --frob 5 60 s3cret", "timeout"},
		{"env -S node", "env"},
		{"npx --frob", "npx"},
	} {
		if got := For(strings.Fields(c.command)); got != c.want {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
}

func TestLabelOfCommandLines(t *testing.T) {
	for want, command := range map[string][]string{
		"true":     {"sh", "-c", "API_KEY=s3cret true server.js"},
		"python":   {"python", "-c", `key="s3cret";pass`},
		"node":     {"node", "-e", `let k="s3cret"`},
		"weather":  {"sh", "-c", "cd /srv && exec npx -y @acme/weather"},
		"a":        {"sh", "-c", "KEY=s3cret a s3cret 2>&1 | tee s3cret"},
		"b":        {"bash", "-euo", "pipefail", "-lc", "export KEY=s3cret\nb s3cret"},
		"sh":       {"sh", "-c", "KEY=$(cat s3cret) node x.js"},
		"bash":     {"bash", "-c", "KEY=`cat s3cret` s3cret"},
		"dash":     {"dash", "-c", `KEY=$'a\' s3cret \'b' node`},
		"zsh":      {"zsh", "-c", `KEY=${KEY:-a s3cret} node`},
		"c":        {"sh", "-c", "cd /srv; KEY=a c s3cret >s3cret &"},
		"d":        {"cmd", "/d", "/c", `set KEY=s3cret&& npx -y @acme/d`},
		"e":        {"cmd.exe", "/C", "set", "KEY=s3cret&&", "npx", "e"},
		"f":        {"cmd", "/c", `C:\Program Files\nodejs\npx.cmd`, "-y", "@acme/f"},
		"g":        {`C:\Program Files\Acme\g.exe`, "s3cret"},
		"h":        {"h --token s3cret --file a/s3cret"},
		"i":        {"/usr/bin/i /srv/x.py s3cret"},
		"server":   {"KEY=s3cret"},
		"git":      {"git clone https://s3cret@host/x"},
		"host.net": {"deno", "run", "wss://me:s3cret@host.net"},
	} {
		if got := For(command); got != want {
			t.Errorf("%q is named %q, want %q", command, got, want)
		}
	}
	// A line with quotes or the like may contain words with spaces.
	for _, line := range []string{`cd /srv && exec "npx" -y s3cret`, `KEY="s3cret; s3cret" a`, "b \"${s3cret}\"", `KEY=a\ s3cret c`, "a # ; s3cret", "a <s3cret"} {
		if got := For([]string{"sh", "-c", line}); got != "sh" {
			t.Errorf("%s is named %q, want sh", line, got)
		}
	}
}

// Whatever a flag means to a launcher, its value is not used as a name.
func TestLabelHoldsNoFlagsValue(t *testing.T) {
	for _, launcher := range strings.Fields(`npx pnpx bunx npm pnpm yarn uvx uv pipx docker podman node tsx bun python python3 dotnet cargo bundle deno
		ruby php perl java go sh bash cmd env sudo nice timeout stdbuf time setsid exec command nohup`) {
		if _, ok := launchers()[programName(launcher)]; !ok {
			t.Errorf("%s is not a launcher", launcher)
		}
		for _, words := range []string{
			"--token s3cret", "--token=s3cret q", "--token s3cret q", "--token q s3cret", "-y --token s3cret -m s3cret q",
			"run --token s3cret", "run --token s3cret s3cret", "--token s3cret -- s3cret", "-QZ s3cret", "q --token s3cret", "--token s3cret --q q.js",
		} {
			command := append([]string{launcher}, strings.Fields(words)...)
			if got := For(command); strings.Contains(got, "s3cret") {
				t.Errorf("%q is named %q", command, got)
			}
		}
	}
}

func FuzzFor(f *testing.F) {
	f.Add("npx -y @a/b@1", " ")
	f.Add("sh\x00-c\x00a && b", "\x00")
	f.Fuzz(func(t *testing.T, line, sep string) {
		got := For(strings.Split(line, sep))
		if got == "" || len(got) > maxLabel || strings.ContainsAny(got, `/\ `) || !safe.Clean(got) {
			t.Errorf("%q: %q", line, got)
		}
	})
}
