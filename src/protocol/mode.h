/* The mode of a lock: it is used in one of these at a time. */
#ifndef MODE_H
#define MODE_H

/*
 * Each mode comes with a capacity: the number of slots of a LOCK_SLOTTED lock,
 * each for one client; 1 in the other modes.
 */
enum lock_mode {
	LOCK_EXCLUSIVE, /* one client holds it */
	LOCK_SHARED,    /* any number of clients share it */
	LOCK_SLOTTED
};

#endif
