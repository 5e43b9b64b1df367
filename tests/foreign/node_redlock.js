/*
 * node_redlock.js VERSION hold KEY TTL_MS FILE SOCKET...
 * node_redlock.js VERSION count KEY TTL_MS FILE SOCKET...
 *
 * A client that locks KEY with node-redlock, VERSION 4 or 5, on the servers
 * behind the SOCKETs; it works like redis_py.
 */
"use strict";

const fs = require("fs");
const path = require("path");
const modules = path.join(__dirname, "../../build/node/node_modules");
const Redis = require(path.join(modules, "ioredis"));

const [version, task, key, ttl, file, ...sockets] = process.argv.slice(2);
const ttlMs = Number(ttl);
const clients = sockets.map((socket) => {
	const client = new Redis({ path: socket, username: "admin",
		password: "x", maxRetriesPerRequest: 0, retryStrategy: null });
	client.on("error", () => {});
	return client;
});
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/* Both versions throw where the lock is taken, and where it is ours no more. */
function locker() {
	const Redlock = require(path.join(modules, "redlock" + version));
	const settings = { retryCount: 0, automaticExtensionThreshold: 0 };
	if (version === "4") {
		const redlock = new Redlock(clients, settings);
		return {
			acquire: () => redlock.lock(key, ttlMs),
			extend: (lock) => lock.extend(ttlMs),
			release: (lock) => lock.unlock(),
		};
	}
	const redlock = new Redlock.default(clients, settings);
	redlock.on("error", () => {});
	return {
		acquire: () => redlock.acquire([key], ttlMs),
		extend: (lock) => lock.extend(ttlMs),
		release: (lock) => lock.release(),
	};
}

async function hold() {
	const redlock = locker();
	let lock;
	try {
		lock = await redlock.acquire();
	} catch {
		console.log("busy");
		return;
	}
	console.log("held");
	while (!fs.existsSync(file)) {
		await sleep(20);
		if (ttlMs >= 1000 && Date.now() > lock.expiration - ttlMs / 2)
			lock = await redlock.extend(lock);
	}
	try {
		await redlock.release(lock);
		console.log("released");
	} catch {
		console.log("lost");
	}
}

/*
 * Version 5 keeps the votes of an attempt that failed, and when it tries again it
 * takes them for another's, until they expire.  So each attempt stands alone.
 */
async function acquire(redlock) {
	for (;;) {
		try {
			return await redlock.acquire();
		} catch {
			await sleep(20 + 20 * Math.random());
		}
	}
}

async function count() {
	const redlock = locker();
	for (let i = 0; i < 10; i++) {
		const lock = await acquire(redlock);
		const n = Number(fs.readFileSync(file));
		await sleep(10);
		fs.writeFileSync(file, `${n + 1}\n`);
		await redlock.release(lock);
	}
	console.log("counted");
}

(task === "hold" ? hold() : count()).catch((error) => {
	console.log("failed: " + error);
	process.exitCode = 1;
}).finally(() => clients.forEach((client) => client.disconnect()));
