/* Messages about servers that have failed. */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>

#include "inspect/query.h"

/*
 * Prints a message if the server has failed.  If the user lacks a permission,
 * it names, for a mode that only asks, those that are missing; for others all
 * that a run needs.  report_servers() does so for each server, stores in
 * *failures how many have failed, and returns query_status().
 */
void report_server(struct query_server *, bool asks);
int report_servers(struct query *, bool asks, int *failures);

#endif
