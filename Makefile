# The commands of the README. Each sets up what it needs.
BUILD := build
SECONDS := 60
COUNT := 20000
SEED := 1
PREFIX := /usr/local

.PHONY: build demo test bench wheel install uninstall sanitize fuzz random exact onnx-random forms nightly setup clean

build: setup
	@begin=$$(date +%s); cmake --preset release >$(BUILD).log 2>&1 || { cat $(BUILD).log; rm -f $(BUILD).log; exit 1; }; rm -f $(BUILD).log; \
	cmake --build --preset release --target heddle_installed && echo "built $(BUILD)/heddle in $$(( $$(date +%s) - begin )) s"

setup:
	@scripts/setup

demo: build
	@scripts/demo

# What exported programs for other machines are compiled by and run under, what looks at the installed package, and what makes two machines of one; without it, and
# without browsers, tests of theirs are skipped.
CROSS := gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross gcc-riscv64-linux-gnu \
	libc6-dev-riscv64-cross gcc-arm-none-eabi qemu-user qemu-system-arm
PACKAGING := pkg-config man-db iproute2

test: build
	@$(if $(OFFLINE),:,scripts/setup $(CROSS) $(PACKAGING) && scripts/webgpu) || echo "test: not all that exported programs need is there"
	@cmake --build --preset release
	@scripts/test $(if $(OFFLINE),--offline)

bench: build
	@cmake --build --preset release --target heddle_python bench_symbolic bench_passes
	@.venv/bin/python bench/all.py

# make install PREFIX=/usr/local, and make uninstall for what was installed last.
install: build
	cmake --install $(BUILD) --prefix $(PREFIX)

uninstall:
	cmake --build $(BUILD) --target uninstall

# dist/heddle-*.whl, with LLVM in it, for any manylinux of its tag.
wheel:
	@scripts/wheel

sanitize:
	@scripts/setup clang-19 libclang-rt-19-dev
	cmake --preset sanitize && cmake --build --preset sanitize && ctest --test-dir build-sanitize --output-on-failure

# make fuzz SECONDS=60: each target for so long.
fuzz:
	@scripts/setup clang-19 libclang-rt-19-dev
	cmake --preset sanitize && cmake --build --preset sanitize --target fuzz && scripts/fuzz $(SECONDS)

# make random COUNT=20000 SEED=1: so many random programs, from this one on; findings, made small, in build/random.
random: setup
	@cmake --preset release >/dev/null && cmake --build --preset release --target random_programs
	@$(BUILD)/random_programs --count $(COUNT) --seed $(SEED) --output $(BUILD)/random

# make exact COUNT=100000 SEED=1: so many random bodies in which every rounding is stated, and all triples and pairs of functions.
exact: setup
	@cmake --preset release >/dev/null && cmake --build --preset release --target exact_bodies
	@$(BUILD)/exact_bodies --count $(COUNT) --seed $(SEED)
	@$(BUILD)/exact_bodies --chains

# make onnx-random COUNT=5000 SEED=1: so many random models of one node against ONNX Runtime, and each attribute at its edges.
onnx-random: build
	@cmake --build --preset release --target heddle_python
	@.venv/bin/python tests/models/random_nodes.py --count $(COUNT) --seed $(SEED)
	@.venv/bin/python tests/models/random_nodes.py --attributes

# make forms COUNT=300 SEED=1: so many random models of each operator that has many forms, against ONNX Runtime and the reference.
forms: build
	@.venv/bin/python tests/models/forms/run.py --count $(COUNT) --seed $(SEED)

# The long forms of all these, by scripts/nightly.py: hours. It goes on after a part that failed, and says at the end which did.
nightly: build
	@cmake --build --preset release --target heddle_python random_programs exact_bodies test_plan test_artefact
	@.venv/bin/python scripts/nightly.py

clean:
	rm -rf $(BUILD) build-debug build-sanitize build-static
