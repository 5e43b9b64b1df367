/* The messages about a failed connection, for a user who knows only the URL. */
#ifndef CONN_WHY_H
#define CONN_WHY_H

#include "redis/conn.h"

/*
 * Copies to buf why a request or a connection failed, for a user who knows only
 * the URL: adds the server behind the URL, or the kind of URL that is
 * needed.  An explanation that is complete is copied as it is.  Returns buf.
 */
char *conn_why_failed(const struct conn *, const char *why, char buf[CONN_WHY]);

/*
 * Writes to buf how far the connection has come without a reply within that
 * time, and behind it the hint: "connected, but no reply within 300ms". No hint
 * where conn_close() adds the resolver or TLS.  Returns buf.
 */
char *conn_why_silent(const struct conn *, const char *within, const char *hint,
    char buf[CONN_WHY]);

#endif
