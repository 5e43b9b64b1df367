/*
 * .static/build adds this to musl's rcrt1.c, which begins a static PIE.
 *
 * Before the relocations, all pages that they will change are made writable by one
 * system call, where each would take a page fault.  OpenSSL's tables have 17000
 * relocations in 84 pages.  Before Linux 5.14 the call fails, and changes nothing.
 *
 * After them, what needs no further change is made read-only (RELRO), as the dynamic
 * loader, which a static PIE lacks, does for other programs.
 */
#include <elf.h>

#include "syscall.h"

#define MADV_POPULATE_WRITE 23
#define READ_ONLY           1

extern hidden char __init_array_start[], edata[];

hidden void
_start_c(size_t *sp, size_t *dynv)
{
	size_t from = (size_t)__init_array_start & -4096;

	__syscall(SYS_madvise, from, (size_t)edata - from, MADV_POPULATE_WRITE);
	relocate(sp, dynv);
}

/* Only whole pages of relro, whose size on arm64 is the kernel's choice. */
static void
protect(size_t base, const Phdr *relro, size_t page)
{
	size_t from = (base + relro->p_vaddr) & -page;
	size_t to = (base + relro->p_vaddr + relro->p_memsz) & -page;

	if (to > from)
		__syscall(SYS_mprotect, from, to - from, READ_ONLY);
}

/* The auxiliary vector comes behind the arguments and the environment. */
hidden void
__dls2(unsigned char *base, size_t *sp)
{
	size_t *word = sp + 1 + *sp + 1, aux[AT_PAGESZ + 1] = { 0 };
	const Phdr *ph;

	while (*word++ != 0)
		continue;
	for (; word[0] != 0; word += 2)
		if (word[0] <= AT_PAGESZ)
			aux[word[0]] = word[1];
	ph = (const Phdr *)aux[AT_PHDR];
	for (; aux[AT_PHNUM]-- > 0;
	     ph = (const Phdr *)((const char *)ph + aux[AT_PHENT]))
		if (ph->p_type == PT_GNU_RELRO)
			protect((size_t)base, ph, aux[AT_PAGESZ]);
	start(base, sp);
}
