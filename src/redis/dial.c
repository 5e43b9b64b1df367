/* An address is a text here, because getaddrinfo(3) knows IPv6 scopes. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "redis/dial.h"
#include "redis/topology.h"

/*
 * Sends small requests at once.  Probes an idle connection, so that a firewall
 * or a NAT keeps it, and so that we notice when one has forgotten it.
 */
static void
tune_tcp(int fd)
{
	const int on = 1, idle_s = 20, pause_s = 5, probes = 3;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &pause_s, sizeof(pause_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

/*
 * Returns -1 with the error and why.  EPERM, by a firewall or a seccomp filter,
 * needs the call beside it; for connect() other errors explain themselves.
 */
static int
failed(const char *call, int error, char why[DIAL_WHY])
{
	if (strcmp(call, "connect") == 0 && error != EPERM)
		snprintf(why, DIAL_WHY, "%s", strerror(error));
	else
		snprintf(why, DIAL_WHY, "%s: %s", call, strerror(error));
	errno = error;
	return -1;
}

static int
begin_connect(const struct sockaddr *to, socklen_t len, bool *connected,
    char why[DIAL_WHY])
{
	int fd = socket(to->sa_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd == -1)
		return failed("socket", errno, why);
	if (to->sa_family != AF_UNIX)
		tune_tcp(fd);
	*connected = connect(fd, to, len) == 0;
	if (*connected || errno == EINPROGRESS)
		return fd;
	error = errno;
	close(fd);
	return failed("connect", error, why);
}

static int
dial_unix(const char *path, bool *connected, char why[DIAL_WHY])
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(to.sun_path))
		return failed("connect", ENAMETOOLONG, why);
	memcpy(to.sun_path, path, strlen(path));
	return begin_connect((struct sockaddr *)&to, sizeof(to), connected,
	    why);
}

int
dial(const char *path, const struct target *to, bool *connected,
    char why[DIAL_WHY])
{
	const struct addrinfo hints = { .ai_flags =
					    AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *ai;
	char port[16];
	int fd, error;

	if (path[0] != '\0')
		return dial_unix(path, connected, why);
	snprintf(port, sizeof(port), "%d", to->port);
	if ((error = getaddrinfo(to->ip, port, &hints, &ai)) != 0) {
		snprintf(why, DIAL_WHY, "%s", gai_strerror(error));
		errno = EINVAL;
		return -1;
	}
	fd = begin_connect(ai->ai_addr, ai->ai_addrlen, connected, why);
	error = errno;
	freeaddrinfo(ai);
	errno = error;
	return fd;
}

int
dial_result(int fd)
{
	int error;
	socklen_t len = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		return errno;
	return error;
}
