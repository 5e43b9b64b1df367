/*
 * A server's reply to one request: how the rest of the program reads it, and
 * what it may cost.
 */
#ifndef REPLY_H
#define REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLY_MAX (1024 * 1024) /* bytes of memory, at most */

enum reply_kind {
	REPLY_OK,     /* the result */
	REPLY_ERROR,  /* an error: LOADING, READONLY, OOM, ... */
	REPLY_DENIED, /* NOAUTH, WRONGPASS, NOPERM */
	REPLY_LOST    /* the connection was lost first */
};

/* Valid only inside the callback that gets it. */
struct reply {
	enum reply_kind kind;
	int tag;           /* the request's */
	int64_t sent_ms;   /* when the request was handed over to be sent */
	const char *text;  /* the error, unless REPLY_OK */
	const void *value; /* see reply_int() and the like */
	size_t size;       /* bytes of memory that it takes, at least */
};

/*
 * The i-th element of a reply that is an array: an integer (0 if it is none),
 * a string (NULL if it is none; *len may be NULL), a nested array's elements
 * counted and taken by reply_sub().
 */
long long reply_int(const struct reply *, size_t i);
const char *reply_string(const struct reply *, size_t i, size_t *len);
struct reply reply_sub(const struct reply *, size_t i);
size_t reply_count(const struct reply *);

/* A reply that is a string, or NULL if it is none. */
const char *reply_text(const struct reply *);

/* A reply that is an integer itself; 0 if it is none. */
long long reply_number(const struct reply *);

struct pending;
struct redisReader;

/* What the reply that is being parsed may cost. */
struct reply_budget {
	const struct pending *requests; /* a reply without one is refused */
	size_t left;                    /* bytes of memory */
};

/*
 * From now on the reader parses only replies to these requests, none of them
 * larger than REPLY_MAX.  Both stay in place for as long as the reader does.
 */
void reply_limit(struct reply_budget *, const struct pending *requests,
    struct redisReader *);

/* The bytes of memory that the reply which was parsed last takes, at least. */
size_t reply_cost(const struct reply_budget *);

#endif
