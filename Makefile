# GNU make. `make` builds build/dnsfailover; `make help` lists the rest.

PREFIX  ?= /usr/local
DESTDIR ?=
MODE    ?= release
BUILD   ?= build
CC      ?= gcc
PYTHON  ?= /usr/bin/python3

VERSION := 0.1.0

PKGS := libuv libcares ldns libcjson sqlite3 libconfuse openssl libpcre2-8 \
        libnghttp2 libseccomp
# Not linked: loaded when something needs them (agent/base/late_lib.h).
LATE := libcurl libxml-2.0

WARN := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion \
        -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wpointer-arith \
        -Wformat=2 -Wvla -Wundef -Wno-missing-field-initializers
HARD := -fstack-protector-strong -fPIE -fstack-clash-protection

ifeq ($(MODE),asan)
OUT   := $(BUILD)/asan
OPT   := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined \
         -fno-omit-frame-pointer
LDOPT := -fsanitize=address,undefined
else
OUT   := $(BUILD)
OPT   := -O2 -g -D_FORTIFY_SOURCE=2
LDOPT := -pie -Wl,-z,relro,-z,now
endif

# pkg-config is asked once, and only when something is built.
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(call ask,--cflags $(PKGS) $(LATE)))$(PKG_CFLAGS)
PKG_LIBS   = $(eval PKG_LIBS := $$(call ask,--libs $(PKGS)))$(PKG_LIBS)
ask = $(if $(shell pkg-config --exists $(PKGS) $(LATE) && echo yes),$(shell pkg-config $(1)),$(error libraries are missing: sh contrib/setup.sh installs them))

CPPFLAGS += -I. -D_GNU_SOURCE -DDNSFAILOVER_VERSION='"$(VERSION)"'
CFLAGS   ?=
ALL_CFLAGS = -std=c11 $(OPT) $(WARN) $(HARD) $(WERROR) $(CFLAGS)
LIBS     = $(PKG_LIBS) -lm -lpthread

FOLDERS := agent/base agent/probes agent/engine/* agent/report agent/cli \
           resolver providers providers/* specs
SRC     := $(sort $(foreach d,$(FOLDERS),$(wildcard $(d)/*.c)))
MAIN    := agent/cli/main.c
OBJ     := $(SRC:%.c=$(OUT)/obj/%.o)
LIBOBJ  := $(filter-out $(OUT)/obj/$(MAIN:.c=.o),$(OBJ))
UNIT    := $(sort $(wildcard tests/unit/test_*.c))
TESTS   := $(UNIT:tests/unit/%.c=$(OUT)/unit/%)
FUZZ    := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZERS := $(FUZZ:tests/fuzz/%.c=$(OUT)/fuzz/%)
TOOLSRC := $(sort $(wildcard tests/tools/*.c))
TOOLS   := $(TOOLSRC:tests/tools/%.c=$(OUT)/tools/%)

all: $(OUT)/dnsfailover

$(OUT)/dnsfailover: $(OBJ)
	$(CC) $(LDOPT) $(LDFLAGS) -o $@ $^ $(LIBS)

# The name that a link would note down: that of the library whose headers are
# used (libcurl of Debian has two).
soname = $(shell objdump -p "$$($(CC) -print-file-name=$(1).so)" 2>/dev/null | \
    awk '$$1 == "SONAME" { print $$2 }')
$(OUT)/obj/agent/base/curl_lib.o: CPPFLAGS += \
    $(patsubst %,-DCURL_SONAME='"%"',$(call soname,libcurl))
$(OUT)/obj/providers/shared/xml.o: CPPFLAGS += \
    $(patsubst %,-DXML_SONAME='"%"',$(call soname,libxml2))

$(OUT)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/libdnsfailover.a: $(LIBOBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(OUT)/unit/%: tests/unit/%.c $(OUT)/libdnsfailover.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) -MMD -MP $(LDOPT) -o $@ $< \
	    $(OUT)/libdnsfailover.a $(LIBS) -lcmocka

# The fuzz targets with a plain main() that runs files: their corpora are
# ordinary tests under any compiler. `make fuzz` builds them for libFuzzer.
$(OUT)/fuzz/%: tests/fuzz/%.c $(OUT)/libdnsfailover.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) -DFUZZ_MAIN -MMD -MP $(LDOPT) \
	    -o $@ $< $(OUT)/libdnsfailover.a $(LIBS)

$(OUT)/tools/%: tests/tools/%.c $(OUT)/libdnsfailover.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) -MMD -MP $(LDOPT) -o $@ $< \
	    $(OUT)/libdnsfailover.a $(LIBS)

test-programs: $(OUT)/dnsfailover $(TESTS) $(FUZZERS) $(TOOLS)

# Everything that is checked, and the same under the sanitizers. Both end with
# one line: N passed, N failed, N skipped.
test:
	@BUILD='$(BUILD)' MODE='$(MODE)' PYTHON='$(PYTHON)' sh contrib/test.sh

asan:
	@BUILD='$(BUILD)' MODE=asan PYTHON='$(PYTHON)' sh contrib/test.sh

demo:
	@sh contrib/demo.sh

bench: $(OUT)/dnsfailover $(TOOLS)
	@BUILD='$(BUILD)' MODE='$(MODE)' sh tests/bench/run.sh

# Half an hour, as root: the service under the sanitizers in a world that never
# rests. tests/soak/README.md says what must hold.
SOAK_S ?= 1800
soak:
	@$(MAKE) --no-print-directory -s MODE=asan
	@SOAK_BIN='$(BUILD)/asan/dnsfailover' SOAK_S='$(SOAK_S)' \
	    PYTHON='$(PYTHON)' sh tests/soak/run.sh

# As root: the units under a real systemd. See tests/systemd/README.md.
systemd: $(OUT)/dnsfailover
	@sh tests/systemd/run.sh

# The corpora grow in $(OUT)/corpus; what is worth keeping goes by hand to
# tests/fuzz/corpus, where it is an ordinary test.
FUZZ_S  ?= 300
FUZZOUT := $(BUILD)/libfuzzer
fuzz:
	@command -v clang >/dev/null || { echo 'make fuzz needs clang' >&2; exit 1; }
	@mkdir -p $(FUZZOUT)
	@set -e; for t in $(FUZZ:tests/fuzz/%.c=%); do \
	    echo "fuzz: $$t for $(FUZZ_S) s"; \
	    clang $(CPPFLAGS) $(PKG_CFLAGS) -std=c11 -O1 -g \
	        -fsanitize=fuzzer,address,undefined -o $(FUZZOUT)/$$t \
	        tests/fuzz/$$t.c $(filter-out agent/cli/%,$(SRC)) $(LIBS); \
	    mkdir -p $(FUZZOUT)/corpus/$$t; \
	    $(FUZZOUT)/$$t -max_total_time=$(FUZZ_S) -print_final_stats=1 \
	        $(FUZZOUT)/corpus/$$t tests/fuzz/corpus/$${t#fuzz_}; \
	done

CFILES  = $(shell find agent resolver providers specs tests -type f \
            \( -name '*.c' -o -name '*.h' \) | sort)
SHFILES = $(shell find contrib tests .ci -type f \
            \( -name '*.sh' -o -path .ci/run \) | sort)
MANS    = $(wildcard contrib/man/*.[1-9])

CLANG_FORMAT ?= clang-format

LINTS := format arrows banned size globals headers shell man generated

# -k: one look at all that is wrong.
lint:
	@$(MAKE) -k --no-print-directory $(LINTS:%=lint-%)
	@echo 'lint: ok'

lint-format:
	@command -v $(CLANG_FORMAT) >/dev/null || { echo 'lint: $(CLANG_FORMAT)' \
	    'is missing: sh contrib/setup.sh test installs it' >&2; exit 1; }
	@$(CLANG_FORMAT) --dry-run -Werror $(CFILES)

lint-arrows lint-banned lint-size: lint-%:
	@sh contrib/lint/$*.sh

lint-globals: $(OBJ)
	@sh contrib/lint/globals.sh $(OBJ)

lint-headers:
	@CC='$(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS)' \
	    sh contrib/lint/headers.sh

lint-shell:
	@if command -v shellcheck >/dev/null; then shellcheck $(SHFILES); \
	else echo 'lint: shellcheck is not installed: scripts not checked'; fi

lint-man:
	@if ! command -v mandoc >/dev/null; then \
	    echo 'lint: mandoc is not installed: manual pages not checked'; \
	elif [ -n '$(MANS)' ]; then mandoc -Tlint -Wwarning $(MANS); fi

# The manual's lists and the JSON Schema, from the parser's tables.
lint-generated: $(OUT)/tools/manual
	@sh contrib/lint/generated.sh $<

generate: $(OUT)/tools/manual
	@sh contrib/lint/generated.sh $< write

# Slow, and now and then wrong: for a person to read.
analyze:
	@bad=0; for f in $(SRC); do \
	    $(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(ALL_CFLAGS) -Werror -fanalyzer \
	        -c -o /dev/null $$f || bad=1; \
	done; \
	if command -v cppcheck >/dev/null; then \
	    cppcheck --quiet --std=c11 --enable=warning,portability \
	        --inline-suppr --suppress=missingIncludeSystem \
	        --error-exitcode=1 $(CPPFLAGS) $(SRC) || bad=1; \
	else echo 'analyze: cppcheck is not installed'; fi; \
	[ $$bad = 0 ] && echo 'analyze: ok'

# The configuration is the administrator's: an example lies beside the manual,
# nothing is put into /etc.
SBINDIR ?= $(PREFIX)/sbin
MANDIR  ?= $(PREFIX)/share/man
DOCDIR  ?= $(PREFIX)/share/doc/dnsfailover
UNITDIR ?= $(PREFIX)/lib/systemd/system
SPECDOCS = specs/dnsfailover.schema.json $(sort $(wildcard specs/examples/*))

install: $(OUT)/dnsfailover
	install -d '$(DESTDIR)$(SBINDIR)' '$(DESTDIR)$(DOCDIR)/cron.d' \
	    '$(DESTDIR)$(DOCDIR)/examples' '$(DESTDIR)$(UNITDIR)'
	install -m 755 $(OUT)/dnsfailover '$(DESTDIR)$(SBINDIR)/dnsfailover'
	for m in $(MANS); do \
	    install -D -m 644 $$m \
	        '$(DESTDIR)$(MANDIR)'/man$${m##*.}/$${m##*/} || exit 1; \
	done
	for d in README.md LICENSE contrib/dnsfailover.conf.example; do \
	    [ ! -e $$d ] || install -m 644 $$d '$(DESTDIR)$(DOCDIR)/' || exit 1; \
	done
	for d in $(SPECDOCS); do \
	    [ ! -e $$d ] || \
	    install -m 644 $$d '$(DESTDIR)$(DOCDIR)/examples/' || exit 1; \
	done
	install -d '$(DESTDIR)$(DOCDIR)/hooks'
	install -m 755 contrib/hooks/hook_*.py '$(DESTDIR)$(DOCDIR)/hooks/'
	install -m 644 contrib/hooks/hookframe.py '$(DESTDIR)$(DOCDIR)/hooks/'
	sed 's|/usr/local/sbin|$(SBINDIR)|g' contrib/cron.d/dnsfailover \
	    >'$(DESTDIR)$(DOCDIR)/cron.d/dnsfailover'
	sed 's|/usr/local/sbin|$(SBINDIR)|g' contrib/systemd/dnsfailover.service \
	    >'$(DESTDIR)$(UNITDIR)/dnsfailover.service'
	sed 's|/usr/local/sbin|$(SBINDIR)|g' \
	    contrib/systemd/dnsfailover-run.service \
	    >'$(DESTDIR)$(UNITDIR)/dnsfailover-run.service'
	install -m 644 contrib/systemd/dnsfailover.timer '$(DESTDIR)$(UNITDIR)/'
	chmod 644 '$(DESTDIR)$(DOCDIR)/cron.d/dnsfailover' \
	    '$(DESTDIR)$(UNITDIR)/dnsfailover.service' \
	    '$(DESTDIR)$(UNITDIR)/dnsfailover-run.service'

uninstall:
	rm -f '$(DESTDIR)$(SBINDIR)/dnsfailover' \
	    '$(DESTDIR)$(UNITDIR)/dnsfailover.service' \
	    '$(DESTDIR)$(UNITDIR)/dnsfailover-run.service' \
	    '$(DESTDIR)$(UNITDIR)/dnsfailover.timer'
	for m in $(MANS); do \
	    rm -f '$(DESTDIR)$(MANDIR)'/man$${m##*.}/$${m##*/}; \
	done
	rm -rf '$(DESTDIR)$(DOCDIR)'

help:
	@echo 'make             build $(OUT)/dnsfailover'
	@echo 'make test        every test; the last line sums up'
	@echo 'make demo        the main job, for a person to watch'
	@echo 'make asan        the tests under ASan and UBSan'
	@echo 'make lint        format, include arrows, banned functions, sizes …'
	@echo 'make generate    the lists of the manual and the JSON Schema'
	@echo 'make analyze     gcc -fanalyzer, cppcheck'
	@echo 'make fuzz        libFuzzer on each target, FUZZ_S=$(FUZZ_S) seconds each'
	@echo 'make bench       speed; one line for each target'
	@echo 'make soak        run under ASan in an unquiet world, SOAK_S=$(SOAK_S) seconds'
	@echo 'make systemd     the units under a real systemd, in namespaces of its own'
	@echo 'make install     below PREFIX=$(PREFIX) (DESTDIR is honoured); uninstall'
	@echo 'make clean       remove $(BUILD)'
	@echo
	@echo 'MODE=asan builds in $(BUILD)/asan, BUILD=DIR elsewhere.'
	@echo 'Missing packages: sh contrib/setup.sh [build|test|demo]'

clean:
	rm -rf '$(BUILD)'

-include $(wildcard $(OUT)/obj/*/*.d $(OUT)/obj/*/*/*.d \
                    $(OUT)/obj/*/*/*/*.d $(OUT)/unit/*.d \
                    $(OUT)/fuzz/*.d $(OUT)/tools/*.d)

.PHONY: all test-programs test asan demo bench soak systemd fuzz lint \
        $(LINTS:%=lint-%) generate analyze install uninstall help clean
.SECONDARY:
