/*
 * Finds the holders like --status.  The revoking script compares the token on
 * each server, so no other run can lose the lock, whatever happens in between.
 * A run that cannot have a majority keeps its votes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/duration.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "config/quotable.h"
#include "inspect/break.h"
#include "inspect/query.h"
#include "inspect/report.h"
#include "inspect/status.h"
#include "protocol/key.h"
#include "protocol/lock_state.h"
#include "protocol/owner.h"
#include "protocol/quorum.h"
#include "scripts.h"
#include "wire.h"

#define HOLDING (OWNER_WHO + 2 * DURATION_TEXT + 64) /* text of holding() */

/* The run that loses its lease, and the progress. */
struct revocation {
	const struct options *opt;
	struct owner owner;     /* only its token is set */
	char by[OWNER_DETAILS]; /* "by=USER@HOST" of the user */
	int sent[LOCK_SERVERS]; /* how many requests to each server */
	int replies;
	int revoked; /* on how many servers */
};

/* "held by deploy@web1 pid 4242 (backup.sh) for 3m12s, lease 27s left" */
static char *
holding(char buf[HOLDING], const struct server_view *o, const struct holder *h)
{
	char who[OWNER_WHO], text[DURATION_TEXT];
	const char *mode = o->shared ? "shared " : "";
	int used;

	owner_who(who, &h->owner, h->value, h->len);
	if (h->owner.in_cooldown) {
		snprintf(buf, HOLDING,
		    "in cooldown for another %s (--min-hold) after %s",
		    duration_format(h->ttl_ms, text), who);
		return buf;
	}
	used = snprintf(buf, HOLDING, "held %sby %s", mode, who);
	if (h->ours)
		used += snprintf(buf + used, HOLDING - (size_t)used, " for %s",
		    duration_format(owner_age_ms(&h->owner, o->now_us), text));
	if (h->ttl_ms < 0)
		snprintf(buf + used, HOLDING - (size_t)used,
		    ", without expiry");
	else
		snprintf(buf + used, HOLDING - (size_t)used, ", lease %s left",
		    duration_format(h->ttl_ms, text));
	return buf;
}

/* Returns the run with this token in a server's view, or NULL. */
static const struct holder *
find_token(const struct server_view *o, const char *token)
{
	for (size_t i = 0; i < o->nholders; i++)
		if (o->holders[i].ours &&
		    strcmp(o->holders[i].owner.token, token) == 0)
			return &o->holders[i];
	return NULL;
}

/*
 * Returns the run with this token in the first view that has it.  NULL if it
 * cannot have a majority, even if it holds the lock on every server that is
 * silent.
 */
static const struct holder *
possible_holder(const struct status *st, const char *token)
{
	const struct lock_info *l = &st->locks[0];
	const struct holder *first = NULL, *h;
	int votes = 0;

	for (int i = 0; i < st->query.nservers; i++) {
		h = find_token(&l->views[i], token);
		if (h != NULL && first == NULL)
			first = h;
		votes += h != NULL || !l->views[i].known;
	}
	return votes >= st->query.quorum ? first : NULL;
}

/* Reports what a process on this host with the holder's pid proves. */
static void
report_process(const char *name, const struct owner *o)
{
	switch (status_owner_process(o)) {
	case PROCESS_SAME:
		warn("%s: process %d is running on this host; the holder "
		     "does not look dead",
		    name, (int)o->pid);
		break;
	case PROCESS_EARLIER:
	case PROCESS_OTHER:
		notice("%s: process %d on this host started at another time "
		       "than the holder; it is not the holder",
		    name, (int)o->pid);
		break;
	case PROCESS_NONE:
		break;
	}
}

/* Prints a word quoted for a shell. */
static void
print_quoted(const char *word)
{
	if (*word != '\0' &&
	    word[strspn(word,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789-_./:@%+,")] == '\0') {
		printf("%s", word);
		return;
	}
	putchar('\'');
	for (; *word != '\0'; word++)
		if (*word == '\'')
			printf("'\\''");
		else
			putchar(*word);
	putchar('\'');
}

/*
 * Prints our command line with --token as its first option, where no other
 * option can take it for its value.
 */
static void
print_command(const struct options *opt, const char *token)
{
	bool cut = false;
	char *word;

	print_quoted(opt->argv[0]);
	printf(" --token %s", token);
	for (char **w = opt->argv + 1; *w != NULL; w++) {
		word = xstrdup(*w);
		if (strcmp(word, opt->names.name[0]) != 0)
			cut |= address_cut(word);
		putchar(' ');
		print_quoted(word);
		free(word);
	}
	putchar('\n');
	die_unless_flushed();
	if (cut)
		notice("the command above omits the password; use "
		       "--password-file or REDISCLI_AUTH");
}

/* A run that cannot reach the servers learns of --break when its lease ends. */
static void
report_patience(const char *name, const struct holder *h)
{
	char text[DURATION_TEXT];

	if (status_holder_patient(h))
		notice("%s: a command that is cut off from the servers runs "
		       "on for up to %s after --break",
		    name, duration_format(h->ttl_ms, text));
}

/* Names a holder, and prints the command that revokes its lease. */
static void
print_suggestion(const struct options *opt, const struct server_view *o,
    const struct holder *h)
{
	const char *name = opt->names.name[0];
	char text[HOLDING];

	if (!h->ours || !owner_is_token(h->owner.token)) {
		warn("%s: %s; this holder is not redlock-run, so --break "
		     "leaves it alone; if it is dead, delete the key %s%s "
		     "with redis-cli",
		    name, holding(text, o, h), opt->settings.prefix, name);
		return;
	}
	notice("%s: %s", name, holding(text, o, h));
	report_process(name, &h->owner);
	report_patience(name, h);
	if (h->owner.in_cooldown)
		notice("%s: its command has ended; to free the lock now, run",
		    name);
	else
		notice("%s: make sure that its command is dead, too; to "
		       "break the lock, run",
		    name);
	print_command(opt, h->owner.token);
}

/*
 * Handles --break without a token: prints a suggestion for each run that may
 * hold the lock.
 */
static int
suggest_all(const struct options *opt, struct status *st)
{
	const struct lock_info *l = &st->locks[0];
	int failures, suggestions = 0, result;

	for (int i = 0; i < st->query.nservers; i++) {
		const struct server_view *o = &l->views[i];

		for (size_t j = 0; j < o->nholders; j++) {
			const struct holder *h = &o->holders[j];

			if (h->ours &&
			    possible_holder(st, h->owner.token) == h) {
				print_suggestion(opt, o, h);
				suggestions++;
			}
		}
	}
	for (size_t j = 0; j < l->nholders; j++)
		if (!l->holders[j].ours) {
			print_suggestion(opt, l->sample, &l->holders[j]);
			suggestions++;
		}
	result = report_servers(&st->query, false, &failures);
	if (result != 0)
		return result;
	if (l->state == STATE_FREE)
		notice("%s: the lock is free", opt->names.name[0]);
	else if (suggestions == 0) {
		warn("%s: the servers disagree on the holder; see --status "
		     "-v",
		    opt->names.name[0]);
		return EXIT_UNREACHABLE;
	}
	return EXIT_NOT_BROKEN;
}

static int
send_revocation(struct query_server *s, size_t i)
{
	struct revocation *r = s->query->arg;
	char key[LOCK_KEY], aux[LOCK_KEY], id[OWNER_ID], slots[12];
	const char *const argv[] = { [ARG_KEY] = key,
		[ARG_AUX] = aux,
		[ARG_ID] = owner_id(&r->owner, 0, id),
		[ARG_TOKEN] = r->owner.token,
		[ARG_MODE] = "slots",
		[ARG_CAPACITY] = slots,
		[ARG_SLOT] = "1",
		[ARG_OWN + BREAK_ONLY] = s->query->nservers == 1 ? "1" : "0",
		[ARG_OWN + BREAK_BY] = r->by };

	key_names(key, aux, r->opt->settings.prefix, r->opt->names.name[0]);
	snprintf(slots, sizeof(slots), "%d", LOCK_SLOTS);
	r->sent[s - s->query->servers]++;
	return conn_eval(&s->conn, (int)i, &script_break, ARG_ID,
	    ARG_OWN + BREAK_ARGS, argv);
}

static bool
revocation_replied(struct query_server *s, size_t i, const struct reply *a)
{
	struct revocation *r = s->query->arg;
	struct lock_state state;
	bool revoked;

	(void)i;
	if (query_server_error(s, a))
		return false;
	if (lock_state_read(&state, a) == -1)
		return query_server_malformed(s);
	r->replies++;
	/* A second request means that the reply to the first was lost. */
	revoked = state.granted || r->sent[s - s->query->servers] > 1;
	r->revoked += revoked;
	info("%s: %s: %s", r->opt->names.name[0], s->conn.address.text,
	    revoked ? "broken" : "that run does not hold it here");
	return false;
}

/* Whether the token is that of h, and h is not redlock-run. */
static bool
is_foreign(const struct holder *h, const char *token)
{
	if (h->ours)
		return !owner_is_token(token) &&
		    strcmp(h->owner.token, token) == 0;
	return h->len == strlen(token) && memcmp(h->value, token, h->len) == 0;
}

/*
 * Reports that the run with the token is not a holder, and names the holders.
 * Returns the exit status.
 */
static int
refuse(const struct options *opt, struct status *st)
{
	const struct lock_info *l = &st->locks[0];
	int failures, result = report_servers(&st->query, false, &failures);
	char text[HOLDING], others[48] = "";

	for (size_t i = 0; i < l->nholders; i++)
		if (is_foreign(&l->holders[i], opt->token)) {
			print_suggestion(opt, l->sample, &l->holders[i]);
			return EXIT_NOT_BROKEN;
		}
	if (l->state == STATE_UNKNOWN && result == 0) {
		warn("%s: not held by %s, and the servers disagree on the "
		     "holder (see --status -v); nothing was changed",
		    opt->names.name[0], quotable(opt->token));
		return EXIT_NOT_BROKEN;
	}
	if (result != 0) {
		warn("%s: too few servers answer to tell whether %s holds "
		     "the lock; nothing was changed",
		    opt->names.name[0], quotable(opt->token));
		return result;
	}
	if (l->nholders > 1)
		snprintf(others, sizeof(others), ", and by %zu other%s",
		    l->nholders - 1, l->nholders > 2 ? "s" : "");
	warn("%s: not held by %s: it is %s%s; nothing was changed",
	    opt->names.name[0], quotable(opt->token),
	    l->nholders == 0 ? "free" :
			       holding(text, l->sample, &l->holders[0]),
	    others);
	return EXIT_NOT_BROKEN;
}

/* Revokes the lease of the run with the token.  Returns the exit status. */
static int
revoke_lock(const struct options *opt, struct status *st)
{
	struct revocation r = { .opt = opt };
	const struct holder *h = !owner_is_token(opt->token) ?
	    NULL :
	    possible_holder(st, opt->token);
	const char *name = opt->names.name[0];
	char who[OWNER_WHO];
	int failures, result;

	if (h == NULL)
		return refuse(opt, st);
	owner_who(who, &h->owner, h->value, h->len);
	owner_init(&r.owner, "", 0);
	owner_by(&r.owner, r.by);
	snprintf(r.owner.token, sizeof(r.owner.token), "%s", opt->token);
	st->query.arg = &r;
	query_send(&st->query, 1, send_revocation, revocation_replied);
	st->query.arg = st;
	if (r.revoked == 0 && r.replies >= st->query.quorum) {
		status_read(st); /* the run ended or was revoked meanwhile */
		return refuse(opt, st);
	}
	result = report_servers(&st->query, false, &failures);
	if (r.revoked == 0)
		warn("%s: no server could break the lock of %s", name, who);
	else if (result != 0)
		warn("%s: broken on only %d of %d servers: %s may keep the "
		     "others until its lease ends; try again when they can "
		     "be reached",
		    name, r.revoked, st->query.nservers, who);
	else if (failures > 0)
		notice("%s: broken, %s no longer holds it; anything left "
		       "on the other server%s is no majority and ends with "
		       "its lease",
		    name, who, failures > 1 ? "s" : "");
	else
		notice("%s: broken, %s no longer holds it", name, who);
	if (r.revoked > 0)
		report_patience(name, h);
	return result;
}

int
break_run(const struct options *opt)
{
	struct status st;
	int result;

	status_init(&st, opt);
	status_read(&st);
	result =
	    opt->token == NULL ? suggest_all(opt, &st) : revoke_lock(opt, &st);
	status_release(&st);
	return result;
}
