package main

import (
	"slices"
	"strings"
)

// A launcher is a program whose argument, not itself, is the server. Its flags
// are needed to find that argument: the word behind a flag that is not listed
// here is not taken for the server, as it may be the flag's value.
type launcher struct {
	// skip are words of its own that come before the server's.
	skip []string
	// switches are flags without a value, values those that are followed by one.
	switches, values []string
	// prefixes begin flags that have their value in themselves.
	prefixes []string
	// names are flags whose value is the server.
	names []string
	// code are flags whose value is a program's text: no name, and full of what
	// must not be in a file's name.
	code []string
	// long says that several letters behind one dash are one flag, not several.
	long bool
	// assigns says that NAME=VALUE may come first.
	assigns bool
	// words is how many plain words come first.
	words int
	// line makes words of a command line, where a name's value is one: the last
	// part of it where that has several commands. It returns nil where it is not
	// sure.
	line func(args []string) []string
}

// launcherFor returns the launcher of a name. It is made when a name is needed,
// not at every start.
func launcherFor(program string) (launcher, bool) {
	switch program {
	case "npx", "pnpx", "bunx":
		return npx(), true
	case "npm", "pnpm", "yarn":
		l := npx()
		l.skip = list("exec dlx x run")
		return l, true
	case "uvx":
		return uv(), true
	case "uv":
		l := uv()
		l.skip = list("tool run")
		return l, true
	case "pipx":
		return launcher{skip: list("run"), names: list("--spec"),
			switches: list("-v --verbose -q --quiet --pypackages --editable -e --fetch-missing-python --system-site-packages"),
			values:   list("--python --pip-args --index-url -i --with")}, true
	case "docker", "podman", "nerdctl":
		return docker(), true
	case "node", "nodejs", "tsx", "ts-node":
		return node(), true
	case "bun":
		l := node()
		l.skip = list("run x")
		return l, true
	case "python", "python3", "pypy3", "py":
		return launcher{names: list("-m"), code: list("-c"), values: list("-W -X --check-hash-based-pycs"),
			switches: list("-b -B -d -E -h -i -I -O -P -q -s -S -u -v -V -x --version --help")}, true
	case "dotnet":
		return launcher{skip: list("run exec dnx"), names: list("--project"), switches: list("-y --yes --force --interactive"),
			values: list(`-c --configuration -f --framework -r --runtime -a --arch --os -lp --launch-profile -v --verbosity --source
				--add-source --configfile --version --fx-version --depsfile --runtimeconfig --additionalprobingpath`)}, true
	case "cargo":
		return launcher{skip: list("run"), names: list("--bin --example"),
			switches: list("-q --quiet -r --release -v --verbose --all-features --locked --offline --frozen"),
			values:   list("--manifest-path -p --package -F --features --target --target-dir --profile -j --jobs --color --config -Z -C")}, true
	case "bundle":
		return launcher{skip: list("exec"), switches: list("--keep-file-descriptors")}, true
	}
	if l, ok := language(program); ok {
		return l, true
	}
	return runner(program)
}

// language returns the launchers that are the interpreter of one language.
func language(program string) (launcher, bool) {
	switch program {
	case "deno":
		return launcher{skip: list("run serve"),
			switches: list(`-A --allow-all -R --allow-read -W --allow-write -N --allow-net -E --allow-env -S --allow-sys -I --allow-import
				--allow-run --allow-ffi --allow-scripts --allow-hrtime -q --quiet -r --reload --cached-only --check --watch
				--unstable --frozen --inspect --inspect-brk --inspect-wait`),
			values: list("-c --config --import-map --env-file --location --seed --cert --ext -L --log-level --minimum-dependency-age")}, true
	case "ruby":
		return launcher{code: list("-e"), switches: list("-w -W -v -d -U --yjit --jit --disable-gems"), values: list("-r -I -C -E")}, true
	case "php":
		return launcher{code: list("-r"), names: list("-f"), switches: list("-n -q"), values: list("-d -c -z")}, true
	case "perl":
		return launcher{code: list("-e -E"), switches: list("-w -W -T -t -X"), values: list("-I -M -C")}, true
	case "java":
		return launcher{long: true, names: list("-jar -m --module"), prefixes: list("-X -D -verbose -agentlib: -javaagent: -ea:"),
			switches: list("-server -client -ea -esa --enable-preview -showversion --show-version"),
			values: list(`-cp -classpath --class-path -p --module-path --add-modules --add-opens --add-exports --add-reads
				--enable-native-access`)}, true
	case "go":
		return launcher{long: true, skip: list("run tool"), switches: list("-race -msan -asan -v -x -a -n -work -trimpath -cover"),
			values: list("-C -tags -ldflags -gcflags -asmflags -mod -modfile -overlay -exec -toolexec -p -pkgdir -pgo")}, true
	}
	return launcher{}, false
}

// runner returns the launchers that run any command.
func runner(program string) (launcher, bool) {
	switch program {
	case "sh", "bash", "zsh", "dash":
		return launcher{names: list("-c"), switches: list("-l -i -e -u -x -f -a --login --noprofile --norc --posix"),
			values: list("-o -O --rcfile --init-file"), line: shellWords}, true
	case "cmd":
		return launcher{names: list("/c /C /k /K"), switches: list("/d /D /s /S /q /Q /a /A /u /U"),
			prefixes: list("/e: /E: /f: /F: /v: /V: /t: /T:"), line: windowsWords}, true
	case "env":
		return launcher{assigns: true, switches: list("- -i --ignore-environment -0 --null -v --debug"),
			values: list("-u --unset -C --chdir -P -a --argv0"), code: list("-S --split-string")}, true
	case "sudo":
		return launcher{assigns: true,
			switches: list("-E --preserve-env -H --set-home -n --non-interactive -k -S --stdin -i --login -b -A -P"),
			values:   list("-u --user -g --group -h --host -p --prompt -C -r -t -T -U -D --chdir -R --chroot")}, true
	case "nice":
		return launcher{values: list("-n --adjustment")}, true
	case "timeout":
		return launcher{words: 1, switches: list("-f --foreground -p --preserve-status -v --verbose"), values: list("-s --signal -k --kill-after")}, true
	case "stdbuf":
		return launcher{values: list("-i --input -o --output -e --error")}, true
	case "time":
		return launcher{switches: list("-p -v --verbose -a --append -q --quiet -l"), values: list("-f --format -o --output")}, true
	case "setsid":
		return launcher{switches: list("-c --ctty -f --fork -w --wait")}, true
	case "exec":
		return launcher{switches: list("-c -l"), values: list("-a")}, true
	case "command":
		return launcher{switches: list("-p")}, true
	case "nohup":
		return launcher{}, true
	}
	return launcher{}, false
}

func npx() launcher {
	return launcher{
		switches: list(`-y --yes --no -n -q --quiet -s --silent -d -dd -ddd --verbose -g --global --offline --prefer-offline --prefer-online
			--ignore-scripts --ignore-existing --foreground-scripts --workspaces -ws --include-workspace-root --bun`),
		values: list(`--registry --prefix --node-options --cwd -C --dir --loglevel --cache --userconfig --globalconfig --workspace -w
			--filter -F --script-shell --tag --otp --before --omit --include --scope --node-arg`),
		names: list("-p --package"),
		code:  list("-c --call"),
		long:  true,
	}
}

func uv() launcher {
	return launcher{
		switches: list(`-q --quiet -v --verbose --offline --isolated --active --frozen --locked --exact --all-extras --all-groups --dev
			--only-dev -n --refresh --reinstall -U --upgrade --managed-python --native-tls --system-certs --compile-bytecode --preview
			-s --script --gui-script --show-resolution`),
		values: list(`--directory --project --python -p --python-platform -w --with --with-editable --with-requirements --extra --no-extra
			--group --no-group --only-group --env-file --index --default-index -i --index-url --extra-index-url -f --find-links
			--index-strategy --keyring-provider --resolution --prerelease --fork-strategy --exclude-newer --link-mode -C
			--config-setting --cache-dir --config-file --color --package -P --upgrade-package --refresh-package
			--reinstall-package --no-build-package --no-binary-package --no-build-isolation-package -c --constraints
			--overrides -b --build-constraints --allow-insecure-host`),
		names: list("--from -m --module"),
	}
}

func docker() launcher {
	return launcher{
		skip: list("run container"),
		switches: list(`-i --interactive -t --tty -d --detach --rm --init --privileged -P --publish-all -q --quiet --read-only
			--oom-kill-disable --sig-proxy --disable-content-trust --use-api-socket --tls --tlsverify -D --debug`),
		values: list(`-e --env --env-file -v --volume --volumes-from --volume-driver --mount --tmpfs --name --network --net
			--network-alias --link --link-local-ip --ip --ip6 -p --publish --expose -u --user --userns --group-add -w --workdir
			--entrypoint --platform --pull -l --label --label-file --annotation -m --memory --memory-reservation --memory-swap
			--memory-swappiness --kernel-memory --shm-size -c --cpu-shares --cpus --cpuset-cpus --cpuset-mems --cpu-period
			--cpu-quota --cpu-rt-period --cpu-rt-runtime --pids-limit --ulimit --add-host -h --hostname --domainname --dns
			--dns-option --dns-search --mac-address --cap-add --cap-drop --security-opt --sysctl --device --device-cgroup-rule
			--device-read-bps --device-read-iops --device-write-bps --device-write-iops --gpus --runtime --isolation --ipc --pid
			--uts --cgroupns --cgroup-parent --cidfile --log-driver --log-opt --restart --stop-signal --stop-timeout
			--storage-opt --blkio-weight --blkio-weight-device --oom-score-adj --detach-keys -a --attach --health-cmd
			--health-interval --health-retries --health-start-interval --health-start-period --health-timeout
			-H --host --context --config --log-level --tlscacert --tlscert --tlskey`),
	}
}

func node() launcher {
	return launcher{
		skip: list("run"),
		switches: list(`-i --interactive -c --check -h --help -v --version --watch --watch-preserve-output --test --inspect --inspect-brk
			--inspect-wait --enable-source-maps --expose-gc --preserve-symlinks --preserve-symlinks-main --throw-deprecation
			--trace-deprecation --trace-exit --trace-sigint --trace-uncaught --trace-warnings --pending-deprecation
			--permission --allow-addons --allow-child-process --allow-wasi --allow-worker --use-system-ca --use-openssl-ca
			--use-bundled-ca --abort-on-uncaught-exception --frozen-intrinsics --cpu-prof --heap-prof --harmony --esm --swc
			-T --transpile-only --files --hot --smol --bun --silent
			--experimental-strip-types --experimental-transform-types --experimental-vm-modules --experimental-modules
			--experimental-specifier-resolution --experimental-fetch --experimental-global-webcrypto --experimental-permission
			--experimental-require-module --experimental-detect-module --experimental-wasm-modules --experimental-sqlite
			--experimental-websocket --experimental-import-meta-resolve --experimental-json-modules`),
		values: list(`-r --require --import --loader --experimental-loader --env-file --env-file-if-exists -C --conditions --title
			--input-type --watch-path --icu-data-dir --redirect-warnings --report-dir --report-directory --diagnostic-dir
			--openssl-config -P --project --tsconfig -O --compiler-options --cwd --filter --preload -F`),
		code: list("-e --eval -p --print -pe"),
	}
}

func list(words string) []string { return strings.Fields(words) }

// A flagKind says what a launcher makes of a word.
type flagKind uint8

const (
	notAFlag    flagKind = iota
	flagSwitch           // it stands alone, or has its value in itself
	flagValue            // its value follows
	flagName             // its value is the server
	flagCode             // its value is a program's text
	flagUnknown          // its value may follow
)

// flag says what a word is. Of a flag whose value is in the same word, that is
// returned too.
func (l *launcher) flag(word string) (kind flagKind, value string, joined bool) {
	if kind := l.kindOf(word); kind != flagUnknown {
		return kind, "", false
	}
	for _, p := range l.prefixes {
		if strings.HasPrefix(word, p) {
			return flagSwitch, "", false
		}
	}
	if len(word) < 2 || word[0] != '-' {
		return notAFlag, "", false
	}
	if flag, value, ok := strings.Cut(word, "="); ok {
		if kind := l.kindOf(flag); kind == flagName || kind == flagCode {
			return kind, value, true
		}
		return flagSwitch, "", false
	}
	switch {
	case strings.HasPrefix(word, "--no-"), strings.Trim(word[1:], "0123456789") == "":
		return flagSwitch, "", false // by everybody's custom; nice -5
	case word[1] != '-' && !l.long:
		return l.cluster(word)
	}
	return flagUnknown, "", false
}

// cluster says what several letters behind one dash are: switches, of which
// the last may be a flag with a value, in the same word or the next.
func (l *launcher) cluster(word string) (kind flagKind, value string, joined bool) {
	for i := 1; i < len(word); i++ {
		last := i == len(word)-1
		switch kind := l.kindOf("-" + word[i:i+1]); {
		case kind == flagSwitch:
		case kind == flagValue && !last:
			return flagSwitch, "", false
		default:
			return kind, word[i+1:], !last
		}
	}
	return flagSwitch, "", false
}

// kindOf looks a flag up. What is not found is unknown.
func (l *launcher) kindOf(flag string) flagKind {
	switch {
	case slices.Contains(l.code, flag):
		return flagCode
	case slices.Contains(l.names, flag):
		return flagName
	case slices.Contains(l.values, flag):
		return flagValue
	case slices.Contains(l.switches, flag):
		return flagSwitch
	}
	return flagUnknown
}
