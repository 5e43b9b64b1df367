/*
 * What --check measures on each server: its INFO, its clock, its round trip and
 * the rights of our user.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "inspect/query.h"
#include "redis/conn.h"

#define PROBE_WORD    40
#define PROBE_UNKNOWN INT64_MIN

/* One server.  Its texts are copied from replies and not yet escaped. */
struct probe {
	const struct address *address;
	enum reply_kind failure; /* REPLY_OK: it replied to everything */
	char why[CONN_WHY];
	bool informed; /* INFO was readable, up to saves */
	bool valkey;
	char version[PROBE_WORD];
	char mode[PROBE_WORD]; /* standalone, sentinel, cluster */
	char role[PROBE_WORD]; /* master, slave */
	char master[ADDRESS_HOST];
	int64_t master_port;
	char run_id[INFO_RUN_ID]; /* empty: unknown */
	char policy[PROBE_WORD];  /* of eviction */
	int64_t limit_bytes;      /* maxmemory; 0: none */
	int64_t used_bytes;
	int64_t uptime_ms; /* whole seconds; -1: unknown */
	bool loading;
	bool cluster;
	bool appends;          /* it keeps an append-only file */
	bool saves;            /* it has saved a snapshot since it started */
	char silent[CONN_WHY]; /* why INFO was not */
	int64_t rtt_us;        /* the shortest; -1: unknown */
	int64_t offset_us;     /* its clock less ours, or PROBE_UNKNOWN */
	uint32_t denied;       /* RIGHT_BIT() of commands that ACL denies us */
	uint32_t unknown;    /* RIGHT_BIT() of commands that it does not have */
	int denied_patterns; /* PATTERN_LOCK, PATTERN_BESIDE */
	bool tried_patterns; /* a command with a key was allowed */
	char unable
	    [CONN_WHY]; /* why it serves no commands now; empty: it does */
	int left;       /* TIME requests to be sent */
	int64_t sent_us;
	int64_t sent_wall_us;
};

/*
 * Probes each server of a query; probes has a member for each, and must outlive
 * the query.
 */
void probe_servers(struct probe *, struct query *);

/* Reads a reply to INFO; returns false if it is malformed. */
bool probe_read_info(struct probe *, const char *info);

/*
 * Records the reply to the command of right i, tried with a key that fits the
 * pattern.
 */
void probe_tried(
    struct probe *, int i, int pattern, enum reply_kind, const char *error);

#endif
