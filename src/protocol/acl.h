/* What a user of the server has to be permitted. */
#ifndef ACL_H
#define ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACL_TEXT    2560
#define RIGHTS      28
#define RIGHT_WORDS 7

/*
 * A command that we and our scripts send.  The same are in the man page and in
 * README.md.
 */
struct right {
	const char *command; /* as ACL SETUSER has it, without the + */
	/*
	 * The command in a form that changes nothing: it fails, but only after
	 * its permission has been looked at, or it finds nothing to do.  "KEY"
	 * stands for a key that does not exist.
	 */
	const char *words[RIGHT_WORDS];
	/* What is so without it; empty: nothing, NULL: there are no locks. */
	const char *without;
};

/* A set of them is a number with their bits. */
extern const struct right rights[RIGHTS];

#define RIGHT_BIT(i) (UINT32_C(1) << (i))
#define RIGHTS_ALL   (RIGHT_BIT(RIGHTS) - 1)

/* Key patterns: the lock's own key, and those beside it. */
enum { PATTERN_LOCK = 1, PATTERN_BESIDE = 2, PATTERN_ALL = 3 };

/*
 * Writes key patterns and commands for locks with that prefix, of at most
 * LOCK_NAME bytes, as words for ACL SETUSER.  Returns dst.
 */
char *acl_text(char dst[ACL_TEXT], const char *prefix);

/* The same with those patterns and commands alone. */
char *acl_part(
    char dst[ACL_TEXT], const char *prefix, int patterns, uint32_t commands);

/* Writes the names of commands, as "eval, get".  Returns dst. */
char *acl_names(char dst[ACL_TEXT], uint32_t commands);

/* Those of commands without which there are no locks; without which nothing. */
uint32_t acl_needed(uint32_t commands);
uint32_t acl_idle(uint32_t commands);

#endif
