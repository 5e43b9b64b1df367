/* All of this output came from Redis, so all of it is escaped. */
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/escape.h"
#include "base/moment.h"
#include "base/table.h"
#include "base/xalloc.h"
#include "inspect/history_table.h"

#define PAGE          100 /* rows in memory at a time */
#define WIDEST        20  /* columns of the bar of the longest run, at most */
#define COMMAND_LEAST 12  /* columns of it, with the message of -m */
#define DAY_LEAST     11  /* columns of WHEN: the day, and ">" */
#define LOCK_LEAST    8   /* columns of the first one */

/* The columns; LOCK comes before them if there may be several locks. */
enum { WHEN, HOST, PID, COMMAND, WAITED, RAN, BAR, ENDED, COLUMNS };

struct page {
	struct table table;
	int first;   /* the index of WHEN */
	bool bars;   /* for people: standard output is a terminal */
	int widest;  /* columns of the bar of the longest run */
	bool blocks; /* the locale has block characters */
};

/* The names that kill(1) uses. */
static const char *const signal_names[] = { [SIGHUP] = "HUP",
	[SIGINT] = "INT",
	[SIGQUIT] = "QUIT",
	[SIGILL] = "ILL",
	[SIGTRAP] = "TRAP",
	[SIGABRT] = "ABRT",
	[SIGBUS] = "BUS",
	[SIGFPE] = "FPE",
	[SIGKILL] = "KILL",
	[SIGUSR1] = "USR1",
	[SIGSEGV] = "SEGV",
	[SIGUSR2] = "USR2",
	[SIGPIPE] = "PIPE",
	[SIGALRM] = "ALRM",
	[SIGTERM] = "TERM",
	[SIGXCPU] = "XCPU",
	[SIGXFSZ] = "XFSZ",
	[SIGVTALRM] = "VTALRM",
	[SIGPROF] = "PROF",
	[SIGIO] = "IO",
	[SIGPWR] = "PWR",
	[SIGSYS] = "SYS" };

/* Whether the terminal can be expected to show block characters. */
static bool
utf8_locale(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool utf8;

	if (locale == (locale_t)0)
		return false;
	utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
	freelocale(locale);
	return utf8;
}

static void
show_when(struct page *p, size_t row, int64_t wall_ms)
{
	char text[MOMENT_TEXT];

	if (moment_format(wall_ms, text)[0] != '\0')
		table_cell(&p->table, row, p->first + WHEN, "%s", text);
}

static void
show_duration(struct page *p, size_t row, int column, int64_t ms)
{
	char text[DURATION_TEXT];

	if (ms >= 0)
		table_cell(&p->table, row, p->first + column, "%s",
		    duration_format(ms, text));
}

/*
 * Writes a bar in proportion to the longest run, so that a slow night is
 * visible.
 */
static void
show_bar(struct page *p, size_t row, int64_t ms, int64_t longest)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊",
		"▉", "█" };
	char bar[4 * WIDEST + 1] = "";
	size_t used = 0;
	int n;

	if (ms <= 0 || !p->bars)
		return;
	n = (int)(8.0 * p->widest * (double)ms / (double)longest + 0.5);
	if (!p->blocks)
		n = (n + 4) / 8 * 8;
	for (; n > 0; n -= 8)
		used += (size_t)snprintf(bar + used, sizeof(bar) - used, "%s",
		    p->blocks ? eighths[n < 8 ? n : 8] : "#");
	table_cell(&p->table, row, p->first + BAR, "%s", bar);
}

/*
 * Writes COMMAND's exit status, the signal that killed it, or another ending.
 */
static void
show_ending(struct page *p, size_t row, const struct past_run *run)
{
	const int n = sizeof(signal_names) / sizeof(signal_names[0]);
	const char *name = record_ending_word(run->ending);
	int column = p->first + ENDED;
	char status[24];
	bool running = run->ending == ENDED_RUNNING;
	bool good =
	    running || (run->ending == ENDED_EXITED && run->status == 0);

	if (run->ending == ENDED_KILLED && run->signal < n && run->signal > 0 &&
	    signal_names[run->signal] != NULL)
		name = signal_names[run->signal];
	if (run->ending == ENDED_EXITED && run->status >= 0) {
		snprintf(status, sizeof(status), "%" PRId64, run->status);
		name = status;
	}
	if (run->released && name != NULL)
		table_cell(&p->table, row, column, "%s, released by %s", name,
		    run->broken_by);
	else if (run->broken_by[0] != '\0' && !good)
		table_cell(&p->table, row, column, "broken by %s (--break)",
		    run->broken_by);
	else if (name != NULL)
		table_cell(&p->table, row, column, "%s", name);
	table_style(&p->table, row, column,
	    running  ? STYLE_GOOD :
		good ? STYLE_PLAIN :
		       STYLE_BAD);
}

/* Writes why the run was skipped, and the holder at that time. */
static void
show_skip(struct page *p, size_t row, const struct skip *s)
{
	static const char *const reasons[] = { [SKIP_BUSY] = "skipped",
		[SKIP_WAITED] = "skipped after the wait",
		[SKIP_MODE] = "skipped",
		[SKIP_SUPERSEDED] = "skipped",
		[SKIP_QUEUE_FULL] = "skipped, queue full" };
	char who[OWNER_WHO], text[OWNER_WHO + 64];
	const char *how = s->reason == SKIP_MODE ? "in use in another mode by" :
	    s->reason == SKIP_SUPERSEDED         ? "superseded by" :
	    s->holder.in_cooldown                ? "in cooldown after" :
						   "held by";

	owner_who(who, &s->holder, s->value, s->len);
	if (s->len == 0 && s->reason == SKIP_SUPERSEDED)
		how = "superseded by a later run";
	else if (s->len == 0)
		how = "other runs were ahead in the queue";
	snprintf(text, sizeof(text), "%s: %s%s%s", reasons[s->reason], how,
	    s->len == 0 ? "" : " ", s->len == 0 ? "" : who);
	table_text(&p->table, row, p->first + ENDED, text);
}

static void
show_run(struct page *p, const struct run_row *r, int64_t longest)
{
	const struct past_run *run = &r->run;
	const struct owner *o = &run->owner;
	char what[OWNER_WHAT], pid[OWNER_PID];
	struct table *t = &p->table;
	size_t row = table_row(t);

	if (p->first > 0)
		table_text(t, row, 0, r->name);
	for (int column = 0; column < COLUMNS; column++)
		if (column != BAR)
			table_cell(t, row, p->first + column, "-");
	show_when(p, row, run->since_ms);
	table_text(t, row, p->first + HOST, o->host);
	table_cell(t, row, p->first + PID, "%s", owner_pid(pid, o));
	owner_what(what, o);
	table_text(t, row, p->first + COMMAND, what);
	show_duration(p, row, WAITED, run->waited_ms);
	show_duration(p, row, RAN, r->ran_ms);
	show_bar(p, row, r->ran_ms, longest);
	if (run->skip != NULL)
		show_skip(p, row, run->skip);
	else
		show_ending(p, row, run);
}

/* Returns the longest run of each listed lock, by the index of the lock. */
static int64_t *
find_longest(const struct history *h, const struct run_list *list)
{
	int64_t *longest = xcalloc(h->query.nlocks + 1, sizeof(*longest));

	for (size_t i = 0; i < list->n; i++) {
		const struct run_row *r = &list->row[i];

		if (r->ran_ms > longest[r->number])
			longest[r->number] = r->ran_ms;
	}
	return longest;
}

/* Replaces the rows by those from first; columns only become wider. */
static void
turn_page(struct page *p, const struct run_list *list, size_t first,
    const int64_t longest[])
{
	table_clear(&p->table);
	for (size_t i = first; i < list->n && i < first + PAGE; i++) {
		const struct run_row *r = &list->row[i];

		show_run(p, r, longest[r->number]);
	}
}

/*
 * On a narrow terminal a message and the bars give way first, and how runs ended
 * last of all.
 */
static void
fit(struct page *p)
{
	const int at = p->first;
	const struct table_step steps[] = { { at + COMMAND, COMMAND_LEAST },
		{ at + BAR, 0 }, { at + WAITED, 0 }, { at + PID, 0 },
		{ at + COMMAND, 0 }, { at + HOST, 0 }, { at + RAN, 0 },
		{ at + WHEN, DAY_LEAST },
		{ 0, at > 0 ? LOCK_LEAST : DAY_LEAST } };

	table_narrow(&p->table, steps, sizeof(steps) / sizeof(steps[0]));
	p->widest = p->table.width[p->first + BAR];
}

/*
 * With -v: prints the token and the slot, and each server's last event if they
 * differ.
 */
static void
show_logs(FILE *out, const struct query *q, const struct run_row *r)
{
	static const char *const views[] = { "no record", "no end recorded",
		"recorded as lost", "end recorded" };
	char safe[ADDRESS_TEXT];
	bool agree = true;

	fprintf(out, "  token %s",
	    escape_text(safe, sizeof(safe), r->run.owner.token,
		strlen(r->run.owner.token)));
	if (r->run.slot > 0)
		fprintf(out, ", slot %d", r->run.slot);
	putc('\n', out);
	if (r->run.skip != NULL)
		return;
	for (int i = 1; i < q->nservers; i++)
		agree = agree && r->run.event[i] == r->run.event[0];
	for (int i = 0; i < q->nservers && !agree; i++) {
		const char *server = q->servers[i].conn.address.text;

		fprintf(out, "  %s  %s\n",
		    escape_text(safe, sizeof(safe), server, strlen(server)),
		    r->known[i] ? views[r->run.event[i]] : "no answer");
	}
}

void
history_table(FILE *out, const struct history *h, const struct run_list *list)
{
	static const char *const titles[COLUMNS + 1] = { "LOCK", "WHEN", "HOST",
		"PID", "COMMAND", "WAITED", "RAN", "", "ENDED" };
	const struct options *opt = h->query.opt;
	struct page p = { .first = opt->names.n != 1,
		.bars = isatty(STDOUT_FILENO),
		.widest = WIDEST,
		.blocks = utf8_locale() };
	int64_t *longest = find_longest(h, list);

	table_init(&p.table, table_wants_colours(), p.first + COLUMNS,
	    titles + 1 - p.first);
	for (size_t i = 0; i < list->n; i += PAGE)
		turn_page(&p, list, i, longest); /* for the widths */
	fit(&p);
	table_print(out, &p.table, 0, 1);
	for (size_t i = 0; i < list->n; i++) {
		size_t row = i % PAGE + 1;

		if (row == 1)
			turn_page(&p, list, i, longest);
		table_print(out, &p.table, row, row + 1);
		if (opt->verbose)
			show_logs(out, &h->query, &list->row[i]);
	}
	table_release(&p.table);
	free(longest);
}
