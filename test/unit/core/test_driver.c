/* SPDX-License-Identifier: MIT */
/* Loading the driver. The libraries that are loaded are made by ../fake: each has one defect. */
#include <dlfcn.h>
#include <unistd.h>

#include "core/device.h"
#include "mock_entry.h"
#include "support.h"

#define BAD(defect) PDL_TEST_BAD_DRIVERS "/" defect "/libcuda.so.1"

static const struct {
    const char *name;
    int version;
    bool required;
    size_t offset;
} entries[] = {
#define REQUIRED(name, version) {#name, version, true, offsetof(struct pdl_driver, name)},
#define OPTIONAL(name, version) {#name, version, false, offsetof(struct pdl_driver, name)},
    PDL_DRIVER_ENTRIES(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
};

static bool has_entry(const struct pdl_driver *driver, size_t i)
{
    void *address;
    memcpy(&address, (const char *)driver + entries[i].offset, sizeof(address));
    return address != NULL;
}

static int clear_environment(void **state)
{
    (void)state;
    (void)unsetenv("PDL_OVERLAP");
    (void)unsetenv("PDL_BAD_DRIVER_LACKS");
    (void)unsetenv("PDL_BAD_DRIVER_IGNORES_VERSIONS");
    (void)unsetenv("PDL_FAKE_VARIANTS");
    pdl_device_override(NULL);
    return 0;
}

#define LOAD_TEST(name) TEST_WITH(name, clear_environment, clear_environment)

/* Asserts that loading fails so, and that the caller's table is not written. */
#define assert_not_loaded(soname, status, ...)                                                     \
    do {                                                                                           \
        struct pdl_driver driver_;                                                                 \
        struct pdl_driver before_;                                                                 \
        memset(&driver_, 0x5a, sizeof(driver_));                                                   \
        memset(&before_, 0x5a, sizeof(before_));                                                   \
        assert_refused(pdl_driver_load((soname), &driver_), (status), NULL, __VA_ARGS__);          \
        assert_memory_equal(&driver_, &before_, sizeof(driver_));                                  \
    } while (0)

LOAD_TEST(a_library_that_is_not_there_is_no_driver)
{
    assert_not_loaded("libpdl-no-such-library.so.1", PDL_ERROR_NO_DRIVER,
                      "libpdl-no-such-library.so.1");
    assert_int_equal(pdl_last_error()->cuda_result, 0);
}

LOAD_TEST(a_file_that_is_no_library_is_no_driver)
{
    char path[] = "/tmp/pdl_test_driver_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "nothing", 7), 7);
    assert_int_equal(close(file), 0);
    assert_not_loaded(path, PDL_ERROR_NO_DRIVER, path);
    assert_int_equal(unlink(path), 0);
}

/* What is wrong with each, and what is said of it. */
static const struct bad_row {
    const char *name;
    pdl_status status;
    const char *call; /* and CUDA's result, if one failed */
    int32_t result;
    int versions[2]; /* in the sentence */
} bad_rows[] = {
    {.name = "no_version", PDL_ERROR_NO_DRIVER},
    {.name = "stub", PDL_ERROR_STUB_DRIVER, NULL, CUDA_ERROR_STUB_LIBRARY},
    {.name = "stub_at_init", PDL_ERROR_STUB_DRIVER, "cuInit", CUDA_ERROR_STUB_LIBRARY},
    {.name = "too_old", PDL_ERROR_DRIVER_TOO_OLD, .versions = {11080, 12000}},
    {.name = "no_proc_address", PDL_ERROR_DRIVER_TOO_OLD},
    {.name = "version_fails", PDL_ERROR_DRIVER, "cuDriverGetVersion", 999},
    {.name = "no_device", PDL_ERROR_NO_DEVICE, NULL, CUDA_ERROR_NO_DEVICE},
    {.name = "zero_devices", PDL_ERROR_NO_DEVICE, NULL, CUDA_ERROR_NO_DEVICE},
    {.name = "init_fails", PDL_ERROR_DRIVER, "cuInit", 999},
    {.name = "count_fails", PDL_ERROR_DRIVER, "cuDeviceGetCount", 999},
};

TEST_ROWS(bad_drivers, bad_rows, clear_environment, clear_environment)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s/libcuda.so.1", PDL_TEST_BAD_DRIVERS, row->name);
    assert_not_loaded(path, row->status, row->call != NULL ? row->call : "");
    assert_int_equal(pdl_last_error()->cuda_result, row->result);
    assert_true(row->call == NULL || strcmp(pdl_last_error()->call, row->call) == 0);
    for (size_t i = 0; i < COUNT_OF(row->versions); i++) {
        assert_true(row->versions[i] == 0 ||
                    names_version(pdl_last_error()->message, row->versions[i]));
    }
}

#ifdef PDL_TEST_STUB
LOAD_TEST(the_toolkits_stub_is_told_apart)
{
    assert_not_loaded(PDL_TEST_STUB, PDL_ERROR_STUB_DRIVER, "stub");
}
#endif

LOAD_TEST(a_driver_that_lacks_a_required_entry_is_too_old_and_the_entry_named)
{
    unsigned required = 0;
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        if (entries[i].required) {
            assert_int_equal(setenv("PDL_BAD_DRIVER_LACKS", entries[i].name, 1), 0);
            assert_not_loaded(BAD("good_13_0"), PDL_ERROR_DRIVER_TOO_OLD, entries[i].name);
            required++;
        }
    }
    assert_true(required > 10);
}

LOAD_TEST(a_driver_that_lacks_an_optional_entry_is_good)
{
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        if (!entries[i].required) {
            struct pdl_driver driver;
            memset(&driver, 0x5a, sizeof(driver));
            assert_int_equal(setenv("PDL_BAD_DRIVER_LACKS", entries[i].name, 1), 0);
            assert_ok(pdl_driver_load(BAD("good_13_0"), &driver));
            for (size_t j = 0; j < COUNT_OF(entries); j++) {
                assert_int_equal(has_entry(&driver, j), j != i);
            }
        }
    }
}

LOAD_TEST(the_oldest_driver_is_good_and_has_no_newer_entry)
{
    for (int ignores = 0; ignores < 2; ignores++) { /* it has them all for who asks for them */
        struct pdl_driver driver;
        memset(&driver, 0x5a, sizeof(driver));
        assert_int_equal(ignores ? setenv("PDL_BAD_DRIVER_IGNORES_VERSIONS", "1", 1) : 0, 0);
        assert_ok(pdl_driver_load(BAD("good_12_0"), &driver));
        assert_int_equal(driver.version, 12000);
        assert_int_equal(driver.device_count, 1);
        for (size_t i = 0; i < COUNT_OF(entries); i++) {
            assert_int_equal(has_entry(&driver, i), entries[i].version <= 12000);
        }
    }
}

LOAD_TEST(every_entry_is_asked_for_at_its_version)
{
    struct pdl_driver driver;
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
    assert_ok(pdl_driver_load(BAD("good_13_0"), &driver));
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        assert_true(asked(entries[i].name, entries[i].version) > before[i]);
    }
    assert_int_equal(dlclose(library), 0);
}

/* The symbol by which libcuda.so.1 exports the variant of an entry that the library calls. */
static const char *symbol_of(const char *entry)
{
#define SYMBOL(name, since, symbol)                                                                \
    if (strcmp(entry, #name) == 0) {                                                               \
        return #symbol;                                                                            \
    }
    MOCK_ENTRIES(SYMBOL)
#undef SYMBOL
    fail_msg("the model has no %s", entry);
    return "";
}

LOAD_TEST(the_fake_driver_looks_at_the_version_that_it_is_asked_for)
{
    void *library = dlopen(PDL_TEST_FAKE_DRIVER, RTLD_NOW);
    assert_non_null(library);
    void *const symbol = dlsym(library, "cuGetProcAddress_v2");
    PFN_cuGetProcAddress_v12000 look_up = NULL;
    assert_non_null(symbol);
    memcpy(&look_up, &symbol, sizeof(symbol));
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
        void *address = &found;
        assert_int_equal(look_up(entries[i].name, &address, entries[i].version, 0, &found), 0);
        assert_ptr_equal(address, dlsym(library, symbol_of(entries[i].name)));
        assert_int_not_equal(look_up(entries[i].name, &address, entries[i].version - 1, 0, &found),
                             0);
        assert_null(address);
        assert_int_equal(found, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    }
    assert_int_equal(dlclose(library), 0);
}

LOAD_TEST(of_several_variants_the_right_one_is_taken)
{
    struct pdl_driver driver;
    void *library = dlopen(PDL_TEST_FAKE_DRIVER, RTLD_NOW);
    assert_non_null(library);
    assert_int_equal(setenv("PDL_FAKE_VARIANTS", "1", 1), 0);
    assert_ok(pdl_driver_load(PDL_TEST_FAKE_DRIVER, &driver));
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        void *address;
        memcpy(&address, (const char *)&driver + entries[i].offset, sizeof(address));
        if (address != dlsym(library, symbol_of(entries[i].name))) {
            fail_msg("%s of version %d is not %s", entries[i].name, entries[i].version,
                     symbol_of(entries[i].name));
        }
    }
    assert_int_equal(dlclose(library), 0);
}

LOAD_TEST(the_switch_in_the_environment_is_read)
{
    static const struct {
        const char *value;
        bool disabled;
    } values[] = {{NULL, false}, {"0", true},        {"1", false},    {"", false},
                  {"2", true},   {"off", true},      {"False", true}, {"NO ", true},
                  {"on", false}, {" TRUE\n", false}, {"o", true},     {"Capture", false},
                  {" ", false},  {"captur", true}};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct pdl_driver driver;
        (void)unsetenv("PDL_OVERLAP");
        if (values[i].value != NULL) {
            assert_int_equal(setenv("PDL_OVERLAP", values[i].value, 1), 0);
        }
        assert_ok(pdl_driver_load(BAD("good_13_0"), &driver));
        assert_int_equal(driver.overlap_disabled, values[i].disabled);
    }
}

LOAD_TEST(the_fake_driver_is_good)
{
    struct pdl_driver driver;
    assert_ok(pdl_driver_load(PDL_TEST_FAKE_DRIVER, &driver));
    assert_int_equal(driver.version, 13000);
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        if (!has_entry(&driver, i)) {
            fail_msg("the fake driver has no %s", entries[i].name);
        }
    }
    pdl_device_override(&driver);
    const pdl_device_info info = device_info(0);
    assert_int_equal(info.multiprocessor_count, 132);
}
