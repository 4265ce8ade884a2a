package wrap

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// A Host determines the paths of client configuration files.
type Host struct {
	// OS is a GOOS value.
	OS string
	// Home is the user's home directory, and Dir the project directory.
	Home, Dir string
	Env       func(string) string
}

// A Place is a configuration file of a client. It may not exist.
type Place struct {
	// Client is the name for --client, and Title the product name.
	Client, Title string
	Path          string
	// Sections are the paths of the tables with servers. * in them matches every member.
	Sections [][]string
}

func isTOML(path string) bool { return strings.EqualFold(filepath.Ext(path), ".toml") }

// Clients returns the names for --client.
func Clients() []string {
	return []string{"claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "zed", "codex", "gemini", "project"}
}

var (
	mcpServers = [][]string{{"mcpServers"}}
	// The file of Claude Code also has servers for each project.
	claudeCode = [][]string{{"mcpServers"}, {"projects", "*", "mcpServers"}}
	vscodeFile = [][]string{{"servers"}}
	vscodeUser = [][]string{{"mcp", "servers"}}
	zedServers = [][]string{{"context_servers"}}
	tomlTables = [][]string{{"mcp_servers"}}
	anySection = [][]string{
		{"mcpServers"}, {"servers"}, {"mcp", "servers"}, {"context_servers"}, {"mcp_servers"},
		{"projects", "*", "mcpServers"},
	}
)

// Places returns the configuration files of all clients: those of the user, then those of the project.
func (h Host) Places() []Place {
	home := func(words ...string) string { return filepath.Join(append([]string{h.Home}, words...)...) }
	config := h.configDir()
	places := []Place{
		{"claude-desktop", "Claude Desktop", filepath.Join(config, "Claude", "claude_desktop_config.json"), mcpServers},
		{"claude-code", "Claude Code", filepath.Join(cmp.Or(h.Env("CLAUDE_CONFIG_DIR"), h.Home), ".claude.json"), claudeCode},
		{"cursor", "Cursor", home(".cursor", "mcp.json"), mcpServers},
	}
	for _, code := range [][2]string{
		{"Code", "VS Code"}, {"Code - Insiders", "VS Code Insiders"}, {"VSCodium", "VSCodium"},
	} {
		user := filepath.Join(config, code[0], "User")
		places = append(places,
			Place{"vscode", code[1], filepath.Join(user, "mcp.json"), vscodeFile},
			Place{"vscode", code[1], filepath.Join(user, "settings.json"), vscodeUser})
	}
	places = append(places,
		Place{"windsurf", "Windsurf", home(".codeium", "windsurf", "mcp_config.json"), mcpServers},
		Place{"zed", "Zed", filepath.Join(h.zedDir(), "settings.json"), zedServers},
		Place{"codex", "Codex", filepath.Join(cmp.Or(h.Env("CODEX_HOME"), home(".codex")), "config.toml"), tomlTables},
		Place{"gemini", "Gemini CLI", home(".gemini", "settings.json"), mcpServers},
		Place{"project", "project", filepath.Join(h.Dir, ".mcp.json"), mcpServers},
		Place{"cursor", "Cursor, project", filepath.Join(h.Dir, ".cursor", "mcp.json"), mcpServers},
		Place{"vscode", "VS Code, project", filepath.Join(h.Dir, ".vscode", "mcp.json"), vscodeFile},
		Place{"zed", "Zed, project", filepath.Join(h.Dir, ".zed", "settings.json"), zedServers},
		Place{"codex", "Codex, project", filepath.Join(h.Dir, ".codex", "config.toml"), tomlTables},
		Place{"gemini", "Gemini CLI, project", filepath.Join(h.Dir, ".gemini", "settings.json"), mcpServers},
	)
	seen := map[string]bool{} // the project may be the home directory
	return slices.DeleteFunc(places, func(p Place) bool {
		twice := seen[p.Path]
		seen[p.Path] = true
		return twice
	})
}

// Place returns the place with a path. An unknown path may have servers in any section.
func (h Host) Place(path string) Place {
	for _, p := range h.Places() {
		if filepath.Clean(p.Path) == filepath.Clean(path) {
			p.Path = path
			return p
		}
	}
	p := Place{Title: filepath.Base(path), Path: path, Sections: anySection}
	if isTOML(path) {
		p.Sections = tomlTables
	}
	return p
}

// configDir returns the system's directory for program settings.
func (h Host) configDir() string {
	switch h.OS {
	case "windows":
		return cmp.Or(h.Env("APPDATA"), filepath.Join(h.Home, "AppData", "Roaming"))
	case "darwin":
		return filepath.Join(h.Home, "Library", "Application Support")
	}
	return cmp.Or(h.Env("XDG_CONFIG_HOME"), filepath.Join(h.Home, ".config"))
}

// zedDir returns the directory of Zed's settings, which is also in ~/.config on macOS.
func (h Host) zedDir() string {
	switch h.OS {
	case "windows":
		return filepath.Join(h.configDir(), "Zed")
	case "darwin":
		return filepath.Join(h.Home, ".config", "zed")
	}
	return filepath.Join(h.configDir(), "zed")
}
