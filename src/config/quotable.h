/* Words of the user in a message. */
#ifndef QUOTABLE_H
#define QUOTABLE_H

/*
 * Returns the word as an error may quote it: masked, since users may type a URL
 * in any place by mistake.  Valid until the next call.
 */
const char *quotable(const char *word);

#endif
