# GNU make. `make` builds build/dnsfailover; `make help` lists the rest.

PREFIX  ?= /usr/local
DESTDIR ?=
MODE    ?= release
BUILD   ?= build
CC      ?= gcc
PYTHON  ?= /usr/bin/python3

VERSION := 0.1.0

PKGS := libuv libcares libldns libcjson libcurl libxml-2.0 sqlite3 libconfuse \
        openssl

WARN := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion \
        -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wpointer-arith \
        -Wformat=2 -Wvla -Wundef
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
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $(PKGS)))$(PKG_CFLAGS)
PKG_LIBS   = $(eval PKG_LIBS := $$(shell pkg-config --libs $(PKGS)))$(PKG_LIBS)

CPPFLAGS += -I. -D_GNU_SOURCE -DDNSFAILOVER_VERSION='"$(VERSION)"'
CFLAGS   ?=
ALL_CFLAGS = -std=c11 $(OPT) $(WARN) $(HARD) $(WERROR) $(CFLAGS)
LIBS     = $(PKG_LIBS) -lm -lpthread

FOLDERS := agent/base agent/probes agent/engine agent/report agent/cli \
           resolver providers specs
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

clean:
	rm -rf $(BUILD)

-include $(wildcard $(OUT)/obj/*/*.d $(OUT)/obj/*/*/*.d $(OUT)/unit/*.d \
                    $(OUT)/fuzz/*.d $(OUT)/tools/*.d)

.PHONY: all test-programs clean
.SECONDARY:
