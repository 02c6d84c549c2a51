/* SPDX-License-Identifier: MIT */
/* Writes timelines for forms.py: `timeline_sample CASE DIRECTORY`. In the directory come out.svg,
 * out.json, out.COLUMNS.txt, and blocks.csv: the blocks that went in. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pdl/timeline.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != PDL_SUCCESS) {                                                               \
            fprintf(stderr, "%s: %s\n", #call, pdl_last_error()->message);                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static pdl_timeline *timeline;
static FILE *csv;
static unsigned dice = 7;

static int64_t roll(unsigned sides)
{
    dice = dice * 1664525u + 1013904223u;
    return (int64_t)((dice >> 8) % sides);
}

static void add(const pdl_timeline_block *block)
{
    CHECK(pdl_timeline_add_block(timeline, block));
    fprintf(csv, "%" PRIu32 ",%" PRIu32 ",%" PRIu32, block->launch, block->block, block->sm);
    fprintf(csv, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", block->start_ns,
            block->wait_ns, block->waited_ns, block->triggered_ns, block->end_ns);
}

/* A layer: it waits until `ready` if that is not negative, and triggers 1000 ns before its end. */
static void layer(const char *kernel, const char *track, int64_t start, int64_t ready, unsigned sms,
                  unsigned per_sm)
{
    uint32_t launch;
    CHECK(pdl_timeline_add_launch(timeline, kernel, track, &launch));
    for (unsigned i = 0; i < sms * per_sm; i++) {
        pdl_timeline_block b = {.launch = launch, .block = i, .sm = i % sms};
        b.start_ns = start + roll(300) + i / sms * 50;
        b.wait_ns = ready < 0 ? PDL_TIMELINE_NONE : b.start_ns + 500 + roll(50);
        b.waited_ns = ready < 0           ? PDL_TIMELINE_NONE
                      : b.wait_ns > ready ? b.wait_ns
                                          : ready + roll(50);
        b.triggered_ns = (ready < 0 ? b.start_ns : b.waited_ns) + 3000 + roll(200);
        b.end_ns = b.triggered_ns + 1000;
        add(&b);
    }
}

/* A block that ends long before the others of its launch, so that the picture has rows of SMs. */
static void early_end(uint32_t block)
{
    const int64_t none = PDL_TIMELINE_NONE;
    add(&(pdl_timeline_block){0, block, 2, 0, 100, none, none, 200, 1000});
}

static void pair(void)
{
    layer("fc1", "without PDL", 0, -1, 132, 1);
    layer("fc2", "without PDL", 6000, -1, 132, 1);
    layer("fc1", "with PDL", 0, -1, 132, 1);
    layer("fc2", "with PDL", 3600, 4700, 132, 1);
    pdl_timeline_add_lost(timeline, 3);
    CHECK(pdl_timeline_add_note(timeline, "simulated, not measured"));
    CHECK(pdl_timeline_add_note(timeline, "simulated, not measured"));
}

static void ragged(void)
{
    pair();
    early_end(132);
}

/* Two tracks of the same kernels, the second one slower. */
static void slower(void)
{
    layer("fc1", "a", 0, -1, 4, 1);
    layer("fc1", "b", 0, -1, 4, 1);
    layer("fc2", "b", 9000, -1, 4, 1);
    layer("fc2", "a", 4800, -1, 4, 1);
}

/* The same with a kernel that only one of them has. */
static void different(void)
{
    slower();
    layer("fc3", "b", 20000, -1, 4, 1);
}

static void nasty(void)
{
    static const char other_scripts[] =
        "\xc3\xa4\xe4\xbd\xa0\xf0\x9f\x98\x80 \xff\xc3 \xed\xa0\x80 \xef\xbf\xbf \xc0\xaf "
        "\xc2\x9b \xe2\x80\xa8 cut\xe2\x82"; /* and what is no UTF-8 */
    static const char *const names[] = {
        "void gemm<float, 2>(float const*, char&) [clone] \"quoted\" 'a' ]]>",
        "back\\slash\nnew line\ttab\x01\x7f end",
        other_scripts,
        "%s%n%d",
    };
    for (unsigned i = 0; i < 4; i++) {
        layer(names[i], names[(i + 1) % 4], (int64_t)i * 100, -1, 3, 2);
    }
    early_end(6);
    char bytes[256] = "";
    for (unsigned i = 1; i < 256; i++) {
        bytes[i - 1] = (char)i;
    }
    CHECK(pdl_timeline_add_note(timeline, bytes));
    CHECK(pdl_timeline_add_note(
        timeline, "--> <!-- <![CDATA[ \"><script>alert(1)</script> &amp; `x` $(x) ]]>"));
    CHECK(pdl_timeline_add_note(timeline, names[0]));
    CHECK(pdl_timeline_add_note(timeline, names[2]));
}

static void large(void)
{
    for (unsigned i = 0; i < 120; i++) {
        layer(i % 2 ? "fc2" : "fc1", "stream", (int64_t)i * 4000,
              i > 0 ? (int64_t)i * 4000 + 800 : -1, 132, 8);
    }
    early_end(132 * 8);
}

static void many(void)
{
    for (unsigned i = 0; i < 300; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "kernel%u", i % 30);
        layer(name, "stream", (int64_t)i * 7000, -1, 2, 1);
    }
}

/* Before 0, of no length, at one time, and a launch of no blocks. */
static void odd(void)
{
    uint32_t launch;
    const int64_t none = PDL_TIMELINE_NONE;
    layer("early", "t", -5000, -1, 2, 1);
    CHECK(pdl_timeline_add_launch(timeline, "empty", "t", &launch));
    CHECK(pdl_timeline_add_launch(timeline, "point", "t", &launch));
    add(&(pdl_timeline_block){launch, 0, 65535u, 0, 78, 78, 78, 78, 78});
    add(&(pdl_timeline_block){launch, 1, 65535u, 0, 78, none, none, none, 78});
}

static void point(void)
{
    uint32_t launch;
    const int64_t none = PDL_TIMELINE_NONE;
    CHECK(pdl_timeline_add_launch(timeline, "point", NULL, &launch));
    add(&(pdl_timeline_block){launch, 0, 5, 0, 1790000000000000001, none, none, none,
                              1790000000000000001});
}

/* Triggers before it waits, and starts away from round times. */
static void early(void)
{
    uint32_t launch;
    CHECK(pdl_timeline_add_launch(timeline, "early", "t", &launch));
    add(&(pdl_timeline_block){launch, 0, 0, 0, 900, 1900, 3900, 950, 5900});
}

/* Longer than its columns can tell. */
static void slow(void)
{
    uint32_t launch;
    const int64_t none = PDL_TIMELINE_NONE;
    CHECK(pdl_timeline_add_launch(timeline, "slow", "t", &launch));
    add(&(pdl_timeline_block){launch, 0, 0, 0, 0, none, none, none, INT64_C(10000000000000)});
}

static void nothing(void)
{
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(void);
    } cases[] = {{"pair", pair},   {"ragged", ragged}, {"slower", slower}, {"different", different},
                 {"nasty", nasty}, {"large", large},   {"many", many},     {"odd", odd},
                 {"point", point}, {"early", early},   {"slow", slow},     {"nothing", nothing}};
    static const uint32_t columns[] = {0, 72, 73, 80, 132, 400};
    char path[4096];
    CHECK(pdl_timeline_create(&timeline));
    (void)snprintf(path, sizeof(path), "%s/blocks.csv", argc == 3 ? argv[2] : "");
    csv = fopen(path, "w");
    for (size_t i = 0; argc == 3 && csv != NULL && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(cases[i].name, argv[1]) != 0) {
            continue;
        }
        cases[i].make();
        (void)fclose(csv);
        (void)snprintf(path, sizeof(path), "%s/out.svg", argv[2]);
        CHECK(pdl_timeline_write(timeline, PDL_TIMELINE_SVG, path, 0));
        (void)snprintf(path, sizeof(path), "%s/out.json", argv[2]);
        CHECK(pdl_timeline_write(timeline, PDL_TIMELINE_TRACE, path, 0));
        for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++) {
            (void)snprintf(path, sizeof(path), "%s/out.%u.txt", argv[2], (unsigned)columns[k]);
            CHECK(pdl_timeline_write(timeline, PDL_TIMELINE_TEXT, path, columns[k]));
        }
        CHECK(pdl_timeline_write(timeline, PDL_TIMELINE_TEXT, "-", 80));
        pdl_timeline_destroy(timeline);
        return 0;
    }
    fprintf(stderr, "usage: timeline_sample CASE DIRECTORY\n");
    return 2;
}
