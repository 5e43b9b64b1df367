/* The permissions that the server's user needs. */
#ifndef ACL_H
#define ACL_H

#include <stdbool.h>
#include <stdint.h>

#define ACL_TEXT    2560
#define RIGHTS      31
#define RIGHT_WORDS 7

/*
 * A command that we or our scripts send. redlock-run.conf(5) lists the same
 * commands.
 */
struct right {
	const char *command; /* without the + of ACL SETUSER */
	/*
	 * A call that changes nothing: it fails, but only after the server has
	 * checked the permission, or it finds nothing to do.  "KEY" stands for
	 * a key that does not exist.
	 */
	const char *words[RIGHT_WORDS];
	/*
	 * What is missing without it; empty: nothing, NULL: locks are
	 * impossible.
	 */
	const char *without;
	bool asks; /* --status, --history and --metrics need it */
};

enum {
	RIGHT_EVAL = 0, /* others may be tried by a script */
	RIGHT_WAIT = RIGHTS - 3,
	RIGHT_HELLO, /* the last two are for pushes */
	RIGHT_TRACKING
};

/* A set of commands is a number with their bits. */
extern const struct right rights[RIGHTS];

#define RIGHT_BIT(i) (UINT32_C(1) << (i))
#define RIGHTS_ALL   (RIGHT_BIT(RIGHTS) - 1)
#define RIGHTS_PUSH  (RIGHT_BIT(RIGHT_HELLO) | RIGHT_BIT(RIGHT_TRACKING))

/* Key patterns: one for the lock's own key, one for its auxiliary keys. */
enum { PATTERN_LOCK = 1, PATTERN_BESIDE = 2, PATTERN_ALL = 3 };

/*
 * Writes the key patterns and commands for locks with that prefix, of at most
 * LOCK_NAME bytes, as words for ACL SETUSER.  Returns dst.
 */
char *acl_text(char dst[ACL_TEXT], const char *prefix);

/* Like acl_text(), for only those patterns and commands. */
char *acl_part(char dst[ACL_TEXT], const char *prefix, int patterns,
    uint32_t commands);

/* Writes the names of commands, such as "eval, get".  Returns dst. */
char *acl_names(char dst[ACL_TEXT], uint32_t commands);

/*
 * Return the commands without which locks are impossible; that modes need which
 * only ask; without which nothing is missing.
 */
uint32_t acl_needed(uint32_t commands);
uint32_t acl_asking(uint32_t commands);
uint32_t acl_idle(uint32_t commands);

#endif
