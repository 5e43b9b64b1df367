/*
 * Queries the servers once a second and draws the result.  The query's loop
 * also serves keys, signals and the timer, so they work while a server delays a
 * round; seconds that pass meanwhile are skipped.  If the others are a
 * majority, a silent server may delay us for at most a third of the time.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/escape.h"
#include "base/exit.h"
#include "base/kernel.h"
#include "base/screen.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "inspect/status.h"
#include "inspect/status_table.h"
#include "inspect/watch.h"
#include "process/signals.h"

#define TICK_MS 1000
#define CLOCK   12 /* room for "21:04:05" */

struct watch {
	const struct options *opt;
	struct status status;
	struct screen screen;
	struct signals signals;
	struct loop_watch signal_watch;
	struct loop_watch key_watch;
	struct loop_watch tick_watch;
	bool due;         /* a round is due */
	int64_t round_ms; /* when the round began; 0: none */
	int64_t retry_ms; /* failed servers pause until then */
	int signo;        /* the signal that ends --watch; 0: none */

	char *title; /* the first line, from the last round */
	char *table; /* from the last round with a majority */
	char table_clock[CLOCK];
	bool known; /* there was such a round */
	bool stale; /* the last round had no majority */
};

static struct query *
query_of(struct watch *w)
{
	return &w->status.query;
}

static void
put_escaped(FILE *out, const char *text)
{
	char safe[4 * QUERY_WHY];

	fputs(escape_text(safe, sizeof(safe), text, strlen(text)), out);
}

/* Writes a line for each server that has failed or delays this round. */
static void
put_troubles(FILE *out, struct watch *w)
{
	const struct query *q = query_of(w);
	bool late =
	    w->round_ms != 0 && clock_now_ms() - w->round_ms >= TICK_MS / 2;
	char why[QUERY_WHY];

	for (const struct query_server *s = q->servers; s < q->end; s++) {
		if (s->failure != REPLY_OK)
			query_server_why(s, why);
		else if (late && s->replied < q->requests)
			snprintf(why, sizeof(why), "%s: no answer yet",
			    s->conn.address.text);
		else
			continue;
		fputs(w->screen.colours ? "\033[1;31m" : "", out);
		put_escaped(out, why);
		fputs(w->screen.colours ? "\033[0m\n" : "\n", out);
	}
}

static void
draw(struct watch *w)
{
	struct text head;

	if (!w->screen.shown && screen_take(&w->screen) == -1)
		query_of(w)->stop = true;
	w->key_watch.fd = w->screen.shown ? STDIN_FILENO : -1;
	if (!w->screen.shown)
		return;
	text_begin(&head);
	fprintf(head.out, "%s\n", w->title);
	put_troubles(head.out, w);
	putc('\n', head.out);
	screen_draw(&w->screen, text_end(&head), w->table, w->stale);
	free(head.bytes);
}

/* Writes the first line: time, counts and hints. */
static void
put_title(FILE *out, struct watch *w, const char *clock)
{
	const struct status *st = &w->status;
	const struct options *opt = w->opt;
	size_t taken = 0;
	long waiting = 0;

	fprintf(out, "%s  (q quits)  ", clock);
	if (w->stale) {
		fprintf(out, "too few servers answer");
		if (w->known)
			fprintf(out, "; this was so at %s", w->table_clock);
		return;
	}
	for (size_t i = 0; i < st->nlocks; i++) {
		const struct lock_info *l = &st->locks[i];

		taken += l->state != STATE_FREE && l->state != STATE_UNKNOWN;
		waiting += l->sample == NULL ? 0 : l->sample->waiting;
	}
	fprintf(out, "%zu lock%s", st->nlocks, st->nlocks == 1 ? "" : "s");
	if (opt->names.n == 0) {
		fprintf(out, " under ");
		put_escaped(out, opt->settings.prefix);
		putc('*', out);
	}
	fprintf(out, ", %zu taken, %ld waiting, at ", taken, waiting);
	if (opt->servers.n == 1)
		put_escaped(out, opt->servers.address[0].text);
	else
		fprintf(out, "%d of %d servers", query_working(&st->query),
		    opt->servers.n);
}

/* Renders the table after a round, unless too few servers replied. */
static void
keep(struct watch *w)
{
	int working = query_working(query_of(w));
	time_t now = time(NULL);
	struct status_table table;
	struct tm tm;
	char clock[CLOCK];
	struct text text;

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	w->stale = working < query_of(w)->quorum;
	if (!w->stale || (!w->known && working > 0)) {
		status_sort(&w->status);
		text_begin(&text);
		status_table_begin(&table, w->opt);
		status_table_add(&table, &w->status);
		status_table_print(text.out, &table);
		status_table_release(&table);
		free(w->table);
		w->table = text_end(&text);
		snprintf(w->table_clock, sizeof(w->table_clock), "%s", clock);
		w->known = w->known || !w->stale;
	}
	text_begin(&text);
	put_title(text.out, w, clock);
	free(w->title);
	w->title = text_end(&text);
}

static void
poll_servers(struct watch *w)
{
	struct query *q = query_of(w);
	int64_t now = clock_now_ms();

	w->due = false;
	w->round_ms = now;
	if (now >= w->retry_ms)
		query_retry(q);
	status_read(&w->status);
	if (q->stop)
		return;
	now = clock_now_ms();
	if (query_working(q) < q->quorum)
		w->retry_ms = 0;
	else if (now - w->round_ms >= TICK_MS)
		w->retry_ms = now + 2 * (now - w->round_ms);
	w->round_ms = 0;
	keep(w);
	draw(w);
}

static void
tick_cb(void *arg, short revents)
{
	struct watch *w = arg;
	uint64_t ticks;

	(void)revents;
	if (read(w->tick_watch.fd, &ticks, sizeof(ticks)) == -1)
		return;
	w->due = true;
	if (w->round_ms != 0)
		draw(w);
}

static void
key_cb(void *arg, short revents)
{
	struct watch *w = arg;
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	(void)revents;
	if (n == 0 || (n == -1 && errno != EINTR && errno != EAGAIN))
		query_of(w)->stop = true;
	for (ssize_t i = 0; i < n; i++)
		if (keys[i] == 'q' || keys[i] == 'Q' ||
		    screen_ends(&w->screen, keys[i]))
			query_of(w)->stop = true;
}

/* Whether the signal ends --watch; SIGPIPE from our own writes does not. */
static bool
ends(const struct signalfd_siginfo *si)
{
	bool write = si->ssi_signo == SIGPIPE && /* a server hung up */
	    si->ssi_pid == (uint32_t)getpid();

	return !write && signals_terminates((int)si->ssi_signo);
}

static void
signals_cb(void *arg, short revents)
{
	struct watch *w = arg;
	struct signalfd_siginfo si;

	(void)revents;
	while (signals_next(&w->signals, &si)) {
		switch ((int)si.ssi_signo) {
		case SIGWINCH:
			draw(w);
			break;
		case SIGTSTP:
			screen_give_back(&w->screen);
			signals_stop_ourselves(SIGTSTP);
			break; /* SIGCONT follows */
		case SIGCONT:
			w->screen.shown = false;
			draw(w);
			break;
		default:
			if (!ends(&si))
				break;
			w->signo = (int)si.ssi_signo;
			query_of(w)->stop = true;
			return;
		}
	}
}

static void
add_watch(struct watch *w, struct loop_watch *its, int fd,
    void (*ready_cb)(void *, short))
{
	*its = (struct loop_watch){
		.fd = fd, .events = POLLIN, .ready_cb = ready_cb, .arg = w
	};
	if (loop_add(&query_of(w)->loop, its) == -1)
		die(EXIT_OS, "poll: %s", strerror(errno));
}

/* Resolving names may block, so it comes before signals are blocked. */
static void
watch_init(struct watch *w, const struct options *opt)
{
	const struct itimerspec second = { .it_interval = { .tv_sec = 1 },
		.it_value = { .tv_sec = 1 } };
	int fd;

	memset(w, 0, sizeof(*w));
	w->opt = opt;
	w->title = xstrdup("asking ...");
	w->table = xstrdup("");
	status_init(&w->status, opt);
	signals_init(&w->signals);
	if (signals_take(&w->signals) == -1)
		die(EXIT_OS, "signalfd: %s", strerror(errno));
	fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd == -1 || kernel_timerfd_settime(fd, 0, &second) == -1)
		die(EXIT_OS, "timerfd: %s", strerror(errno));
	add_watch(w, &w->signal_watch, w->signals.fd, signals_cb);
	add_watch(w, &w->tick_watch, fd, tick_cb);
	add_watch(w, &w->key_watch, -1, key_cb);
	screen_init(&w->screen, &query_of(w)->loop);
}

static void
watch_release(struct watch *w)
{
	screen_release(&w->screen);
	close(w->tick_watch.fd);
	close(w->signals.fd);
	status_release(&w->status);
	free(w->title);
	free(w->table);
}

int
watch_run(const struct options *opt)
{
	struct watch w;

	watch_init(&w, opt);
	draw(&w);
	while (!query_of(&w)->stop) {
		poll_servers(&w);
		while (!w.due && !query_of(&w)->stop)
			loop_turn(&query_of(&w)->loop, CLOCK_NEVER);
	}
	watch_release(&w);
	if (w.signo != 0)
		die_of_signal(w.signo);
	return 0;
}
