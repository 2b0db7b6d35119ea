// SPDX-License-Identifier: LGPL-2.1-or-later
// The same as harness.py, in Node.
'use strict';
const { spawn } = require('node:child_process');
const { readFileSync } = require('node:fs');

const AT_ONCE = 4;

function call(argv) {
	return new Promise((resolve, reject) => {
		const child = spawn(argv[0], argv.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
		const out = [], err = [];
		child.stdout.on('data', (data) => out.push(data));
		child.stderr.on('data', (data) => err.push(data));
		child.on('error', reject);
		child.on('close', (code, signal) =>
			resolve({ code, signal, stdout: Buffer.concat(out), stderr: Buffer.concat(err) }));
	});
}

function keysOf(object) {
	return Object.keys(object).sort().join(' ');
}

function wrong(c, done, keys) {
	const text = done.stdout.toString('utf8');
	if (done.code !== c.rc) return `status ${done.code} ${done.signal}: ${text} ${done.stderr}`;
	if (!text.endsWith('\n') || text.split('\n').length !== 2) return `no single line: ${text}`;
	const o = JSON.parse(text);
	if (keysOf(o) !== keys) return `other keys: ${keysOf(o)}`;
	if (o.rc !== c.rc || o.status !== c.status) return `rc ${o.rc}, ${o.status}`;
	if (o.started !== c.started || (o.exit_code !== null) !== (o.status === 'exited'))
		return `started ${o.started}, exit_code ${o.exit_code}`;
	if ((o.error !== null) !== c.error) return `error ${JSON.stringify(o.error)}`;
	const output = Buffer.from(o.output, o.encoding === 'base64' ? 'base64' : 'utf8');
	if ('output' in c && !output.equals(Buffer.from(c.output, 'latin1')))
		return `output ${o.output}`;
	if (done.stderr.toString().split('\n').some((l) => l !== '' && !l.startsWith('agentbox: ')))
		return `standard error ${done.stderr}`;
	return null;
}

function quote(word) {
	return `'${word.replaceAll("'", "'\\''")}'`;
}

async function main() {
	const table = JSON.parse(readFileSync(process.argv[2], 'utf8'));
	const calls = Number(process.argv[3]);
	const keys = keysOf(JSON.parse((await call(table.argv.concat(table.cases[0].args))).stdout));
	const faults = new Map(table.cases.map((c) => [c.name, []]));
	let next = 0;
	async function worker() {
		while (next < calls) {
			const c = table.cases[next++ % table.cases.length];
			const fault = wrong(c, await call(table.argv.concat(c.args)), keys);
			if (fault !== null) faults.get(c.name).push(fault);
		}
	}
	await Promise.all(Array.from({ length: AT_ONCE }, worker));
	for (const [name, found] of faults) {
		console.log(`${found.length === 0 ? 'ok' : 'not ok'} - node: ${name}`);
		for (const fault of found.slice(0, 2)) console.log(`#   ${fault}`);
	}
	for (const script of table.wrapped) {
		const outside = await call(['sh', '-c', script]);
		const inside = await call(
			['sh', '-c', `${table.prefix.map(quote).join(' ')} ${quote(script)}`]);
		const same = outside.code === inside.code && outside.stdout.equals(inside.stdout);
		console.log(`${same ? 'ok' : 'not ok'} - node: one string: ${JSON.stringify(script)}`);
	}
}

main();
