// SPDX-License-Identifier: LGPL-2.1-or-later
// compare-globs - what micromatch (npm, dot: true) says to random pairs of pattern and path.
//
//   node tools/compare-globs.js          compare with tests/table/micromatch.tsv: 0 when it says the same
//   node tools/compare-globs.js write    write that table
//
// The table is replayed against our own matcher by the unit test profile-globs, which needs neither
// node nor a network. Installs micromatch below a directory of its own and removes that again.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { execFileSync } = require('child_process');

const PAIRS = 600;
const TABLE = path.join(__dirname, '..', 'tests', 'table', 'micromatch.tsv');

let state = 20240229;
function pick(n) {
	// xorshift: the same pairs everywhere and every time
	state ^= state << 13;
	state ^= state >>> 17;
	state ^= state << 5;
	return (state >>> 0) % n;
}
const one = (list) => list[pick(list.length)];
const NAMES = ['a', 'b', 'ab', 'abc', '.a', '.env', 'x.c', 'x.h', 'data', 'a-b', 'B', 'x y'];

function segment(name, depth) {
	const at = pick(name.length);
	switch (pick(12)) {
	case 0: return '*';
	case 1: return '**';
	case 2: return name.slice(0, at) + '*';
	case 3: return '*' + name.slice(at);
	case 4: return name.slice(0, at) + '?' + name.slice(at + 1);
	case 5: return name.slice(0, at) + one(['[a-c]', '[^a]', '[^b]', '[.x]', '[ab]']) + name.slice(at + 1);
	case 6: return depth > 1 ? name : `{${segment(name, depth + 1)},${segment(one(NAMES), depth + 1)}}`;
	case 7: return depth > 1 ? name : `${name}{,${one(['.bak', 'c', '/a'])}}`;
	case 8: return one(NAMES);
	default: return name;
	}
}

function pair() {
	const names = Array.from({ length: 1 + pick(4) }, () => one(NAMES));
	const pattern = names.flatMap((n) => {
		switch (pick(12)) {
		case 0: return [];
		case 1: return ['**', segment(n, 0)];
		case 2: return [segment(n, 0), segment(one(NAMES), 0)];
		default: return [segment(n, 0)];
		}
	});
	if (pick(3) === 0)
		pattern.push('**');
	return ['/' + (pattern.length ? pattern : ['*']).join('/'), '/' + names.join('/')];
}

// Where it departs from bash and from its own manual, and we do not follow: "**" at the very start
// wants a directory, "x*/**" does not match what "x*" does, "**" in {...} is never nothing, and
// [!a] is read as text.
const departs = (pattern) => /^\/\*\*|\*\/\*\*|\{[^/]*\*[^/]*\/\*\*|\{.*\*\*.*\}/.test(pattern);

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'compare-globs.'));
let text = '# pattern\tpath\tanswer of micromatch, dot: true (written by tools/compare-globs.js)\n';
try {
	execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', dir, 'micromatch@4.0.8'],
		{ stdio: ['ignore', 'ignore', 'inherit'] });
	const micromatch = require(path.join(dir, 'node_modules', 'micromatch'));
	const seen = new Set();
	while (seen.size < PAIRS) {
		const [pattern, name] = pair();
		if (departs(pattern))
			continue;
		const row = `${pattern}\t${name}\t${micromatch.isMatch(name, pattern, { dot: true }) ? 'yes' : 'no'}\n`;
		if (!seen.has(row))
			text += row;
		seen.add(row);
	}
} finally {
	fs.rmSync(dir, { recursive: true, force: true });
}
if (process.argv[2] === 'write') {
	fs.writeFileSync(TABLE, text);
} else {
	const old = fs.readFileSync(TABLE, 'utf8').split('\n');
	const now = text.split('\n');
	let bad = old.length === now.length ? 0 : 1;
	now.forEach((row, i) => {
		if (row !== old[i]) {
			bad++;
			console.log(`micromatch: ${row}\ntable:      ${old[i]}`);
		}
	});
	process.exit(bad === 0 ? 0 : 1);
}
