/* The first socket goes on, so no error of the second one is reported. */
#include <unistd.h>

#include "redis/dial.h"
#include "redis/second.h"

static void
ready_cb(void *arg, short revents)
{
	struct second *s = arg;
	int fd = s->watch.fd;

	(void)revents;
	if (dial_result(fd) != 0) {
		second_end(s);
		return;
	}
	loop_remove(s->loop, &s->watch);
	s->connected_cb(s->arg, fd);
}

void
second_init(struct second *s, struct loop *loop,
    void (*connected_cb)(void *arg, int fd), void *arg)
{
	s->loop = loop;
	s->watch = (struct loop_watch){
		.fd = -1, .events = POLLOUT, .ready_cb = ready_cb, .arg = s
	};
	s->connected_cb = connected_cb;
	s->arg = arg;
}

void
second_begin(struct second *s, const char *path, const struct target *to)
{
	char why[DIAL_WHY];
	bool connected;

	second_end(s);
	s->watch.fd = dial(path, to, &connected, why);
	if (s->watch.fd == -1)
		return;
	if (loop_add(s->loop, &s->watch) == -1)
		second_end(s);
}

void
second_end(struct second *s)
{
	int fd = s->watch.fd;

	if (fd == -1)
		return;
	loop_remove(s->loop, &s->watch);
	close(fd);
}
