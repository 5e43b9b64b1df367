/*
 * The real lock on a simulated clock and among simulated servers, for the tests
 * of the simulation.
 */
#ifndef WORLD_H
#define WORLD_H

#define clock_now_ms  made_up_now_ms
#define clock_wall_us made_up_wall_us

/* Two tests name a server twice; it need not be said. */
#include "base/log.h"
#define warn info

#include "../../src/lock/server_reply.c"
#include "../../src/lock/grant.c"
#include "../../src/lock/notice.c"
#include "../../src/lock/server_key.c"
#include "../../src/lock/server_next.c"
#include "../../src/lock/server_send.c"
#include "../../src/lock/server.c"
#include "../../src/lock/lock.c"
#include "../../src/lock/explain.c"
#include "../../src/lock/votes.c"
#include "../../src/lock/acquire.c"
#include "../../src/lock/release.c"
#include "../../src/lock/trust.c"
#include "../../src/lock/duplicate.c"
#include "../../src/lock/locks.c"
#include "servers.h"

#endif
