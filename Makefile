# redlock-run: runs a command while it holds a lock in Redis.  For GNU make.
# Users may set PREFIX, LIBDIR, SYSCONFDIR, ZSH_DIR, DESTDIR, CC, CFLAGS, CPPFLAGS
# and LDFLAGS.
# STATIC=1 links hiredis and uuid statically, WERROR=1 makes warnings fatal, V=1
# shows commands.

# Also in .debian/changelog, .rpm/redlock-run.spec and, without "~rc1", man/NEWS.
VERSION = 1.0.0~rc1
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
SYSCONFDIR ?= /etc
ZSH_DIR ?= zsh/site-functions
CFLAGS ?= -O2 -g

# All sources, in the rooms of src/, except the TLS module, which INSIDE adds.
SRCS = $(sort $(INSIDE) $(patsubst src/%,%,$(filter-out \
	src/redis/tls.c,$(wildcard src/*.c src/*/*.c))))
ROOMS = base redis process protocol lock config inspect run

# Uses all processors.  Several goals are made in their order.
ifeq ($(MAKELEVEL) $(word 2,$(MAKECMDGOALS)),0 )
MAKEFLAGS += -j$(shell nproc)
endif

B = build
PROGRAM = redlock-run
MODULE = $(PROGRAM)-tls.so
OBJS = $(SRCS:%.c=$B/%.o)
UNITS = $(patsubst tests/%.c,$B/%,$(wildcard tests/unit/*.c tests/sim/*.c))
BATS = $(filter-out tests/static/%,$(wildcard tests/*/*.bats))
TARGETS = $(patsubst tests/fuzz/%.c,$B/target/%,$(wildcard tests/fuzz/*.c))
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wnested-externs \
	-Wconversion -Wno-sign-conversion -Wformat=2 -Wvla -Wwrite-strings \
	-Wundef -Wpointer-arith -Wcast-qual -Wimplicit-fallthrough \
	-Wnull-dereference -Wno-overlength-strings $(if $(WERROR),-Werror)
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all

# Tests once which of these the compiler and libc support, and only when a
# recipe needs them.
compiles = $(shell printf '$2\n' | $(CC) -Werror $1 -x c -c -o /dev/null - \
	2>/dev/null && echo $1)
find_harden = $(foreach f,-fstack-clash-protection -fcf-protection,$(call \
	compiles,$f))
find_map = $(if $(call compiles,-ffile-prefix-map=a=b),-ffile-prefix-map)
find_fortify = $(if $(call compiles,-O2 -U_FORTIFY_SOURCE \
	-D_FORTIFY_SOURCE=3,\043include <features.h>\n\043if \
	__USE_FORTIFY_LEVEL != 3\n\043error\n\043endif),3,2)
harden = $(eval harden := $(find_harden))$(harden)
fortify = $(eval fortify := $(find_fortify))$(fortify)
map = $(eval map := $(find_map))$(map)

# Hardening stands in front of CFLAGS and LDFLAGS, so that a user's own keep it
# and can still switch parts of it off.  _FORTIFY_SOURCE needs -O, and
# would hide errors from a sanitizer.
OPTIMIZED = $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS))))
HARDEN = -fPIE -fstack-protector-strong $(harden) $(if $(findstring \
	-fsanitize,$(CFLAGS)),,$(if $(OPTIMIZED),-U_FORTIFY_SOURCE \
	-D_FORTIFY_SOURCE=$(fortify)))
RELRO = -Wl,-z,relro,-z,now

# pkg-config runs when a recipe needs its result, not when make reads this file,
# so that `make deps check` starts without the libraries.  Shared libraries are
# the default, so that a fix of hiredis arrives with the system's updates;
# static ones make a run 0.15 ms shorter.
pkg = $(shell pkg-config $1 2>/dev/null)
PKGS = hiredis uuid
LIBS = $(call pkg,--libs $(PKGS))
# Before glibc 2.34, threads and dlopen() are in libraries of their own.
LDLIBS = $(if $(STATIC),$(patsubst -l%,-l:lib%.a,$(LIBS)),$(LIBS)) -lpthread -ldl
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -DVERSION=\"$(VERSION)\" -I$B -Isrc \
	$(patsubst -I%,-isystem %,$(call pkg,--cflags $(PKGS))) \
	$(WARNINGS) $(HARDEN) $(CFLAGS)
# Makes two builds of one source equal, wherever they are made; a measurement of
# coverage needs the real directory.
HERE = $(if $(findstring --coverage,$(CFLAGS)),,$(addsuffix =$(CURDIR)=.,$(map)))
COMPILE = $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP
FLAGS = $(COMPILE) $(RELRO) $(LDFLAGS) $(LDLIBS)
say = $(if $(V),,@echo '$1 $@';)

# Required tools, and the Debian package of each.  The tests of redis-py need a
# package without a command.
BUILD_TOOLS = $(firstword $(CC)):$(if $(findstring clang,$(CC)),clang,gcc) \
	pkg-config:pkg-config
REDIS_TOOLS = redis-server:redis-server redis-cli:redis-tools
TEST_TOOLS = $(REDIS_TOOLS) bats:bats mandoc:mandoc python3:python3 ps:procps \
	strace:strace addr2line:binutils openssl:openssl ip:iproute2 zsh:zsh \
	fish:fish cron:cron faketime:faketime systemd-analyze:systemd \
	promtool:prometheus jq:jq sqlite3:sqlite3 $(if $(wildcard \
	/usr/lib/python3/dist-packages/redis),,-:python3-redis)
DEB_TOOLS = dpkg-buildpackage:dpkg-dev dh:debhelper
STATIC_TOOLS = dpkg-source:dpkg-dev
# The headers for the other processor have no command.
ARM = aarch64-linux-gnu
RELEASE_TOOLS = $(DEB_TOOLS) $(STATIC_TOOLS) $(ARM)-gcc:gcc-$(ARM) \
	$(if $(wildcard /usr/$(ARM)/include/stdio.h),,-:libc6-dev-arm64-cross)
TESTS = check check-quick check-asan soak flaky coverage chaos bench \
	bench-growth
# deps installs what the other goals need.
with = $(if $(filter $1,$(MAKECMDGOALS)),$2)
NEEDED = $(BUILD_TOOLS) $(call with,demo,$(REDIS_TOOLS)) \
	$(call with,$(TESTS),$(TEST_TOOLS)) $(call with,deb,$(DEB_TOOLS)) \
	$(call with,html,mandoc:mandoc) \
	$(call with,static check-static,$(STATIC_TOOLS)) \
	$(call with,release,$(RELEASE_TOOLS)) \
	$(call with,check-static,$(TEST_TOOLS))
LIBRARIES = hiredis:libhiredis-dev uuid:uuid-dev
find_missing = @missing=; for t in $1; do \
	command -v $${t%%:*} >/dev/null || missing="$$missing $${t\#*:}"; done; \
	for l in $(LIBRARIES); do pkg-config --exists \
	$${l%%:*} 2>/dev/null || missing="$$missing $${l\#*:}"; done; \
	echo '\#include <stdlib.h>' | $(CC) -E - >/dev/null 2>&1 || \
	missing="$$missing libc6-dev"; test -n "$$missing" || exit 0
find_no_archive = @missing=; for l in $(LIBRARIES); do \
	echo 'int main(void) { return 0; }' | $(CC) $(CFLAGS) -x c - \
	-o /dev/null $(LDFLAGS) $$(pkg-config --libs-only-L $${l%%:*}) \
	-l:lib$${l%%:*}.a 2>/dev/null || missing="$$missing $\
	lib$${l%%:*}.a (in Debian's $${l\#*:})"; done; \
	test -n "$$missing" || exit 0

# Installs the missing packages.
apt_get = root=; test "$$(id -u)" -eq 0 || root=sudo; \
	for t in apt-get $$root; do command -v $$t >/dev/null || { \
		echo "There is no $$t here to install$$missing with (their names" \
			"in Debian); please install them in another way." >&2; \
		exit 1; }; done; \
	$$root apt-get update; $$root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y --no-install-recommends $$missing

all: $(PROGRAM) $(MODULE)

$(PROGRAM): $(OBJS)
	$(call say,link)$(CC) -pie $(CFLAGS) $(RELRO) $(LDFLAGS) -o $@ \
		$(OBJS) $(LDLIBS)

# The TLS module needs the headers of OpenSSL.  Elsewhere it is not built, and
# the program reports that when a URL needs it.
TLS_PKGS = openssl
$(MODULE): src/redis/tls.c src/redis/tls.h $B/flags
	@pkg-config --exists $(TLS_PKGS) 2>/dev/null || exit 0; \
	$(if $(V),set -x,echo 'link $@'); $(CC) $(CPPFLAGS) $(ALL_CFLAGS) \
		$(HERE) -fPIC -shared $(RELRO) $(LDFLAGS) -o $@ $< \
		$(call pkg,--libs $(TLS_PKGS))

$B/%.o: src/%.c $B/flags $B/scripts.h | $B/prefix.h
	$(call say,compile)$(COMPILE) $(HERE) -c -o $@ $<

# The scripts go into the program as C strings, without comments and indentation,
# and C shares their constants and the positions of their arguments and replies.
LUA = src/protocol/lua
$B/scripts.h: $B/wire.h
	$(call say,make)$(LUA)/build scripts >$@
$B/wire.h: $(LUA)/build $(wildcard $(LUA)/*.lua) $B/flags
	$(call say,make)$(LUA)/build wire >$@

# Where the TLS module and the configuration file are.
$B/prefix.h: FORCE | $B/flags
	@printf '#define %s "%s"\n' TLS_DIR '$(LIBDIR)/redlock-run/' \
		CONFFILE_DEFAULT '$(SYSCONFDIR)/redlock-run.conf' >$@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# Changes with the flags and the libraries, and then everything is rebuilt.
$B/flags: FORCE | $(filter deps,$(MAKECMDGOALS))
	@mkdir -p $B/unit $B/sim $(ROOMS:%=$B/%); \
	echo '$(FLAGS)' | cmp -s - $@ && exit; echo '$(FLAGS)' >$@
	$(call find_missing,$(BUILD_TOOLS)); rm -f $@; \
	echo "redlock-run cannot be built without$$missing (their names in" \
		"Debian); 'make deps' installs what is missing." >&2; exit 1
	$(if $(STATIC),$(find_no_archive); rm -f $@; \
	echo "STATIC=1 needs archives that are not here:$$missing." >&2; exit 1)

# A unit test or the simulation includes the .c under test; the rest is in the
# archive.
$B/unit.a: $(filter-out $B/main.o,$(OBJS))
	$(call say,make)rm -f $@; $(AR) rcs $@ $^

$B/unit/%.o: tests/unit/%.c $B/flags $B/scripts.h | $B/prefix.h
	$(call say,compile)$(COMPILE) -c -o $@ $<
$B/sim/%.o: tests/sim/%.c $B/flags $B/scripts.h | $B/prefix.h
	$(call say,compile)$(COMPILE) -c -o $@ $<
$(UNITS): %: %.o $B/unit.a
	$(call say,link)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $B/unit.a \
		$(LDLIBS)
# These have the TLS module inside.
$B/unit/tls $B/target/tls: private LDLIBS += $(call pkg,--libs $(TLS_PKGS))

# A package always has TLS.
deps deb release: LIBRARIES += $(TLS_PKGS):libssl-dev
deps:
	$(call find_missing,$(NEEDED)); $(apt_get)

# One file for every Linux: musl, and the libraries that .static/build makes from
# Debian's sources.  TLS=no leaves out OpenSSL, which takes the longest.  GCC names
# another compiler, such as aarch64-linux-gnu-gcc.
ONE = $B/static
TLS = yes
ONE_TLS = $(filter-out no,$(TLS))
ONE_PACKAGES = musl hiredis util-linux $(if $(ONE_TLS),openssl)
# As PACKAGE=VERSION,...; -V prints them, and a new version rebuilds everything.
ONE_SOURCES = $(shell .static/build --recorded $(ONE_PACKAGES))
ONE_CFLAGS = -O2 -ffunction-sections -fdata-sections \
	-fno-asynchronous-unwind-tables
static: LIBRARIES =
static: | $(filter deps,$(MAKECMDGOALS))
	$(call find_missing,$(STATIC_TOOLS)); \
	echo "The static file cannot be built without$$missing (their names in" \
		"Debian); 'make deps static' installs what is missing." >&2; exit 1
	$(call say,make)GCC='$(GCC)' .static/build $(ONE)/lib $(ONE_PACKAGES)
	@GCC='$(GCC)' MUSL=$(ONE)/lib PKG_CONFIG_LIBDIR=$(ONE)/lib \
		$(MAKE) --no-print-directory B=$(ONE) \
		PROGRAM=$(ONE)/redlock-run STATIC= \
		CPPFLAGS='-DSOURCES=\"$(ONE_SOURCES)\"' \
		$(if $(ONE_TLS),INSIDE=redis/tls.c PKGS='hiredis uuid openssl') \
		CC=.static/musl-cc CFLAGS='$(ONE_CFLAGS)' \
		LDFLAGS='-s -Wl,--gc-sections' $(ONE)/redlock-run
	@echo "$(ONE)/redlock-run is made of Debian's $(ONE_SOURCES)."

# Records the newest versions of these sources that Debian has, and their sums.
static-sums:
	@.static/build --sums

# Runs the quick tests, or those of T, with the static file.
check-static: static
	@REDLOCK_RUN='$(abspath $(ONE)/redlock-run)' $(if $T,,TAG=quick) tests/run \
		$(or $T,tests/static $(BATS))

demo: $(PROGRAM)
	@REDLOCK_RUN='$(abspath $(PROGRAM))' tests/demo

# Also builds the programs of the tests; `check` runs them.
units: $(UNITS)

# Runs the tests that need no server.
check-units: $(UNITS)
	@tests/run $(UNITS)

# T names the tests to run: rooms (T=tests/process), files
# (T=tests/process/guard.bats), unit tests (T=build/unit/address), or several of
# them.
check: all $(if $(T),$(filter $(UNITS),$(T)),$(UNITS))
	@REDLOCK_RUN='$(abspath $(PROGRAM))' tests/run $(or $(T),$(UNITS) \
		$(BATS))

# The tests that cover most in little time: unit tests, the simulation, and the
# main promises of one server.
check-quick: all $(UNITS)
	@REDLOCK_RUN='$(abspath $(PROGRAM))' TAG=quick tests/run $(UNITS) \
		$(BATS)

# Runs the tests of crowds and long pauses SOAK times as long as `check` does.
soak: all
	@REDLOCK_RUN='$(abspath $(PROGRAM))' TAG=soak SOAK='$(or $(SOAK),15)' \
		LIMIT=7200 tests/run $(BATS)

# Runs all tests, or those of T, N times under different loads; then lists each
# test that has failed, and how often.
flaky: all $(UNITS)
	@REDLOCK_RUN='$(abspath $(PROGRAM))' tests/flaky $(or $(N),10) $(or $T,\
		$(UNITS) $(BATS))

# The oracle: compares the requests of all simulated lives with the recorded
# ones.  A refactoring leaves them unchanged.  A change of the protocol names
# the changed lives in its commit message, and RECORD=1 records them.
# REQUESTS=FILE writes every request, for a comparison with another commit.
trace: $B/unit/lock $B/sim/lives $B/sim/modes
	@rm -f $B/trace '$(REQUESTS)'; for p in $^; do \
		$(if $(REQUESTS),TRACE_REQUESTS='$(REQUESTS)') TRACE=$B/trace \
		$$p >/dev/null || exit; done
	@$(if $(RECORD),cp $B/trace tests/sim/trace,diff -u tests/sim/trace \
		$B/trace)
	@awk '{ n += $$2 } END { print n " requests as recorded" }' \
		tests/sim/trace

# Fuzz targets are built like unit tests, by clang with libFuzzer.
$B/target/%: tests/fuzz/%.c $B/unit.a
	@mkdir -p $(@D)
	$(call say,compile)$(COMPILE) -fsanitize=fuzzer -MF $@.d -MT $@ \
		$(LDFLAGS) -o $@ $< $B/unit.a $(LDLIBS)

targets: $(TARGETS)

# Runs each target with a fixed number of inputs.  RUNS multiplies it, and
# another SEED gives other inputs.
fuzz:
	@$(MAKE) --no-print-directory targets B=build/fuzz CC=clang LDFLAGS= \
		CFLAGS='-O1 -g -fsanitize=fuzzer-no-link $(SANITIZE)'
	@tests/fuzz/run build/fuzz/target $(or $(RUNS),1) $(SEED)

check-asan:
	@$(MAKE) --no-print-directory check B=build/asan LDFLAGS= \
		PROGRAM=build/asan/redlock-run \
		CFLAGS='-O1 -g -fno-omit-frame-pointer $(SANITIZE)'

# Measures how much of src the units cover alone, and then all tests (or those
# of T), in one table each.  V=1 prints the blocks that are never run, but for those
# in tests/coverage.never.
COVERED = B=build/coverage PROGRAM=build/coverage/redlock-run \
	CFLAGS='-O0 -g --coverage -fprofile-update=atomic' \
	LDFLAGS='--coverage build/coverage/covered.o -Wl,--wrap=_exit,--wrap=execv,--wrap=kill'
coverage:
	@mkdir -p build/coverage; \
	$(CC) -c -o build/coverage/covered.o tests/helpers/covered.c
	@$(MAKE) --no-print-directory all units $(COVERED)
	@find build/coverage -name '*.gcda' -delete
	@for u in $(UNITS:$B/%=build/coverage/%); do $$u >/dev/null; done
	@echo 'units alone:'; tests/coverage build/coverage $(if $(V),-v)
	@build/coverage/redlock-run --version >/dev/null; \
	chmod -R a+rwX build/coverage # other users record their lines, too
	@-GCOV_ERROR_FILE=/dev/null \
	$(MAKE) --no-print-directory check $(COVERED) | grep '^failed\|passed, '
	@echo 'all tests:'; tests/coverage build/coverage $(if $(V),-v)

# Checks all models, or those named in M (lease, fence, queue, votes).  LONG=1
# adds searches of many minutes.
model:
	tests/model/check $(if $(LONG),long) $(M)

# Runs all modes of tests/chaos/run for SECONDS, and then some PAUSES; or one
# MODE.  SEED=N repeats a run.
chaos: $(PROGRAM)
	@export REDLOCK_RUN='$(abspath $(PROGRAM))'; \
	tests/chaos/run $(or $(SECONDS),175) '$(SEED)' $(MODE)$(if $(MODE),, && \
		tests/chaos/pauses $(or $(PAUSES),60) $(SEED))

# Draws the picture for the README from a real run; needs root.
picture: $(PROGRAM)
	@tests/picture '$(abspath $(PROGRAM))' >man/redlock-run.svg

# Runs all measurements, or those named in T; SCALE=0.1 takes a tenth of the
# rounds.
bench: $(PROGRAM)
	@REDLOCK_RUN='$(abspath $(PROGRAM))' tests/bench/bench $(T)

# Measures how costs grow, as tables and as man/growth.svg.
bench-growth: $(PROGRAM)
	@REDLOCK_RUN='$(abspath $(PROGRAM))' tests/bench/bench growth

lint: $(PROGRAM)
	@test -e .ci || { $(only_from_git); }
	@tests/lint '$(abspath $(PROGRAM))' $(ALL_CFLAGS)

MANUALS = redlock-run.1 redlock-run.conf.5 redlock-run.7
BIN = $(DESTDIR)$(PREFIX)/bin
MODULES = $(DESTDIR)$(LIBDIR)/redlock-run
DATA = $(DESTDIR)$(PREFIX)/share
DOC = $(DATA)/doc/redlock-run
# Documents name the files of this installation.
adapt = sed -e 's,/etc/redlock-run,$(SYSCONFDIR)/redlock-run,g' \
	-e 's,/usr/bin/redlock-run,$(PREFIX)/bin/redlock-run,g' \
	-e 's,/usr/share/doc,$(PREFIX)/share/doc,g'
# What a database needs to refuse a run that has lost its lock.
FENCES = fence-postgresql.sql fence-mariadb.sql fence-sqlite.sql
install: all
	install -D $(PROGRAM) '$(BIN)/redlock-run'
	test ! -e $(MODULE) || install -D -m 644 $(MODULE) '$(MODULES)/$(MODULE)'
	set -e; for page in $(MANUALS); do \
		to="$(DATA)/man/man$${page##*.}/$$page"; \
		install -D -m 644 man/$$page "$$to"; \
		$(adapt) man/$$page >"$$to"; \
	done
	install -D -m 644 man/NEWS '$(DOC)/NEWS'
	install -D -m 644 man/redlock-run.conf '$(DOC)/examples/redlock-run.conf'
	$(adapt) man/redlock-run.conf >'$(DOC)/examples/redlock-run.conf'
	install -m 644 $(FENCES:%=man/%) '$(DOC)/examples'
	install -D -m 644 completions/redlock-run.bash \
		'$(DATA)/bash-completion/completions/redlock-run'
	install -D -m 644 completions/_redlock-run \
		'$(DATA)/$(ZSH_DIR)/_redlock-run'
	install -D -m 644 completions/redlock-run.fish \
		'$(DATA)/fish/vendor_completions.d/redlock-run.fish'

uninstall:
	rm -f '$(BIN)/redlock-run' '$(MODULES)/$(MODULE)' \
		'$(DATA)/man/man1/redlock-run.1' \
		'$(DATA)/man/man5/redlock-run.conf.5' \
		'$(DATA)/man/man7/redlock-run.7' \
		'$(DOC)/NEWS' '$(DOC)/examples/redlock-run.conf' \
		$(FENCES:%='$(DOC)/examples/%') \
		'$(DATA)/bash-completion/completions/redlock-run' \
		'$(DATA)/$(ZSH_DIR)/_redlock-run' \
		'$(DATA)/fish/vendor_completions.d/redlock-run.fish'

# The source of a release: HEAD without what only its development needs, and the
# same bytes from every clone.
dist:
	@test -e .git || { $(only_from_git); }
	mkdir -p $B
	git -c tar.umask=0022 archive --prefix=redlock-run-$(VERSION)/ \
		-o $B/redlock-run-$(VERSION).tar.gz HEAD -- . ':!.ci' ':!.debian'

# What the tarball of a release does not have.
only_from_git = echo "'make $@' works only from git." >&2; exit 1

# The manuals as pages that link to each other, for a web server or a browser.
html: | $(filter deps,$(MAKECMDGOALS))
	@command -v mandoc >/dev/null || { echo "'make html' needs mandoc;" \
		"'make deps html' installs it." >&2; exit 1; }
	@mkdir -p $B/html
	@man/html '$(abspath $B/html)' $(MANUALS)
	@echo 'The manuals are $B/html/*.html.'

# The manuals as README links to them, for web hosts that show Markdown.
markdown:
	@set -e; for page in $(MANUALS); do \
		man/markdown $$page >man/$$page.md; done

# Debian's tools expect debian/ in the source tree and write beside that tree,
# so they get a copy of the necessary files.  The caller's environment must not
# change the package; DEB_BUILD_OPTIONS=nocheck leaves out the tests.
DEB = $B/deb/redlock-run-$(VERSION)
deb: | $(filter deps,$(MAKECMDGOALS))
	@test -e .debian || { $(only_from_git); }
	$(call find_missing,$(BUILD_TOOLS) $(DEB_TOOLS)); \
	echo "The package cannot be built without$$missing (their names in" \
		"Debian); 'make deps deb' installs what is missing." >&2; exit 1
	rm -rf $B/deb $B/redlock-run_*.deb
	mkdir -p $(DEB)
	cp -R Makefile README.md src man completions tests $(DEB)
	cp -R .debian $(DEB)/debian
	cd $(DEB) && env -i PATH="$$PATH" HOME=/nonexistent LC_ALL=C.UTF-8 \
		DEB_BUILD_OPTIONS='$(filter nocheck,$(DEB_BUILD_OPTIONS))' \
		dpkg-buildpackage -d -us -uc -b
	cp $B/deb/redlock-run_*.deb $B
	@echo; echo "The package is $$(echo $B/redlock-run_*.deb)."

# What is published of a version, in build/release.
release: | $(filter deps,$(MAKECMDGOALS))
	@test -e .git || { $(only_from_git); }
	$(call find_missing,$(BUILD_TOOLS) $(RELEASE_TOOLS)); \
	echo "The release cannot be made without$$missing (their names in" \
		"Debian); 'make deps release' installs what is missing." >&2; exit 1
	@.static/release $(VERSION)

check-deb:
	@test -e .debian || { $(only_from_git); }
	@tests/run tests/deb

# Tests on Debian 11, with Redis 6.0, for arm64, the whole suite on Debian
# 13, the RPM package, and the files of a release, in roots of its own.
release-check: all
	@REDLOCK_RUN='$(abspath $(PROGRAM))' tests/release $(PART)

# Tests on Debian 13, with Redis 8 and with Valkey, beside redis-py and
# node-redlock, in a root of its own.  T as for check; LONG=1 runs everything.
check-matrix:
	@T='$T' LONG='$(LONG)' tests/matrix

clean:
	rm -rf $B $(PROGRAM) $(MODULE)

FORCE:
.PHONY: all deps static static-sums demo units check check-units check-quick \
	check-static soak flaky trace check-asan check-deb check-matrix \
	release-check coverage model chaos picture bench bench-growth lint \
	install uninstall dist html markdown deb release clean FORCE
.DELETE_ON_ERROR:
.SUFFIXES:
-include $(OBJS:.o=.d) $(UNITS:=.d) $(TARGETS:=.d)
.SECONDARY: $(UNITS:=.o)
