/*
 * ask -s SOCKET [WORD...]: prints the same as `redis-cli -s SOCKET WORD...`
 * into a pipe, as the user admin, in a fifth of its time, because the tests
 * call it thousands of times.  Without WORDs, each line of stdin is a command.
 * It leaves everything else to redis-cli: other options, quotes in stdin, and
 * replies without end.
 */
#include <ctype.h>
#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static FILE *server;

/* The same options, read by redis-cli. */
static void
leave_to_redis_cli(char **argv)
{
	char *all[1024] = { "redis-cli", "--user", "admin", "--pass", "x",
		"--no-auth-warning" };
	size_t n = 6;

	while (*++argv != NULL && n < sizeof(all) / sizeof(*all) - 1)
		all[n++] = *argv;
	execvp(all[0], all);
	err(127, "redis-cli");
}

/* Stdin; its end is that of the string. */
static char *
read_all(size_t *length)
{
	char *text = NULL;
	size_t n = 0, size = 0, got;

	do {
		if (n + 4096 > size &&
		    (text = realloc(text, size = 2 * size + 8192)) == NULL)
			err(1, NULL);
		n += got = fread(text + n, 1, 4096, stdin);
	} while (got > 0);
	text[n] = '\0';
	*length = n;
	return text;
}

/* Gives stdin back to redis-cli if it is more than plain words. */
static void
check_plain(char **argv, const char *text, size_t length)
{
	int fd;

	if (strlen(text) == length && strpbrk(text, "\"'\\") == NULL)
		return;
	if ((fd = memfd_create("stdin", 0)) == -1 ||
	    write(fd, text, length) != (ssize_t)length ||
	    lseek(fd, 0, SEEK_SET) == -1 || dup2(fd, 0) == -1)
		err(1, "stdin");
	leave_to_redis_cli(argv);
}

static void
send_words(char **words, size_t n)
{
	size_t i;

	fprintf(server, "*%zu\r\n", n);
	for (i = 0; i < n; i++)
		fprintf(server, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
}

/* Returns the number of commands in text. */
static int
send_lines(char *text)
{
	char *line, *word, *words[1024], *rest;
	size_t n;
	int commands = 0;

	while ((line = strsep(&text, "\n")) != NULL) {
		for (n = 0; n < 1024 &&
		     (word = strtok_r(n == 0 ? line : NULL, " \t\r", &rest)) !=
			 NULL;)
			words[n++] = word;
		if (n > 0) {
			send_words(words, n);
			commands++;
		}
	}
	return commands;
}

static void
closed(void)
{
	fflush(stdout);
	errx(1, "Server closed the connection");
}

static void
print_bulk(size_t n)
{
	char part[65536];
	size_t got;

	for (; n > 0; n -= got) {
		got =
		    fread(part, 1, n < sizeof(part) ? n : sizeof(part), server);
		if (got == 0)
			closed();
		fwrite(part, 1, got, stdout);
	}
	if (fgetc(server) != '\r' || fgetc(server) != '\n')
		closed();
}

/* Prints the next reply, without a newline at its end. */
static void
print_reply(void)
{
	static char line[65536];
	long n;

	if (fgets(line, sizeof(line), server) == NULL)
		closed();
	line[strcspn(line, "\r\n")] = '\0';
	n = atol(line + 1);
	switch (line[0]) {
	case '+':
	case ':':
		fputs(line + 1, stdout);
		break;
	case '-':
		puts(line + 1);
		break;
	case '$':
		if (n >= 0)
			print_bulk((size_t)n);
		break;
	case '*':
		while (n-- > 0) {
			print_reply();
			if (n > 0)
				putchar('\n');
		}
		break;
	default:
		errx(1, "a reply that starts with '%c'", line[0]);
	}
}

static void
connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1 || strlen(path) >= sizeof(address.sun_path))
		err(1, "%s", path);
	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == -1)
		err(1, "Could not connect to Redis at %s", path);
	if ((server = fdopen(fd, "r+")) == NULL)
		err(1, NULL);
}

/* Of a server that does not know admin we are the default user. */
static void
authenticate(void)
{
	char line[1024];

	if (fgets(line, sizeof(line), server) == NULL)
		closed();
	if (line[0] != '+')
		fprintf(stderr, "AUTH failed: %s", line + 1);
}

int
main(int argc, char **argv)
{
	char *auth[] = { "AUTH", "admin", "x" }, *text = NULL;
	size_t length;
	int commands = 1;

	if (argc < 3 || strcmp(argv[1], "-s") != 0)
		errx(64, "usage: ask -s SOCKET [WORD...]");
	if (argc > 3 &&
	    (argv[3][0] == '-' || strcasecmp(argv[3], "monitor") == 0 ||
		strcasecmp(argv[3], "subscribe") == 0))
		leave_to_redis_cli(argv);
	if (argc == 3) {
		text = read_all(&length);
		check_plain(argv, text, length);
	}
	connect_to(argv[2]);
	send_words(auth, 3);
	if (text != NULL)
		commands = send_lines(text);
	else
		send_words(argv + 3, (size_t)argc - 3);
	if (fflush(server) == EOF)
		closed();
	authenticate();
	for (; commands > 0; commands--) {
		print_reply();
		putchar('\n');
	}
	free(text);
	return 0;
}
