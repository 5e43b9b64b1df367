/*
 * Tables of --status, --history and --check.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/table.h"
#include "base/xalloc.h"

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

/* Returns the columns of the terminal on standard output; 0: no limit. */
static int
terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == -1)
		return 0;
	return size.ws_col;
}

void
table_init(struct table *t, bool colours, int columns,
    const char *const titles[])
{
	memset(t, 0, sizeof(*t));
	t->columns = columns;
	t->colours = colours;
	t->limit = terminal_width();
	table_row(t);
	for (int c = 0; c < columns; c++) {
		table_cell(t, 0, c, "%s", titles[c]);
		table_style(t, 0, c, STYLE_BOLD);
	}
}

/* Removes the rows from `from` on. */
static void
drop_rows(struct table *t, size_t from)
{
	for (size_t r = from; r < t->nrows; r++)
		for (int c = 0; c < t->columns; c++)
			free(t->rows[r].text[c]);
	t->nrows = from;
}

void
table_clear(struct table *t)
{
	drop_rows(t, 1);
}

void
table_release(struct table *t)
{
	drop_rows(t, 0);
	free(t->rows);
	t->rows = NULL;
}

size_t
table_row(struct table *t)
{
	/* Doubles when the number of rows reaches a power of two. */
	if ((t->nrows & (t->nrows - 1)) == 0)
		t->rows =
		    xreallocarray(t->rows, 2 * t->nrows + 1, sizeof(*t->rows));
	memset(&t->rows[t->nrows], 0, sizeof(*t->rows));
	return t->nrows++;
}

void
table_text(struct table *t, size_t row, int column, const char *text)
{
	char safe[TABLE_CELL];
	int width;

	escape_text(safe, sizeof(safe), text, strlen(text));
	width = escape_width(safe);
	free(t->rows[row].text[column]);
	t->rows[row].text[column] = xstrdup(safe);
	if (width > t->width[column] && !t->fixed)
		t->width[column] = width;
}

void
table_cell(struct table *t, size_t row, int column, const char *fmt, ...)
{
	char text[TABLE_CELL];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	table_text(t, row, column, text);
}

void
table_style(struct table *t, size_t row, int column, enum style style)
{
	t->rows[row].style[column] = (unsigned char)style;
}

static const char *
text_of(const struct row *row, int column)
{
	return row->text[column] == NULL ? "" : row->text[column];
}

/* A narrower cell tells nothing. */
#define CELL_LEAST 4

/* Returns by how much a whole row is too long for the terminal. */
static int
excess_of(const struct table *t)
{
	int excess = -2 - t->limit;

	for (int c = 0; c < t->columns; c++)
		excess += t->width[c] > 0 ? t->width[c] + 2 : 0;
	return t->limit > 0 && excess > 0 ? excess : 0;
}

void
table_narrow(struct table *t, const struct table_step *steps, int n)
{
	t->fixed = true;
	for (int i = 0; i < n; i++) {
		int c = steps[i].column, least = steps[i].least, width;

		if (c >= t->columns || excess_of(t) == 0)
			continue;
		width = t->width[c] - excess_of(t);
		if (width < (least > 0 ? least : CELL_LEAST))
			width = least;
		if (width < t->width[c])
			t->width[c] = width;
	}
}

/* Prints a cell, cut to so many columns.  Returns how many it takes. */
static int
print_cell(FILE *out, const char *text, const char *colour, int room)
{
	int used = 0, columns;
	size_t n;

	if (colour[0] != '\0')
		fprintf(out, "\033[%sm", colour);
	for (; *text != '\0'; text += n, used += columns) {
		n = escape_step(text, &columns);
		if (used + columns > room)
			break;
		fwrite(text, 1, n, out);
	}
	if (colour[0] != '\0')
		fputs("\033[0m", out);
	return used;
}

/* Prints a cell, cut to its column with ">" at the end. */
static int
print_in_column(FILE *out, const struct table *t, const struct row *row,
    int column, int room)
{
	const char *text = text_of(row, column);
	const char *colour = t->colours ? sgr[row->style[column]] : "";
	int width = t->width[column], used;

	if (escape_width(text) <= width || room <= width)
		return print_cell(out, text, colour,
		    room < width ? room : width);
	used = print_cell(out, text, colour, width - 1);
	putc('>', out);
	return used + 1;
}

/* Returns the columns of a row, without trailing blanks. */
static int
row_width(const struct table *t, const struct row *row, int last)
{
	int width = escape_width(text_of(row, last));

	if (width > t->width[last])
		width = t->width[last];
	for (int c = 0; c < last; c++)
		width += t->width[c] > 0 ? t->width[c] + 2 : 0;
	return width;
}

/*
 * Prints a row without trailing blanks and empty columns.  On a terminal, a row
 * that is too long is cut and ends in ">".
 */
static void
print_row(FILE *out, const struct table *t, const struct row *row)
{
	int last = t->columns - 1, room = INT_MAX, used = 0, end;
	bool cut;

	while (last > 0 &&
	    (text_of(row, last)[0] == '\0' || t->width[last] == 0))
		last--;
	cut = t->limit > 0 && row_width(t, row, last) > t->limit;
	if (cut)
		room = t->limit - 1;
	for (int c = 0; c <= last && used < room; c++) {
		if (t->width[c] == 0)
			continue;
		end = used + t->width[c] + 2;
		used += print_in_column(out, t, row, c, room - used);
		for (; c < last && used < end && used < room; used++)
			putc(' ', out);
	}
	fputs(cut ? ">\n" : "\n", out);
}

void
table_print(FILE *out, const struct table *t, size_t from, size_t to)
{
	for (size_t r = from; r < to; r++)
		print_row(out, t, &t->rows[r]);
}
