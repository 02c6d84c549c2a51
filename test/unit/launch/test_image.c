/* SPDX-License-Identifier: MIT */
/* Kernels from images and files. Images lie in memory of exactly their size, so that the sanitizers
 * and valgrind see whoever reads past them; the mock reads all that a header claims, as the driver
 * does. */
#include <sys/stat.h>
#include <unistd.h>

#include "code/elf_format.h"
#include "support.h"

static const char ptx_text[] = "//\n.version 8.0\n.target sm_90\n.visible .entry fc1() { ret; }\n";

static void *copy_of(const void *bytes, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

/* A fatbin of 16 bytes of header and a body. */
static void *make_fatbin(size_t body, size_t *size)
{
    const uint32_t magic = 0xba55ed50;
    const uint16_t version = 1;
    const uint16_t header_size = 16;
    const uint64_t body_size = body;
    *size = header_size + body;
    char *image = calloc(1, *size);
    assert_non_null(image);
    memcpy(image, &magic, 4);
    memcpy(image + 4, &version, 2);
    memcpy(image + 6, &header_size, 2);
    memcpy(image + 8, &body_size, 8);
    return image;
}

/* A cubin with one section of 64 bytes, its headers behind it. */
enum { CUBIN_SIZE = sizeof(struct pdl_elf64_ehdr) + 64 + 2 * sizeof(struct pdl_elf64_shdr) };

static void *make_cubin(size_t *size)
{
    struct pdl_elf64_ehdr header;
    struct pdl_elf64_shdr sections[2];
    memset(&header, 0, sizeof(header));
    memset(sections, 0, sizeof(sections));
    memcpy(header.e_ident, PDL_ELFMAG, PDL_SELFMAG);
    header.e_ident[PDL_EI_CLASS] = PDL_ELFCLASS64;
    header.e_ident[PDL_EI_DATA] = PDL_ELFDATA2LSB;
    header.e_ident[PDL_EI_VERSION] = PDL_EV_CURRENT;
    header.e_machine = 190; /* PDL_EM_CUDA */
    header.e_ehsize = sizeof(header);
    header.e_shoff = sizeof(header) + 64;
    header.e_shentsize = sizeof(struct pdl_elf64_shdr);
    header.e_shnum = 2;
    sections[1].sh_type = PDL_SHT_PROGBITS;
    sections[1].sh_offset = sizeof(header);
    sections[1].sh_size = 64;
    *size = sizeof(header) + 64 + sizeof(sections);
    char *image = calloc(1, *size);
    assert_non_null(image);
    memcpy(image, &header, sizeof(header));
    memcpy(image + sizeof(header) + 64, sections, sizeof(sections));
    return image;
}

/* ---- what is accepted ----------------------------------------------------------------------- */

static void check_loaded(const void *image, size_t size)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_image_kernel(image, size, "fc3");
    assert_int_equal(mock.live_libraries, 1);
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_ptr_equal(mock_last_launch()->function, mock_cu_kernel(2));
    drop_kernel(kernel);
    assert_int_equal(mock.live_libraries, 0);
}

TEST(images_are_loaded_and_no_further_than_their_ends)
{
    size_t fatbin_size;
    size_t cubin_size;
    const size_t length = strlen(ptx_text);
    const struct {
        void *image;
        size_t size, read;
    } images[] = {
        {copy_of(ptx_text, length + 1), length + 1, length},
        {copy_of(ptx_text, length), length, length}, /* PTX need not end in a NUL */
        {make_fatbin(1000, &fatbin_size), 1016, 1016},
        {make_cubin(&cubin_size), CUBIN_SIZE, CUBIN_SIZE},
    };
    for (size_t i = 0; i < COUNT_OF(images); i++) {
        check_loaded(images[i].image, images[i].size);
        assert_int_equal(mock.image_size, images[i].read);
        free(images[i].image);
    }
}

TEST(an_image_may_be_freed_once_it_is_loaded)
{
    const pdl_launch_desc desc = plain_desc();
    size_t size;
    char *name = copy_of("fc3", 4);
    void *image = make_fatbin(64, &size);
    pdl_kernel *kernel = test_image_kernel(image, size, name);
    free(image);
    free(name);
    assert_ok(pdl_launch(kernel, &desc, NULL));
}

TEST(loading_needs_no_context)
{
    mock_set_current(-1);
    (void)test_image_kernel(ptx_text, sizeof(ptx_text), "fc1");
}

TEST(two_kernels_of_one_image_do_not_share_a_library)
{
    pdl_kernel *first = test_image_kernel(ptx_text, sizeof(ptx_text), "fc1");
    (void)test_image_kernel(ptx_text, sizeof(ptx_text), "fc2");
    assert_int_equal(mock.live_libraries, 2);
    drop_kernel(first);
    assert_int_equal(mock.live_libraries, 1);
}

TEST(a_refusal_names_the_kernel_as_it_was_asked_for)
{
    pdl_launch_desc desc = plain_desc();
    mock_set_driver_version(12000); /* without the calls that know names */
    pdl_kernel *kernel = test_image_kernel(ptx_text, sizeof(ptx_text), "fc3");
    desc.block[1] = 8;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_BLOCK_TOO_LARGE, "block", "fc3");
}

/* ---- what is refused ------------------------------------------------------------------------ */

/* The image must be refused without a crash, a leak or a kernel. */
#define assert_image_refused(image, size, status, ...)                                             \
    do {                                                                                           \
        pdl_kernel *made_ = NULL;                                                                  \
        assert_refused(pdl_kernel_from_image((image), (size), "fc1", &made_), (status),            \
                       __VA_ARGS__);                                                               \
        assert_null(made_);                                                                        \
        assert_int_equal(mock.live_libraries, 0);                                                  \
    } while (0)

TEST(missing_arguments_are_named)
{
    pdl_kernel *kernel = NULL;
    assert_invalid(pdl_kernel_from_image(NULL, 10, "fc1", &kernel), "image", "NULL");
    assert_invalid(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), NULL, &kernel), "name",
                   "NULL");
    assert_invalid(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), "", &kernel), "name", "");
    assert_invalid(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), "fc1", NULL), "kernel",
                   "NULL");
    assert_null(kernel);
    assert_int_equal(mock.calls[MOCK_cuLibraryLoadData], 0);
}

TEST(an_empty_image_is_refused)
{
    void *image = copy_of("", 0);
    assert_image_refused(image, 0, PDL_ERROR_INVALID_IMAGE, "image", "0");
    free(image);
}

TEST(noise_is_refused)
{
    uint32_t random = 12345;
    for (size_t size = 1; size < 2000; size = size * 3 / 2 + 1) {
        unsigned char *image = malloc(size);
        assert_non_null(image);
        for (size_t i = 0; i < size; i++) {
            random = random * 1664525u + 1013904223u;
            image[i] = (unsigned char)(random >> 24);
        }
        assert_image_refused(image, size, PDL_ERROR_INVALID_IMAGE, NULL, "");
        free(image);
    }
}

TEST(text_that_is_not_ptx_is_refused)
{
    static const char text[] = "#include <stdio.h>\nint main(void) { return 0; }\n";
    void *image = copy_of(text, strlen(text));
    assert_image_refused(image, strlen(text), PDL_ERROR_INVALID_IMAGE, NULL, "");
    free(image);
}

static void refuse_cuts(const void *image, size_t end)
{
    for (size_t cut = 1; cut < end; cut++) {
        void *part = copy_of(image, cut);
        assert_image_refused(part, cut, PDL_ERROR_INVALID_IMAGE, NULL, "");
        free(part);
    }
}

TEST(an_image_cut_anywhere_is_refused)
{
    size_t size;
    void *fatbin = make_fatbin(100, &size);
    refuse_cuts(fatbin, size);
    free(fatbin);
    void *cubin = make_cubin(&size);
    refuse_cuts(cubin, size);
    free(cubin);
    refuse_cuts(ptx_text, (size_t)(strstr(ptx_text, ".version") - ptx_text) + 8);
}

/* Headers that are shorter than one, and sizes that do not fit into 64 bits when they are added. */
TEST(headers_with_absurd_sizes_are_refused)
{
    const size_t section = CUBIN_SIZE - sizeof(struct pdl_elf64_shdr);
    const size_t places[] = {offsetof(struct pdl_elf64_ehdr, e_shoff),
                             offsetof(struct pdl_elf64_ehdr, e_phoff),
                             section + offsetof(struct pdl_elf64_shdr, sh_offset),
                             section + offsetof(struct pdl_elf64_shdr, sh_size)};
    const uint64_t absurd[] = {UINT64_MAX, UINT64_MAX - 15, UINT64_MAX / 2, UINT64_MAX - 64};
    size_t size;
    for (uint16_t header_size = 0; header_size < 16; header_size++) {
        char *image = make_fatbin(100, &size);
        memcpy(image + 6, &header_size, sizeof(header_size));
        assert_image_refused(image, size, PDL_ERROR_INVALID_IMAGE, NULL, "");
        free(image);
    }
    for (size_t i = 0; i < COUNT_OF(absurd); i++) {
        for (size_t p = 0; p <= COUNT_OF(places); p++) {
            char *image = p < COUNT_OF(places) ? make_cubin(&size) : make_fatbin(100, &size);
            memcpy(image + (p < COUNT_OF(places) ? places[p] : 8), &absurd[i], 8);
            assert_image_refused(image, size, PDL_ERROR_INVALID_IMAGE, NULL, "");
            free(image);
        }
    }
}

TEST(the_drivers_refusals_have_their_statuses)
{
    static const struct {
        CUresult result;
        pdl_status status;
    } refusals[] = {
        {CUDA_ERROR_INVALID_IMAGE, PDL_ERROR_INVALID_IMAGE},
        {CUDA_ERROR_INVALID_PTX, PDL_ERROR_INVALID_IMAGE},
        {CUDA_ERROR_NO_BINARY_FOR_GPU, PDL_ERROR_NO_KERNEL_IMAGE},
        {CUDA_ERROR_OUT_OF_MEMORY, PDL_ERROR_OUT_OF_MEMORY},
        {CUDA_ERROR_UNKNOWN, PDL_ERROR_DRIVER},
    };
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        mock.image_result = refusals[i].result;
        assert_image_refused(ptx_text, sizeof(ptx_text), refusals[i].status, NULL,
                             "cuLibraryLoadData",
                             pdl_driver_result_name(&mock.table, refusals[i].result));
        assert_string_equal(pdl_last_error()->call, "cuLibraryLoadData");
        assert_int_equal(pdl_last_error()->cuda_result, refusals[i].result);
    }
}

TEST(what_the_ptx_compiler_says_is_in_the_message)
{
    mock.image_result = CUDA_ERROR_INVALID_PTX;
    mock.jit_log = "ptxas application ptx input, line 3; fatal   : Parsing error near 'nonsense'\n";
    assert_image_refused(ptx_text, sizeof(ptx_text), PDL_ERROR_INVALID_IMAGE, NULL,
                         "CUDA_ERROR_INVALID_PTX", "line 3", "Parsing error near 'nonsense'");
    assert_int_equal(pdl_last_error()->cuda_result, CUDA_ERROR_INVALID_PTX);
    assert_string_equal(pdl_last_error()->call, "cuLibraryLoadData");
}

/* PTX may be compiled when it is loaded, when an entry is asked for, or when it is first used. */
TEST(what_the_ptx_compiler_says_late_is_in_the_message_too)
{
    mock.find_result = CUDA_ERROR_INVALID_PTX;
    mock.jit_log = "ptxas application ptx input, line 9; fatal   : late nonsense";
    assert_image_refused(ptx_text, sizeof(ptx_text), PDL_ERROR_INVALID_IMAGE, NULL,
                         "CUDA_ERROR_INVALID_PTX", "line 9", "late nonsense");
    assert_string_equal(pdl_last_error()->call, "cuLibraryGetKernel");
}

TEST(the_ptx_compiler_may_write_its_log_until_the_image_is_unloaded)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_image_kernel(ptx_text, sizeof(ptx_text), "fc1");
    mock.jit_log = "ptxas info: a line that is written when the kernel is first asked about";
    assert_ok(pdl_launch(kernel, &desc, NULL));
}

TEST(a_log_longer_than_the_message_is_cut)
{
    char *log = malloc(100000);
    assert_non_null(log);
    memset(log, 'x', 99999);
    memcpy(log, "line 7", 6);
    log[99999] = '\0';
    mock.image_result = CUDA_ERROR_INVALID_PTX;
    mock.jit_log = log;
    assert_image_refused(ptx_text, sizeof(ptx_text), PDL_ERROR_INVALID_IMAGE, NULL, "line 7");
    free(log);
}

TEST(a_name_that_is_not_in_the_image_is_told_and_the_image_unloaded)
{
    pdl_kernel *kernel = NULL;
    assert_refused(pdl_kernel_from_image(ptx_text, sizeof(ptx_text), "fc9", &kernel),
                   PDL_ERROR_NOT_FOUND, "name", "fc9");
    assert_int_equal(pdl_last_error()->cuda_result, CUDA_ERROR_NOT_FOUND);
    assert_null(kernel);
    assert_int_equal(mock.calls[MOCK_cuLibraryLoadData], 1);
    assert_int_equal(mock.live_libraries, 0);
}

TEST(a_kernel_without_code_for_the_device_unloads_the_image)
{
    mock_fail(MOCK_cuLibraryGetKernel, 1, CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert_image_refused(ptx_text, sizeof(ptx_text), PDL_ERROR_NO_KERNEL_IMAGE, NULL,
                         "cuLibraryGetKernel");
    assert_int_equal(mock.calls[MOCK_cuLibraryLoadData], 1);
}

/* ---- files ---------------------------------------------------------------------------------- */

static char directory[64];

static int make_directory(void **state)
{
    (void)snprintf(directory, sizeof(directory), "/tmp/pdl_test_image_XXXXXX");
    return mkdtemp(directory) != NULL ? mock_setup(state) : -1;
}

static int remove_directory(void **state)
{
    (void)rmdir(directory);
    return mock_teardown(state);
}
#define FILE_TEST(name) TEST_WITH(name, make_directory, remove_directory)

/* The path of a file in the directory. */
static const char *path_of(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static const char *write_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path_of(name);
}

/* The reason is the C library's. */
static void refuse_file(const char *path, const char *reason)
{
    pdl_kernel *kernel = NULL;
    assert_refused(pdl_kernel_from_file(path, "fc1", &kernel), PDL_ERROR_FILE, "path", path,
                   reason);
    assert_null(kernel);
}

FILE_TEST(images_are_read_from_files)
{
    size_t size;
    void *fatbin = make_fatbin(100000, &size);
    const struct {
        const void *bytes;
        size_t size;
    } images[] = {{ptx_text, strlen(ptx_text)}, {ptx_text, sizeof(ptx_text)}, {fatbin, 100016}};
    for (size_t i = 0; i < COUNT_OF(images); i++) {
        pdl_kernel *kernel = NULL;
        const char *const path = write_file("image", images[i].bytes, images[i].size);
        assert_ok(pdl_kernel_from_file(path, "fc1", &kernel));
        assert_int_equal(unlink(path), 0);
        pdl_kernel_destroy(kernel);
    }
    free(fatbin);
}

FILE_TEST(what_is_no_file_is_told_as_the_c_library_does)
{
#ifdef _WIN32 /* where two reasons are one case */
    static const char *const devices[] = {"NUL", "\\\\.\\pipe\\"};
    static const char through_a_file[] = "No such file or directory";
#else
    static const char *const devices[] = {"/dev/null", "/dev/zero"};
    static const char through_a_file[] = "Not a directory";
#endif
    refuse_file(path_of("missing.cubin"), "No such file or directory");
    refuse_file(directory, "");
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        refuse_file(devices[i], "");
    }
    (void)write_file("image", ptx_text, sizeof(ptx_text));
    refuse_file(path_of("image/deeper"), through_a_file);
    assert_int_equal(unlink(path_of("image")), 0);
}

#ifndef _WIN32
FILE_TEST(a_pipe_is_not_waited_for)
{
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    (void)alarm(20); /* ends the test where it waits */
    refuse_file(path_of("pipe"), "not a regular file");
    (void)alarm(0);
    assert_int_equal(unlink(path_of("pipe")), 0);
}
#endif

FILE_TEST(an_empty_file_is_no_image)
{
    pdl_kernel *kernel = NULL;
    const char *const path = write_file("empty", "", 0);
    assert_refused(pdl_kernel_from_file(path, "fc1", &kernel), PDL_ERROR_INVALID_IMAGE, NULL, "");
    assert_null(kernel);
    assert_int_equal(unlink(path), 0);
}

FILE_TEST(no_file_stays_open)
{
    pdl_kernel *kernel = NULL;
    const char *const path = write_file("image", ptx_text, sizeof(ptx_text));
    const int before = dup(STDERR_FILENO); /* the lowest free number */
    assert_int_equal(close(before), 0);
    assert_ok(pdl_kernel_from_file(path, "fc1", &kernel));
    pdl_kernel_destroy(kernel);
    assert_refused(pdl_kernel_from_file(path, "fc9", &kernel), PDL_ERROR_NOT_FOUND, NULL, "");
    refuse_file(directory, "");
    const int after = dup(STDERR_FILENO);
    assert_int_equal(close(after), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(after, before);
}

FILE_TEST(an_unreadable_file_is_told_as_the_c_library_does)
{
    const char *const path = write_file("secret.cubin", ptx_text, sizeof(ptx_text));
    assert_int_equal(chmod(path, 0), 0);
    if (access(path, R_OK) != 0) { /* the superuser reads everything */
        refuse_file(path, "Permission denied");
    }
    assert_int_equal(chmod(path, S_IRUSR | S_IWUSR), 0); /* so that Windows deletes it */
    assert_int_equal(unlink(path), 0);
}

FILE_TEST(missing_arguments_of_a_file_are_named)
{
    const char *const path = write_file("image", ptx_text, sizeof(ptx_text));
    pdl_kernel *kernel = NULL;
    assert_invalid(pdl_kernel_from_file(NULL, "fc1", &kernel), "path", "NULL");
    assert_invalid(pdl_kernel_from_file(path, NULL, &kernel), "name", "NULL");
    assert_invalid(pdl_kernel_from_file(path, "fc1", NULL), "kernel", "NULL");
    assert_int_equal(unlink(path), 0);
}
