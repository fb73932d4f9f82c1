# Makefile: builds, tests and installs sgl. `make help` lists the targets.
#
# In:    src/*/*.c by wildcard (a new file edits no list); lua/sgl/**.lua, which are embedded.
# Out:   $(B)/sgl         the interpreter
#        $(B)/libsgl.so   the C library, $(B)/libsgl.a the same to link statically
#        $(B)/sgl.so      the module for a stock lua5.4
# Files named *_isa.c are compiled once for each instruction set the compiler can aim at.
# Variables: B (build folder), SAN (address,undefined or thread; gets a folder of its own),
#            WERROR=1, V=1 (show commands), CC, CFLAGS, LUA, PREFIX, DESTDIR.
# Holds: every object is position independent and is compiled once for all four products; a change
#        of flags, or a file that comes or goes, rebuilds what depends on it.

MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

VERSION := $(shell sed -n 's/^\#define SGL_VERSION "\(.*\)"/\1/p' src/sgl.h)
SOVERSION := 0
comma := ,
B ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))

# ---- tools and flags
LUA ?= lua5.4
LUA_INCLUDE ?= /usr/include/lua5.4
LUA_LIBRARY ?= -l:liblua5.4.a
BUSTED ?= $(shell command -v busted)
CFLAGS ?= -O2 -g
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# An allocation that is too large is NULL there too, as the specs expect.
SAN_OPTIONS := allocator_may_return_null=1:print_stacktrace=1
SAN_RUN := $(if $(SAN),ASAN_OPTIONS=$(SAN_OPTIONS) UBSAN_OPTIONS=$(SAN_OPTIONS) \
                       TSAN_OPTIONS=$(SAN_OPTIONS))
# No contraction, wrapping integers: the same bits everywhere (src/kern/kernel.h).
NUMERICS := -ffp-contract=off -fwrapv -fno-math-errno
WARNINGS := -Wall -Wextra -Wpedantic
CPPFLAGS += -D_GNU_SOURCE -Isrc -isystem $(LUA_INCLUDE)
LIBS := -lz -lm -lpthread -ldl

ISA_FLAGS_portable :=
ISA_FLAGS_avx2 := -mavx2 -mfma
ISA_FLAGS_avx512 := -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma
ISAS := portable $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),avx2 avx512)
CPPFLAGS += $(ISAS:%=-DHAVE_ISA_%)

COMPILE = $(CC) -std=c11 $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden $(NUMERICS) $(WARNINGS) \
          $(SAN_FLAGS)
LINK = $(CC) $(CFLAGS) $(LDFLAGS) $(SAN_FLAGS)
STRICT := $(if $(WERROR),-Werror)
run = $(if $(V),,@echo "  $(1) $@"; )$(2)

# ---- sources
# The rooms under src/, in their order: Lua is known to those behind the line "--".
CORE_ROOMS := $(shell sed -n '/^--/q; s/^\([a-z]*\) .*/\1/p' src/rooms)
LUA_ROOMS := $(shell sed -n '/^--/,$$ s/^\([a-z]*\) .*/\1/p' src/rooms)
source_of = $(wildcard src/$(1)/*.c)
objects_of = $(foreach f,$(filter-out %_isa.c,$(1)),$(f:src/%.c=$(B)/obj/%.o)) \
             $(foreach f,$(filter %_isa.c,$(1)),$(ISAS:%=$(f:src/%.c=$(B)/obj/%.)%.o))
CORE := $(call objects_of,$(foreach d,$(CORE_ROOMS),$(call source_of,$(d))))
HOST := $(call objects_of,$(filter-out src/cli/main.c,$(foreach d,$(LUA_ROOMS),\
        $(call source_of,$(d))))) $(B)/obj/embed.o
MAIN := $(B)/obj/cli/main.o
LUA_FILES := $(shell find lua/sgl -name '*.lua')
LUA_FOLDERS := $(shell find lua/sgl -type d)

PRODUCTS := $(B)/sgl $(B)/libsgl.so $(B)/libsgl.a $(B)/sgl.so

.PHONY: all
all: $(PRODUCTS)       ## build everything (the default)

# Stamps are rewritten only when their text differs from that of the last build.
stamp = @mkdir -p $(@D); echo '$(1)' | cmp -s - $@ || echo '$(1)' > $@
.PHONY: FORCE
FORCE:
$(B)/flags: FORCE
	$(call stamp,$(COMPILE))
$(B)/objects: FORCE
	$(call stamp,$(LINK) $(LUA_LIBRARY) $(CORE) $(HOST))

# Programs on disk are of use only to the product that they were made by.
SOURCES_SUM := $(shell cat src/*/*.[ch] src/*/*.def | cksum | tr ' ' -)
$(B)/sources: FORCE
	$(call stamp,$(SOURCES_SUM))
$(B)/obj/exec/stored.o: $(B)/sources
$(B)/obj/exec/stored.o: CPPFLAGS += -DSGL_SOURCES='"$(SOURCES_SUM)"'

$(B)/obj/%.o: src/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call run,CC,$(COMPILE) $(STRICT) -MMD -MP -c -o $@ $<)

define ISA_RULE
$(B)/obj/%_isa.$(1).o: src/%_isa.c $(B)/flags
	@mkdir -p $$(@D)
	$$(call run,CC,$$(COMPILE) -O3 $(ISA_FLAGS_$(1)) -DISA=$(1) $$(STRICT) -MMD -MP -c -o $$@ $$<)
endef
$(foreach isa,$(ISAS),$(eval $(call ISA_RULE,$(isa))))

$(B)/embed.c: scripts/embed.lua $(LUA_FILES) $(LUA_FOLDERS)
	@mkdir -p $(@D)
	$(call run,LUA,$(LUA) scripts/embed.lua $@ $(LUA_FILES))

$(B)/obj/embed.o: $(B)/embed.c $(B)/flags
	@mkdir -p $(@D)
	$(call run,CC,$(COMPILE) -Wno-overlength-strings $(STRICT) -MMD -MP -c -o $@ $<)

# ---- products
$(PRODUCTS): $(B)/objects
objects_in = $(filter %.o,$^)

# The whole of Lua goes in and stays visible, so that C modules such as lfs find it.
WHOLE_LUA := -Wl,--whole-archive $(LUA_LIBRARY) -Wl,--no-whole-archive
$(B)/sgl: $(MAIN) $(HOST) $(CORE)
	$(call run,LD,$(LINK) -rdynamic -o $@ $(objects_in) $(WHOLE_LUA) $(LIBS))

# A missing function shows here, not in a user's program; sanitizers leave theirs open by design.
SONAME := -Wl,-soname,libsgl.so.$(SOVERSION) $(if $(SAN),,-Wl,-z,defs)
$(B)/libsgl.so: $(CORE)
	$(call run,LD,$(LINK) -shared $(SONAME) -o $@ $(objects_in) $(LIBS))
	@ln -sf $(@F) $@.$(SOVERSION)

# One object whose internal names are local, so that they cannot meet those of a user's program.
$(B)/libsgl.a: $(CORE)
	@rm -f $@
	$(call run,LD,$(LD) -r -o $(B)/libsgl.o $(objects_in))
	@objcopy --localize-hidden $(B)/libsgl.o
	@$(AR) rcs $@ $(B)/libsgl.o

$(B)/sgl.so: $(HOST) $(CORE)
	$(call run,LD,$(LINK) -shared -o $@ $(objects_in) $(LIBS))

# Programs of specs, which look inside.
SPEC_PROGRAMS := $(B)/spec/capi/settings $(B)/spec/capi/ops $(B)/spec/capi/threads $(B)/spec/comm/units
$(SPEC_PROGRAMS): $(B)/spec/%: spec/%.c $(HOST) $(CORE) $(B)/objects
	@mkdir -p $(@D)
	$(call run,LD,$(COMPILE) $(LDFLAGS) -o $@ $< $(objects_in) $(LUA_LIBRARY) $(LIBS))

# A library of ops as users write one: linked to nothing of the engine.
SPEC_LIBRARY := $(B)/spec/ops.so
$(SPEC_LIBRARY): spec/ir/custom_ops.c src/sgl.h $(B)/flags
	@mkdir -p $(@D)
	$(call run,LD,$(CC) -std=c11 -Isrc $(CFLAGS) -fPIC $(WARNINGS) $(SAN_FLAGS) -shared -o $@ $< -lm)

# The example in C.
.PHONY: embed
embed: $(B)/embed      ## the example that trains from C
$(B)/embed: examples/embed/train.c src/sgl.h $(B)/libsgl.a
	$(call run,LD,$(LINK) $(STRICT) $(WARNINGS) -Isrc -o $@ $< $(B)/libsgl.a $(LIBS))

.PHONY: module
module: $(B)/sgl.so

# ---- for specs alone: the interpreter with the backends of spec/dev/ beside the product's
# Only what knows how many backends there are is compiled again; `all` has said which files that is.
SPEC_FLAGS_C := -DSPEC_BACKENDS='"dev/backend.def"' -iquote spec -iquote spec/dev
AGAIN = $(filter $(patsubst src/%.c,%,$(wildcard src/*/*.c)),\
        $(patsubst $(B)/obj/%.d,%,$(shell grep -ls base/backend.def $(B)/obj/*/*.d)))
SPEC_OBJECTS = $(AGAIN:%=$(B)/spec/obj/%.o) $(patsubst %.c,$(B)/%.o,$(wildcard spec/dev/*.c))

$(B)/spec/obj/%.o: src/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call run,CC,$(COMPILE) $(SPEC_FLAGS_C) $(STRICT) -MMD -MP -c -o $@ $<)

$(B)/spec/dev/%.o: spec/dev/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call run,CC,$(COMPILE) $(SPEC_FLAGS_C) $(STRICT) -MMD -MP -c -o $@ $<)

# A driver of CUDA that runs kernels on the CPU. Never installed; no sanitizer looks into it.
SIM := $(B)/spec/sim/libcuda.so.1
SIM_NAME := -Wl,-soname,libcuda.so.1
$(SIM): $(wildcard spec/sim/*.[ch]) $(B)/flags
	@mkdir -p $(@D)
	$(call run,LD,$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) -fPIC -fvisibility=hidden $(NUMERICS) \
	    $(WARNINGS) $(STRICT) -shared $(SIM_NAME) -o $@ $(filter %.c,$^) -lm)

.PHONY: spec-product
spec-product: all $(SIM)
	@$(MAKE) $(PARALLEL) $(B)/spec/sgl

$(B)/spec/sgl: $(SPEC_OBJECTS) $(PRODUCTS)
	$(call run,LD,$(LINK) -rdynamic -o $@ $(SPEC_OBJECTS) \
	    $(filter-out $(AGAIN:%=$(B)/obj/%.o),$(MAIN) $(HOST) $(CORE)) $(WHOLE_LUA) $(LIBS))

# ---- what users run
# `make test` runs all spec files, several at once; SPECS names some, SPEC_FLAGS are busted's own.
SPECS ?= $(sort $(wildcard spec/*/*_spec.lua))

# All processors, unless the user said how many.
PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: deps demo test test-cuda bench bench-math fuzz docs clean help
deps:                  ## install what is missing, or print the command for it
	@CC="$(CC)" LUA="$(LUA)" LUA_INCLUDE="$(LUA_INCLUDE)" LUA_LIBRARY="$(LUA_LIBRARY)" \
	    scripts/deps

demo: deps             ## install what is missing, build, train a model on handwritten digits
	@$(MAKE) $(PARALLEL) all
	@$(B)/sgl examples/digits/train.lua

test: deps             ## install what is missing, build, run every spec
	@$(MAKE) $(PARALLEL) all $(SPEC_PROGRAMS) $(SPEC_LIBRARY) $(B)/embed
	@$(MAKE) $(PARALLEL) spec-product
	@XDG_CACHE_HOME=$(abspath $(B))/cache $(SAN_RUN) SGL_EXE=$(abspath $(B)/sgl) \
	    $(if $(SPEC_FLAGS),$(B)/sgl $(BUSTED) $(SPEC_FLAGS),\
	    scripts/run-specs $(B)/sgl $(BUSTED) -- $(SPECS))

test-cuda:             ## the specs of CUDA on the simulated device
	@$(MAKE) test SPEC_FLAGS=spec/cuda

bench: all             ## run the benchmarks
	@for f in bench/*.lua; do echo "== $$f"; $(B)/sgl $$f || exit 1; done

# With the flags of the kernels: the same bits on every machine.
$(B)/bench-math: bench/math.c src/ir/math.h src/ir/math.def $(B)/flags
	$(call run,CC,$(COMPILE) -O3 -march=native -o $@ $< -lm)

bench-math: $(B)/bench-math  ## error in ulp of each f32 function over all floats (an hour)
	@$(B)/bench-math $(FUNCTIONS)

fuzz: all              ## damaged inputs for every parser, for SECONDS (an hour)
	@bench/fuzz.sh $(SECONDS)

docs: all              ## write the generated pages, annotations and outputs of examples
	$(B)/sgl scripts/api.lua

clean:                 ## remove the build folders
	rm -rf build build-*

help:                  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 16

# ---- checks
.PHONY: lint format check-layers check-style
lint:                  ## formatter and linters; says which of them is not installed
	@scripts/lint

format:                ## lay out src/*/*.c by .clang-format
	clang-format -i src/*/*.c

check-layers: all      ## no room includes or uses one below it, and no circles of files
	@scripts/check-layers $(B)/obj

check-style:           ## budgets of file, function and line
	@scripts/check-style

# ---- installation
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
LUA_CMOD ?= $(PREFIX)/lib/lua/5.4
INSTALL ?= install
SHARED := libsgl.so.$(VERSION)

.PHONY: install install-module uninstall
install: all           ## install under PREFIX (default /usr/local), below DESTDIR
	$(INSTALL) -d $(addprefix $(DESTDIR),$(BINDIR) $(LIBDIR)/pkgconfig $(INCLUDEDIR) $(MANDIR)/man1)
	$(INSTALL) -m 755 $(B)/sgl $(DESTDIR)$(BINDIR)/sgl
	$(INSTALL) -m 755 $(B)/libsgl.so $(DESTDIR)$(LIBDIR)/$(SHARED)
	ln -sf $(SHARED) $(DESTDIR)$(LIBDIR)/libsgl.so.$(SOVERSION)
	ln -sf $(SHARED) $(DESTDIR)$(LIBDIR)/libsgl.so
	$(INSTALL) -m 644 $(B)/libsgl.a $(DESTDIR)$(LIBDIR)/libsgl.a
	$(INSTALL) -m 644 src/sgl.h $(DESTDIR)$(INCLUDEDIR)/sgl.h
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|' \
	    -e 's|@VERSION@|$(VERSION)|' sgl.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/sgl.pc
	$(INSTALL) -m 644 docs/sgl.1 $(DESTDIR)$(MANDIR)/man1/sgl.1
	@$(MAKE) install-module

install-module: module
	$(INSTALL) -d $(DESTDIR)$(LUA_CMOD)
	$(INSTALL) -m 755 $(B)/sgl.so $(DESTDIR)$(LUA_CMOD)/sgl.so

uninstall:             ## remove what install put there
	rm -f $(DESTDIR)$(BINDIR)/sgl $(DESTDIR)$(LUA_CMOD)/sgl.so $(DESTDIR)$(INCLUDEDIR)/sgl.h
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(SHARED) libsgl.so.$(SOVERSION) libsgl.so libsgl.a)
	rm -f $(DESTDIR)$(LIBDIR)/pkgconfig/sgl.pc $(DESTDIR)$(MANDIR)/man1/sgl.1

-include $(patsubst %.o,%.d,$(MAIN) $(HOST) $(CORE)) $(wildcard $(B)/spec/*/*.d $(B)/spec/obj/*/*.d)
