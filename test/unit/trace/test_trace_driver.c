/* SPDX-License-Identifier: MIT */
/* The driver table of libpdl-trace. How libcuda is loaded is tested in core/test_driver.c: here, that this table is
 * filled with its own entries. */
#include <dlfcn.h>

#include "support.h"

#define BAD(defect) PDL_TEST_BAD_DRIVERS "/" defect "/libcuda.so.1"

static const struct {
    const char *name;
    int version;
    size_t offset;
} entries[] = {
#define ENTRY(name, version) {#name, version, offsetof(struct pdl_trace_driver, name)},
    PDL_TRACE_DRIVER_ENTRIES(ENTRY)
#undef ENTRY
};

PLAIN_TEST(a_missing_entry_is_named_and_the_table_not_written)
{
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        struct pdl_trace_driver driver;
        struct pdl_trace_driver before;
        memset(&driver, 0x5a, sizeof(driver));
        memset(&before, 0x5a, sizeof(before));
        assert_int_equal(setenv("PDL_BAD_DRIVER_LACKS", entries[i].name, 1), 0);
        assert_refused(pdl_trace_driver_load(BAD("good_13_0"), &driver), PDL_ERROR_DRIVER_TOO_OLD,
                       NULL, entries[i].name);
        assert_memory_equal(&driver, &before, sizeof(driver));
    }
    assert_int_equal(unsetenv("PDL_BAD_DRIVER_LACKS"), 0);
}

PLAIN_TEST(every_entry_is_asked_for_at_its_version)
{
    struct pdl_trace_driver driver;
    int (*asked)(const char *, int);
    void *library = dlopen(BAD("good_13_0"), RTLD_NOW); /* keeps the record */
    assert_non_null(library);
    void *symbol = dlsym(library, "bad_driver_asked");
    assert_non_null(symbol);
    memcpy(&asked, &symbol, sizeof(asked));
    int before[COUNT_OF(entries)];
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        before[i] = asked(entries[i].name, entries[i].version);
    }
    assert_ok(pdl_trace_driver_load(BAD("good_13_0"), &driver));
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        assert_true(asked(entries[i].name, entries[i].version) > before[i]);
    }
    assert_int_equal(dlclose(library), 0);
}

PLAIN_TEST(every_entry_is_in_its_own_place)
{
    struct pdl_trace_driver driver;
    memset(&driver, 0, sizeof(driver));
    assert_ok(pdl_trace_driver_load(PDL_TEST_FAKE_DRIVER, &driver));
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        void *address[2] = {NULL, NULL};
        memcpy(&address[0], (const char *)&driver + entries[i].offset, sizeof(address[0]));
        assert_non_null(address[0]);
        for (size_t j = 0; j < i; j++) {
            memcpy(&address[1], (const char *)&driver + entries[j].offset, sizeof(address[1]));
            assert_ptr_not_equal(address[0], address[1]);
        }
    }
}

PLAIN_TEST(a_library_that_is_not_there_is_no_driver)
{
    struct pdl_trace_driver driver;
    assert_refused(pdl_trace_driver_load("libpdl-no-such-library.so.1", &driver),
                   PDL_ERROR_NO_DRIVER, NULL, "libpdl-no-such-library.so.1");
}
