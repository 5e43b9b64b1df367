/*
 * The measurements of --check on each server: INFO, the clock, the round trip
 * and the rights of our user.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "inspect/query.h"
#include "protocol/acl.h"
#include "redis/conn.h"

#define PROBE_WORD    40
#define PROBE_UNKNOWN INT64_MIN

/* A measurement of the clock and the round trip, by TIME. */
struct probe_sample {
	int64_t sent_us;
	int64_t sent_wall_us;
	int left; /* requests still to be sent */
};

/* One server.  Its texts are copied from replies and must be escaped. */
struct probe {
	const struct address *address;
	int64_t master_port;
	int64_t limit_bytes; /* maxmemory; 0: none */
	int64_t used_bytes;
	int64_t uptime_ms; /* whole seconds; -1: unknown */
	int64_t rtt_us;    /* the shortest; -1: unknown */
	int64_t offset_us; /* its clock less ours, or PROBE_UNKNOWN */
	struct probe_sample sample;
	enum reply_kind failure; /* REPLY_OK: all replies arrived */
	uint32_t tries;          /* RIGHT_BIT() of commands to be tried */
	uint32_t denied;     /* RIGHT_BIT() of commands that the ACL denies */
	uint32_t unknown;    /* RIGHT_BIT() of commands that the server lacks */
	int denied_patterns; /* PATTERN_LOCK, PATTERN_BESIDE */
	bool tried_patterns; /* a command with a key was permitted */
	bool deaf;           /* our hiredis parses no pushes */
	bool closes;         /* it closes the connection at HELLO */
	bool informed;       /* INFO was readable, from version to saves */
	bool valkey;
	bool loading;
	bool cluster;
	bool appends; /* it writes an append-only file */
	bool saves;   /* it has saved snapshots of its own since its start */
	char version[PROBE_WORD];
	char mode[PROBE_WORD]; /* standalone, sentinel, cluster */
	char role[PROBE_WORD]; /* master, slave */
	char master[ADDRESS_HOST];
	char run_id[INFO_RUN_ID]; /* empty: unknown */
	char policy[PROBE_WORD];  /* for eviction */
	char fsync[PROBE_WORD];   /* appendfsync; empty: unknown */
	char why[CONN_WHY];
	char silent[CONN_WHY]; /* why INFO was not readable */
	char unable[CONN_WHY]; /* why it serves no commands now, or empty */
	char script[CONN_WHY]; /* why our scripts fail, or empty */
};

/*
 * Probes each server of a query. probes has an element for each, and must
 * outlive the query.
 */
void probe_servers(struct probe *, struct query *);

/* Reads a reply to INFO.  Returns false if it is malformed. */
bool probe_read_info(struct probe *, const char *info);

/* Records the reply to a trial of right i with a key that fits the pattern. */
void probe_tried(struct probe *, int i, int pattern, enum reply_kind,
    const char *error);

/*
 * Writes what the user of server i lacks of the key patterns and of these
 * commands, as words for ACL SETUSER; all of them if that cannot be found out.
 * Sends requests.  Returns rule.
 */
char *
probe_missing(struct query *, int i, uint32_t commands, char rule[ACL_TEXT]);

#endif
