/*
 * The owner value: the content of a lock's key.
 *
 *	redlock-run/2 token=UUID try=N since=MS pid=N host=H user=U command=C
 *	    ttl=MS [lease=MS] [hold=MS] [start=TICKS] [slots=N] [version=V]
 *	    [message=M]
 *
 * The id, up to and including the blank after try, identifies the attempt, and
 * the scripts compare nothing else.  The server fills in since, by its own
 * clock.  Fields are percent-encoded, so a blank always ends one.  In cooldown
 * the value begins with "cooldown ".  It is readable with redis-cli GET.  Of
 * COMMAND it contains only the base name of argv[0], since arguments may be
 * secrets.
 *
 * Other versions write another number, and perhaps another state in front, more
 * fields, or the fields in another order.  Readers need only the head, up to
 * since, and find the fields by name.
 */
#ifndef OWNER_H
#define OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OWNER_FORMAT  "redlock-run/2" /* that we write */
#define OWNER_TOKEN   37
#define OWNER_VERSION 32
#define OWNER_ID      80
#define OWNER_FIELD   128
#define OWNER_MESSAGE 201
#define OWNER_DETAILS 2048
#define OWNER_WHAT    (OWNER_FIELD + OWNER_MESSAGE + 2)
#define OWNER_WHO     768
#define OWNER_BY      (2 * OWNER_FIELD)
#define OWNER_PID     12

struct owner {
	char token[OWNER_TOKEN];
	char host[OWNER_FIELD]; /* "?": cannot be read, as in the next two */
	char user[OWNER_FIELD];
	char command[OWNER_FIELD];
	pid_t pid;        /* 0: unknown */
	int64_t since_ms; /* the server's wall clock; only of a parsed value */
	bool in_cooldown;
	int slots;           /* capacity of the lock; 0: it has no slots */
	int64_t ttl_ms;      /* of its longest lease; 0: unknown */
	int64_t lease_ms;    /* --ttl; 0: that is the longest */
	int64_t hold_ms;     /* --min-hold: the longest cooldown; 0: none */
	int64_t start_ticks; /* when pid started, since boot; 0: unknown */
	char version[OWNER_VERSION]; /* of its redlock-run; empty: unknown */
	char message[OWNER_MESSAGE]; /* the user's own; empty: none */
};

/*
 * Makes this run's owner: a new token, this process, host and user, and the
 * base name of argv0. slots is the capacity of a lock with slots, else 0.
 */
void owner_init(struct owner *, const char *argv0, int slots);

/* Whether the owner's host has the name of this one. */
bool owner_on_this_host(const struct owner *);

/* Whether text has the form of a token. */
bool owner_is_token(const char *text);

/*
 * Writes the id of this owner's attempt or, if attempt is 0, the common
 * beginning of the ids of all its attempts.  Returns buf.
 */
char *owner_id(const struct owner *, unsigned int attempt, char buf[OWNER_ID]);

/* Writes the part of the value after since.  Returns buf. */
char *owner_details(const struct owner *, char buf[OWNER_DETAILS]);

/* Returns the length of such details up to command, which name the run. */
size_t owner_head(const char *details);

/*
 * Reads a lock's value of len bytes, of any version.  Returns 0, or -1 if another
 * kind of client wrote it; *o is then zeroed.
 */
int owner_parse(struct owner *o, const char *value, size_t len);

/*
 * Returns whether the value is a grant that its waiter has not confirmed yet.
 * Such a lease is short.
 */
bool owner_is_unconfirmed(const char *value, size_t len);

/*
 * Writes "by=USER@HOST", the history's name for a user who broke a lock.
 * Returns buf.
 */
char *owner_by(const struct owner *, char buf[OWNER_DETAILS]);

/*
 * Reads the field "by=USER@HOST" of text, which may be NULL, into buf; "" if it
 * is absent.
 */
void owner_read_by(char buf[OWNER_BY], const char *text, size_t len);

/*
 * Returns for how long the owner has had the lock at now_us of the server's
 * clock, at least 0.
 */
int64_t owner_age_ms(const struct owner *, int64_t now_us);

/*
 * Returns the length of the lease that is due after age_ms, by --ttl and
 * --max-ttl; 0: unknown.
 */
int64_t owner_lease_ms(const struct owner *, int64_t age_ms);

/* Returns for how long a server may have to keep the lock; 0: unknown. */
int64_t owner_longest_ms(const struct owner *);

/* Writes "backup.sh", or with a message "backup.sh: MESSAGE".  Returns buf. */
char *owner_what(char buf[OWNER_WHAT], const struct owner *);

/* Writes the pid, or "?" if it is unknown.  Returns buf. */
char *owner_pid(char buf[OWNER_PID], const struct owner *);

/*
 * Writes "deploy@web1 pid 4242 (backup.sh)".  For the value of another kind of
 * client, which leaves the owner zeroed, writes "another client (its value)".
 * Returns buf.
 */
char *owner_who(char buf[OWNER_WHO], const struct owner *, const char *value,
    size_t len);

#endif
