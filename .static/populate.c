/*
 * .static/build adds this to musl's rcrt1.c, which begins a static PIE: all pages
 * that relocations will change are made writable by one system call, where each
 * would take a page fault.  OpenSSL's tables have 17000 relocations in 84 pages.
 * Before Linux 5.14 the call fails, and changes nothing.
 */
#include "syscall.h"

#define MADV_POPULATE_WRITE 23

extern hidden char __init_array_start[], edata[];

hidden void
_start_c(size_t *sp, size_t *dynv)
{
	size_t from = (size_t)__init_array_start & -4096;

	__syscall(SYS_madvise, from, (size_t)edata - from, MADV_POPULATE_WRITE);
	relocate(sp, dynv);
}
