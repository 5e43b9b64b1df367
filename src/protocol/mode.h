/* How a lock is used: in one of these ways at a time. */
#ifndef MODE_H
#define MODE_H

/*
 * Beside the mode goes a capacity: the number of slots of a LOCK_SLOTTED lock,
 * each of which one client may hold; 1 in the other modes.
 */
enum lock_mode {
	LOCK_EXCLUSIVE, /* one client holds it */
	LOCK_SHARED,    /* any number of clients share it */
	LOCK_SLOTTED
};

#endif
