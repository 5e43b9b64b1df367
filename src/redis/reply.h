/* A server's reply to one request, and the limit on its size. */
#ifndef REPLY_H
#define REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLY_MAX (1024 * 1024) /* bytes of memory, at most */
#define PUSH_MAX  (16 * 1024)   /* the same for a push, which names one key */

enum reply_kind {
	REPLY_OK,     /* the result */
	REPLY_ERROR,  /* an error: LOADING, READONLY, OOM, ... */
	REPLY_DENIED, /* NOAUTH, WRONGPASS, NOPERM */
	REPLY_LOST    /* the connection was lost first */
};

/* Valid only inside the callback that receives it. */
struct reply {
	enum reply_kind kind;
	int tag;           /* of the request */
	int64_t sent_ms;   /* when link_send() took the request */
	const char *text;  /* the error, unless REPLY_OK */
	const void *value; /* see reply_int() and the like */
	size_t size;       /* bytes of memory that it takes, at least */
};

/*
 * Return the i-th element of a reply that is an array: an integer, 0 for any
 * other type; or a string, NULL for any other type, with its length in *len
 * unless len is NULL. reply_count() and reply_sub() are for nested arrays.
 */
long long reply_int(const struct reply *, size_t i);
const char *reply_string(const struct reply *, size_t i, size_t *len);
struct reply reply_sub(const struct reply *, size_t i);
size_t reply_count(const struct reply *);

/*
 * Returns a reply that is itself a string, also a verbatim one of RESP3, or NULL
 * for any other type.
 */
const char *reply_text(const struct reply *);

/* Returns a reply that is itself an integer, or 0 for any other type. */
long long reply_number(const struct reply *);

struct pending;
struct redisReader;

/* The limits on the reply that is being parsed. */
struct reply_budget {
	const struct pending *requests; /* a reply needs one of these */
	size_t left;                    /* bytes of memory */
	const char *refusal; /* why the parser was stopped; NULL: it was not */
	bool takes_pushes;   /* which need no request */
	bool is_push;        /* so is the one that is being parsed */
};

/*
 * From now on the reader parses only replies to these requests, none of them
 * larger than REPLY_MAX, and pushes once ->takes_pushes is set, none of them
 * larger than PUSH_MAX.  The budget and the requests must stay in place as long
 * as the reader.
 */
void reply_limit(struct reply_budget *, const struct pending *requests,
    struct redisReader *);

/* Call after each parsed reply: returns whether it is a push. */
bool reply_was_push(struct reply_budget *);

/* Returns why the reader has more unparsed bytes than it may, or NULL. */
const char *reply_excess(const struct reply_budget *, size_t unparsed);

/* Returns how many bytes of memory the last parsed reply takes, at least. */
size_t reply_cost(const struct reply_budget *);

#endif
