/* SPDX-License-Identifier: MIT */
/* Every public function while something fails: each allocation in turn, then each call of the driver
 * with several results. It reports what failed, leaves its outputs alone, loses nothing, and works
 * when it is called again. If it succeeds, the last error is the one before. */
#include <pdl/overlap.h>

#include "code/object.h"
#include "core/gate.h"
#include "faults.h"
#include "mock_entry.h"
#include "soak.h"

/* ---- allocations ------------------------------------------------------------------------------- */

bool is_watching;
unsigned fail_at;
static unsigned failed_count; /* of them */
static void *live[65536];
static unsigned live_count;

static void *note(void *memory)
{
    if (is_watching && !mock_is_inside && memory != NULL) {
        assert_true(live_count < COUNT_OF(live));
        live[live_count++] = memory;
    }
    return memory;
}

void forget(const void *memory)
{
    for (unsigned i = live_count; memory != NULL && i-- > 0;) {
        if (live[i] == memory) {
            live[i] = live[--live_count];
            return;
        }
    }
}

static bool fails(void)
{
    if (!is_watching || mock_is_inside || fail_at == 0 || --fail_at != 0) {
        return false;
    }
    failed_count++;
    return true;
}

/* The linker gives calls of malloc() to __wrap_malloc(), and __real_malloc() is the C library's. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : note(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : note(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (fails()) {
        return NULL;
    }
    forget(memory);
    return note(__real_realloc(memory, size));
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : note(__real_strdup(text));
}

void __wrap_free(void *memory)
{
    forget(memory);
    __real_free(memory);
}

/* These neither allocate nor call the driver. */
static const char *const others[] = {
    "pdl_condition_name", "pdl_error_record", "pdl_image_free",
    "pdl_kernel_declare", "pdl_last_error",   "pdl_proof_missing",
    "pdl_reason_string",  "pdl_status_name",  "pdl_version",
};

static bool is_known(const char *function)
{
    bool known = false;
    for (size_t i = 0; i < row_count; i++) {
        known = known || strcmp(rows[i].function, function) == 0;
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        known = known || strcmp(others[i], function) == 0;
    }
    return known;
}

PLAIN_TEST(every_public_function_has_a_row)
{
    char line[256];
    unsigned count = 0;
    FILE *map = fopen(PDL_TEST_MAP, "r");
    assert_non_null(map);
    while (fgets(line, sizeof(line), map) != NULL) {
        char function[256];
        if (sscanf(line, " %255[a-z_];", function) == 1 && strncmp(function, "pdl_", 4) == 0) {
            if (!is_known(function)) {
                fail_msg("%s is in " PDL_TEST_MAP " and in neither table", function);
            }
            count++;
        }
    }
    assert_int_equal(fclose(map), 0);
    assert_true(count > 40);
}

/* ---- attempts --------------------------------------------------------------------------------------- */

static bool is_row(const struct row *row, const char *name)
{
    return strcmp(row->name, name) == 0;
}

/* Calls that the library can do without, or whose failure nobody could act on. */
static bool may_fail_quietly(const struct row *row, const char *call)
{
    static const char *const any[] = {"cuFuncGetName",      "cuKernelGetName", "cuLibraryUnload",
                                      "cuEventDestroy",     "cuGraphDestroy",  "cuGraphExecDestroy",
                                      "cuGraphDestroyNode", "cuCtxPopCurrent"};
    for (size_t i = 0; i < COUNT_OF(any); i++) {
        if (strcmp(any[i], call) == 0) {
            return !is_row(row, "chain_capture_child") || strcmp(call, "cuGraphDestroyNode") != 0;
        }
    }
    /* Then the launch does not overlap. */
    if (strcmp(call, "cuStreamIsCapturing") == 0) {
        return true;
    }
    /* What a census says of a dependency that it lists is as much as can be learnt. */
    if (is_row(row, "graph_census_listed") && (strncmp(call, "cuGraphKernelNodeGet", 20) == 0 ||
                                               strcmp(call, "cuFuncGetAttribute") == 0)) {
        return true;
    }
    /* What the log cannot learn. */
    if ((is_row(row, "launch_captured") || is_row(row, "launch_while_capturing")) &&
        (strncmp(call, "cuGraph", 7) == 0 || strcmp(call, "cuStreamGetCaptureInfo") == 0)) {
        return true;
    }
    /* The Runtime launches what the driver cannot. */
    if (row->symbol && (strcmp(call, "cuCtxGetId") == 0 || strcmp(call, "cuLaunchKernelEx") == 0)) {
        return true;
    }
    /* Asked again: the Runtime may make a context in between. */
    return row->symbol && strcmp(call, "cuCtxGetDevice") == 0;
}

/* What the attempt is about, for a failure's message. */
static char about[256];

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_msg("%s: %s is wrong; last error: %s", about, #condition,                         \
                     pdl_last_error()->message);                                                   \
        }                                                                                          \
    } while (0)

static unsigned long successes; /* after which the last error was what it was before */

static pdl_status attempt(const struct row *row, bool *untouched)
{
    static unsigned char before[sizeof(with.out)];
    mark_last_error();
    memset(&with.out, 0x5a, sizeof(with.out));
    if (row->size != 0) {
        memset(&with.out, 0, row->size);
        with.out.size = row->size;
    }
    memcpy(before, &with.out, sizeof(before));
    is_watching = true;
    const pdl_status status = row->run();
    is_watching = false;
    CHECK(status != PDL_SUCCESS || is_last_error_marked());
    successes += status == PDL_SUCCESS;
    /* The report of a launch says why it would fail. */
    *untouched =
        is_row(row, "launch_explain") || memcmp(before, with.out.bytes, sizeof(before)) == 0;
    return status;
}

/* After a failure that happened once: the next call works, and nothing is left of either. */
static void finish(const struct row *row, pdl_status status)
{
    bool untouched = false;
    if (status != PDL_SUCCESS) {
        status = attempt(row, &untouched);
        CHECK(status == PDL_SUCCESS);
    }
    if (row->undo != NULL) {
        row->undo();
    }
    close_fixture();
    is_watching = true; /* what was read of the program is kept */
    pdl_object_forget();
    is_watching = false;
    struct mock_live left;
    mock_count_live(&left);
    CHECK(live_count == 0);
    CHECK(left.libraries == 0 && left.graphs == 0 && left.nodes == 0 && left.execs == 0);
    CHECK(left.events == 0 && left.contexts == 0);
    CHECK(mock.misuse[0] == '\0');
}

static const struct {
    int version;
    int devices;
} drivers[] = {{MOCK_VERSION, 1}, {12080, 2}, {12040, 2}, {12000, 1}};

/* Every entry of the driver's table, and how often it failed. */
static struct {
    const char *name;
    unsigned failed;
} entries[] = {
#define ENTRY_(name, version) {#name, 0},
    PDL_DRIVER_ENTRIES(ENTRY_, ENTRY_)
#undef ENTRY_
};

/* Runs each row on each driver, and lets the n-th allocation fail, or the n-th call of the driver if there is a result for
 * it, until nothing is left that fails. Returns the largest n. */
static unsigned fail_each(CUresult result)
{
    unsigned most = 0;
    for (size_t i = 0; i < row_count * COUNT_OF(drivers); i++) {
        const struct row *row = &rows[i % row_count];
        const int version = drivers[i / row_count].version;
        bool more = row->old_driver || version >= 12040;
        for (unsigned n = 1; more; n++) {
            const char *call = "";
            bool untouched = false;
            open_fixture(version, drivers[i / row_count].devices);
            const unsigned long before = mock_failures(NULL, NULL);
            failed_count = 0;
            (void)snprintf(about, sizeof(about), "%s, driver %d, %u", row->name, version, n);
            fail_at = result == CUDA_SUCCESS ? n : 0;
            mock.fail_any_at = result != CUDA_SUCCESS ? n : 0;
            mock.fail_any_with = result;
            const pdl_status status = attempt(row, &untouched);
            more = fail_at == 0 && mock.fail_any_at == 0;
            fail_at = mock.fail_any_at = 0;
            const bool failed = mock_failures(&call, NULL) > before;
            for (size_t e = 0; failed && e < COUNT_OF(entries); e++) {
                entries[e].failed += strcmp(entries[e].name, call) == 0;
            }
            (void)snprintf(about, sizeof(about), "%s, driver %d, %s %u fails: %d from %s",
                           row->name, version, result == CUDA_SUCCESS ? "allocation" : "call", n,
                           (int)result, failed ? call : "none");
            if (result == CUDA_SUCCESS) {
                CHECK(status == PDL_SUCCESS || (more && status == PDL_ERROR_OUT_OF_MEMORY));
            } else if (!failed || may_fail_quietly(row, call)) {
                CHECK(status == PDL_SUCCESS);
            } else {
                CHECK(status != PDL_SUCCESS);
                CHECK(pdl_last_error()->cuda_result == (int32_t)result);
                CHECK(pdl_last_error()->call != NULL && strcmp(pdl_last_error()->call, call) == 0);
            }
            CHECK(status == PDL_SUCCESS || (untouched && pdl_last_error()->status == status));
            most = n > most ? n : most;
            finish(row, status);
        }
    }
    return most;
}

GRAPH_TEST(memory_that_runs_out_is_reported_and_nothing_is_lost)
{
    assert_true(fail_each(CUDA_SUCCESS) > 4); /* it does fail */
}

/* Called before the table is there: unit.driver_errors makes them fail. Without a context's resources the device's
 * count: unit.green. */
static bool fails_elsewhere(const char *entry)
{
    static const char *const names[] = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount",
                                        "cuGetErrorName", "cuCtxGetDevResource"};
    bool elsewhere = false;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        elsewhere = elsewhere || strcmp(names[i], entry) == 0;
    }
    return elsewhere;
}

GRAPH_TEST(a_driver_call_that_fails_is_reported_and_nothing_is_lost)
{
    static const CUresult results[] = {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_VALUE,
                                       CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_NOT_SUPPORTED,
                                       CUDA_ERROR_NOT_READY};
    unsigned missing = 0;
    for (size_t i = 0; i < COUNT_OF(results); i++) {
        assert_true(fail_each(results[i]) > 20);
    }
    for (size_t e = 0; e < COUNT_OF(entries); e++) {
        if (entries[e].failed == 0 && !fails_elsewhere(entries[e].name)) {
            print_error("%s never fails\n", entries[e].name);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

/* Both again with a log, which asks for more than launches do, and a policy, which asks for names. */
GRAPH_TEST(success_leaves_the_last_error_alone)
{
    assert_int_equal(setenv("PDL_LOG", "/dev/null", 1), 0);
    (void)atomic_fetch_or(&pdl_gate_special, (unsigned)(PDL_GATE_LOG | PDL_GATE_POLICY));
    memory_that_runs_out_is_reported_and_nothing_is_lost();
    a_driver_call_that_fails_is_reported_and_nothing_is_lost();
    (void)atomic_fetch_and(&pdl_gate_special, ~(unsigned)(PDL_GATE_LOG | PDL_GATE_POLICY));
    print_message("%lu calls succeeded and left the last error as it was\n", successes);
    assert_true(successes > 2000);
}

GRAPH_TEST(what_cannot_fail_leaves_the_last_error_alone)
{
    open_fixture(MOCK_VERSION, 1);
    mark_last_error();
    for (int number = -100; number < 100; number++) {
        (void)pdl_condition_name((pdl_condition)number);
        (void)pdl_reason_string((pdl_reason)number);
        (void)pdl_status_name((pdl_status)number);
    }
    assert_true(pdl_version() != 0);
    assert_ok(pdl_kernel_declare(with.kernel, PDL_YES, PDL_UNKNOWN));
    assert_true(is_last_error_marked());
    close_fixture();
}

int main(void)
{
    mock_is_inside = pdl_last_error() ==
                     NULL; /* some compilers allocate a thread's own variables on first use */
    return run_all_tests(make_image_file, remove_image_file);
}
