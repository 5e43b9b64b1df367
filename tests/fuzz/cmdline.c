/*
 * Any command line, environment and configuration file together: either all
 * options are in range, or the program ends with one line that says why.  The
 * secret of a URL is in none of its lines.
 *
 * The input has three parts, with a NUL between them: words, variables (a letter
 * for the name, then the value), each with a \1 behind it, and the file.  In the
 * first two a \2 stands for a URL with a secret.
 */
#include <poll.h>
#include <sanitizer/lsan_interface.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static _Noreturn void made_up_exit(int status);
static ssize_t made_up_write(int, const char *text, size_t len);
static ssize_t made_up_send(int, const void *, size_t, int,
    const struct sockaddr *, socklen_t);

#define exit             made_up_exit
#define write            made_up_write
#define poll(fds, n, ms) ((fds)->events != 0)
#define sendto           made_up_send
#include "../../src/base/log.c"
#undef write
#undef poll
#undef sendto
#include "../../src/base/die.c"
#include "../../src/config/cmdline.c"
#include "base/duration.h"
#include "protocol/key.h"
#undef exit
#include "../../src/base/escape.c"

#define WORDS  64
#define SECRET "hunter2"

static jmp_buf ended;
static int exit_status, lines;

static const char *const variables[] = { "REDLOCK_REDIS", "REDLOCK_PREFIX",
	"REDLOCK_TTL", "REDLOCK_KILL_AFTER", "REDLOCK_NODE_TIMEOUT",
	"REDLOCK_RESTART_GRACE", "REDLOCK_LATEST", "REDLOCK_LOG",
	"REDLOCK_PASSWORD_FILE", "REDLOCK_TLS_CA", "REDLOCK_TLS_CERT",
	"REDLOCK_TLS_KEY", "REDLOCK_TLS_SERVER_NAME", "REDLOCK_CONFIG",
	"REDISCLI_AUTH", "TERM" };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Memory that die() had in use is lost. */
int
__lsan_is_turned_off(void)
{
	return 1;
}

static void
made_up_exit(int status)
{
	exit_status = status;
	longjmp(ended, 1);
}

/* No syslog takes anything, so all lines come to stderr. */
static ssize_t
made_up_send(int fd, const void *text, size_t len, int flags,
    const struct sockaddr *to, socklen_t to_len)
{
	(void)fd, (void)text, (void)len, (void)flags, (void)to, (void)to_len;
	return -1;
}

/* One line, printable and without the secret. */
static ssize_t
made_up_write(int fd, const char *text, size_t len)
{
	const char *p = text;
	uint32_t cp;
	size_t n;

	(void)fd;
	if (len < 14 || memcmp(text, "redlock-run: ", 13) != 0 ||
	    text[len - 1] != '\n' || memmem(text, len, SECRET, 7) != NULL)
		abort();
	for (size_t left = len - 1; left > 0; p += n, left -= n) {
		n = utf8_decode(p, left, &cp);
		if (n == 0 || unprintable(cp))
			abort();
	}
	lines++;
	return (ssize_t)len;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	stdout = fopen("/dev/null", "w");
	return stdout == NULL ? (abort(), 1) : 0;
}

/* The next part of the input, up to a NUL; *rest is the text after it. */
static const uint8_t *
next_part(const uint8_t *part, size_t size, size_t *len, size_t *rest)
{
	const uint8_t *end = memchr(part, '\0', size);

	*len = end == NULL ? size : (size_t)(end - part);
	*rest = end == NULL ? 0 : size - *len - 1;
	return part;
}

/* The next word of a part, to be freed; NULL if there is none. */
static char *
next_word(const uint8_t **part, size_t *left)
{
	static const char url[] = "redis://:" SECRET "@host";
	const uint8_t *end = memchr(*part, 1, *left);
	size_t len = end == NULL ? *left : (size_t)(end - *part), used = 0;
	char *text;

	if (*left == 0)
		return NULL;
	text = malloc(len * sizeof(url) + 1);
	if (text == NULL)
		abort();
	for (size_t i = 0; i < len; i++)
		if ((*part)[i] == 2) {
			memcpy(text + used, url, sizeof(url) - 1);
			used += sizeof(url) - 1;
		} else
			text[used++] = (char)(*part)[i];
	text[used] = '\0';
	len += end != NULL;
	*part += len;
	*left -= len;
	return realloc(text, used + 1);
}

static void
set_environment(const uint8_t *part, size_t len)
{
	const size_t n = sizeof(variables) / sizeof(variables[0]);
	char *word;

	clearenv();
	setenv("REDLOCK_CONFIG", "options.conf", 1);
	while ((word = next_word(&part, &len)) != NULL) {
		if (word[0] != '\0')
			setenv(variables[(unsigned char)word[0] % n], word + 1,
			    1);
		free(word);
	}
}

/* Others can read it if its length is odd. */
static void
write_file(const uint8_t *part, size_t len)
{
	FILE *file = fopen("options.conf", "w");

	if (file == NULL || fchmod(fileno(file), len & 1 ? 0644 : 0600) == -1)
		abort();
	fwrite(part, 1, len, file);
	fclose(file);
}

static void
judge_options(const struct options *opt)
{
	if (opt->names.n < 0 || opt->names.n > 32 || opt->servers.n < 1 ||
	    opt->servers.n > 31 || opt->replicas < 0 || opt->capacity < 1 ||
	    opt->capacity > LOCK_SLOTS ||
	    (opt->capacity > 1) != (opt->lock_mode == LOCK_SLOTTED) ||
	    opt->conflict_status < 0 || opt->conflict_status > 255)
		abort();
	if (opt->settings.ttl_ms < 200 ||
	    opt->settings.ttl_ms > DURATION_MAX_MS ||
	    opt->settings.grace_ms < 0 || opt->settings.node_timeout_ms < 1 ||
	    opt->wait_ms < 0 || opt->min_hold_ms < 0 || opt->once_per_ms < 0 ||
	    opt->once_per_ms > SUCCESS_MS || opt->max_run_ms < 0 ||
	    opt->settings.kill_after_ms < 0)
		abort();
	if (strlen(opt->settings.prefix) > LOCK_NAME ||
	    (opt->latest &&
		(opt->wait_ms == 0 || opt->lock_mode != LOCK_EXCLUSIVE)) ||
	    strlen(opt->site) != 16 || opt->names.joined == NULL ||
	    opt->command == NULL)
		abort();
	for (int i = 0; i < opt->names.n; i++)
		if (opt->names.name[i][0] == '\0' ||
		    strlen(opt->names.name[i]) > LOCK_NAME ||
		    (i > 0 &&
			strcmp(opt->names.name[i - 1], opt->names.name[i]) >=
			    0))
			abort();
	for (int i = 0; i < opt->servers.n; i++)
		if (strstr(opt->servers.address[i].text, SECRET) != NULL)
			abort();
	if (opt->mode == MODE_RUN &&
	    (opt->names.n == 0 || opt->command[0] == NULL))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct options opt;
	char *argv[WORDS + 2] = { strdup("redlock-run") };
	char *words[WORDS + 1];
	size_t len, rest;
	const uint8_t *part = next_part(data, size, &len, &rest);
	int argc = 1;

	/*
	 * With -use_cmp libFuzzer makes the secret of our own comparisons.
	 * Outside of a URL it may be shown.
	 */
	if (memmem(data, size, SECRET, strlen(SECRET)) != NULL) {
		free(argv[0]);
		return 0;
	}
	while (argc <= WORDS && (argv[argc] = next_word(&part, &len)) != NULL)
		argc++;
	argv[argc] = NULL;
	memcpy(words, argv, sizeof(words));
	part = next_part(data + size - rest, rest, &len, &rest);
	set_environment(part, len);
	write_file(data + size - rest, rest);

	lines = 0;
	log_to(LOG_TO_STDERR);
	log_set(LOG_NORMAL);
	if (setjmp(ended) == 0) {
		cmdline_parse(&opt, argv);
		judge_options(&opt);
	} else if (exit_status == EXIT_USAGE ?
		lines == 0 && argc > 1 /* without any word: the usage */ :
		exit_status != 0)
		abort();
	options_release(&opt);
	for (int i = 0; i < argc; i++)
		free(words[i]);
	return 0;
}
