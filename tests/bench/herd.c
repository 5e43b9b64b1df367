/*
 * herd PORT HOSTS SPREAD SECOND LIMIT <REQUESTS: so many hosts connect to
 * 127.0.0.1 within SPREAD ms, send one request each, of equal lengths, and wait
 * for the first bytes of its reply.  A host without a connection begins a second
 * one beside the first after SECOND ms (0: never), and gives up after LIMIT ms.
 * Prints how many got no reply, and the median and the longest time of the
 * others in us.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct host {
	int fd[2]; /* -1: none */
	int used;  /* of the two; -1: none is connected */
	long long began_us, took_us;
};

static struct sockaddr_in to = { .sin_family = AF_INET };
static struct host *hosts;
static const char *requests;
static size_t length; /* of a request */
static int watched;

static long long
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void
begin(int n, int which)
{
	struct epoll_event e = { .events = EPOLLOUT,
		.data.u32 = (unsigned)(2 * n + which) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	hosts[n].fd[which] = fd;
	if (fd == -1 ||
	    (connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1 &&
		errno != EINPROGRESS) ||
	    epoll_ctl(watched, EPOLL_CTL_ADD, fd, &e) == -1) {
		perror("herd");
		exit(1);
	}
}

static void
end(int n)
{
	for (int i = 0; i < 2; i++)
		if (hosts[n].fd[i] != -1)
			close(hosts[n].fd[i]);
	hosts[n].fd[0] = hosts[n].fd[1] = -1;
}

/* A socket has connected, or has the reply. */
static void
go_on(int n, int which)
{
	struct epoll_event e = { .events = EPOLLIN,
		.data.u32 = (unsigned)(2 * n + which) };
	struct host *h = &hosts[n];
	char reply[512];

	if (h->fd[which] == -1)
		return;
	if (h->used == -1) {
		h->used = which;
		if (send(h->fd[which], requests + (size_t)n * length, length,
			MSG_NOSIGNAL) != (ssize_t)length) {
			end(n);
			return;
		}
		epoll_ctl(watched, EPOLL_CTL_MOD, h->fd[which], &e);
		if (h->fd[!which] != -1)
			close(h->fd[!which]);
		h->fd[!which] = -1;
	} else {
		if (recv(h->fd[which], reply, sizeof(reply), 0) > 0)
			h->took_us = now_us() - h->began_us;
		end(n);
	}
}

static int
compare(const void *a, const void *b)
{
	const struct host *x = a, *y = b;

	return (x->took_us > y->took_us) - (x->took_us < y->took_us);
}

/* Those without a reply are in front. */
static void
print(int n)
{
	int without = 0;

	qsort(hosts, (size_t)n, sizeof(*hosts), compare);
	while (without < n && hosts[without].took_us == -1)
		without++;
	printf("%d %lld %lld\n", without,
	    without == n ? 0 : hosts[without + (n - without) / 2].took_us,
	    hosts[n - 1].took_us);
}

int
main(int argc, char **argv)
{
	int n, begun = 0, seconds = 0, over = 0, found;
	long long spread_us, second_us, limit_us, start_us, now;
	struct epoll_event ready[256];
	static char text[16 << 20];
	size_t have = 0, more;

	if (argc != 6)
		return 64;
	to.sin_port = htons((unsigned short)atoi(argv[1]));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	n = atoi(argv[2]);
	spread_us = atoll(argv[3]) * 1000;
	second_us = atoll(argv[4]) * 1000;
	limit_us = atoll(argv[5]) * 1000;
	while ((more = fread(text + have, 1, sizeof(text) - have, stdin)) > 0)
		have += more;
	requests = text;
	length = have / (size_t)n;
	hosts = calloc((size_t)n, sizeof(*hosts));
	watched = epoll_create1(0);
	start_us = now_us();
	for (int i = 0; i < n; i++)
		hosts[i] = (struct host){
			.fd = { -1, -1 }, .used = -1, .took_us = -1
		};
	while (over < n) {
		now = now_us();
		for (; begun < n && start_us + begun * spread_us / n <= now;
		     begun++) {
			hosts[begun].began_us = now_us();
			begin(begun, 0);
		}
		for (; second_us > 0 && seconds < begun &&
		     hosts[seconds].began_us + second_us <= now;
		     seconds++)
			if (hosts[seconds].used == -1)
				begin(seconds, 1);
		for (; over < begun && hosts[over].began_us + limit_us <= now;
		     over++)
			if (hosts[over].used == -1)
				end(over);
		while (over < begun && hosts[over].fd[0] == -1 &&
		    hosts[over].fd[1] == -1)
			over++;
		found = epoll_wait(watched, ready, 256, begun < n ? 0 : 5);
		for (int i = 0; i < found; i++)
			go_on((int)ready[i].data.u32 / 2,
			    ready[i].data.u32 % 2);
	}
	print(n);
	return 0;
}
