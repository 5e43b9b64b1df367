/*
 * floor PORT KEY COMMAND...: the smallest program that runs COMMAND under a
 * lock in Redis: it connects, sends SET NX PX, spawns COMMAND, waits for it,
 * sends a compare-and-delete, and exits.  It checks nothing that it does not
 * have to check; nobody should use it.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define DELETE                                                                 \
	"if redis.call('GET', KEYS[1]) == ARGV[1] then "                       \
	"return redis.call('DEL', KEYS[1]) else return 0 end"

extern char **environ;

/* Sends the words up to a null as one request; the reply has to begin so. */
static void
ask(int fd, const char *reply, const char **words)
{
	char text[512], parts[512];
	size_t n = 0, length = 0;

	for (; words[n] != NULL; n++)
		length +=
		    (size_t)snprintf(parts + length, sizeof(parts) - length,
			"$%zu\r\n%s\r\n", strlen(words[n]), words[n]);
	n = (size_t)snprintf(text, sizeof(text), "*%zu\r\n%s", n, parts);
	if (write(fd, text, n) != (ssize_t)n ||
	    read(fd, text, sizeof(text)) < (ssize_t)strlen(reply) ||
	    memcmp(text, reply, strlen(reply)) != 0)
		exit(69);
}

int
main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	char value[32];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, status;
	pid_t pid;

	if (argc < 4)
		return 64;
	address.sin_port = htons((unsigned short)atoi(argv[1]));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	snprintf(value, sizeof(value), "floor-%d", getpid());
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (void *)&address, sizeof(address)) == -1)
		return 69;
	ask(fd, "+OK",
	    (const char *[]){
		"SET", argv[2], value, "NX", "PX", "30000", NULL });
	if (posix_spawnp(&pid, argv[3], NULL, NULL, argv + 3, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid)
		return 71;
	ask(fd, ":1",
	    (const char *[]){ "EVAL", DELETE, "1", argv[2], value, NULL });
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
