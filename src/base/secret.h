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

/* Overwrites all copies in this process, which become empty. */
void secret_wipe(void);

/* Overwrites and frees them. */
void secret_release(void);

#endif
