# SPDX-License-Identifier: ISC
# keyveto: make, make check, make install, make demo. GNU make.

# The only place of the version. tests/test_release.py compares the files that repeat it.
VERSION = 0.1.0
# The only place of where keyveto is to be had, compared as well. It is a git repository, and has releases/.
HOMEPAGE = https://keyveto.invalid

PREFIX = /usr
BINDIR = $(PREFIX)/bin
LIBEXECDIR = $(PREFIX)/libexec
MANDIR = $(PREFIX)/share/man
# Where bash, zsh and fish look for completions. Debian's zsh does not look into
# /usr/share/zsh/site-functions.
COMPLETIONDIR = $(PREFIX)/share/bash-completion/completions
ZSHDIR = $(PREFIX)/share/zsh/$(if $(and $(filter \
	/usr,$(PREFIX)),$(wildcard /etc/debian_version)),vendor-completions,site-functions)
FISHDIR = $(PREFIX)/share/fish/vendor_completions.d
DATADIR = $(PREFIX)/share/keyveto
FLEETDIR = $(PREFIX)/share/keyveto-fleet
DOCDIR = $(PREFIX)/share/doc/keyveto
SYSCONFDIR = /etc
STATEDIR = /var/lib/keyveto
# Set SYSTEMDUNITDIR (/lib/systemd/system) to install the units, and the account of the
# programs that read what others wrote, which systemd-sysusers makes.
SYSTEMDUNITDIR =
SYSUSERSDIR = $(PREFIX)/lib/sysusers.d
PKG_CONFIG = pkg-config
# The folder of this system's PAM modules.
PAMDIR = $(or $(shell $(PKG_CONFIG) --variable=libdir pam 2>/dev/null),/usr/lib)/security

CC ?= cc
CFLAGS ?= -O2 -g
BUILD = build

# Whether the local sshd accepts files that a private group may write: keyveto.conf(5).
STRICTMODES_DEFAULT = $(if $(wildcard /etc/debian_version),PRIVATE_GROUP,YES)

WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wvla -Wformat=2
# $(call known,FLAG...) are those flags that the compiler takes without a word.
known = $(shell for flag in $(1); do echo | $(CC) -O2 -Werror -U_FORTIFY_SOURCE \
	$(filter --sysroot=%,$(CPPFLAGS) $(CFLAGS)) -include stdlib.h $$flag -x c -S -o /dev/null - \
	2>/dev/null && echo $$flag; done)
# The C library reports a level that it does not know. One that CPPFLAGS or CFLAGS bring stands.
FORTIFY = $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,-U_FORTIFY_SOURCE \
	-D_FORTIFY_SOURCE=$(if $(call known,-D_FORTIFY_SOURCE=3),3,2))
# None of these slows a login noticeably. CFLAGS come after them.
HARDENING := -fstack-protector-strong -fPIE $(FORTIFY) $(call known,-fstack-clash-protection \
	-fcf-protection -mbranch-protection=standard -ftrivial-auto-var-init=zero)
HARDENING_LD = -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed
ifneq ($(CI),)
WARNINGS += -Werror
endif

# Processors of 32 bits: without these, the files of a large file system, and those of
# after 2038, would be errors, and so would their users' logins.
ifeq ($(shell echo __SIZEOF_LONG__ | $(CC) -E -P -x c - 2>/dev/null),4)
WIDE = -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64
endif

KV_CPPFLAGS = -D_GNU_SOURCE $(WIDE) -Ilib -DKEYVETO_VERSION='"$(VERSION)"' \
	-DKV_SYSCONFDIR='"$(SYSCONFDIR)"' -DKV_STATEDIR='"$(STATEDIR)"' \
	-DKV_DATADIR='"$(DATADIR)"' -DKV_LIBEXECDIR='"$(LIBEXECDIR)"' -DKV_PAMDIR='"$(PAMDIR)"' \
	-DKV_STRICTMODES_DEFAULT=KV_STRICTMODES_$(STRICTMODES_DEFAULT) $(CPPFLAGS)
# Debuggers are told the sources by their names in this folder, wherever it is.
KV_CFLAGS = -std=c11 $(WARNINGS) $(HARDENING) -fdebug-prefix-map=$(CURDIR)=. $(CFLAGS)
KV_LDFLAGS = $(HARDENING_LD) $(LDFLAGS)

LIB_SRC = $(wildcard lib/*.c)
GUARD_SRC = $(wildcard sshd-helper/*.c)
PAM_SRC = $(wildcard pam/*.c)
CLI_SRC = $(wildcard cli/*.c cli/*/*.c)
READER_SRC = $(wildcard reader/*.c)
WORKER_SRC = $(wildcard worker/*.c)
NETWORK_SRC = $(wildcard network/*.c)
TEST_SRC = $(wildcard tests/unit/test_*.c)

LIB_OBJ = $(LIB_SRC:%.c=$(BUILD)/%.o)
GUARD_OBJ = $(GUARD_SRC:%.c=$(BUILD)/%.o)
# The module needs objects that are position independent and hide their symbols.
PAM_OBJ = $(PAM_SRC:%.c=$(BUILD)/pic/%.o) $(LIB_SRC:%.c=$(BUILD)/pic/%.o)
CLI_OBJ = $(CLI_SRC:%.c=$(BUILD)/%.o)
READER_OBJ = $(READER_SRC:%.c=$(BUILD)/%.o)
WORKER_OBJ = $(WORKER_SRC:%.c=$(BUILD)/%.o)
NETWORK_OBJ = $(NETWORK_SRC:%.c=$(BUILD)/%.o)
TESTS = $(TEST_SRC:tests/unit/%.c=$(BUILD)/tests/%)

BINARIES = $(BUILD)/keyveto $(BUILD)/keyveto-reader $(BUILD)/keyveto-worker \
	$(BUILD)/keyveto-network $(BUILD)/keyveto-authorized-keys $(BUILD)/pam_keyveto.so

# $(call put,MODE,FILE,FOLDER) installs by renaming, so that a login meets either
# the old file or the new one.
put = install -m $(1) $(2) $(3)/.$(notdir $(2)).new && \
	mv -f $(3)/.$(notdir $(2)).new $(3)/$(notdir $(2))

# Sample configuration for other programs. Installing it activates none of it.
SAMPLES = $(filter-out ansible debian rpm systemd sysusers,$(notdir \
	$(patsubst %/,%,$(wildcard packaging/*/))))

Q = $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)	$(2)")

# Without them make would stop at the first file, and not say what to type.
ifneq ($(filter all,$(or $(MAKECMDGOALS),all)),)
$(if $(shell command -v $(firstword $(CC)) && command -v $(PKG_CONFIG)),,\
	$(error there is no C compiler, or no $(PKG_CONFIG): as root, type scripts/deps build))
endif

all: $(BINARIES) $(BUILD)/keyveto-report $(BUILD)/keyveto-publish

$(BUILD)/%.o: %.c Makefile
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CPPFLAGS) $(KV_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/pic/%.o: %.c Makefile
	$(call say,CC,$< (module))
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CPPFLAGS) $(KV_CFLAGS) -fPIC -fvisibility=hidden \
		-MMD -MP -c -o $@ $<

# Python. The report finds its page in the folder of the file that this link leads to.
$(BUILD)/keyveto-report $(BUILD)/keyveto-publish: $(BUILD)/%: fleet/%
	@mkdir -p $(@D)
	$(Q)ln -sfr $< $@

$(BUILD)/libkeyveto.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $(LIB_OBJ)

# sshd starts the guard for every key, so libmd is part of it: loading the shared library
# would take a tenth of the guard's own time. Some systems have only that one.
GUARD_LIBMD = $(if $(findstring /,$(shell $(CC) -print-file-name=libmd.a)),-l:libmd.a,-lmd)
$(BUILD)/keyveto-authorized-keys: $(GUARD_OBJ) $(BUILD)/libkeyveto.a
	$(call say,LD,$@)
	$(Q)$(CC) $(KV_CFLAGS) -pie $(KV_LDFLAGS) -o $@ $(GUARD_OBJ) \
		$(BUILD)/libkeyveto.a $(GUARD_LIBMD)

# Only the command may use libraries other than libc, libmd and libpam. What parses for it
# what others wrote is behind the walls: the program that is root's links none of that.
FRONT_LIBS = $(shell $(PKG_CONFIG) --libs jansson libmd) -lpam
CLI_LIBS = $(shell $(PKG_CONFIG) --libs libcrypto jansson liblzma libzstd zlib gmp \
	libmd) -lpam
$(CLI_OBJ) $(READER_OBJ) $(WORKER_OBJ) $(NETWORK_OBJ): KV_CPPFLAGS += -Icli \
	$(shell $(PKG_CONFIG) --cflags libssh libcrypto jansson libcurl liblzma libzstd zlib gmp)

# Each program has those objects that it calls, and their libraries.
$(BUILD)/keyveto: $(BUILD)/cli/main.o $(BUILD)/libcommand.a $(BUILD)/libkeyveto.a
	$(call say,LD,$@)
	$(Q)$(CC) $(KV_CFLAGS) -pie $(KV_LDFLAGS) -o $@ $^ $(FRONT_LIBS) \
		-lpthread -lm

$(BUILD)/libcommand.a: $(filter-out $(BUILD)/cli/main.o,$(CLI_OBJ))
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) qcs $@ $^

READER_LIBS = $(shell $(PKG_CONFIG) --libs libcrypto liblzma zlib gmp libseccomp libmd jansson)
$(BUILD)/keyveto-reader: $(READER_OBJ) $(BUILD)/libcommand.a $(BUILD)/libkeyveto.a
	$(call say,LD,$@)
	$(Q)$(CC) $(KV_CFLAGS) -pie $(KV_LDFLAGS) -o $@ $^ $(READER_LIBS) \
		-lpthread -lm

# Its files.o and replace.o stand for those of the archive.
$(BUILD)/keyveto-worker: $(WORKER_OBJ) $(BUILD)/libcommand.a $(BUILD)/libkeyveto.a
	$(call say,LD,$@)
	$(Q)$(CC) $(KV_CFLAGS) -pie $(KV_LDFLAGS) -o $@ $^ $(READER_LIBS) \
		$(shell $(PKG_CONFIG) --libs libzstd) -lpthread -lm

NETWORK_LIBS = $(shell $(PKG_CONFIG) --libs libcurl libssh libseccomp libmd)
$(BUILD)/keyveto-network: $(NETWORK_OBJ) $(BUILD)/libcommand.a $(BUILD)/libkeyveto.a
	$(call say,LD,$@)
	$(Q)$(CC) $(KV_CFLAGS) -pie $(KV_LDFLAGS) -o $@ $^ $(NETWORK_LIBS) -ldl

$(BUILD)/pam_keyveto.so: $(PAM_OBJ) pam/pam_keyveto.map
	$(call say,LD,$@)
	$(Q)$(CC) $(KV_CFLAGS) -fPIC -shared $(KV_LDFLAGS) -Wl,-z,defs \
		-Wl,--version-script=pam/pam_keyveto.map -o $@ $(PAM_OBJ) \
		-lpam -lmd

# The demonstration and the tests install the packages that they lack.
deps:
	@scripts/deps

# Whoever says nothing of -j gets all processors.
PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

demo: deps
	@echo "building keyveto, for a minute"
	@$(MAKE) --no-print-directory $(PARALLEL) -s all >/dev/null
	@/usr/bin/python3 demo/demo.py --build $(BUILD)

# What finds most mistakes; make check-long has the rest of the same tests. CONTRIBUTING.md says what is where.
check check-long: deps
	@$(MAKE) --no-print-directory $(PARALLEL) all unit-tests
	@tests/run $(BUILD) $(@:check-%=%)

TEST_HELP_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(TEST_SRC),\
	$(wildcard tests/unit/*.c)))
TEST_OBJ = $(TEST_SRC:%.c=$(BUILD)/%.o) $(TEST_HELP_OBJ)
$(TEST_OBJ): KV_CPPFLAGS += -I. -Isshd-helper -Ipam -Icli
# test_guard calls the guard's main, under another name.
$(BUILD)/tests/guard.o: sshd-helper/keyveto-authorized-keys.c Makefile
	$(call say,CC,$< (test))
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CPPFLAGS) $(KV_CFLAGS) -Dmain=guard_main \
		-Wno-missing-prototypes -MMD -MP -c -o $@ $<

# A unit test links what it calls from this archive. ar q, not r, keeps two files
# of the same name from different folders.
$(BUILD)/libtested.a: $(filter-out $(BUILD)/cli/main.o,$(CLI_OBJ)) \
		$(filter-out %/main.o,$(NETWORK_OBJ)) \
		$(filter-out %/keyveto-authorized-keys.o,$(GUARD_OBJ)) \
		$(BUILD)/tests/guard.o $(BUILD)/pam/auth_info.o
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) qcs $@ $^

$(BUILD)/tests/test_%: $(BUILD)/tests/unit/test_%.o \
		$(TEST_HELP_OBJ) $(BUILD)/libtested.a $(BUILD)/libkeyveto.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CFLAGS) -pie $(KV_LDFLAGS) -o $@ $^ -lcmocka \
		$(CLI_LIBS) $(NETWORK_LIBS) -lpthread -lm -ldl

# The module finds this test's syslog.
$(BUILD)/tests/test_pam_retval: KV_LDFLAGS += -rdynamic

unit-tests: $(TESTS)

lint:
	@QUICK='$(QUICK)' scripts/lint

# Compiles all C for musl, and links nothing: Debian has no libraries for it. Of the
# headers of /usr/include it gets those alone of the kernel and of the libraries.
MUSL_HEADERS = asm asm-generic curl gmp.h jansson.h jansson_config.h libssh linux lzma \
	lzma.h openssl seccomp.h seccomp-syscalls.h security sha2.h xxhash.h \
	zconf.h zlib.h zstd.h zstd_errors.h
MUSL_MULTIARCH = /usr/include/$(shell $(CC) -print-multiarch)
MUSL_SRC = $(LIB_SRC) $(GUARD_SRC) $(PAM_SRC) $(CLI_SRC) $(READER_SRC) $(WORKER_SRC) \
	$(NETWORK_SRC)
MUSL = $(MUSL_SRC:%.c=$(BUILD)/musl/%.checked)
$(MUSL): KV_CPPFLAGS += -Icli
$(BUILD)/musl/%.checked: %.c $(BUILD)/musl/include
	@mkdir -p $(@D)
	$(Q)musl-gcc $(KV_CPPFLAGS) -std=c11 -O2 $(WARNINGS) -Werror -MMD -MP -MT $@ \
		-MF $(@:checked=d) -idirafter $(BUILD)/musl/include \
		-idirafter $(BUILD)/musl/include/multiarch -fsyntax-only $< && touch $@

$(BUILD)/musl/include: Makefile
	@rm -rf $@ && mkdir -p $@/multiarch
	@ln -s $(wildcard $(MUSL_HEADERS:%=/usr/include/%)) $@
	@ln -s $(wildcard $(MUSL_HEADERS:%=$(MUSL_MULTIARCH)/%)) $@/multiarch

musl: $(MUSL)

format:
	@scripts/format

# Runs the tests with sanitizers. A PAM module cannot bring ASan into sshd, so the
# logins run with UBSan only, which traps. Under ASan some tests are left out: those
# that do over and over, for minutes, what the tests beside them do once, and those
# that measure memory or an hour's work, which ASan changes. README's and enable's
# logins are those of make check with the command, whose tests ASan watches: make campaign
# runs them with UBSan, too. It also runs with ASan what kills the command at every system
# call, and those files of tests in which the command decides and waits more than it parses,
# or parses again what other files give it.
# clang does not define __SANITIZE_ADDRESS__, without which the walls refuse what ASan calls.
SANITIZE = -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all
SANITIZE_CLI = not this_machine_is_what_it_was and \
	not ten_thousand_accounts and not unpacks_to_more_than_a_gibibyte and \
	not real_logins_that_pam_refuses and not passed_over_once and \
	not test_update_sight and not test_sshd_round_trips and \
	not test_1_gb_of_keys and \
	not link_exchanged_during_the_run and not line_of_1_gb \
	$(SANITIZE_LONG)
SANITIZE_LONG = and not test_killed and not killed_anywhere and not test_confirm and \
	not test_audit_logins and not test_brake_ and not test_config_ and not test_sshd_ and \
	not test_stuck_homes and not test_doctor_ and not test_status and not test_setup and not test_publish and \
	not test_uninstall and not test_check_large and \
	not test_check_sparse and not test_filter_show and not test_update_walls and not test_audit_groups and not test_audit_sshd and \
	not test_walls_keygen and not test_walls_journal and not test_walls_weak and \
	not test_update_sshds
# The logins that give guard and module keys in odd encodings: make campaign has the others.
UBSAN_GROUPS = e2e
UBSAN_LOGINS = test_odd_certificates
sanitize:
	@mkdir -p build/asan
	@$(CC) -fPIE -c -o build/asan/options.o tests/asan_options.c
	@$(MAKE) --no-print-directory BUILD=build/asan HARDENING=-fPIE \
		CFLAGS='$(SANITIZE) -fsanitize=address,undefined -D__SANITIZE_ADDRESS__=1' \
		LDFLAGS=build/asan/options.o all unit-tests
	@KEYVETO_SLOWER=10 TRIPS=10 ASAN_OPTIONS=detect_leaks=1 \
		PYTEST_ADDOPTS='-k "$(SANITIZE_CLI)"' \
		tests/run build/asan unit cli
	@$(MAKE) --no-print-directory BUILD=build/ubsan \
		CFLAGS='$(SANITIZE) -fsanitize=undefined -fsanitize-undefined-trap-on-error' \
		all
	@PYTEST_ADDOPTS='-k "$(UBSAN_LOGINS)"' tests/run build/ubsan $(UBSAN_GROUPS)

# Built without _FORTIFY_SOURCE: valgrind takes its memmove for memcpy.
# Left out are test_pam_stack, test_pam_decision and test_ways: they read PAM's
# stacks with openat2(2), which Debian 12's valgrind does not know.
# test_proof verifies a proof a thousand times, which takes valgrind minutes.
# The logins run the guard under valgrind. Two cases are left out: one compares the
# environment, which valgrind changes, the other gives the guard less memory than
# valgrind needs. So are the files where sshd, the module or the command do the work.
# make campaign runs those of VALGRIND_LONG, too, which have the guard do again, for minutes,
# what it does in the others; and those of VALGRIND_LONG_UNIT, which are the command's.
# The handler of SIGBUS returns to where a page was lost, and needs all registers.
VALGRIND = valgrind -q --vgdb=no --error-exitcode=9 --leak-check=full \
	--vex-iropt-register-updates=allregs-at-mem-access
VALGRIND_LOGINS = not finds_signals_limits and not huge_file_is_streamed and \
	not test_confirmed_keys and not test_list_of_a_million and \
	not test_other_logins and not test_refused_session
VALGRIND_LONG_UNIT = test_weak
VALGRIND_LONG = and not test_guard_files and not test_guard_command and \
	not test_nosecret and not test_ways_in and not test_policy and \
	not test_what_people_see and not test_pam_environment and not test_errors and \
	not test_exact_lists
valgrind:
	@$(MAKE) --no-print-directory BUILD=build/valgrind HARDENING=-fPIE all \
		unit-tests
	@TEST_WRAPPER='$(VALGRIND)' TEST_LEFT_OUT='test_pam_decision test_pam_stack test_proof test_ways $(VALGRIND_LONG_UNIT)' \
		tests/run build/valgrind unit
	@TEST_WRAPPER='$(VALGRIND)' \
		PYTEST_ADDOPTS='-k "$(VALGRIND_LOGINS) $(VALGRIND_LONG)"' \
		tests/run build/valgrind e2e

# Reports the lines and branches of the login path that the tests execute. Threads of
# check count the same lines: without atomic counts gcov finds negative ones.
coverage:
	@$(MAKE) --no-print-directory BUILD=build/coverage HARDENING=-fPIE \
		CFLAGS='-O0 -g --coverage -fprofile-update=atomic' all unit-tests
	@scripts/coverage build/coverage

# Runs the tests on mutants of the login path: tests/mutants/README.md. FILES= are words
# that are in the names of files, SAMPLE=n is every nth mutant.
SAMPLE = 1
mutants:
	@scripts/deps all
	@/usr/bin/python3 -m pytest -q -p no:cacheprovider tests/mutants
	@/usr/bin/python3 tests/mutants/run.py --build $(BUILD) --sample $(SAMPLE) \
		$(FILES:%=--files %)

# Fuzzing needs clang. Every target runs for SECONDS, starting from its corpus.
SECONDS = 60
FUZZ_SRC = $(wildcard fuzz/fuzz_*.c)
FUZZ = $(FUZZ_SRC:fuzz/%.c=$(BUILD)/fuzz/%)
FUZZ_CLI_SRC = $(wildcard cli/keys/*.c) cli/logs/log_reading.c \
	cli/proof/key.c cli/proof/jws.c cli/proof/attestation.c cli/proof/reader.c \
	cli/host/memory.c cli/proof/whole.c cli/proof/work.c cli/ways/pam_stack.c cli/host/system_file.c cli/host/system_open.c cli/host/files.c cli/host/become.c \
	cli/host/child.c cli/base/record.c cli/net/http_header.c cli/upkeep/settings.c \
	cli/published/manifest.c cli/published/manifest_parse.c cli/published/sources.c cli/published/unxz.c \
	cli/published/patch.c cli/published/records.c cli/host/replace.c cli/host/change.c cli/host/place.c cli/base/io.c \
	cli/sets/list_reader.c cli/sets/list_names.c cli/published/lookup.c cli/log_lines/decision.c \
	cli/log_lines/accepted.c cli/log_lines/syslog_line.c cli/log_lines/journal_line.c \
	cli/base/room.c cli/base/texts.c cli/base/unvis.c cli/sshd_config/match.c \
	cli/reading/facts.c cli/reading/finding.c cli/sets/list_date.c cli/base/color.c cli/base/json_text.c \
	cli/reading/judging.c cli/reading/keys.c cli/reading/lines.c cli/reading/log_records.c cli/reading/talk.c cli/wall/packet.c cli/wall/start.c \
	cli/host/program.c cli/command.c cli/weak/moduli.c cli/weak/records.c
# fuzz/build sets these four to what OSS-Fuzz, or anybody, fuzzes with.
FUZZ_CC = clang
FUZZ_CFLAGS = -g -O1 -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=all
FUZZ_LINK = $(FUZZ_CC) $(FUZZ_CFLAGS)
FUZZ_ENGINE =

# What is fuzzed is compiled once, for all targets.
FUZZ_OBJ = $(patsubst %.c,$(BUILD)/fuzz/obj/%.o,$(LIB_SRC) pam/auth_info.c \
	$(FUZZ_CLI_SRC))

$(BUILD)/fuzz/obj/%.o: %.c Makefile
	$(call say,FUZZ,$<)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(KV_CPPFLAGS) -Ipam -Icli -Ifuzz -std=c11 $(FUZZ_CFLAGS) \
		-MMD -MP -c -o $@ $<

# An archive: a target may have functions of its own instead of a file's.
$(BUILD)/fuzz/libfuzzed.a: $(FUZZ_OBJ)
	@mkdir -p $(@D)
	$(Q)rm -f $@
	$(Q)$(AR) qcs $@ $^

$(BUILD)/fuzz/%: $(BUILD)/fuzz/obj/fuzz/%.o $(BUILD)/fuzz/libfuzzed.a
	$(call say,FUZZ,$@)
	$(Q)$(FUZZ_LINK) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(FUZZ_ENGINE) $(CLI_LIBS) \
		$(NETWORK_LIBS)

fuzz-targets: $(FUZZ)

fuzz: $(FUZZ)
	@fuzz/run $(BUILD)/fuzz $(SECONDS)

# Which lines of each parser the corpus reaches.
fuzz-coverage:
	@scripts/deps all
	@fuzz/coverage.py $(BUILD)/fuzz-coverage

# The longest forms of what `make check-long` samples, fuzzing, and what CI leaves out because
# it runs the same tests once more: three hours. The
# differential logins take another hour for each sshd: this machine's, and that of
# each Debian release in CAMPAIGN_SUITES.
CAMPAIGN_SECONDS = 530
CAMPAIGN_SUITES = trixie sid
campaign: all $(FUZZ)
	@scripts/deps all
	@tests/differential/roots $(BUILD)/roots $(CAMPAIGN_SUITES)
	@FUZZ_SECONDS=$(CAMPAIGN_SECONDS) \
		DIFFERENTIAL_ROOTS='$(CAMPAIGN_SUITES:%=$(CURDIR)/$(BUILD)/roots/%)' \
		tests/run $(BUILD) campaign
	@$(MAKE) --no-print-directory sanitize UBSAN_GROUPS=logins UBSAN_LOGINS= SANITIZE_LONG=
	@$(MAKE) --no-print-directory valgrind VALGRIND_LONG= VALGRIND_LONG_UNIT=
	@$(MAKE) --no-print-directory lint check-readme coverage

# Proves the login path with CBMC: see prove/README.md.
PROVE_FLAGS =
prove:
	@/usr/bin/python3 prove/run.py --build $(BUILD) $(PROVE_FLAGS)
	@/usr/bin/python3 prove/run.py --build $(BUILD) $(PROVE_FLAGS) --planted

# Measures ratios to references: see bench/README.md.
BENCH = $(patsubst bench/%.c,$(BUILD)/bench/%,$(wildcard bench/*.c))
BENCH_FLAGS =
bench: all $(BENCH) $(BUILD)/bench/dynamic
	@scripts/deps all
	@/usr/bin/python3 bench/run.py --build $(BUILD) $(BENCH_FLAGS)

$(BUILD)/bench/%: bench/%.c $(BUILD)/libtested.a $(BUILD)/libkeyveto.a \
		$(wildcard bench/*.h)
	$(call say,BENCH,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CPPFLAGS) -Icli -std=c11 $(WARNINGS) $(CFLAGS) \
		-Wl,--as-needed -o $@ $(filter-out %.h,$^) $(CLI_LIBS) \
		-lpthread -lm

$(BUILD)/bench/static: bench/static.c
	$(Q)$(CC) -O2 -static -o $@ $<

$(BUILD)/bench/dynamic: bench/static.c
	$(Q)$(CC) -O2 -o $@ $<

UNITS = $(notdir $(wildcard packaging/systemd/*.*))

install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBEXECDIR)/keyveto \
		$(DESTDIR)$(PAMDIR) $(DESTDIR)$(SYSCONFDIR)/keyveto \
		$(DESTDIR)$(STATEDIR) $(DESTDIR)$(MANDIR)/man1 \
		$(DESTDIR)$(MANDIR)/man5 $(DESTDIR)$(MANDIR)/man8
	install -m 755 $(BUILD)/keyveto $(DESTDIR)$(BINDIR)/
	# Only root may read it, so nobody else who runs it can trace it.
	$(call put,711,$(BUILD)/keyveto-authorized-keys,$(DESTDIR)$(LIBEXECDIR))
	$(call put,644,$(BUILD)/pam_keyveto.so,$(DESTDIR)$(PAMDIR))
	# The command starts them, by these paths.
	$(call put,755,$(BUILD)/keyveto-reader,$(DESTDIR)$(LIBEXECDIR)/keyveto)
	$(call put,755,$(BUILD)/keyveto-worker,$(DESTDIR)$(LIBEXECDIR)/keyveto)
	$(call put,755,$(BUILD)/keyveto-network,$(DESTDIR)$(LIBEXECDIR)/keyveto)
	install -d $(DESTDIR)$(FLEETDIR)
	install -m 755 fleet/keyveto-report fleet/keyveto-publish $(DESTDIR)$(FLEETDIR)/
	install -m 644 fleet/page.* fleet/prove_leak.py $(DESTDIR)$(FLEETDIR)/
	# The collection, without its tests.
	cd fleet && find ansible ! -name ansible \( -name '.*' -o -name tests -o -name extensions -o -name LICENSE \) -prune \
		-o -name __pycache__ -prune -o -type f -exec install -D -m 644 {} $(abspath $(DESTDIR)$(FLEETDIR))/{} \;
	ln -sfr $(DESTDIR)$(FLEETDIR)/keyveto-* $(DESTDIR)$(BINDIR)/
	install -m 644 man/*.1 $(DESTDIR)$(MANDIR)/man1/
	install -m 644 man/*.5 $(DESTDIR)$(MANDIR)/man5/
	install -m 644 man/*.8 $(DESTDIR)$(MANDIR)/man8/
	for page in disable setup; do \
		ln -sf keyveto-enable.8 $(DESTDIR)$(MANDIR)/man8/keyveto-$$page.8 || exit 1; done
	install -d $(DESTDIR)$(COMPLETIONDIR) $(DESTDIR)$(ZSHDIR) \
		$(DESTDIR)$(FISHDIR)
	install -m 644 completion/keyveto.bash \
		$(DESTDIR)$(COMPLETIONDIR)/keyveto
	install -m 644 completion/_keyveto $(DESTDIR)$(ZSHDIR)/
	install -m 644 completion/keyveto.fish $(DESTDIR)$(FISHDIR)/
	for folder in $(SAMPLES); do \
		install -d $(DESTDIR)$(DATADIR)/$$folder && \
		install -m 644 packaging/$$folder/* \
			$(DESTDIR)$(DATADIR)/$$folder/ || exit 1; \
	done
	# The command makes the files of /etc/keyveto, so that no upgrade has to do with them.
	install -d $(DESTDIR)$(DOCDIR)/examples
	install -m 644 etc/*.conf $(DESTDIR)$(DOCDIR)/examples/
ifneq ($(SYSTEMDUNITDIR),)
	install -d $(DESTDIR)$(SYSTEMDUNITDIR) $(DESTDIR)$(SYSUSERSDIR)
	install -m 644 packaging/sysusers/keyveto.conf $(DESTDIR)$(SYSUSERSDIR)/
	for unit in $(UNITS); do \
		sed -e 's|/usr/bin/keyveto|$(BINDIR)/keyveto|' \
			-e 's|/etc/keyveto|$(SYSCONFDIR)/keyveto|' \
			-e 's|/var/lib/keyveto|$(STATEDIR)|' \
			packaging/systemd/$$unit \
			>$(DESTDIR)$(SYSTEMDUNITDIR)/$$unit && \
		chmod 644 $(DESTDIR)$(SYSTEMDUNITDIR)/$$unit || exit 1; \
	done
endif

# The configuration and the filters belong to the administrator, and stay. While a
# login would fail without keyveto, nothing is removed.
uninstall:
	@scripts/in-use $(if $(DESTDIR),--root '$(DESTDIR)') \
		$(LIBEXECDIR)/keyveto-authorized-keys
	rm -f $(DESTDIR)$(BINDIR)/keyveto $(DESTDIR)$(BINDIR)/keyveto-report \
		$(DESTDIR)$(BINDIR)/keyveto-publish \
		$(DESTDIR)$(LIBEXECDIR)/keyveto-authorized-keys \
		$(DESTDIR)$(PAMDIR)/pam_keyveto.so \
		$(DESTDIR)$(COMPLETIONDIR)/keyveto \
		$(DESTDIR)$(ZSHDIR)/_keyveto $(DESTDIR)$(FISHDIR)/keyveto.fish
	$(if $(SYSTEMDUNITDIR),rm -f $(UNITS:%=$(DESTDIR)$(SYSTEMDUNITDIR)/%) \
		$(DESTDIR)$(SYSUSERSDIR)/keyveto.conf)
	rm -rf $(DESTDIR)$(DATADIR) $(DESTDIR)$(FLEETDIR) $(DESTDIR)$(LIBEXECDIR)/keyveto $(DESTDIR)$(DOCDIR)/examples
	[ ! -d $(DESTDIR)$(DOCDIR) ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(DOCDIR)
	rm -f $(patsubst man/%,$(DESTDIR)$(MANDIR)/man5/%,$(wildcard man/*.5)) \
		$(patsubst man/%,$(DESTDIR)$(MANDIR)/man8/%,$(wildcard man/*.8)) \
		$(patsubst man/%,$(DESTDIR)$(MANDIR)/man1/%,$(wildcard man/*.1)) \
		$(patsubst %,$(DESTDIR)$(MANDIR)/man8/keyveto-%.8,disable setup)

# Debian packages are built in build/deb/, RPMs in build/rpm/. See
# packaging/README.md.
deb:
	@packaging/build-deb $(VERSION)

rpm:
	@packaging/build-rpm $(VERSION)

# A release names real places.
placed:
	@! git grep -n '[.]invalid' HEAD -- Makefile README.md SECURITY.md fleet/ansible/galaxy.yml packaging >&2 || \
		{ echo 'make dist: these are no places: CONTRIBUTING.md says where to write the real ones' >&2; exit 1; }

# The sources of the commit that is checked out, the same bytes anywhere. No pipe: its status
# would be gzip's, also where there is no commit.
dist: placed
	@mkdir -p build/dist
	@GIT_ATTR_NOSYSTEM=1 git -c core.attributesFile=/dev/null -c core.autocrlf=false -c tar.umask=0022 \
		archive --format=tar --prefix=keyveto-$(VERSION)/ -o build/dist/sources.tar HEAD
	@gzip -n -9 <build/dist/sources.tar >build/dist/keyveto-$(VERSION).tar.gz
	@rm build/dist/sources.tar
	@echo build/dist/keyveto-$(VERSION).tar.gz

# What is linked into each program, as SPDX.
sbom: all
	@mkdir -p build/dist
	@scripts/sbom.py $(BUILD) $(VERSION) >build/dist/keyveto-$(VERSION).spdx.json
	@echo build/dist/keyveto-$(VERSION).spdx.json

# A release, built twice, by different users, clocks and settings: the same bytes.
check-reproducible:
	@scripts/deps release
	@/usr/bin/python3 tests/packaging/reproducible.py

# Debian's test of the packages, as packaging/debian/tests/control describes it.
check-autopkgtest:
	@scripts/deps release
	@$(MAKE) --no-print-directory deb
	@/usr/bin/python3 tests/e2e/sandbox.py -- autopkgtest \
		--ignore-restrictions=isolation-container build/deb/*.changes -- null

check-packages:
	@scripts/deps packages
	@$(MAKE) --no-print-directory all
	@tests/run $(BUILD) packages

# README by packages on Debians that debootstrap installs: see tests/README.md.
README_SUITES = bookworm trixie
check-readme:
	@scripts/deps all
	@tests/differential/roots $(BUILD)/roots $(README_SUITES)
	@/usr/bin/python3 tests/readme/debian.py $(README_SUITES:%=$(CURDIR)/$(BUILD)/roots/%)

# Logins together with SSSD, userdbctl, gitolite and a chrooted sftp group.
check-neighbours:
	@scripts/deps neighbours
	@$(MAKE) --no-print-directory all
	@tests/run $(BUILD) neighbours

# A rollout over eleven hosts by Ansible, and the report of them: see tests/fleet/README.md.
check-fleet:
	@scripts/deps fleet
	@$(MAKE) --no-print-directory all deb
	@tests/run $(BUILD) ansible page parallel fleet

# keyveto for other architectures, by qemu-user: see tests/README.md. QUICK=yes is the short
# form of CI: one big-endian, one of 32 bits. SHARE=8 runs one in eight tests of tests/cli.
QUICK =
SHARE ?= 1
ARCHITECTURES = s390x i386 $(if $(QUICK),,arm64 armhf riscv64)
check-architectures:
	@scripts/deps $(if $(filter-out s390x i386,$(ARCHITECTURES)),architectures,all)
	@$(MAKE) --no-print-directory all
	@ARCHITECTURES='$(if $(QUICK),--quick) --share $(SHARE) $(ARCHITECTURES)' tests/run $(BUILD) architectures

# Tests in a Debian 12 that qemu boots: see tests/README.md.
check-vm:
	@scripts/deps vm
	@$(MAKE) --no-print-directory all deb
	@tests/run $(BUILD) vm

# Logins with an OpenSSH that no distribution has yet: SRC= is a source tree of
# openssh-portable, which is only read. See tests/README.md.
check-openssh:
	@scripts/deps openssh
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/openssh STRICTMODES_DEFAULT=YES all
	@tests/openssh/run '$(SRC)' $(BUILD)/openssh

# gcc and clang of Debian releases, in systems that debootstrap makes under build/roots.
COMPILER_SUITES = bookworm trixie sid
check-compilers:
	@scripts/deps all
	@tests/compilers/run $(BUILD) $(COMPILER_SUITES)

# All programs with musl. Their libraries are built from Debian's sources under build/roots.
check-musl:
	@scripts/deps all
	@tests/musl/run $(BUILD)

# What docs/platforms.md and a release claim, and make check does not show. Two hours; with
# SHARE=1 some five, since all of tests/cli runs on each architecture.
check-platforms: SHARE = 8
check-platforms:
	@+MAKE='$(MAKE)' SHARE=$(SHARE) tests/platforms check-reproducible check-autopkgtest fuzz-coverage \
		check-architectures check-compilers check-musl check-readme $(if $(SRC),check-openssh)

clean:
	rm -rf $(BUILD)

.PHONY: all bench campaign check check-long check-architectures check-autopkgtest check-compilers check-fleet check-musl check-neighbours check-openssh check-packages check-platforms \
	check-readme check-reproducible check-vm clean \
	coverage deb demo deps dist format fuzz fuzz-coverage fuzz-targets install lint musl mutants placed prove rpm sanitize sbom uninstall unit-tests valgrind
.SECONDARY:
-include $(LIB_OBJ:.o=.d) $(GUARD_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(READER_OBJ:.o=.d) \
	$(WORKER_OBJ:.o=.d) $(NETWORK_OBJ:.o=.d) \
	$(PAM_OBJ:.o=.d) $(TEST_OBJ:.o=.d) $(FUZZ_OBJ:.o=.d) $(FUZZ_SRC:%.c=$(BUILD)/fuzz/obj/%.d) \
	$(MUSL:.checked=.d)
