/*
 * Rows and columns for people: each column is as wide as its widest cell, with
 * colours on a terminal.  Every cell is escaped, so foreign text is as safe in it
 * as our own.
 */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/log.h"

#define TABLE_COLUMNS 12
#define TABLE_CELL    300

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_GOOD, STYLE_BAD };

struct table {
	int columns;
	bool colours;
	int limit; /* columns of the terminal; 0: no limit */
	int width[TABLE_COLUMNS];
	bool fixed;   /* cells no longer widen columns */
	size_t nrows; /* the first holds the titles */
	struct row {
		char *text[TABLE_COLUMNS]; /* NULL: empty */
		unsigned char style[TABLE_COLUMNS];
	} * rows;
};

/* Whether standard output is a terminal that shows colours; see NO_COLOR. */
bool table_wants_colours(void);

/* Prepares a table with these titles and no rows. table_release() frees it. */
void table_init(struct table *, bool colours, int columns,
    const char *const titles[]);
void table_release(struct table *);

/* Removes all rows but the titles.  The columns stay as wide as they are. */
void table_clear(struct table *);

/* Adds an empty row and returns its number.  Exits if memory is short. */
size_t table_row(struct table *);

/* Write a cell, as printf(3) does or from text; both escape all of it. */
void table_cell(struct table *, size_t row, int column, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void table_text(struct table *, size_t row, int column, const char *text);

void table_style(struct table *, size_t row, int column, enum style);

/*
 * Where rows are too long for the terminal, makes these columns narrower, one after
 * the other, as much as that needs and down to `least`; cells that are cut end in
 * ">", and a column of 0 is not shown.  A column may come twice, and one that the
 * table does not have is passed over.  Call it when all rows are in place: columns
 * no longer become wider.
 */
struct table_step {
	int column, least;
};
void table_narrow(struct table *, const struct table_step *, int n);

/*
 * Prints the rows from `from` (0 is the titles) up to but not including `to`.
 * Call it when all rows are in place, since any row may widen a column.
 * Rows are cut at the terminal's width and then end in ">".  ferror() reports a
 * failed write.
 */
void table_print(FILE *, const struct table *, size_t from, size_t to);

#endif
