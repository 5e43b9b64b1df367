/*
 * Tables of --status, --history and --check.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"
#include "base/escape.h"
#include "base/exit.h"
#include "base/table.h"

/* "Select graphic rendition" of ECMA-48. */
static const char *const sgr[] = { "", "1", "2", "32", "1;31" };

bool
table_wants_colours(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) &&
	    (no_color == NULL || *no_color == '\0') &&
	    (term == NULL || strcmp(term, "dumb") != 0);
}

void
table_init(
    struct table *t, bool colours, int columns, const char *const titles[])
{
	memset(t, 0, sizeof(*t));
	t->columns = columns;
	t->colours = colours;
	table_row(t);
	for (int c = 0; c < columns; c++) {
		table_cell(t, 0, c, "%s", titles[c]);
		table_style(t, 0, c, STYLE_BOLD);
	}
}

void
table_release(struct table *t)
{
	free(t->rows);
	t->rows = NULL;
	t->nrows = 0;
}

size_t
table_row(struct table *t)
{
	/* Doubles when the number of rows reaches a power of two. */
	if ((t->nrows & (t->nrows - 1)) == 0)
		t->rows =
		    realloc(t->rows, (2 * t->nrows + 1) * sizeof(*t->rows));
	if (t->rows == NULL)
		die(EXIT_OS, "%s", strerror(errno));
	memset(&t->rows[t->nrows], 0, sizeof(*t->rows));
	return t->nrows++;
}

/* Widens the column of a cell that has been written. */
static void
widen(struct table *t, size_t row, int column)
{
	int width = escape_width(t->rows[row].text[column]);

	if (width > t->width[column])
		t->width[column] = width;
}

void
table_cell(struct table *t, size_t row, int column, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->rows[row].text[column], TABLE_CELL, fmt, ap);
	va_end(ap);
	widen(t, row, column);
}

void
table_text(
    struct table *t, size_t row, int column, const char *text, size_t len)
{
	escape_text(t->rows[row].text[column], TABLE_CELL, text, len);
	widen(t, row, column);
}

void
table_style(struct table *t, size_t row, int column, enum style style)
{
	t->rows[row].style[column] = style;
}

/* Prints a row without trailing blanks. */
static void
print_row(FILE *out, const struct table *t, const struct row *row)
{
	int last = t->columns - 1;

	while (last > 0 && row->text[last][0] == '\0')
		last--;
	for (int c = 0; c <= last; c++) {
		if (t->colours && row->style[c] != STYLE_PLAIN)
			fprintf(out, "\033[%sm%s\033[0m", sgr[row->style[c]],
			    row->text[c]);
		else
			fputs(row->text[c], out);
		if (c < last)
			fprintf(out, "%*s",
			    t->width[c] + 2 - escape_width(row->text[c]), "");
	}
	putc('\n', out);
}

void
table_print(FILE *out, const struct table *t, size_t from, size_t to)
{
	for (size_t r = from; r < to; r++)
		print_row(out, t, &t->rows[r]);
}
