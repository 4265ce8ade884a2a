package browsertest

import (
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/longtest"
)

// module runs code that uses the modules of the page.
func module(t *testing.T, js string) string {
	t.Helper()
	dir := t.TempDir()
	base, _ := startWeb(t, dir)
	p := newTab(t, base, 1000, 700, false)
	p.wait("document.querySelector('.empty, .rec')")
	return eval[string](p, "(async () => {"+js+"})()")
}

// TestJSON compares the JSON scanner with the browser's parser on random values, and truncates them
// everywhere.
func TestJSON(t *testing.T) {
	got := module(t, `
	const { parse, lines } = await import('/assets/json.js');
	let seed = 7;
	const random = (n) => (((seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) >> 12) % n); // the low bits repeat
	const words = ['', 'a', '"', '\\', '\\"', '{', '[1,2', '\u0000\n', '😀', 'key', '\ud800', '</script>', ','];
	const make = (depth) => {
		switch (random(depth > 4 ? 5 : 8)) {
			case 0: return random(100000) / 7;
			case 1: return words[random(words.length)] + words[random(words.length)];
			case 2: return null;
			case 3: return random(2) === 0;
			case 4: return -random(9);
			case 5: return Array.from({ length: random(5) }, () => make(depth + 1));
			default: return Object.fromEntries(Array.from({ length: random(5) }, (_, i) => ['k' + i + words[random(words.length)], make(depth + 1)]));
		}
	};
	// The value as the scanner sees it.
	const whole = (v) => {
		if (!v.container) return v.type === 'string' ? v.string : JSON.parse(v.raw);
		const all = [];
		for (let after = 0; ; ) {
			const { found, next } = v.members(1 + random(3), after);
			all.push(...found);
			if (!next) break;
			after = next;
		}
		return v.type === 'array' ? all.map((m) => whole(m.value)) : Object.fromEntries(all.map((m) => [m.key, whole(m.value)]));
	};
	let n = 0;
	for (let i = 0; i < 3000; i++) {
		const value = make(0);
		const text = ' '.repeat(random(3)) + JSON.stringify(value, null, random(2) ? random(4) : undefined) + '\n'.repeat(random(2));
		const want = JSON.stringify(JSON.parse(text));
		if (JSON.stringify(whole(parse(text))) !== want) return 'different: ' + text;
		const laid = [...lines(text)].map((l) => l.map(([, t]) => t).join('')).join('\n');
		if (JSON.stringify(JSON.parse(laid)) !== want) return 'laid out differently: ' + laid;
		// A truncated text must not fail or loop.
		for (let cut = 0; cut < text.length; cut += 1 + random(4)) {
			const v = parse(text.slice(0, cut));
			if (v) JSON.stringify(v.container ? v.members(50).found.map((m) => m.value.raw) : v.string ?? v.raw);
			[...lines(text.slice(0, cut))];
			n++;
		}
	}
	return n > 10000 ? 'ok' : 'too few: ' + n;`)
	if got != "ok" {
		t.Error(got)
	}
}

// TestRows compares rows that arrive in any order, arrive twice or are dropped, with a plain map.
func TestRows(t *testing.T) {
	got := module(t, `
	const { Rows } = await import('/assets/rows.js');
	const { Lines } = await import('/assets/lines.js');
	let seed = 3;
	const random = (n) => (((seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) >> 12) % n); // the low bits repeat
	for (let round = 0; round < 60; round++) {
		const rows = new Rows();
		const calls = new Lines(rows, true, (i) => rows.envelope(i));
		const frames = new Lines(rows, false, null);
		const sequence = new Lines(rows, false, (i) => rows.envelope(i));
		const plain = new Map();
		let top = 0;
		for (let step = 0; step < 120; step++) {
			const list = [];
			for (let k = random(12); k >= 0; k--) {
				const late = random(6) === 0 && top > 20;
				const seq = late ? 1 + random(top) : (top += 1 + random(2));
				const n = seq * 16384;
				if (list.some((r) => r.n === n)) continue;
				// A call, a nested call, or a message of a call.
				const known = [...plain.values()].filter((r) => r.c === r.n && r.n < n);
				const of = known[random(known.length || 1)];
				const r = { n, t: seq, s: 1, l: 1 + random(2), k: 'request', m: 'm', r: 'request', c: n };
				if (of && random(3) > 0) Object.assign(r, random(4) === 0 ? { p: of.n } : { k: 'response', r: 'response', c: of.n, q: of.n, d: 1 });
				if (r.c === n && !r.p && random(4) === 0) Object.assign(r, random(2) ? { l: 0, k: 'end' } : { k: 'priming', b: 512 }, { r: '', c: 0 }); // 512 is plumbing
				list.push(r);
				if (!plain.has(n)) plain.set(n, r);
			}
			list.sort((a, b) => (random(5) ? a.n - b.n : b.n - a.n));
			rows.add(list);
			if (random(9) === 0) {
				const all = [...plain.values()].filter((r) => r.c === r.n);
				const gone = all[random(all.length || 1)];
				if (gone && rows.find(gone.n) >= 0) {
					rows.update([{ n: gone.n, drop: true }]);
					const out = (r, hops = 0) => r && hops < 64 && (r.n === gone.n || (r.c !== r.n ? out(plain.get(r.c), hops + 1) : r.p ? out(plain.get(r.p), hops + 1) : false));
					// Only rows linked to it are dropped; a message before its call is not linked.
					const went = [...plain.values()].filter((r) => rows.find(r.n) < 0);
					const lost = went.find((r) => !out(r));
					if (lost) return 'lost ' + lost.n;
					for (const r of went) plain.delete(r.n);
				}
			}
			calls.update();
			sequence.update();
		}
		const want = [...plain.keys()].sort((a, b) => a - b);
		const have = Array.from({ length: frames.length }, (_, i) => rows.id[frames.row(i)]);
		if (have.join() !== want.join()) return 'round ' + round + ': ' + have.length + ' rows instead of ' + want.length;
		const left = want.filter((id) => !['end', 'priming'].includes(plain.get(id).k));
		if (left.length < 50 || left.length === want.length) return 'round ' + round + ': ' + left.length + ' of ' + want.length + ' rows are steps';
		const brief = Array.from({ length: sequence.length }, (_, i) => rows.id[sequence.row(i)]);
		if (brief.join() !== left.join()) return 'round ' + round + ': ' + brief.length + ' steps instead of ' + left.length;
		for (let i = 0; i < brief.length; i++) if (sequence.lineOf(sequence.row(i)) !== i) return 'step ' + i + ' is not its own';
		for (const id of want) if (sequence.lineOf(rows.find(id)) !== left.indexOf(id)) return 'a row that is left out has a line: ' + id;
		for (const id of want) if (rows.id[rows.find(id)] !== id) return 'not found: ' + id;
		calls.openAll(true);
		calls.update();
		const lines = Array.from({ length: calls.length }, (_, i) => rows.id[calls.row(i)]);
		if (new Set(lines).size !== lines.length) return 'a row stands twice';
		if ([...lines].sort((a, b) => a - b).join() !== left.join()) return 'open, ' + lines.length + ' lines of ' + left.length;
		for (let i = 0; i < lines.length; i++) if (calls.lineOf(calls.row(i)) !== i) return 'line ' + i + ' is not its own';
		calls.openAll(false);
		calls.update();
		for (let i = 0; i < calls.length; i++) {
			const up = rows.under[calls.row(i)];
			if (up >= 0 && !rows.begins(calls.row(i))) return 'a message stands outside of its closed call';
		}
	}
	return 'ok';`)
	if got != "ok" {
		t.Error(got)
	}
}

// TestListOfMillions scrolls a list that is higher than any element may be.
func TestListOfMillions(t *testing.T) {
	longtest.Need(t)
	got := module(t, `
	const { List } = await import('/assets/list.js');
	const box = document.createElement('div');
	box.className = 'scroller';
	box.style.cssText = 'height: 500px; flex: none';
	document.body.replaceChildren(box);
	let n = 5_000_000;
	const list = new List(box, { lineHeight: 25, count: () => n, make: () => { const e = document.createElement('div'); e.className = 'row'; return e; }, draw: (e, line) => { e.textContent = e.line = line; } });
	const painted = () => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(r))));
	const seen = () => [...box.querySelectorAll('.row')].filter((e) => !e.hidden).map((e) => [e.line, Math.round(e.getBoundingClientRect().top - box.getBoundingClientRect().top)]).sort((a, b) => a[0] - b[0]);
	// The visible lines have no gaps.
	const check = (what) => {
		const all = seen();
		for (let i = 1; i < all.length; i++) if (all[i][0] !== all[i - 1][0] + 1 || Math.abs(all[i][1] - all[i - 1][1] - 25) > 1) return what + ': ' + JSON.stringify(all.slice(i - 1, i + 1));
		if (all[0][1] > 0 || all.at(-1)[1] < 475) return what + ': the view is not full: ' + JSON.stringify([all[0], all.at(-1)]);
		return '';
	};
	list.repaint();
	await painted();
	let bad = check('start');
	list.toEnd();
	await painted();
	bad ||= check('end');
	if (seen().at(-1)[0] !== n - 1) bad ||= 'the last line is ' + seen().at(-1)[0];
	// Small steps scroll by pixels.
	for (let i = 0; i < 30 && !bad; i++) {
		const before = list.top;
		box.scrollTop -= 100;
		await painted();
		bad ||= check('step ' + i);
		if (Math.abs(before - list.top - 4) > 0.5) bad ||= 'a step of 100 pixels moved ' + (before - list.top) + ' lines';
	}
	if (list.follow) bad ||= 'it still follows';
	// Jumps scroll proportionally.
	box.scrollTop = box.scrollHeight / 2;
	await painted();
	bad ||= check('middle');
	if (Math.abs(list.top - n / 2) > n / 100) bad ||= 'the middle is line ' + list.top;
	for (const line of [0, 17, 2_500_000, 4_999_999, 1_234_567]) {
		list.reveal(line);
		await painted();
		bad ||= check('line ' + line);
		if (!seen().some(([l, y]) => l === line && y >= -1 && y <= 476)) bad ||= 'line ' + line + ' is not in view: ' + JSON.stringify([list.top, box.scrollTop, seen()]);
	}
	// While following, new lines are visible.
	list.toEnd();
	await painted();
	for (let i = 0; i < 5; i++) {
		n += 1000;
		list.repaint();
		await painted();
		bad ||= check('growing');
		if (seen().at(-1)[0] !== n - 1) bad ||= 'it does not follow';
	}
	// Otherwise nothing moves.
	list.reveal(1000);
	await painted();
	const still = JSON.stringify(seen());
	n += 100_000;
	list.repaint();
	await painted();
	if (JSON.stringify(seen()) !== still) bad ||= 'it moved';
	return bad || 'ok';`)
	if got != "ok" {
		t.Error(strings.TrimSpace(got))
	}
}

// TestCurl checks that the command repeats the recorded request and does nothing else.
func TestCurl(t *testing.T) {
	got := module(t, `
	const { curlCommand: curl } = await import('/assets/curl.js');
	const origin = 'http://127.0.0.1:9/';
	const line = 'HTTP/1.1 POST /mcp?a={1}';
	return JSON.stringify([
		curl({ line, header: [['Host', 'x'], ['Accept', "it's"], ['@/etc/passwd', 'x'], ['X-Empty', '']] }, origin, '@/etc/passwd'),
		curl({ line: 'HTTP/1.1 DELETE //evil.example/', header: [] }, origin, ''),
		curl({ line: 'HTTP/1.1 GET -o/tmp/x' }, origin, ''), curl({ line: 'HTTP/1.1 GET http://evil.example/' }, origin, ''),
		curl({ line: 'HTTP/1.1 -K/x /mcp' }, origin, '').includes("-X -K/x"), curl({ line, header: [['A', 'cut off…']] }, origin, '{}'),
		curl({ line }, origin, 'not UTF-8 \ufffd'), curl(undefined, origin, ''), curl({ line }, '', ''),
	], null, 1);`)
	want := `[
 "curl --globoff \\\n  -X POST \\\n  -H 'Accept: it'\\''s' \\\n  -H 'X-Empty;' \\\n  --data-raw @/etc/passwd \\\n  'http://127.0.0.1:9/mcp?a={1}'",
 "curl --globoff \\\n  -X DELETE \\\n  http://127.0.0.1:9//evil.example/",
 "",
 "",
 false,
 "",
 "",
 "",
 ""
]`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
