/*
 * Passwords, all in one place, so that a process that needs none of them can
 * wipe them all.
 */
#ifndef SECRET_H
#define SECRET_H

#include <stddef.h>

/*
 * Keeps a copy of the len bytes of text, with a NUL behind it.  Ends the
 * program when memory is short, so call it only before COMMAND exists.  Returns
 * the copy, which is valid until secret_release().
 */
const char *secret_keep(const char *text, size_t len);

/* Overwrites and frees a copy, which may be NULL, that is not needed. */
void secret_drop(const char *text);

/*
 * Adds a text that others own and still need, such as a variable of the
 * environment; only secret_wipe() overwrites it.
 */
void secret_adopt(const char *text);

/* Overwrites all copies and all adopted texts in this process. */
void secret_wipe(void);

/* Overwrites and frees the copies, and forgets the adopted texts. */
void secret_release(void);

#endif
