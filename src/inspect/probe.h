/*
 * What --check finds out about each server: what it says of itself, its clock,
 * how long an answer takes, and what the user may do.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "inspect/query.h"
#include "redis/conn.h"

#define PROBE_WORD    40
#define PROBE_UNKNOWN INT64_MIN

/* Of one server.  The texts are its own words, not fit for a terminal yet. */
struct probe {
	const struct address *address;
	enum reply_kind failure; /* REPLY_OK: it has answered all */
	char why[CONN_WHY];
	bool informed; /* so that the following is known */
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
	bool appends;          /* it keeps an append-only file, */
	bool saves;            /* or has saved a snapshot since it started */
	char silent[CONN_WHY]; /* why it is not informed */
	int64_t rtt_us;        /* the shortest; -1: unknown */
	int64_t offset_us;     /* its clock less ours, or PROBE_UNKNOWN */
	uint32_t denied;       /* a bit for each of rights, */
	uint32_t unknown;      /* and for those that it does not have */
	int denied_patterns;   /* PATTERN_LOCK, PATTERN_BESIDE */
	bool tried_patterns;   /* a command with a key was allowed */
	char unable
	    [CONN_WHY]; /* why it serves no commands now; empty: it does */
	int left;       /* questions of the clock to be asked */
	int64_t sent_us;
	int64_t sent_wall_us;
};

/*
 * Asks the servers of a query, and fills probes, one a server; they stay in
 * place while the query does.
 */
void probe_servers(struct probe *, struct query *);

/* Reads what INFO answered; false if that makes no sense. */
bool probe_read_info(struct probe *, const char *info);

/* Notes what a server said when right i was tried with that pattern's key. */
void probe_tried(
    struct probe *, int i, int pattern, enum reply_kind, const char *error);

#endif
