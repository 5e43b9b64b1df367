/*
 * Reads processes of this program from /proc.  It starts itself a second time,
 * with a known environment.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../../src/process/proc.c"
#include "../../src/process/sessions.c"
#include "tap.h"

#define PADDING 400 /* variables, so that some lie across two reads */

/* A child that waits for its end; it does not outlive us. */
static pid_t
sleeper(bool own_session)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) == -1 || (pid = fork()) == -1)
		abort();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (own_session)
			setsid();
		else
			setpgid(0, 0);
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	return pid;
}

/* A child in a group of its own that has ended and was not waited for. */
static pid_t
zombie(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == -1)
		abort();
	if (pid == 0) {
		setpgid(0, 0);
		_exit(0);
	}
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	return pid;
}

/* The signal that ended a child; 0 if it exited. */
static int
reap(pid_t pid)
{
	int status = 0;

	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void
end(pid_t pid)
{
	kill(pid, SIGKILL);
	reap(pid);
}

static void
ourselves(void)
{
	char name[16];
	struct proc p;

	memset(&p, 0x55, sizeof(p));
	prctl(PR_GET_NAME, name);
	CHECK(proc_read(getpid(), &p) == 0);
	SAME_INT(p.pid, getpid());
	SAME_INT(p.ppid, getppid());
	SAME_INT(p.pgid, getpgrp());
	SAME_INT(p.sid, getsid(0));
	CHECK(p.running);
	SAME_TEXT(p.name, name);
	CHECK(p.start > 0);
}

static void
children(void)
{
	struct proc self, p;
	pid_t pid = sleeper(false);

	CHECK(proc_read(getpid(), &self) == 0);
	CHECK(proc_read(pid, &p) == 0);
	SAME_INT(p.ppid, getpid());
	SAME_INT(p.pgid, pid);
	SAME_INT(p.sid, getsid(0));
	CHECK(p.start >= self.start);
	end(pid);

	pid = sleeper(true);
	CHECK(proc_read(pid, &p) == 0);
	SAME_INT(p.pgid, pid);
	SAME_INT(p.sid, pid);
	end(pid);
}

static void
names(void)
{
	static const char *const rude[] = { "a b", "(", ")", "()", ") R 1 2 3",
		"((()))", "a)(b", "x\ny", "\\", "%s%n", "\xff\xfe", "",
		"0123456789abcde" };
	char before[16];
	struct proc p;

	prctl(PR_GET_NAME, before);
	for (size_t i = 0; i < sizeof(rude) / sizeof(rude[0]); i++) {
		prctl(PR_SET_NAME, rude[i]);
		CHECK(proc_read(getpid(), &p) == 0);
		SAME_TEXT(p.name, rude[i]);
		SAME_INT(p.ppid, getppid());
		SAME_INT(p.sid, getsid(0));
	}
	prctl(PR_SET_NAME, before);
}

static void
users(void)
{
	char user[PROC_USER], want[PROC_USER];
	pid_t pid = sleeper(false);

	snprintf(want, sizeof(want), "uid %u", (unsigned int)getuid());
	SAME_TEXT(proc_user(pid, user), getuid() == 0 ? "root" : want);
	end(pid);
	SAME_TEXT(proc_user(pid, user), "?");
	if (getuid() != 0)
		return;
	/* A name cannot pass for the line of the user. */
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NAME, "a\nUid:\t7\t");
		if (setresuid(4294967294U, 0, 0) == -1 ||
		    strcmp(proc_user(getpid(), user), "uid 4294967294") != 0)
			abort();
		_exit(0);
	}
	SAME_INT(reap(pid), 0);
}

static void
gone(void)
{
	struct proc p;
	pid_t pid = zombie();

	CHECK(proc_read(pid, &p) == 0);
	CHECK(!p.running);
	SAME_INT(p.ppid, getpid());
	reap(pid);
	SAME_INT(proc_read(pid, &p), -1);
	SAME_INT(proc_read(0, &p), -1);
	SAME_INT(proc_read(-1, &p), -1);
}

static void *
wait_thread(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* The letter that ps(1) shows. */
static char
state_of(pid_t pid)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (file == NULL || fscanf(file, "%*d %*s %c", &state) != 1)
		tap_fail("%s cannot be read", path);
	if (file != NULL)
		fclose(file);
	return state;
}

static void
first_thread_gone(void)
{
	pthread_t thread;
	struct proc p;
	pid_t pid = fork();

	if (pid == -1)
		abort();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "threads");
		if (pthread_create(&thread, NULL, wait_thread, NULL) == 0)
			pthread_exit(NULL);
		_exit(1);
	}
	for (int i = 0; i < 1000 && state_of(pid) != 'Z'; i++)
		usleep(20000);
	SAME_INT(state_of(pid), 'Z');
	CHECK(proc_read(pid, &p) == 0);
	CHECK(p.running);
	end(pid);
}

static void
walk(void)
{
	int self = 0, parent = 0, child = 0, all = 0;
	pid_t pid = sleeper(false);
	struct procs w;
	struct proc p;

	for (procs_open(&w); procs_next(&w, &p); all++) {
		CHECK(p.pid > 0);
		self += p.pid == getpid();
		parent += p.pid == getppid();
		child += p.pid == pid;
	}
	SAME_INT(self, 1);
	SAME_INT(parent, 1);
	SAME_INT(child, 1);
	CHECK(all >= 3);
	CHECK(!procs_next(&w, &p));
	end(pid);
}

static void
has_env(void)
{
	char assignment[64];
	pid_t pid = getpid();

	CHECK(proc_has_env(pid, "PROCS_UNIT=value"));
	CHECK(proc_has_env(pid, "PROCS_EMPTY="));
	CHECK(proc_has_env(pid, "PROCS_EQUALS=a=b=c"));
	for (int i = 0; i < PADDING; i++) {
		snprintf(assignment, sizeof(assignment), "PROCS_%d=number %d",
		    i, i);
		CHECK(proc_has_env(pid, assignment));
	}
	pid = sleeper(false);
	CHECK(proc_has_env(pid, "PROCS_UNIT=value"));
	end(pid);
}

static void
has_not_env(void)
{
	char longer[10100];
	pid_t pid = getpid();

	CHECK(!proc_has_env(pid, "PROCS_UNIT=valu"));
	CHECK(!proc_has_env(pid, "PROCS_UNIT=value2"));
	CHECK(!proc_has_env(pid, "PROCS_UNIT="));
	CHECK(!proc_has_env(pid, "PROCS_UNIT"));
	CHECK(!proc_has_env(pid, "ROCS_UNIT=value"));
	CHECK(!proc_has_env(pid, "value"));
	CHECK(!proc_has_env(pid, "procs_unit=value"));
	CHECK(!proc_has_env(pid, "PROCS_EMPTY=x"));
	CHECK(!proc_has_env(pid, "PROCS_EQUALS=a=b"));
	CHECK(!proc_has_env(pid, "PROCS_EQUALS=a"));
	CHECK(!proc_has_env(pid, "PROCS_0=number 1"));

	snprintf(longer, sizeof(longer), "%s", "PROCS_LONG=");
	memset(longer + 11, 'x', 10000);
	longer[10011] = '\0';
	CHECK(proc_has_env(pid, longer));
	longer[10010] = '\0';
	CHECK(!proc_has_env(pid, longer));
	longer[10010] = 'y';
	CHECK(!proc_has_env(pid, longer));
}

static void
env_at_start(void)
{
	pid_t pid;

	setenv("PROCS_LATER", "1", 1);
	CHECK(!proc_has_env(getpid(), "PROCS_LATER=1"));
	pid = zombie();
	CHECK(!proc_has_env(pid, "PROCS_UNIT=value"));
	reap(pid);
	CHECK(!proc_has_env(pid, "PROCS_UNIT=value"));
	unsetenv("PROCS_LATER");
}

static bool
in_group_cb(const struct proc *p, void *arg)
{
	const pid_t *groups = arg;

	return p->pgid == groups[0] || p->pgid == groups[1];
}

static void
signals(void)
{
	pid_t groups[2] = { sleeper(false), sleeper(true) };
	pid_t other = sleeper(false);
	pid_t dead = zombie();

	SAME_INT(procs_signal(in_group_cb, groups, 0), 2);
	SAME_INT(procs_signal(in_group_cb, groups, SIGTERM), 2);
	SAME_INT(reap(groups[0]), SIGTERM);
	SAME_INT(reap(groups[1]), SIGTERM);
	SAME_INT(procs_signal(in_group_cb, groups, SIGTERM), 0);
	CHECK(kill(other, 0) == 0);
	groups[0] = groups[1] = dead;
	SAME_INT(procs_signal(in_group_cb, groups, 0), 0);
	end(other);
	reap(dead);
}

static void
kills(void)
{
	const struct procs_found none = { .n = 0 };
	pid_t groups[2] = { sleeper(false), sleeper(true) };
	pid_t other = sleeper(false);
	siginfo_t info;

	kill(groups[1], SIGSTOP);
	CHECK(waitid(P_PID, (id_t)groups[1], &info, WSTOPPED) == 0);
	SAME_INT(procs_kill(in_group_cb, groups, &none), 2);
	SAME_INT(reap(groups[0]), SIGKILL);
	SAME_INT(reap(groups[1]), SIGKILL);
	SAME_INT(procs_kill(in_group_cb, groups, &none), 0);
	SAME_INT(waitpid(other, NULL, WNOHANG | WUNTRACED), 0);
	end(other);
}

static struct session lists[2][SESSIONS_MAX];

static void
session_sets(void)
{
	struct sessions s = { .list = lists[0] };
	pid_t pid = sleeper(true);

	CHECK(!sessions_has(&s, pid));
	sessions_add(&s, 0);
	sessions_add(&s, -1);
	SAME_INT(s.n, 0);
	sessions_add(&s, pid);
	sessions_add(&s, pid);
	SAME_INT(s.n, 1);
	CHECK(sessions_has(&s, pid));
	CHECK(!sessions_has(&s, getpid()));
	s.list[0].start--; /* it was another's number before */
	CHECK(!sessions_has(&s, pid));
	s.list[0].start++;
	end(pid);
	CHECK(sessions_has(&s, pid)); /* its processes may live on */

	for (int i = 1; i <= 2 * SESSIONS_MAX; i++)
		sessions_add(&s, 1000000000 + i);
	SAME_INT(s.n, SESSIONS_MAX);
	CHECK(sessions_has(&s, pid));
	CHECK(!sessions_has(&s, 1000000000 + SESSIONS_MAX));
}

/* Where the kernel lists children at all. */
static void
child_sessions(void)
{
	struct sessions s = { .list = lists[0] };
	pid_t one = sleeper(true), two = sleeper(true), three = sleeper(false);
	char path[64];
	bool listed;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children",
	    (int)getpid());
	listed = access(path, R_OK) == 0;
	sessions_of_child(getpid(), two, &s);
	SAME_INT(s.n, listed ? 2 : 0);
	CHECK(sessions_has(&s, one) == listed);
	CHECK(!sessions_has(&s, two));
	CHECK(sessions_has(&s, getsid(0)) == listed);
	sessions_of_child(getpid(), getsid(0), &s);
	SAME_INT(s.n, listed ? 3 : 0);
	CHECK(sessions_has(&s, two) == listed);
	s.n = 0;
	sessions_of_child(three, 0, &s);
	SAME_INT(s.n, 0);
	end(one);
	end(two);
	end(three);
	sessions_of_child(one, 0, &s);
	SAME_INT(s.n, 0);
}

/* A child, in our session, that has one in a session of its own: sid. */
static pid_t
nested_session(pid_t *sid)
{
	int numbers[2];
	pid_t pid;

	if (pipe(numbers) == -1 || (pid = fork()) == -1)
		abort();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		*sid = sleeper(true);
		(void)!write(numbers[1], sid, sizeof(*sid));
		for (;;)
			pause();
	}
	CHECK(read(numbers[0], sid, sizeof(*sid)) == sizeof(*sid));
	close(numbers[0]);
	close(numbers[1]);
	return pid;
}

static void
tree_sessions(void)
{
	struct sessions s = { .list = lists[0] };
	struct sessions merged = { .list = lists[1] };
	pid_t one = sleeper(true), deep, pid = nested_session(&deep);

	if (procs_list_children()) {
		sessions_of_tree(getpid(), getsid(0), &s);
		SAME_INT(s.n, 2);
		CHECK(sessions_has(&s, one));
		CHECK(sessions_has(&s, deep));
		sessions_merge(&merged, &s);
		sessions_merge(&merged, &s);
		SAME_INT(merged.n, 2);
		CHECK(sessions_has(&merged, deep));
		s.n = 0;
		sessions_of_tree(pid, getsid(0), &s);
		SAME_INT(s.n, 1);
		CHECK(sessions_has(&s, deep));
	}
	end(one);
	end(pid);
}

static void
stops_below(void)
{
	pid_t deep, pid = nested_session(&deep), groups[2] = { pid, deep };
	pid_t other = sleeper(false);
	struct procs_found found;
	siginfo_t info;

	setpgid(pid, pid);
	procs_stop_below(getpid(), in_group_cb, groups, &found);
	if (procs_list_children()) {
		SAME_INT(found.n, 2);
		SAME_INT(found.list[0], pid);
		SAME_INT(found.list[1], deep);
		CHECK(waitid(P_PID, (id_t)pid, &info, WSTOPPED) == 0);
		SAME_INT(procs_kill(in_group_cb, groups, &found), 2);
	} else
		SAME_INT(found.n, 0);
	SAME_INT(waitpid(other, NULL, WNOHANG | WUNTRACED), 0);
	end(other);
	end(pid);
}

#define MANY 100 /* their numbers do not fit into one read */

static void *
fork_thread(void *arg)
{
	*(pid_t *)arg = sleeper(false);
	for (;;)
		pause();
	return NULL;
}

/* Where the kernel lists children at all. */
static void
each_child(void)
{
	pid_t pids[MANY + 1], pid;
	int met[MANY + 1] = { 0 }, others = 0;
	struct children c;
	pthread_t thread;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children",
	    (int)getpid());
	if (access(path, R_OK) == -1)
		return;
	for (int i = 0; i < MANY; i++)
		pids[i] = sleeper(false);
	pids[MANY] = 0;
	CHECK(pthread_create(&thread, NULL, fork_thread, &pids[MANY]) == 0);
	while (*(volatile pid_t *)&pids[MANY] == 0)
		usleep(1000);
	for (proc_children_open(&c, getpid());
	     (pid = proc_children_next(&c)) != 0;) {
		bool known = false;

		for (int i = 0; i <= MANY; i++)
			if (pids[i] == pid) {
				met[i]++;
				known = true;
			}
		others += !known;
	}
	SAME_INT(others, 0);
	SAME_INT(proc_children_next(&c), 0);
	for (int i = 0; i <= MANY; i++) {
		SAME_INT(met[i], 1);
		end(pids[i]);
	}
	proc_children_open(&c, pids[0]);
	SAME_INT(proc_children_next(&c), 0);
}

static int
open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 100; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

static void
each_descriptor(void)
{
	int before = open_descriptors();
	pid_t child = sleeper(false);
	struct children c;
	struct procs w;
	struct proc p;

	proc_children_open(&c, getpid());
	if (procs_list_children())
		SAME_INT(proc_children_next(&c), child);
	proc_children_close(&c);
	SAME_INT(open_descriptors(), before);
	procs_open(&w);
	CHECK(procs_next(&w, &p));
	procs_close(&w);
	SAME_INT(open_descriptors(), before);
	end(child);
}

static void
first(void)
{
	pid_t groups[2] = { sleeper(false), zombie() };

	SAME_INT(procs_first(in_group_cb, groups), groups[0]);
	end(groups[0]);
	SAME_INT(procs_first(in_group_cb, groups), 0);
	reap(groups[1]);
}

static void
visible(void)
{
	CHECK(procs_visible());
}

static const struct tap_test tests[] = {
	{ "/proc is that of our pid namespace", visible },
	{ "a process is read with its parent, group and session", ourselves },
	{ "a child's group and session are its own", children },
	{ "no name of a process confuses what is read", names },
	{ "a zombie is seen, and one that is gone is not", gone },
	{ "the user of a process is its real user", users },
	{ "a process whose first thread has ended runs on", first_thread_gone },
	{ "a walk meets each process once", walk },
	{ "a variable that a process was started with is found", has_env },
	{ "only the whole assignment counts", has_not_env },
	{ "only the environment at its start counts", env_at_start },
	{ "the sessions of all descendants are found", tree_sessions },
	{ "each child of each thread is met once", each_child },
	{ "a search that is given up leaves no descriptor open",
	    each_descriptor },
	{ "a living member is found, and a zombie is not", first },
	{ "a signal reaches all living members and nobody else", signals },
	{ "a kill reaches stopped members too, and nobody else", kills },
	{ "members below a process are stopped, parents first", stops_below },
	{ "sessions are told apart by their leader's start", session_sets },
	{ "the sessions of a process's children are found, but for one",
	    child_sessions },
};

static void
restart(char **argv)
{
	char name[32], value[10001];

	setenv("PROCS_UNIT", "value", 1);
	setenv("PROCS_EMPTY", "", 1);
	setenv("PROCS_EQUALS", "a=b=c", 1);
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	setenv("PROCS_LONG", value, 1);
	for (int i = 0; i < PADDING; i++) {
		snprintf(name, sizeof(name), "PROCS_%d", i);
		snprintf(value, sizeof(value), "number %d", i);
		setenv(name, value, 1);
	}
	execv("/proc/self/exe", argv);
	abort();
}

int
main(int argc, char **argv)
{
	(void)argc;
	if (getenv("PROCS_UNIT") == NULL)
		restart(argv);
	return TAP_MAIN(tests);
}
