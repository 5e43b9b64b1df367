/*
 * The value of a lock: who holds it.
 *
 *	redlock-run/2 token=UUID try=N since=MS pid=N host=H user=U command=C
 *	    ttl=MS [slots=N] [message=M]
 *
 * The id, up to and with the blank after try, says whose it is and is all
 * that the scripts compare; since is put in by the server, in its own time.
 * Fields are percent-encoded, so a blank always ends one.  A lock in
 * cooldown has "cooldown " before that.  Readable with redis-cli GET; never
 * more of COMMAND than the base name of its argv[0], since arguments hold
 * secrets.
 */
#ifndef OWNER_H
#define OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OWNER_TOKEN   37
#define OWNER_ID      80
#define OWNER_FIELD   128
#define OWNER_MESSAGE 201
#define OWNER_DETAILS 2048
#define OWNER_WHAT    (OWNER_FIELD + OWNER_MESSAGE + 2)
#define OWNER_WHO     768
#define OWNER_BY      (2 * OWNER_FIELD)

struct owner {
	char token[OWNER_TOKEN];
	char host[OWNER_FIELD];
	char user[OWNER_FIELD];
	char command[OWNER_FIELD];
	pid_t pid;
	int64_t since_ms; /* the server's wall clock; of a parsed one only */
	bool in_cooldown;
	int slots;      /* how many there are; 0: it has the lock alone */
	int64_t ttl_ms; /* of its lease; 0: unknown */
	char message[OWNER_MESSAGE]; /* the user's own; empty: none */
};

/*
 * Makes this run's owner: a new token, this process, this host, this user,
 * the base name of argv0, and the number of slots, if it is one of several.
 */
void owner_init(struct owner *, const char *argv0, int slots);

/* Whether text is a token as owner_init() makes them. */
bool owner_is_token(const char *text);

/*
 * Writes the id of this owner's attempt, or, if that is 0, what the ids of all
 * its attempts begin with.  Returns buf.
 */
char *owner_id(const struct owner *, unsigned int attempt, char buf[OWNER_ID]);

/* Writes what follows since in the value.  Returns buf. */
char *owner_details(const struct owner *, char buf[OWNER_DETAILS]);

/*
 * Reads a lock's value of len bytes.  Returns 0, or -1 if it is not one of
 * ours (another kind of client's); *o is then zeroed.
 */
int owner_parse(struct owner *o, const char *value, size_t len);

/*
 * Returns whether the value is that of a grant which the waiter has not
 * confirmed yet; its lease is then short.
 */
bool owner_is_unconfirmed(const char *value, size_t len);

/*
 * Writes "by=USER@HOST", as the history names whoever broke a lock.  Returns
 * buf.
 */
char *owner_by(const struct owner *, char buf[OWNER_DETAILS]);

/*
 * Reads "by=USER@HOST" at the end of text, which may be NULL, into buf; "" if
 * that is not there.
 */
void owner_read_by(char buf[OWNER_BY], const char *text, size_t len);

/*
 * For how long it has had the lock when the server's clock says now_us; 0 if it
 * has it since a later time.
 */
int64_t owner_age_ms(const struct owner *, int64_t now_us);

/* Writes "backup.sh", or with a message "backup.sh: MESSAGE".  Returns buf. */
char *owner_what(char buf[OWNER_WHAT], const struct owner *);

/*
 * Writes "deploy@web1 pid 4242 (backup.sh)", or for a value of another kind of
 * client, which leaves the owner zeroed, "another client (its value)".  Returns
 * buf.
 */
char *owner_who(
    char buf[OWNER_WHO], const struct owner *, const char *value, size_t len);

#endif
