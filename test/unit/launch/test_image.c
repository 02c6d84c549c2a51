/* SPDX-License-Identifier: MIT */
/* Images, their kernels, and files. Images lie in memory of exactly their size, so that the sanitizers
 * and valgrind see whoever reads past them; the mock reads all that a header claims, as the driver
 * does. */
#include <sys/stat.h>
#include <unistd.h>

#include "../../inspect/make_image.h"
#include "from_image.h"
#include "support.h"

static const char ptx_text[] = "//\n.version 8.0\n.target sm_90\n.visible .entry fc1() { ret; }\n";

static void *copy_of(const void *bytes, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

/* A fatbin with an entry of that size. */
static struct bytes fatbin_of(size_t size)
{
    void *const text = calloc(1, size);
    assert_non_null(text);
    const struct bytes made = make_fatbin(MADE_PTX, 90, text, size);
    free(text);
    return made;
}

/* ---- what is accepted ----------------------------------------------------------------------- */

TEST(images_of_each_form_are_loaded)
{
    struct bytes fatbin = fatbin_of(1000);
    struct bytes cubin = make_cubin(&plain_cubin);
    const struct {
        const void *bytes;
        size_t size;
        size_t driver_size;
    } images[] = {
        {ptx_text, sizeof(ptx_text), strlen(ptx_text)},
        {ptx_text, strlen(ptx_text), strlen(ptx_text)}, /* without a NUL behind it */
        {fatbin.data, fatbin.size, fatbin.size},
        {cubin.data, cubin.size, cubin.size},
    };
    const pdl_launch_desc desc = plain_desc();
    for (size_t i = 0; i < COUNT_OF(images); i++) {
        pdl_kernel *kernel = NULL;
        pdl_image *image = NULL;
        void *const bytes = copy_of(images[i].bytes, images[i].size);
        char *const name = copy_of("fc3", 4);
        mock_set_current(-1); /* no context is needed */
        assert_ok(pdl_image_load(bytes, images[i].size, &image));
        free(bytes);
        assert_int_equal(mock.live_libraries, 0); /* the driver loads it when a kernel is taken */
        assert_ok(pdl_image_kernel(image, name, &kernel));
        free(name);
        assert_int_equal(mock.live_libraries, 1);
        assert_int_equal(mock.image_size, images[i].driver_size);
        pdl_image_free(image);
        mock_set_current(0);
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_ptr_equal(mock_last_launch()->function, mock_cu_kernel(2));
        pdl_kernel_destroy(kernel);
        assert_int_equal(mock.live_libraries, 0);
    }
    bytes_free(&fatbin);
    bytes_free(&cubin);
}

/* In each order in which an image and its two kernels can go. */
TEST(kernels_of_an_image_share_its_code)
{
    for (unsigned order = 0; order < 6; order++) {
        pdl_image *image = NULL;
        pdl_kernel *kernels[2] = {NULL, NULL};
        const unsigned loads = mock.calls[MOCK_cuLibraryLoadData];
        assert_ok(pdl_image_load(ptx_text, sizeof(ptx_text), &image));
        assert_ok(pdl_image_kernel(image, "fc1", &kernels[0]));
        assert_ok(pdl_image_kernel(image, "fc2", &kernels[1]));
        assert_int_equal(mock.calls[MOCK_cuLibraryLoadData], loads + 1);
        for (unsigned left = 3, from = order; left > 0; left--) {
            unsigned which = from % left; /* of those that are left */
            from /= left;
            assert_int_equal(mock.live_libraries, 1);
            if (image != NULL && which-- == 0) {
                pdl_image_free(image);
                image = NULL;
                continue;
            }
            const unsigned k = kernels[0] != NULL && which-- == 0 ? 0 : 1;
            pdl_kernel_destroy(kernels[k]);
            kernels[k] = NULL;
        }
        assert_int_equal(mock.live_libraries, 0);
    }
    pdl_image_free(NULL);
}

TEST(an_image_of_a_function_is_not_loaded_again)
{
    pdl_kernel *kernels[2] = {NULL, NULL};
    pdl_image *image = NULL;
    static const char text[] = ".version 8.0\n.target sm_90\n.visible .entry fc1()\n"
                               "{ griddepcontrol.wait; ret; }\n";
    assert_ok(pdl_image_load(text, sizeof(text), &image));
    assert_ok(pdl_kernel_from_function(mock_function(0, 0), image, &kernels[0]));
    assert_ok(pdl_kernel_from_kernel(mock_cu_kernel(0), image, &kernels[1]));
    pdl_image_free(image);
    for (size_t i = 0; i < COUNT_OF(kernels); i++) {
        pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
        assert_ok(pdl_kernel_get(kernels[i], 0, &info));
        assert_int_equal(info.waits, PDL_YES);
        pdl_kernel_destroy(kernels[i]);
    }
    assert_int_equal(mock.calls[MOCK_cuLibraryLoadData], 0);
}

TEST(a_refusal_names_the_kernel_as_it_was_asked_for)
{
    pdl_kernel *kernel = NULL;
    pdl_launch_desc desc = plain_desc();
    mock_set_driver_version(12000); /* without the calls that know names */
    assert_ok(kernel_from_image(ptx_text, sizeof(ptx_text), "fc3", &kernel));
    desc.block[1] = 8;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_BLOCK_TOO_LARGE, "block", "fc3");
    pdl_kernel_destroy(kernel);
}

/* ---- what is refused ------------------------------------------------------------------------ */

TEST(missing_arguments_are_named)
{
    const pdl_status bad = PDL_ERROR_INVALID_ARGUMENT;
    pdl_kernel *kernel = NULL;
    pdl_image *image = NULL;
    assert_refused(pdl_image_load(NULL, 10, &image), bad, "image", "NULL");
    assert_refused(pdl_image_load(ptx_text, sizeof(ptx_text), NULL), bad, "loaded", "NULL");
    assert_refused(pdl_image_load_file(NULL, &image), bad, "path", "NULL");
    assert_refused(pdl_image_load_file("image", NULL), bad, "loaded", "NULL");
    assert_null(image);
    assert_ok(pdl_image_load(ptx_text, sizeof(ptx_text), &image));
    assert_refused(pdl_image_kernel(NULL, "fc1", &kernel), bad, "image", "NULL");
    assert_refused(pdl_image_kernel(image, NULL, &kernel), bad, "name", "NULL");
    assert_refused(pdl_image_kernel(image, "", &kernel), bad, "name", "");
    assert_refused(pdl_image_kernel(image, "fc1", NULL), bad, "kernel", "NULL");
    pdl_image_free(image);
    assert_null(kernel);
    assert_int_equal(mock.calls[MOCK_cuLibraryLoadData], 0);
}

/* The first `size` bytes must be refused without a crash or a leak, and without asking the driver. */
static void check_refused(const void *bytes, size_t size)
{
    void *const copy = copy_of(bytes, size);
    pdl_image *image = NULL;
    assert_refused(pdl_image_load(copy, size, &image), PDL_ERROR_INVALID_IMAGE, "image", "");
    assert_null(image);
    assert_int_equal(mock.calls[MOCK_cuLibraryLoadData], 0);
    free(copy);
}

TEST(images_cut_anywhere_are_refused)
{
    struct bytes fatbin = fatbin_of(100);
    struct bytes cubin = make_cubin(&plain_cubin);
    const struct {
        const void *bytes;
        size_t whole; /* the least that is an image */
    } images[] = {
        {fatbin.data, fatbin.size},
        {cubin.data, cubin.size},
        {ptx_text, (size_t)(strstr(ptx_text, ".version") - ptx_text) + 8},
        {"int main(void) { return 0; }\n", 30}, /* no image at all */
    };
    for (size_t i = 0; i < COUNT_OF(images); i++) {
        for (size_t cut = 0; cut < images[i].whole; cut++) {
            check_refused(images[i].bytes, cut);
        }
    }
    bytes_free(&fatbin);
    bytes_free(&cubin);
}

TEST(noise_is_refused)
{
    uint32_t random = 12345;
    unsigned char noise[2000];
    for (size_t size = 1; size < sizeof(noise); size = size * 3 / 2 + 1) {
        for (size_t i = 0; i < size; i++) {
            random = random * 1664525u + 1013904223u;
            noise[i] = (unsigned char)(random >> 24);
        }
        check_refused(noise, size);
    }
}

/* Sizes in headers that are too small, or do not fit into 64 bits when they are added. */
TEST(headers_with_absurd_sizes_are_refused)
{
    static const uint64_t absurd[] = {UINT64_MAX, UINT64_MAX - 15, UINT64_MAX / 2, UINT64_MAX - 64};
    struct bytes fatbin = fatbin_of(100);
    struct bytes cubin = make_cubin(&plain_cubin);
    const size_t section = cubin.size - sizeof(struct pdl_elf64_shdr);
    const struct {
        const struct bytes *image;
        size_t place;
    } places[] = {
        {&fatbin, 8},
        {&cubin, offsetof(struct pdl_elf64_ehdr, e_shoff)},
        {&cubin, offsetof(struct pdl_elf64_ehdr, e_phoff)},
        {&cubin, section + offsetof(struct pdl_elf64_shdr, sh_offset)},
        {&cubin, section + offsetof(struct pdl_elf64_shdr, sh_size)},
    };
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        char right[8];
        memcpy(right, places[p].image->data + places[p].place, sizeof(right));
        for (size_t i = 0; i < COUNT_OF(absurd); i++) {
            memcpy(places[p].image->data + places[p].place, &absurd[i], sizeof(absurd[i]));
            check_refused(places[p].image->data, places[p].image->size);
        }
        memcpy(places[p].image->data + places[p].place, right, sizeof(right));
    }
    for (uint16_t header_size = 0; header_size < 16; header_size++) {
        memcpy(fatbin.data + 6, &header_size, sizeof(header_size));
        check_refused(fatbin.data, fatbin.size);
    }
    bytes_free(&fatbin);
    bytes_free(&cubin);
}

/* PTX may be compiled when it is loaded, when an entry is asked for, or when it is first used. */
TEST(the_drivers_refusals_have_their_statuses)
{
    static const struct {
        CUresult result;
        pdl_status status;
        const char *log;  /* of the PTX compiler */
        const char *says; /* of it in the message */
    } refusals[] = {
        {CUDA_ERROR_INVALID_IMAGE, PDL_ERROR_INVALID_IMAGE, NULL, ""},
        {CUDA_ERROR_INVALID_PTX, PDL_ERROR_INVALID_IMAGE, NULL, ""},
        {CUDA_ERROR_INVALID_PTX, PDL_ERROR_INVALID_IMAGE,
         "ptxas application ptx input, line 3; fatal   : Parsing error near 'nonsense'\n",
         "line 3; fatal   : Parsing error near 'nonsense'"},
        {CUDA_ERROR_NO_BINARY_FOR_GPU, PDL_ERROR_NO_KERNEL_IMAGE, NULL, ""},
        {CUDA_ERROR_OUT_OF_MEMORY, PDL_ERROR_OUT_OF_MEMORY, NULL, ""},
        {CUDA_ERROR_UNKNOWN, PDL_ERROR_DRIVER, NULL, ""},
    };
    for (size_t i = 0; i < 2 * COUNT_OF(refusals); i++) {
        const size_t r = i / 2;
        const char *const call = i % 2 == 0 ? "cuLibraryLoadData" : "cuLibraryGetKernel";
        pdl_kernel *kernel = NULL;
        mock.image_result = i % 2 == 0 ? refusals[r].result : CUDA_SUCCESS;
        mock.find_result = i % 2 == 0 ? CUDA_SUCCESS : refusals[r].result;
        mock.jit_log = refusals[r].log;
        assert_refused(kernel_from_image(ptx_text, sizeof(ptx_text), "fc1", &kernel),
                       refusals[r].status, NULL,
                       pdl_driver_result_name(&mock.table, refusals[r].result), refusals[r].says);
        assert_string_equal(pdl_last_error()->call, call);
        assert_int_equal(pdl_last_error()->cuda_result, refusals[r].result);
        assert_null(kernel);
        assert_int_equal(mock.live_libraries, 0);
    }
}

TEST(an_image_that_was_refused_may_be_tried_again)
{
    pdl_image *image = NULL;
    pdl_kernel *kernel = NULL;
    assert_ok(pdl_image_load(ptx_text, sizeof(ptx_text), &image));
    mock.image_result = CUDA_ERROR_OUT_OF_MEMORY;
    assert_refused(pdl_image_kernel(image, "fc1", &kernel), PDL_ERROR_OUT_OF_MEMORY, NULL, "");
    mock.image_result = CUDA_SUCCESS;
    assert_refused(pdl_image_kernel(image, "fc9", &kernel), PDL_ERROR_NOT_FOUND, "name", "fc9");
    assert_int_equal(pdl_last_error()->cuda_result, CUDA_ERROR_NOT_FOUND);
    assert_null(kernel);
    assert_ok(pdl_image_kernel(image, "fc1", &kernel));
    pdl_image_free(image);
    pdl_kernel_destroy(kernel);
    assert_int_equal(mock.live_libraries, 0);
}

TEST(the_ptx_compiler_may_write_its_log_until_the_image_is_unloaded)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = NULL;
    assert_ok(kernel_from_image(ptx_text, sizeof(ptx_text), "fc1", &kernel));
    mock.jit_log = "ptxas info: a line that is written when the kernel is first asked about";
    assert_ok(pdl_launch(kernel, &desc, NULL));
    pdl_kernel_destroy(kernel);
}

TEST(a_log_longer_than_the_message_is_cut)
{
    pdl_kernel *kernel = NULL;
    char *log = malloc(100000);
    assert_non_null(log);
    memset(log, 'x', 99999);
    memcpy(log, "line 7", 6);
    log[99999] = '\0';
    mock.image_result = CUDA_ERROR_INVALID_PTX;
    mock.jit_log = log;
    assert_refused(kernel_from_image(ptx_text, sizeof(ptx_text), "fc1", &kernel),
                   PDL_ERROR_INVALID_IMAGE, NULL, "line 7");
    free(log);
}

/* ---- files ---------------------------------------------------------------------------------- */

static char directory[64];
static char path[128]; /* of a file in it */

static int make_directory(void **state)
{
    (void)snprintf(directory, sizeof(directory), "/tmp/pdl_test_image_XXXXXX");
    (void)snprintf(path, sizeof(path), "%s/image", mkdtemp(directory));
    return mock_setup(state);
}

static int remove_directory(void **state)
{
    (void)unlink(path);
    (void)rmdir(directory);
    return mock_teardown(state);
}

static void write_file(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

#define FILE_TEST(name) TEST_WITH(name, make_directory, remove_directory)

/* Nothing stays open, either. */
FILE_TEST(images_are_read_from_files)
{
    struct bytes fatbin = fatbin_of(100000);
    const struct {
        const void *bytes;
        size_t size;
        pdl_status status;
    } images[] = {
        {ptx_text, strlen(ptx_text), PDL_SUCCESS},
        {ptx_text, sizeof(ptx_text), PDL_SUCCESS},
        {fatbin.data, fatbin.size, PDL_SUCCESS},
        {fatbin.data, fatbin.size - 1, PDL_ERROR_INVALID_IMAGE},
        {"", 0, PDL_ERROR_INVALID_IMAGE},
    };
    const int before = dup(STDERR_FILENO); /* the lowest free number */
    assert_int_equal(close(before), 0);
    for (size_t i = 0; i < COUNT_OF(images); i++) {
        pdl_kernel *kernel = NULL;
        write_file(images[i].bytes, images[i].size);
        assert_int_equal(kernel_from_file(path, "fc1", &kernel), images[i].status);
        pdl_kernel_destroy(kernel);
    }
    const int after = dup(STDERR_FILENO);
    assert_int_equal(close(after), 0);
    assert_int_equal(after, before);
    bytes_free(&fatbin);
}

FILE_TEST(files_that_cannot_be_read_are_told_as_the_c_library_does)
{
    char through[160];
    (void)snprintf(through, sizeof(through), "%s/deeper", path);
    const struct {
        const char *path;
        const char *says;
    } files[] = {
        {directory, ""},
#ifdef _WIN32 /* where a path through a file is a missing file */
        {through, "No such file or directory"},
        {"NUL", ""},
        {"\\\\.\\pipe\\", ""},
#else
        {through, "Not a directory"},
        {"/dev/null", "not a regular file"},
        {"/dev/zero", "not a regular file"},
#endif
        {"/no/such/file", "No such file or directory"},
    };
    pdl_image *image = NULL;
    write_file(ptx_text, sizeof(ptx_text));
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        assert_refused(pdl_image_load_file(files[i].path, &image), PDL_ERROR_FILE, "path",
                       files[i].path, files[i].says);
    }
    assert_int_equal(chmod(path, 0), 0);
    if (access(path, R_OK) != 0) { /* the superuser reads everything */
        assert_refused(pdl_image_load_file(path, &image), PDL_ERROR_FILE, "path", path,
                       "Permission denied");
    }
    assert_int_equal(chmod(path, S_IRUSR | S_IWUSR), 0); /* so that Windows deletes it */
    assert_null(image);
}

#ifndef _WIN32
#endif
